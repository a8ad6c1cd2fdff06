"""A run with a public table beside the private one: what is refused before the spend, what the card and files say."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.pipeline.reporting import Quiet
from synth.pipeline.run import refit
from synth.privacy.ledger.row_marks import NOBODY
from synth.questions import PublicCounts
from synth.release import folder
from tests.made import a_schema, codes, facts_of, number

SCHEMA = a_schema(age=number(0, 99), sex=codes("f", "m"), ill=codes("no", "yes", nullable=True))
FACTS = {"schema": SCHEMA, "epsilon": 1.0, "delta": 1e-5, "dataset": "d"}
WHY = "the yearbook's sample, says the office"


def people(num_rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, num_rows)
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], num_rows),
            "ill": np.where(rng.random(num_rows) < age / 120, "yes", "no"),
        }
    )


@pytest.fixture
def older(tmp_path):
    path = tmp_path / "older.csv"
    people(400, 1).to_csv(path, index=False)
    return path


def spends():
    return [e for e in synth.Ledger().entries() if e.kind == "spend"]


def test_the_card_names_the_prior_and_the_release_can_be_fitted_again_without_it(older, tmp_path):
    out = tmp_path / "out"
    result = synth.run(people(500, 0), **FACTS, prior=older, prior_reason=WHY, out=out, seed=1)
    (reported,) = json.loads((out / "card.json").read_text())["priors"]
    assert (reported["name"], reported["rows"], reported["reason"]) == ("older.csv", 400, WHY)
    assert reported["columns"] == ["age", "ill", "sex"]
    assert "public counts" in result.card["release_kinds"]
    older.unlink()
    stored = folder.load_release(out)
    assert {type(r) for r in stored.releases} >= {PublicCounts}
    again = refit(out, seed=1)
    assert again.frame.equals(result.frame)


def test_an_earlier_release_is_a_prior_and_its_card_says_what_it_is(tmp_path):
    synth.run(people(500, 0), **FACTS, out=tmp_path / "first")
    later = synth.run(people(500, 2), **FACTS | {"dataset": "e"}, prior=tmp_path / "first", separate=True)
    (reported,) = later.card["priors"]
    assert reported["reason"].startswith("an earlier release, with epsilon 1 and delta 1e-05 for one row, which")
    assert (reported["epsilon"], reported["delta"]) == (1.0, 1e-5)


def test_the_card_adds_up_a_chain_of_releases_and_counts_none_twice(tmp_path):
    retained = {"separate": True, "delta": 1e-6}
    synth.run(people(500, 0), **FACTS | retained, out=tmp_path / "one")
    synth.run(people(500, 1), **FACTS | retained, prior=tmp_path / "one", out=tmp_path / "two")
    third = synth.run(people(500, 2), **FACTS | retained, prior=[tmp_path / "two", tmp_path / "one"])
    assert [e["epsilon"] for e in third.card["earlier_releases"]] == [1.0, 1.0]
    reported = third.card["in_all_releases"]
    assert (reported["epsilon"], reported["delta"]) == pytest.approx((3.0, 3e-6))
    assert "all 2 earlier ones that it rests on: epsilon 3" in reported["statement"]
    assert third.card["epsilon"] == 1.0


def test_every_document_says_that_the_guarantee_holds_given_the_prior(older, tmp_path):
    """All pages and documents of a bundle that list what is not protected name the prior, its hash and who confirms."""
    out = tmp_path / "out"
    result = synth.run(people(500, 0), **FACTS, prior=older, prior_reason=WHY, out=out, seed=1)
    (reported,) = [i for i in result.card["invariants"] if i["what"].startswith("prior older.csv")]
    assert (reported["of"], reported["vouched"].startswith(WHY)) == (["age", "ill", "sex"], True)
    assert "the guarantee holds given this table" in reported["vouched"]
    synth.bundle(out, tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        texts = {n: archive.read(n).decode() for n in archive.namelist() if n.endswith((".html", ".md", ".json"))}
    listing = {n: t for n, t in texts.items() if "column names and their order" in t}
    assert {"card.json", "card.html"} < set(listing)
    assert len(listing) >= 5
    for name, text in listing.items():
        for words in ("older.csv", result.card["priors"][0]["sha256"], WHY.split(",")[0], "holds given this table"):
            assert words in text.replace("&#39;", "'"), (name, words)


def test_reasons_are_said_once_for_all_priors_or_once_for_each(older, tmp_path):
    other = tmp_path / "other.csv"
    people(300, 7).to_csv(other, index=False)
    each = synth.run(people(500, 0), **FACTS, prior=[older, other], prior_reason=["a yearbook", "a survey"])
    assert [p["reason"] for p in each.card["priors"]] == ["a yearbook", "a survey"]
    with pytest.raises(UsageError, match="once for each in their order"):
        synth.run(people(500, 0), **FACTS, prior=[older, other], prior_reason=["a yearbook"])


def test_a_prior_with_other_spellings_is_read_by_the_schema(tmp_path):
    path = tmp_path / "other.parquet"
    people(300, 1).assign(sex=lambda t: t.sex.str.upper().str.lower(), more=1).drop(columns="ill").to_parquet(path)
    result = synth.run(people(500, 0), **FACTS, prior=[path], prior_reason=WHY)
    assert result.card["priors"][0]["columns"] == ["age", "sex"]


def test_what_cannot_be_a_prior_is_refused_before_the_spend(older, tmp_path):
    private = tmp_path / "private.csv"
    people(500, 0).to_csv(private, index=False)
    strange = tmp_path / "strange.csv"
    pd.DataFrame({"a": [1]}).to_csv(strange, index=False)

    def refused(error, words, **options):
        with pytest.raises(error, match=words):
            synth.run(private, **FACTS, **options)

    refused(UsageError, "older.csv: say why it is public", prior=older)
    refused(UsageError, "older.csv: say why it is public", prior=older, prior_reason=" ")
    refused(UsageError, "method aim takes no public data", prior=older, prior_reason=WHY, method="aim")
    refused(InputError, "strange.csv: it has none of the schema's columns", prior=strange, prior_reason=WHY)
    refused(InputError, "nowhere.csv", prior=tmp_path / "nowhere.csv", prior_reason=WHY)
    refused(UsageError, "private.csv: it holds the private table's rows", prior=private, prior_reason=WHY)
    assert not spends()


def test_cells_that_the_schema_does_not_know_are_named_before_the_spend(tmp_path):
    """The file is public, so that it may be said how many they are."""
    path, notes = tmp_path / "coded.csv", []
    people(50, 1).assign(sex="?").to_csv(path, index=False)
    reporter = Quiet()
    reporter.note = notes.append
    synth.run(people(300, 0), **FACTS, prior=path, prior_reason=WHY, reporter=reporter)
    assert any("public data coded.csv: 50 cells hold none of the schema's values" in n for n in notes)


def test_only_who_may_spend_on_the_rows_learns_that_a_prior_holds_them(tmp_path):
    private = tmp_path / "private.csv"
    people(500, 0).to_csv(private, index=False)
    options = {**FACTS, "prior": private, "prior_reason": WHY}
    older = tmp_path / "older.csv"
    people(500, 7).to_csv(older, index=False)
    for prior in (private, older):
        with pytest.raises(UsageError, match="public tables are compared with the private ones before a run"):
            synth.run(private, **options | {"prior": prior}, audience=NOBODY)
    assert not spends()


def test_facts_that_are_learnt_in_the_run_meet_a_prior_afterwards(older):
    facts = synth.Schema.parse(facts_of(age={"type": "integer"}, sex=codes("f", "m")), complete=False)
    result = synth.run(
        people(3000, 0), **{**FACTS, "schema": facts, "epsilon": 5.0}, learn_share=0.2, prior=older, prior_reason=WHY
    )
    assert result.card["priors"][0]["columns"] == ["age", "sex"]


@pytest.mark.parametrize("rows", [500, 30])
@pytest.mark.parametrize("left_out", [0, 1])
def test_no_table_that_the_ledger_ever_charged_is_a_public_prior(tmp_path, rows, left_out):
    """Last year's, whatever its dataset, and this year's without a row, also of small tables."""
    for year, seed in (("last", 3), ("this", 0)):
        people(rows, seed).to_csv(tmp_path / f"{year}.csv", index=False)
    facts = {n: f for n, f in FACTS.items() if n != "dataset"}
    synth.run(tmp_path / "last.csv", **facts, dataset="last")
    before = len(spends())
    for year, seed in (("last", 3), ("this", 0)):
        private = tmp_path / f"as_public_{year}.csv"
        people(rows, seed).iloc[left_out:].to_csv(private, index=False)
        with pytest.raises(UsageError, match=r"holds the private|were charged to this ledger"):
            synth.run(tmp_path / "this.csv", **facts, dataset="this", prior=private, prior_reason=WHY)
    assert len(spends()) == before
    other = tmp_path / "other.csv"
    people(rows, 11).to_csv(other, index=False)
    synth.run(tmp_path / "this.csv", **facts, dataset="this", prior=other, prior_reason=WHY)
