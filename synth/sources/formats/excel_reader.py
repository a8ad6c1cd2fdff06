"""Excel workbooks (.xlsx) read as tables of text: one sheet, streamed row by row, formulas by their stored result.

A workbook is a zip archive of XML: what it would unpack to is bounded before anything is unpacked, and no message
repeats a cell, the reader's own warnings included.
"""

import datetime as dt
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from synth.errors import EmptyTableError, InputError
from synth.lazy import Lazy
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.csv_records import open_bytes
from synth.sources.formats.text_table import check_names

excel_cells: Any = Lazy("synth.sources.formats.excel_cells")

MAX_ROWS = 1_048_576  # of a sheet, the header among them
MAX_UNPACKED = 1 << 30  # bytes of all parts together
MAX_PART = 1 << 24  # bytes of a part that is held in memory whole: styles, relations, properties
STREAMED = ("xl/worksheets/", "xl/sharedStrings")  # parts that are read element by element
UNREAD = ("xl/media/", "xl/pivotCache/", "xl/embeddings/")
BATCH = 1 << 20  # cells turned into text at a time
CHUNK = 1 << 20  # bytes searched at a time
MERGED = re.compile(rb"<(?:\w+:)?mergeCell[\s/>]")  # where it occurs, the part is parsed to know what it is
OLD_FORMAT = b"\xd0\xcf\x11\xe0"  # encrypted workbooks come in the same envelope as .xls
UNREADABLE = "not a readable Excel workbook; save it again as .xlsx or CSV"

Row = tuple[Any, ...]


def header(path: Path) -> list[str]:
    """The checked column names, from the first row that holds a cell. Errors: InputError."""
    with _opened(path) as (names, _):
        return names


def check(path: Path) -> None:
    """One pass over all rows; keeps none. Errors: InputError for every fault of form."""
    with _opened(path) as (_, rows):
        if not sum(1 for _ in rows):
            raise EmptyTableError(f"{path}: it has a header and no rows; at least one row is needed")


def read(path: Path, wanted: list[str], reading: Reading = PLAIN) -> pa.Table:
    """The wanted columns, each a dictionary of texts; ``reading``: how cells of text are written. Errors: InputError.

    Whole numbers have no point ("3"), truth values are "True" and "False", dates YYYY-MM-DD, times of a day
    YYYY-MM-DDTHH:MM:SS, a cell without content "".
    """
    kind = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([(name, kind) for name in wanted])
    with _opened(path) as (names, rows):
        places = [names.index(name) for name in wanted]
        batches = []
        while batch := list(islice(rows, max(1, BATCH // len(names)))):
            cells = [
                _column([row[place] for row in batch], n, reading) for n, place in zip(wanted, places, strict=True)
            ]
            batches.append(pa.table([c.dictionary_encode() for c in cells], schema=schema))
    return pa.concat_tables(batches) if batches else schema.empty_table()


def _column(cells: list[Any], name: str, reading: Reading) -> pa.Array:
    """The cells' texts; those that were texts already are read as the schema says, others have one spelling."""
    texts = pa.array([_text(cell) for cell in cells], pa.string())
    if name not in reading.forms:
        return texts
    worded = pa.array([isinstance(cell, str) for cell in cells])
    return pc.if_else(worded, reading.cells(name, texts).combine_chunks().cast(pa.string()), texts)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[list[str], Iterator[Row]]]:
    """Column names, and an iterator over the rows below them, each as wide as the header."""
    with _faults(path), open_bytes(path) as raw:
        _check_archive(path, raw)
        reader = excel_cells.Workbook(raw, read_only=True, data_only=True, keep_links=False)
        reader.read()
        book = reader.wb
        try:
            filled = _filled(_table_sheet(path, book), path)
            names = _names(next(filled)[1])
            check_names(names, thing=str(path))
            yield names, _rows(filled, width=len(names), path=path)
        finally:
            book.close()


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Whatever the reader raises becomes one line without a cell; its warnings, which quote cells, are dropped."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except InputError:
        raise
    except Exception:  # it raises many kinds on damaged files, among them KeyError, TypeError and zlib.error
        raise InputError(f"{path}: {UNREADABLE}") from None


def _check_archive(path: Path, raw: IO[bytes]) -> None:
    """Refuses what is no workbook, unpacks to too much, or has merged cells."""
    if raw.read(4) == OLD_FORMAT:
        raise InputError(f"{path}: it has a password or is an old .xls workbook; save it as .xlsx without a password")
    with zipfile.ZipFile(raw) as archive:
        parts = archive.infolist()
        held = [part for part in parts if not part.filename.startswith(STREAMED + UNREAD)]
        unpacked = sum(part.file_size for part in parts)  # no more than this is ever unpacked of a part
        if unpacked > MAX_UNPACKED or any(part.file_size > MAX_PART for part in held):
            limit = f"{MAX_UNPACKED >> 20} MiB ({MAX_PART >> 20} MiB of styles)"
            raise InputError(f"{path}: it unpacks to more than {limit}; save the table as CSV or Parquet")
        for part in parts:
            if part.filename.startswith("xl/worksheets/") and part.filename.endswith(".xml"):
                _refuse_merged(path, archive, part)


def _refuse_merged(path: Path, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """Of merged cells only the first has a value: the others would be taken for missing."""
    with archive.open(part) as source:
        spelt = _spells_merged(source)
    if spelt:
        with archive.open(part) as source:
            if excel_cells.merges(source):
                raise InputError(f"{path}: it has merged cells; unmerge them, so that every row has its own")


def _spells_merged(source: IO[bytes]) -> bool:
    tail = b""
    while chunk := source.read(CHUNK):
        if MERGED.search(tail + chunk):
            return True
        tail = chunk[-64:]
    return False


def _table_sheet(path: Path, book: Any) -> Any:
    """The one sheet that holds cells, hidden sheets included."""
    filled = []
    for sheet in book.worksheets:
        if next(_filled(sheet, path), None) is not None:
            filled.append(sheet)
    if not filled:
        raise InputError(f"{path}: the workbook is empty; it needs a header and at least one row")
    if len(filled) > 1:
        raise InputError(f"{path}: {len(filled)} of its sheets hold cells; keep the table's alone, or save it as CSV")
    return filled[0]


def _filled(sheet: Any, path: Path) -> Iterator[tuple[int, Row]]:
    """The rows that hold a cell, each with its number on the sheet."""
    for number, row in excel_cells.rows(sheet):
        if number > MAX_ROWS:
            raise InputError(f"{path}: it has more than {MAX_ROWS} rows; save the table as CSV or Parquet")
        if any(cell is not None for cell in row):
            yield number, row


def _names(row: Row) -> list[str]:
    last = max(i for i, cell in enumerate(row) if cell is not None)
    return [_text(cell) for cell in row[: last + 1]]


def _rows(filled: Iterator[tuple[int, Row]], *, width: int, path: Path) -> Iterator[Row]:
    """The rows below the header that hold a cell: one without any is none, whatever stands below it."""
    for number, row in filled:
        if any(cell is not None for cell in row[width:]):
            raise InputError(
                f"{path}: row {number} has a cell beyond the last named column; name the column or clear the cell"
            )
        yield row[:width] + (None,) * (width - len(row))


def _text(cell: Any) -> str:
    """The text of a cell's value."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e16 else repr(cell)
    if isinstance(cell, dt.datetime):
        midnight = cell.time() == dt.time()
        return cell.date().isoformat() if midnight else cell.isoformat(timespec="seconds")
    if isinstance(cell, dt.time):
        return cell.isoformat(timespec="seconds")
    return str(cell)
