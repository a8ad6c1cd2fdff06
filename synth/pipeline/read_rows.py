"""The private rows of a run, read once its spend is recorded: as a method measures them, or as learning sees them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synth.pipeline import same_rows
from synth.pipeline.learn_schema import fineness, finer, grids, lacking
from synth.pipeline.run_plan import RunPlan
from synth.privacy.noise import SystemNoise
from synth.release import folder
from synth.schema import cells, coarsening, codec
from synth.schema.table import CATEGORICAL, Column, Schema
from synth.sources.contribution_bound import keep, keep_parts
from synth.sources.rows.spill import Spill


@dataclass(frozen=True)
class Words:
    """A text column of the kept rows: distinct canonical ``values`` and each row's index into them."""

    values: np.ndarray
    codes: np.ndarray


@dataclass(frozen=True, kw_only=True)
class RowReader:
    """Reads the rows of a charged run. ``run``: the id of its charge; ``log``: the steward's file of lost cells."""

    plan: RunPlan
    noise: SystemNoise
    run: str
    log: str | Path | None

    def measured(self, schema: Schema) -> Mapping[str, np.ndarray]:
        """The private rows, encoded after the spend; which rows of a person are kept is decided here."""
        adjacency = self.plan.grant.adjacency
        person = None if adjacency.by_row else adjacency.unit
        opened = self.plan.rows.place.encoded(
            schema, self.noise, person=person, key=self.plan.book.row_key(), most=adjacency.max_rows
        )
        self._mark(opened.digest)
        rows = opened.encoded.positions
        if person is not None and not opened.bounded:
            if opened.persons is None or not isinstance(rows, Spill):
                raise RuntimeError("rows of persons that nobody has bounded")  # a fault of this program
            kept = keep_parts(opened.persons.parts(), adjacency.max_rows, self.noise, num_rows=opened.persons.num_rows)
            rows.keep(kept)
        if self.log is not None:
            folder.write_steward_log(Path(self.log), opened.encoded)
        return rows

    def _mark(self, digest: bytes | None) -> None:
        """Keeps a mark of the rows, by which they are known again before a later spend (same_rows.py).

        One that no other is like where they cannot be compared: the number of rows must not decide about a line.
        """
        digest = same_rows.mark(self.plan.rows, self.plan.book.row_key()) if digest is None else digest
        digest = same_rows.unlike(self.plan.rows) if digest is None else digest
        apart = self.plan.request.separate
        self.plan.book.fingerprint(self.run, dataset=self.plan.dataset, digest=digest, apart=apart)

    def wide(self, schema: Schema) -> Mapping[str, Any]:
        """Rows as learning sees them: canonical texts of categories, numbers and dates on public wide grids.

        Only the columns that lack facts are read, as text and into memory.
        """
        adjacency, names, wide = self.plan.grant.adjacency, lacking(schema), grids(schema)
        if self.plan.learn_share == 1:  # else the rows are read again, and marked then
            self._mark(None)
        table = self.plan.rows.place.read([*names, *([] if adjacency.by_row else [adjacency.unit])])
        kept = None if adjacency.by_row else keep(table.column(adjacency.unit), adjacency.max_rows, self.noise)
        rows: dict[str, Any] = dict(codec.encode(table, wide, self.noise, rows=kept).positions)
        for name in list(rows):
            rows[finer(name)] = fineness(wide.columns[name], rows[name])
        for name in names:
            if schema.columns[name].type in CATEGORICAL:
                rows[name] = _words(schema.columns[name], table.column(name), kept)
        return rows


def _words(column: Column, text: codec.TextColumn, kept: np.ndarray | None) -> Words:
    merged = coarsening.grouped(column, cells.canonical(text.values)).dictionary_encode()
    values = merged.dictionary.to_numpy(zero_copy_only=False)
    order = np.argsort(values, kind="stable")
    codes = np.argsort(order)[merged.indices.to_numpy()[text.codes]]
    return Words(values[order], codes if kept is None else codes[kept])
