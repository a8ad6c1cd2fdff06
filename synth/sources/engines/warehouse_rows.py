"""Encoded rows that stay in an engine: counted there, one pass for all tables of a question, or fetched."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np

from synth.schema import codec
from synth.schema.table import Schema
from synth.sources.engines import one_pass
from synth.sources.engines.bounded import Bound
from synth.sources.engines.engine import Engine
from synth.sources.engines.sql_branches import LOST, settled
from synth.sources.formats.text_table import Table
from synth.sources.rows.block_counts import CountedAxis, CountPlan
from synth.sources.rows.encoded import EncodedRows, PositionGrouping, Tables
from synth.sources.rows.encoding import Batch, Encoder
from synth.sources.rows.marginals import Binner, cover, distinct, holders
from synth.sources.rows.spill import Spill

DRAWN = 1 << 20  # cells placed at random at a time


class Stored(Protocol):
    """A table of an engine: who answers about it, its name in a query, and its rows as they are."""

    @property
    def asked(self) -> Engine: ...
    @property
    def relation(self) -> str: ...
    def batches(self, schema: Schema, raw: Sequence[str]) -> Iterator[Batch]: ...


class MarkCounts(Mapping[str, int]):
    """How many cells of each column have a mark, asked of the engine when they are looked at. As private as rows."""

    def __init__(self, rows: "WarehouseRows", mark: str) -> None:
        self._rows, self._mark = rows, mark

    def __repr__(self) -> str:
        """Columns only."""
        return f"MarkCounts({len(self)} columns)"

    def __getitem__(self, name: str) -> int:
        return self._rows.mark_counts[name, self._mark]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class WarehouseRows(EncodedRows):
    """Encoded rows that stay in the engine; ``positions``: each column's expression (sql.py).

    ``bound``: where a person is the unit, which rows of each are kept; no other is ever told of.
    """

    def __init__(
        self,
        place: Stored,
        schema: Schema,
        draws: codec.Draws,
        positions: Mapping[str, str],
        *,
        bound: Bound | None = None,
    ) -> None:
        self._place, self._schema, self._draws, self._positions = place, schema, draws, dict(positions)
        self._bound = bound
        self._fetched: Spill | None = None
        self._held: str | None = None  # the name of what Spark's executors hold
        self._rows: int | None = None

    def __repr__(self) -> str:
        """Columns only."""
        return f"WarehouseRows({len(self._positions)} columns)"

    def __iter__(self) -> Iterator[str]:
        """The columns' names."""
        return iter(self._positions)

    def __getitem__(self, name: str) -> np.ndarray:
        """A column's positions, fetched."""
        return self._local()[name]

    @property
    def num_rows(self) -> int:
        """Rows of the table when it was first looked at."""
        if self._rows is None:
            first = list(self)[:1]
            query = f"SELECT COUNT(*) FROM {self._marked(first)}"
            self._rows = int(next(iter(self._place.asked.rows(query)))[0][0])
        return self._rows

    def release(self) -> None:
        """Lets go of what executors hold; a later question reads the table again."""
        if self._held is not None:
            one_pass.release(self._place.asked, self._held)
            self._held = None

    def described(self) -> codec.Encoded:
        """These rows, with the counts of clamped and unreadable cells, which are the steward's alone.

        They are counted where somebody looks at them: it takes a third as long as to encode the rows.
        """
        return codec.Encoded(self, MarkCounts(self, "< -1"), MarkCounts(self, "= -1"))

    @cached_property
    def mark_counts(self) -> dict[tuple[str, str], int]:
        """How many cells of a column have such a mark, counted once: private."""
        asked = [(n, i, m) for i, n in enumerate(self) for m in ("< -1", "= -1")]
        sums = ", ".join(f"SUM(CASE WHEN p{i} {m} THEN 1 ELSE 0 END)" for _, i, m in asked)
        reported = next(iter(self._place.asked.rows(f"SELECT {sums} FROM {self._marked(list(self))}")))[0]
        return {(n, m): int(v or 0) for (n, _, m), v in zip(asked, reported, strict=True)}

    def batches(self, columns: Iterable[str], step: int) -> Iterator[dict[str, np.ndarray]]:
        """Fetched rows, some at a time."""
        return self._local().batches(columns, step)

    def _local(self) -> Spill:
        if self._fetched is None:
            encoder = Encoder(self._schema, self._draws)
            for batch in self._place.batches(self._schema, []) if self._bound is None else self._retained():
                encoder.add(batch)
            self._fetched = encoder.spill
        return self._fetched

    def _retained(self) -> Iterator[Batch]:
        """The rows that the bound keeps, as the engine has encoded them: those that it counts, no others."""
        names = list(self)
        listed = ", ".join(f"p{i}" for i in range(len(names)))
        for part in one_pass.positions(self._place.asked, f"SELECT {listed} FROM {self._settled(names)}"):
            codes = {n: np.ascontiguousarray(part[:, i]) for i, n in enumerate(names)}
            yield Batch(table=Table({}, num_rows=len(part)), codes=codes)

    def counts(self, tables: Tables) -> list[np.ndarray]:
        """Exact counts by the engine, in one pass over its rows for all tables (one_pass.py).

        A cell that no position is known for, in a column that is never missing, comes back as such and is placed at
        random here, for each table anew: the law of a table is that of rows placed one by one.
        """

        def ask(names: Sequence[str], plan: CountPlan) -> list[np.ndarray]:
            return one_pass.tables(self._place.asked, self._settled(names), plan)

        return joint_tables(tables, ask, self._place_lost)

    def _settled(self, names: Sequence[str]) -> str:
        """Columns of the table as positions, or ``LOST`` in a column that is never missing."""
        columns = self._schema.columns
        whole = ", ".join(
            f"CAST({settled(f'p{i}', columns[n])} AS {self._place.asked.dialect.whole(columns[n].cells)}) AS p{i}"
            for i, n in enumerate(names)
        )
        return f"(SELECT {whole} FROM {self._marked(names)}) AS settled_rows"

    def _marked(self, names: Sequence[str]) -> str:
        """Columns of the table as positions or marks, named p0, p1, ...; on Spark the table is read once for them."""
        dialect, every = self._place.asked.dialect, list(self)
        if dialect.name != "spark":
            return self._placed(names)
        if self._held is None:
            cells = [self._schema.columns[n].cells for n in every]
            chosen = ", ".join(f"CAST(p{i} AS {dialect.whole(c)}) AS p{i}" for i, c in enumerate(cells))
            self._held = one_pass.hold(self._place.asked, f"SELECT {chosen} FROM {self._placed(every)}")
        chosen = ", ".join(f"p{every.index(n)} AS p{i}" for i, n in enumerate(names))
        return f"(SELECT {chosen} FROM {self._held}) AS marked_rows"

    def _placed(self, names: Sequence[str]) -> str:
        """As ``_marked``, from the table itself."""
        marks = {n: f"COALESCE({sql}, {LOST})" for n, sql in self._positions.items()}
        relation = self._place.relation
        if self._bound is None:
            chosen = ", ".join(f"{marks[n]} AS p{i}" for i, n in enumerate(names))
            return f"(SELECT {chosen} FROM {relation}) AS marked_rows"
        retained = self._bound.retained(list(marks.values()), relation, self._place.asked.dialect)
        chosen = ", ".join(f"p{list(marks).index(n)} AS p{i}" for i, n in enumerate(names))
        return f"(SELECT {chosen} FROM {retained}) AS marked_rows"

    def _place_lost(self, table: np.ndarray, grouping: PositionGrouping, binner: Binner) -> None:
        """Moves the counts (rows, bins) of the last bin to bins of positions drawn uniformly."""
        size = self._schema.columns[grouping.column].size
        for index in np.flatnonzero(table[:, -1]).tolist():
            left = int(table[index, -1])
            table[index, -1] = 0
            for start in range(0, left, DRAWN):
                drawn = binner.codes(self._draws.uniform_codes(min(DRAWN, left - start), high=size))
                table[index] += np.bincount(drawn, minlength=table.shape[1])


Lost = Callable[[np.ndarray, PositionGrouping, Binner], None]


def joint_tables(
    tables: Tables, ask: Callable[[Sequence[str], CountPlan], list[np.ndarray]], place_lost: Lost | None = None
) -> list[np.ndarray]:
    """The tables' exact counts, int64 (cells,), by one plan of counting.

    ``ask``: the plan's tables, of columns in this order. ``place_lost``: moves the counts (rows, bins) of cells that
    are to be placed out of the last bin; without it there are none.
    """
    groupings, axes = distinct(tables)
    if not axes:
        return []
    binners = [Binner(g) for g in groupings]
    blocks = cover(axes, [b.size + 1 for b in binners])  # the last bin holds the cells that are to be placed
    names = list(dict.fromkeys(g.column for g in groupings))
    wanted = _wanted(axes, blocks, [b.size + 1 for b in binners])
    plan = CountPlan(
        tuple(_axis(g, b, names) for g, b in zip(groupings, binners, strict=True)),
        tuple(blocks),
        tuple(dict.fromkeys(wanted)),
    )
    counted = dict(zip(plan.tables, ask(names, plan), strict=True))
    result = []
    for table, own in zip(axes, wanted, strict=True):
        joint = counted[own].reshape([plan.axes[i].size for i in own[1]])
        result.append(_table(table, own[1], joint, groupings, binners, place_lost))
    return result


def _table(
    axes: tuple[int, ...],
    block: Sequence[int],
    joint: np.ndarray,
    groupings: Sequence[PositionGrouping],
    binners: Sequence[Binner],
    place_lost: Lost | None,
) -> np.ndarray:
    wanted = list(dict.fromkeys(axes))
    summed = joint.sum(axis=tuple(i for i, g in enumerate(block) if g not in wanted))
    order = [g for g in block if g in wanted]
    table = np.ascontiguousarray(np.transpose(summed, [order.index(g) for g in wanted]))
    for axis, g in enumerate(wanted):
        table = np.moveaxis(table, axis, -1)
        flat = np.ascontiguousarray(table).reshape(-1, table.shape[-1])
        if place_lost is not None:
            place_lost(flat, groupings[g], binners[g])
        table = np.moveaxis(flat.reshape(table.shape), -1, axis)
    table = table[tuple(slice(groupings[g].size) for g in wanted)]
    if len(wanted) < len(axes):
        raise ValueError("a table must not name one grouping twice")
    return np.ascontiguousarray(table).reshape(-1)


def _wanted(
    axes: Sequence[tuple[int, ...]], blocks: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> list[tuple[int, tuple[int, ...]]]:
    """For each table its block and the axes that it is summed out to: all of them where a block has less cells than
    its tables together."""
    own = [(at, tuple(sorted(set(table)))) for table, at in zip(axes, holders(axes, blocks), strict=True)]
    cells = dict.fromkeys(range(len(blocks)), 0)
    for at, table in set(own):
        cells[at] += prod(sizes[i] for i in table)
    whole = {at for at, many in cells.items() if many >= prod(sizes[i] for i in blocks[at])}
    return [(at, tuple(blocks[at])) if at in whole else (at, table) for at, table in own]


def _axis(grouping: PositionGrouping, binner: Binner, names: Sequence[str]) -> CountedAxis:
    """The axis of a grouping, with a last bin for the cells that are to be placed."""
    groups = np.where(grouping.groups < 0, grouping.size, grouping.groups)
    bins = np.append(groups, binner.size).astype(np.int32)
    return CountedAxis(names.index(grouping.column), grouping.cells, grouping.starts, bins, binner.size + 1)
