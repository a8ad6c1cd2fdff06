"""Which way teachers would move generated rows: gradients of their scores, clipped, signed or put to the vote."""

from dataclasses import dataclass, field
from math import isfinite, sqrt
from typing import ClassVar

import numpy as np

from synth.questions.gradients import FINE, lengthening
from synth.questions.votes import Votes

CLIPPED, SIGNS, BALLOTS = "clipped", "signs", "ballots"
FORMS = (CLIPPED, SIGNS, BALLOTS)
LONGEST = 2.0  # ballots tell coordinates, of gradients scaled to length 1, within so many typical ones of either side


@dataclass(frozen=True, kw_only=True, eq=False)
class Pulls(Votes):
    """Question: teachers' gradients with respect to each asked row, as one-hot groups, summed over teachers.

    A teacher's gradient loses each column's mean, which moves no row. Form ``clipped``: it is scaled down to length
    ``unit`` and summed, in multiples of that. ``signs``: its ``kept`` largest numbers count 1 or -1. ``ballots``: for
    each column of the public ``projection`` (groups of all columns, coordinates) a teacher has one vote for one of
    ``kept`` equal parts of the coordinate's range. Gaussian noise of the teachers' sigma on each number; each row asked
    about is paid for.

    **Source**: clipped: Chen, Orekondy, Fritz, arXiv 2006.08265 (GS-WGAN); signs: Wang et al., arXiv 2103.11109
    (DataLens); ballots: Long et al., arXiv 1906.09338 (G-PATE).

    Errors: as Votes, ValueError for a form, number or projection out of range.
    Privacy: public only: the rows asked about are generated.
    """

    clip: ClassVar[float] = 1.0
    form: str
    kept: int = 0
    unit: float = 1.0
    projection: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        super().__post_init__()
        table = np.ascontiguousarray(self.projection, dtype=np.float32)
        if not (isfinite(self.unit) and self.unit > 0):
            raise ValueError("a positive, finite unit is needed")
        if self.form not in FORMS:
            raise ValueError(f"forms are {', '.join(FORMS)}")
        if self.form == SIGNS and not 1 <= self.kept <= self.groups:
            raise ValueError("signs keep at least one number, and no more than there are groups")
        if self.form == BALLOTS and not (
            self.kept > 1 and table.ndim == 2 and len(table) == self.groups and table.size and np.isfinite(table).all()
        ):
            raise ValueError("ballots need two parts at least and a finite projection of all groups")
        table.setflags(write=False)
        object.__setattr__(self, "projection", table)

    @property
    def groups(self) -> int:
        """Of all columns together."""
        return sum(self.teachers.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the answer for one row."""
        return (self.projection.shape[1], self.kept) if self.form == BALLOTS else (self.groups,)

    @property
    def answer_sensitivity(self) -> float:
        """L2 distance by which one teacher that changes its mind can move one row's answer."""
        if self.form == SIGNS:
            return 2 * sqrt(self.kept)
        return sqrt(2 * self.projection.shape[1]) if self.form == BALLOTS else 2 * self.clip

    @property
    def edges(self) -> np.ndarray:
        """Where a coordinate's inner parts end, (kept - 1,): a typical one is 1 / sqrt(groups)."""
        return np.linspace(-1, 1, self.kept + 1)[1:-1] * LONGEST / sqrt(self.groups)

    @property
    def lattice(self) -> float:
        """What told numbers are multiples of."""
        return self.sigma / FINE if self.form == CLIPPED else 1.0

    @property
    def rounding(self) -> float:
        """By how much bringing a gradient to the lattice can lengthen it; the clip makes room for it."""
        return lengthening(self.lattice, self.groups, clip=self.clip)


@dataclass(frozen=True, kw_only=True, eq=False)
class PullsRelease:
    """Answer: ``values`` (rows asked about, *shape), float64: sums over teachers, with noise.

    Errors: ValueError where a number lacks.
    Privacy: released answers only.
    """

    question: Pulls
    values: np.ndarray

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.question.asked), *self.question.shape):
            raise ValueError("a number for each row and each of its groups, or parts of coordinates, is needed")
