"""`pate_gan`: a generator trained against a student that learns from noisy votes of many small teachers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.base import Ask, Progress, Setting
from synth.generators.gradients import common
from synth.generators.gradients.taught import LESSONS, Taught, generated
from synth.generators.method import NONE_OR_SHARE, RATE, option
from synth.generators.mlp import Adam, network
from synth.lazy import Lazy
from synth.questions import CountsRelease, Release, TaughtRelease, Teachers, Votes
from synth.questions.gradients import CRITIC

if TYPE_CHECKING:
    import torch

    from synth.numeric import networks
else:
    torch, networks = Lazy("torch"), Lazy("synth.numeric.networks")

PURPOSE = "votes"
BATCH = 500  # generated rows of a generator's step
WIDTHS = (128, 128)
AVERAGED = 0.95
STUDENT_RATE = 2e-3


@dataclass(frozen=True, kw_only=True)
class PateGan(Taught):
    """Every row goes to one of many teachers; only noisy counts of their votes about generated rows leave the door.

    ``rounds``: of lessons and votes, ``asked`` rows judged in each, every one of them paid for; ``rows_each``: rows of
    a teacher, about. ``features``: public random features of a teacher's logistic regression. ``moves``: steps of
    student and generator after each round. ``oneway_share``: part of mu**2 for one-way counts, which give the row
    count, groups (at most about ``groups`` a column) and starting point.
    **Guarantee**: asks within ``setting.mu``, whatever teachers agree on; ``fit`` sees releases only.
    **Source**: Jordon, Yoon, van der Schaar, PATE-GAN, ICLR 2019; accounting: arXiv 1802.08908, without its
    data-dependent part.
    """

    name = "pate_gan"
    barrier = "in the critic, by votes of teachers"
    summary = "generative adversarial network; a student learns from noisy votes of teachers on separate rows"
    reads = (CountsRelease, TaughtRelease)
    rounds: int = option(100, 1, 100_000)
    asked: int = option(50, 1, 100_000)
    rows_each: int = option(25, 1, 100_000)
    features: int = option(128, 1, 4096)
    moves: int = option(2, 1, 1000)
    oneway_share: float = option(0.3, *NONE_OR_SHARE)
    groups: int = option(20, 2, 1000)
    hidden: int = option(64, 1, 4096)
    generator_rate: float = option(5e-4, *RATE)

    purpose = PURPOSE

    def train(self, ask: Ask, ground: common.Ground, setting: Setting, progress: Progress) -> Release:
        """Each round asks for votes."""
        rng = np.random.default_rng(common.PUBLIC_SEED)
        plan = self.teachers(ground, setting, rng, asked=self.rounds * self.asked)
        return TaughtRelease(question=plan, weights=self._train(ask, plan, ground, rng, progress))

    def _train(
        self, ask: Ask, plan: Teachers, ground: common.Ground, rng: np.random.Generator, progress: Progress
    ) -> tuple[np.ndarray, ...]:
        """Weights of the generator, averaged over the last rounds. Randomness here is public (``PUBLIC_SEED``)."""
        made = network(ground.sizes, rng=rng, start=ground.shares, widths=WIDTHS)
        student = Student(ground.sizes, hidden=self.hidden, rng=rng)
        maker = Adam(made.parameters)
        mean = common.Average(made.parameters, keep=AVERAGED)
        for number in range(self.rounds):
            progress(number / self.rounds)
            lessons, asked = generated(made, LESSONS), generated(made, self.asked)
            released = ask(Votes(teachers=plan, lessons=lessons, asked=asked, moves=self.moves))
            student.note(asked, released.values / plan.teachers)
            for _ in range(self.moves):
                student.learn(rng)
                loss = torch.nn.functional.softplus(-student.network(made.drawn(made.hidden(BATCH), hard=True))).mean()
                maker.move(torch.autograd.grad(loss, maker.parameters), rate=self.generator_rate)
            mean.note()
        return mean.arrays()


class Student:
    """A critic that has seen generated rows only, each with the noisy share of teachers who took it for real."""

    def __init__(self, sizes: Sequence[int], *, hidden: int, rng: np.random.Generator) -> None:
        self.sizes = list(sizes)
        self.network = networks.network(CRITIC, sizes, hidden=hidden)
        networks.start(self.network, rng=rng)
        self.adam = Adam(list(self.network.parameters()))
        self.rows: list[torch.Tensor] = []
        self.shares: list[torch.Tensor] = []

    def note(self, rows: np.ndarray, shares: np.ndarray) -> None:
        """Remembers judged rows."""
        self.rows.append(networks.one_hot(rows, self.sizes))
        self.shares.append(torch.from_numpy(np.clip(shares, 0.0, 1.0).astype(np.float32)))

    def learn(self, rng: np.random.Generator) -> None:
        """One step towards the shares of this round's rows and of as many rounds' before."""
        recent = range(max(len(self.rows) - 10, 0), len(self.rows))
        rows, shares = torch.cat([self.rows[i] for i in recent]), torch.cat([self.shares[i] for i in recent])
        part = torch.from_numpy(rng.integers(0, len(rows), min(BATCH, len(rows))))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self.network(rows[part]), shares[part])
        self.adam.move(torch.autograd.grad(loss, self.adam.parameters), rate=STUDENT_RATE)
