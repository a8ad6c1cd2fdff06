"""Text that a spreadsheet would run is marked in what is written, and is read back as itself."""

import csv
import json
import zipfile

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synth
from synth.privacy.noise import SystemNoise
from synth.release import folder
from synth.report.bundle import bundle as make
from synth.schema import codec, csv_injection
from synth.sources.formats import files
from tests.conftest import small_frame
from tests.made import ran

ODD = ["=1+1", "'=1+1", "''=1+1", "@SUM(A1)", "+cmd", "-2", "+3", "-x", "'quoted'", "\uff1dA1", "plain"]
SCHEMA = {
    "dataset": "d",
    "columns": {
        "=id": {"type": "identifier"},
        "=HYPERLINK(1)": {"type": "categorical", "categories": ODD, "missing": ["-", "=NA()"]},
        "low": {"type": "integer", "min": -9, "max": 9, "missing": ["=x", "-99"]},
        "part": {"type": "float", "min": -1, "max": 1, "decimals": 1},
    },
}


@pytest.fixture(scope="module")
def schema():
    return synth.Schema.parse(SCHEMA)


def positions(schema) -> dict[str, np.ndarray]:
    """Every position of every column, at least once."""
    most = max(c.cells for c in schema.measured().values())
    return {n: np.arange(most) % c.cells for n, c in schema.measured().items()}


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".xlsx"])
@pytest.mark.parametrize("raw_text", [False, True])
def test_every_value_reads_back_as_itself(schema, tmp_path, ending, raw_text):
    places = positions(schema)
    size = len(places["low"])
    folder.write_table(tmp_path / f"t{ending}", codec.decode(places, schema, num_rows=size), schema, raw_text=raw_text)
    result = codec.encode(files.read(tmp_path / f"t{ending}", columns=list(schema.columns)), schema, SystemNoise())
    known = [n for n in places if not (ending == ".xlsx" and n == "low")]  # codes of numbers are null where typed
    assert not sum(result.unreadable[n] for n in known)
    for name in known:
        if not raw_text or name != "=HYPERLINK(1)":
            assert np.array_equal(result.positions[name], places[name]), name
    assert files.header(tmp_path / f"t{ending}") == list(schema.columns)


def test_no_cell_of_a_csv_begins_as_a_formula_and_numbers_stay(schema, tmp_path):
    places = positions(schema)
    folder.write_table(tmp_path / "t.csv", codec.decode(places, schema, num_rows=len(places["low"])), schema)
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [c for c in cells if c[:1] in ("=", "@", "\t", "\r", "\uff1d")]
    signed = {c for c in cells if c[:1] in ("+", "-")}
    assert {float(c) for c in signed} == {float(n) for n in range(-9, 0)} | {-99.0, 3.0} | {
        i / 10 for i in range(-10, 0)
    }
    assert {"'=1+1", "'''=1+1", "'-x", "'+cmd", "'-", "'=NA()", "'=x", "'=id"} & set(cells) >= {"'-x", "'+cmd", "'=id"}


def test_a_workbook_holds_text_as_text_and_has_no_formula(schema, tmp_path):
    places = positions(schema)
    folder.write_table(tmp_path / "t.xlsx", codec.decode(places, schema, num_rows=len(places["low"])), schema)
    with zipfile.ZipFile(tmp_path / "t.xlsx") as file:
        assert b"<f>" not in file.read("xl/worksheets/sheet1.xml")
        assert b'quotePrefix="1"' in file.read("xl/styles.xml")
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    column = [row[1] for row in sheet.iter_rows(min_row=2)]
    assert {c.value for c in column} >= set(ODD)
    assert all(c.data_type == "s" and c.quotePrefix for c in column if c.value == "=1+1")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(known=st.lists(st.text(st.sampled_from("'=+-@ax1 "), max_size=6), max_size=6, unique=True))
def test_marks_are_read_as_they_were_meant(known):
    for text in known:
        written = csv_injection.marked(text, known)
        assert csv_injection.read(written, known) == text
        assert not csv_injection.risky(written)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A run on a table whose every text cell is a formula."""
    place = tmp_path_factory.mktemp("made")
    frame = small_frame(300).rename(columns={"region": "=r"})
    frame["=r"] = np.where(frame["sex"] == "f", "=cmd|' /C calc'!A0", "@x")
    schema = {
        "columns": {
            "=r": {"type": "categorical", "categories": ["=cmd|' /C calc'!A0", "@x"]},
            "sex": {"type": "boolean", "categories": ["f", "m"]},
        }
    }
    (place / "s.json").write_text(json.dumps(schema))
    frame.to_csv(place / "t.csv", index=False)
    ran(place / "t.csv", place / "s.json", at=place, epsilon=5.0, method="independent", seed=1, num_rows=60)
    return place


def test_a_release_is_marked_its_card_says_so_and_its_bundle_holds(released, tmp_path):
    lines = (released / "out" / "synthetic.csv").read_text().splitlines()
    assert lines[0].split(",")[0] == "'=r"
    assert all(line.startswith("'") for line in lines)
    card = json.loads((released / "out" / "card.json").read_text())
    assert card["csv_text"] == csv_injection.MARKED
    make(released / "out", tmp_path / "r.zip", ledger=released / "ledger.sqlite")
    with zipfile.ZipFile(tmp_path / "r.zip") as file:
        file.extractall(tmp_path / "r")
    table = pq.read_table(tmp_path / "r" / "synthetic.parquet")
    assert set(table.column("=r").to_pylist()) == {"=cmd|' /C calc'!A0", "@x"}
    assert "apostrophe" in (tmp_path / "r" / "README.md").read_text()


def test_the_switch_leaves_text_as_it_is(command, released, tmp_path):
    command.done(f"run --from-release {released}/out --out {tmp_path}/raw --raw-text --seed 1")
    assert (tmp_path / "raw" / "synthetic.csv").read_text().startswith("=r,")
    assert json.loads((tmp_path / "raw" / "card.json").read_text())["csv_text"].startswith("raw")
    make(tmp_path / "raw", tmp_path / "raw.zip", ledger=released / "ledger.sqlite")
    for flag, first in (("--raw-text", "=r"), (None, "'=r")):
        command("sample", released / "out", "--num-rows", 5, "--out", tmp_path / "s.csv", *([flag] if flag else []))
        assert (tmp_path / "s.csv").read_text().startswith(first)
