"""Tables written as CSV: header line, quotes where needed; plain or gzipped; UTF-8 and commas, or a stated dialect."""

import codecs
import gzip
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from synth.schema.dialect import Dialect
from synth.sources.formats import arrow_text
from synth.sources.formats.csv_records import PLAIN

BATCH = 1 << 16  # rows written at a time


def write(path: Path, tables: Iterable[pa.Table], *, packed: bool, dialect: Dialect = PLAIN) -> None:
    """Writes tables one below the other as CSV, gzipped without name and time so that equal rows give equal bytes.

    Of the ``dialect``: encoding, separator, quotes and line ends; cells are written as they come.
    Errors: UnicodeError for a text that the encoding lacks.
    """
    encode = _encoder(dialect)
    with open(path, "wb") as raw:
        out: IO[bytes] = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw  # type: ignore[assignment]
        for number, table in enumerate(tables):
            single = table.num_columns == 1
            if number == 0:
                names = _quote(pa.array(table.column_names), dialect, single=single)
                out.write(encode(_lines([names.slice(i, 1) for i in range(len(names))], dialect)))
            columns = [_quoted(table.column(n), dialect, name=n, single=single) for n in table.column_names]
            for start in range(0, table.num_rows, BATCH):
                out.write(
                    encode(_lines([values.take(codes.slice(start, BATCH)) for values, codes in columns], dialect))
                )
        out.close()


def _encoder(dialect: Dialect) -> Callable[[memoryview], bytes | memoryview]:
    """UTF-8 bytes in the dialect's encoding, its mark before the first of them."""
    if dialect.encoding == "utf-8":
        return lambda data: data
    encoder = codecs.getincrementalencoder(dialect.encoding)()
    return lambda data: encoder.encode(str(data, "utf-8"))


def _quoted(column: pa.ChunkedArray, dialect: Dialect, *, name: str, single: bool) -> tuple[pa.Array, pa.Array]:
    values, codes = arrow_text.encode(column, name=name)
    return _quote(pa.array(values, pa.string()), dialect, single=single), pa.array(codes)


def _quote(values: pa.Array, dialect: Dialect, *, single: bool) -> pa.Array:
    """The texts as CSV fields; the empty text of a single column is quoted, lest its line look blank."""
    quote = dialect.quote
    marked = pc.match_substring_regex(values, f"[{re.escape(dialect.delimiter + quote)}\r\n\ufeff]")
    if single:
        marked = pc.or_(marked, pc.equal(values, ""))
    doubled = pc.replace_substring(values, quote, quote * 2)
    return pc.if_else(marked, pc.binary_join_element_wise(quote, doubled, quote, ""), values)


def _lines(fields: list[pa.Array], dialect: Dialect) -> memoryview:
    end = "\r\n" if dialect.line_end == "crlf" else "\n"
    ended = [*fields[:-1], pc.binary_join_element_wise(fields[-1], end, "")]
    rows = pc.binary_join_element_wise(*ended, dialect.delimiter) if len(ended) > 1 else ended[0]
    size = pc.sum(pc.binary_length(rows)).as_py()
    return memoryview(rows.buffers()[2])[:size]  # the texts of an arrow array lie one after another
