"""SQLite files, for drafts: names and declared keys of their tables, and rows as text. The file is never written."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa

from synth.errors import InputError
from synth.schema.related_names import Reference

SCHEME = "sqlite"
FETCH = 1 << 16  # rows fetched at a time


def is_sqlite(source: str | None) -> bool:
    """Whether an address is a SQLite file's, ``sqlite:///people.db``."""
    return source is not None and urlsplit(source).scheme == SCHEME


class SqliteFile:
    """The tables of a SQLite file; views are left alone, since they may be programs. Errors: InputError."""

    def __init__(self, source: str) -> None:
        self.path = Path(unquote(urlsplit(source).path))

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(f"file:{quote(str(self.path.absolute()))}?mode=ro", uri=True)) as con:
                con.text_factory = lambda raw: raw.decode("utf-8", "replace")
                yield con
        except sqlite3.Error:
            raise InputError(f"source {self.path}: cannot be read as a SQLite file; check the name") from None

    def headers(self) -> dict[str, list[str]]:
        """Columns by table, sorted by the tables' names."""
        with self._opened() as con:
            names = con.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
                                "ORDER BY name").fetchall()  # fmt: skip
            return {n: [r[1] for r in con.execute(f"PRAGMA table_info({_quoted(n)})")] for (n,) in names}

    def declared_keys(self) -> list[Reference]:
        """The foreign keys that the tables declare; one that names no column refers to the parent's primary key."""
        found = []
        for child in self.headers():
            with self._opened() as con:
                lines = con.execute(f"PRAGMA foreign_key_list({_quoted(child)})").fetchall()
                for number in sorted({line[0] for line in lines}):
                    key = sorted((line for line in lines if line[0] == number), key=lambda line: line[1])
                    others = [k[4] for k in key] if key[0][4] else self._primary(con, key[0][2])
                    found.append(Reference(child=child, columns=tuple(k[3] for k in key), parent=key[0][2],
                                           parent_columns=tuple(others), declared=True))  # fmt: skip
        return found

    def _primary(self, con: sqlite3.Connection, table: str) -> list[str]:
        columns = con.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
        return [c[1] for c in sorted(columns, key=lambda c: c[5]) if c[5]]

    def parts(self, table: str) -> Iterator[pa.Table]:
        """All rows as text, some at a time."""
        names = self.headers()[table]
        told = ", ".join(f"CAST({_quoted(n)} AS TEXT)" for n in names)
        with self._opened() as con:
            asked = con.execute(f"SELECT {told} FROM {_quoted(table)}")
            while rows := asked.fetchmany(FETCH):
                yield pa.table({n: pa.array(c, pa.large_string()) for n, c in zip(names, zip(*rows, strict=True),
                                                                                  strict=True)})  # fmt: skip


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
