"""Groupings of columns, and tables of counts on them."""

from dataclasses import dataclass, field
from math import prod

import numpy as np


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
        for array, name in ((starts, "starts"), (groups, "groups")):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
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
class Counts:
    """Question: these tables of counts, each with its own noise, in one step.

    Privacy: public only.
    """

    purpose: str
    marginals: tuple[Marginal, ...]


@dataclass(frozen=True, kw_only=True)
class CountsRelease:
    """Answer: for each marginal of the question its noisy counts, an int64 array of the marginal's shape.

    A value is the true count plus a Gaussian of the marginal's sigma, rounded to a whole number; it may be
    negative. Anything computed from a release is free.

    Errors: ValueError where a table has another shape than its marginal.
    Privacy: released answers only.
    """

    question: Counts
    values: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if [v.shape for v in self.values] != [m.shape for m in self.question.marginals]:
            raise ValueError("an array of each marginal's shape is needed")
