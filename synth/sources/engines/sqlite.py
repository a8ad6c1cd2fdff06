"""Tables of an SQLite file, by Python's own driver: rows come over as text, read in the order in which they lie.

A cell of SQLite may be of another type than its column says. It is turned into text where it lies, each cell by what
it is alone; a text that is no UTF-8 comes over with a sign for what cannot be read, so that no cell ends a run.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa

from synth.errors import InputError
from synth.files.regular_files import is_file
from synth.schema.related_names import Reference
from synth.schema.table import Schema
from synth.sources.engines import addresses
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.text_table import Table, check_names
from synth.sources.rows.encoding import Batch, plain
from synth.sources.rows.encoding import tables as as_text
from synth.sources.table_source import Place

SCHEME = "sqlite"
FETCH = 1 << 16  # rows fetched at a time
TEXT = (
    "CASE typeof({0}) WHEN 'blob' THEN '(bytes)' WHEN 'real' THEN "
    "CASE WHEN CAST(CAST({0} AS TEXT) AS REAL) = {0} THEN CAST({0} AS TEXT) ELSE printf('%!.17g', {0}) END "
    "ELSE CAST({0} AS TEXT) END"
)  # the shortest of both ways to write a number that says which one it is


def is_sqlite(source: str) -> bool:
    """Whether an address is of an SQLite file.

    >>> is_sqlite("sqlite:///clinic.db"), is_sqlite("duckdb:///clinic.duckdb")
    (True, False)
    """
    return urlsplit(source).scheme == SCHEME


@dataclass(frozen=True)
class SqlitePlace(Place):
    """A table or view of an SQLite file, opened for reading alone. ``source``: sqlite:///FILE."""

    source: str
    table: str
    reading: Reading = PLAIN
    engine = SCHEME

    @property
    def path(self) -> Path:
        """The file."""
        parts = urlsplit(self.source)
        return Path(unquote(parts.netloc + parts.path))

    @property
    def shown(self) -> str:
        """The address: there is no user and no password in it."""
        return f"{SCHEME}://{self.path}"

    @property
    def name(self) -> str:
        """Address and table; that of a file is where it really lies."""
        return f"{SCHEME}://{addresses.file(self.path)}/{self.table.removeprefix('main.')}"

    def check_form(self, columns: Sequence[str]) -> None:
        """Looks at names alone. Errors: InputError."""
        result = self.columns()
        check_names(result, thing=f"source {self.shown}: table {self.table!r}")
        for name in columns:
            if name not in result:
                raise InputError(f"source {self.shown}: table {self.table!r} has no column {name!r}")

    def read(self, columns: Sequence[str]) -> Table:
        """The columns as text, in memory."""
        none = pa.schema([(n, pa.string()) for n in columns]).empty_table()
        whole = pa.concat_tables([none, *self.parts(columns)])
        return Table({n: whole.column(n) for n in columns}, num_rows=whole.num_rows).read_by(self.reading)

    def batches(self, schema: Schema, raw: Sequence[str]) -> Iterator[Batch]:
        """Rows as text, for the codec."""
        return plain(part.read_by(self.reading) for part in as_text(self.parts([*schema.measured(), *raw])))

    def columns(self) -> list[str]:
        """Names of the table's columns. Errors: InputError where there is no such table."""
        with self._asked() as asked:
            results = [str(row[0]) for row in asked.execute("SELECT name FROM pragma_table_info(?)", (self.table,))]
        if not results:
            raise InputError(f"source {self.shown}: no table {self.table!r} is there; check the name")
        return results

    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        named = ", ".join(TEXT.format(_quoted(n)) for n in columns)
        with self._asked() as asked:
            cursor = asked.execute(f"SELECT {named} FROM {_quoted(self.table)}")
            while rows := cursor.fetchmany(FETCH):
                cells = zip(*rows, strict=True)
                yield pa.table({n: pa.array(c, pa.string()) for n, c in zip(columns, cells, strict=True)})

    @contextmanager
    def _asked(self) -> Iterator[sqlite3.Connection]:
        """A connection that cannot write. Errors: InputError, never the driver's words."""
        if not is_file(self.path):
            raise InputError(f"source {self.shown}: no such file; check the name")
        try:
            with closing(sqlite3.connect(f"file:{quote(str(self.path.resolve()))}?mode=ro", uri=True)) as result:
                result.text_factory = _decoded
                result.execute("PRAGMA query_only = ON")
                result.execute("PRAGMA trusted_schema = OFF")
                yield result
        except sqlite3.Error:
            raise InputError(
                f"source {self.shown}: it cannot be read as an SQLite database; check the file, and that nobody "
                "holds it locked"
            ) from None


def tables(source: str) -> list[str]:
    """Names of the tables and views of an SQLite file, sorted. Errors: InputError."""
    with SqlitePlace(source, "")._asked() as asked:
        rows = asked.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        return [str(row[0]) for row in rows if not str(row[0]).startswith("sqlite_")]


def declared_keys(source: str, names: Sequence[str]) -> list[Reference]:
    """The foreign keys that these tables declare; one that names no column is of the parent's primary key.

    Errors: InputError. Privacy: public only.
    """
    results = []
    with SqlitePlace(source, "")._asked() as asked:
        for child in names:
            lines = asked.execute(
                'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (child,)
            ).fetchall()
            for number in sorted({line[0] for line in lines}):
                key = [line for line in lines if line[0] == number]
                others = [k[3] for k in key] if key[0][3] else _primary(asked, key[0][1])
                results.append(
                    Reference(
                        child=child,
                        columns=tuple(k[2] for k in key),
                        parent=key[0][1],
                        parent_columns=tuple(others),
                        declared=True,
                    )
                )
    return results


def _primary(asked: sqlite3.Connection, table: str) -> list[str]:
    query = "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk"
    return [str(row[0]) for row in asked.execute(query, (table,))]


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
