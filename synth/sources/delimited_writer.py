"""Tables written as CSV: comma, header line, UTF-8, quotes where needed; plain or gzipped."""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from synth.sources import texts

BATCH = 1 << 16  # rows written at a time
MUST_QUOTE = '[",\r\n\ufeff]'


def write(path: Path, tables: Iterable[pa.Table], *, packed: bool) -> None:
    """Writes tables one below the other as CSV, gzipped without name and time so that equal rows give equal bytes."""
    with open(path, "wb") as raw:
        out: IO[bytes] = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw  # type: ignore[assignment]
        for number, table in enumerate(tables):
            single = table.num_columns == 1
            if number == 0:
                names = _quote(pa.array(table.column_names), single=single).to_pylist()
                out.write((",".join(names) + "\n").encode())
            columns = [_quoted(table.column(n), name=n, single=single) for n in table.column_names]
            for start in range(0, table.num_rows, BATCH):
                out.write(_lines([values.take(codes.slice(start, BATCH)) for values, codes in columns]))
        out.close()


def _quoted(column: pa.ChunkedArray, *, name: str, single: bool) -> tuple[pa.Array, pa.Array]:
    values, codes = texts.encode(column, name=name)
    return _quote(pa.array(values, pa.string()), single=single), pa.array(codes)


def _quote(values: pa.Array, *, single: bool) -> pa.Array:
    """The texts as CSV fields; the empty text of a single column is quoted, lest its line look blank."""
    marked = pc.match_substring_regex(values, MUST_QUOTE)
    if single:
        marked = pc.or_(marked, pc.equal(values, ""))
    doubled = pc.replace_substring(values, '"', '""')
    return pc.if_else(marked, pc.binary_join_element_wise('"', doubled, '"', ""), values)


def _lines(fields: list[pa.Array]) -> memoryview:
    ended = [*fields[:-1], pc.binary_join_element_wise(fields[-1], "\n", "")]
    rows = pc.binary_join_element_wise(*ended, ",") if len(ended) > 1 else ended[0]
    size = pc.sum(pc.binary_length(rows)).as_py()
    return memoryview(rows.buffers()[2])[:size]  # the texts of an arrow array lie one after another
