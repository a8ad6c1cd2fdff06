"""SDV metadata of several tables in and out: kinds and keys are taken over, bounds are asked."""

import json

import pandas as pd
import pytest

from synth.errors import InputError
from synth.schema import dataset as datasets
from synth.schema import sdv_metadata
from tests.made import facts_of

METADATA = {
    "METADATA_SPEC_VERSION": "V1",
    "tables": {
        "homes": facts_of(
            state={"sdtype": "categorical"},
            number={"sdtype": "id"},
            rooms={"sdtype": "numerical", "computer_representation": "Int64"},
        )
        | {"primary_key": ["state", "number"]},
        "people": facts_of(
            pid={"sdtype": "id"},
            st={"sdtype": "categorical"},
            home={"sdtype": "id"},
            mail={"sdtype": "email"},
            sex={"sdtype": "categorical"},
        )
        | {"primary_key": "pid"},
    },
    "relationships": [
        {
            "parent_table_name": "homes",
            "parent_primary_key": ["state", "number"],
            "child_table_name": "people",
            "child_foreign_key": ["st", "home"],
        }
    ],
}


@pytest.fixture
def metadata(tmp_path):
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(METADATA))
    return path


def test_metadata_become_a_schema_that_waits_for_its_bounds(command, metadata, tmp_path):
    out = tmp_path / "s.json"
    code, said, stderr = command("schema", "import", metadata, "--out", out)
    assert (code, "2 tables imported" in said) == (0, True), stderr
    assert "people: most_children is to be stated" in stderr
    code, _, stderr = command("schema", "check", out)
    assert (code, "it needs min and max" in stderr) == (2, True), stderr
    plain = json.loads(out.read_text())
    plain["tables"]["homes"]["columns"]["rooms"] |= {"min": 1, "max": 9}
    plain["tables"]["people"]["columns"]["sex"] |= {"categories": ["f", "m"]}
    out.write_text(json.dumps(plain))
    code, _, stderr = command("schema", "check", out)
    assert (code, "most_children is missing" in stderr) == (2, True), stderr
    assert command("schema", "import", metadata, "--out", out, "--most-children", "people=4")[0] == 0
    result = datasets.load_any(out, complete=False)
    assert (result.root, result.most_rows("people")) == ("homes", 4)
    assert {c.type for n, c in result.tables["people"].columns.items() if n in ("st", "home")} == {"identifier"}
    back = tmp_path / "back.json"
    assert command("schema", "export", out, "--sdv", "--out", back)[0] == 0
    again = json.loads(back.read_text())
    assert again["relationships"] == METADATA["relationships"]
    assert again["tables"]["homes"]["primary_key"] == ["state", "number"]
    assert sdv_metadata.from_sdv_related(again).references == sdv_metadata.from_sdv_related(METADATA).references


def test_absent_facts_are_drafted_from_the_tables(command, metadata, tmp_path):
    folder, out = tmp_path / "town", tmp_path / "s.json"
    folder.mkdir()
    homes = pd.DataFrame({"state": ["a", "b"] * 30, "number": range(60), "rooms": [3, 4, 5] * 20})
    homes.to_csv(folder / "homes.csv", index=False)
    people = pd.DataFrame(
        {
            "pid": range(120),
            "st": ["a", "b"] * 60,
            "home": [i % 60 for i in range(120)],
            "mail": [f"x{i}@y" for i in range(120)],
            "sex": [*"fmf"] * 40,
            "more": 1,
        }
    )
    people.to_csv(folder / "people.csv", index=False)
    options = ["--table", folder, "--most-children", "people=3", "--assume-public"]
    command.done("schema", "import", metadata, "--out", out, *options)
    assert command("schema", "check", out, "--table", folder)[0] == 0
    result = datasets.load_any(out)
    assert (result.tables["homes"].columns["rooms"].min, result.tables["homes"].columns["rooms"].max) == (3, 5)
    assert "more" not in result.tables["people"].columns
    command.done(f"run {folder} --schema {out} --epsilon 8 --out {tmp_path}/r --num-rows 40")
    made = {n: pd.read_csv(tmp_path / "r" / f"{n}.csv") for n in ("homes", "people")}
    pairs = set(zip(made["homes"].state, made["homes"].number, strict=True))
    assert set(zip(made["people"].st, made["people"].home, strict=True)) <= pairs


WRONG = {
    "no such table": ({"parent_table_name": "towns"}, "towns is not among the tables"),
    "no such column": ({"child_foreign_key": ["st", "house"]}, "people has no column house"),
    "of other lengths": ({"child_foreign_key": "home"}, "joins a column, or a list of them"),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_a_wrong_relationship_is_one_line(wrong):
    part, words = WRONG[wrong]
    with pytest.raises(InputError, match=words):
        sdv_metadata.from_sdv_related({**METADATA, "relationships": [{**METADATA["relationships"][0], **part}]})
