"""Databases by name, so that nobody types or stores a password: the file that ``$SYNTH_SOURCES`` names is TOML::

    [census]
    address = "postgres://steward@db.example/census"
    password_file = "/run/secrets/census"   # or password_env = "CENSUS_PASSWORD", or the driver's own ~/.pgpass
    people = ["ann@example.org"]            # who may use it where people sign in; without it every steward
    may_write = true                        # whether synthetic tables may be put there

``@census`` then stands for the address wherever ``--source`` is asked for. It is looked up by the process that
connects: what a job's folder, the ledger or a list of processes shows is the name.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self
from urllib.parse import quote, urlsplit

import numpy as np
import pyarrow as pa
from pydantic import RootModel, field_validator, model_validator

from synth.errors import EmptyTableError, InputError, UsageError
from synth.files import regular_files, toml_files
from synth.schema import names
from synth.sources.engines import addresses
from synth.sources.engines.engine import Engine
from synth.sources.engines.sqlite import SCHEME, SqliteFile, SqlitePlace
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.formats import files
from synth.sources.formats.text_table import Table
from synth.sources.rows.encoding import as_table
from synth.sources.table_source import Place, StreamedPlace, place_of

FEW = 500_000  # rows that are enough for a draft
MOST_HELD = 1 << 28  # bytes of cells that a draft holds, however they lie in a file


@dataclass(frozen=True, kw_only=True)
class Database:
    """A database that an installation offers. ``shown``: its address without user and password."""

    name: str
    shown: str
    may_write: bool = False
    people: Sequence[str] | None = None

    def open_to(self, person: str) -> bool:
        """Whether somebody of that address may use it.

        >>> Database(name="a", shown="", people=("ann@x.org",)).open_to("bob@x.org")
        False
        """
        return self.people is None or any(fnmatchcase(person.lower(), p.lower()) for p in self.people)


def databases() -> list[Database]:
    """What the installation offers, in the file's order; nothing is connected to. Errors: InputError."""
    return [
        Database(name=n, shown=shown(f.address), may_write=f.may_write, people=f.people) for n, f in _file().items()
    ]


def address(source: str) -> str:
    """The full address of ``@name``, password included where the file names one; any other address as it is.

    Never to be shown or stored. Errors: InputError for an unknown name or a secret that cannot be read.

    >>> address("duckdb:///people.duckdb")
    'duckdb:///people.duckdb'
    """
    if not source.startswith("@"):
        return source
    wanted = names.canonical(source[1:])
    entry = next((one for name, one in _file().items() if names.canonical(name) == wanted), None)
    if entry is None:
        raise InputError("source {}: no database of this name; SYNTH_SOURCES names the file that lists them", source)
    password = os.environ.get(entry.password_env or "")
    if entry.password_env and password is None:
        raise InputError("source {}: the variable {} is not set; set its password", source, entry.password_env)
    if entry.password_file:
        try:
            password = regular_files.text(Path(entry.password_file).expanduser()).rstrip("\n")
        except (OSError, UnicodeDecodeError):
            raise InputError("source {}: its password_file cannot be read; correct SYNTH_SOURCES", source) from None
    if password is None:
        return entry.address
    parts = urlsplit(entry.address)
    user, _, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}:{quote(password, safe='')}@{host}").geturl()


def check_bare(source: str) -> None:
    """Errors: UsageError for an address of no known engine, or one with a password in it."""
    database(source)
    if addresses.has_password(source):
        raise UsageError(
            "source: leave the password out of the address; put it into ~/.pgpass, PGPASSWORD or the file that "
            "SYNTH_SOURCES names"
        )


def tables(source: str) -> list[str]:
    """Names of the tables and views at a source that its user may read, sorted. Errors: InputError, UsageError."""
    return database(address(source)).tables()


def database(source: str) -> Engine | SqliteFile:
    """What lies at a full address. Nothing is connected to. Errors: UsageError for an address of no known engine."""
    return SqliteFile(source) if urlsplit(source).scheme == SCHEME else Engine(source)


def place(table: str | Path, source: str | None) -> Place:
    """Where a table lies: a file or folder, or a table at a source. Errors: InputError, UsageError."""
    return place_of(table) if source is None else placed(address(source), str(table))


def placed(source: str, table: str) -> StreamedPlace:
    """A table at a full address. Nothing is connected to. Errors: as ``database``."""
    there = database(source)
    return SqlitePlace(there, table) if isinstance(there, SqliteFile) else WarehousePlace(there, table)


def shown(source: str) -> str:
    """An address without user, password and options; a name stands for itself. Errors: UsageError."""
    return source if source.startswith("@") else database(source).shown


def identity(source: str) -> str:
    """What an address stands for, the same however it is written, a name of the installation's included; without user
    and password. Errors: InputError, UsageError."""
    return str(placed(address(source), "").name).removesuffix("/")


def whole(
    table: str | Path,
    source: str | None,
    *,
    columns: list[str] | None = None,
    few: int = FEW,
    stated: Mapping[str, str | None] | None = None,
) -> tuple[Table, list[str]]:
    """A table's rows as text, checked for form, for a draft; and a note where it is so long that not all are taken.

    Of more than ``2 * few`` rows every second, fourth, ... is kept, spread evenly over the table, so that memory does
    not grow with it. ``columns`` must be there. A CSV file is read as it seems to be written (``Table.dialect``);
    ``stated`` facts of its dialect are taken as they are. Errors: InputError, UsageError.
    """
    at = place(table, source).as_it_seems(**(stated or {}))
    names = at.header()
    at.check_form([*names, *(c for c in columns or () if c not in names)])
    if not isinstance(at, StreamedPlace):
        return at.read(names), []
    some, step = thinned(map(as_table, at.parts(names)), few=few)
    note = f"drafted from one row in {step}: rare values and extreme bounds may be missing, look for them"
    rows = Table({n: some.column(n) for n in names}, num_rows=some.num_rows)
    rows.dialect, rows.labels, rows.titles = at.reading.dialect, at.labels, at.titles
    return rows, [note] if step > 1 else []


def thinned(parts: Iterable[pa.Table], *, few: int) -> tuple[pa.Table, int]:
    """At most ``2 * few`` rows of ``MOST_HELD`` bytes at equal steps, all where there are no more; and the step.

    There are at least ``few`` unless they are too long.

    >>> blocks = [pa.table({"a": range(i, i + 5)}) for i in range(0, 20, 5)]
    >>> kept, step = thinned(blocks, few=5)
    >>> kept.column("a").to_pylist(), step
    ([0, 2, 4, 6, 8, 10, 12, 14, 16, 18], 2)
    """
    kept: list[pa.Table] = []
    step, seen, size = 1, 0, 0
    for part in parts:
        kept.append(part.take(np.arange(-seen % step, part.num_rows, step)))
        seen, size = seen + part.num_rows, size + kept[-1].num_rows
        while size > 2 * few or (size > 1 and sum(k.nbytes for k in kept) > MOST_HELD):
            whole = pa.concat_tables(kept)
            kept, step = [whole.take(np.arange(0, size, 2))], 2 * step
            size = kept[0].num_rows
    if size == 0:
        raise EmptyTableError("the table has columns and no rows; at least one row is needed")
    return pa.concat_tables(kept), step


def fetch(source: str | None, table: str, out: str | Path, *, columns: list[str]) -> None:
    """Copies columns of a table, or of a folder's parts, into a Parquet file that this user alone may read.

    Errors: InputError.
    """
    read = place(table, source).read(columns)
    cells = {name: (column := read.column(name)).values[column.codes] for name in read.names}
    with tempfile.TemporaryDirectory(dir=Path(out).parent) as private:  # nobody else may look in there
        made = Path(private) / "copy.parquet"
        files.write(made, cells)
        made.chmod(0o600)
        made.replace(out)


class _Entry(toml_files.KnownTable):
    """One database of the file; a password stands beside it, never in it."""

    address: str
    password_file: str | None = None
    password_env: str | None = None
    people: list[str] | None = None
    may_write: bool = False

    @field_validator("address")
    @classmethod
    def _bare(cls, address: str) -> str:
        try:
            check_bare(address)
        except UsageError as error:
            raise ValueError(str(error)) from None
        return address

    @model_validator(mode="after")
    def _one_secret(self) -> Self:
        if self.password_file and self.password_env:
            raise ValueError("name a password's file or variable, not both")
        return self


class _Entries(RootModel[dict[str, _Entry]]):
    @model_validator(mode="after")
    def _one_name_each(self) -> Self:
        if len({names.canonical(name) for name in self.root}) < len(self.root):
            raise ValueError("two names are spellings of one; keep one of them")
        return self


def _file() -> dict[str, _Entry]:
    """The file's entries, checked; none without a file. Errors: InputError."""
    named = os.environ.get("SYNTH_SOURCES")
    path = Path(named or "").expanduser()
    return toml_files.load(path, _Entries, kind="sources", variable="SYNTH_SOURCES").root if named else {}
