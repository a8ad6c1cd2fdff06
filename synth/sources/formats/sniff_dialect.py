"""How a CSV file seems to be written, guessed for a draft from its own bytes; a run guesses nothing.

The file is looked at once, in bounded memory; what is found waits for a person to confirm it.
"""

import codecs
import csv
import io
import re
import zlib
from pathlib import Path

from synth.schema.dialect import DELIMITERS, Dialect, Encoding
from synth.sources.formats.csv_records import LOST, Bytes, open_bytes, unpacked

CHUNK = 1 << 20
LOOKED = 1 << 28  # bytes, unpacked, whose encoding is looked at
HEAD = 1 << 16  # characters whose separator is looked at
FEW = 200  # records of them
TOKENS = re.compile("[^\x00-\x7f]")


def sniffed(path: Path, **stated: str | None) -> Dialect:
    """The file's dialect but for its numbers, unconfirmed; ``stated`` facts are taken as they are.

    Errors: InputError for a file that cannot be opened or is empty.
    """
    given = {k: v for k, v in stated.items() if v is not None}
    encoding = given.get("encoding") or _encoding(path)
    head = _head(path, Dialect.model_validate({"encoding": encoding}))
    quote = given.get("quote") or _quote(head)
    delimiter = given.get("delimiter") or _delimiter(head, quote)
    facts = {"encoding": encoding, "delimiter": delimiter, "quote": quote, **given, "source": "unconfirmed"}
    return Dialect.model_validate({"line_end": "crlf" if "\r\n" in head else "lf", **facts})


def _encoding(path: Path) -> Encoding:
    """By the mark, by NUL bytes, else UTF-8 where more of its characters fit than do not."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    words = lost = seen = 0
    with open_bytes(path) as raw:
        source = unpacked(raw, path)
        try:
            while seen < LOOKED and (data := source.read(CHUNK)):
                if seen == 0 and (result := _marked(data)):
                    return result
                seen += len(data)
                if data.isascii():
                    continue
                text = decoder.decode(data)
                lost += text.count(LOST.decode()) - data.count(LOST)
                words += len(TOKENS.findall(text)) - text.count(LOST.decode())
        except (EOFError, OSError, zlib.error):  # damaged: the reader says so
            return "utf-8"
    return "windows-1252" if lost > words else "utf-8"


def _marked(data: bytes) -> Encoding | None:
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    low, high = data[: 1 << 12 : 2].count(0), data[1 : 1 << 12 : 2].count(0)
    half = min(len(data), 1 << 12) // 4
    return "utf-16-le" if high > half > low else "utf-16-be" if low > half > high else None


def _head(path: Path, form: Dialect) -> str:
    with (
        Bytes(path, form) as source,
        io.TextIOWrapper(io.BufferedReader(source), "utf-8-sig", "replace", newline="") as t,
    ):
        try:
            return t.read(HEAD)
        except (EOFError, OSError, zlib.error):
            return ""


def _quote(head: str) -> str:
    """Single quotes where cells begin and end with them and none with double ones."""
    single = len(re.findall("(?:^|[,;\t|\n])'[^'\n]*'(?=[,;\t|\r\n])", head))
    return "'" if single > 3 and '"' not in head else '"'


def _delimiter(head: str, quote: str) -> str:
    """The mark that divides most records as often as the header; of several, that which makes most columns."""
    return max(DELIMITERS, key=lambda mark: _fit(head, mark, quote))


def _fit(head: str, mark: str, quote: str) -> tuple[float, int]:
    records: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(head), delimiter=mark, quotechar=quote):
            if record:
                records.append(record)
            if len(records) > FEW:
                break
    except csv.Error:
        return 0.0, 0
    if len(head) >= HEAD and len(records) > 1:
        records = records[:-1]  # the last may be cut
    width = len(records[0]) if records else 0
    alike = sum(len(r) == width for r in records) / max(len(records), 1)
    return (alike if width > 1 else 0.0), width
