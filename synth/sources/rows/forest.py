"""Related tables as trees: rows that belong to a root, with what each weighs in a question. As private as the rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from synth.questions.linked import FAR, NEAR, View, placed
from synth.sources.rows.encoded import Tables
from synth.sources.rows.marginals import MarginalCounter

HELD = 32  # weights whose rows are counted side by side


@dataclass(frozen=True, kw_only=True, eq=False)
class Branch:
    """The rows of one table that belong to a root, those of one parent next to each other, events in their order.

    ``columns``: positions (n,) by column. ``parent`` (n,): the row of the parent's branch. ``siblings`` (n,): how many
    rows that parent has here, this one included. ``rank`` (n,): from 0, this row's place among them. ``parts`` (n,):
    the row weighs one of so many parts of its root.
    """

    columns: Mapping[str, np.ndarray]
    parent: np.ndarray
    siblings: np.ndarray
    rank: np.ndarray
    parts: np.ndarray


class Forest(Mapping[str, Branch]):
    """All branches by table; ``parents``: the parent's table of each, None for the root."""

    def __init__(self, branches: Mapping[str, Branch], parents: Mapping[str, str | None]) -> None:
        self._branches, self._parents = dict(branches), dict(parents)

    def __repr__(self) -> str:
        """Tables only: a representation may land in a log."""
        return f"Forest({', '.join(self._branches)})"

    def __getitem__(self, table: str) -> Branch:
        return self._branches[table]

    def __iter__(self) -> Iterator[str]:
        return iter(self._branches)

    def __len__(self) -> int:
        return len(self._branches)

    def with_branch(self, table: str, branch: Branch) -> "Forest":
        """The same trees with another branch for one table, of the same rows."""
        return Forest({**self._branches, table: branch}, self._parents)

    def rows(self, table: str, places: Mapping[str, str]) -> dict[str, np.ndarray]:
        """A table's rows (n,) by the names in ``places``, each a column of theirs or of an ancestor."""
        every = np.arange(len(self._branches[table].parts))
        return {name: self._column(table, at, every, every) for name, at in places.items()}

    @property
    def num_roots(self) -> int:
        """How many trees there are."""
        return next(len(self._branches[n].parts) for n, above in self._parents.items() if above is None)

    def roots(self, table: str) -> np.ndarray:
        """To which root's row each row of a table belongs, (n,)."""
        rows, at = np.arange(len(self._branches[table].parts)), table
        while (above := self._parents[at]) is not None:
            rows, at = self._branches[at].parent[rows], above
        return rows

    def of_roots(self, rows: np.ndarray) -> "Forest":
        """The trees of these rows of the root (n,), each as often as it is named, in this order."""
        root = next(t for t, above in self._parents.items() if above is None)
        chosen, out = {root: rows}, {}
        waiting = [root]
        for table in waiting:  # grows: from the root down
            waiting += [t for t, above in self._parents.items() if above == table]
            branch, above, parent = self._branches[table], self._parents[table], np.zeros(len(rows), dtype=np.int64)
            if above is not None:
                size = len(self._branches[above].parts)
                many = np.bincount(branch.parent, minlength=size)
                first = (np.cumsum(many) - many)[chosen[above]]
                parent = np.repeat(np.arange(len(chosen[above])), many[chosen[above]])
                start = np.cumsum(many[chosen[above]]) - many[chosen[above]]
                chosen[table] = (first - start)[parent] + np.arange(len(parent))
            at = chosen[table]
            out[table] = Branch(
                columns={n: p[at] for n, p in branch.columns.items()},
                parent=parent,
                siblings=branch.siblings[at],
                rank=branch.rank[at],
                parts=branch.parts[at],
            )
        return Forest(out, self._parents)

    def strata(
        self, table: str, view: View, columns: Sequence[str], step: int
    ) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """(parts, batch): rows or pairs of a view that all weigh one of ``parts``, some at a time.

        ``columns``: as ``questions.place`` names them. A batch has at most ``step`` rows.
        """
        branch = self._branches[table]
        for near, far, parts in _selected(branch, view):
            for number in np.unique(parts).tolist():
                chosen = np.flatnonzero(parts == number)
                for start in range(0, len(chosen), step):
                    some = chosen[start : start + step]
                    yield number, {c: self._column(table, c, near[some], far[some]) for c in columns}

    def weighed(self, table: str, view: View, tables: Tables, unit: int) -> list[np.ndarray]:
        """Tables over the rows or pairs of a view, each of which counts ``unit`` // parts: int64 (cells,) each.

        Rows of one weight are counted together. Privacy: reads rows, exact.
        """
        empty = MarginalCounter(tables)
        totals = [np.zeros(prod(g.size for g in t), dtype=np.int64) for t in tables]
        counters: dict[int, MarginalCounter] = {}
        for parts, batch in self.strata(table, view, empty.columns, empty.step):
            if parts not in counters and len(counters) == HELD:
                _weigh(counters, totals, unit)
            counters.setdefault(parts, MarginalCounter(tables)).add(batch)
        _weigh(counters, totals, unit)
        return totals

    def release(self) -> None:
        """Lets go of what others hold for these rows: nothing, where nobody does."""

    def _column(self, table: str, name: str, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Positions of a column for pairs of rows: of the row itself, of the other one, or of an ancestor."""
        owner, column, other = placed(name)
        rows, at = (far if other else near), table
        while at != owner:
            above = self._parents[at]
            if above is None:
                raise ValueError(f"{owner} is no ancestor of {table}")
            rows, at = self._branches[at].parent[rows], above
        return self._branches[owner].columns[column][rows]


def _weigh(counters: dict[int, MarginalCounter], totals: list[np.ndarray], unit: int) -> None:
    """Adds counts of rows of one weight each to the totals, and forgets them."""
    for parts, counter in counters.items():
        for total, table in zip(totals, counter.tables(), strict=True):
            total += table * (unit // parts)
    counters.clear()


def _selected(branch: Branch, view: View) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(first rows, second rows, parts) of a view; the same row twice where it is of single rows.

    ``parts`` of a row is its parent's times its siblings, of a pair its parent's times the number of pairs: of siblings
    in no order those at most ``NEAR`` apart, either of them first.
    """
    rows = np.arange(len(branch.parts))
    if view == "rows":
        yield rows, rows, branch.parts
        return
    of_parent = branch.parts // np.maximum(branch.siblings, 1)
    if view in ("first", "last"):
        one = np.flatnonzero(branch.rank == (0 if view == "first" else branch.siblings - 1))
        yield one, one, of_parent[one]
        return
    if view == "far":
        half = branch.siblings // 2
        near = np.flatnonzero((branch.siblings >= FAR) & (branch.rank + half < branch.siblings))
        yield near, near + half[near], of_parent[near] * (branch.siblings - half)[near]
        return
    farthest = 2 if view == "steps" else min(int(branch.siblings.max(initial=0)), NEAR + 1)
    for ahead in range(1, farthest):
        near = np.flatnonzero(branch.rank + ahead < branch.siblings)
        siblings = branch.siblings[near]
        if view == "steps":
            yield near, near + ahead, of_parent[near] * (siblings - 1)
        else:
            most = np.minimum(siblings - 1, NEAR)
            pairs = of_parent[near] * most * (2 * siblings - most - 1)
            yield near, near + ahead, pairs
            yield near + ahead, near, pairs
