"""Votes of rows for the nearest of some public candidates."""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from synth.questions.tables import Bins

FARTHEST = 2**24  # most a distance between groups of one column may be: sums over columns stay far below 2^63
MOST = 1 << 16  # candidates


@dataclass(frozen=True, kw_only=True, eq=False)
class Nearest:
    """Question: to how many rows is each candidate the nearest? With Gaussian noise of ``sigma`` on each count.

    ``candidates`` (m, columns) int64: groups of ``bins``, public: functions of earlier answers. ``distances``: for each
    column whole numbers (size, size), how far its groups lie apart; they add up over columns. Of candidates that are
    equally near the first has the row's vote. A group that a row lacks is as far from all.

    Errors: ValueError for candidates, distances or noise out of range.
    Privacy: public only.
    """

    purpose: str
    bins: tuple[Bins, ...]
    candidates: np.ndarray
    distances: tuple[np.ndarray, ...]
    sigma: float

    def __post_init__(self) -> None:
        sizes = np.array([b.size for b in self.bins])
        rows = np.ascontiguousarray(self.candidates, dtype=np.int64)
        if rows.ndim != 2 or not 1 <= len(rows) <= MOST or not len(sizes) or rows.shape[1] != len(sizes):
            raise ValueError(f"1 to {MOST} candidates of a group for each column are needed")
        if rows.min() < 0 or (rows >= sizes).any():
            raise ValueError("groups must be among the columns' own")
        apart = tuple(np.ascontiguousarray(d, dtype=np.int64) for d in self.distances)
        if [d.shape for d in apart] != [(s, s) for s in sizes] or any(d.min() < 0 or d.max() > FARTHEST for d in apart):
            raise ValueError("for each column a table of distances between its groups is needed, whole numbers from 0")
        if not (isfinite(self.sigma) and self.sigma > 0):
            raise ValueError("a positive, finite sigma is needed")
        for array in (rows, *apart):
            array.setflags(write=False)
        object.__setattr__(self, "candidates", rows)
        object.__setattr__(self, "distances", apart)

    @property
    def cells(self) -> int:
        """Numbers told: one for each candidate."""
        return len(self.candidates)


@dataclass(frozen=True, kw_only=True, eq=False)
class NearestRelease:
    """Answer: ``values`` (m,) int64, each candidate's noisy count of votes.

    Errors: ValueError where a candidate lacks its number.
    Privacy: released answers only.
    """

    question: Nearest
    values: np.ndarray

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.question.candidates),):
            raise ValueError("a number for each candidate is needed")
