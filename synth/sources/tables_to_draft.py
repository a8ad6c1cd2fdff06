"""The tables that are there to be drafted together: in a folder, or in a database with the keys that it declares."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from synth.errors import InputError
from synth.files.regular_files import is_folder
from synth.schema.names import FILE_NAME
from synth.schema.related_names import Reference
from synth.sources import named_databases
from synth.sources.draft_related import Rows
from synth.sources.engines import sqlite
from synth.sources.engines.declared_keys import declared_keys
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.formats import files
from synth.sources.formats.sniff_dialect import sniffed
from synth.sources.formats.table_versions import is_delta, parquet_files
from synth.sources.formats.text_table import Table
from synth.sources.table_source import CsvPlace, place_of

FILES = (".csv", ".csv.gz", ".parquet", ".xlsx")


@dataclass(frozen=True, kw_only=True)
class LocatedTables:
    """Columns by table, how a table's rows are had, and the keys that a database declares (None: a folder's)."""

    headers: dict[str, list[str]]
    rows: Rows
    declared: list[Reference] | None


def is_folder_of_tables(path: Path) -> bool:
    """Whether the folder ``path`` holds several tables, not the parts of one: Parquet files of one header are parts.

    Errors: InputError for a file that cannot be read. Privacy: public only (names and headers of files).
    """
    if not is_folder(path) or is_delta(path):
        return False
    parts = _parts(path)
    if (len(parts) > 1 or len(tables_in(path)) == 1) and len({tuple(files.header(p)) for p in parts}) == 1:
        return False
    return bool(tables_in(path))


def tables_in(folder: Path) -> dict[str, Path]:
    """The files of a folder that are tables, and its folders of Parquet files, by table; others are passed over.

    Errors: InputError for a table that is there twice, or whose name cannot be a file's everywhere.

    Privacy: public only (names of files).
    """
    result: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        end = next((e for e in sorted(FILES, key=len, reverse=True) if path.name.endswith(e)), "")
        if path.name.startswith((".", "_")) or not ((path.is_file() and end) or (path.is_dir() and _parts(path))):
            continue
        name = path.name.removesuffix(end)
        if not FILE_NAME.fullmatch(name):
            raise InputError(f"{folder}: {path.name}: a table's name is of letters, digits, - and _; rename the file")
        if name in result:
            raise InputError(f"{folder}: table {name} is there as {result[name].name} and as {path.name}; keep one")
        result[name] = path
    return result


def _parts(folder: Path) -> list[Path]:
    return [p for p in folder.iterdir() if p.name.endswith((".parquet", ".pq"))]


def in_folder(folder: Path, *, stated: Mapping[str, str | None] | None = None) -> LocatedTables:
    """The tables of a folder. ``stated``: how its CSV files are written. Errors: InputError."""
    at = tables_in(folder)
    if len(at) < 2:
        raise InputError(
            f"{folder}: it holds {len(at)} tables; related tables are two or more files (.csv, .csv.gz, "
            ".parquet, .xlsx) or folders of Parquet files"
        )

    def rows(name: str) -> tuple[Table, list[str]]:
        return named_databases.whole(at[name], None, stated=stated)

    return LocatedTables(headers={n: _header(p, stated) for n, p in at.items()}, rows=rows, declared=None)


def _header(path: Path, stated: Mapping[str, str | None] | None) -> list[str]:
    if is_folder(path):
        return files.header(parquet_files(path)[0])
    place = place_of(path)
    dialect = sniffed(place.path, **(stated or {})) if isinstance(place, CsvPlace) else None
    return files.header(path, dialect=dialect)


def in_database(source: str) -> LocatedTables:
    """The tables of a database's own schema and the keys declared there. Errors: InputError, UsageError."""

    def rows(name: str) -> tuple[Table, list[str]]:
        return named_databases.whole(name, source)

    if sqlite.is_sqlite(source):
        names = sqlite.tables(source)
        headers = {t: sqlite.SqlitePlace(source, t).columns() for t in names}
        return LocatedTables(headers=headers, rows=rows, declared=sqlite.declared_keys(source, names))
    engine = Engine(source)
    headers = {t: list(WarehousePlace(engine, t).expression.schema().names) for t in engine.tables()}
    return LocatedTables(headers=headers, rows=rows, declared=declared_keys(engine))
