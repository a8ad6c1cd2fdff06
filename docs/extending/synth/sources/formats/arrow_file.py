"""Arrow files (.arrow), a record batch at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from synth.errors import InputError
from synth.schema.table import Schema
from synth.sources.formats.text_table import Table
from synth.sources.rows.encoding import Batch
from synth.sources.table_source import FilePlace


@dataclass(frozen=True)
class ArrowPlace(FilePlace):
    """An Arrow file; its columns' types are facts of the file, never inferred from cells."""

    engine = "arrow-file"

    def check_form(self, columns: Sequence[str]) -> None:
        """Whether it is an Arrow file with these columns and a row. Errors: InputError."""
        try:
            with pa.ipc.open_file(self.path) as file:
                absent = [n for n in columns if n not in file.schema.names]
                empty = not file.num_record_batches
        except (OSError, pa.ArrowInvalid):
            raise InputError(f"{self.path}: cannot be read as an Arrow file; write it again") from None
        if absent:
            raise InputError(f"{self.path}: it has no column {', '.join(absent)}, which the schema names")
        if empty:
            raise InputError(f"{self.path}: it has columns and no rows; at least one row is needed")

    def read(self, columns: Sequence[str]) -> Table:
        """The columns of all rows, as text when they are asked for."""
        with pa.ipc.open_file(self.path) as file:
            whole = file.read_all()
        return Table({n: whole.column(n) for n in columns}, num_rows=whole.num_rows).read_by(self.reading)

    def batches(self, schema: Schema, raw: Sequence[str]) -> Iterator[Batch]:
        """A record batch at a time."""
        names = [*schema.measured(), *raw]
        with pa.ipc.open_file(self.path) as file:
            for i in range(file.num_record_batches):
                part = pa.Table.from_batches([file.get_batch(i)])
                yield Batch(table=Table({n: part.column(n) for n in names}, num_rows=len(part)).read_by(self.reading))
