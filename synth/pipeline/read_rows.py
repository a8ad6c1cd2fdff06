"""The private rows of a run, read once its spend is recorded: as a method measures them, or as learning sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synth.pipeline import same_rows
from synth.pipeline.learn_schema import rows_to_learn
from synth.pipeline.private_rows import PrivateRows, marked
from synth.pipeline.run_plan import RunPlan
from synth.privacy.ledger.row_marks import Audience
from synth.privacy.noise import SystemNoise
from synth.release import folder
from synth.schema import codec
from synth.schema.dataset import ONE, Dataset
from synth.schema.table import Schema
from synth.sources.engines import stored_trees
from synth.sources.related_tables import Read, read
from synth.sources.rows.forest import Forest, link
from synth.sources.rows.spill import Spill, keep_parts


@dataclass(frozen=True, kw_only=True)
class RowReader:
    """Reads the rows of a charged run. ``run``: the id of its charge; ``log``: the steward's file of lost cells.

    ``audience``: whom a mark like another's is told.
    """

    plan: RunPlan
    audience: Audience
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
        """The private rows of related tables as a forest; which rows of a parent are kept is decided here.

        On Spark they stay there; they are fetched for what cannot be counted there.
        """
        places = {n: self.plan.rows[schema.file_of(n)].place for n in schema.tables}
        there = stored_trees.stored(schema, places, self.noise, lambda: self._linked(schema)[0])
        if there is not None:
            for name, own in self.plan.rows.items():
                forms = [form for _, form in marked({name: own}, schema)]
                self._keep_all(same_rows.marks(forms, self.plan.book.row_key()), forms)
            self._write_log(schema, {} if self.log is None else there.described(self.noise))
            return there
        forest, results = self._linked(schema)
        for name, result in results.items():
            forms = [form for _, form in marked({name: self.plan.rows[name]}, schema)]
            self._keep_all((result.digest, result.alone), forms)
        self._write_log(schema, {n: r.encoded for n, r in results.items()})
        return forest

    def _linked(self, schema: Dataset) -> tuple[Forest, dict[str, Read]]:
        """All rows, read here and put together; one table of persons and their rows is read once."""
        key = self.plan.book.row_key()
        results = {
            name: read(rows.place, schema.written[name], schema.texts(name), self.noise, key=key)
            for name, rows in self.plan.rows.items()
        }
        return link(schema, {t: results[schema.file_of(t)].rows for t in schema.tables}, self.noise), results

    def _write_log(self, schema: Dataset, encoded: Mapping[str, codec.Encoded]) -> None:
        """The steward's counts of unknown cells, by column and, of several tables, by table."""
        if self.log is None:
            return
        clamped: dict[str, int] = {}
        unreadable: dict[str, int] = {}
        for name, own in encoded.items():
            table = f"{name}." if schema.several else ""
            clamped |= {f"{table}{n}": many for n, many in own.clamped.items()}
            unreadable |= {f"{table}{n}": many for n, many in own.unreadable.items()}
        folder.write_steward_log(Path(self.log), codec.Encoded({}, clamped, unreadable))

    def _mark(self, digest: bytes | None) -> None:
        """Keeps a mark of a single table's rows, read again for it where reading has not brought it."""
        self._keep(same_rows.mark(self._rows, self.plan.book.row_key()) if digest is None else digest, self._rows)

    def _keep_all(self, digests: Sequence[bytes | None], forms: Sequence[PrivateRows]) -> None:
        """Keeps a mark for each form; of more marks than forms the first ones."""
        for digest, form in zip(digests, forms, strict=False):
            self._keep(digest, form)

    def _keep(self, digest: bytes | None, rows: PrivateRows) -> None:
        """Keeps a mark of rows, by which they are known again before a later spend (same_rows.py).

        One that no other is like where they cannot be compared: the number of rows must not decide about a line.
        Nothing was answered by then. Errors: UsageError where the same rows were charged elsewhere meanwhile.
        """
        marked = self.plan.book.fingerprint(
            self.run,
            dataset=self.plan.dataset,
            digest=same_rows.unlike(rows) if digest is None else digest,
            apart=self.plan.request.separate,
            audience=self.audience,
            alike=same_rows.are_alike,
        )
        same_rows.refuse(marked)

    @property
    def _rows(self) -> PrivateRows:
        """Those of a single table."""
        return self.plan.rows[ONE]

    def wide(self, schema: Schema | Dataset) -> Mapping[str, Any]:
        """Rows as learning sees them (learn_schema.py)."""
        for _, form in marked(self.plan.rows, schema):
            self._keep(same_rows.mark(form, self.plan.book.row_key()), form)
        return rows_to_learn(schema, self.plan.rows, self.plan.grant.adjacency, self.noise)
