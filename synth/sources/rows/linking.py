"""Rows of related tables put together: whose children a row is, and which of a parent's rows are kept.

Nothing here is told outside: how many rows have no parent, how many keys stand twice and how many rows are left out of
a parent with too many are as private as the rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from synth.schema import cells, histories
from synth.schema.codec import TextColumn
from synth.schema.dataset import Dataset, number_of
from synth.schema.tree import Key
from synth.sources.rows.forest import Branch, Forest


class Draws(Protocol):
    """Where a secret random number for every row comes from."""

    def uniform_codes(self, size: int, *, high: int) -> np.ndarray: ...


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
    retained, forest = _bare(schema, tables, draws)
    columns: dict[str, dict[str, np.ndarray]] = {}
    for name in schema.downwards:
        above, branch = schema.key_above(name), forest[name]
        cells_of = {n: c.cells for n, c in schema.tables[name].measured().items()}
        columns[name] = {n: _narrow(tables[name].positions[n], c)[retained[name]] for n, c in cells_of.items()}
        if above is not None:
            columns[above.parent][number_of(name)] = np.bincount(branch.parent, minlength=len(retained[above.parent]))
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
    retained, forest = _bare(schema.model_copy(update={"keys": unordered}), tables, draws)
    chosen = {}
    for name, rows in retained.items():
        order, rank = _ranked(forest.roots(name), draws)
        chosen[name] = rows[order[rank == 0]]
    return chosen


def _bare(schema: Dataset, tables: Mapping[str, TableRows], draws: Draws) -> tuple[dict[str, np.ndarray], Forest]:
    """Which rows of each table are kept, and how they hang together: a forest without columns."""
    retained: dict[str, np.ndarray] = {}
    result: dict[str, Branch] = {}
    for name in schema.downwards:
        above = schema.key_above(name)
        retained[name], result[name] = (
            _root(schema, tables, draws) if above is None else _below(above, tables, retained, result, draws)
        )
    return retained, Forest(result, {n: (k.parent if (k := schema.key_above(n)) else None) for n in schema.tables})


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
    order, rank = _ranked(codes, draws)
    nameless = codes[order] < 0
    rows = np.sort(order[(rank == 0) & ~nameless] if not schema.several else order[(rank == 0) | nameless])
    one = np.ones(len(rows), dtype=np.int64)
    return rows, Branch(columns={}, parent=np.zeros(len(rows), dtype=np.int64), siblings=one, rank=one - 1, parts=one)


def _below(
    key: Key,
    tables: Mapping[str, TableRows],
    retained: Mapping[str, np.ndarray],
    result: Mapping[str, Branch],
    draws: Draws,
) -> tuple[np.ndarray, Branch]:
    """The kept children of all kept parents, those of one parent next to each other."""
    upper, lower = tables[key.parent], tables[key.child]
    theirs, own = coded([upper.texts[n] for n in key.referred], [lower.texts[n] for n in key.columns])
    order, rank = _ranked(own, draws)
    chosen = order[(rank < key.most_children) & (own[order] >= 0)]  # by key, those of one key in random order
    if key.order is not None:
        chosen = chosen[np.lexsort((_times(lower, key.order)[chosen], own[chosen]))]  # stable: ties stay as drawn
    many = 1 + max(int(theirs.max(initial=0)), int(own.max(initial=0)))
    sizes = np.minimum(np.bincount(own[own >= 0], minlength=many), key.most_children)
    starts = np.cumsum(sizes) - sizes
    of_parent = theirs[retained[key.parent]]
    count = np.where(of_parent >= 0, sizes[of_parent], 0)
    parent = np.repeat(np.arange(len(of_parent)), count)
    place = np.arange(len(parent)) - np.repeat(np.cumsum(count) - count, count)
    siblings = count[parent]
    rows = chosen[starts[of_parent[parent]] + place]
    parts = result[key.parent].parts[parent] * siblings
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
        whole = codes.astype(np.int64) if i == 0 else _paired(whole, codes)
        missing = (codes == empty) if i == 0 else missing | (codes == empty)
    whole = np.unique(whole, return_inverse=True)[1] if len(upper) > 1 else whole
    whole[missing] = -1
    split = len(upper[0].codes)
    return whole[:split], whole[split:]


def _paired(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Numbers that are equal where both are."""
    return np.unique(one, return_inverse=True)[1] * (int(other.max(initial=0)) + 1) + other


def _ranked(codes: np.ndarray, draws: Draws) -> tuple[np.ndarray, np.ndarray]:
    """Rows sorted by code and then at random (n,), and each one's place among those of its code (n,).

    **Guarantee**: the places of one code's rows follow from their own secret numbers.
    """
    order = np.lexsort((draws.uniform_codes(len(codes), high=2**63 - 1), codes))
    ordered = codes[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(order) else np.zeros(0, dtype=np.int64)
    runs = np.diff(np.append(first, len(order)))
    return order, np.arange(len(order)) - np.repeat(first, runs)


def _narrow(positions: np.ndarray, cells: int) -> np.ndarray:
    """Positions in as few bytes as the column needs."""
    return np.asarray(positions).astype(np.min_scalar_type(max(cells - 1, 0)))


def _times(table: TableRows, column: str) -> np.ndarray:
    """What events are ordered by, (n,): positions, or the numbers of an identifier; what is no number comes last."""
    if column in table.positions:
        return np.asarray(table.positions[column])
    text = table.texts[column]
    numbers = cells.floats(cells.canonical(text.values))
    return np.where(np.isnan(numbers), np.inf, numbers)[text.codes]
