"""The private rows of a run, read once its spend is recorded: as a method measures them, or as learning sees them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synth.pipeline import learning_rows, same_rows
from synth.pipeline.private_rows import PrivateRows, marked
from synth.pipeline.run_plan import RunPlan
from synth.privacy.noise import SystemNoise
from synth.release import folder
from synth.schema import codec
from synth.schema.dataset import ONE, Dataset
from synth.schema.persons import PersonsTable
from synth.schema.table import Schema
from synth.sources.contribution_bound import keep_parts
from synth.sources.persons_tables import persons_and_rows
from synth.sources.related_tables import read, text_columns
from synth.sources.rows.forest import Forest
from synth.sources.rows.linking import TableRows, link
from synth.sources.rows.spill import Spill


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
        opened = self._rows.place.encoded(
            schema, self.noise, person=person, key=self.plan.book.row_key(), most=adjacency.max_rows
        )
        self._mark(opened.digest)
        rows = opened.encoded.positions
        if person is not None and not opened.bounded:
            if opened.persons is None or not isinstance(rows, Spill):
                raise RuntimeError("rows of persons that nobody has bounded")  # a fault of this program
            retained = keep_parts(
                opened.persons.parts(), adjacency.max_rows, self.noise, num_rows=opened.persons.num_rows
            )
            rows.keep(retained)
        if self.log is not None:
            folder.write_steward_log(Path(self.log), opened.encoded)
        return rows

    def trees(self, schema: Dataset) -> Forest:
        """The private rows of related tables as a forest; which rows of a parent are kept is decided here."""
        if isinstance(schema, PersonsTable):
            return self._persons(schema)
        opened: dict[str, TableRows] = {}
        clamped: dict[str, int] = {}
        unreadable: dict[str, int] = {}
        for name, rows in self.plan.rows.items():
            own, texts = schema.tables[name], text_columns(schema, name)
            result = read(rows.place, own, texts, self.noise, key=self.plan.book.row_key())
            opened[name] = result.rows
            for digest, (_, form) in zip((result.digest, result.alone), marked({name: rows}, schema), strict=True):
                self._keep(digest, form)
            clamped |= {f"{name}.{n}": many for n, many in result.encoded.clamped.items()}
            unreadable |= {f"{name}.{n}": many for n, many in result.encoded.unreadable.items()}
        if self.log is not None:
            folder.write_steward_log(Path(self.log), codec.Encoded({}, clamped, unreadable))
        return link(schema, opened, self.noise)

    def _persons(self, schema: PersonsTable) -> Forest:
        """One table as persons and their rows, read once."""
        result = read(self._rows.place, schema.flat, schema.texts, self.noise, key=self.plan.book.row_key())
        self._keep(result.digest, self._rows)
        if self.log is not None:
            folder.write_steward_log(Path(self.log), result.encoded)
        return link(schema, persons_and_rows(result.rows), self.noise)

    def _mark(self, digest: bytes | None) -> None:
        """Keeps a mark of a single table's rows, read again for it where reading has not brought it."""
        self._keep(same_rows.mark(self._rows, self.plan.book.row_key()) if digest is None else digest, self._rows)

    def _keep(self, digest: bytes | None, rows: PrivateRows) -> None:
        """Keeps a mark of rows, by which they are known again before a later spend (same_rows.py).

        One that no other is like where they cannot be compared: the number of rows must not decide about a line.
        """
        digest = same_rows.unlike(rows) if digest is None else digest
        apart = self.plan.request.separate
        self.plan.book.fingerprint(self.run, dataset=self.plan.dataset, digest=digest, apart=apart)

    @property
    def _rows(self) -> PrivateRows:
        """Those of a single table."""
        return self.plan.rows[ONE]

    def wide(self, schema: Schema | Dataset) -> Mapping[str, Any]:
        """Rows as learning sees them (learning_rows.py)."""
        if self.plan.learn_share == 1:  # else the rows are read again, and marked then
            for _, form in marked(self.plan.rows, schema):
                self._keep(same_rows.mark(form, self.plan.book.row_key()), form)
        return learning_rows.read(schema, self.plan.rows, self.plan.grant.adjacency, self.noise)
