"""Related rows drawn from a model, told table by table as text: keys are fresh counters that fit together."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from synth.generators.nested_mixture.model import NestedMixture
from synth.pipeline.draw_rows import PIECE
from synth.pipeline.related_condition import Condition, Drawing
from synth.schema import codec
from synth.schema.enforcement import Rules
from synth.schema.table import Schema
from synth.sources.rows.spill import Spill


class DrawnTables:
    """Related tables of ``num_roots`` roots, drawn when made; ``where``: positions allowed, by table and column.

    **Guarantee**: every child's key is that of a row of its parent, whose number of children is within its bound.
    """

    def __init__(
        self,
        model: NestedMixture,
        num_roots: int,
        *,
        rng: np.random.Generator,
        where: Condition | None = None,
    ) -> None:
        self.schema = model.schema
        rules = {n: Rules(s) for n, s in self.schema.tables.items()}
        self._told = {n: _told(s) for n, s in self.schema.tables.items()}
        self._spools = {n: Spill({c: told.columns[c].cells for c in told.columns}) for n, told in self._told.items()}
        parents: dict[str, list[np.ndarray]] = {n: [] for n in self.schema.tables}
        done = dict.fromkeys(self.schema.tables, 0)
        drawing = Drawing(model, where or {}, rules=rules)
        for block in drawing.blocks(num_roots, rng=rng):
            before = dict(done)
            for name, rows in block.items():
                key = self.schema.key_above(name)
                parents[name].append(rows.parent + (before[key.parent] if key is not None else 0))
                self._spools[name].append({c: rows.positions[c] for c in self._told[name].columns})
                done[name] += rows.num_rows
        self.num_rows = done
        self._parents = {n: np.concatenate(p) if p else np.zeros(0, dtype=np.int64) for n, p in parents.items()}
        self.kept: list[dict[str, Any]] = [{"table": n, **k} for n, r in rules.items() for k in r.kept]
        self.kept += drawing.across.kept

    def blocks(self, table: str) -> Iterator[dict[str, pa.Array]]:
        """One table as text columns in schema order, at most ``PIECE`` rows at a time; one piece at least."""
        told, start = self._told[table], 0
        batches = self._spools[table].batches(told.columns, PIECE) if self.num_rows[table] else iter([_empty(told)])
        for positions in batches:
            size = len(next(iter(positions.values())))
            texts = codec.decode(positions, self.schema.tables[table], num_rows=size, first=start + 1)
            rows = np.arange(start, start + size)
            for column in self.schema.key_columns(table):
                texts[column] = pa.array(self._counter(table, column, rows)).cast(pa.string())
            yield texts
            start += size

    def whole(self, table: str) -> dict[str, pa.Array]:
        """One table in memory."""
        parts = list(self.blocks(table))
        return {n: pa.concat_arrays([p[n] for p in parts]) for n in parts[0]}

    def _counter(self, table: str, column: str, rows: np.ndarray) -> np.ndarray:
        """What a key's column holds in these rows: the parent's counter, or the row's own."""
        key = self.schema.key_above(table)
        if key is None or column not in key.columns:
            return rows + 1
        above = key.referred[key.columns.index(column)]
        return self._counter(key.parent, above, self._parents[table][rows])


def _told(schema: Schema) -> Schema:
    """The columns whose positions are drawn, or given by a constraint."""
    kept = schema.kept()
    return kept.model_copy(update={"columns": {n: c for n, c in kept.columns.items() if c.type != "identifier"}})


def _empty(schema: Schema) -> dict[str, np.ndarray]:
    return {n: np.zeros(0, dtype=np.int64) for n in schema.columns}
