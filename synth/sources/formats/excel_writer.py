"""Tables written as Excel workbooks: one sheet, numbers and dates as such, text as text and never a formula.

The file's form is XlsxWriter's, row by row; the table itself, and what XlsxWriter keeps of it, grow with the
rows.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from xlsxwriter import Workbook

from synth.errors import UsageError
from synth.sources.formats import arrow_text
from synth.sources.formats.excel_reader import MAX_ROWS, MAX_UNPACKED

MAX_COLUMNS = 16_384
MAX_TEXT = 32_767  # UTF-16 units that a cell holds
MAX_DIGITS = 15  # of a whole number; Excel would round further ones
FIRST_DAY, LAST_DAY = np.datetime64("1900-03-01"), np.datetime64("9999-12-31")  # before, Excel counts a day too many
EPOCH = np.datetime64("1899-12-30T00:00:00", "s")
LEAST_XML = 20  # characters of a cell in the sheet's XML beside its value, at the least
CREATED = datetime(1980, 1, 1)  # a fixed time: the bytes tell nothing of the day
PLAIN, TEXT, DAY, MOMENT = range(4)
STYLES = {
    TEXT: {"num_format": "@", "quote_prefix": True},  # text stays text when somebody edits the cell
    DAY: {"num_format": "yyyy-mm-dd"},
    MOMENT: {"num_format": "yyyy-mm-dd hh:mm:ss"},
}

Cell = tuple[int, str | bool | float]  # its style, and its value


def write(path: Path, table: pa.Table) -> None:
    """Writes a table of readable types as the only sheet of a workbook; equal tables give equal bytes.

    Text is stored as text whatever it looks like. Whole numbers of more than 15 digits, others that Excel would change
    and dates before March 1900 are text too, for Excel has none of them.
    Errors: UsageError for more rows, columns or characters in a cell than Excel has room for.
    """
    _check_size(table)
    columns = [_cells(table.column(n), name=n) for n in table.column_names]
    _check_unpacked(columns)
    names = [_text(n, column=n) for n in table.column_names]
    options = {"constant_memory": True, "tmpdir": str(path.parent), "strings_to_urls": False, "use_zip64": True}
    with Workbook(str(path), options) as book:
        book.set_properties({"created": CREATED})
        styles = {PLAIN: None, **{style: book.add_format(how) for style, how in STYLES.items()}}
        sheet = book.add_worksheet("table")
        put: dict[type, Callable[..., int]] = {
            str: sheet.write_string,
            bool: sheet.write_boolean,
            float: sheet.write_number,
        }
        for place, row in enumerate(_rows(names, columns)):
            if not any(value != "" for _, value in row):
                sheet.write_string(place, 0, "", styles[TEXT])  # lest the row look like no row
            for i, (style, value) in enumerate(row):
                if value != "":
                    put[type(value)](place, i, value, styles[style])


def _rows(names: list[Cell], columns: list[tuple[list[Cell], np.ndarray]]) -> Iterator[tuple[Cell, ...]]:
    """The header, then row by row the cells of all columns."""
    yield tuple(names)
    yield from zip(*(map(cells.__getitem__, codes.tolist()) for cells, codes in columns), strict=True)


def _check_size(table: pa.Table) -> None:
    if table.num_rows >= MAX_ROWS:
        raise UsageError(f"an Excel sheet has room for {MAX_ROWS - 1} rows below its header; write .csv or .parquet")
    if table.num_columns > MAX_COLUMNS:
        raise UsageError(f"an Excel sheet has room for {MAX_COLUMNS} columns; write .csv or .parquet")


def _check_unpacked(columns: list[tuple[list[Cell], np.ndarray]]) -> None:
    """Refuses what our own reader would refuse to unpack."""
    size = 0
    for cells, codes in columns:
        lengths = np.array([LEAST_XML + len(str(value)) for _, value in cells] or [0])
        size += int(lengths[codes].sum())
    if size > MAX_UNPACKED // 2:
        raise UsageError("the table is too large for Excel; write .csv or .parquet")


def _cells(column: pa.ChunkedArray, *, name: str) -> tuple[list[Cell], np.ndarray]:
    """The cells of the distinct values, and for each row the place of its own."""
    values, codes = arrow_text.encode(column, name=name)
    kind = column.type.value_type if pt.is_dictionary(column.type) else column.type
    special: list[Cell | None]
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind):
        special = [_number(value) for value in values]
    elif pt.is_boolean(kind):
        special = [(PLAIN, value == "True") if value else None for value in values]
    elif pt.is_date(kind) or pt.is_timestamp(kind):
        special = _dates(values)
    else:
        special = [None] * len(values)
    return [cell or _text(text, column=name) for cell, text in zip(special, values, strict=True)], np.asarray(codes)


def _text(text: str, *, column: str) -> Cell:
    if len(text) > MAX_TEXT // 2 and len(text.encode("utf-16-le")) > 2 * MAX_TEXT:
        raise UsageError(f"column {column}: a text exceeds the {MAX_TEXT} characters of an Excel cell; write .csv")
    return TEXT, text


def _number(text: str) -> Cell | None:
    """A number's cell, or None where Excel or the writer's 16 digits would change the number."""
    plain = text.removesuffix(".0")
    if not plain or "inf" in plain:
        return None
    digits, number = plain.lstrip("-"), float(plain)
    exact = len(digits) <= MAX_DIGITS if digits.isdecimal() else Decimal(plain) == Decimal(repr(number))
    return (PLAIN, number) if exact and float(f"{number:.16G}") == number else None


def _dates(values: np.ndarray) -> list[Cell | None]:
    """Dates' cells, None where Excel has no such date."""
    moments = np.array([value or "NaT" for value in values], dtype="datetime64[s]")
    dated = (moments >= FIRST_DAY) & (moments < LAST_DAY + 1)
    seconds = np.where(dated, (moments - EPOCH).astype(np.int64), 0)
    style = MOMENT if (seconds % 86_400).any() else DAY
    return [(style, s / 86_400) if fits else None for s, fits in zip(seconds.tolist(), dated, strict=True)]
