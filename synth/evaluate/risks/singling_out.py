"""Singling out: statements that hold of one synthetic row, and whether they hold of exactly one real row.

A statement is a range of positions in each of a few columns: a value of a category, or at least (at most) a number.
"""

from dataclasses import dataclass

import numpy as np

from synth.evaluate.read_sample import Sample

COLUMNS = 4  # of a statement about several columns
NAMES = ("singling out by one column", f"singling out by {COLUMNS} columns")
TRIES = 20  # statements tried for each that is wanted
FEW = 1_000  # rows by which statements that hold of many are left out at once
CHUNK = 1 << 20  # cells compared at a time


@dataclass(frozen=True, kw_only=True, eq=False)
class Statements:
    """``columns`` (m, k) as places in the schema, ``low`` and ``high`` (m, k) the positions that a row must lie in."""

    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def take(self, index: np.ndarray) -> "Statements":
        """Those at these places."""
        return Statements(columns=self.columns[index], low=self.low[index], high=self.high[index])

    def counts(self, table: np.ndarray) -> np.ndarray:
        """Rows (m,) of a table (n, d) of positions of which each holds."""
        out, across = np.empty(len(self.columns), dtype=np.int64), np.ascontiguousarray(table.T)
        low, high = (side.astype(table.dtype) for side in (self.low, self.high))
        step = max(1, CHUNK // max(len(table), 1))
        for start in range(0, len(out), step):
            part = slice(start, start + step)
            holds = np.ones((len(out[part]), len(table)), dtype=bool)
            for j in range(self.columns.shape[1]):
                cells = across[self.columns[part, j]]
                holds &= (cells >= low[part, j, None]) & (cells <= high[part, j, None])
            out[part] = np.count_nonzero(holds, axis=1)
        return out


def matrix(sample: Sample) -> np.ndarray:
    """Positions (n, d), columns in the order of the schema."""
    return np.column_stack([np.asarray(p) for p in sample.positions.values()]).astype(np.int32)


def of_one_column(synthetic: Sample, wanted: int, rng: np.random.Generator) -> Statements:
    """Values that one synthetic row alone has; of numbers also "at most the least" and "at least the greatest"."""
    result: list[tuple[int, int, int]] = []
    for j, (name, column) in enumerate(synthetic.columns.items()):
        values, count = np.unique(synthetic.positions[name], return_counts=True)
        result += [(j, int(v), int(v)) for v in values[count == 1]]
        known = values[values < column.size] if column.is_numeric else values[:0]
        if len(known):
            result += [(j, 0, int(known[0])), (j, int(known[-1]), column.size - 1)]
    if not result:
        return _statements(np.empty((0, 3), dtype=np.int64))
    reported = np.asarray(result)
    retained = _statements(reported[rng.permutation(len(reported))])
    return retained.take(np.flatnonzero(retained.counts(matrix(synthetic)) == 1)[:wanted])


def _statements(reported: np.ndarray) -> Statements:
    return Statements(columns=reported[:, :1], low=reported[:, 1:2], high=reported[:, 2:3])


def of_several_columns(synthetic: Sample, wanted: int, rng: np.random.Generator) -> Statements:
    """A few columns of a synthetic row: its categories, and numbers as beyond its own, seen from the median."""
    table = matrix(synthetic)
    width, many = min(COLUMNS, table.shape[1]), wanted * TRIES
    columns = np.argsort(rng.random((many, table.shape[1])), axis=1)[:, :width]
    cells = table[rng.integers(0, len(table), many)[:, None], columns]
    made = _ranges(synthetic, columns, cells, above=cells > np.median(table, axis=0)[columns])
    hopeful = np.flatnonzero(made.counts(table[:FEW]) <= 1)
    alone = hopeful[made.take(hopeful).counts(table) == 1]
    _, first = np.unique(np.hstack([made.columns, made.low, made.high])[alone], axis=0, return_index=True)
    return made.take(alone[np.sort(first)][:wanted])


def at_random(synthetic: Sample, wanted: int, width: int, rng: np.random.Generator) -> Statements:
    """Statements of a guesser who knows the schema alone."""
    cells = np.array([c.cells for c in synthetic.columns.values()])
    columns = np.argsort(rng.random((wanted, len(cells))), axis=1)[:, : min(width, len(cells))]
    drawn = (rng.random(columns.shape) * cells[columns]).astype(np.int64)
    return _ranges(synthetic, columns, drawn, above=rng.random(columns.shape) < 0.5)


def _ranges(sample: Sample, columns: np.ndarray, cells: np.ndarray, *, above: np.ndarray) -> Statements:
    """A category or a missing number is itself; a number is all above it, or all below."""
    kinds = list(sample.columns.values())
    size = np.array([c.size if c.is_numeric else -1 for c in kinds])[columns]
    number = cells < size
    low = np.where(number & ~above, 0, cells)
    high = np.where(number & above, size - 1, cells)
    return Statements(columns=columns, low=low, high=high)
