"""A second parent within a unit, and tables of pairs: a column refers to a row of another table of the same unit."""

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import InputError
from tests.made import ID, a_key, codes, facts_of, number, ran, several

REFERS = {"kind": "refers", "child": "drugs.did", "parent": "diagnoses.did"}
PAIRS = {"kind": "refers", "child": "treats.did", "parent": "diagnoses.did"}
FACTS = several(
    a_key("diagnoses", "patients", "pid", 4),
    a_key("stays", "patients", "pid", 4),
    a_key("drugs", "stays", "sid", 4),
    a_key("treats", "stays", "sid", 4),
    patients=facts_of(pid=ID, sex=codes("f", "m")),
    diagnoses=facts_of(did=ID, pid=ID, grade=number(1, 3)),
    stays=facts_of(sid=ID, pid=ID, days=number(0, 9)),
    drugs=facts_of(sid=ID, did=ID, dose=number(1, 5)),
    treats=facts_of(sid=ID, did=ID, since=number(0, 9)),
) | {"constraints": [REFERS, PAIRS]}


def rows(patients=300):
    """Every patient has diagnoses and stays; drugs refer to a diagnosis, and a stay treats several."""
    rng = np.random.default_rng(2)
    up = pd.DataFrame({"pid": range(patients), "sex": rng.choice(["f", "m"], patients)})
    told = np.repeat(np.arange(patients), rng.integers(1, 5, patients))
    diagnoses = pd.DataFrame({"did": range(len(told)), "pid": told, "grade": rng.integers(1, 4, len(told))})
    stayed = np.repeat(np.arange(patients), rng.integers(1, 3, patients))
    stays = pd.DataFrame({"sid": range(len(stayed)), "pid": stayed, "days": rng.integers(0, 10, len(stayed))})
    pairs = stays.merge(diagnoses, on="pid")[["sid", "did"]]
    drugs = pairs.sample(frac=0.7, random_state=0).assign(dose=3)
    return {
        "patients": up,
        "diagnoses": diagnoses,
        "stays": stays,
        "drugs": drugs,
        "treats": pairs.assign(since=rng.integers(0, 10, len(pairs))),
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two runs, with rows that all refer to one and with half of the drugs that do."""
    out = {}
    for name, share in (("all", 1.0), ("half", 0.5)):
        facts = {**FACTS, "constraints": [{**REFERS, "share": share}, PAIRS]}
        at = tmp_path_factory.mktemp(name)
        out[name] = ran(rows(), facts, at=at, epsilon=8.0, method="independent", seed=0)
    return out


def test_a_row_refers_to_one_of_the_same_unit(made):
    tables = made["all"].frames
    of_unit = tables["diagnoses"].set_index("did")["pid"]
    unit = tables["stays"].set_index("sid")["pid"]
    has_one = unit.isin(of_unit)
    for name in ("drugs", "treats"):
        table = tables[name]
        there = table["did"].notna()
        assert (of_unit.loc[table["did"][there]].to_numpy() == unit.loc[table["sid"][there]].to_numpy()).all()
        assert (there.to_numpy() == has_one.loc[table["sid"]].to_numpy()).all(), "empty where there is none alone"
    kept = {tuple(k["columns"]): k["kept"] for k in made["all"].card["constraints"] if k["kind"] == "refers"}
    shares = {n: tables[n]["did"].notna().mean() for n in ("drugs", "treats")}
    assert kept["diagnoses.did", "drugs.did"] == pytest.approx(shares["drugs"])
    assert kept["diagnoses.did", "treats.did"] == pytest.approx(shares["treats"])


def test_a_pair_stands_once_while_there_are_others(made):
    """Many to many: of one stay no diagnosis twice, unless it has more lines than its patient has diagnoses."""
    tables = made["all"].frames
    lines = tables["treats"].merge(tables["stays"][["sid", "pid"]], on="sid")
    many = lines["pid"].map(tables["diagnoses"].groupby("pid").size()).fillna(0)
    by_stay = lines.assign(many=many).dropna(subset="did").groupby("sid")
    assert (by_stay["did"].nunique() == np.minimum(by_stay.size(), by_stay["many"].first())).all()


def test_a_share_refers_to_none(made):
    """Of the rows that could refer to one half do: a false alarm once in a million and a half runs."""
    kept = {tuple(k["columns"]): k["kept"] for k in made["half"].card["constraints"] if k["kind"] == "refers"}
    there = made["half"].frames["drugs"]["did"].notna()
    could = kept["diagnoses.did", "drugs.did"] * len(there)
    assert abs(there.sum() / could - 0.5) < 5 * 0.5 / np.sqrt(could)


def test_nothing_is_asked_about_it():
    schema = synth.app_api.parse_related(FACTS)
    assert {n: [*schema.as_measured(n).columns] for n in ("drugs", "treats")} == {
        "drugs": ["dose"],
        "treats": ["since"],
    }


WRONG = {
    "no column": ({"child": "drugs.x", "parent": "diagnoses.did"}, "drugs.x must be an identifier"),
    "a number": ({"child": "drugs.dose", "parent": "diagnoses.did"}, "drugs.dose must be an identifier"),
    "a key": ({"child": "drugs.sid", "parent": "diagnoses.did"}, "drugs.sid is part of a key already"),
    "above": ({"child": "drugs.did", "parent": "stays.sid"}, "stays is drugs or stands above it"),
    "another's key": ({"child": "drugs.did", "parent": "diagnoses.pid"}, "diagnoses.pid is the key of patients"),
    "no share": ({"child": "drugs.did", "parent": "diagnoses.did", "share": 0}, "share"),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_what_cannot_hold_is_refused(wrong):
    rule, said = WRONG[wrong]
    with pytest.raises(InputError, match=said):
        synth.app_api.parse_related({**FACTS, "constraints": [{"kind": "refers", **rule}]})
