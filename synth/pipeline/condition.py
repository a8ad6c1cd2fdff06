"""Conditions on columns: the positions that they allow, and rows of related tables that meet them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from synth.errors import UsageError, meant
from synth.generators.core.related_model import DrawnTable, NestedMixture
from synth.pipeline.related_rules import AcrossTables
from synth.schema import areas, codec
from synth.schema.dataset import Dataset
from synth.schema.table import Schema


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
            raise UsageError(f"`where={name}`: write TABLE.COLUMN=VALUE, a table of {', '.join(stated.tables)}")
        facts, of = stated.tables[table], table if stated.several else "the model"
        lowest, places = areas.as_lowest(facts.columns, column, _allowed(facts, column, name, wanted, of=of))
        at, own = schema.find(stated.name_of(table, lowest))
        known = out.setdefault(at, {})
        known[own] = places if own not in known else np.intersect1d(known[own], places)
        if not len(known[own]):
            raise UsageError(f"`where={name}={wanted}`: no area of {own} meets all conditions; leave one out")
    return out


def _allowed(schema: Schema, column: str, name: str, wanted: str, *, of: str) -> np.ndarray:
    if column not in schema.measured() and column not in areas.above(schema.columns):
        columns = meant(column, schema.measured())
        raise UsageError(f"`where={name}={wanted}`: {column} is not a measured column of {of}; {columns}")
    try:
        return codec.places_of(schema.columns[column], wanted)
    except ValueError as error:
        raise UsageError(f"`where={name}={wanted}`: {error}") from None


Condition = Mapping[str, Mapping[str, np.ndarray]]  # positions allowed, by table and column
PILOT = 20_000  # roots drawn to learn how many meet a condition
MOST_DRAWN = 5_000_000  # roots of one condition


class Drawing:
    """Blocks of related rows whose roots all meet a condition; ``allowed``: by table and column, of positions."""

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
                retained = np.flatnonzero(self._meeting(block))[:wanted]
                wanted -= len(retained)
                if len(retained):
                    yield self._only(block, retained)
                if not wanted:
                    return
                if drawn > MOST_DRAWN:
                    raise UsageError(
                        f"`where=`: {num_roots - wanted} of {drawn:,} roots of the model meet it; ask for "
                        "fewer rows or for less"
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
            result = np.zeros_like(met)
            result[_roots(schema, block, table)[rows]] = True
            met &= result
        return met

    def _only(self, block: Mapping[str, DrawnTable], roots: np.ndarray) -> dict[str, DrawnTable]:
        """The rows of these roots alone."""
        schema = self.model.schema
        retained, out = {schema.root: roots}, {}
        for table in schema.downwards:
            key = schema.key_above(table)
            rows, parent = block[table], block[table].parent
            if key is not None:
                new = np.full(block[key.parent].num_rows, -1)
                new[retained[key.parent]] = np.arange(len(retained[key.parent]))
                retained[table] = np.flatnonzero(new[parent] >= 0)
                parent = new[parent]
            of_table = retained[table]
            out[table] = DrawnTable(
                positions={n: p[of_table] for n, p in rows.positions.items()}, parent=parent[of_table]
            )
        return out


def _roots(schema: Dataset, block: Mapping[str, DrawnTable], table: str) -> np.ndarray:
    """The root of each row of a table, (n,)."""
    rows, at = np.arange(block[table].num_rows), table
    while (key := schema.key_above(at)) is not None:
        rows, at = block[at].parent[rows], key.parent
    return rows
