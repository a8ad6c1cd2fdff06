"""Parquet files encoded by DuckDB inside this process as Arrow reads them: larger than memory.

Arrow alone opens the files, and hands DuckDB each cell as it lies there: DuckDB's own reader ends at a time beyond its
range and at a text that is not UTF-8, so that one cell would decide how a run ends.

Whole numbers, double precision, dates, times and categories written as the schema writes them are encoded in SQL;
every other cell is handed over as it is and read by the codec.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt
from pyarrow import dataset

from synth.errors import InputError
from synth.lazy import Lazy
from synth.schema import codec
from synth.schema.table import CATEGORICAL, Column, Schema
from synth.sources.engines import duckdb_closed
from synth.sources.engines.sql import Kind, position
from synth.sources.engines.sql_branches import LOST
from synth.sources.engines.sql_dialects import DUCKDB
from synth.sources.formats import files
from synth.sources.formats.arrow_text import encode
from synth.sources.formats.cell_formats import UNREADABLE
from synth.sources.formats.text_table import Table
from synth.sources.formats.valid_text import is_text
from synth.sources.rows.encoding import Batch

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = Lazy("duckdb")

BATCH = 1 << 18  # rows handed over at a time
VIEW = "synth_files"
MEMORY = "1GB"  # of DuckDB's own buffers
OTHER = -4  # a text that is not written as the schema writes it
MOST_LISTED = 60_000  # categories that an enumeration lists


def connect(paths: Sequence[Path]) -> duckdb.DuckDBPyConnection:
    """A database in memory with these files as ``VIEW``, and nothing else (duckdb_closed.py)."""
    con = duckdb_closed.connected(memory_limit=MEMORY, arrow_large_buffer_size=True)  # the last: texts beyond 2 GiB
    present(con, paths, view=VIEW)
    duckdb_closed.close_off(con)
    return con


def present(con: duckdb.DuckDBPyConnection, paths: Sequence[Path], *, view: str) -> None:
    """Parquet files of like columns as a view, which Arrow reads; a text that is not UTF-8 is ``UNREADABLE``."""
    types = pa.schema([f.with_type(_taken(f.type)) for f in pq.read_schema(paths[0])])
    listed = [f.name for f in types if pt.is_dictionary(f.type) and is_text(f.type)]
    form = dataset.ParquetFileFormat(dictionary_columns=listed)  # or Arrow looks at their characters (formats/files.py)
    held = dataset.dataset([str(p) for p in paths], schema=types, format=form)
    con.register(f"{view}_files", held)
    texts = [f.name for f in held.schema if is_text(f.type)]
    turned = ", ".join(f"{sound(n)} AS {DUCKDB.identifier(n)}" for n in texts)
    chosen = f"* REPLACE ({turned})" if texts else "*"
    name, files_ = DUCKDB.identifier(view), DUCKDB.identifier(f"{view}_files")
    con.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT {chosen} FROM {files_}")


def overflows(paths: Sequence[Path]) -> bool:
    """Whether Spark fails at some cell of the files' types: it makes milliseconds microseconds."""
    return any("timestamp[ms" in str(field.type) for path in paths for field in pq.read_schema(path))


def _taken(kind: pa.DataType) -> pa.DataType:
    """The type in which Arrow hands such cells over: DuckDB has none for some."""
    if pt.is_float16(kind):
        return pa.float32()
    if pt.is_dictionary(kind) and is_text(kind):
        return pa.dictionary(pa.int32(), pa.string())
    return pa.string() if pt.is_decimal256(kind) else kind


def sound(name: str) -> str:
    """A cell of text as DuckDB can look at it: its own functions end the whole query at bytes that are not UTF-8."""
    cell = DUCKDB.identifier(name)
    return f"CASE WHEN {cell} IS NOT NULL THEN COALESCE(TRY(decode(encode({cell}))), '{UNREADABLE}') END"


def kind_of(kind: pa.DataType) -> Kind | None:
    """What sql.py calls cells of this type."""
    if pt.is_integer(kind):
        return "integer"
    if pt.is_float64(kind):
        return "double"
    if pt.is_date32(kind):
        return "date"
    return "time" if pt.is_timestamp(kind) and kind.tz is None and kind.unit != "ns" else None


def batches(paths: Sequence[Path], types: pa.Schema, schema: Schema, *, raw: Sequence[str] = ()) -> Iterator[Batch]:
    """The measured columns of Parquet files, and ``raw`` ones as they are, some rows at a time and in order.

    ``types``: of the files' columns. Errors: InputError when the data are damaged.
    """
    reported = {n: _expression(c, n, types.field(n).type) for n, c in schema.measured().items()}
    lists = {n: texts for n, (_, texts) in reported.items() if texts}
    chosen = [f"{sql} AS c{i}" for i, (sql, _) in enumerate(reported.values())]
    chosen += [f"{_other(n, t)} AS o{i}" for i, (n, t) in enumerate(lists.items())]
    chosen += [f"{DUCKDB.identifier(n)} AS r{i}" for i, n in enumerate(raw)]
    where = paths[0].parent if len(paths) > 1 else paths[0]
    con = connect(paths)
    try:
        with con.sql(f"SELECT {', '.join(chosen)} FROM {VIEW}").to_arrow_reader(BATCH) as reader:
            for part in reader:
                yield _batch(part, schema, reported, lists, raw)
    except (duckdb.Error, pa.ArrowException, OSError):
        raise InputError(f"{where}: {files.DAMAGED}") from None
    finally:
        con.close()


def _expression(column: Column, name: str, kind: pa.DataType) -> tuple[str, list[str] | None]:
    """What to ask of a column: an expression, and the texts it enumerates if it does."""
    result = kind_of(kind)
    sql = position(column, name, result, DUCKDB) if result else None
    if sql is not None:
        return f"CAST(COALESCE({sql}, {LOST}) AS {_narrow(column.cells)})", None
    words = pt.is_string(kind) or pt.is_large_string(kind)
    texts = list(dict.fromkeys([*(column.categories or ()), *column.missing_codes]))
    if words and column.type in CATEGORICAL and 0 < len(texts) <= MOST_LISTED and not any("\0" in t for t in texts):
        cell = DUCKDB.identifier(name)
        empty = f"WHEN {cell} IS NULL THEN {LOST - 4}"
        return f"CASE {empty} ELSE COALESCE(CAST(enum_code({_enum(name, texts)}) AS INTEGER), {OTHER}) END", texts
    return DUCKDB.identifier(name), []


def _narrow(cells: int) -> str:
    return (
        "TINYINT" if cells < 1 << 7 else "SMALLINT" if cells < 1 << 15 else "INTEGER" if cells < 1 << 31 else "BIGINT"
    )


def _enum(name: str, texts: list[str]) -> str:
    listed = ", ".join(DUCKDB.text(t) for t in texts)
    return f"TRY_CAST({DUCKDB.identifier(name)} AS ENUM({listed}))"


def _other(name: str, texts: list[str]) -> str:
    """The cell itself where it is none of the texts."""
    return f"CASE WHEN {_enum(name, texts)} IS NULL THEN {DUCKDB.identifier(name)} END"


def _batch(
    part: pa.RecordBatch,
    schema: Schema,
    reported: dict[str, tuple[str, list[str] | None]],
    lists: dict[str, list[str]],
    raw: Sequence[str],
) -> Batch:
    others = {n: part.column(f"o{i}") for i, n in enumerate(lists)}
    table: dict[str, Any] = {n: pa.chunked_array([part.column(f"r{i}")]) for i, n in enumerate(raw)}
    codes = {}
    for i, (name, (_, texts)) in enumerate(reported.items()):
        cells = part.column(f"c{i}")
        if texts is None:
            codes[name] = cells.to_numpy(zero_copy_only=False)
        elif texts:
            codes[name] = _listed(schema.columns[name], cells.to_numpy(zero_copy_only=False), texts, others[name], name)
        else:
            table[name] = pa.chunked_array([cells])
    return Batch(table=Table(table, num_rows=part.num_rows), codes=codes)


def _listed(column: Column, cells: np.ndarray, texts: list[str], others: pa.Array, name: str) -> np.ndarray:
    """Positions of enumerated texts; the codec reads the empty cell, and texts that are none of them."""
    lookup = codec.known(column, np.array([*texts, ""], dtype=object))[0]
    result = lookup[np.where(cells < 0, len(texts), cells)]
    rest = np.flatnonzero(cells == OTHER)
    if len(rest):
        values, index = encode(others.take(pa.array(rest)), name=name)
        result[rest] = codec.known(column, values)[0][index]
    return result
