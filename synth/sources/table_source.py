"""Where a private table lies, and the way from there to encoded rows. Nothing is opened before it is asked for."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from synth.errors import EmptyTableError, InputError
from synth.files.regular_files import is_folder
from synth.schema.codec import Draws, Encoded
from synth.schema.table import Schema
from synth.sources.engines import duckdb
from synth.sources.formats import csv_files, files, labelled
from synth.sources.formats.arrow_text import check_type, one_text
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.csv_files import open_bytes
from synth.sources.formats.files import parquet_files
from synth.sources.formats.text_table import Table, check_names, from_frame
from synth.sources.rows.encoding import Batch, Encoder, as_table, tables
from synth.sources.rows.sketch import Sketch
from synth.sources.rows.spill import Persons

MOST_COMPARED = 1 << 21  # rows; a longer table is not compared with those charged before


class Opened(NamedTuple):
    """An encoded table; ``persons``, of every row, where they were asked for; ``digest`` None where there is none.

    ``bounded``: no more rows of a person are in it than were asked for, so that ``persons`` is not needed.
    """

    encoded: Encoded
    persons: Persons | None
    digest: bytes | None
    bounded: bool = False


class Place(ABC):
    """A table somewhere. ``engine``: the word that the ledger and the card have for what reads and counts it."""

    engine = "frames"
    delimited = False  # whether the schema's dialect is about its texts
    reading: Reading

    def under(self, schema: Schema) -> Self:
        """The same place, whose texts are read as the schema says they are written."""
        place: Any = self  # every place is a dataclass
        return replace(place, reading=Reading.of(schema, delimited=self.delimited))

    @property
    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """By column the labels of codes that the table itself states, for drafts. Errors: InputError."""
        return {}

    @property
    def titles(self) -> Mapping[str, str]:
        """By column what the table itself says of it, for drafts. Errors: InputError."""
        return {}

    @property
    @abstractmethod
    def name(self) -> str | None:
        """What the table is charged under unless a name is declared; never a credential. None: it has no name."""

    def as_it_seems(self, **stated: str | None) -> "Place":  # noqa: ARG002
        """The same place, read as a CSV file seems to be written, ``stated`` facts of its dialect as they are: for
        public tables and drafts. Errors: InputError."""
        return self

    @abstractmethod
    def header(self) -> list[str]:
        """The column names. Errors: InputError."""

    @abstractmethod
    def check_form(self, columns: Sequence[str]) -> None:
        """Finds faults of form and keeps no value. Errors: InputError."""

    @abstractmethod
    def read(self, columns: Sequence[str]) -> Table:
        """All rows of some columns, as text, in memory."""

    def batches(self, schema: Schema, raw: Sequence[str]) -> Iterator[Batch]:
        """The measured columns, and ``raw`` ones, some rows at a time; here all at once."""
        yield Batch(table=self.read([*schema.measured(), *raw]))

    def encoded(
        self,
        schema: Schema,
        draws: Draws,
        *,
        person: str | None,
        key: bytes,
        most: int | None = None,  # noqa: ARG002
    ) -> Opened:
        """All rows, encoded. ``key``: of the table's fingerprint. ``most``: rows of a person, for whom it can bound."""
        names = [*schema.measured(), *([person] if person else [])]
        digest = Sketch(key, names, most=MOST_COMPARED)
        encoder = Encoder(schema, draws, person=person, digest=digest)
        for batch in self.batches(schema, names[len(schema.measured()) :]):
            encoder.add(batch)
        self.feed(digest, names)
        return Opened(encoder.encoded, encoder.persons, digest.mark())

    def feed(self, digest: Sketch, columns: Sequence[str]) -> None:  # noqa: B027
        """Gives the digest what the batches did not: nothing where they were text."""


class StreamedPlace(Place):
    """A table that is read some rows at a time."""

    @abstractmethod
    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table | pa.RecordBatch]:
        """The columns as they lie, some rows at a time. Errors: InputError."""

    def read(self, columns: Sequence[str]) -> Table:
        """The columns as text, in memory."""
        none = pa.schema([(n, pa.string()) for n in columns]).empty_table()
        whole = pa.concat_tables([as_table(part) for part in self.parts(columns)] or [none])
        return Table({n: whole.column(n) for n in columns}, num_rows=whole.num_rows).read_by(self.reading)

    def batches(self, schema: Schema, raw: Sequence[str]) -> Iterator[Batch]:
        """Rows as text, for the codec."""
        for part in tables(self.parts([*schema.measured(), *raw])):
            yield Batch(table=part.read_by(self.reading))


@dataclass(frozen=True)
class FramePlace(Place):
    """A data frame."""

    frame: pd.DataFrame
    reading: Reading = PLAIN

    @property
    def name(self) -> None:
        """A frame has none."""

    def header(self) -> list[str]:
        """The frame's columns."""
        return list(self.frame.columns)

    def check_form(self, columns: Sequence[str]) -> None:
        """Errors: InputError for an absent column or a type without text."""
        names = set(self.frame.columns)
        absent = [c for c in columns if c not in names]
        if absent:
            raise InputError("the frame has no column {}, which the schema names; rename or drop it", ", ".join(absent))
        check_names([str(n) for n in self.frame.columns], thing="data frame")
        from_frame(self.frame[list(columns)])

    def read(self, columns: Sequence[str]) -> Table:
        """The frame's columns as text."""
        return from_frame(self.frame[list(columns)]).read_by(self.reading)


@dataclass(frozen=True)
class FilePlace(Place):
    """A file, read whole: a workbook."""

    path: Path
    reading: Reading = PLAIN

    @property
    def name(self) -> str:
        """The canonical path."""
        return str(self.path.resolve())

    def check_form(self, columns: Sequence[str]) -> None:
        """One pass over the file. Errors: InputError."""
        files.check_form(self.path, columns=columns, dialect=self.reading.dialect)

    def read(self, columns: Sequence[str]) -> Table:
        """The columns as text."""
        return files.read(self.path, columns=columns, reading=self.reading)

    def header(self) -> list[str]:
        """The column names. Errors: InputError."""
        return files.header(self.path, dialect=self.reading.dialect)


@dataclass(frozen=True)
class CsvPlace(FilePlace, StreamedPlace):
    """A CSV file, plain or gzipped, parsed block by block by the reader that checks its form."""

    engine = "arrow"
    delimited = True

    batches = StreamedPlace.batches

    def as_it_seems(self, **stated: str | None) -> "CsvPlace":
        """With the dialect that the file's own bytes show, unconfirmed."""
        return replace(self, reading=Reading(dialect=csv_files.sniffed(self.path, **stated)))

    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some megabytes of cells at a time."""
        return csv_files.stream(self.path, list(columns), self.reading.dialect)


@dataclass(frozen=True)
class LabelledPlace(FilePlace, StreamedPlace):
    """A file of Stata, SPSS or SAS."""

    batches = StreamedPlace.batches

    @property
    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """Those of its header."""
        return labelled.header(self.path).labels

    @property
    def titles(self) -> Mapping[str, str]:
        """Those of its header."""
        return labelled.header(self.path).titles

    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some millions of cells at a time."""
        return labelled.stream(self.path, columns)


@dataclass(frozen=True)
class ParquetPlace(FilePlace, StreamedPlace):
    """A Parquet file, or all those of a folder as one table, read and encoded by DuckDB."""

    engine = "duckdb"

    @cached_property
    def paths(self) -> list[Path]:
        """The files, in the order of their names. Errors: InputError when a folder has none, or not these alone."""
        return parquet_files(self.path)

    def check_form(self, columns: Sequence[str]) -> None:
        """One pass over every file, by what will read it; columns must have the same types. Errors: InputError."""
        for field in self.types(columns):
            check_type(field.type, name=field.name)
        if self.num_rows == 0:
            raise EmptyTableError("{}: it has columns and no rows; at least one row is needed", self.path)
        for path in self.paths:
            if pq.ParquetFile(path).metadata.num_rows:
                files.check_form(path, columns=columns)

    def types(self, columns: Sequence[str]) -> pa.Schema:
        """The columns' types, the same in every file. Errors: InputError."""
        first = pa.schema([])
        for path in self.paths:
            files.wanted(path, columns)
            lying = pq.read_schema(path)
            own = pa.schema([(n, one_text(lying.field(n).type)) for n in columns])
            first = first if len(first) else own
            odd = next((n for n in columns if own.field(n).type != first.field(n).type), None)
            if odd is not None:
                raise InputError(
                    "{}: column {} is of another type in the folder's first file; write all alike", path, odd
                )
        return first

    @property
    def num_rows(self) -> int:
        """Rows of all files: private."""
        return sum(pq.ParquetFile(p).metadata.num_rows for p in self.paths)

    read = StreamedPlace.read

    def header(self) -> list[str]:
        """Those of the first file."""
        return files.header(self.paths[0])

    def parts(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batch by batch."""
        for path in self.paths:
            yield from files.parquet_batches(path, list(columns))

    def batches(self, schema: Schema, raw: Sequence[str]) -> Iterator[Batch]:
        """As DuckDB hands them over."""
        names = [*schema.measured(), *raw]
        parts = duckdb.batches(self.paths, self.types(names), schema, raw=raw)
        return (replace(part, table=part.table.read_by(self.reading)) for part in parts)

    def feed(self, digest: Sketch, columns: Sequence[str]) -> None:
        """The texts of a table short enough to be compared."""
        if self.num_rows > MOST_COMPARED:
            digest.give_up()
            return
        for table in tables(self.parts(columns)):
            digest.add(table)


def place_of(table: str | Path | pd.DataFrame) -> Place:
    """The place of a frame, a file or a folder. Errors: InputError for a name of no known kind, or with no file there.

    A file is opened and closed at once: what cannot be opened is told before anything takes time.
    """
    if isinstance(table, pd.DataFrame):
        return FramePlace(table)
    path = Path(table)
    if is_folder(path):
        return ParquetPlace(path)
    known = {"csv": CsvPlace, "parquet": ParquetPlace, "xlsx": FilePlace, "labelled": LabelledPlace}
    place = known[files.kind(path)](path)
    open_bytes(path).close()
    return place
