"""Workbooks with cells that Excel itself would not write."""

import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import openpyxl
import pyarrow as pa

CELL = '<c t="inlineStr"><is><t xml:space="preserve">{}</t></is></c>'


def workbook(path: Path, table: pa.Table) -> None:
    """Cells of text in a sheet, longer than Excel would write them; NUL as Excel escapes it."""
    heads = [table.column_names, *zip(*(table.column(n).to_pylist() for n in table.column_names), strict=True)]
    rows = "".join("<row>" + "".join(CELL.format(escape(c)) for c in r) + "</row>" for r in heads).replace(
        "\0", "_x0000_"
    )
    book, empty = openpyxl.Workbook(), path.with_suffix(".empty")
    book.save(empty)
    with zipfile.ZipFile(empty) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                data = data.replace(b"<sheetData>", f"<sheetData>{rows}".encode())
                assert b"inlineStr" in data
            new.writestr(name, data)
