"""The rows of a sheet and their cells, each cell by itself: one that says nothing is lost, and ends no reading.

Openpyxl finds the parts of a workbook; its own reader of cells fails on one as on a damaged file.
"""

import re
from collections.abc import Iterator
from typing import IO, Any
from xml.etree.ElementTree import Element, iterparse
from xml.parsers import expat

from openpyxl.reader.excel import ExcelReader
from openpyxl.utils.cell import coordinate_to_tuple
from openpyxl.utils.datetime import from_excel, from_ISO8601
from openpyxl.worksheet._reader import INLINE_STRING, ROW_TAG, VALUE_TAG
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS

from synth.sources.formats.arrow_text import well_formed
from synth.sources.formats.cell_formats import UNREADABLE

SI, TEXT, RUN = (f"{{{SHEET_MAIN_NS}}}{tag}" for tag in ("si", "t", "r"))
NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
WHOLE = re.compile(r"[+-]?[0-9]{1,400}", re.ASCII)
TRUTH = {"1": True, "true": True, "0": False, "false": False}
ESCAPED = re.compile("_x(?!0000)([0-9A-Fa-f]{4})_")  # NUL stays escaped: no text of a table holds one
MERGED = "mergeCell"


class Workbook(ExcelReader):
    """A workbook whose shared texts are read one by one."""

    def read_strings(self) -> None:
        """The shared texts, whatever their fonts are said to be."""
        part = self.package.find(SHARED_STRINGS)
        if part is not None:
            with self.archive.open(part.PartName[1:]) as source:
                for _, element in iterparse(source):
                    if element.tag == SI:
                        self.shared_strings.append(_joined(element))
                        element.clear()


def rows(sheet: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Each row's number and its values, up to its last cell; a row that stands above the one before it is none."""
    book, last = sheet.parent, 0
    with sheet._get_source() as source:
        for _, element in iterparse(source):
            if element.tag != ROW_TAG:
                continue
            number = int(float(element.get("r", last + 1)))
            if number > last:
                yield number, _row(element, sheet._shared_strings, book)
                last = number
            element.clear()


def _row(element: Element, shared: list[str], book: Any) -> tuple[Any, ...]:
    cells: dict[int, Any] = {}
    column = 0
    for cell in element:
        place = cell.get("r")
        column = coordinate_to_tuple(place)[1] if place else column + 1
        cells[column] = value(cell, shared, book)
    return tuple(map(cells.get, range(1, max(cells, default=0) + 1)))


def value(cell: Element, shared: list[str], book: Any) -> Any:
    """What one cell holds: text, number, truth value, date, None; ``UNREADABLE`` where it is not what it says it is."""
    try:
        return _value(cell, shared, book)
    except (ValueError, LookupError, OverflowError, TypeError, AttributeError, ArithmeticError):
        return UNREADABLE


def _value(cell: Element, shared: list[str], book: Any) -> Any:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        inline = cell.find(INLINE_STRING)
        return None if inline is None else _plain(_joined(inline))
    text = cell.findtext(VALUE_TAG) or None
    if text is None:
        return None
    if kind == "n":
        plain, style = text.strip(), int(cell.get("s", 0))
        if not (WHOLE.fullmatch(plain) or NUMBER.fullmatch(plain)):
            return UNREADABLE
        number = int(plain) if WHOLE.fullmatch(plain) else float(plain)  # infinite for one that is too large
        if style not in book._date_formats:
            return number
        try:
            return from_excel(number, book.epoch, timedelta=style in book._timedelta_formats)
        except (OverflowError, ValueError):  # beyond Excel's calendar its own sign of a fault
            return "#VALUE!"
    if kind == "s":
        at = int(text)
        return _plain(shared[at]) if at >= 0 else UNREADABLE
    if kind == "b":
        return TRUTH[text.strip().lower()]
    return from_ISO8601(text) if kind == "d" else _plain(text)


def _joined(element: Element) -> str:
    """The text of an element, that of its runs included; what tells how to pronounce it is left out."""
    parts = [p.text if p.tag == TEXT else p.findtext(TEXT) if p.tag == RUN else "" for p in element]
    return "".join(part or "" for part in parts)


def _plain(text: str) -> str:
    """The text with its characters in place of Excel's escapes, well formed whatever they stand for."""
    return well_formed(ESCAPED.sub(lambda result: chr(int(result[1], 16)), text)) if "_x" in text else text


def merges(source: IO[bytes]) -> bool:
    """Whether a sheet's part has an element of merged cells: a text, a comment or CDATA that spells one is none."""
    results = []
    parser = expat.ParserCreate()

    def begun(name: str, _: dict[str, str]) -> None:
        if name.rpartition(":")[2] == MERGED:
            results.append(name)

    parser.StartElementHandler = begun
    parser.ParseFile(source)
    return bool(results)
