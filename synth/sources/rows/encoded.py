"""Encoded rows, wherever they are: counted over sets of columns, or handed out in batches.

Mechanisms see rows as a mapping from a column to its positions. ``EncodedRows`` is such a mapping whose columns need
not be in memory: whoever can, asks it for ``counts`` or for ``batches`` and never for a whole column.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from synth.questions.tables import Bins

Tables = Sequence[Sequence[Bins]]
PARTS = "\0parts"  # in a batch of rows that weigh: of how many parts of its root each row is one


class EncodedRows(Mapping[str, np.ndarray]):
    """Rows under a schema. As a mapping it gives a column's positions, int64 (num_rows,), all of them in memory."""

    @property
    @abstractmethod
    def num_rows(self) -> int:
        """Number of rows: private, unless the relation makes it public."""

    @abstractmethod
    def counts(self, tables: Tables) -> list[np.ndarray]:
        """For each table, a sequence of groupings, its exact counts: int64 (cells,), the last axis fastest.

        A row that any axis leaves out (group -1) is not counted.
        """

    @abstractmethod
    def batches(self, columns: Iterable[str], step: int) -> Iterator[dict[str, np.ndarray]]:
        """The columns' positions, int64, of at most ``step`` rows at a time; each row in one batch."""

    def release(self) -> None:
        """Lets go of what others hold for these rows: nothing, where nobody does."""

    def __len__(self) -> int:
        """Number of columns, as of any mapping."""
        return sum(1 for _ in self)


def length(rows: Mapping[str, np.ndarray]) -> int:
    """Number of rows, encoded anywhere or a plain mapping of arrays.

    >>> length({"A": np.zeros(3)}), length({})
    (3, 0)
    """
    if isinstance(rows, EncodedRows):
        return rows.num_rows
    return len(next(iter(rows.values()))) if rows else 0


def parts(rows: Mapping[str, np.ndarray], columns: Iterable[str], step: int) -> Iterator[dict[str, np.ndarray]]:
    """The columns of at most ``step`` rows at a time, in order.

    >>> [p["A"].tolist() for p in parts({"A": np.arange(3)}, ["A"], 2)]
    [[0, 1], [2]]
    """
    names = list(columns)
    if isinstance(rows, EncodedRows):
        yield from rows.batches(names, step)
        return
    own = {n: rows[n] for n in names}  # learning sees columns of several tables, of different lengths
    for start in range(0, length(own or rows), step):
        yield {n: p[start : start + step] for n, p in own.items()}
