"""Batches of a table to encoded rows: each cell by the codec, or by an expression equal to it (sql.py)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from synth.schema import codec
from synth.schema.table import Column, Schema
from synth.sources.engines.sql import ABOVE, BELOW, LOST
from synth.sources.formats.text_table import Table
from synth.sources.rows.sketch import Sketch
from synth.sources.rows.spill import Persons, Spill


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Some rows: ``table``, the cells that are still to be read; ``codes``, positions or the marks of sql.py."""

    table: Table
    codes: Mapping[str, np.ndarray] = field(default_factory=dict)


class Encoder:
    """Fills a spool, and keeps what is needed beside it: whose rows they are, and how many cells were not known.

    ``person``: the column that names a person. ``digest``: fed with all texts, where there is one.
    **Guarantee**: a row's positions depend on that row, the schema and draws of its own alone.
    """

    def __init__(
        self, schema: Schema, draws: codec.Draws, *, person: str | None = None, digest: Sketch | None = None
    ) -> None:
        self.columns = schema.measured()
        self.spill = Spill({n: c.cells for n, c in self.columns.items()})
        self.digest = digest
        self.persons = Persons(person) if person is not None else None
        self._draws, self._person = draws, person
        self._clamped = dict.fromkeys(self.columns, 0)
        self._unreadable = dict.fromkeys(self.columns, 0)

    def add(self, batch: Batch) -> None:
        """Encodes a batch."""
        texts = Schema.model_construct(columns={n: c for n, c in self.columns.items() if n not in batch.codes})
        coded = codec.encode(batch.table, texts, self._draws)
        positions = dict(coded.positions)
        for name in coded.positions:
            self._count(name, coded.clamped[name], coded.unreadable[name])
        for name, codes in batch.codes.items():
            positions[name], clamped, unreadable = placed(self.columns[name], codes, self._draws)
            self._count(name, clamped, unreadable)
        self.spill.append(positions)
        if self.persons is not None:
            self.persons.append(batch.table.column(str(self._person)))
        if self.digest is not None and not batch.codes:
            self.digest.add(batch.table)

    def _count(self, name: str, clamped: int, unreadable: int) -> None:
        self._clamped[name] += clamped
        self._unreadable[name] += unreadable

    @property
    def encoded(self) -> codec.Encoded:
        """The rows so far with the counts of unknown cells, which are the steward's alone."""
        return codec.Encoded(self.spill, self._clamped, self._unreadable)


def placed(column: Column, codes: np.ndarray, draws: codec.Draws) -> tuple[np.ndarray, int, int]:
    """Codes with their marks put into place, as the codec does, and how many cells were clamped and not readable."""
    if len(codes) == 0 or codes.min() >= 0:
        return codes, 0, 0
    below, above, lost = codes == BELOW, codes == ABOVE, np.flatnonzero(codes == LOST)
    codes = np.where(below, 0, np.where(above, column.size - 1, codes)).astype(np.int64)
    if len(lost):
        codes[lost] = codec.replacement(column, len(lost), draws)
    return codes, int(np.count_nonzero(below | above)), len(lost)


def as_table(part: pa.Table | pa.RecordBatch) -> pa.Table:
    """Some rows as an Arrow table."""
    return part if isinstance(part, pa.Table) else pa.Table.from_batches([part])


def tables(parts: Iterable[pa.Table | pa.RecordBatch]) -> Iterator[Table]:
    """Arrow tables as tables of text."""
    for chunked in map(as_table, parts):
        yield Table({n: chunked.column(n) for n in chunked.column_names}, num_rows=chunked.num_rows)
