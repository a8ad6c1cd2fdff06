"""Searches: which of many public candidate tables a model describes worst."""

from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from synth.questions.tables import Bins

MAX_COUNT = 2**30  # expected counts and handicaps up to which scores are exact
NONE = -1  # fills a table's line behind its last axis


@dataclass(frozen=True, kw_only=True, eq=False)
class Search:
    """Question: ``picks`` different candidates, drawn one after the other with odds exp(score / ``scale``).

    ``bins``: groupings of columns; ``tables`` (m, k) int64: each candidate's axes among them, -1 behind the last;
    ``expected``: what a model expects in the candidates' cells, one candidate after the other, whole rows, flat;
    ``handicap`` (m,): whole rows taken off a candidate's score, which is the sum of absolute differences between its
    exact counts and the expected ones.

    **Source**: McSherry and Talwar, FOCS 2007; several picks: Durfee and Rogers, arXiv 1905.04273, section 4.

    Errors: ValueError for a scale, number of picks, axis, expected count or handicap out of range or of another shape.
    Privacy: public only.
    """

    purpose: str
    bins: tuple[Bins, ...]
    tables: np.ndarray
    expected: np.ndarray
    handicap: np.ndarray
    scale: float
    picks: int = 1

    def __post_init__(self) -> None:
        tables = np.asarray(self.tables)
        if not (isfinite(self.scale) and self.scale > 0) or tables.ndim != 2 or not 1 <= self.picks <= len(tables):
            raise ValueError("a positive, finite scale and at least as many candidates as picks are needed")
        if tables.dtype.kind not in "iu" or tables.max() >= len(self.bins) or (tables[:, 0] < 0).any():
            raise ValueError("a table's axes are numbers of the bins")
        if self.expected.shape != (int(self.ends[-1]),) or self.handicap.shape != (len(tables),):
            raise ValueError("an expected count for each cell and a handicap for each candidate are needed")
        for array in (self.expected, self.handicap):
            if array.dtype.kind not in "iu" or np.abs(array.astype(np.int64)).max() > MAX_COUNT:
                raise ValueError("expected counts and handicaps are whole numbers of rows below 2^30")

    @cached_property
    def ends(self) -> np.ndarray:
        """Cells of all candidates up to each one's end, (m,) int64."""
        sizes = np.append([b.size for b in self.bins], 1)
        return np.cumsum(sizes[np.asarray(self.tables)].prod(1))

    def table(self, index: int) -> tuple[Bins, ...]:
        """A candidate's groupings, in the order of its axes."""
        return tuple(self.bins[i] for i in self.tables[index].tolist() if i >= 0)

    @property
    def cells(self) -> int:
        """Numbers told: one a pick."""
        return self.picks

    @property
    def sigma(self) -> float:
        """The scale: that of the Gumbel noise which, added to the scores, would make the same choice."""
        return self.scale


@dataclass(frozen=True, kw_only=True)
class SearchRelease:
    """Answer: ``chosen``, the numbers of the candidates that were picked, in that order.

    Errors: ValueError for numbers that are no candidates', or picked twice, or too few.
    Privacy: released answers only.
    """

    question: Search
    chosen: tuple[int, ...]

    def __post_init__(self) -> None:
        chosen = tuple(int(i) for i in self.chosen)
        object.__setattr__(self, "chosen", chosen)
        inside = all(0 <= i < len(self.question.tables) for i in chosen)
        if not inside or len(set(chosen)) != len(chosen) or len(chosen) != self.question.picks:
            raise ValueError("as many different candidates as were to be picked are needed")
