"""Groupings of columns, and what is counted on them: tables of counts and of weights, texts that many rows share,
counts with Laplace noise and comparisons with a public guess (pure privacy)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite, prod
from typing import Any

import numpy as np


class Question:
    """Something that is asked of the rows: a frozen dataclass. Privacy: public only."""


class Scaled(Question):
    """One whose noise has a ``scale``, and is not Gaussian. Privacy: public only."""

    scale: float

    @property
    def sigma(self) -> float:
        """The scale; of a choice that of the Gumbel noise which, added to the scores, would make the same choice."""
        return self.scale


class Release:
    """An answer: a frozen dataclass that holds its ``question``. Privacy: released answers only."""

    question: Any


def freeze(owner: Any, **parts: Any) -> None:
    """Sets parts of a frozen dataclass: arrays, or tuples of arrays, which are read-only from then on.

    Privacy: public only.
    """
    for name, part in parts.items():
        for array in part if isinstance(part, tuple) else (part,):
            array.setflags(write=False)
        object.__setattr__(owner, name, part)


@dataclass(frozen=True, kw_only=True, eq=False)
class Bins:
    """A public grouping of one column's positions (values and missing codes alike).

    ``starts`` (m,) int64, ascending, first entry 0: leaf i holds positions starts[i] .. starts[i+1]-1,
    the last one up to ``cells``-1. ``groups`` (m,) int64: the bin that a leaf counts towards, -1 for none.
    Every bin in range(size) is named at least once.

    Errors: ValueError for starts that do not ascend, or groups that do not fit them.
    Privacy: public only.
    """

    column: str
    cells: int
    starts: np.ndarray
    groups: np.ndarray
    size: int = field(init=False)

    def __post_init__(self) -> None:
        starts = np.ascontiguousarray(self.starts, dtype=np.int64)
        groups = np.ascontiguousarray(self.groups, dtype=np.int64)
        ends = np.append(starts[1:], self.cells)
        if len(starts) == 0 or starts[0] != 0 or np.any(ends <= starts):
            raise ValueError("starts must ascend from 0 and stay below cells")
        if len(groups) != len(starts) or groups.min() < -1:
            raise ValueError("one group, -1 or more, for each leaf")
        freeze(self, starts=starts, groups=groups)
        object.__setattr__(self, "size", int(groups.max()) + 1)

    @property
    def widths(self) -> np.ndarray:
        """Number of positions in each leaf, (m,)."""
        return np.diff(np.append(self.starts, self.cells))

    @staticmethod
    def each(column: str, cells: int) -> "Bins":
        """One bin for every position.

        >>> Bins.each("SEX", 2).size
        2
        """
        codes = np.arange(cells)
        return Bins(column=column, cells=cells, starts=codes, groups=codes)


@dataclass(frozen=True, kw_only=True)
class Marginal:
    """A table of counts over one or more columns, to be released with Gaussian noise of ``sigma`` rows.

    Errors: ValueError without columns or positive noise.
    Privacy: public only.
    """

    bins: tuple[Bins, ...]
    sigma: float

    def __post_init__(self) -> None:
        if not (self.sigma > 0 and self.bins):
            raise ValueError("a table needs columns and positive noise")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns counted, in the table's axis order."""
        return tuple(b.column for b in self.bins)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return tuple(b.size for b in self.bins)

    @property
    def cells(self) -> int:
        """Number of cells released."""
        return prod(self.shape)


@dataclass(frozen=True, kw_only=True)
class Counts(Question):
    """Question: these tables of counts, each with its own noise, in one step.

    Privacy: public only.
    """

    purpose: str
    marginals: tuple[Marginal, ...]


@dataclass(frozen=True, kw_only=True)
class MarginalsRelease(Release):
    """What is said of a question's marginals: ``values``, an array of each one's shape.

    Errors: ValueError where a table has another shape than its marginal.
    Privacy: released answers only, or public ones.
    """

    question: Any
    values: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if [v.shape for v in self.values] != [m.shape for m in self.question.marginals]:
            raise ValueError("an array of each marginal's shape is needed")

    def items(self) -> Iterator[tuple[Marginal, np.ndarray]]:
        """Each marginal with its values."""
        return zip(self.question.marginals, self.values, strict=True)


@dataclass(frozen=True, kw_only=True)
class CountsRelease(MarginalsRelease):
    """Answer: for each marginal of the question its noisy counts, an int64 array of the marginal's shape.

    A value is the true count plus a Gaussian of the marginal's sigma, rounded to a whole number; it may be
    negative. Anything computed from a release is free.

    Errors: ValueError where a table has another shape than its marginal.
    Privacy: released answers only.
    """

    question: Counts


@dataclass(frozen=True, kw_only=True)
class Values(Question):
    """Question: which texts does this column hold often enough to be told, and how often?

    Only texts whose noisy count (Gaussian of ``sigma`` rows) exceeds ``threshold`` are told.

    Privacy: public only.
    """

    purpose: str
    column: str
    sigma: float
    threshold: float


@dataclass(frozen=True, kw_only=True)
class ValuesRelease(Release):
    """Answer: the texts, sorted, and their noisy counts (m,) int64, all above the threshold.

    Privacy: released answers only.
    """

    question: Values
    texts: tuple[str, ...]
    counts: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Laplace(Scaled):
    """Question: these tables of counts, with discrete Laplace noise of ``scale`` rows on each cell.

    **Source**: Dwork, McSherry, Nissim, Smith, TCC 2006; discrete: Ghosh, Roughgarden, Sundararajan, arXiv 0811.2841.

    Errors: ValueError without tables or a positive, finite scale.
    Privacy: public only.
    """

    purpose: str
    tables: tuple[tuple[Bins, ...], ...]
    scale: float

    def __post_init__(self) -> None:
        if not (isfinite(self.scale) and self.scale > 0) or not all(self.tables) or not self.tables:
            raise ValueError("a positive, finite scale and at least one table are needed")


@dataclass(frozen=True, kw_only=True)
class LaplaceRelease(Release):
    """Answer: for each table its noisy counts, int64, of the table's shape; they may be negative.

    Errors: ValueError where a table has another shape.
    Privacy: released answers only.
    """

    question: Laplace
    values: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if [v.shape for v in self.values] != [tuple(b.size for b in t) for t in self.question.tables]:
            raise ValueError("counts of each table's shape are needed")


@dataclass(frozen=True, kw_only=True)
class Above(Scaled):
    """Question: is the number of rows in a box farther than ``threshold`` from ``expected``? AboveThreshold.

    ``box``: for each column of the box the positions in group 0; rows elsewhere (group -1) are outside. ``expected``,
    ``threshold``: whole numbers of rows, public. ``number``: of the round; questions of one round are paid for once,
    until one of them is answered "above", and have one ``scale``: that of the threshold's noise, twice as much on each
    count.

    **Source**: Dwork, Naor, Reingold, Rothblum, Vadhan, STOC 2009; Lyu, Su, Li, arXiv 1603.01699, Algorithm 1.

    Errors: ValueError for a box of several cells, numbers that are not whole, or a scale that is not positive.
    Privacy: public only.
    """

    purpose: str
    number: int
    box: tuple[Bins, ...]
    expected: int
    threshold: int
    scale: float

    def __post_init__(self) -> None:
        if not self.box or prod(b.size for b in self.box) != 1:
            raise ValueError("a box is one cell of some columns")
        if not (isfinite(self.scale) and self.scale > 0):
            raise ValueError("a positive, finite scale is needed")
        if not all(isinstance(v, int) for v in (self.number, self.expected, self.threshold)):
            raise ValueError("round, expected count and threshold are whole numbers")


@dataclass(frozen=True, kw_only=True)
class AboveRelease(Release):
    """Answer: ``above``, whether the noisy distance reached the noisy threshold; if so, the round is over.

    Privacy: released answers only.
    """

    question: Above
    above: bool


BOUND = 1 << 20  # units of the lattice that weights lie on: the most a row can weigh


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedCounts(Question):
    """Question: these tables, to whose cells a row adds its weight instead of 1.

    ``by``: the grouping of the weight's own column; ``units`` (by.size,): the weight of a row of each of its bins, in
    whole units from 0 to ``BOUND``. The noise of each marginal is in units too. A row that ``by`` leaves out adds
    nothing.

    Errors: ValueError for units that are no whole numbers within the bound, and for a table of the weight itself.
    Privacy: public only.
    """

    purpose: str
    marginals: tuple[Marginal, ...]
    by: Bins
    units: np.ndarray

    def __post_init__(self) -> None:
        units = np.array(self.units)
        if units.dtype != np.int64 or units.shape != (self.by.size,) or units.min() < 0 or units.max() > BOUND:
            raise ValueError(f"a weight from 0 to {BOUND} units, int64, for each bin of the weight")
        if any(self.by.column in m.columns for m in self.marginals):
            raise ValueError("a table of weights counts other columns than the weight")
        freeze(self, units=units)


@dataclass(frozen=True, kw_only=True)
class WeightedCountsRelease(MarginalsRelease):
    """Answer: for each marginal its noisy weights in units, an int64 array of the marginal's shape.

    A value is the exact sum plus a Gaussian of the marginal's sigma, rounded to a whole unit; it may be negative.

    Errors: ValueError where a table has another shape than its marginal.
    Privacy: released answers only.
    """

    question: WeightedCounts
