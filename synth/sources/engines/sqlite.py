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
from synth.sources.engines import addresses
from synth.sources.engines.engine import grouped
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.files import known
from synth.sources.formats.text_table import check_names
from synth.sources.table_source import StreamedPlace

SCHEME = "sqlite"
FETCH = 1 << 16  # rows fetched at a time
TEXT = (
    "CASE typeof({0}) WHEN 'blob' THEN '(bytes)' WHEN 'real' THEN "
    "CASE WHEN CAST(CAST({0} AS TEXT) AS REAL) = {0} THEN CAST({0} AS TEXT) ELSE printf('%!.17g', {0}) END "
    "ELSE CAST({0} AS TEXT) END"
)  # the shortest of both ways to write a number that says which one it is


@dataclass(frozen=True)
class SqliteFile:
    """An SQLite file, opened for reading alone. ``address``: sqlite:///FILE."""

    address: str

    @property
    def path(self) -> Path:
        """The file."""
        parts = urlsplit(self.address)
        return Path(unquote(parts.netloc + parts.path))

    @property
    def shown(self) -> str:
        """The address: there is no user and no password in it."""
        return f"{SCHEME}://{self.path}"

    def tables(self) -> list[str]:
        """Names of its tables and views, sorted. Errors: InputError."""
        with self.asked() as asked:
            rows = asked.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
            return [str(row[0]) for row in rows if not str(row[0]).startswith("sqlite_")]

    def declared_keys(self) -> list[Reference]:
        """The foreign keys that its tables declare; one that names no column is of the parent's primary key.

        Errors: InputError. Privacy: public only.
        """
        keys = 'SELECT id, seq, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq'
        primary = "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk"
        rows, children = [], self.tables()
        with self.asked() as asked:
            for child in children:
                for number, place, parent, column, other in asked.execute(keys, (child,)).fetchall():
                    named = [row[0] for row in asked.execute(primary, (parent,))][place : place + 1]
                    rows += [(number, child, column, parent, str(one)) for one in ([other] if other else named)]
        return grouped(rows)

    @contextmanager
    def asked(self) -> Iterator[sqlite3.Connection]:
        """A connection that cannot write. Errors: InputError, never the driver's words."""
        if not is_file(self.path):
            raise InputError("source {}: no such file; check the name", self.shown)
        try:
            with closing(sqlite3.connect(f"file:{quote(str(self.path.resolve()))}?mode=ro", uri=True)) as opened:
                opened.text_factory = lambda text: text.decode("utf-8", "replace")
                opened.execute("PRAGMA query_only = ON")
                opened.execute("PRAGMA trusted_schema = OFF")
                yield opened
        except sqlite3.Error:
            raise InputError(
                "source {}: it cannot be read as an SQLite database; check the file, and that nobody holds it locked",
                self.shown,
            ) from None


@dataclass(frozen=True)
class SqlitePlace(StreamedPlace):
    """A table or view of an SQLite file."""

    source: SqliteFile
    table: str
    reading: Reading = PLAIN
    engine = SCHEME

    @property
    def name(self) -> str:
        """Address and table; that of a file is where it really lies."""
        return f"{SCHEME}://{addresses.file(self.source.path)}/{self.table.removeprefix('main.')}"

    def check_form(self, columns: Sequence[str]) -> None:
        """Looks at names alone. Errors: InputError."""
        names, thing = self.header(), f"source {self.source.shown}: table {self.table!r}"
        check_names(names, thing=thing)
        known(columns, names, thing=thing)

    def header(self) -> list[str]:
        """Names of the table's columns. Errors: InputError where there is no such table."""
        with self.source.asked() as asked:
            names = [str(row[0]) for row in asked.execute("SELECT name FROM pragma_table_info(?)", (self.table,))]
        if not names:
            raise InputError("source {}: no table {!r} is there; check the name", self.source.shown, self.table)
        return names

    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        named = ", ".join(TEXT.format(_quoted(n)) for n in columns)
        with self.source.asked() as asked:
            cursor = asked.execute(f"SELECT {named} FROM {_quoted(self.table)}")
            while rows := cursor.fetchmany(FETCH):
                cells = zip(*rows, strict=True)
                yield pa.table({n: pa.array(c, pa.string()) for n, c in zip(columns, cells, strict=True)})


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
