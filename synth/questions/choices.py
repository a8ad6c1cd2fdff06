"""Choices: which of some public candidates describes the rows worst, or best, or is nearest to most of them."""

from dataclasses import dataclass
from functools import cached_property
from math import isfinite, prod

import numpy as np

from synth.questions.tables import Bins, Question, Release, Scaled, freeze

GOALS = ("worst", "nearest")


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice(Scaled):
    """Question: one of the candidates, chosen with odds exp(score / ``scale``): the exponential mechanism.

    ``tables``: groupings of columns, whose exact counts are compared with ``expected``. With the goal ``worst`` each
    table is a candidate, ``expected[i]`` an array of its shape, and the candidate with the largest sum of absolute
    differences is sought: that sum, in rows, is its score. With ``nearest`` each row of ``expected[0]`` (candidates,
    cells of all tables together) is one, and the candidate whose largest absolute difference is least: its score is
    minus that, in rows.

    **Source**: McSherry and Talwar, Mechanism design via differential privacy, FOCS 2007, Definition 2.

    Errors: ValueError for a goal, scale or expected count out of range or of another shape.
    Privacy: public only.
    """

    purpose: str
    goal: str
    tables: tuple[tuple[Bins, ...], ...]
    expected: tuple[np.ndarray, ...]
    scale: float

    def __post_init__(self) -> None:
        if self.goal not in GOALS:
            raise ValueError(f"goals are {', '.join(GOALS)}")
        if not (isfinite(self.scale) and self.scale > 0) or not self.tables:
            raise ValueError("a positive, finite scale and at least one table are needed")
        shapes = [tuple(b.size for b in table) for table in self.tables]
        results = [e.shape for e in self.expected]
        cells = sum(prod(s) for s in shapes)
        if self.goal == "worst" and results != shapes:
            raise ValueError("expected counts of each table's shape are needed")
        if self.goal == "nearest" and (len(results) != 1 or results[0][1:] != (cells,) or not results[0][0]):
            raise ValueError("for each candidate the expected count of every cell of all tables is needed")
        if not all(np.isfinite(e).all() for e in self.expected):
            raise ValueError("expected counts must be finite")

    @property
    def candidates(self) -> int:
        """Number of candidates."""
        return len(self.tables) if self.goal == "worst" else len(self.expected[0])


@dataclass(frozen=True, kw_only=True)
class ChoiceRelease(Release):
    """Answer: ``index``, the number of the chosen candidate.

    Errors: ValueError where no candidate has this index.
    Privacy: released answers only.
    """

    question: Choice
    index: int

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.question.candidates:
            raise ValueError("the index of a candidate is needed")


MAX_COUNT = 2**30  # expected counts and handicaps up to which scores are exact
NONE = -1  # fills a table's line behind its last axis


@dataclass(frozen=True, kw_only=True, eq=False)
class Search(Scaled):
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


@dataclass(frozen=True, kw_only=True)
class SearchRelease(Release):
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


FARTHEST = 2**24  # most a distance between groups of one column may be: sums over columns stay far below 2^63
MOST_CANDIDATES = 1 << 16  # candidates


@dataclass(frozen=True, kw_only=True, eq=False)
class Nearest(Question):
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
        if rows.ndim != 2 or not 1 <= len(rows) <= MOST_CANDIDATES or not len(sizes) or rows.shape[1] != len(sizes):
            raise ValueError(f"1 to {MOST_CANDIDATES} candidates of a group for each column are needed")
        if rows.min() < 0 or (rows >= sizes).any():
            raise ValueError("groups must be among the columns' own")
        apart = tuple(np.ascontiguousarray(d, dtype=np.int64) for d in self.distances)
        if [d.shape for d in apart] != [(s, s) for s in sizes] or any(d.min() < 0 or d.max() > FARTHEST for d in apart):
            raise ValueError("for each column a table of distances between its groups is needed, whole numbers from 0")
        if not (isfinite(self.sigma) and self.sigma > 0):
            raise ValueError("a positive, finite sigma is needed")
        freeze(self, candidates=rows, distances=apart)


@dataclass(frozen=True, kw_only=True, eq=False)
class NearestRelease(Release):
    """Answer: ``values`` (m,) int64, each candidate's noisy count of votes.

    Errors: ValueError where a candidate lacks its number.
    Privacy: released answers only.
    """

    question: Nearest
    values: np.ndarray

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.question.candidates),):
            raise ValueError("a number for each candidate is needed")
