"""Workbooks as Excel's own library writes them, what is read of one, and the digest by which rows are known again."""

import openpyxl

from synth.sources.formats import files
from synth.sources.rows.sketch import Sketch


def cells(table, name):
    text = table.column(name)
    return [text.values[code] for code in text.codes]


def columns(path):
    files.check_form(path)
    table = files.read(path)
    assert list(table.names) == files.header(path)
    return {name: cells(table, name) for name in table.names}


def fingerprint(table, key):
    """The digest of the whole table, as the ledger marks it."""
    (sketch := Sketch(key, table.names)).add(table)
    return sketch.value()[:32]


def book(folder, *sheets, name="t.xlsx"):
    """A workbook as Excel's own library writes one; each sheet is a list of rows."""
    path, made = folder / name, openpyxl.Workbook()
    made.remove(made.active)
    for rows in sheets:
        sheet = made.create_sheet()
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path
