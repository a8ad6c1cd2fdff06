"""What methods with teachers share: their number and noise, lessons, and a generator that follows their pulls."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import ceil, inf, nextafter, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Ask, Progress, Setting
from synth.generators.gradients import common
from synth.generators.gradients.trained import Trained
from synth.generators.marginals.mixture import SAFE
from synth.generators.method import NONE_OR_SHARE, RATE, option
from synth.generators.mlp import Adam, Network, network
from synth.generators.product_mixture.model import Product
from synth.lazy import Lazy
from synth.questions import CountsRelease, DescentRelease, Pulls, PullsRelease, Release, TaughtRelease, Teachers
from synth.questions.votes import LOGISTIC, MEANS

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

LESSONS = 256  # generated rows that teachers learn from, each round
MOST_TEACHERS = 2000
WIDTHS = (128, 128)
AVERAGED = 0.95


class Taught(Trained):
    """Every row goes to one of many teachers, about ``rows_each`` to each, on ``features`` public random features."""

    rows_each: int
    features: int
    purpose: ClassVar[str]
    outcome = TaughtRelease

    def teachers(
        self,
        ground: common.Ground,
        setting: Setting,
        rng: np.random.Generator,
        *,
        asked: int,
        answer_sensitivity: float = 1.0,
        critic: str = LOGISTIC,
    ) -> Teachers:
        """Teachers' number from the released row count; the noise that spends the rest on so many ``asked`` rows.

        ``answer_sensitivity``: how far one teacher that changes its mind moves the answer about one row.
        """
        number = int(np.clip(ground.rows / self.rows_each, 2, MOST_TEACHERS))
        mean = ground.rows / number
        share = (1 - common.taken(setting, share=self.oneway_share)) * SAFE / asked
        rows = setting.sensitivity**2 / setting.signed  # of a unit, under any relation: K K / K, or 2 K K / 2 K
        sigma = nextafter(rows * answer_sensitivity / (setting.mu * sqrt(share)), inf)
        columns = len(ground.bins)
        table = rng.standard_normal((sum(ground.sizes), self.features)) / sqrt(columns * self.features)
        return Teachers(
            purpose=self.purpose,
            bins=ground.bins,
            table=table,
            teachers=number,
            most_rows=ceil(mean + 4 * sqrt(mean)),
            sigma=sigma,
            critic=critic,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Pulled(Taught):
    """A generator that follows what teachers' gradients on its rows come to, in one of the forms of ``Pulls``.

    ``rounds``: of lessons and questions, ``asked`` rows in each, every one of them paid for; ``rows_each``: rows of a
    teacher, about. ``features``: public random features, by whose means a teacher sets its rows apart from
    generated ones. ``oneway_share``: part of mu**2 for one-way counts, which give the row count, groups (at most about
    ``groups`` a column) and starting point; with 0 groups are even. ``generator_rate``: of Adam.
    """

    reads = (CountsRelease, TaughtRelease)
    rounds: int = option(200, 1, 100_000)
    asked: int = option(4, 1, 10_000)
    rows_each: int = option(15, 1, 100_000)
    features: int = option(64, 1, 4096)
    oneway_share: float = option(0.3, *NONE_OR_SHARE)
    groups: int = option(8, 2, 1000)
    generator_rate: float = option(1e-3, *RATE)

    @abstractmethod
    def asking(self, groups: int) -> dict[str, Any]:
        """The form of the questions, and what belongs to it."""

    @abstractmethod
    def direction(self, release: PullsRelease) -> np.ndarray:
        """Which way each row should go, (rows, groups), from what was told."""

    def train(self, ask: Ask, ground: common.Ground, setting: Setting, progress: Progress) -> Release:
        """Each round asks which way its rows should go. Randomness here is public (``PUBLIC_SEED``)."""
        rng = np.random.default_rng(common.PUBLIC_SEED)
        asking = self.asking(sum(ground.sizes))
        blank = Teachers(
            purpose=self.purpose,
            bins=ground.bins,
            table=np.zeros((sum(ground.sizes), 1)),
            teachers=2,
            most_rows=1,
            sigma=1.0,
        )
        none = np.zeros((1, len(ground.bins)), dtype=np.int64)
        sensitivity = Pulls(teachers=blank, lessons=none, asked=none, moves=1, **asking).answer_sensitivity
        plan = self.teachers(
            ground, setting, rng, asked=self.rounds * self.asked, answer_sensitivity=sensitivity, critic=MEANS
        )
        made = network(ground.sizes, rng=rng, start=ground.shares, widths=WIDTHS)
        maker, mean = Adam(made.parameters), common.Average(made.parameters, keep=AVERAGED)
        for number in range(self.rounds):
            progress(number / self.rounds)
            rows = made.drawn(made.hidden(self.asked), hard=True)
            released = ask(
                Pulls(teachers=plan, lessons=generated(made, LESSONS), asked=codes(rows, made.sizes), moves=1, **asking)
            )
            pull = torch.from_numpy(-self.direction(released).astype(np.float32) / plan.teachers)
            maker.move(torch.autograd.grad(rows, maker.parameters, grad_outputs=pull), rate=self.generator_rate)
            mean.note()
        return TaughtRelease(question=plan, weights=mean.arrays())

    def mixture(
        self, trained: DescentRelease | TaughtRelease, made: common.embedding.ColumnEstimates, rng: np.random.Generator
    ) -> Product:
        """The generator's distributions at many hidden draws. Errors: UsageError for another method's release."""
        if trained.question.purpose != self.purpose:
            raise UsageError("the release is of another training; fit it with the method that asked for it")
        return super().mixture(trained, made, rng)


def generated(made: Network, count: int) -> np.ndarray:
    """Groups of freshly generated rows, (count, columns) int64."""
    with torch.no_grad():
        return codes(made.drawn(made.hidden(count), hard=True), made.sizes)


def codes(rows: torch.Tensor, sizes: tuple[int, ...]) -> np.ndarray:
    """Groups (n, columns) int64 of one-hot rows."""
    parts = rows.detach().split(list(sizes), dim=1)
    return torch.stack([part.argmax(1) for part in parts], dim=1).numpy()
