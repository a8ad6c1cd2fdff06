"""What can be said against tables of totals from public facts alone: each by itself, two at a time, and with rules."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np

from synth.errors import InputError
from synth.schema.constraints import columns_of
from synth.schema.enforcement import Rules
from synth.schema.table import Schema
from synth.schema.totals_places import MOST_ROWS, Parts, PublishedTotals, TotalsTable, compiled

MOST_JOINT = 2_000_000  # combinations of positions that are looked at one by one


def stated(schema: Schema, *, num_rows: int | None = None, rules: bool = True) -> PublishedTotals | None:
    """The schema's tables of totals in positions, None where it has none; ``num_rows``: asked for by the run.

    Errors: InputError for tables that contradict themselves, each other, the rules or the number of rows, by name.

    Privacy: public only.
    """
    if not schema.totals:
        return None
    tables = compiled(schema.totals, schema.columns)
    _check_margins(tables)
    rows = _rows(tables, num_rows)
    made = tuple(_within(t, rows) for t in tables)
    if rules:
        for table in made:
            _check_rules(table, schema)
    return PublishedTotals(tables=made, num_rows=rows)


def _rows(tables: Sequence[TotalsTable], asked: int | None) -> int:
    """The number of rows that whole tables state; of rounded ones alone that nearest to their sums."""
    whole = [t for t in tables if t.is_whole]
    if not whole:
        if asked is None:
            raise InputError(
                "totals: no table of them tells of all rows, so that they state no number of rows; add one that does, "
                "or say the number with `num_rows=`"
            )
        return _most(asked)
    low, high = max(t.bounds[0] for t in whole), min(t.bounds[1] for t in whole)
    if asked is not None:
        for table in whole:
            if not table.bounds[0] <= asked <= table.bounds[1]:
                raise InputError(
                    f"`num_rows={asked}`: {table.name} counts {_range(*table.bounds)} rows; leave out the option, for "
                    "totals state the number of rows"
                )
        return _most(asked)
    sums = [int(t.counts.sum()) for t in whole]
    return _most(int(np.clip(int(np.median(sums)), low, high)))


def _most(rows: int) -> int:
    if not 1 <= rows <= MOST_ROWS:
        raise InputError(f"totals: they count {rows:,} rows; a table that agrees with totals has 1 to {MOST_ROWS:,}")
    return rows


def _within(table: TotalsTable, rows: int) -> TotalsTable:
    """The table for so many rows: what is not published is at most what is left. Errors: InputError."""
    listed = table.counts >= 0
    published = int(table.low[listed].sum())
    if published > rows:
        raise InputError(f"{table.name}: it counts {published:,} rows, the others {rows:,}; correct one of them")
    high = np.minimum(table.high, rows)
    return TotalsTable(
        number=table.number, parts=table.parts, low=table.low, high=high, counts=table.counts, base=table.base
    )


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _check_margins(tables: Sequence[TotalsTable]) -> None:
    """Errors: InputError for two tables that disagree on what both tell of."""
    for one, other in combinations(tables, 2):
        shared = [c for c in one.columns if c in other.columns]
        if one.is_whole and other.is_whole:
            _compare(one, other, ())
            for size in range(1, len(shared) + 1):  # the fewest columns first: the plainest sentence
                for columns in combinations(shared, size):
                    _compare(one, other, columns)


def _compare(one: TotalsTable, other: TotalsTable, columns: Sequence[str]) -> None:
    common = [_common(_part(one, c), _part(other, c)) for c in columns]
    first, second = (_margin(t, columns, [c[i] for c in common]) for i, t in enumerate((one, other)))
    apart = np.argwhere((first[0] > second[1]) | (second[0] > first[1]))
    if not len(apart):
        return
    at = tuple(int(i) for i in apart[0])
    names = []
    for part, groups, i in zip([_part(one, c) for c in columns], common, at, strict=True):
        held = "|".join(n or "other" for n, g in zip(part.names, groups[0], strict=True) if g == i)
        names.append(f"{part.called}={held}")
    of = f" of {', '.join(names)}" if names else ""
    counts = [_range(int(m[0][at]), int(m[1][at])) for m in (first, second)]
    raise InputError(
        f"{one.name} and {other.name} disagree: the one counts {counts[0]} rows{of}, the other {counts[1]}; correct one"
    )


def _part(table: TotalsTable, column: str) -> Parts:
    return table.parts[table.columns.index(column)]


def _common(one: Parts, other: Parts) -> tuple[np.ndarray, np.ndarray]:
    """For each table's parts the number of the smallest union of parts that both tables have."""
    starts = np.union1d(one.starts, other.starts)
    pairs = np.stack([p.groups[np.searchsorted(p.starts, starts, side="right") - 1] for p in (one, other)])
    joined = np.arange(one.size)
    for _ in range(one.size):  # labels fall along chains of parts that overlap
        lowest = np.full(other.size, one.size)
        np.minimum.at(lowest, pairs[1], joined[pairs[0]])
        after = joined.copy()
        np.minimum.at(after, pairs[0], lowest[pairs[1]])
        if np.array_equal(after, joined):
            break
        joined = after
    first = np.unique(joined, return_inverse=True)[1]
    second = np.zeros(other.size, dtype=np.int64)
    second[pairs[1]] = first[pairs[0]]
    return first, second


def _margin(table: TotalsTable, columns: Sequence[str], groups: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Least and most rows of each union of parts of these columns."""
    shape = tuple(int(g.max()) + 1 for g in groups)
    flat = np.zeros(table.low.shape, dtype=np.int64)
    for column, size, group in zip(columns, shape, groups, strict=True):
        at = table.columns.index(column)
        flat = flat * size + group.reshape([-1 if i == at else 1 for i in range(table.low.ndim)])
    cells = prod(shape)
    low, high = (
        np.bincount(flat.ravel(), weights=x.ravel().astype(float), minlength=cells).reshape(shape)
        for x in (table.low, table.high)
    )
    return low, high


def _check_rules(table: TotalsTable, schema: Schema) -> None:
    """Errors: InputError for rows counted in a cell that a rule of the schema leaves empty."""
    for number, rule in enumerate(schema.constraints or (), start=1):
        if not set(columns_of(rule)) <= set(table.columns):
            continue
        alone = Rules(schema.model_copy(update={"constraints": (rule,)}))
        possible = _possible(table, alone)
        if possible is None:
            continue
        wrong = np.flatnonzero((table.low.ravel() > 0) & ~possible)
        if len(wrong):
            count = int(table.counts.ravel()[wrong[0]])
            raise InputError(
                f"{table.name}: it counts {count:,} rows of {table.cell(int(wrong[0]))}, which constraint {number} "
                f"({rule.kind}) excludes; correct one of both"
            )


def _possible(table: TotalsTable, rules: Rules) -> np.ndarray | None:
    """Cells that have a combination of positions that keeps the rules; None where these are too many to look at."""
    sizes = [p.cells for p in table.parts]
    if prod(sizes) > MOST_JOINT:
        return None
    rows: Mapping[str, np.ndarray] = {p.column: i.ravel() for p, i in zip(table.parts, np.indices(sizes), strict=True)}
    flat = np.zeros(prod(sizes), dtype=np.int64)
    for part in table.parts:
        flat = flat * part.size + part.of(rows[part.column])
    retained = ~rules.broken(rows)
    return np.bincount(flat[retained], minlength=table.low.size) > 0


def disagreements(totals: PublishedTotals, rows: Mapping[str, np.ndarray]) -> Iterator[str]:
    """A sentence for each table that rows (n,) of positions disagree with.

    Privacy: released answers only.
    """
    for table in totals.tables:
        if off := table.off(rows):
            yield f"{table.name}: {off:,} of its cells disagree with the table"
