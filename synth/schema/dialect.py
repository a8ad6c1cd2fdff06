"""How the text of a table is written: public facts that a file's reader follows and never guesses.

``Dialect`` tells of a whole CSV file. A column's ``format`` tells of one column's texts, wherever the table lies: of a
date in letters (``dd.mm.yyyy``), of a number as 1234.5 would be written there (``1.234,5``).
"""

import re
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from synth.languages import Said, joined

DELIMITERS = {",": Said("commas"), ";": Said("semicolons"), "\t": Said("tabs"), "|": Said("vertical bars")}
ENCODINGS = {
    "utf-8": "UTF-8 text",
    "utf-8-sig": "UTF-8 text with a byte-order mark",
    "utf-16": "UTF-16 text",
    "utf-16-le": "UTF-16 text (little-endian, no mark)",
    "utf-16-be": "UTF-16 text (big-endian, no mark)",
    "windows-1252": "Windows-1252 text",
}
MARKS = {".": "point", ",": "comma", "'": "apostrophe", " ": "space", "\u00a0": "hard space", "\u202f": "thin space"}
LETTERS = {
    "yyyy": "[0-9]{4}",
    "yy": "[0-9]{2}",
    "mm": "[0-9]{1,2}",
    "dd": "[0-9]{1,2}",
    "HH": "[0-9]{1,2}",
    "hh": "[0-9]{1,2}",
    "MM": "[0-9]{2}",
    "SS": "[0-9]{2}",
    "AM": "[AaPp][Mm]",
}
TOKEN = re.compile("|".join(LETTERS))
EXAMPLE = re.compile("1(?P<thousands>[.,' \u00a0\u202f]?)234(?:(?P<decimal>[.,])5)?")
CENTURY = 50  # a year of two digits: 00 to 49 are after 2000, 50 to 99 before

Encoding = Literal["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "windows-1252"]


class Dialect(BaseModel):
    """How a CSV file is written; the default is what a file without a dialect is read by.

    >>> Dialect(encoding="windows-1252", delimiter=";", decimal=",").in_words()
    'Windows-1252 text, semicolons between cells, decimal comma'
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoding: Encoding = "utf-8"
    delimiter: Literal[",", ";", "\t", "|"] = ","
    quote: Literal['"', "'"] = '"'
    decimal: Literal[".", ","] = "."
    thousands: Literal[".", ",", "'", " ", "\u00a0", "\u202f"] | None = None
    line_end: Literal["lf", "crlf"] = "lf"
    source: Literal["public", "declared", "unconfirmed"] = "declared"

    @model_validator(mode="after")
    def _distinguished(self) -> "Dialect":
        if self.decimal == self.thousands:
            raise ValueError("decimal and thousands must be different marks")
        return self

    @property
    def is_plain(self) -> bool:
        """Whether reading needs no dialect: UTF-8 with or without a mark, commas, points, no thousands marks."""
        plain = {"encoding": self.encoding, "source": self.source, "line_end": self.line_end}
        return self == Dialect(**plain) and self.encoding in ("utf-8", "utf-8-sig")  # type: ignore[arg-type]

    def in_words(self) -> str:
        """What a person confirms."""
        parts = [Said(ENCODINGS[self.encoding]), Said("{} between cells", DELIMITERS[self.delimiter])]
        parts += [Said("single quotes around cells")] if self.quote == "'" else []
        parts += [Said("decimal {}", Said(MARKS[self.decimal]))]
        parts += [Said("{} between thousands", Said(MARKS[self.thousands]))] if self.thousands else []
        return joined(", ", parts)


@dataclass(frozen=True)
class Numbers:
    """The marks in a number's text."""

    decimal: str = "."
    thousands: str | None = None

    @property
    def example(self) -> str:
        """1234.5 as it is written there, the ``format`` of a column.

        >>> Numbers(",", ".").example
        '1.234,5'
        """
        return f"1{self.thousands or ''}234{self.decimal}5"


def numbers(text: str) -> Numbers:
    """The marks that a number column's format shows. Errors: ValueError with the rule.

    >>> numbers("1.234,5"), numbers("1234,5")
    (Numbers(decimal=',', thousands='.'), Numbers(decimal=',', thousands=None))
    """
    match = EXAMPLE.fullmatch(text)
    if match is None or (match["decimal"] is not None and match["decimal"] == match["thousands"]):
        raise ValueError("format of a number is 1234.5 as it is written there, for instance 1.234,5 or 1234,5")
    thousands = match["thousands"] or None
    return Numbers(match["decimal"] or ("," if thousands == "." else "."), thousands)


@dataclass(frozen=True)
class Dates:
    """A date's format: ``parts`` in order, letters (yyyy mm dd HH hh MM SS AM) and what stands between."""

    parts: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """A regular expression (RE2) with a group for each part of letters; the clock may be absent, as in ISO."""
        out, clock = "^", False
        for part, after in zip(self.parts, [*self.parts[1:], ""], strict=True):
            if not clock and "hh" in (part.lower(), after.lower()):
                clock, out = True, f"{out}(?:"
            out += f"(?P<{part}>{LETTERS[part]})" if part in LETTERS else _quoted(part)
        return out + (")?$" if clock else "$")


def dates(text: str) -> Dates:
    """The parts of a date column's format. Errors: ValueError with the rule.

    >>> dates("dd.mm.yyyy").parts
    ('dd', '.', 'mm', '.', 'yyyy')
    """
    parts = tuple(p for p in re.split(f"({TOKEN.pattern})", text) if p)
    letters = [p for p in parts if p in LETTERS]
    day = [p for p in letters if p in ("dd", "mm", "yyyy", "yy")]
    clock = letters[letters.index(day[-1]) + 1 :] if day else []
    known: tuple[list[str], ...] = (["HH", "MM"], ["HH", "MM", "SS"], ["hh", "MM", "AM"], ["hh", "MM", "SS", "AM"], [])
    years = [p for p in day if p.startswith("y")]
    between = [p for p in parts if p not in LETTERS]
    whole = sorted(p[0] for p in day) == ["d", "m", "y"] and len(years) == 1 and letters[:3] == day
    if not whole or clock not in known or not all(re.fullmatch(r"[-./: ,T]+", b) for b in between) or len(text) > 40:
        raise ValueError(
            "format of a date has dd, mm and yyyy (or yy) and perhaps HH:MM, HH:MM:SS or hh:MM AM, "
            "for instance dd.mm.yyyy or mm/dd/yyyy HH:MM"
        )
    return Dates(parts)


def format_problem(kind: str, text: str) -> str | None:
    """What is wrong with a column's format, None where nothing is."""
    if kind not in ("integer", "float", "datetime"):
        return "format is for numbers and dates; remove it"
    try:
        dates(text) if kind == "datetime" else numbers(text)
    except ValueError as error:
        return str(error)
    return None


def _quoted(between: str) -> str:
    return "".join(rf"\{c}" if c in "./-" else c for c in between)
