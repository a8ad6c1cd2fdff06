"""What DuckDB spills: in a folder that nobody else may open, gone with a killed process at the next start."""

import os
import signal
import stat
import subprocess
import sys
import textwrap

import pytest

from synth.sources.engines import duckdb

SPILLS = """
    import time
    import pyarrow as pa, pyarrow.parquet as pq
    pq.write_table(pa.table({{"a": [1]}}), "../one.parquet")
    from synth.sources.engines import duckdb
    from synth.sources.engines.{module} import {name} as connect
    duckdb.MEMORY = "40MB"  # before it connects: afterwards nothing can be set
    duckdb.NOTHING_FETCHED |= {{"memory_limit": "40MB", "threads": 1}}
    con = connect({arguments})
    con = getattr(getattr(con, "backend", con), "con", con)
    con.execute("CREATE TEMP TABLE t AS SELECT uuid()::varchar u FROM range(1000000)")
    print("spilt", flush=True)
    time.sleep(600)
"""
DOORS = {
    "Parquet files": {"module": "duckdb", "name": "connect", "arguments": "['../one.parquet']"},
    "a database": {"module": "engine", "name": "Engine", "arguments": "'duckdb://'"},
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(duckdb, "_held", {})
    return tmp_path


@pytest.mark.parametrize("door", DOORS)
def test_what_a_killed_process_spilt_is_removed_at_the_next_start(door, place):
    code = textwrap.dedent(SPILLS).format(**DOORS[door])
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=place,
        text=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(place)},
    )
    try:
        assert child.stdout.readline() == "spilt\n"
        (theirs,) = place.iterdir()
        assert [p.name for p in theirs.iterdir() if p.name.startswith("duckdb_temp")]
        assert stat.S_IMODE(theirs.stat().st_mode) == 0o700
        own = duckdb.spill_folder()
        assert theirs.is_dir(), "a living process keeps its own"
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait(30)
        child.stdout.close()
    assert [p.name for p in theirs.iterdir() if p.name.startswith("duckdb_temp")], "SIGKILL leaves it"
    assert (duckdb.sweep(), theirs.exists(), own.is_dir()) == (1, False, True)


def test_only_this_user_s_own_folders_are_swept(place):
    (place / f"{duckdb.PREFIX}mine").mkdir()
    (place / f"{duckdb.PREFIX}link").symlink_to(place, target_is_directory=True)
    (place / f"{duckdb.PREFIX}file").write_text("")
    assert duckdb.sweep() == 0, "no lock: it is just being made"
    assert len(list(place.iterdir())) == 3
