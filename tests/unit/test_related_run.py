"""Related tables from a folder to a release: keys that fit, one spend, one card; what is wrong is said before it."""

import json
from math import sqrt

import pandas as pd
import pyarrow as pa
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.generators import TREES
from synth.generators.core.related import Nested
from synth.generators.core.related_fit import TreeOptions
from synth.privacy.ledger.ledger import Ledger
from synth.release.card.card import Card
from synth.release.card.verify import problems
from synth.release.folder import load_release
from synth.sources.formats import files
from tests.clinic import SCHEMA, clinic
from tests.made import ran


@pytest.fixture
def folder(tmp_path):
    """The clinic as files, and its schema."""
    place = tmp_path / "clinic"
    place.mkdir()
    tables = clinic()
    tables["patients"].to_csv(place / "patients.csv", index=False)
    tables["stays"].to_parquet(place / "stays.parquet", index=False)
    tables["acts"].to_csv(place / "acts.csv.gz", index=False)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    return place


def arguments(folder, out, *more):
    return ["run", folder, "--schema", folder.parent / "schema.json", "--epsilon", "8", "--out", out, *more]


def read(out):
    return {n: pd.read_csv(out / f"{n}.csv", dtype=str) for n in SCHEMA["tables"]}


def holds(tables):
    """Referential integrity, numbers of children within bounds, keys that stand once, events in order."""
    patients, stays, acts = (tables[n] for n in ("patients", "stays", "acts"))
    assert patients.pid.is_unique
    assert stays.sid.is_unique
    assert stays.patient.isin(patients.pid).all()
    assert acts.sid.isin(stays.sid).all()
    assert (stays.patient.value_counts() <= 3).all()  # a table may be empty: noise may hide few rows
    assert (acts.sid.value_counts() <= 2).all()
    assert all(days.is_monotonic_increasing for _, days in stays.groupby("patient").day)


@pytest.mark.usefixtures("few_steps")
def test_a_folder_becomes_a_release_with_one_spend_and_one_card(command, folder, tmp_path):
    out = tmp_path / "release"
    said, _ = command.done(*arguments(folder, out, "--json"))
    plain, tables = json.loads(said), read(out)
    assert plain["num_rows"] == {n: len(t) for n, t in tables.items()}
    holds(tables)
    assert {n: list(t.columns) for n, t in tables.items()} == {
        n: list(s["columns"]) for n, s in SCHEMA["tables"].items()
    }
    spends = [e for e in Ledger().entries("clinic") if e.kind == "spend"]
    assert [(e.epsilon, e.unit) for e in spends] == [(8.0, "patients")]
    assert command("card", "check", out)[0] == 0
    card = json.loads((out / "card.json").read_text())
    assert card["unit_in_words"] == "one of patients with all its rows there and in stays, acts"
    assert card["meaning"] == synth.app_api.meaning(8.0, about=card["unit_in_words"])
    assert card["relation_in_words"].startswith(card["unit_in_words"] + " more or less; the number of keys of patients")
    assert [k["most_children"] for k in card["keys"]] == [3, 2]
    code, _, stderr = command("sample", out, "--multiple", "3", "--out", tmp_path / "several")
    assert (code, (tmp_path / "several").exists()) == (2, False), "it was passed over, and one sample drawn"
    assert "--multiple is for a release of a single table" in stderr
    same_words(card)
    forecast(command, folder, card, out)
    more = tmp_path / "more"
    command.done("sample", out, "--num-roots", "40", "--where", "patients.sex=f", "--out", more)
    again = read(more)
    holds(again)
    assert again["patients"].sex.tolist() == ["f"] * 40
    below_the_root(command, out, more)
    assert len([e for e in Ledger().entries("clinic") if e.kind == "spend"]) == 1, "drawing is free"


def same_words(card):
    """A card of before, which said "person", still holds; one whose words name another unit does not."""
    for former in (f"about {card['unit_in_words']}", "about one person"):
        words = card["meaning"].replace(f"whether {card['unit_in_words']} was used", former)
        assert words != card["meaning"]
        assert not list(problems(Card({**card, "meaning": words})))
    other = {"unit_in_words": "one row of stays", "meaning": synth.app_api.meaning(8.0, about="one row of stays")}
    assert list(problems(Card({**card, **other}))) == ["its unit in words is not that of its keys"]


def forecast(command, folder, card, out):
    """It asks for the run's tables, of which answers decide which are asked twice, and with about the same noise."""
    asked = ["--rows", "400", "--epsilon", "8", "--json"]
    said, _ = command.done("plan", "--schema", folder.parent / "schema.json", *asked)
    plain = json.loads(said)
    assert plain["unit"] == card["unit_in_words"]
    assert plain["rehearsed"]["done"] == ["read", "measure", "fit", "sample", "write"]
    questions = [r.question for r in load_release(out, tree=True).releases]
    tables = len({(q.table, q.view, m.columns) for q in questions for m in q.marginals})
    assert abs(sum(a["tables"] for a in plain["steps"]) - tables) < 0.1 * tables
    # single columns are counted again with what answers leave of the budget, at whatever noise that is
    most = max(m.sigma for q in questions for m in q.marginals if len(m.columns) > 1 or q.view != "rows")
    planned = max(a["sigma_most"] for a in plain["steps"] if a["purpose"] != "single columns")
    assert planned == pytest.approx(most, rel=0.1)
    assert {"with patients", "from one event to the next", "siblings"} <= {a["purpose"] for a in plain["steps"]}
    assert all(0 < a["error"] < 1 for a in plain["steps"])
    assert command("plan", "--schema", folder.parent / "schema.json", "--target", "x", *asked)[0] == 2


def below_the_root(command, out, more):
    """A condition on tables below keeps whole trees in which a row of each meets it; one that nothing meets is told."""
    asked = ["--where", "stays.ward=a|b", "--where", "acts.code=x", "--where", "patients.sex=f"]
    said, _ = command.done("sample", out, "--num-roots", "30", *asked, "--out", more, "--json")
    again = read(more)
    holds(again)
    owners = again["acts"][again["acts"].code == "x"].merge(again["stays"], on="sid").patient
    assert again["patients"].pid.isin(owners).all()
    assert again["patients"].pid.isin(again["stays"][again["stays"].ward.isin(["a", "b"])].patient).all()
    assert (len(again["patients"]), set(again["patients"].sex)) == (30, {"f"})
    assert len(again["stays"]) > again["stays"].ward.isin(["a", "b"]).sum(), "other rows of these patients stay"
    assert 0 < json.loads(said)["probability"] < 0.5
    code, _, stderr = command("sample", out, "--where", "stays.sid=3", "--out", more)
    assert (code, "sid is not a measured column of stays" in stderr) == (2, True)


def test_a_childs_column_follows_its_parents(monkeypatch):
    """In eight runs the share was .94 with a deviation of .02; children drawn apart from parents give a half.

    With as many components as this table needs.
    """
    monkeypatch.setitem(TREES, "mixture", Nested(options=TreeOptions(fits=1, roots=16, children=16, steps=120)))
    result = synth.run(clinic(2000), schema=synth.app_api.parse_related(SCHEMA), epsilon=8.0, delta=1e-5).frames
    women = result["stays"].merge(result["patients"], left_on="patient", right_on="pid").query("sex == 'f'")
    assert women.ward.isin(["a", "b"]).mean() > 0.75


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("ending", ["frame", ".csv", ".csv.gz", ".parquet", ".xlsx"])
def test_a_table_below_the_root_without_a_row_leaves_no_sign(ending, tmp_path):
    """Whether there is any row there can hang on a single patient."""
    tables = clinic(60)
    tables["acts"] = tables["acts"].iloc[:0]
    if ending != "frame":
        for name, table in tables.items():
            files.write(tmp_path / f"{name}{ending}", {n: pa.array(table[n], pa.string()) for n in table})
    given = tables if ending == "frame" else tmp_path
    result = ran(given, SCHEMA, epsilon=2.0, dataset="clinic", num_rows=30)
    holds(result.frames)
    assert [e.epsilon for e in Ledger().entries("clinic") if e.kind == "spend"] == [2.0]


@pytest.mark.usefixtures("few_steps")
def test_a_replaced_root_costs_more_noise(tmp_path):
    asked = {"dataset": "clinic", "relation": "replace_one", "ledger": tmp_path / "ledger.sqlite"}
    result = ran(clinic(60), SCHEMA, num_rows=30, **asked)
    assert {m["sensitivity"] for m in result.card["mechanisms"]} == {sqrt(2)}
    assert result.num_rows["patients"] == 30
    assert result.card["epsilon_derived"] <= 1.0


def test_what_is_wrong_in_public_is_said_before_the_spend(command, folder, tmp_path):
    out = tmp_path / "release"
    (folder / "acts.csv.gz").rename(tmp_path / "acts.csv.gz")
    code, _, stderr = command(*arguments(folder, out))
    assert (code, "no file for table acts" in stderr) == (2, True)
    (tmp_path / "acts.csv.gz").rename(folder / "acts.csv.gz")
    pd.read_csv(folder / "patients.csv").drop(columns="pid").to_csv(folder / "patients.csv", index=False)
    code, _, stderr = command(*arguments(folder, out))
    assert (code, "pid" in stderr) == (2, True)
    for more in (["--unit", "pid"], ["--target", "sex"], ["--method", "aim"], ["--learn-share", "2"]):
        code, _, stderr = command(*arguments(folder, out, *more))
        assert code == 2, stderr
    assert command("ledger", "policy", "clinic", "--max-epsilon", "3", "--new")[0] == 0
    code, _, stderr = command(*arguments(folder, out))
    assert (code, "remaining 3" in stderr) == (4, True)
    assert [e for e in Ledger().entries() if e.kind == "spend"] == []
    assert not out.exists()


@pytest.mark.usefixtures("few_steps")
def test_one_table_and_several_are_not_mistaken_for_each_other(tmp_path):
    tables, schema = clinic(40), synth.app_api.parse_related(SCHEMA)
    with pytest.raises(UsageError, match="with their keys"):
        synth.run(tables, schema=schema.tables["patients"], epsilon=1.0, delta=1e-5)
    with pytest.raises(UsageError, match="frames and paths by table"):
        synth.run(tables["patients"], schema=schema, epsilon=1.0, delta=1e-5)
    with pytest.raises(InputError, match="no folder"):
        synth.run(tmp_path / "none", schema=schema, epsilon=1.0, delta=1e-5)
    with pytest.raises(UsageError, match="`where=ward"):
        synth.app_api.sample_to(_stored(tables, tmp_path), tmp_path / "s", where={"ward": "a"})


def _stored(tables, tmp_path):
    synth.run(
        tables, schema=synth.app_api.parse_related(SCHEMA), epsilon=1.0, delta=1e-5, out=tmp_path / "r", num_rows=20
    )
    return tmp_path / "r"
