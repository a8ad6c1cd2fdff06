"""Excel workbooks (.xlsx) read and written as tables of text: one sheet, formulas by their stored result.

A workbook is a zip archive of XML: what it would unpack to is bounded before anything is unpacked, it is read row by
row, and no message repeats a cell, the reader's own warnings included. Numbers and dates are written as such, text as
text and never as a formula; what XlsxWriter keeps of a table grows with its rows."""

import datetime as dt
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from xlsxwriter import Workbook

from synth.errors import EmptyTableError, InputError, UsageError
from synth.lazy import Lazy
from synth.sources.formats import arrow_text
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.csv_files import open_bytes
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
            raise EmptyTableError("{}: it has a header and no rows; at least one row is needed", path)


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
            columns = []
            for name, place in zip(wanted, places, strict=True):
                texts = pa.array([_text(row[place]) for row in batch], pa.string())
                if name in reading.forms:  # what was text already is read as the schema says, all else has one spelling
                    worded = pa.array([isinstance(row[place], str) for row in batch])
                    texts = pc.if_else(worded, reading.cells(name, texts).combine_chunks().cast(pa.string()), texts)
                columns.append(texts.dictionary_encode())
            batches.append(pa.table(columns, schema=schema))
    return pa.concat_tables(batches) if batches else schema.empty_table()


@contextmanager
def _opened(path: Path) -> Iterator[tuple[list[str], Iterator[Row]]]:
    """Column names, and an iterator over the rows below them, each as wide as the header.

    Errors: InputError of one line without a cell, whatever the reader raises.
    """
    try:
        with open_bytes(path) as raw, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they quote cells
            _check_archive(path, raw)
            reader = excel_cells.Workbook(raw, read_only=True, data_only=True, keep_links=False)
            reader.read()
            with closing(reader.wb) as book:
                sheets = [s for s in book.worksheets if next(_filled(s, path), None) is not None]  # hidden ones too
                if not sheets:
                    raise InputError("{}: the workbook is empty; it needs a header and at least one row", path)
                if len(sheets) > 1:
                    raise InputError(
                        "{}: {} of its sheets hold cells; keep the table's alone, or save it as CSV", path, len(sheets)
                    )
                filled = _filled(sheets[0], path)
                head = next(filled)[1]
                names = [_text(cell) for cell in head[: 1 + max(i for i, cell in enumerate(head) if cell is not None)]]
                check_names(names, thing=str(path))
                yield names, _rows(filled, width=len(names), path=path)
    except InputError:
        raise
    except Exception:  # it raises many kinds on damaged files, among them KeyError, TypeError and zlib.error
        raise InputError("{}: {}", path, UNREADABLE) from None


def _check_archive(path: Path, raw: IO[bytes]) -> None:
    """Refuses what is no workbook, unpacks to too much, or has merged cells."""
    if raw.read(4) == OLD_FORMAT:
        raise InputError("{}: it has a password or is an old .xls workbook; save it as .xlsx without a password", path)
    with zipfile.ZipFile(raw) as archive:
        parts = archive.infolist()
        whole = [part for part in parts if not part.filename.startswith(STREAMED + UNREAD)]
        unpacked = sum(part.file_size for part in parts)  # no more than this is ever unpacked of a part
        if unpacked > MAX_UNPACKED or any(part.file_size > MAX_PART for part in whole):
            limit = f"{MAX_UNPACKED >> 20} MiB ({MAX_PART >> 20} MiB of styles)"
            raise InputError("{}: it unpacks to more than {}; save the table as CSV or Parquet", path, limit)
        for part in parts:
            if not (part.filename.startswith("xl/worksheets/") and part.filename.endswith(".xml")):
                continue
            with archive.open(part) as source:
                tail, spelt = b"", False
                while not spelt and (chunk := source.read(CHUNK)):
                    spelt, tail = bool(MERGED.search(tail + chunk)), chunk[-64:]
            if not spelt:
                continue
            with archive.open(part) as source:
                if excel_cells.merges(source):  # only the first has a value: the others would be taken for missing
                    raise InputError("{}: it has merged cells; unmerge them, so that every row has its own", path)


def _filled(sheet: Any, path: Path) -> Iterator[tuple[int, Row]]:
    """The rows that hold a cell, each with its number on the sheet."""
    for number, row in excel_cells.rows(sheet):
        if number > MAX_ROWS:
            raise InputError("{}: it has more than {} rows; save the table as CSV or Parquet", path, MAX_ROWS)
        if any(cell is not None for cell in row):
            yield number, row


def _rows(filled: Iterator[tuple[int, Row]], *, width: int, path: Path) -> Iterator[Row]:
    """The rows below the header that hold a cell: one without any is none, whatever stands below it."""
    for number, row in filled:
        if any(cell is not None for cell in row[width:]):
            raise InputError(
                "{}: row {} has a cell beyond the last named column; name the column or clear the cell", path, number
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


MAX_COLUMNS = 16_384
MAX_TEXT = 32_767  # UTF-16 units that a cell holds
MAX_DIGITS = 15  # of a whole number; Excel would round further ones
FIRST_DAY, LAST_DAY = np.datetime64("1900-03-01"), np.datetime64("9999-12-31")  # before, Excel counts a day too many
EPOCH = np.datetime64("1899-12-30T00:00:00", "s")
LEAST_XML = 20  # characters of a cell in the sheet's XML beside its value, at the least
CREATED = datetime(1980, 1, 1)  # a fixed time: the bytes tell nothing of the day
AS_IT_IS, TEXT, DAY, MOMENT = range(4)
STYLES = {
    TEXT: {"num_format": "@", "quote_prefix": True},  # text stays text when somebody edits the cell
    DAY: {"num_format": "yyyy-mm-dd"},
    MOMENT: {"num_format": "yyyy-mm-dd hh:mm:ss"},
}

Cell = tuple[int, str | bool | float]  # its style, and its value


def write(path: Path, table: pa.Table, *, sheet: str = "table") -> None:
    """Writes a table of readable types as the only ``sheet`` of a workbook; equal tables give equal bytes.

    Text is stored as text whatever it looks like. Whole numbers of more than 15 digits, others that Excel would change
    and dates before March 1900 are text too, for Excel has none of them.
    Errors: UsageError for more rows, columns or characters in a cell than Excel has room for.
    """
    if table.num_rows >= MAX_ROWS:
        raise UsageError("an Excel sheet has room for {} rows below its header; write .csv or .parquet", MAX_ROWS - 1)
    if table.num_columns > MAX_COLUMNS:
        raise UsageError("an Excel sheet has room for {} columns; write .csv or .parquet", MAX_COLUMNS)
    columns = [_cells(table.column(n), name=n) for n in table.column_names]
    size = 0
    for cells, codes in columns:  # our own reader would refuse to unpack more
        lengths = np.array([LEAST_XML + len(str(value)) for _, value in cells] or [0])
        size += int(lengths[codes].sum())
    if size > MAX_UNPACKED // 2:
        raise UsageError("the table is too large for Excel; write .csv or .parquet")
    names = [_text_cell(n, column=n) for n in table.column_names]
    options = {"constant_memory": True, "tmpdir": str(path.parent), "strings_to_urls": False, "use_zip64": True}
    with Workbook(str(path), options) as book:
        book.set_properties({"created": CREATED})
        styles = {AS_IT_IS: None, **{style: book.add_format(how) for style, how in STYLES.items()}}
        page = book.add_worksheet(sheet)
        put: dict[type, Callable[..., int]] = {
            str: page.write_string,
            bool: page.write_boolean,
            float: page.write_number,
        }
        below = zip(*(map(cells.__getitem__, codes.tolist()) for cells, codes in columns), strict=True)
        for place, row in enumerate(chain([tuple(names)], below)):
            if not any(value != "" for _, value in row):
                page.write_string(place, 0, "", styles[TEXT])  # lest the row look like no row
            for i, (style, value) in enumerate(row):
                if value != "":
                    put[type(value)](place, i, value, styles[style])


def _cells(column: pa.ChunkedArray, *, name: str) -> tuple[list[Cell], np.ndarray]:
    """The cells of the distinct values, and for each row the place of its own."""
    values, codes = arrow_text.encode(column, name=name)
    kind = column.type.value_type if pt.is_dictionary(column.type) else column.type
    special: list[Cell | None]
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind):
        special = [_number(value) for value in values]
    elif pt.is_boolean(kind):
        special = [(AS_IT_IS, value == "True") if value else None for value in values]
    elif pt.is_date(kind) or pt.is_timestamp(kind):
        special = _dates(values)
    else:
        special = [None] * len(values)
    return [cell or _text_cell(text, column=name) for cell, text in zip(special, values, strict=True)], np.asarray(
        codes
    )


def _text_cell(text: str, *, column: str) -> Cell:
    if len(text) > MAX_TEXT // 2 and len(text.encode("utf-16-le")) > 2 * MAX_TEXT:
        raise UsageError("column {}: a text exceeds the {} characters of an Excel cell; write .csv", column, MAX_TEXT)
    return TEXT, text


def _number(text: str) -> Cell | None:
    """A number's cell, or None where Excel or the writer's 16 digits would change the number."""
    plain = text.removesuffix(".0")
    if not plain or "inf" in plain:
        return None
    digits, number = plain.lstrip("-"), float(plain)
    exact = len(digits) <= MAX_DIGITS if digits.isdecimal() else Decimal(plain) == Decimal(repr(number))
    return (AS_IT_IS, number) if exact and float(f"{number:.16G}") == number else None


def _dates(values: np.ndarray) -> list[Cell | None]:
    """Dates' cells, None where Excel has no such date."""
    moments = np.array([value or "NaT" for value in values], dtype="datetime64[s]")
    dated = (moments >= FIRST_DAY) & (moments < LAST_DAY + 1)
    seconds = np.where(dated, (moments - EPOCH).astype(np.int64), 0)
    style = MOMENT if (seconds % 86_400).any() else DAY
    return [(style, s / 86_400) if fits else None for s, fits in zip(seconds.tolist(), dated, strict=True)]
