"""What is too large to be read is refused in one line, before work; and no option's text is tried as a file's name."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import synth
from synth.errors import InputError
from synth.files import regular_files
from synth.schema.table import MOST_COLUMNS
from synth.sources import named_databases
from synth.sources.formats import csv_files, files
from synth.sources.formats.csv_files import sniffed
from synth.sources.formats.text_table import from_frame
from synth.sources.table_source import place_of

DRAFT_AND_MARK = """
import contextlib
from synth.cli import main
with contextlib.suppress(SystemExit):
    main()
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
TOO_MANY = [f"c{i}" for i in range(MOST_COLUMNS + 1)]


@pytest.mark.parametrize("reader", ["check", "read", "draft", "sniff"])
def test_a_gzipped_file_is_unpacked_up_to_a_limit(tmp_path, monkeypatch, reader):
    monkeypatch.setattr(csv_files, "UNPACKED", 1 << 16)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000))
    call = {
        "check": lambda: files.check_form(path),
        "read": lambda: files.read(path),
        "draft": lambda: named_databases.whole(path, None),
        "sniff": lambda: sniffed(path),
    }[reader]
    with pytest.raises(InputError, match=r"t\.csv\.gz: it unpacks to more than .* unpack it"):
        call()
    path.write_bytes(
        gzip.compress(b"a\n" + b"\n".join(os.urandom(64).hex().encode() for _ in range(4_000)))
    )  # hardly packed: any size
    files.check_form(path)


def test_a_small_file_that_unpacks_to_much_is_drafted_in_little_memory(tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", 6) as out:
        out.write(b"a,b,c,d\n")
        for _ in range(40):
            out.write(b"1,2,3,4\n" * 400_000)
    # its own mark, of this program alone: what a child is said to have used counts its parent's memory as well
    words = [sys.executable, "-c", DRAFT_AND_MARK, "schema", "init", path, "--out", tmp_path / "s.json"]
    child = subprocess.run(words, check=True, capture_output=True, text=True)
    assert (tmp_path / "s.json").exists(), child.stderr
    assert int(child.stdout.split()[-1]) < 900 << 10  # KiB


def wide(kind, place):
    cells = {n: [1] for n in TOO_MANY}
    if kind == "frame":
        return pd.DataFrame(cells)
    path = place / f"t.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table(cells), path)
    else:
        path.write_text(",".join(TOO_MANY) + "\n" + ",".join("1" for _ in TOO_MANY) + "\n")
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_more_columns_than_the_limit_are_refused(tmp_path, kind):
    table = wide(kind, tmp_path)
    with pytest.raises(InputError, match=r"20,001 columns, at most 20,000"):
        place_of(table).check_form(TOO_MANY[:3] if kind != "frame" else TOO_MANY)
    with pytest.raises(InputError, match=r"20,001 columns, at most 20,000"):
        named_databases.whole(table, None) if kind != "frame" else from_frame(table)


def test_more_columns_than_the_limit_are_refused_in_a_database_and_a_schema(tmp_path):
    with closing(duckdb.connect(tmp_path / "t.duckdb")) as con:
        con.execute(f"CREATE TABLE t ({', '.join(f'{n} TINYINT' for n in TOO_MANY)})")
    with pytest.raises(InputError, match="at most 20,000"):
        named_databases.place("t", f"duckdb:///{tmp_path}/t.duckdb").check_form(TOO_MANY[:1])
    with pytest.raises(InputError, match="at most 20,000"):
        synth.Schema.parse({"columns": {n: {"type": "integer", "min": 0, "max": 1} for n in TOO_MANY}})
    with closing(sqlite3.connect(tmp_path / "t.db")) as con:
        con.execute("CREATE TABLE t (a)")
    named_databases.place("t", f"sqlite:///{tmp_path}/t.db").check_form(["a"])


LONG = ("n" * 300, "a," * 3000 + "b", "x" * 5000, "a/" * 5000)


@pytest.mark.parametrize("text", LONG, ids=len)
def test_no_text_is_tried_as_a_path_in_a_way_that_raises(text, tmp_path, command):
    assert not regular_files.is_file(text)
    assert not regular_files.is_folder(f"{text}\0")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    (tmp_path / "s.json").write_text(json.dumps({"columns": {"a": {"type": "integer", "min": 0, "max": 9}}}))
    table, schema, out = tmp_path / "t.csv", tmp_path / "s.json", tmp_path / "out"
    ends = {
        "columns": command("schema", "init", table, "--out", tmp_path / "d.json", "--assume-public", text),
        "table": command("run", text, "--schema", schema, "--epsilon", 1, "--out", out),
        "file": command("run", f"{text}.csv", "--schema", schema, "--epsilon", 1, "--out", out),
        "schema": command("run", table, "--schema", text, "--epsilon", 1, "--out", out),
        "draft": command("schema", "init", text, "--out", tmp_path / "d.json"),
        "source": command("run", text, "--source", "duckdb", "--schema", schema, "--epsilon", 1, "--out", out),
        "database": command(f"run t --source sqlite:///{text} --schema {schema} --epsilon 1 --out {out}"),
    }
    for name, (code, _, err) in ends.items():
        assert code == (0 if name == "columns" and "," in text and "/" not in text else 2), (name, err[-300:])
        assert "Traceback" not in err
        assert name != "columns" or "File name too long" not in err
