"""One gate for all that leaves: what a bundle refuses, every other way out refuses, and nobody's file goes with it."""

import json
import shutil
import zipfile

import pandas as pd
import pytest

import synth
from app.result import releasing
from synth import jobs
from synth.errors import SynthError
from synth.jobs import looks
from synth.pipeline.sample import sample_to
from synth.pipeline.series import changes
from synth.pipeline.verified import Questions
from synth.privacy.noise import SeededNoise
from synth.release.leaving import AS_STORED
from synth.report import chosen_release
from tests.conftest import SMALL, small_frame
from tests.made import ID, codes, facts_of, number

SCHEMA = synth.Schema.parse({"columns": {n: SMALL["columns"][n] for n in ("age", "sex", "ill")}})
ASKED = {"schema": SCHEMA, "epsilon": 1.0, "delta": 1e-6, "seed": 1}
CLAIMED = ("epsilon", "delta", "meaning", "selection")
SECRET = "a file of the machine\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table, two releases of it and one with seeded noise, by one ledger, which no test changes."""
    place = tmp_path_factory.mktemp("leaving")
    small_frame(400)[["age", "sex", "ill"]].to_csv(place / "real.csv", index=False)
    asked = {**ASKED, "dataset": "d", "ledger": place / "ledger.sqlite"}
    for name in ("out", "other"):
        synth.run(place / "real.csv", out=place / name, **asked)
    synth.run(place / "real.csv", out=place / "seeded", noise=SeededNoise(1), **asked)
    return place


@pytest.fixture
def at(made, tmp_path, own_state):
    """The same, with a ledger and notes of the test's own."""
    for name in ("out", "other", "seeded"):
        shutil.copytree(made / name, tmp_path / name)
    shutil.copy(made / "real.csv", tmp_path / "real.csv")
    for name in ("", ".key", ".mark"):
        shutil.copy(made / f"ledger.sqlite{name}", own_state / f"ledger.sqlite{name}")
    return tmp_path


def prior(folder):
    frame = small_frame(700)[["age", "sex", "ill"]].tail(300)
    synth.run(frame, **ASKED, dataset="next", prior=folder, separate=True)


# every way on which something of a release reaches others; the last ones open no table
WAYS = {
    "bundle": lambda folder: synth.bundle(folder, folder.parent / "b.zip"),
    "prior": prior,
    "series": lambda folder: changes(next(p / "other" for p in folder.parents if (p / "other").exists()), folder),
    "report": lambda folder: synth.report(folder, folder.parent / "r.html"),
    "sample": lambda folder: synth.sample(folder, num_rows=5),
    "sample to": lambda folder: sample_to(folder, folder.parent / "s.csv", num_rows=5),
    "multiple": lambda folder: list(synth.app_api.multiple(folder, count=2, num_rows=5)),
}
OF_MODELS = ("sample", "sample to", "multiple")


def seeded(at):
    return at / "seeded"


def scores_noted(at):
    chosen_release.settle(at / "out", "scores")
    return at / "out"


def scores_on_the_card(at):
    card = json.loads((at / "out" / "card.json").read_text())
    card["selection"] = chosen_release.choice.selection("scores")
    (at / "out" / "card.json").write_text(json.dumps(card))
    return at / "out"


def swapped(at):
    shutil.copy(at / "real.csv", at / "out" / "synthetic.csv")
    return at / "out"


def linked(at, name="synthetic.csv"):
    (at / "out" / name).rename(at / name)
    (at / "out" / name).symlink_to(at / name)
    return at / "out"


def no_digest(at):
    for name in ("card", "release", "model"):
        plain = json.loads((at / "out" / f"{name}.json").read_text())
        (plain if name == "card" else plain["card"])["synthetic_sha256"] = None
        (at / "out" / f"{name}.json").write_text(json.dumps(plain))
    return at / "out"


def signed(at, how=None):
    """The release in a job's folder, as a reviewer released it there."""
    job = jobs.create({"dataset": "d"}, folder=at / "job")
    (at / "out").rename(job.path / "release")
    done = {"paths": {"synthetic": str(job.path / "release" / "synthetic.csv")}}
    (job.path / "result.json").write_text(json.dumps(done))
    if how:
        looks.choose([job], how)
    looks.release(job, by="ann", approved_by="bob", shown=releasing.to_sign(job)["job"])
    return job.path / "release"


def changed_under_a_signature(at):
    folder = signed(at)
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps({**card, "deployment": {"contact": "somebody else"}}))
    return folder


def another_choice_under_a_signature(at):
    folder = signed(at, "releases")
    (at / "job" / looks.CHOICE).write_text(json.dumps({"how": "before"}))
    return folder


def damaged_signature(at):
    folder, signature = changed_under_a_signature(at), at / "job" / "released.json"
    signature.write_text(signature.read_text()[:-5])
    return folder


def model_by_itself(at):
    (at / "loose").mkdir()
    for name in ("model.json", "model.safetensors"):
        shutil.copy(scores_noted(at) / name, at / "loose" / name)
    return at / "loose" / "model.json"


FAULTS = {
    "changed, with a damaged signature": (damaged_signature, tuple(WAYS)),
    "exact scores, a model without its card": (model_by_itself, ("sample",)),
    "changed since it was signed": (changed_under_a_signature, tuple(WAYS)),
    "another choice than was signed": (another_choice_under_a_signature, tuple(WAYS)),
    "seeded noise": (seeded, tuple(WAYS)),
    "exact scores, noted beside the ledger": (scores_noted, tuple(w for w in WAYS if w != "bundle")),
    "exact scores, on the card": (scores_on_the_card, tuple(WAYS)),
    "the private table in its place": (swapped, tuple(w for w in WAYS if w not in OF_MODELS)),
    "a link in its place": (linked, tuple(w for w in WAYS if w not in OF_MODELS)),
    "no digest of the table": (no_digest, tuple(w for w in WAYS if w not in OF_MODELS)),
}


def test_answers_tell_nothing_of_a_table_that_the_card_does_not_name(at):
    """The mean over the synthetic rows, of which an answer tells, is that of the card's table or none."""
    with pytest.raises(SynthError, match="not the table that the card names"):
        Questions(swapped(at), {"kind": "mean", "column": "age"}).answer(
            at / "real.csv", epsilon=0.1, delta=1e-6, dataset="d"
        )
    assert len([e for e in synth.Ledger().entries("d") if e.kind == "spend"]) == 3, "before the spend"


@pytest.mark.parametrize("way", WAYS)
def test_what_may_leave_does_on_every_way(at, way):
    if way == "bundle":
        synth.bundle(at / "out", at / "b.zip", how="before")
    else:
        WAYS[way](at / "out")


@pytest.mark.parametrize(("fault", "way"), [(f, w) for f, (_, ways) in FAULTS.items() for w in ways])
def test_what_no_bundle_takes_leaves_on_no_way(at, fault, way):
    folder = FAULTS[fault][0](at)
    before = len(synth.Ledger().entries())
    with pytest.raises(SynthError):
        WAYS[way](folder)
    assert len(synth.Ledger().entries()) == before, "refused before the spend"


@pytest.mark.parametrize("name", [*AS_STORED, "synthetic.csv"])
def test_no_file_of_a_release_is_a_link(at, name):
    with pytest.raises(SynthError, match="is a link, which is never followed"):
        synth.bundle(linked(at, name), at / "b.zip", how="before")


@pytest.mark.parametrize("way", WAYS)
def test_what_was_signed_leaves_on_every_way(at, way):
    WAYS[way](signed(at))


def test_figures_under_a_signature_are_those_that_were_signed(at):
    """Whatever is charged or compared afterwards: in every language, as a PDF, as a prior."""
    folder, out = signed(at), at / "b.zip"
    before = synth.bundle(folder, out)
    assert before.how == "unstated"
    synth.run(at / "real.csv", **ASKED, dataset="d", out=at / "later")
    chosen_release.look(at / "later")
    for more in ({}, {"language": "de"}, {"as_pdf": True}):
        made = synth.bundle(folder, out, **more)
        assert [made.card[n] for n in CLAIMED] == [before.card[n] for n in CLAIMED]
    assert synth.bundle(at / "other", out, how="releases").epsilon > before.epsilon
    (priced,) = synth.run(
        small_frame(700)[["age", "sex", "ill"]].tail(300), **ASKED, dataset="next", prior=folder, separate=True
    ).card["priors"]
    assert priced["epsilon"] == before.epsilon


def test_nobody_says_otherwise_than_was_signed(at):
    folder = signed(at, "releases")
    with pytest.raises(synth.UsageError, match="released it as releases; what he signed stands"):
        synth.bundle(folder, at / "b.zip", how="before")
    with pytest.raises(synth.UsageError, match="signed other answers"):
        synth.bundle(folder, at / "b.zip", facts={"contact": "somebody else"})
    assert synth.bundle(folder, at / "b.zip").how == "releases"


def test_a_prior_that_was_compared_with_the_rows_says_how_it_was_chosen(at):
    """As a bundle must; but where all that were compared are taken, none was chosen."""
    for name in ("out", "other"):
        chosen_release.look(at / name)
    with pytest.raises(SynthError, match="say with `how=` how this one was chosen"):
        prior(at / "out")
    prior([at / "out", at / "other"])


def test_a_priors_price_is_that_of_its_choice(at):
    """Three runs were charged to its dataset: whoever is in it and in the next has what all of them took, and one."""
    frame = small_frame(700)[["age", "sex", "ill"]].tail(300)
    card = synth.run(frame, **ASKED, dataset="next", prior=at / "out", separate=True).card
    assert card["in_all_releases"]["epsilon"] == 4.0


BEFORE_A_SPEND = {
    "plan": lambda prior: synth.plan(SCHEMA, rows=300, epsilon=1.0, delta=1e-6, prior=prior),
    "worth": lambda prior: synth.app_api.prior_worth(SCHEMA, prior, rows=300, epsilons=(1.0,), delta=1e-6),
    "preview": lambda prior: synth.app_api.preview(
        SCHEMA, prior[0].parent / "preview", prior=prior, rows=300, epsilon=1.0, delta=1e-6
    ),
}


def compared_before(at):
    for name in ("out", "other"):
        chosen_release.look(at / name)
    return at / "out"


def another_ledgers(at):
    for part in ("", ".key", ".mark"):
        (synth.Ledger().store.path.parent / f"ledger.sqlite{part}").unlink()
    return at / "out"


REFUSED = {name: make for name, (make, ways) in FAULTS.items() if "prior" in ways} | {
    "compared with the rows": compared_before,
    "paid for by another ledger": another_ledgers,
}


@pytest.mark.parametrize("fault", REFUSED)
def test_whatever_a_run_refuses_of_a_prior_is_refused_before_it_alike(at, fault):
    folder = REFUSED[fault](at)
    with pytest.raises(SynthError) as by_run:
        prior(folder)
    for name, way in BEFORE_A_SPEND.items():
        with pytest.raises(SynthError) as refused:
            way([folder])
        assert (refused.value.exit_code, str(refused.value)) == (by_run.value.exit_code, str(by_run.value)), name
    (told,) = synth.app_api.prior_look([folder], schema=SCHEMA)
    assert told.refused == str(by_run.value)


def test_whatever_a_run_takes_as_a_prior_is_taken_before_it(at):
    """A preview has a ledger of its own, which did not pay for the prior."""
    compared_before(at)
    taken = [at / "out", at / "other"]
    for way in BEFORE_A_SPEND.values():
        way(taken)
    assert not [one.refused for one in synth.app_api.prior_look(taken, schema=SCHEMA) if one.refused]
    prior(taken)


def test_another_ledgers_release_says_itself_what_its_choice_took(at, monkeypatch, tmp_path):
    monkeypatch.setenv("SYNTH_LEDGER", str(tmp_path / "elsewhere.sqlite"))
    with pytest.raises(SynthError, match="is not in the ledger"):
        prior(at / "out")
    monkeypatch.undo()


def test_a_public_table_without_a_digest_takes_no_file_along(tmp_path):
    """A card with null for it, and a link in its place, packed any file of the machine."""
    folder = related(tmp_path)
    (tmp_path / "secret").write_text(SECRET)
    (folder / "wards.csv").unlink()
    (folder / "wards.csv").symlink_to(tmp_path / "secret")
    for way in (lambda: synth.bundle(folder, tmp_path / "b.zip"), lambda: sample_to(folder, tmp_path / "more")):
        with pytest.raises(SynthError):
            way()
    for name in ("card", "release", "model"):
        plain = json.loads((folder / f"{name}.json").read_text())
        (plain if name == "card" else plain["card"])["tables_sha256"]["wards"] = None
        (folder / f"{name}.json").write_text(json.dumps(plain))
    for way in (lambda: synth.bundle(folder, tmp_path / "b.zip"), lambda: sample_to(folder, tmp_path / "more")):
        with pytest.raises(SynthError):
            way()
    assert not (tmp_path / "b.zip").exists()
    assert all(SECRET not in p.read_text() for p in (tmp_path / "more").rglob("*") if p.is_file())


def related(place):
    """A release of two tables that refer to a public one."""
    (place / "in").mkdir()
    rng = range(60)
    pd.DataFrame({"pid": [f"p{i}" for i in rng], "age": [i % 50 for i in rng]}).to_csv(
        place / "in/persons.csv", index=False
    )
    pd.DataFrame({"pid": [f"p{i}" for i in rng], "ward": ["ab"[i % 2] for i in rng]}).to_csv(
        place / "in/stays.csv", index=False
    )
    pd.DataFrame({"ward": ["a", "b"], "beds": [3, 4]}).to_csv(place / "in/wards.csv", index=False)
    schema = synth.app_api.parse_related(
        {
            "tables": {"persons": facts_of(pid=ID, age=number(0, 49)), "stays": facts_of(pid=ID, ward=codes("a", "b"))},
            "keys": [{"child": "stays", "columns": ["pid"], "parent": "persons", "most_children": 2}],
            "public": {"wards": {"key": "ward", "referred_by": ["stays.ward"]}},
        }
    )
    synth.run(place / "in", schema=schema, epsilon=1.0, delta=1e-6, dataset="r", seed=1, out=place / "out")
    with zipfile.ZipFile(synth.bundle(place / "out", place / "whole.zip").path) as whole:
        assert "wards.csv" in whole.namelist()
    return place / "out"
