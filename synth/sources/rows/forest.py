"""Related tables as trees: rows that belong to a root, with what each weighs in a question. As private as the rows.

``link`` puts rows together: whose children a row is, and which of a parent's rows are kept. Nothing of it is told
outside: how many rows have no parent, how many keys stand twice and how many rows are left out of a parent with too
many are as private as the rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from synth.questions.linked import FAR, NEAR, View, placed
from synth.schema import cells, histories
from synth.schema.codec import Draws, TextColumn
from synth.schema.dataset import Dataset, number_of
from synth.schema.table import Key
from synth.sources.rows.encoded import PARTS, Tables
from synth.sources.rows.marginals import counted
from synth.sources.rows.spill import ranked


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

        Privacy: reads rows, exact.
        """

        def batches(columns: list[str], step: int) -> Iterator[dict[str, np.ndarray]]:
            for parts, batch in self.strata(table, view, columns, step):
                yield {**batch, PARTS: np.full(len(batch[columns[0]]), parts)}

        return counted(tables, batches, unit=unit)

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


@dataclass(frozen=True, kw_only=True, eq=False)
class TableRows:
    """A table's rows: ``positions`` (n,) of measured columns, ``texts`` of columns that keys are about or order by."""

    positions: Mapping[str, np.ndarray]
    texts: Mapping[str, TextColumn]
    num_rows: int


def link(schema: Dataset, tables: Mapping[str, TableRows], draws: Draws) -> Forest:
    """The rows that belong to a root, as a forest.

    Rows of the root that have one key are one unit, of which one row is kept; a root without a key is a unit of its
    own and has no children. Of more than ``most_children`` rows with one key so many are kept, drawn by secret numbers
    of their own. A row belongs to every row of the parent's table that has its key, and to none where its key is
    missing or unknown; such rows are passed over, and in a table of persons and their rows those above as well.

    **Guarantee**: the tree of a root depends on its own rows, the rows that their keys lead to and these rows' secret
    numbers alone, never on other roots (mechanisms/linked.md).
    """
    kept, forest = _bare(schema, tables, draws)
    columns: dict[str, dict[str, np.ndarray]] = {}
    for name in schema.downwards:
        above, branch = schema.key_above(name), forest[name]
        cells_of = {n: c.cells for n, c in schema.tables[name].measured().items()}
        columns[name] = {n: _narrow(tables[name].positions[n], c)[kept[name]] for n, c in cells_of.items()}
        if above is not None:
            columns[above.parent][number_of(name)] = np.bincount(branch.parent, minlength=len(kept[above.parent]))
            columns[name] |= _derived(schema, name, columns[name], branch.rank)
    for name in schema.downwards:
        forest = forest.with_branch(name, replace(forest[name], columns=columns[name]))
    return forest


def one_of_each_root(schema: Dataset, tables: Mapping[str, TableRows], draws: Draws) -> dict[str, np.ndarray]:
    """By table the indices of rows, at most one below each root: drawn evenly among those that ``link`` would keep.

    **Guarantee**: which row a root has in a table follows from its tree and these rows' secret numbers alone, so that
    one tree more or less is one row more or less of each table (mechanisms/values.md).
    """
    unordered = tuple(k.model_copy(update={"order": None}) for k in schema.keys)
    kept, forest = _bare(schema.model_copy(update={"keys": unordered}), tables, draws)
    chosen = {}
    for name, rows in kept.items():
        order, rank = ranked(forest.roots(name), draws)
        chosen[name] = rows[order[rank == 0]]
    return chosen


def _bare(schema: Dataset, tables: Mapping[str, TableRows], draws: Draws) -> tuple[dict[str, np.ndarray], Forest]:
    """Which rows of each table are kept, and how they hang together: a forest without columns."""
    kept: dict[str, np.ndarray] = {}
    branches: dict[str, Branch] = {}
    for name in schema.downwards:
        above = schema.key_above(name)
        kept[name], branches[name] = (
            _root(schema, tables, draws) if above is None else _below(above, tables, kept, branches, draws)
        )
    return kept, Forest(branches, {n: (k.parent if (k := schema.key_above(n)) else None) for n in schema.tables})


def _derived(schema: Dataset, name: str, columns: Mapping[str, np.ndarray], rank: np.ndarray) -> dict[str, np.ndarray]:
    """What is derived from the order of long histories, each from one parent's rows alone."""
    facts, key = schema.tables[name].measured(), schema.key_above(name)
    assert key is not None
    out = {}
    for column, fact in histories.derived(facts, key).items():
        time, positions = facts[str(key.order)], columns[str(key.order)]
        of_gap = column == histories.gap_of(str(key.order))
        cells = histories.gaps(time, positions, rank) if of_gap else histories.months(time, positions)
        out[column] = _narrow(cells, fact.cells)
    return out


def _root(schema: Dataset, tables: Mapping[str, TableRows], draws: Draws) -> tuple[np.ndarray, Branch]:
    table, key = tables[schema.root], schema.keys_below(schema.root)[0]
    codes, _ = coded([table.texts[n] for n in key.referred], [])
    order, rank = ranked(codes, draws)
    nameless = codes[order] < 0
    rows = np.sort(order[(rank == 0) & ~nameless] if not schema.several else order[(rank == 0) | nameless])
    one = np.ones(len(rows), dtype=np.int64)
    return rows, Branch(columns={}, parent=np.zeros(len(rows), dtype=np.int64), siblings=one, rank=one - 1, parts=one)


def _below(
    key: Key,
    tables: Mapping[str, TableRows],
    kept: Mapping[str, np.ndarray],
    branches: Mapping[str, Branch],
    draws: Draws,
) -> tuple[np.ndarray, Branch]:
    """The kept children of all kept parents, those of one parent next to each other."""
    upper, lower = tables[key.parent], tables[key.child]
    theirs, own = coded([upper.texts[n] for n in key.referred], [lower.texts[n] for n in key.columns])
    order, rank = ranked(own, draws)
    chosen = order[(rank < key.most_children) & (own[order] >= 0)]  # by key, those of one key in random order
    if key.order is not None:
        times = lower.positions.get(key.order)  # or the numbers of an identifier; what is no number comes last
        if times is None:
            text = lower.texts[key.order]
            numbers = cells.floats(cells.canonical(text.values))
            times = np.where(np.isnan(numbers), np.inf, numbers)[text.codes]
        chosen = chosen[np.lexsort((np.asarray(times)[chosen], own[chosen]))]  # stable: ties stay as drawn
    many = 1 + max(int(theirs.max(initial=0)), int(own.max(initial=0)))
    sizes = np.minimum(np.bincount(own[own >= 0], minlength=many), key.most_children)
    starts = np.cumsum(sizes) - sizes
    of_parent = theirs[kept[key.parent]]
    count = np.where(of_parent >= 0, sizes[of_parent], 0)
    parent = np.repeat(np.arange(len(of_parent)), count)
    place = np.arange(len(parent)) - np.repeat(np.cumsum(count) - count, count)
    siblings = count[parent]
    rows = chosen[starts[of_parent[parent]] + place]
    parts = branches[key.parent].parts[parent] * siblings
    return rows, Branch(columns={}, parent=parent, siblings=siblings, rank=place, parts=parts)


def coded(upper: Sequence[TextColumn], lower: Sequence[TextColumn]) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, equal where keys are: of the parent's rows (n,) and the child's (m,), -1 for a missing key.

    Keys compare by ``cells.key``, part by part; one with an empty part is missing.
    """
    whole = np.zeros(0, dtype=np.int64)
    missing = np.zeros(0, dtype=bool)
    for i, column in enumerate(upper):
        texts = [cells.key(t.values) for t in ([column, lower[i]] if lower else [column])]
        joined = pa.concat_arrays([t.cast(pa.large_string()) for t in texts]).dictionary_encode()
        index, first = joined.indices.to_numpy(zero_copy_only=False), len(texts[0])
        codes = index[:first][column.codes]
        if lower:
            codes = np.append(codes, index[first:][lower[i].codes])
        empty = joined.dictionary.index("").as_py()
        paired = np.unique(whole, return_inverse=True)[1] * (int(codes.max(initial=0)) + 1) + codes if i else codes
        whole = paired.astype(np.int64)
        missing = (codes == empty) if i == 0 else missing | (codes == empty)
    whole = np.unique(whole, return_inverse=True)[1] if len(upper) > 1 else whole
    whole[missing] = -1
    split = len(upper[0].codes)
    return whole[:split], whole[split:]


def _narrow(positions: np.ndarray, cells: int) -> np.ndarray:
    """Positions in as few bytes as the column needs."""
    return np.asarray(positions).astype(np.min_scalar_type(max(cells - 1, 0)))
