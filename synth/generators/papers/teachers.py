"""Methods of many teachers on separate rows: `pate_gan` by votes; by what they tell of gradients on generated rows
`gs_wgan` (clipped sums), `datalens` (signs of the largest) and `g_pate` (ballots of projections)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, nextafter, sqrt
from typing import Any

import numpy as np

from synth.generators.base import Run, Setting
from synth.generators.core.mixture import SAFE
from synth.generators.method import RATE, option
from synth.generators.papers.columns import Baseline, taken
from synth.generators.papers.mlp import PUBLIC_SEED, Adam, Average, Network, network
from synth.generators.papers.training import BATCH, Trained, persuade
from synth.lazy import torch
from synth.numeric import networks
from synth.questions import CountsRelease, Pulls, PullsRelease, Release, TaughtRelease, Teachers, Votes
from synth.questions.gradients import BALLOTS, CLIPPED, LOGISTIC, LONGEST, MEANS, SIGNS

LESSONS = 256  # generated rows that teachers learn from, each round
MOST_TEACHERS = 2000
WIDTHS = (128, 128)
AVERAGED = 0.95
STUDENT_RATE = 2e-3


@dataclass(frozen=True, kw_only=True)
class Taught(Trained):
    """Every row goes to one of many teachers, about ``rows_each`` to each, on ``features`` public random features.

    ``rounds``: of lessons and questions, ``asked`` rows in each.
    """

    outcome = TaughtRelease
    reads = (CountsRelease, TaughtRelease)
    rounds: int = option(200, 1, 100_000)
    asked: int = option(4, 1, 10_000)
    rows_each: int = option(15, 1, 100_000)
    features: int = option(64, 1, 4096)
    generator_rate: float = option(1e-3, *RATE)

    def own(self, question: Any) -> bool:
        """By what it was asked for."""
        return question.purpose == self.purpose

    def teachers(
        self,
        base: Baseline,
        setting: Setting,
        rng: np.random.Generator,
        *,
        answer_sensitivity: float = 1.0,
        critic: str = LOGISTIC,
    ) -> Teachers:
        """Teachers' number from the released row count; the noise that spends the rest on all rows that are asked.

        ``answer_sensitivity``: how far one teacher that changes its mind moves the answer about one row.
        """
        number = int(np.clip(base.rows / self.rows_each, 2, MOST_TEACHERS))
        mean = base.rows / number
        share = (1 - taken(setting, share=self.oneway_share)) * SAFE / (self.rounds * self.asked)
        return Teachers(
            purpose=self.purpose,
            bins=base.bins,
            table=rng.standard_normal((sum(base.sizes), self.features)) / sqrt(len(base.bins) * self.features),
            teachers=number,
            most_rows=ceil(mean + 4 * sqrt(mean)),
            sigma=nextafter(setting.moved * answer_sensitivity / (setting.mu * sqrt(share)), inf),
            critic=critic,
        )


def generated(made: Network, count: int) -> np.ndarray:
    """Groups of freshly generated rows, (count, columns) int64."""
    with torch.no_grad():
        return codes(made.drawn(made.hidden(count), hard=True), made.sizes)


def codes(rows: torch.Tensor, sizes: tuple[int, ...]) -> np.ndarray:
    """Groups (n, columns) int64 of one-hot rows."""
    parts = rows.detach().split(list(sizes), dim=1)
    return torch.stack([part.argmax(1) for part in parts], dim=1).numpy()


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
    purpose = "votes"
    rounds: int = option(100, 1, 100_000)
    asked: int = option(50, 1, 100_000)
    rows_each: int = option(25, 1, 100_000)
    features: int = option(128, 1, 4096)
    moves: int = option(2, 1, 1000)
    hidden: int = option(64, 1, 4096)
    generator_rate: float = option(5e-4, *RATE)

    def train(self, run: Run, base: Baseline) -> Release:
        """Each round asks for votes. Randomness here is public (``PUBLIC_SEED``)."""
        rng = np.random.default_rng(PUBLIC_SEED)
        plan = self.teachers(base, run.setting, rng)
        made = network(base.sizes, rng=rng, start=base.shares, widths=WIDTHS)
        student = Student(base.sizes, hidden=self.hidden, rng=rng)
        maker, mean = Adam(made.parameters), Average(made.parameters, keep=AVERAGED)
        for number in range(self.rounds):
            run.progress(number / self.rounds)
            lessons, asked = generated(made, LESSONS), generated(made, self.asked)
            released = run.ask(Votes(teachers=plan, lessons=lessons, asked=asked, moves=self.moves))
            student.note(asked, released.values / plan.teachers)
            for _ in range(self.moves):
                student.learn(rng)
                persuade(maker, student.network, made, rate=self.generator_rate)
            mean.note()
        return TaughtRelease(question=plan, weights=mean.arrays())


class Student:
    """A critic that has seen generated rows only, each with the noisy share of teachers who took it for real."""

    def __init__(self, sizes: Sequence[int], *, hidden: int, rng: np.random.Generator) -> None:
        self.sizes = list(sizes)
        self.network = networks.critic(sizes, hidden=hidden)
        networks.start(self.network, rng=rng)
        self.adam = Adam(list(self.network.parameters()))
        self.seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def note(self, rows: np.ndarray, shares: np.ndarray) -> None:
        """Remembers judged rows."""
        told = torch.from_numpy(np.clip(shares, 0.0, 1.0).astype(np.float32))
        self.seen.append((networks.one_hot(rows, self.sizes), told))

    def learn(self, rng: np.random.Generator) -> None:
        """One step towards the shares of this round's rows and of as many rounds' before."""
        rows, shares = (torch.cat(x) for x in zip(*self.seen[-10:], strict=True))
        part = torch.from_numpy(rng.integers(0, len(rows), min(BATCH, len(rows))))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self.network(rows[part]), shares[part])
        self.adam.move(torch.autograd.grad(loss, self.adam.parameters), rate=STUDENT_RATE)


@dataclass(frozen=True, kw_only=True)
class Pulled(Taught):
    """A generator that follows what teachers' gradients on its rows come to, in one of the forms of ``Pulls``.

    ``rounds``: of lessons and questions, ``asked`` rows in each, every one of them paid for; ``rows_each``: rows of a
    teacher, about. ``features``: public random features, by whose means a teacher sets its rows apart from
    generated ones. ``oneway_share``: part of mu**2 for one-way counts, which give the row count, groups (at most about
    ``groups`` a column) and starting point; with 0 groups are even. ``generator_rate``: of Adam.
    """

    barrier = "between the critics and the generator, in the gradients on generated rows"
    groups: int = option(8, 2, 1000)

    @abstractmethod
    def asking(self, groups: int) -> dict[str, Any]:
        """The form of the questions, and what belongs to it."""

    @abstractmethod
    def direction(self, release: PullsRelease) -> np.ndarray:
        """Which way each row should go, (rows, groups), from what was told."""

    def train(self, run: Run, base: Baseline) -> Release:
        """Each round asks which way its rows should go. Randomness here is public (``PUBLIC_SEED``)."""
        rng, groups = np.random.default_rng(PUBLIC_SEED), sum(base.sizes)
        asking = self.asking(groups)
        usual: dict[str, Any] = {"purpose": self.purpose, "bins": base.bins, "sigma": 1.0}
        blank = Teachers(table=np.zeros((groups, 1)), teachers=2, most_rows=1, **usual)
        none = np.zeros((1, len(base.bins)), dtype=np.int64)
        sensitivity = Pulls(teachers=blank, lessons=none, asked=none, moves=1, **asking).answer_sensitivity
        plan = self.teachers(base, run.setting, rng, answer_sensitivity=sensitivity, critic=MEANS)
        made = network(base.sizes, rng=rng, start=base.shares, widths=WIDTHS)
        maker, mean = Adam(made.parameters), Average(made.parameters, keep=AVERAGED)
        for number in range(self.rounds):
            run.progress(number / self.rounds)
            rows = made.drawn(made.hidden(self.asked), hard=True)
            asked = codes(rows, made.sizes)
            released = run.ask(Pulls(teachers=plan, lessons=generated(made, LESSONS), asked=asked, moves=1, **asking))
            pull = torch.from_numpy(-self.direction(released).astype(np.float32) / plan.teachers)
            maker.move(torch.autograd.grad(rows, maker.parameters, grad_outputs=pull), rate=self.generator_rate)
            mean.note()
        return TaughtRelease(question=plan, weights=mean.arrays())


@dataclass(frozen=True, kw_only=True)
class GSWgan(Pulled):
    """Critics on separate rows say which way generated rows should go; their gradients are summed under noise.

    ``clip``: length to which a critic's gradient on a row is scaled down.
    **Guarantee**: asks within ``setting.mu``, whatever teachers agree on; ``fit`` sees releases only.
    **Source**: Chen, Orekondy, Fritz, arXiv 2006.08265 (GS-WGAN); without amplification by drawing critics (pulls.md).
    """

    name = "gs_wgan"
    summary = "adversarial network; critics on separate rows move generated rows by clipped, noised gradients"
    purpose = "sanitized gradients"
    clip: float = option(0.05, 1e-6, 1e6)

    def asking(self, groups: int) -> dict[str, Any]:  # noqa: ARG002
        """Gradients scaled down to the clip, summed."""
        return {"form": CLIPPED, "unit": self.clip}

    def direction(self, release: PullsRelease) -> np.ndarray:
        """The noisy sums as they are."""
        return release.values


@dataclass(frozen=True, kw_only=True)
class DataLens(Pulled):
    """Teachers on separate rows vote for where generated rows should go, each for its ``kept`` largest moves.

    ``kept``: numbers of a gradient that a teacher tells the signs of, at most all; ``agreed``: of teachers, the part
    that must agree for a direction to be followed.
    **Guarantee**: asks within ``setting.mu``, whatever teachers agree on; ``fit`` sees releases only.
    **Source**: Wang et al., arXiv 2103.11109 (DataLens: top-k signs, aggregation by threshold), without its
    data-dependent accounting.
    """

    name = "datalens"
    summary = "adversarial network; teachers on separate rows vote on the signs of few gradients of generated rows"
    purpose = "compressed gradient votes"
    kept: int = option(8, 1, 4096)
    agreed: float = option(0.1, 0, 1)

    def asking(self, groups: int) -> dict[str, Any]:
        """Signs of the largest numbers."""
        return {"form": SIGNS, "kept": min(self.kept, groups)}

    def direction(self, release: PullsRelease) -> np.ndarray:
        """The sign of each sum that is larger than agreement asks for, zero elsewhere."""
        least = self.agreed * release.question.teachers.teachers
        return np.sign(release.values) * (np.abs(release.values) > least) * release.question.teachers.teachers


@dataclass(frozen=True, kw_only=True)
class GPate(Pulled):
    """Teachers on separate rows vote on where the coordinates of their gradients lie, each in one of a few parts.

    ``coordinates``: of a public random projection; ``parts``: of a coordinate's range.
    **Guarantee**: asks within ``setting.mu``, whatever teachers agree on; ``fit`` sees releases only.
    **Source**: Long et al., arXiv 1906.09338 (G-PATE): random projection, discretisation, votes; without its
    data-dependent accounting.
    """

    name = "g_pate"
    summary = "adversarial network; teachers on separate rows vote on projected gradients of generated rows"
    purpose = "gradient ballots"
    coordinates: int = option(5, 1, 256)
    parts: int = option(5, 2, 64)

    def asking(self, groups: int) -> dict[str, Any]:
        """A public projection onto orthogonal directions, as many as there are."""
        rng = np.random.default_rng(PUBLIC_SEED)
        drawn = rng.standard_normal((groups, min(self.coordinates, groups)))
        return {"form": BALLOTS, "kept": self.parts, "projection": np.linalg.qr(drawn)[0]}

    def direction(self, release: PullsRelease) -> np.ndarray:
        """Each coordinate at the middle of the part with most votes, taken back from the projection."""
        question = release.question
        edges = question.edges
        step = edges[1] - edges[0] if len(edges) > 1 else 2 * LONGEST / np.sqrt(question.groups) / self.parts
        middles = np.append(edges - step / 2, edges[-1] + step / 2)
        most = middles[release.values.argmax(2)]
        return (most @ question.projection.T) * question.teachers.teachers
