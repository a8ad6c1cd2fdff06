"""Published totals in positions: which cell of a table of totals a row falls into, and how many rows it may have.

What can be said against them from public facts alone is said here: each by itself, two at a time, and with rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from synth.errors import InputError
from synth.languages import Said
from synth.lazy import Lazy, sparse
from synth.schema import areas, codec
from synth.schema.column import Column
from synth.schema.constraints import columns_of
from synth.schema.enforcement import Rules
from synth.schema.intervals import Intervals
from synth.schema.table import Schema
from synth.schema.totals import Totals

csgraph = Lazy("scipy.sparse.csgraph")
MOST_CELLS = 200_000  # of one table of totals, those that no line names among them
MOST_JOINT = 2_000_000  # combinations of positions that are looked at one by one
MOST_ROWS = 5_000_000  # of a synthetic table that agrees with totals: it is adjusted as a whole, in memory


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """The values of one column that a table of totals tells apart: leaf i begins at position ``starts[i]``.

    ``groups``: the part (0 ... size - 1) of each leaf; ``names``: its condition, "" for what no line names. ``called``:
    the column as printed; of areas above others ``column`` is the lowest, from which they follow.
    """

    column: str
    called: str
    cells: int
    starts: np.ndarray
    groups: np.ndarray
    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of parts."""
        return len(self.names)

    def of(self, positions: np.ndarray) -> np.ndarray:
        """The part of each position."""
        if len(self.starts) == self.cells:
            return self.groups[positions]
        return self.groups[np.searchsorted(self.starts, positions, side="right") - 1]


@dataclass(frozen=True, kw_only=True, eq=False)
class TotalsTable:
    """A table of totals in positions: each cell's number of rows lies from ``low`` to ``high``, of the parts' shape."""

    number: int
    parts: tuple[Parts, ...]
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray  # as printed; those of cells that are not published are -1
    base: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it counts by."""
        return tuple(p.column for p in self.parts)

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"totals {self.number} ({' x '.join(p.called for p in self.parts)})"

    @property
    def is_whole(self) -> bool:
        """Whether it tells of every cell."""
        return bool((self.counts >= 0).all())

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest number of rows in all that it allows."""
        return int(self.low.sum()), int(self.high.sum())

    def cell(self, index: int) -> str:
        """The condition of a cell in words."""
        at = np.unravel_index(index, self.low.shape)
        pairs = zip(self.parts, at, strict=True)
        return ", ".join(f"{p.called}={p.names[int(i)] or 'what no line names'}" for p, i in pairs)

    def counted(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """Rows (n,) of positions, counted in its cells."""
        flat = np.zeros(len(rows[self.columns[0]]), dtype=np.int64)
        for part in self.parts:
            flat = flat * part.size + part.of(rows[part.column])
        return np.bincount(flat, minlength=self.low.size).reshape(self.low.shape)

    def off(self, rows: Mapping[str, np.ndarray]) -> int:
        """How many of its cells these rows disagree with."""
        counts = self.counted(rows)
        return int(((counts < self.low) | (counts > self.high)).sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedTotals:
    """All tables of totals of a schema, and the number of rows that they state."""

    tables: tuple[TotalsTable, ...]
    num_rows: int

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Every column that is counted by."""
        return tuple(dict.fromkeys(c for t in self.tables for c in t.columns))

    def disagreeing(self, rows: Mapping[str, np.ndarray]) -> int:
        """Cells of all tables that rows (n,) of positions disagree with."""
        return sum(t.off(rows) for t in self.tables)


def compiled(totals: Sequence[Totals], columns: Mapping[str, Column]) -> list[TotalsTable]:
    """The tables in positions. Errors: InputError naming table, cell and rule."""
    return [_compiled(number, one, columns) for number, one in enumerate(totals, start=1)]


def _compiled(number: int, one: Totals, columns: Mapping[str, Column]) -> TotalsTable:
    named, base, parts = f"totals {number} ({one.name})", one.rounded or 1, []
    for at, name in enumerate(one.columns):
        column = columns[name]
        if (column.min is None or column.max is None) if column.is_numeric else not column.categories:
            raise InputError("{}: the values of {} are still to be learnt; state them in the schema", named, name)
        parts.append(_parts(named, name, columns, list(dict.fromkeys(line[at].strip() for line in one.counts))))
    shape = tuple(p.size for p in parts)
    if prod(shape) > MOST_CELLS:
        raise InputError(
            "{}: it has {:,} cells, at most {:,} are read; make it coarser", named, prod(shape), MOST_CELLS
        )
    counts = np.full(shape, -1, dtype=np.int64)
    places = [{n: i for i, n in enumerate(p.names)} for p in parts]
    for line in one.counts:
        cell = tuple(place[text.strip()] for place, text in zip(places, line[:-1], strict=True))
        words = ", ".join(f"{c}={v.strip()}" for c, v in zip(one.columns, line, strict=False))
        if counts[cell] >= 0:
            raise InputError("{}: {} is counted twice; keep one line", named, words)
        counts[cell] = int(line[-1])
        if counts[cell] % base:
            raise InputError(
                "{}: {:,} of {} is no multiple of {}, to which the counts are said to be rounded; correct one of both",
                named,
                int(line[-1]),
                words,
                base,
            )
    if one.unlisted == "zero":
        counts = np.maximum(counts, 0)
    low, high = np.maximum(counts - base // 2, 0), np.where(counts < 0, MOST_ROWS, counts + base // 2)
    made = TotalsTable(number=number, parts=tuple(parts), low=low, high=high, counts=counts, base=base)
    if one.unlisted is None and not made.is_whole:
        missing = np.flatnonzero(counts.ravel() < 0)
        raise InputError(
            '{}: no line has {} ({:,} cells in all); add the lines, or say what they are: "unlisted": "zero", or '
            '"open" where they are not published',
            named,
            _unlisted(made, columns, int(missing[0])),
            len(missing),
        )
    return made


def _unlisted(table: TotalsTable, columns: Mapping[str, Column], index: int) -> str:
    """A cell that no line names: of its columns the condition, or the first value in no condition."""
    out = []
    for part, i in zip(table.parts, np.unravel_index(index, table.low.shape), strict=True):
        text = part.names[int(i)]
        if not text:
            first = int(part.starts[np.flatnonzero(part.groups == int(i))[0]])
            at = {"x": areas.seen_from(columns, part.called)[[first]]}  # at the column's own level
            alone = Schema.model_construct(columns={"x": columns[part.called]}, constraints=None)
            text = str(codec.decode(at, alone, num_rows=1)["x"][0].as_py()) or "(missing)"
        out.append(f"{part.called}={text}")
    return ", ".join(out)


def _parts(named: str, name: str, columns: Mapping[str, Column], conditions: Sequence[str]) -> Parts:
    """A column's parts: those of the conditions, then what none of them names."""
    lowest, rest = areas.lowest(columns, name), len(conditions)
    cells = columns[lowest].cells
    spans: list[tuple[int, int, int]] = []
    for number, condition in enumerate(conditions):
        try:
            allowed: Intervals = codec.allowed(columns[name], condition)
        except ValueError as error:
            raise InputError("{}: {}={}: {}", named, name, condition or "(empty)", error) from None
        if lowest != name:
            within = np.flatnonzero(allowed.holds(areas.seen_from(columns, name)))
            allowed = Intervals.of((int(p), int(p) + 1) for p in within)
        spans += [(int(a), int(b), number) for a, b in zip(allowed.starts, allowed.ends, strict=True)]
    leaves: list[tuple[int, int]] = []  # where each begins, and its part
    end = 0
    for first, last, number in sorted(spans):
        if first < end:
            raise InputError(
                "{}: {}={} and {}={} overlap, so that rows are counted twice; write parts that exclude each other",
                named,
                name,
                conditions[number],
                name,
                conditions[leaves[-1][1]],
            )
        leaves += [*([(end, rest)] if first > end else []), (first, number)]
        end = last
    if end < cells:
        leaves.append((end, rest))
    starts, groups = np.array(leaves, dtype=np.int64).T.copy()
    names = (*conditions, "") if rest in groups else tuple(conditions)
    return Parts(column=lowest, called=name, cells=cells, starts=starts, groups=groups, names=names)


def stated(schema: Schema, *, num_rows: int | None = None, rules: bool = True) -> PublishedTotals | None:
    """The schema's tables of totals in positions, None where it has none; ``num_rows``: asked for by the run.

    Errors: InputError for tables that contradict themselves, each other, the rules or the number of rows, by name.

    Privacy: public only.
    """
    if not schema.totals:
        return None
    tables = compiled(schema.totals, schema.columns)
    whole = [t for t in tables if t.is_whole]
    for one, other in combinations(whole, 2):
        shared = [c for c in one.columns if c in other.columns]
        for size in range(len(shared) + 1):  # the fewest columns first: the plainest sentence
            for columns in combinations(shared, size):
                _compare(one, other, columns)
    rows = _rows(whole, num_rows)
    for table in tables:
        published = int(table.low[table.counts >= 0].sum())
        if published > rows:
            raise InputError(
                "{}: it counts {:,} rows, the others {:,}; correct one of them", table.name, published, rows
            )
    made = tuple(replace(t, high=np.minimum(t.high, rows)) for t in tables)  # what is not published: what is left
    for table in made if rules else ():
        _check_rules(table, schema)
    return PublishedTotals(tables=made, num_rows=rows)


def _rows(whole: Sequence[TotalsTable], asked: int | None) -> int:
    """The number of rows that whole tables state; of rounded ones alone that nearest to their sums."""
    rows = asked
    if rows is None:
        if not whole:
            raise InputError(
                "totals: no table of them tells of all rows, so that they state no number of rows; add one that does, "
                "or say the number with `num_rows=`"
            )
        low, high = max(t.bounds[0] for t in whole), min(t.bounds[1] for t in whole)
        rows = int(np.clip(int(np.median([int(t.counts.sum()) for t in whole])), low, high))
    for table in whole:
        if asked is not None and not table.bounds[0] <= asked <= table.bounds[1]:
            raise InputError(
                "`num_rows={}`: {} counts {} rows; leave out the option, for totals state the number of rows",
                asked,
                table.name,
                _range(*table.bounds),
            )
    if not 1 <= rows <= MOST_ROWS:
        raise InputError("totals: they count {:,} rows; a table that agrees with totals has 1 to {:,}", rows, MOST_ROWS)
    return rows


def _range(low: int, high: int) -> str:
    return Said("{:,}", low) if low == high else Said("{:,} to {:,}", low, high)


def _compare(one: TotalsTable, other: TotalsTable, columns: Sequence[str]) -> None:
    """Errors: InputError for two tables that disagree on what both tell of by these columns."""
    parts = [[t.parts[t.columns.index(c)] for t in (one, other)] for c in columns]
    common = [_common(*both) for both in parts]
    first, second = (_margin(t, columns, [c[i] for c in common]) for i, t in enumerate((one, other)))
    apart = np.argwhere((first[0] > second[1]) | (second[0] > first[1]))
    if not len(apart):
        return
    at = tuple(int(i) for i in apart[0])
    names = []
    for (part, _), groups, i in zip(parts, common, at, strict=True):
        label = "|".join(n or "other" for n, g in zip(part.names, groups[0], strict=True) if g == i)
        names.append(f"{part.called}={label}")
    of = Said(" of {}", ", ".join(names)) if names else ""
    counts = [_range(int(m[0][at]), int(m[1][at])) for m in (first, second)]
    raise InputError(
        "{} and {} disagree: the one counts {} rows{}, the other {}; correct one",
        one.name,
        other.name,
        counts[0],
        of,
        counts[1],
    )


def _common(one: Parts, other: Parts) -> tuple[np.ndarray, np.ndarray]:
    """For each table's parts the number of the smallest union of parts that both tables have."""
    starts = np.union1d(one.starts, other.starts)
    pairs = [p.groups[np.searchsorted(p.starts, starts, side="right") - 1] for p in (one, other)]
    edges = sparse.coo_array(
        (np.ones(len(starts)), (pairs[0], pairs[1] + one.size)), shape=(one.size + other.size,) * 2
    )
    unions = csgraph.connected_components(edges, directed=False)[1]
    return unions[: one.size], unions[one.size :]


def _margin(table: TotalsTable, columns: Sequence[str], groups: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Least and most rows of each union of parts of these columns."""
    shape = tuple(int(g.max()) + 1 for g in groups)
    flat = np.zeros(table.low.shape, dtype=np.int64)
    for column, size, group in zip(columns, shape, groups, strict=True):
        at = table.columns.index(column)
        flat = flat * size + group.reshape([-1 if i == at else 1 for i in range(table.low.ndim)])
    summed = (np.bincount(flat.ravel(), x.ravel().astype(float), prod(shape)) for x in (table.low, table.high))
    low, high = (s.reshape(shape) for s in summed)
    return low, high


def _check_rules(table: TotalsTable, schema: Schema) -> None:
    """Errors: InputError for rows counted in a cell that a rule of the schema leaves empty.

    A cell may hold rows where a combination of its positions keeps the rule; more of them than are looked at all do.
    """
    sizes = [p.cells for p in table.parts]
    for number, rule in enumerate(schema.constraints or (), start=1):
        if not set(columns_of(rule)) <= set(table.columns) or prod(sizes) > MOST_JOINT:
            continue
        rows = {p.column: i.ravel() for p, i in zip(table.parts, np.indices(sizes), strict=True)}
        kept = ~Rules(schema.model_copy(update={"constraints": (rule,)})).broken(rows)
        possible = table.counted({n: positions[kept] for n, positions in rows.items()}) > 0
        wrong = np.flatnonzero((table.low > 0) & ~possible)
        if len(wrong):
            count = int(table.counts.ravel()[wrong[0]])
            raise InputError(
                "{}: it counts {:,} rows of {}, which constraint {} ({}) excludes; correct one of both",
                table.name,
                count,
                table.cell(int(wrong[0])),
                number,
                rule.kind,
            )


def disagreements(totals: PublishedTotals, rows: Mapping[str, np.ndarray]) -> Iterator[str]:
    """A sentence for each table that rows (n,) of positions disagree with.

    Privacy: released answers only.
    """
    for table in totals.tables:
        if off := table.off(rows):
            yield Said("{}: {:,} of its cells disagree with the table", table.name, off)
