"""DuckDB connections that reach the named files and nothing else: no other file, no network, no extension.

A database file is somebody's program: a view in it may read any file of this machine (``read_text``), ask an address
of the network, or have an extension fetched. So every connection is closed before the first query of ours, and its
settings are locked. Each is an instance of its own, so that no other connection's settings are shared with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.lazy import Lazy
from synth.schema import cells
from synth.sources.engines import scratch
from synth.sources.engines.sql_dialects import DUCKDB

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
    """A database in memory that loads and fetches nothing and spills to a folder of this process alone (scratch.py).

    It still opens files: ``close_off`` ends that.
    """
    con = duckdb.connect(
        config={
            "threads": len(os.sched_getaffinity(0)),
            "temp_directory": str(scratch.folder()),
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
