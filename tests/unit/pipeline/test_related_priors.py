"""Related tables with public ones beside them: what is refused before the spend, what they say, what is stored."""

import json

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.questions import PublicLinked
from synth.release import folder, leaving
from synth.release.card import verify
from tests.made import a_key, facts_of, number, several

LETTERS = {"type": "categorical", "categories": list("abcdef")}
KEY = {"type": "identifier"}
SCHEMA = synth.app_api.parse_related(
    several(
        a_key("persons", "homes", "id", 3),
        homes=facts_of(id=KEY, area=LETTERS, kind=LETTERS),
        persons=facts_of(id=KEY, job=LETTERS, age=number(0, 99), sex=LETTERS),
    )
)
WHY = "the office's file of 2024"
FACTS = {"schema": SCHEMA, "epsilon": 1.0, "delta": 1e-5}

pytestmark = pytest.mark.usefixtures("few_steps")


def homes(many: int, seed: int) -> dict[str, pd.DataFrame]:
    """Homes whose area says the kind, and persons whose job repeats the area."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdef"))
    area = rng.choice(6, many, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    number = rng.integers(0, 4, many)
    owner = np.repeat(np.arange(many), number)
    persons = {
        "id": owner.astype(str),
        "job": letters[area[owner]],
        "age": rng.integers(0, 100, len(owner)).astype(str),
        "sex": letters[rng.integers(0, 2, len(owner))],
    }
    return {
        "homes": pd.DataFrame({"id": np.arange(many).astype(str), "area": letters[area], "kind": letters[area // 2]}),
        "persons": pd.DataFrame(persons),
    }


def written(tables, place):
    place.mkdir()
    for name, table in tables.items():
        table.to_csv(place / f"{name}.csv", index=False)
    return place


@pytest.fixture
def older(tmp_path):
    return written(homes(800, 1), tmp_path / "older")


def test_the_card_names_the_prior_and_the_release_holds_its_counts(older, tmp_path):
    out = tmp_path / "out"
    result = synth.run(homes(300, 0), **FACTS, dataset="d", prior=older, prior_reason=WHY, out=out, seed=1)
    (reported,) = json.loads((out / "card.json").read_text())["priors"]
    assert (reported["name"], reported["rows"], reported["reason"]) == ("older", 800, WHY)
    assert reported["columns"] == ["homes.area", "homes.kind", "persons.age", "persons.job", "persons.sex"]
    assert "public counts" in result.card["release_kinds"]
    for file in older.iterdir():
        file.unlink()
    stored = [r for r in folder.load_release(out, tree=True).releases if isinstance(r, PublicLinked)]
    assert {(r.name, r.sha256, r.num_rows) for r in stored} == {("older", reported["sha256"], 800)}
    assert {*synth.sample(out, num_rows=5)[0]} == {"homes", "persons"}
    assert verify.check(verify.load(out)).epsilon_derived <= 1.0
    leaving.may_leave(out)


def test_an_earlier_release_is_a_prior_and_its_card_says_what_it_is(tmp_path):
    synth.run(homes(300, 0), **FACTS, dataset="d", out=tmp_path / "first")
    later = synth.run(homes(300, 2), **FACTS, dataset="e", prior=tmp_path / "first", separate=True)
    (reported,) = later.card["priors"]
    assert reported["reason"].startswith("an earlier release, with epsilon 1 and delta 1e-05 for one")
    assert (reported["epsilon"], reported["delta"]) == (1.0, 1e-5)


def test_the_forecast_is_rehearsed_on_the_priors_own_units_and_says_what_they_leave_of_the_noise(older):
    asked = {"rows": 5_000, "epsilon": 1.0, "delta": 1e-5}
    alone = synth.plan(SCHEMA, **asked)
    beside = synth.plan(SCHEMA, **asked, prior=[older], prior_reason=WHY)
    assert (alone.like, beside.like) == (None, "older")
    assert "if units are like those of older" in beside.in_words()
    assert all(a.beside is None for a in alone.steps)
    across = next(a for a in beside.steps if (a.table, a.purpose) == ("persons", "with homes"))
    assert across.beside < 0.9 * across.error
    assert {(a.table, a.purpose) for a in beside.steps if a.purpose == "single columns"} == {
        (t, "single columns") for t in ("homes", "persons")
    }
    with pytest.raises(UsageError, match="say why it is public"):
        synth.plan(SCHEMA, **asked, prior=[older])


def test_the_forecast_rehearses_columns_that_a_prior_lacks_too(tmp_path):
    public = homes(800, 1)
    public["persons"] = public["persons"].drop(columns=["age"])
    place = written(public, tmp_path / "fewer")
    reported = synth.plan(SCHEMA, rows=300, epsilon=1.0, delta=1e-5, prior=[place], prior_reason=WHY)
    assert {a.table for a in reported.steps} == {"homes", "persons"}


def test_columns_that_a_prior_lacks_stay_as_they_are(tmp_path):
    public = homes(800, 1)
    public["persons"] = public["persons"].drop(columns=["age"])
    place = written(public, tmp_path / "fewer")
    result = synth.run(homes(300, 0), **FACTS, dataset="d", prior=place, prior_reason=WHY)
    assert "persons.age" not in result.card["priors"][0]["columns"]


def test_what_cannot_be_a_prior_is_refused_before_the_spend(older, tmp_path):
    private = homes(300, 0)
    same = written(private, tmp_path / "same")
    lonely = written({"homes": private["homes"]}, tmp_path / "lonely")
    keyless = written(private | {"persons": private["persons"].drop(columns="id")}, tmp_path / "keyless")
    facts = {**FACTS, "dataset": "d", "prior_reason": WHY}

    def refused(error, words, **options):
        with pytest.raises(error, match=words):
            synth.run(private, **facts | options)

    refused(UsageError, "older: say why it is public", prior=older, prior_reason=None)
    refused(UsageError, "method independent takes no public data", prior=older, method="independent")
    refused(InputError, "has no file for table persons", prior=lonely)
    refused(InputError, "keyless: table persons lacks column id", prior=keyless)
    refused(InputError, "is no folder", prior=older / "homes.csv")
    refused(UsageError, "same: it holds the private table's rows", prior=same)
    assert not [e for e in synth.Ledger().entries() if e.kind == "spend"]
