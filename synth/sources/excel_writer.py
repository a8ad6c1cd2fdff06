"""Tables written as Excel workbooks: one sheet, numbers and dates as such, text as text and never a formula."""

import re
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from openpyxl.utils import get_column_letter

from synth.errors import UsageError
from synth.sources import texts
from synth.sources.excel import MAX_ROWS, MAX_UNPACKED

MAX_COLUMNS = 16_384
MAX_TEXT = 32_767  # UTF-16 units that a cell holds
MAX_DIGITS = 15  # of a number; Excel would round further ones
BATCH_CELLS = 1 << 19  # cells written at a time
FIRST_DAY, LAST_DAY = np.datetime64("1900-03-01"), np.datetime64("9999-12-31")  # before, Excel counts a day too many
EPOCH = np.datetime64("1899-12-30T00:00:00", "s")
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")  # XML has no such characters
TEXT, DAY, MOMENT = 1, 2, 3  # cell formats, by their place in STYLES
EMPTY, EMPTY_TEXT = '"/>', f'" s="{TEXT}" t="inlineStr"><is><t></t></is></c>'

Cells = tuple[pa.Array, np.ndarray, np.ndarray]  # XML of distinct values, each row's index, which are empty

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
PROLOG = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
BOOK_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
QUOTED = ' quotePrefix="1"'  # text stays text when somebody edits the cell, whatever it begins with
PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{BOOK_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{BOOK_TYPE}.styles+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{BOOK_TYPE}.sharedStrings+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{BOOK_TYPE}.worksheet+xml"/></Types>'
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">'
        '<sheets><sheet name="table" sheetId="1" r:id="rId1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{OFFICE}/styles" Target="styles.xml"/>'
        f'<Relationship Id="rId3" Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
    ),
    "xl/styles.xml": (
        f'<styleSheet xmlns="{MAIN}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
        '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>'
        '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
        '<fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
        '<cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
        + "".join(
            f'<xf numFmtId="{number}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"{more}/>'
            for number, more in ((49, QUOTED), (164, ""), (165, ""))  # 49 is Excel's own format for text
        )
        + '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
    ),
}


def write(path: Path, table: pa.Table) -> None:
    """Writes a table of readable types as the only sheet of a workbook; equal tables give equal bytes.

    Text is stored as text whatever it looks like. Whole numbers of more than 15 digits and dates before March 1900
    are text too, for Excel has neither.
    Errors: UsageError for more rows, columns or characters in a cell than Excel has room for.
    """
    _check_size(table)
    shared = Shared()
    names = [pa.array([shared.cell(name, column=name)]) for name in table.column_names]
    columns = [_cells(table.column(n), name=n, shared=shared) for n in table.column_names]
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in PARTS.items():
            archive.writestr(_part(name), PROLOG + text)
        with archive.open(_part("xl/sharedStrings.xml"), "w") as out:
            shared.write(out)
        with archive.open(_part("xl/worksheets/sheet1.xml"), "w") as out:
            _write_sheet(out, table.num_rows, names, columns)


class Shared:
    """The workbook's list of distinct texts; cells refer to them by number."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def cell(self, text: str, *, column: str) -> str:
        """The XML of a cell that holds the text, from the end of its place on."""
        if not text:
            return EMPTY
        if len(text) > MAX_TEXT // 2 and len(text.encode("utf-16-le")) > 2 * MAX_TEXT:
            raise UsageError(f"column {column}: a text exceeds the {MAX_TEXT} characters of an Excel cell; write .csv")
        if UNSAFE.search(text):  # readers differ in how they read an escaped text from the list
            return f'" s="{TEXT}" t="inlineStr"><is>{_element(text)}</is></c>'
        return f'" s="{TEXT}" t="s"><v>{self._places.setdefault(text, len(self._places))}</v></c>'

    def write(self, out: IO[bytes]) -> None:
        """The list as XML."""
        out.write(f'{PROLOG}<sst xmlns="{MAIN}" uniqueCount="{len(self._places)}">'.encode())
        for text in self._places:
            out.write(f"<si>{_element(text)}</si>".encode())
        out.write(b"</sst>")


def _element(text: str) -> str:
    safe = escape(UNSAFE.sub(lambda found: f"_x{ord(found[0]):04X}_", text))
    return f'<t xml:space="preserve">{safe}</t>'


def _part(name: str) -> zipfile.ZipInfo:
    part = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # a fixed time: the bytes tell nothing of the day
    part.compress_type = zipfile.ZIP_DEFLATED
    return part


def _check_size(table: pa.Table) -> None:
    if table.num_rows >= MAX_ROWS:
        raise UsageError(f"an Excel sheet has room for {MAX_ROWS - 1} rows below its header; write .csv or .parquet")
    if table.num_columns > MAX_COLUMNS:
        raise UsageError(f"an Excel sheet has room for {MAX_COLUMNS} columns; write .csv or .parquet")


def _write_sheet(out: IO[bytes], num_rows: int, names: list[pa.Array], columns: list[Cells]) -> None:
    last = f"{get_column_letter(len(names))}{num_rows + 1}"
    opening = f'{PROLOG}<worksheet xmlns="{MAIN}"><dimension ref="A1:{last}"/><sheetData>'
    out.write(opening.encode() + _lines(names, first=1))
    written, batch = 0, max(1, BATCH_CELLS // len(names))
    for start in range(0, num_rows, batch):
        here = slice(start, start + batch)
        cells = [values.take(pa.array(codes[here])) for values, codes, _ in columns]
        blank = np.logical_and.reduce([gone[codes[here]] for _, codes, gone in columns])
        cells[0] = pc.if_else(pa.array(blank), EMPTY_TEXT, cells[0])  # lest the row look like no row
        lines = _lines(cells, first=start + 2)
        written += len(lines)
        if written > MAX_UNPACKED // 2:
            raise UsageError("the table is too large for Excel; write .csv or .parquet")
        out.write(lines)
    out.write(b"</sheetData></worksheet>")


def _lines(cells: list[pa.Array], *, first: int) -> bytes:
    """The rows' XML, from the end of each cell's element on; ``first`` is the first row's number."""
    numbers = pa.array(np.arange(first, first + len(cells[0]))).cast(pa.string())
    placed = []
    for i, cell in enumerate(cells, start=1):
        placed += [f'<c r="{get_column_letter(i)}', numbers, cell]
    rows = pc.binary_join_element_wise('<row r="', numbers, '">', *placed, "</row>", "")
    return "".join(rows.to_pylist()).encode()


def _cells(column: pa.ChunkedArray, *, name: str, shared: Shared) -> Cells:
    values, codes = texts.encode(column, name=name)
    kind = column.type.value_type if pt.is_dictionary(column.type) else column.type
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind):
        special = [_number_cell(value) for value in values]
    elif pt.is_boolean(kind):
        special = [f'" t="b"><v>{int(value == "True")}</v></c>' if value else None for value in values]
    elif pt.is_date(kind) or pt.is_timestamp(kind):
        special = _date_cells(values)
    else:
        special = [None] * len(values)
    written = [cell or shared.cell(text, column=name) for cell, text in zip(special, values, strict=True)]
    return pa.array(written, pa.string()), codes, values == ""


def _number_cell(text: str) -> str | None:
    """A number's cell, or None where Excel would change the number."""
    plain = text.removesuffix(".0")
    if not plain or "inf" in plain:
        return None
    digits = plain.lstrip("-")
    kept = len(digits) <= MAX_DIGITS if digits.isdecimal() else Decimal(plain) == Decimal(repr(float(plain)))
    return f'"><v>{plain}</v></c>' if kept else None


def _date_cells(values: np.ndarray) -> list[str | None]:
    """Dates' cells, None where Excel has no such date."""
    moments = np.array([value or "NaT" for value in values], dtype="datetime64[s]")
    dated = (moments >= FIRST_DAY) & (moments < LAST_DAY + 1)
    seconds = np.where(dated, (moments - EPOCH).astype(np.int64), 0)
    style = MOMENT if (seconds % 86_400).any() else DAY
    serials = [str(s // 86_400) if s % 86_400 == 0 else repr(s / 86_400) for s in seconds.tolist()]
    return [f'" s="{style}"><v>{n}</v></c>' if fits else None for n, fits in zip(serials, dated, strict=True)]
