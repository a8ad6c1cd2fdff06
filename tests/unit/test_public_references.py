"""Rows with two parents: one the unit's way, the other a public table, referred to by one column or several; related
tables whose private files have semicolons and decimal commas: what reads the release reads it as written."""

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import InputError
from synth.release import leaving
from tests.made import ID, a_key, codes, facts_of, number, several

pytestmark = pytest.mark.usefixtures("few_steps")
KEY = ID
BEDS = pd.DataFrame({"unit": ["a", "a", "b", "c"], "bed": ["1", "2", "1", "3"], "floor": ["0", "0", "1", "2"]})


def plain(**changes):
    stays = {"pid": KEY, "unit": codes("a", "b", "c"), "bed": codes("1", "2", "3"), "days": number(0, 9)}
    facts = several(
        a_key("stays", "patients", "pid", 3), patients=facts_of(pid=KEY, sex=codes("f", "m")), stays={"columns": stays}
    ) | {"dataset": "beds", "public": {"beds": {"key": ["unit", "bed"], "referred_by": ["stays.unit+bed"]}}}
    return {**facts, **changes}


def tables(beds=BEDS):
    rng = np.random.default_rng(1)
    who, bed = np.repeat(np.arange(150), 2), BEDS.iloc[rng.integers(0, len(BEDS), 300)]
    stays = pd.DataFrame({"pid": who, "unit": bed["unit"].to_numpy(), "bed": bed["bed"].to_numpy(), "days": who % 10})
    patients = pd.DataFrame({"pid": np.arange(150), "sex": np.resize(["f", "m"], 150)})
    return {"patients": patients, "stays": stays, **({} if beds is None else {"beds": beds})}


def made(given, facts, tmp_path, **options):
    return synth.run(
        given, schema=synth.app_api.parse_related(facts), epsilon=1, delta=1e-6, ledger=tmp_path / "l.sqlite", **options
    )


def test_every_row_refers_to_a_row_of_the_public_table_also_those_drawn_later(tmp_path):
    made(tables(), plain(), tmp_path, out=tmp_path / "out")
    there = set(zip(BEDS["unit"], BEDS["bed"], strict=True))
    drawn, _ = synth.sample(tmp_path / "out", num_rows=300, seed=1)
    for frame in (synth.Release(tmp_path / "out").frames["stays"], drawn["stays"]):
        assert set(zip(frame["unit"], frame["bed"].astype(str), strict=True)) <= there
    assert (tmp_path / "out" / "beds.csv").exists()
    again = synth.Release(tmp_path / "out").refit(method="independent", out=tmp_path / "again", num_rows=60, seed=2)
    stays = again.frames["stays"]
    assert set(zip(stays["unit"], stays["bed"].astype(str), strict=True)) <= there
    assert len(again.frames["patients"]) == 60
    leaving.may_leave(tmp_path / "again")


@pytest.mark.parametrize(
    ("given", "facts", "rule"),
    [
        (tables(None), plain(), "stays refers by unit, bed, so its file must lie beside the others"),
        (tables(pd.concat([BEDS, BEDS[:1]])), plain(), "alike in two rows"),
        (tables(BEDS[:3]), plain(), "its unit has no 'c', a category of stays.unit"),
        (tables(BEDS.drop(columns="bed")), plain(), "it has no column bed"),
    ],
)
def test_a_table_that_does_not_hold_the_reference_is_refused_before_the_spend(tmp_path, given, facts, rule):
    with pytest.raises(InputError, match=rule):
        made(given, facts, tmp_path)
    assert not synth.Ledger(tmp_path / "l.sqlite").entries()


def test_a_stated_rule_stands_in_for_the_public_table(tmp_path):
    facts = plain()
    lines = BEDS[["unit", "bed"]].to_numpy().tolist()
    facts["tables"]["stays"]["constraints"] = [{"kind": "fixed", "columns": ["unit", "bed"], "combinations": lines}]
    frame = made(tables(None), facts, tmp_path).frames["stays"]
    assert set(zip(frame["unit"], frame["bed"].astype(str), strict=True)) <= {tuple(line) for line in lines}


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        (
            plain(public={"beds": {"key": ["unit", "bed"], "referred_by": ["stays.unit"]}}),
            "'stays.unit' names 1 columns and its key has 2",
        ),
        (
            plain(public={"beds": {"key": ["unit", "days"], "referred_by": ["stays.unit+days"]}}),
            "stays.days must be categorical",
        ),
        (
            plain(public={"beds": {"key": ["unit", "unit"], "referred_by": ["stays.unit+bed"]}}),
            "several different ones",
        ),
    ],
)
def test_a_reference_that_cannot_hold_is_refused(facts, rule):
    with pytest.raises(InputError, match=rule):
        synth.app_api.parse_related(facts)


def star(**more):
    facts = plain(public=None)
    ward = facts_of(wid=KEY, kind=codes("x", "y"))
    stays = facts["tables"]["stays"]["columns"]
    tables = {**facts["tables"], "wards": ward, "stays": facts_of(**stays, wid=KEY)}
    second = a_key("stays", "wards", "wid", 9)
    return {**facts, "tables": tables, "keys": [*facts["keys"], second], **more}


def test_a_star_of_private_tables_is_refused_with_both_keys_and_the_remedy():
    with pytest.raises(InputError) as refused:
        synth.app_api.parse_related(star())
    assert "patients by pid; wards by wid" in str(refused.value)
    assert '"referred_by": ["stays.wid"]' in str(refused.value)


def test_a_diamond_is_refused_as_one():
    facts = star()
    facts["tables"]["wards"]["columns"]["pid"] = KEY
    facts["keys"].append(a_key("wards", "patients", "pid", 2))
    with pytest.raises(InputError, match=r"stays has several parents .* both lead to patients"):
        synth.app_api.parse_related(facts)


WARD = codes("a", "b")
LENGTH = number(0, 10, decimals=1)
DIALECT = {"delimiter": ";", "decimal": ","}
FACTS = several(
    a_key("stays", "patients", "pid", 2),
    patients=facts_of(pid=KEY, sex=WARD) | {"dialect": DIALECT},
    stays=facts_of(pid=KEY, ward=WARD, length=LENGTH) | {"dialect": DIALECT},
) | {"dataset": "clinic"}
ONE = facts_of(pid=KEY, sex={**WARD, "of": "unit"}, length=LENGTH) | {
    "dataset": "stays",
    "dialect": DIALECT,
    "unit": "pid",
    "max_rows": 2,
}


@pytest.mark.parametrize("facts", [FACTS, ONE], ids=["two tables", "one table"])
def test_reports_questions_bundle_and_priors_read_a_release_in_another_dialect(tmp_path, facts):
    tables, ledger = tmp_path / "tables", tmp_path / "ledger.sqlite"
    if facts is FACTS:
        tables.mkdir()
        (tables / "patients.csv").write_text("pid;sex\n" + "".join(f"{i};a\n" for i in range(60)))
        (tables / "stays.csv").write_text("pid;ward;length\n" + "".join(f"{i % 60};b;7,5\n" for i in range(100)))
    else:
        tables = tmp_path / "stays.csv"
        tables.write_text("pid;sex;length\n" + "".join(f"{i % 60};a;7,5\n" for i in range(100)))
    how = {"schema": synth.app_api.parse_schema(facts), "epsilon": 20.0, "delta": 1e-5, "ledger": ledger}
    result = synth.run(tables, out=tmp_path / "out", method="independent", **how)
    assert synth.report(tmp_path / "out", tmp_path / "public.html")
    assert synth.report(tmp_path / "out", tmp_path / "own.html", real=tables, ledger=ledger)
    assert result.compare(tables, ledger=ledger).verdict.uses
    asked = {"table": "stays" if facts is FACTS else "rows", "kind": "mean", "column": "length"}
    said = synth.Release(tmp_path / "out").question(asked).price()["terms"]["mean"]["synthetic"]
    assert said == pytest.approx(7.5, abs=0.5)
    assert synth.bundle(tmp_path / "out", tmp_path / "out.zip", how="only", ledger=ledger, unfinished=True).parts
    later = synth.run(tables, prior=[str(tmp_path / "out")], **{**how, "schema": synth.app_api.parse_schema(facts)})
    (prior,) = later.card["priors"]
    assert prior["rows"] > 30
