"""Votes of many small teachers, each trained on rows of its own, about generated rows."""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from synth.questions.tables import Bins

LOGISTIC, MEANS = "logistic", "means"


@dataclass(frozen=True, kw_only=True, eq=False)
class Teachers:
    """What all rounds of one vote share: how teachers are made, and the noise of each of their answers.

    Every row is given to one of ``teachers`` at random; a teacher keeps at most ``most_rows`` of its rows. A teacher is
    a logistic regression on public random features of the groups of ``bins``: row ``g`` of a table (groups of all
    columns, features) for each group, summed over columns, rectified. ``sigma``: of the noise on a count of votes.
    With the critic ``means`` it scores by the features' mean over its rows less that over the lessons, afresh each
    time: of all linear scores of bounded weights the one that sets them apart most, as a Wasserstein critic does.

    Errors: ValueError for features, numbers or noise out of range.
    Privacy: public only.
    """

    purpose: str
    bins: tuple[Bins, ...]
    table: np.ndarray
    teachers: int
    most_rows: int
    sigma: float
    critic: str = LOGISTIC

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.table, dtype=np.float32)
        if not self.bins or table.ndim != 2 or len(table) != sum(self.sizes) or not np.isfinite(table).all():
            raise ValueError("a finite row of features for each group of each column is needed")
        if self.critic not in (LOGISTIC, MEANS):
            raise ValueError(f"critics are {LOGISTIC}, {MEANS}")
        if self.teachers < 2 or self.most_rows < 1:
            raise ValueError("at least two teachers of at least one row are needed")
        if not (isfinite(self.sigma) and self.sigma > 0):
            raise ValueError("a positive, finite sigma is needed")
        table.setflags(write=False)
        object.__setattr__(self, "table", table)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups of each column."""
        return tuple(b.size for b in self.bins)


@dataclass(frozen=True, kw_only=True, eq=False)
class Votes:
    """Question: how many teachers take each of these generated rows for real?

    ``lessons`` (n, columns) int64: generated rows that every teacher first learns to tell from its own real rows, in
    ``moves`` steps of gradient descent from where it stood. ``asked`` (m, columns) int64: the rows to be judged. Both
    are groups, public: functions of earlier answers. Each row asked about is paid for.

    **Source**: Jordon, Yoon, van der Schaar, PATE-GAN, ICLR 2019; votes as in arXiv 1802.08908, GNMax.

    Errors: ValueError without moves or rows, or for groups that the columns lack.
    Privacy: public only: the rows asked about are generated.
    """

    teachers: Teachers
    lessons: np.ndarray
    asked: np.ndarray
    moves: int

    def __post_init__(self) -> None:
        sizes = np.array(self.teachers.sizes)
        for name in ("lessons", "asked"):
            rows = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            if rows.ndim != 2 or not len(rows) or rows.shape[1] != len(sizes):
                raise ValueError("at least one row of a group for each column is needed")
            if rows.min() < 0 or (rows >= sizes).any():
                raise ValueError("groups must be among the columns' own")
            rows.setflags(write=False)
            object.__setattr__(self, name, rows)
        if self.moves < 1:
            raise ValueError("at least one move is needed")

    @property
    def purpose(self) -> str:
        """What the ledger calls it."""
        return self.teachers.purpose

    @property
    def sigma(self) -> float:
        """Noise of each count of votes."""
        return self.teachers.sigma


@dataclass(frozen=True, kw_only=True, eq=False)
class VotesRelease:
    """Answer: ``values`` (m,) int64: for each row asked about, how many teachers called it real, with noise.

    Errors: ValueError where a row lacks its number.
    Privacy: released answers only.
    """

    question: Votes
    values: np.ndarray

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.question.asked),):
            raise ValueError("a number for each row asked about is needed")


@dataclass(frozen=True, kw_only=True, eq=False)
class TaughtRelease:
    """What is kept of all rounds: ``weights`` of the generator they led to, a function of all answers.

    Errors: ValueError for weights that are not finite.
    Privacy: released answers only.
    """

    question: Teachers
    weights: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if not self.weights or not all(np.isfinite(w).all() for w in self.weights):
            raise ValueError("finite weights are needed")
