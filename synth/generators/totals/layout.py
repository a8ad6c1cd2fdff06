"""Rows laid out for the search: each column's values by what the tables of totals tell apart, cells as numbers."""

from collections.abc import Mapping

import numpy as np

from synth.schema.totals_places import PublishedTotals


class Atoms:
    """What all tables together tell apart of a column's values: ``size`` sets of positions."""

    def __init__(self, column: str, totals: PublishedTotals) -> None:
        parts = [p for t in totals.tables for p in t.parts if p.column == column]
        self.column, self.cells = column, parts[0].cells
        self.starts = np.unique(np.concatenate([p.starts for p in parts]))
        ends = np.append(self.starts[1:], self.cells)
        self._widths = ends - self.starts
        groups = np.stack([p.of(self.starts) for p in parts])
        _, first, inverse = np.unique(groups, axis=1, return_index=True, return_inverse=True)
        self._of_leaf, self.size = np.asarray(inverse).reshape(-1), len(first)
        self._example = self.starts[first]

    def of(self, positions: np.ndarray) -> np.ndarray:
        """The atom of each position."""
        return self._of_leaf[np.searchsorted(self.starts, positions, side="right") - 1]

    def example(self) -> np.ndarray:
        """A position of each atom, (size,)."""
        return self._example

    def drawn(self, atoms: np.ndarray, rng: np.random.Generator, *, seen: np.ndarray) -> np.ndarray:
        """A position within each of these atoms: one that a row of the ``seen`` positions has, else any as likely."""
        own = self.of(seen)
        order = np.argsort(own, kind="stable")
        ends = np.cumsum(np.bincount(own, minlength=self.size))
        count = np.diff(np.append(0, ends))[atoms]
        at = (ends[atoms] - count) + (rng.random(len(atoms)) * count).astype(np.int64)
        out = seen[order[np.minimum(at, len(order) - 1)]]
        for atom in np.unique(atoms[count == 0]):
            which, leaves = np.flatnonzero((atoms == atom) & (count == 0)), np.flatnonzero(self._of_leaf == atom)
            widths = self._widths[leaves]
            leaf = leaves[rng.choice(len(leaves), size=len(which), p=widths / widths.sum())]
            out[which] = self.starts[leaf] + (rng.random(len(which)) * self._widths[leaf]).astype(np.int64)
        return out


class Layout:
    """The tables of totals over atoms: a row's cell in table t is the sum of ``steps[t][v]`` at its atoms."""

    def __init__(self, totals: PublishedTotals) -> None:
        self.totals, self.columns = totals, totals.columns
        self.atoms = [Atoms(c, totals) for c in self.columns]
        at = {c: i for i, c in enumerate(self.columns)}
        self.steps: list[dict[int, np.ndarray]] = []
        for table in totals.tables:
            strides = np.append(np.cumprod([p.size for p in table.parts][:0:-1])[::-1], 1).astype(np.int64)
            self.steps.append(
                {
                    at[p.column]: p.of(self.atoms[at[p.column]].example()) * int(s)
                    for p, s in zip(table.parts, strides, strict=True)
                }
            )
        self.low = [t.low.ravel() for t in totals.tables]
        self.high = [t.high.ravel() for t in totals.tables]
        self.touching = [[t for t, s in enumerate(self.steps) if v in s] for v in range(len(self.columns))]

    def coded(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """The atoms (n, V) of rows of positions."""
        return np.stack([a.of(rows[a.column]) for a in self.atoms], axis=1).astype(np.int32)

    def cells(self, table: int, atoms: np.ndarray) -> np.ndarray:
        """The cell of each row (n, V) in a table."""
        out = np.zeros(len(atoms), dtype=np.int64)
        for v, step in self.steps[table].items():
            out += step[atoms[:, v]]
        return out
