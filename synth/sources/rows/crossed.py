"""Very many tables of two groupings at once: rows as marks of their bins, and the product of these with themselves.

X has a line for each row and a column for each bin of each grouping, 1 where the row lies in the bin. X'X holds the
table of every two groupings. Marks and sums are whole numbers, and those of a few thousand rows exact in single
precision, in which processors multiply fastest.
"""

from collections.abc import Sequence

import numpy as np

MANY = 10_000  # tables of two groupings, from which on the product is cheaper than joint tables
SIDE = 6000  # most bins of all groupings together: the counts take 8 bytes for each two of them
HELD = 1 << 25  # most marks held at a time, 4 bytes each; rows of them are far below 2**24


class Crossed:
    """Counts of every two of some groupings.

    >>> counts = Crossed([2, 3])
    >>> counts.add([np.array([0, 1, 1]), np.array([2, 0, 0])])
    >>> counts.table((1, 0), [3, 2]).reshape(3, 2).tolist()
    [[0, 2], [0, 0], [1, 0]]
    """

    def __init__(self, sizes: Sequence[int], *, held: int = HELD) -> None:
        self._ends = np.cumsum(sizes).tolist()
        self._starts = [0, *self._ends[:-1]]
        side = self._ends[-1]
        self._counts = np.zeros((side, side), dtype=np.int64)
        self._rows = max(held // side, 1)

    @staticmethod
    def holds(axes: tuple[int, ...]) -> bool:
        """Whether a table is of two different groupings."""
        return len(axes) == 2 and axes[0] != axes[1]

    def add(self, codes: Sequence[np.ndarray]) -> None:
        """Counts rows, given by their bin in each grouping."""
        side = self._ends[-1]
        for first in range(0, len(codes[0]), self._rows):
            some = [c[first : first + self._rows] for c in codes]
            marks = np.zeros((len(some[0]), side), dtype=np.float32)
            lines = np.arange(len(some[0])) * side
            for start, bins in zip(self._starts, some, strict=True):
                marks.reshape(-1)[lines + (bins.astype(np.int64) + start)] = 1
            self._counts += (marks.T @ marks).astype(np.int64)

    def table(self, axes: Sequence[int], shape: Sequence[int]) -> np.ndarray:
        """A table's counts, flat; bins behind ``shape`` are of rows that it leaves out."""
        row, col = (self._starts[i] for i in axes)
        return self._counts[row : row + shape[0], col : col + shape[1]].reshape(-1)


def crossed(
    axes: Sequence[tuple[int, ...]], sizes: Sequence[int], *, many: int = MANY, side: int = SIDE, held: int = HELD
) -> Crossed | None:
    """A counter of every two groupings, where so many tables are asked that it pays."""
    if len(axes) < many or sum(sizes) > side:
        return None
    return Crossed(sizes, held=held) if len({a for a in axes if Crossed.holds(a)}) >= many else None
