"""Rows as learning sees them: canonical texts of categories, numbers and dates on public wide grids.

Only the columns that lack facts are read, with those that say whose the rows are, as text and into memory. Of related
tables one row at most of each root is seen in each table, of one table the rows of a person that the relation counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from synth.pipeline.learn_schema import fineness, finer, grids, lacking
from synth.pipeline.private_rows import PrivateRows
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.schema import cells, coarsening, codec
from synth.schema.dataset import ONE, Dataset
from synth.schema.table import CATEGORICAL, Column, Schema
from synth.sources.formats.text_table import Table
from synth.sources.related_tables import whole
from synth.sources.rows.forest import TableRows, one_of_each_root
from synth.sources.rows.spill import keep


@dataclass(frozen=True)
class Words:
    """A text column of the kept rows: distinct canonical ``values`` and each row's index into them."""

    values: np.ndarray
    codes: np.ndarray


def read(
    schema: Schema | Dataset, rows: Mapping[str, PrivateRows], adjacency: Adjacency, noise: SystemNoise
) -> Mapping[str, Any]:
    """By column (``lacking`` names them) the rows that count, and how fine their values are.

    **Guarantee**: a unit more or less is ``adjacency.max_rows`` rows more or less of each column, at most.
    """
    if (tree := schema.stated.tree) is not None:
        return _of_tables(tree, rows, noise)
    stated = schema.written[ONE]
    names = lacking(stated)
    table = rows[ONE].place.read([*names, *([] if adjacency.by_row else [adjacency.unit])])
    retained = None
    if not adjacency.by_row:
        apart = not stated.linked_rows  # else rows that name nobody are passed over
        retained = keep(table.column(adjacency.unit), adjacency.max_rows, noise, nameless=apart)
    return _seen(stated, table, retained, noise)


def _of_tables(schema: Dataset, rows: Mapping[str, PrivateRows], noise: SystemNoise) -> Mapping[str, Any]:
    """Of each table that lacks facts one row of each root."""
    tables = {n: whole(r.place, [*lacking(schema.tables[n]), *schema.key_columns(n)]) for n, r in rows.items()}
    keyed = {
        n: TableRows(positions={}, texts={c: t.column(c) for c in schema.key_columns(n)}, num_rows=t.num_rows)
        for n, t in tables.items()
    }
    seen: dict[str, Any] = {}
    for name, chosen in one_of_each_root(schema, keyed, noise).items():
        own = _seen(schema.tables[name], tables[name], chosen, noise)
        seen |= {f"{name}.{column}": values for column, values in own.items()}
    return seen


def _seen(schema: Schema, table: Table, retained: np.ndarray | None, noise: SystemNoise) -> dict[str, Any]:
    wide = grids(schema)
    rows: dict[str, Any] = dict(codec.encode(table, wide, noise, rows=retained).positions)
    for name in list(rows):
        rows[finer(name)] = fineness(wide.columns[name], rows[name])
    for name in lacking(schema):
        if schema.columns[name].type in CATEGORICAL:
            rows[name] = _words(schema.columns[name], table.column(name), retained)
    return rows


def _words(column: Column, text: codec.TextColumn, retained: np.ndarray | None) -> Words:
    merged = coarsening.grouped(column, cells.canonical(text.values)).dictionary_encode()
    values = merged.dictionary.to_numpy(zero_copy_only=False)
    order = np.argsort(values, kind="stable")
    codes = np.argsort(order)[merged.indices.to_numpy()[text.codes]]
    return Words(values[order], codes if retained is None else codes[retained])
