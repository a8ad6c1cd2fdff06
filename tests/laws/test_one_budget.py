"""One table has one budget, whatever it is called and wherever it lies: spellings, links, copies, databases."""

import gzip
import json
import os
import shutil

import duckdb
import pytest

from synth.privacy.ledger.ledger import Ledger
from tests.conftest import SMALL, small_frame

ASKED = ("--schema", "s.json", "--epsilon", "0.4", "--method", "independent", "--num-rows", "5", "--out", "out")
NAMES = [
    "town",
    "TOWN",
    "\uff34\uff2f\uff37\uff2e",
    "town ",
    " town",
    "to\u200bwn",
    "t\u043ewn",
    "other",
    "town.csv",
    "to\0wn",
]
FILES = [
    "town.csv",
    "./town.csv",
    "a/../town.csv",
    "a/link.csv",
    "a/hard.csv",
    "copy.csv",
    "copy.csv.gz",
    "copy.parquet",
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A table under many names, charged once beneath a cap that has no room for a second run."""
    monkeypatch.chdir(tmp_path)
    frame = small_frame(400)
    frame.to_csv("town.csv", index=False)
    os.mkdir("a")
    os.symlink("../town.csv", "a/link.csv")
    os.link("town.csv", "a/hard.csv")
    shutil.copy("town.csv", "copy.csv")
    with gzip.open("copy.csv.gz", "wb") as file:
        file.write((tmp_path / "town.csv").read_bytes())
    frame.to_parquet("copy.parquet")
    (tmp_path / "s.json").write_text(json.dumps(SMALL))
    with duckdb.connect("d.duckdb") as db:
        db.register("given", frame)
        db.execute("CREATE TABLE people AS SELECT * FROM given")
        db.execute("CREATE VIEW seen AS SELECT * FROM people")
    return tmp_path


def spends():
    return [(e.dataset, e.epsilon) for e in Ledger().entries() if e.kind == "spend"]


def refused(command, *named):
    code, said, told = command("run", *named, *ASKED)
    assert (code in (2, 4), said, "Traceback" in told) == (True, "", False), (named, told)


def test_no_other_name_of_a_file_passes_its_cap(command, place):
    assert command("ledger", "policy", "town.csv", "--max-epsilon", 0.5, "--new")[0] == 0
    assert command("run", "town.csv", *ASKED)[0] == 0
    for name in NAMES:
        refused(command, "town.csv", "--dataset", name)
    for file in FILES:
        refused(command, file)
    pytest.importorskip("ibis")
    for table in ("people", "main.people", "seen"):
        refused(command, "--source", f"duckdb:///{place}/d.duckdb", "--table", table)
    assert spends() == [("town", 0.4)]


def test_no_other_spelling_of_a_databases_table_passes_its_cap(command, place):
    pytest.importorskip("ibis")
    at = f"duckdb:///{place}/d.duckdb"
    name = f"{at}/people"
    assert command("ledger", "policy", "--dataset", name, "--max-epsilon", 0.5, "--new")[0] == 0
    assert command("run", "--source", at, "--table", "people", *ASKED)[0] == 0
    for table in ("main.people", '"people"', "PEOPLE", "people --", "seen"):
        refused(command, "--source", at, "--table", table)
    for source in (
        at.replace("duckdb:", "DUCKDB:"),
        f"{at}?x=1",
        f"duckdb:///{place}//d.duckdb",
        f"duckdb:///{place}/a/../d.duckdb",
    ):
        refused(command, "--source", source, "--table", "people")
    for file in FILES:
        refused(command, file)
    assert spends() == [(name, 0.4)]
