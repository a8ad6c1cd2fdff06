"""Rows drawn from a model, all or those that meet a condition, a block at a time: any length in bounded memory."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synth.errors import UsageError, meant
from synth.generators.base import Model
from synth.generators.core.product import Given, Product
from synth.generators.core.related_model import DrawnTable, NestedMixture
from synth.pipeline.related_rules import AcrossTables, referred, rows_above
from synth.pipeline.totals import Agreeing, meet, totals_of
from synth.schema import areas, codec, key_pattern
from synth.schema.constraints import placed
from synth.schema.dataset import ONE, Dataset, number_of
from synth.schema.enforcement import Rules
from synth.schema.table import Schema
from synth.sources.rows.spill import Spill


def allowed_by(schema: Schema | Dataset, where: Mapping[str, str]) -> dict[str, dict[str, np.ndarray]]:
    """The positions that a condition allows, by table and column; none for an empty one. Errors: UsageError.

    Of several tables columns are written TABLE.COLUMN.

    Privacy: public only.
    """
    out: dict[str, dict[str, np.ndarray]] = {}
    stated = schema.stated
    for name, wanted in where.items():
        table, column = stated.find(name)
        if table not in stated.tables:
            raise UsageError("`where={}`: write TABLE.COLUMN=VALUE, a table of {}", name, ", ".join(stated.tables))
        facts, of = stated.tables[table], table if stated.several else "the model"
        if column not in facts.measured() and column not in areas.above(facts.columns):
            columns = meant(column, facts.measured())
            raise UsageError("`where={}={}`: {} is not a measured column of {}; {}", name, wanted, column, of, columns)
        try:
            positions = codec.places_of(facts.columns[column], wanted)
        except ValueError as error:
            raise UsageError("`where={}={}`: {}", name, wanted, error) from None
        lowest, places = areas.as_lowest(facts.columns, column, positions)
        at, own = schema.find(stated.name_of(table, lowest))
        known = out.setdefault(at, {})
        known[own] = places if own not in known else np.intersect1d(known[own], places)
        if not len(known[own]):
            raise UsageError("`where={}={}`: no area of {} meets all conditions; leave one out", name, wanted, own)
    return out


Condition = Mapping[str, Mapping[str, np.ndarray]]  # positions allowed, by table and column
PILOT = 20_000  # roots drawn to learn how many meet a condition
MOST_DRAWN = 5_000_000  # roots of one condition


class Drawing:
    """Blocks of related rows whose roots all meet a condition; ``allowed``: by table and column, of positions.

    A root meets a condition on a table below it if one of its rows there meets all that is asked of that table's
    columns. Roots are drawn alone, so the kept ones are what the model says of such roots; nothing but the model is
    asked.
    """

    def __init__(self, model: NestedMixture, allowed: Condition, *, rules: Mapping[str, Any] | None = None) -> None:
        self.model, self.rules, self.across = model, rules, AcrossTables(model.schema)
        root, later = model.schema.root, self.across.written  # of what a rule writes the condition comes after it
        self.of_root = {n: p for n, p in allowed.get(root, {}).items() if f"{root}.{n}" not in later}
        self.below = {t: a for t, a in allowed.items() if t != root}
        if after := {n: p for n, p in allowed.get(root, {}).items() if n not in self.of_root}:
            self.below[root] = after

    def probability(self, *, rng: np.random.Generator) -> float:
        """The chance that a root meets it: of the root's columns exact, of tables below as seen in ``PILOT`` roots."""
        share = self.model.probability(self.of_root) if self.of_root else 1.0
        if not self.below or not share:
            return share
        return share * sum(int(self._meeting(b).sum()) for b in self._blocks(PILOT, rng)) / PILOT

    def blocks(self, num_roots: int, *, rng: np.random.Generator) -> Iterator[dict[str, DrawnTable]]:
        """So many roots that meet it, with all their rows. Errors: UsageError where they are too rare."""
        if not self.below:
            yield from self._blocks(num_roots, rng)
            return
        wanted, drawn = num_roots, 0
        while wanted:
            for block in self._blocks(max(PILOT, wanted), rng):
                drawn += block[self.model.schema.root].num_rows
                meeting = np.flatnonzero(self._meeting(block))[:wanted]
                wanted -= len(meeting)
                if len(meeting):
                    yield self._only(block, meeting)
                if not wanted:
                    return
                if drawn > MOST_DRAWN:
                    raise UsageError(
                        "`where=`: {} of {:,} roots of the model meet it; ask for fewer rows or for less",
                        num_roots - wanted,
                        drawn,
                    )

    def _blocks(self, num_roots: int, rng: np.random.Generator) -> Iterator[dict[str, DrawnTable]]:
        """Rows of the model, with the rules across tables kept."""
        for block in self.model.blocks(num_roots, rng=rng, where=self.of_root or None, rules=self.rules):
            self.across.apply(block, rng)
            yield block

    def _meeting(self, block: Mapping[str, DrawnTable]) -> np.ndarray:
        """Which roots of a block meet the conditions below them (n,)."""
        schema = self.model.schema
        met = np.ones(block[schema.root].num_rows, dtype=bool)
        for table, columns in self.below.items():
            rows = np.ones(block[table].num_rows, dtype=bool)
            for column, allowed in columns.items():
                rows &= np.isin(block[table].positions[column], allowed)
            has_one = np.zeros_like(met)
            has_one[rows_above(schema, block, table, schema.root)[rows]] = True
            met &= has_one
        return met

    def _only(self, block: Mapping[str, DrawnTable], roots: np.ndarray) -> dict[str, DrawnTable]:
        """The rows of these roots alone."""
        schema = self.model.schema
        kept, out = {schema.root: roots}, {}
        for table in schema.downwards:
            key = schema.key_above(table)
            rows, parent = block[table], block[table].parent
            if key is not None:
                new = np.full(block[key.parent].num_rows, -1)
                new[kept[key.parent]] = np.arange(len(kept[key.parent]))
                kept[table] = np.flatnonzero(new[parent] >= 0)
                parent = new[parent]
            of_table = kept[table]
            out[table] = DrawnTable(
                positions={n: p[of_table] for n, p in rows.positions.items()}, parent=parent[of_table]
            )
        return out


ROWS_AT_A_TIME = 1 << 20  # rows drawn at a time, each block with even proportions of its own
CELLS_AT_A_TIME = 1 << 26  # of a block, whose rows are fewer where columns are many
PIECE = 1 << 17  # rows of a block told as text at a time: text and what is written of it takes several times as much


def rows_at_a_time(schema: Schema) -> int:
    """Rows of a block of this table."""
    return min(ROWS_AT_A_TIME, max(CELLS_AT_A_TIME // max(len(schema.columns), 1), 1))


class Drawn:
    """A table of ``num_rows`` rows from a model, told once: as ``blocks`` or as a ``whole``.

    ``where``: by table and column the positions allowed. ``shares_kept``: for each constraint the share of rows drawn
    that keep it; the list is filled in place. ``first``: the number that identifiers begin with. A whole table of as
    many rows as the schema's totals state agrees with them, and is held whole; ``cells_off``: of them, None where that
    is not so. ``given``: public columns (num_rows,), which the rows have in their order. ``block``: rows drawn at a
    time (``rows_at_a_time``); ``piece``: of these as text.
    """

    def __init__(
        self,
        model: Model,
        schema: Schema,
        num_rows: int,
        *,
        rng: np.random.Generator,
        where: Condition | None = None,
        first: int = 1,
        given: Mapping[str, np.ndarray] | None = None,
        block: int | None = None,
        piece: int = PIECE,
    ) -> None:
        self._given = Given(model=model, given=given) if given and isinstance(model, Product) else None
        self._model, self._schema, self._rng, self._where = model, schema, rng, (where or {}).get(ONE)
        self.num_rows = {ONE: num_rows}
        self._first, self._piece = first, piece
        self._block = block or rows_at_a_time(schema)
        self._rules = Rules(schema)
        self.shares_kept: list[dict[str, Any]] = []
        totals = None if where or first != 1 else totals_of(schema)
        met = totals is not None and totals.num_rows == num_rows
        self._agreeing = Agreeing(totals, self._rules, rng) if met and totals is not None else None

    @property
    def cells_off(self) -> int | None:
        """Cells of published totals that the rows drawn disagree with; None where they are not held to any."""
        return None if self._agreeing is None else self._agreeing.off

    def blocks(self, table: str = ONE) -> Iterator[dict[str, pa.Array]]:  # noqa: ARG002 (as of several tables)
        """Text columns in schema order of at most ``piece`` rows at a time; identifiers run on."""
        for part, size, first in self._pieces():
            yield codec.decode(part, self._schema, num_rows=size, first=first)

    def listed(self) -> Iterator[dict[str, pa.Array]]:
        """The same with each text column as its distinct texts and their places, and numbers and dates as such."""
        for part, size, first in self._pieces():
            yield codec.decode(part, self._schema, num_rows=size, first=first, listed=True)

    def _pieces(self) -> Iterator[tuple[Mapping[str, np.ndarray], int, int]]:
        """Positions of at most ``piece`` rows, how many they are, and the number of the first."""
        step = self._block if self._agreeing is None else self.num_rows[ONE]
        repair = self._rules.repair if self._agreeing is None else self._agreeing.repair
        for start in range(0, self.num_rows[ONE], step):
            size = min(step, self.num_rows[ONE] - start)
            positions = (
                self._model.sample(size, rng=self._rng, where=self._where, repair=repair)
                if self._given is None
                else self._given.sample(start, size, rng=self._rng, repair=repair)
            )
            if start == 0:
                self.shares_kept[:] = self._rules.shares_kept
            else:  # the shares of rows kept, over this block and those before it
                for every, now in zip(self.shares_kept, self._rules.shares_kept, strict=True):
                    every["kept"] = (every["kept"] * start + now["kept"] * size) / (start + size)
            for at in range(0, size, self._piece):
                part = {n: p[at : at + self._piece] for n, p in positions.items()}
                yield part, min(self._piece, size - at), self._first + start + at
            positions = part = {}  # or they would be held while the next block is drawn


class DrawnTables:
    """Related tables of ``num_roots`` roots, drawn when made; ``where``: positions allowed, by table and column.

    As many roots as the root's totals state agree with them; ``cells_off``: as of a single table. Of one table whose
    persons keep their rows a root is a person, who has a row, and one value in all of them in each column of his own.

    **Guarantee**: every child's key is that of a row of its parent, whose number of children is within its bound.
    """

    def __init__(
        self, model: NestedMixture, num_roots: int, *, rng: np.random.Generator, where: Condition | None = None
    ) -> None:
        self.schema = model.schema
        tables = {n: Rules(s) for n, s in self.schema.tables.items()}
        rules: dict[str, Any] = dict(tables)
        totals = None if where else totals_of(self.schema)
        met = totals if totals is not None and totals.num_rows == num_roots else None
        if met is not None:
            rules[self.schema.root] = Agreeing(met, rules[self.schema.root], rng)
        self._drawn = {  # the columns whose positions are drawn, or given by a constraint
            n: {c: facts for c, facts in s.retained().columns.items() if facts.type != "identifier"}
            for n, s in self.schema.tables.items()
        }
        self._spools = {n: Spill({c: facts.cells for c, facts in own.items()}) for n, own in self._drawn.items()}
        parents: dict[str, list[np.ndarray]] = {n: [] for n in self.schema.tables}
        done = dict.fromkeys(self.schema.tables, 0)
        drawing = Drawing(model, with_rows(self.schema, where or {}), rules=rules)
        below = 0
        for block in drawing.blocks(num_roots, rng=rng):
            if met is not None:
                below += meet(self.schema, block, tables, rng)
                drawing.across.again(block, rng)
            before = dict(done)
            for name, rows in block.items():
                key = self.schema.key_above(name)
                parents[name].append(rows.parent + (before[key.parent] if key is not None else 0))
                self._spools[name].append({c: rows.positions[c] for c in self._drawn[name]})
                done[name] += rows.num_rows
        self._bases = {self.schema.file_of(n): n for n in self.schema.downwards}  # of tables in a file the lowest
        self.num_rows = {file: done[self._bases[file]] for file in self.schema.written}
        self._parents = {n: np.concatenate(p) if p else np.zeros(0, dtype=np.int64) for n, p in parents.items()}
        whole = {n: DrawnTable(positions={}, parent=p) for n, p in self._parents.items()}
        self._referred = {
            r.child: (*placed(r.parent), referred(self.schema, whole, r, rng))
            for r in self.schema.across
            if r.kind == "refers"
        }
        self.shares_kept: list[dict[str, Any]] = [
            {**({"table": n} if self.schema.several else {}), **k} for n, r in rules.items() for k in r.shares_kept
        ]
        self.shares_kept += drawing.across.shares_kept
        self.cells_off: int | None = None if met is None else rules[self.schema.root].off + below

    def blocks(self, file: str) -> Iterator[dict[str, pa.Array]]:
        """One file's table as text columns in schema order, at most ``PIECE`` rows at a time; one piece at least."""
        table, start = self._bases[file], 0
        columns = self._drawn[table]
        above = [t for t in self.schema.upwards(table)[1:] if self.schema.file_of(t) == file]
        above_columns = {
            t: {n: self._spools[t][n].astype(np.min_scalar_type(c.cells)) for n, c in self._drawn[t].items()}
            for t in above
        }
        none = {n: np.zeros(0, dtype=np.int64) for n in columns}
        batches = self._spools[table].batches(columns, PIECE) if self.num_rows[file] else iter([none])
        for positions in batches:
            size = len(next(iter(positions.values())))
            rows = np.arange(start, start + size)
            whole, at, below = dict(positions), rows, table
            for one in above:
                at, below = self._parents[below][at], one
                whole |= {n: p[at] for n, p in above_columns[one].items()}
            texts = codec.decode(whole, self.schema.written[file], num_rows=size, first=start + 1)
            for column in self.schema.key_columns(table):
                texts[column] = self._keys(table, column, rows)
            for column in texts:
                if f"{table}.{column}" in self._referred:
                    other, key, at = self._referred[f"{table}.{column}"]
                    some = at[rows] >= 0
                    keys = self._keys(other, key, np.where(some, at[rows], 0))
                    texts[column] = pc.if_else(pa.array(some), keys, None)
            yield texts
            start += size

    def _keys(self, table: str, column: str, rows: np.ndarray) -> pa.Array:
        """What a key's column holds in these rows: the parent's counter in its form, or the row's own."""
        key = self.schema.key_above(table)
        if key is None or column not in key.columns:
            return key_pattern.write(self.schema.tables[table].columns[column].pattern, rows + 1)
        above = key.referred[key.columns.index(column)]
        return self._keys(key.parent, above, self._parents[table][rows])


def with_rows(schema: Dataset, where: Condition) -> Condition:
    """The condition, of one table on persons who have a row: noise alone leaves the model some without.

    Privacy: public only.
    """
    out = dict(where)
    for key in schema.keys if schema.one_table else ():
        number = number_of(key.child)
        least = np.arange(1, schema.as_measured(key.parent).columns[number].size)
        out[key.parent] = {**out.get(key.parent, {}), number: least}
    return out


def drawn(
    model: Any,
    schema: Schema | Dataset,
    num_rows: int,
    *,
    rng: np.random.Generator,
    where: Mapping[str, Any] | None = None,
    given: Mapping[str, np.ndarray] | None = None,
) -> Drawn | DrawnTables:
    """``num_rows`` rows of a table, or trees of related ones; ``where``: positions allowed, by table and column.

    ``given``: of a single table, columns that its rows have in their order.
    """
    if schema.tree is not None:
        return DrawnTables(model, num_rows, rng=rng, where=where)
    return Drawn(model, schema.tables[ONE], num_rows, rng=rng, where=where, given=given)


def whole(blocks: Iterable[Mapping[str, pa.Array]]) -> dict[str, pa.Array]:
    """All rows of a table in memory."""
    parts = list(blocks)
    return dict(parts[0]) if len(parts) == 1 else {n: pa.concat_arrays([p[n] for p in parts]) for n in parts[0]}


def chunks(texts: Mapping[str, pa.Array], num_rows: int, *, piece: int = PIECE) -> Iterator[dict[str, pa.Array]]:
    """A table in memory, ``piece`` rows at a time and without a copy, for whoever needs memory for each row.

    >>> [part["A"].to_pylist() for part in chunks({"A": pa.array(["x", "y"])}, 2)]
    [['x', 'y']]
    """
    for at in range(0, max(num_rows, 1), piece):
        yield {n: a.slice(at, piece) for n, a in texts.items()}
