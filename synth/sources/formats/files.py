"""Reading and writing tables as files; the kind follows from the file's name.

Only the *form* of a file can be at fault: its encoding, its header, the number of fields in a row. What stands
in a cell never is, and no message repeats a cell.

A Delta, Iceberg or Hudi table leaves the files of deleted and overwritten rows where they are; only its own log tells
them from the current ones. So its folder is never read file by file, nor is a part of it.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from synth.errors import EmptyTableError, InputError, need
from synth.files import whole_files
from synth.files.regular_files import is_folder
from synth.schema.dialect import Dialect
from synth.sources.formats import arrow_text, csv_files, excel, labelled
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.csv_files import PLAIN as PLAIN_DIALECT
from synth.sources.formats.csv_files import open_bytes
from synth.sources.formats.text_table import Table, check_names

ENDINGS = (".parquet", ".pq")
ICEBERG = re.compile(r"v?[0-9]+(-.*)?\.(gz\.)?metadata\.json")
UNDERSTOOD = {"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}


def parquet_files(path: Path) -> list[Path]:
    """The file, those of a folder in the order of their names, or those of a Delta table's current version.

    Errors: InputError for a folder without any, a part of a table that keeps old rows, and what of such a table cannot
    be honoured; UsageError without the extra `delta`.
    """
    check_whole(path)
    if not is_folder(path):
        return [path]
    if is_delta(path):
        return _current(path)
    paths = sorted(p for p in path.iterdir() if p.name.lower().endswith(ENDINGS))
    paths = [p for p in paths if not p.name.startswith((".", "_"))]
    if not paths:
        raise InputError("{}: no .parquet file lies in this folder; name the folder that holds them", path)
    return paths


def check_whole(path: Path) -> None:
    """Errors: InputError for an Iceberg or Hudi table, and for what lies within one or within a Delta table."""
    whole = path.resolve()
    for home in (whole, *whole.parents):
        if _is_iceberg(home) or (home / ".hoodie").exists():
            kind = "Iceberg" if _is_iceberg(home) else "Hudi"
            raise InputError(
                "{}: belongs to the {} table {!r}, whose folder also keeps the files of rows that were deleted or "
                "overwritten; write its current rows to a folder of Parquet files, or name it as a table of Spark's "
                "catalogue",
                path,
                kind,
                home.name,
            )
        if home != whole and is_delta(home):
            raise InputError(
                "{}: belongs to the Delta table {!r}, whose folder also keeps the files of rows that were deleted "
                "or overwritten; name the folder {}",
                path,
                home.name,
                home,
            )


def is_delta(path: Path) -> bool:
    """Whether a folder is a Delta table. Privacy: public only (names of files)."""
    return is_folder(path / "_delta_log")


def _is_iceberg(path: Path) -> bool:
    metadata = path / "metadata"
    return is_folder(metadata) and any(ICEBERG.fullmatch(p.name) for p in metadata.glob("*.metadata.json"))


def _current(path: Path) -> list[Path]:
    """The files of a Delta table's current version, in the order of their names. Errors: as ``parquet_files``."""
    need(f"{path}: to read a Delta table", "delta", "deltalake")
    from deltalake import DeltaTable

    home = path.resolve()
    if re.search("%[0-9A-Fa-f]{2}", str(home)):
        raise InputError(
            "{}: the library of Delta would take a name with a sign like %20 for another; rename the folder", path
        )
    try:
        table = DeltaTable(home.as_uri())  # of a bare path it would decode the signs
        features, facts = set(table.protocol().reader_features or ()), table.metadata()
        masked = "deletionVectors" in features and any(b.num_rows for b in table.deletion_vectors())
        paths = sorted(Path(unquote(urlsplit(uri).path)).resolve() for uri in table.file_uris())  # no links, no ..
    except Exception:  # of many kinds, whose texts may quote the log, which holds cells
        raise InputError(
            "{}: the log of this Delta table cannot be read; look at it, or write its current rows to a folder of "
            "Parquet files",
            path,
        ) from None
    unknown = sorted(features - UNDERSTOOD)
    log = home / "_delta_log"
    faults = {
        "a log that links lead out of the folder for": any(p.is_symlink() for p in (log, *log.rglob("*"))),
        "deletion vectors (rows marked as deleted inside files)": masked,
        "column mapping (other names in the files)": facts.configuration.get("delta.columnMapping.mode", "none")
        != "none",
        f"partition columns ({', '.join(facts.partition_columns)}), which no file holds": bool(facts.partition_columns),
        f"the feature {', '.join(unknown)}": bool(unknown),
        "files outside its folder, twice, or that are gone": len({*paths}) < len(paths)
        or any(home not in p.parents or not p.is_file() for p in paths),
        "no file in its current version": not paths,
    }
    for fault, there in faults.items():
        if there:
            raise InputError(
                "{}: this Delta table has {}, which is not read; write its current rows to a folder of Parquet "
                "files, or name it as a table of Spark's catalogue",
                path,
                fault,
            )
    return paths


SUFFIXES = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx"}
SUFFIXES |= dict.fromkeys(labelled.READERS, "labelled")
MARK = "SYNTHETIC: made-up rows (Facsimile)"  # at most 40 characters, for the label of a .xpt

NO_ROWS = "{}: it has a header and no rows; at least one row is needed"
DAMAGED = "its Parquet data are damaged; save it again as Parquet or CSV"

Kind = Literal["csv", "parquet", "xlsx", "labelled"]
Cells = Iterable[object]  # arrow arrays included


def kind(path: str | Path) -> Kind:
    """The kind of file that a name stands for.

    >>> kind("people.csv.gz"), kind("people.pq")
    ('csv', 'parquet')

    Errors: InputError for any other ending.
    """
    name = Path(path).name.lower()
    for suffix, item in SUFFIXES.items():
        if name.endswith(suffix):
            return item  # type: ignore[return-value]
    *others, last = SUFFIXES
    raise InputError(
        "{}: only {} and {} files can be read or written; save as CSV or Parquet", path, ", ".join(others), last
    )


def header(path: str | Path, *, dialect: Dialect | None = None) -> list[str]:
    """The column names, in the file's order; no row is looked at.

    Errors: InputError for a file that cannot be opened or whose names are empty, repeated or not separated by
    commas.
    """
    path = Path(path)
    if kind(path) == "csv":
        return csv_files.header(path, dialect).names
    if kind(path) == "xlsx":
        return excel.header(path)
    if kind(path) == "labelled":
        return list(labelled.header(path).kinds)
    names: list[str] = list(_parquet(path).schema_arrow.names)
    check_names(names, thing=str(path))
    return names


def check_form(path: str | Path, *, columns: Iterable[str] | None = None, dialect: Dialect | None = None) -> None:
    """Goes through the whole file once, in bounded memory, and keeps nothing: everything that ``read`` could find.

    ``columns`` must stand in the file; others may. ``dialect``: of a CSV file.
    Errors: InputError with what is wrong, a row number where there is one, and the remedy; never a cell.
    """
    path = Path(path)
    names = wanted(path, columns, dialect)
    if kind(path) == "csv":
        csv_files.check(path, dialect)
    elif kind(path) == "xlsx":
        excel.check(path)
    elif kind(path) == "labelled":
        if not sum(part.num_rows for part in labelled.stream(path, names)):
            raise EmptyTableError(NO_ROWS, path)
    else:
        _check_parquet(path, names)


def read(path: str | Path, *, columns: Iterable[str] | None = None, reading: Reading = PLAIN) -> Table:
    """The file as a table of the given columns, in the given order; all columns when left out.

    ``reading``: how its texts are written, as the table's schema says. Errors: as ``check_form``.
    """
    path = Path(path)
    names = wanted(path, columns, reading.dialect)
    if kind(path) == "parquet":
        check_whole(path)
    if kind(path) == "csv":
        table = csv_files.read(path, names, reading.dialect)
    elif kind(path) == "labelled":
        table = pa.concat_tables(labelled.stream(path, names))
    else:
        table = excel.read(path, names, reading) if kind(path) == "xlsx" else read_parquet(path, names)
    if table.num_rows == 0:
        raise EmptyTableError(NO_ROWS, path)
    chosen = Table({name: table.column(name) for name in names}, num_rows=table.num_rows)
    return chosen if kind(path) == "xlsx" else chosen.read_by(reading)


def write(path: str | Path, columns: Mapping[str, Cells]) -> None:
    """Writes columns of equal length; the file appears whole or not at all.

    In CSV each cell is written as ``Table.column`` gives its text, quoted only where it must be; in Parquet types
    are kept, and ``read`` gives back the same texts. In Excel text is kept as text, numbers and dates as such; read
    back, a whole number has no point and a time at midnight is its date. The bytes depend on names and cells alone.
    Errors: InputError for a name of no known kind, names that are empty or repeated, or a folder that cannot be
    written to; UsageError for more than an Excel sheet has room for.
    """
    write_parts(path, [columns])


def write_parts(
    path: str | Path,
    parts: Iterable[Mapping[str, Cells]],
    *,
    dialect: Dialect = PLAIN_DIALECT,
    listed: bool = False,
    synthetic: bool = False,
    labels: Mapping[str, labelled.Labels] | None = None,
    titles: Mapping[str, str] | None = None,
) -> None:
    """``write`` for a table that comes in parts, one at least, of equal names and types: one is in memory at a time.

    A Parquet file gets a row group for each part; an Excel sheet has no room for a second one. ``dialect``: of a CSV
    file, as of delimited_writer. ``listed``: text columns come as lists of texts and places in them, and a Parquet file
    holds them so; it is read as text. ``synthetic``: a file that has room for a word beside the rows says so: the sheet
    of a workbook, the metadata of Parquet, the label of a file of Stata, SPSS or SAS. ``labels``: of such a file's
    codes, by column, and ``titles`` of its columns; it is made in memory as a workbook is.
    """
    path = Path(path)
    form, tables = kind(path), (_checked(columns, path) for columns in parts)
    try:
        with whole_files.beside(path) as draft:
            if form == "csv":
                csv_files.write(draft, tables, packed=path.name.lower().endswith(".gz"), dialect=dialect)
            elif form == "xlsx":
                excel.write(draft, pa.concat_tables(tables), sheet="synthetic" if synthetic else "table")
            elif form == "labelled":
                mark, ending = MARK if synthetic else "", path.suffix.lower()
                whole, told = pa.concat_tables(tables), titles or {}
                labelled.write(draft, whole, ending=ending, label=mark, labels=labels or {}, titles=told)
            else:
                head = next(tables)
                noted = head.schema.with_metadata({"synthetic": MARK}) if synthetic else head.schema
                with pq.ParquetWriter(draft, noted, store_schema=not listed) as out:
                    for table in chain([head], tables):
                        out.write_table(table)
    except OSError as error:
        raise InputError("{}: cannot be written ({})", path, error) from None


def _checked(columns: Mapping[str, Cells], path: Path) -> pa.Table:
    check_names(list(columns), thing=str(path))
    table = pa.table({n: c if isinstance(c, pa.Array | pa.ChunkedArray) else pa.array(c) for n, c in columns.items()})
    for field in table.schema:
        arrow_text.check_type(field.type, name=field.name)
    return table


def wanted(path: Path, columns: Iterable[str] | None, dialect: Dialect | None = None) -> list[str]:
    """The columns to read, each known to stand in the file. Errors: InputError."""
    names = header(path, dialect=dialect)
    if columns is None:
        return names
    return known(columns, names, thing=str(path))


def known(columns: Iterable[str], names: Sequence[str], *, thing: str) -> list[str]:
    """The columns, each known to be among ``names``. Errors: InputError."""
    listed = list(columns)
    if len(listed) > 1 and not {*listed} & {*names}:
        raise InputError(
            "{}: another table: it has no column {!r}, nor any other that is described; it has {}; name the table "
            "that the schema describes",
            thing,
            listed[0],
            ", ".join(names[:20]),
        )
    for name in listed:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
            near = near or [n for n in names if n.strip().lower() == name.strip().lower()]
            hint = f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(names[:20])}"
            raise InputError("{}: it has no column {!r}; {}", thing, name, hint)
    return listed


def _parquet(path: Path) -> pq.ParquetFile:
    open_bytes(path).close()  # a missing file, a folder or a lack of permission is named as such
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError):
        raise InputError("{}: not a readable Parquet file; save it again as Parquet or CSV", path) from None


def _check_parquet(path: Path, wanted: list[str]) -> None:
    file = _parquet(path)
    if file.metadata.num_rows == 0:
        raise EmptyTableError(NO_ROWS, path)
    types = {name: file.schema_arrow.field(name).type for name in wanted}
    for name, kind in types.items():
        arrow_text.check_type(kind, name=name)
    # texts that a file lists once and names by their places are looked at once, not again in every row
    listed = [name for name, kind in types.items() if arrow_text.is_text(kind)]
    with _damage_named(path):
        file = pq.ParquetFile(path, read_dictionary=listed)
        for batch in file.iter_batches(batch_size=65_536, columns=wanted, use_threads=False):
            for column in batch.columns:
                arrow_text.as_bytes(column).validate(full=True)


def read_parquet(path: Path, wanted: list[str]) -> pa.Table:
    """The columns of a Parquet file, in memory. Errors: InputError."""
    file = _parquet(path)
    for name in wanted:
        arrow_text.check_type(file.schema_arrow.field(name).type, name=name)
    with _damage_named(path):
        whole = _as_listed(file, path).read(columns=wanted)
        return pa.table({n: _as_one(c) for n, c in zip(whole.column_names, whole.columns, strict=True)})


def parquet_batches(path: Path, wanted: list[str]) -> Iterator[pa.RecordBatch]:
    """The columns of a Parquet file, some rows at a time. Errors: InputError."""
    with _damage_named(path):
        for batch in _as_listed(pq.ParquetFile(path), path).iter_batches(columns=wanted):
            yield pa.record_batch([_as_one(c) for c in batch.columns], names=batch.schema.names)


def _as_one(column: Any) -> Any:
    """A column whose texts are of the one type for all (arrow_text.py), whatever their bytes are."""
    return column.cast(arrow_text.one_text(column.type), safe=False)


def _as_listed(file: pq.ParquetFile, path: Path) -> pq.ParquetFile:
    """The same file; texts that it lists keep their list. Left to make another kind of list, Arrow looks at the
    characters of all of them, and one that is not UTF-8 ends the reading.
    """
    listed = [f.name for f in file.schema_arrow if pt.is_dictionary(f.type) and arrow_text.is_text(f.type)]
    return pq.ParquetFile(path, read_dictionary=listed) if listed else file


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError):
        raise InputError("{}: {}", path, DAMAGED) from None
