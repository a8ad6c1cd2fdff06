"""DuckDB inside this process: connections that reach the named files alone, and Parquet files encoded through them.

A database file is somebody's program: a view in it may read any file of this machine (``read_text``), ask an address
of the network, or have an extension fetched. So every connection is closed before the first query of ours, and its
settings are locked. Each is an instance of its own, so that no other connection's settings are shared with it.

It spills to a folder of this process's own; what a killed process left there is removed by the next one. What lies
there is as private as the rows. A living process holds a lock on its folder, which the system lets go with the process,
however that ends; so nobody has to be known by a number, also not in another container.

Of Parquet files Arrow alone opens them, and hands DuckDB each cell as it lies there: DuckDB's own reader ends at a time
beyond its range and at a text that is not UTF-8, so that one cell would decide how a run ends. Whole numbers, double
precision, dates, times and categories written as the schema writes them are encoded in SQL; every other cell is handed
over as it is and read by the codec.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt
from pyarrow import dataset

from synth.errors import InputError
from synth.lazy import Lazy
from synth.schema import cells, codec
from synth.schema.table import CATEGORICAL, Column, Schema
from synth.sources.engines.sql import DUCKDB, LOST, Kind, position
from synth.sources.formats import files
from synth.sources.formats.arrow_text import encode, is_text
from synth.sources.formats.cell_formats import UNREADABLE
from synth.sources.formats.text_table import Table
from synth.sources.rows.encoding import Batch

PREFIX, LOCK = "facsimile-spill-", "lock"

_held: dict[int, Path] = {}  # by process: a fork has none of its own


def spill_folder() -> Path:
    """This process's folder, made on first use, when also those that killed processes left are removed."""
    own = _held.get(os.getpid())
    if own is None or not own.is_dir():
        sweep()
        own = _held[os.getpid()] = _made()
    return own


def sweep() -> int:
    """Removes the folders of this user that no living process holds; how many.

    Errors: none; what cannot be removed stays. Privacy: public only.
    """
    left = [place for place in Path(tempfile.gettempdir()).glob(f"{PREFIX}*") if _left(place)]
    for place in left:
        shutil.rmtree(place, ignore_errors=True)
    return len(left)


def _made() -> Path:
    while True:
        place = Path(tempfile.mkdtemp(prefix=PREFIX))  # nobody else may look in there
        try:
            handle = os.open(place / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held until the process ends
        except OSError:
            if place.is_dir() and not os.access(place, os.W_OK):
                raise
            continue  # another process swept between the two
        atexit.register(_gone, place, os.getpid())
        return place


def _gone(place: Path, maker: int) -> None:
    if os.getpid() == maker:
        shutil.rmtree(place, ignore_errors=True)


def _left(place: Path) -> bool:
    """Whether a folder of ours is held by nobody. One without its lock is just being made, or was left then and is
    empty."""
    try:
        if place.lstat().st_uid != os.getuid() or not place.is_dir() or place.is_symlink():
            return False
        handle = os.open(place / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


if TYPE_CHECKING:
    import duckdb
else:
    duckdb = Lazy("duckdb")

NOTHING_FETCHED: Mapping[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,  # keys to stores elsewhere, which lie in a home folder
    "python_enable_replacements": False,  # a table is never a variable of Python
}
TAKEN = ("memory", "system", "temp")
# a Parquet file's minimum and maximum leave out NaN: by them the optimizer would take isnan() for false
TRUSTING = "SET disabled_optimizers = 'statistics_propagation'"


def connected(**config: Any) -> duckdb.DuckDBPyConnection:
    """A database in memory that loads and fetches nothing and spills to a folder of this process alone (duckdb.py).

    It still opens files: ``close_off`` ends that.
    """
    con = duckdb.connect(
        config={
            "threads": len(os.sched_getaffinity(0)),
            "temp_directory": str(spill_folder()),
            **NOTHING_FETCHED,
            **config,
        }
    )
    con.execute("SET enable_progress_bar = false")
    con.execute(TRUSTING)
    con.create_function("one_spelling", cells.one_spelling, ["VARCHAR"], "VARCHAR", type="arrow")  # type: ignore[call-overload]
    return con


def attach(con: duckdb.DuckDBPyConnection, path: Path, *, writing: bool) -> None:
    """Opens a database file and makes its tables those that a plain name means. Errors: duckdb.Error."""
    # DuckDB names it after the file, which views in it may rely on; some names are its own
    alias = f" AS {DUCKDB.identifier(path.stem + '_file')}" if path.stem.lower() in TAKEN else ""
    how = "TYPE DUCKDB" if writing else "TYPE DUCKDB, READ_ONLY"
    before = _catalogs(con)
    con.execute(f"ATTACH {DUCKDB.text(str(path.absolute()))}{alias} ({how})")
    (name,) = _catalogs(con) - before
    con.execute(f"USE {DUCKDB.identifier(name)}.main")


def close_off(con: duckdb.DuckDBPyConnection, files: Sequence[Path] = ()) -> None:
    """From now on the connection reads ``files`` and what it has attached, and no query can change that."""
    allowed = [text for path in files for text in {str(path.absolute()), literal(path.absolute())}]
    con.execute(f"SET allowed_paths = [{', '.join(DUCKDB.text(text) for text in allowed)}]")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")


def literal(path: Path) -> str:
    """The path as a pattern that only it matches: DuckDB takes every path for a pattern.

    >>> literal(Path("data[1]*.parquet"))
    'data[[]1][*].parquet'
    """
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _catalogs(con: duckdb.DuckDBPyConnection) -> set[str]:
    return {str(name) for (name,) in con.execute("SELECT database_name FROM duckdb_databases()").fetchall()}


BATCH = 1 << 18  # rows handed over at a time
VIEW = "synth_files"
MEMORY = "1GB"  # of DuckDB's own buffers
OTHER = -4  # a text that is not written as the schema writes it
MOST_LISTED = 60_000  # categories that an enumeration lists


def connect(paths: Sequence[Path]) -> duckdb.DuckDBPyConnection:
    """A database in memory with these files as ``VIEW``, and nothing else (duckdb.py)."""
    con = connected(memory_limit=MEMORY, arrow_large_buffer_size=True)  # the last: texts beyond 2 GiB
    present(con, paths, view=VIEW)
    close_off(con)
    return con


def present(con: duckdb.DuckDBPyConnection, paths: Sequence[Path], *, view: str) -> None:
    """Parquet files of like columns as a view, which Arrow reads; a text that is not UTF-8 is ``UNREADABLE``."""
    types = pa.schema([f.with_type(_taken(f.type)) for f in pq.read_schema(paths[0])])
    listed = [f.name for f in types if pt.is_dictionary(f.type) and is_text(f.type)]
    form = dataset.ParquetFileFormat(dictionary_columns=listed)  # or Arrow looks at their characters (formats/files.py)
    files = dataset.dataset([str(p) for p in paths], schema=types, format=form)
    con.register(f"{view}_files", files)
    texts = [f.name for f in files.schema if is_text(f.type)]
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
    expressions = {n: _expression(c, n, types.field(n).type) for n, c in schema.measured().items()}
    chosen = [f"{sql} AS c{i}" for i, (sql, _) in enumerate(expressions.values())]
    chosen += [  # the cell itself where it is none of the texts
        f"CASE WHEN {_enum(n, texts)} IS NULL THEN {DUCKDB.identifier(n)} END AS o{i}"
        for i, (n, (_, texts)) in enumerate(expressions.items())
        if texts
    ]
    chosen += [f"{DUCKDB.identifier(n)} AS r{i}" for i, n in enumerate(raw)]
    where = paths[0].parent if len(paths) > 1 else paths[0]
    con = connect(paths)
    try:
        with con.sql(f"SELECT {', '.join(chosen)} FROM {VIEW}").to_arrow_reader(BATCH) as reader:
            for part in reader:
                table: dict[str, Any] = {n: pa.chunked_array([part.column(f"r{i}")]) for i, n in enumerate(raw)}
                codes = {}
                for i, (name, (_, texts)) in enumerate(expressions.items()):
                    cells = part.column(f"c{i}")
                    if texts == []:
                        table[name] = pa.chunked_array([cells])
                        continue
                    codes[name] = cells.to_numpy(zero_copy_only=False)
                    if texts:
                        codes[name] = _listed(schema.columns[name], codes[name], texts, part.column(f"o{i}"), name)
                yield Batch(table=Table(table, num_rows=part.num_rows), codes=codes)
    except (duckdb.Error, pa.ArrowException, OSError):
        raise InputError("{}: {}", where, files.DAMAGED) from None
    finally:
        con.close()


def _expression(column: Column, name: str, kind: pa.DataType) -> tuple[str, list[str] | None]:
    """What to ask of a column: an expression, and the texts it enumerates if it does."""
    cells = kind_of(kind)
    sql = position(column, name, cells, DUCKDB) if cells else None
    if sql is not None:
        return f"CAST(COALESCE({sql}, {LOST}) AS {DUCKDB.whole(column.cells)})", None
    words = pt.is_string(kind) or pt.is_large_string(kind)
    texts = list(dict.fromkeys([*(column.categories or ()), *column.missing_codes]))
    if words and column.type in CATEGORICAL and 0 < len(texts) <= MOST_LISTED and not any("\0" in t for t in texts):
        cell = DUCKDB.identifier(name)
        empty = f"WHEN {cell} IS NULL THEN {LOST - 4}"
        return f"CASE {empty} ELSE COALESCE(CAST(enum_code({_enum(name, texts)}) AS INTEGER), {OTHER}) END", texts
    return DUCKDB.identifier(name), []


def _enum(name: str, texts: list[str]) -> str:
    listed = ", ".join(DUCKDB.text(t) for t in texts)
    return f"TRY_CAST({DUCKDB.identifier(name)} AS ENUM({listed}))"


def _listed(column: Column, cells: np.ndarray, texts: list[str], others: pa.Array, name: str) -> np.ndarray:
    """Positions of enumerated texts; the codec reads the empty cell, and texts that are none of them."""
    lookup = codec.known(column, np.array([*texts, ""], dtype=object))[0]
    codes = lookup[np.where(cells < 0, len(texts), cells)]
    rest = np.flatnonzero(cells == OTHER)
    if len(rest):
        values, index = encode(others.take(pa.array(rest)), name=name)
        codes[rest] = codec.known(column, values)[0][index]
    return codes
