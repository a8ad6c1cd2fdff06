"""Files made to exhaust a reader: refused, or read, by the real command line within a limit of time and memory."""

import gzip
import json
import os
import resource
import subprocess
import sys
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.privacy.ledger.ledger import Ledger
from tests.conftest import SMALL

SECONDS, MIB = 60, 1500
HEADER = "id,age,sex,region,income,seen,ill\n"
ROW = "P1,30,f,1,10.5,2020-02-03,no\n"

pytestmark = pytest.mark.xdist_group("bombs")


# The command line, which says at its end how much memory it had: the system's own figure counts that of the process too
# which started it, up to the moment of the start.
MEASURED = """if 1:
    import atexit, re, runpy, sys
    held = sys.argv.pop(1)
    peak = lambda: re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
    atexit.register(lambda: open(held, "w").write(peak()))
    runpy.run_module("synth", run_name="__main__", alter_sys=True)"""


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def ran(tmp_path, *arguments) -> tuple[int, str, float]:
    """Exit code, stderr and peak memory (MiB) of the command line on these arguments."""
    with open(tmp_path / "stderr", "wb") as err:
        command = [sys.executable, "-c", MEASURED, tmp_path / "peak", *map(str, arguments)]
        code = subprocess.call(command, stdout=subprocess.DEVNULL, stderr=err, preexec_fn=limited)
    peak = int((tmp_path / "peak").read_text()) / 1024
    return code, (tmp_path / "stderr").read_text(errors="replace"), peak


def refused(tmp_path, table, schema=None):
    """The run ends in one line, before the spend, within the limits."""
    facts = tmp_path / "schema.json"
    if schema is None:
        facts.write_text(json.dumps(SMALL))
    code, reported, mib = ran(
        tmp_path, "run", table, "--schema", schema or facts, "--epsilon", "1", "--out", tmp_path / "out"
    )
    lines = [line for line in reported.splitlines() if line.startswith("synth: ")]
    assert (code, len(lines)) == (2, 1), reported
    assert "Traceback" not in reported
    assert len(reported) < 4000
    assert mib < MIB
    assert not (tmp_path / "out").exists()
    assert all(e.kind != "spend" for e in Ledger().entries())


@pytest.mark.slow
def test_a_workbook_that_unpacks_to_gigabytes(tmp_path):
    place = tmp_path / "bomb.xlsx"
    packed = zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED)
    with packed as archive, archive.open("xl/worksheets/sheet1.xml", "w") as out:
        for _ in range(160):
            out.write(b" " * (1 << 23))
    assert place.stat().st_size < 3 << 20
    refused(tmp_path, place)


def test_a_workbook_whose_directory_lies_about_sizes(tmp_path):
    """The sizes in a zip's directory are the sender's word: what is unpacked is bounded by what they say."""
    from tests.fuzz.targets import TARGETS

    place = TARGETS["excel"].make(tmp_path)
    content = bytearray(place.read_bytes())
    at = content.find(b"PK\x01\x02")
    while at >= 0:
        content[at + 24 : at + 28] = (50).to_bytes(4, "little")  # uncompressed size
        at = content.find(b"PK\x01\x02", at + 4)
    place.write_bytes(content)
    refused(tmp_path, place)


def test_names_that_climb_out_of_a_workbook_are_written_nowhere(tmp_path):
    from tests.fuzz.targets import TARGETS

    place = TARGETS["excel"].make(tmp_path)
    with zipfile.ZipFile(place, "a") as archive:
        archive.writestr("../../climbed.txt", "x")
        archive.writestr("/climbed.txt", "x")
    (tmp_path / "schema.json").write_text(json.dumps(SMALL))
    ran(tmp_path, "schema", "init", place, "--out", tmp_path / "draft.json")
    assert not list(tmp_path.parent.rglob("climbed.txt"))
    assert not os.path.exists("/climbed.txt")


def test_a_parquet_file_that_unpacks_to_gigabytes_of_one_text(tmp_path):
    """A dictionary of one text, 64 MB long, referred to by thousands of rows."""
    text = pa.array(["x" * (64 << 20)])
    columns = {
        n: pa.DictionaryArray.from_arrays(pa.array([0] * 3000), text if n == "sex" else pa.array(["1"]))
        for n in SMALL["columns"]
    }
    pq.write_table(pa.table(columns), tmp_path / "bomb.parquet", compression="zstd")
    assert (tmp_path / "bomb.parquet").stat().st_size < 1 << 20
    code, reported, mib = ran(tmp_path, "schema", "check", _schema(tmp_path), "--table", tmp_path / "bomb.parquet")
    assert code in (0, 2), reported
    assert "Traceback" not in reported
    assert mib < MIB


def _schema(tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps(SMALL))
    return tmp_path / "schema.json"


def test_a_field_of_a_hundred_megabytes(tmp_path):
    (tmp_path / "t.csv").write_text(HEADER + ROW + ROW.replace("f", "f" * (100 << 20), 1))
    refused(tmp_path, tmp_path / "t.csv")


@pytest.mark.slow
def test_a_quote_that_never_closes_over_a_hundred_megabytes(tmp_path):
    (tmp_path / "t.csv").write_text(HEADER + 'P1,30,"' + (ROW * 4_000_000)[: 100 << 20])
    refused(tmp_path, tmp_path / "t.csv")


@pytest.mark.slow
def test_a_packed_gigabyte_without_a_line_end(tmp_path):
    with gzip.open(tmp_path / "t.csv.gz", "wb") as out:
        out.write(HEADER.encode())
        for _ in range(128):
            out.write(b"0" * (1 << 23))
    refused(tmp_path, tmp_path / "t.csv.gz")


@pytest.mark.parametrize("columns", [200_000, pytest.param(10**6, marks=pytest.mark.slow)])
def test_a_header_of_very_many_columns(tmp_path, columns):
    with open(tmp_path / "t.csv", "w") as out:
        out.write(",".join(f"c{i}" for i in range(columns)) + "\n" + "1," * (columns - 1) + "1\n")
    refused(tmp_path, tmp_path / "t.csv")


@pytest.mark.slow
def test_a_schema_of_a_hundred_thousand_columns(tmp_path):
    columns = {f"c{i}": {"type": "integer", "min": 0, "max": 1} for i in range(100_000)}
    (tmp_path / "wide.json").write_text(json.dumps({"columns": columns}))
    (tmp_path / "t.csv").write_text("a\n1\n")
    code, reported, mib = ran(
        tmp_path,
        "run",
        tmp_path / "t.csv",
        "--schema",
        tmp_path / "wide.json",
        "--epsilon",
        "1",
        "--out",
        tmp_path / "out",
    )
    assert code == 2, reported
    assert len([line for line in reported.splitlines() if line.startswith("synth: ")]) == 1
    assert mib < MIB


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_json_text_nested_a_million_deep(tmp_path, opening):
    (tmp_path / "deep.json").write_text(opening * 10**6)
    command = ["schema", "check"] if opening == "[" else ["card", "check"]
    code, reported, mib = ran(tmp_path, *command, tmp_path / "deep.json")
    assert code == 2, reported
    assert "Traceback" not in reported
    assert mib < MIB
