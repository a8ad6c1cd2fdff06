"""`synth schema init` of a folder or a database: tables as alone, keys by their names or as declared, bounds asked."""

import json
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest

from synth.privacy.ledger.ledger import Ledger
from synth.schema.related_names import guessed, shared, sure, tree
from tests.made import a_key

PEOPLE = 120


def tables(seed=3):
    """Clinics everybody may know, patients of one each, stays with a day, at most one note a stay."""
    rng = np.random.default_rng(seed)
    many = np.r_[rng.integers(0, 4, PEOPLE - 1), 9]
    owner = np.repeat(np.arange(PEOPLE), many)
    stays = len(owner)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, stays), unit="D")
    return {
        "clinics": pd.DataFrame({"clinic_id": ["n", "s", "e"], "town": ["Ur", "Uruk", "=Eridu"]}),
        "patients": pd.DataFrame(
            {
                "patient_id": [f"p{i}" for i in range(PEOPLE)],
                "sex": rng.choice(["f", "m"], PEOPLE),
                "clinic_id": rng.choice(["n", "s"], PEOPLE),
            }
        ),
        "stays": pd.DataFrame(
            {
                "stay_id": np.arange(stays),
                "patient_id": [f"p{i}" for i in owner],
                "ward": rng.choice(list("abcd"), stays),
                "admitted": days.strftime("%Y-%m-%d"),
            }
        ),
    }


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "clinic"
    place.mkdir()
    for name, table in tables().items():
        table.to_csv(place / f"{name}.csv", index=False)
    (place / "README.txt").write_text("no table")
    return place


def drafted(out):
    return json.loads(out.read_text())


def test_keys_are_found_by_names_alone():
    result = guessed(
        {
            "patients": ["patient_nbr", "race"],
            "stays": ["encounter_id", "patient_nbr", "race"],
            "Diagnoses": ["id", "encounter", "code"],
            "encounters": ["id", "PatientNbr"],
        }
    )
    assert {str(r) for r in result} == {
        "stays.patient_nbr=patients.patient_nbr",
        "encounters.PatientNbr=patients.patient_nbr",
        "Diagnoses.encounter=encounters.id",
        "stays.encounter_id=encounters.id",
    }
    made = tree(["patients", "stays", "encounters"], result, public=[], root=None)
    assert any("stays has several parents" in line for line in made.open)
    assert not guessed({"a": ["id", "x"], "b": ["id", "x"]}), "equal columns that are no keys join nothing"


def test_a_column_that_two_tables_share_ties_them_where_names_tell_which_is_the_parent(command, tmp_path):
    """From names alone: the parent has it first and no other key; where both or neither do, it is asked."""
    homes = {"viviendas": ["idhogar", "rooms"], "personas": ["idpersona", "idhogar", "age"]}
    assert [str(r) for r in shared(homes)] == ["personas.idhogar=viviendas.idhogar"]
    assert sure(shared(homes)) == shared(homes)
    either = shared({"a": ["idhogar", "idx"], "b": ["idhogar", "idy"]})
    assert {str(r) for r in either} == {"b.idhogar=a.idhogar", "a.idhogar=b.idhogar"}
    assert not sure(either)
    assert not shared({"a": ["id", "age"], "b": ["id", "age"]}), "neither a bare id nor an age is a key of another"
    for name, columns in homes.items():
        (tmp_path / f"{name}.csv").write_text(
            ",".join(columns) + "\n" + "".join(f"{i}" + ",1" * (len(columns) - 1) + "\n" for i in range(9))
        )
    command.done("schema", "init", tmp_path, "--out", tmp_path / "s.json")
    (key,) = drafted(tmp_path / "s.json")["keys"]
    assert (key["parent"], key["child"], key["source"]) == ("viviendas", "personas", "unconfirmed")
    (tmp_path / "viviendas.csv").write_text("idhogar,idx\n1,2\n")
    (tmp_path / "personas.csv").write_text("idhogar,idy\n1,2\n")
    _, _, stderr = command("schema", "init", tmp_path, "--out", tmp_path / "s.json")
    assert "share idhogar: say which belongs to which, --key personas.idhogar=viviendas.idhogar" in stderr


def test_a_folder_is_drafted_and_waits_for_answers(command, folder, tmp_path):
    out = tmp_path / "s.json"
    said, stderr = command.done("schema", "init", folder, "--out", out, "--public", "clinics")
    assert "2 tables drafted" in said
    assert "answer with --most-children stays=N" in stderr
    result = drafted(out)
    assert list(result["tables"]) == ["patients", "stays"]
    assert result["keys"] == [a_key("stays", "patients", "patient_id", 3, order="admitted", source="unconfirmed")]
    assert result["public"] == {
        "clinics": {"key": "clinic_id", "referred_by": ["patients.clinic_id"], "source": "declared"}
    }
    assert result["tables"]["patients"]["columns"]["clinic_id"]["categories"] == ["n", "s", "e"], "the public table's"
    assert {c["source"] for n, c in result["tables"]["stays"]["columns"].items()} == {"unconfirmed"}
    said, _ = command.done("schema", "check", out)
    assert "unconfirmed: stays (key to patients, most_children 3)" in said
    run = ["run", folder, "--schema", out, "--epsilon", "1", "--out", tmp_path / "r"]
    code, _, stderr = command(*run, "--assume-public")
    assert (code, "nobody has confirmed that stays belongs to patients" in stderr) == (2, True), stderr
    assert command("schema", "init", folder, "--out", out, "--public", "clinics", "--most-children", "stays=4")[0] == 0
    code, _, stderr = command(*run)
    assert (code, "nobody has confirmed" in stderr) == (2, True), stderr
    assert not [e for e in Ledger().entries() if e.kind == "spend"]


def test_an_answered_draft_runs_and_the_public_table_goes_with_it(command, folder, tmp_path):
    """One child at most and an order beside it: no event follows another."""
    out, release = tmp_path / "s.json", tmp_path / "r"
    command.done(f"schema init {folder} --out {out} --public clinics --most-children stays=1 --assume-public")
    plain = drafted(out)
    plain["keys"][0]["order"] = "admitted"
    out.write_text(json.dumps(plain))
    command.done("run", folder, "--schema", out, "--epsilon", "8", "--out", release)
    patients, clinics = pd.read_csv(release / "patients.csv"), pd.read_csv(release / "clinics.csv")
    assert clinics.town.tolist() == ["Ur", "Uruk", "'=Eridu"]
    assert patients.clinic_id.dropna().isin(clinics.clinic_id).all()
    assert list(json.loads((release / "card.json").read_text())["public_tables"]) == ["clinics"]
    assert command("card", "check", release)[0] == 0
    _goes_with_rows_that_are_drawn_later(command, release, tmp_path / "more")
    pd.DataFrame({"clinic_id": ["n"], "town": ["Ur"]}).to_csv(folder / "clinics.csv", index=False)
    code, _, stderr = command("run", folder, "--schema", out, "--epsilon", "8", "--out", tmp_path / "other")
    assert (code, "clinics: its clinic_id has no 's', a category of patients.clinic_id" in stderr) == (2, True), stderr


def _goes_with_rows_that_are_drawn_later(command, release, more):
    clinics, asked = release / "clinics.csv", ["sample", release, "--num-roots", "5", "--out", more]
    released = clinics.read_bytes()
    code, said, stderr = command(*asked)
    assert (code, f"clinics, public: {more / 'clinics.csv'}" in said) == (0, True), stderr
    assert (more / "clinics.csv").read_bytes() == released
    clinics.write_bytes(released + b"x,Babylon\n")
    code, _, stderr = command(*asked)
    assert (code, "clinics.csv: not the public table as it was released" in stderr) == (2, True), stderr
    clinics.unlink()
    code, said, stderr = command(*asked)
    assert (code, "public" in said) == (0, False), stderr
    clinics.write_bytes(released)


def test_what_names_do_not_tell_is_left_open(command, folder, tmp_path):
    out = tmp_path / "s.json"
    frames = tables()
    frames["stays"].rename(columns={"patient_id": "who"}).to_csv(folder / "stays.csv", index=False)
    _, stderr = command.done("schema", "init", folder, "--out", out)
    assert "to be decided: clinics, stays have no parent" in stderr
    code, _, stderr = command("schema", "check", out)
    assert (code, "left open by the draft" in stderr) == (2, True), stderr
    command.done(
        f"schema init {folder} --out {out} --root patients --public clinics --key "
        "stays.who=patients.patient_id --most-children stays=3"
    )
    assert drafted(out)["keys"][0]["columns"] == ["who"]
    assert command("schema", "check", out)[0] == 0


def test_a_stated_key_settles_how_two_tables_hang_together(command, folder, tmp_path):
    """Found on hospitals whose key is a site and a number: the number alone was guessed beside it, and left open."""
    out = tmp_path / "s.json"
    frames = tables()
    for name in ("patients", "stays"):
        frames[name].assign(site="a").to_csv(folder / f"{name}.csv", index=False)
    whole = "stays.site+patient_id=patients.site+patient_id"
    asked = ["--out", out, "--public", "clinics", "--key", whole, "--most-children", "stays=3"]
    said, stderr = command.done("schema", "init", folder, *asked)
    assert "to be decided" not in said + stderr
    assert "open" not in drafted(out)
    assert [k["columns"] for k in drafted(out)["keys"]] == [["site", "patient_id"]]


def test_nothing_that_a_run_of_related_tables_refuses_is_recommended(command, folder, tmp_path):
    out, ledger = tmp_path / "s.json", tmp_path / "l.sqlite"
    frames = tables()
    jobs = ["the only king", *(f"job {i % 10}" for i in range(len(frames["stays"]) - 1))]
    frames["stays"].assign(job=jobs).to_csv(folder / "stays.csv", index=False)
    said, stderr = command.done(f"schema init {folder} --out {out} --public clinics --most-children stays=3")
    assert "job: long lists" in said + stderr
    run = ["run", folder, "--schema", out, "--epsilon", "1", "--ledger", ledger, "--out", tmp_path / "r"]
    code, _, refused = command(*run, "--assume-public")
    assert (code, "confirm each by name: --assume-public stays.job with a --reason TABLE.COLUMN" in refused) == (
        2,
        True,
    )
    plain = drafted(out)
    del plain["tables"]["stays"]["columns"]["job"]["categories"]
    out.write_text(json.dumps(plain))
    code, _, absent = command(*run)
    assert (code, "needs its categories" in absent) == (2, True), absent
    assert "learn them privately with --learn-share" in said + stderr
    assert "`synth schema learn`" in refused
    assert "`synth schema learn`" in absent


def test_parts_of_one_table_are_no_related_tables(tmp_path):
    """Parquet files of one header are parts, whatever lies beside them; of two headers they are two tables."""
    from synth.sources.draft_related import is_folder_of_tables

    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    for name in ("part-0", "part-1"):
        frame.to_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "notes.csv").write_text("note\nx\n")
    assert not is_folder_of_tables(tmp_path)
    frame.rename(columns={"b": "c"}).to_parquet(tmp_path / "part-1.parquet")
    assert is_folder_of_tables(tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    frame.to_parquet(tmp_path / "part-0.parquet")
    assert not is_folder_of_tables(tmp_path)
    assert not is_folder_of_tables(tmp_path / "part-0.parquet")


WRONG = {
    "no such table": (["--root", "nobody"], "--root nobody: no such table"),
    "no such column": (["--key", "stays.x=patients.patient_id"], "stays has no column x"),
    "half a key": (["--key", "stays.who"], "write CHILD.COLUMN=PARENT.COLUMN"),
    "a bound that is none": (["--most-children", "stays=0"], "N from 1 to 500"),
    "a column without its table": (["--identifier", "who"], "write TABLE.COLUMN"),
    "one table's option": (["--unit", "row"], "--unit: is of a single table"),
    "an unknown column to confirm": (["--assume-public", "stays.x"], "stays.x: the draft has no such column"),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_a_wrong_statement_is_one_line(command, folder, tmp_path, wrong):
    options, words = WRONG[wrong]
    code, _, stderr = command("schema", "init", folder, "--out", tmp_path / "s.json", *options)
    assert (code, words in stderr.splitlines()[-1]) == (2, True), stderr


DDL = """CREATE TABLE homes (state VARCHAR, number INTEGER, rooms INTEGER, PRIMARY KEY (state, number));
CREATE TABLE people (pid INTEGER PRIMARY KEY, st VARCHAR, home INTEGER, age INTEGER,
                     FOREIGN KEY (st, home) REFERENCES homes (state, number));
INSERT INTO homes SELECT CASE WHEN n % 2 = 0 THEN 'a' ELSE 'b' END, n, 1 + n % 5 FROM many;
INSERT INTO people SELECT n, CASE WHEN (n / 2) % 2 = 0 THEN 'a' ELSE 'b' END, n / 2, n % 90 FROM many;"""


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_database_tells_its_keys(command, tmp_path, engine):
    path, out = tmp_path / f"homes.{engine}", tmp_path / "s.json"
    rows = "CREATE TEMP TABLE many AS WITH RECURSIVE t(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t WHERE n < 199)"
    ddl = f"{rows} SELECT n FROM t; {DDL.replace('n / 2', 'n // 2' if engine == 'duckdb' else 'n / 2')}"
    if engine == "duckdb":
        with duckdb.connect(str(path)) as con:
            con.execute(ddl)
    else:
        with sqlite3.connect(path) as con:
            con.executescript(ddl)
    command.done("schema", "init", "--source", f"{engine}://{path}", "--out", out)
    result = drafted(out)
    (key,) = result["keys"]
    assert (key["parent"], key["child"], key["most_children"]) == ("homes", "people", 2)
    assert (key["columns"], key["parent_columns"], key["source"]) == (
        ["st", "home"],
        ["state", "number"],
        "unconfirmed",
    )
    assert {result["tables"]["people"]["columns"][n]["type"] for n in ("st", "home")} == {"identifier"}
