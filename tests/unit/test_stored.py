"""What earlier versions wrote stays readable: schemas, releases, models, cards, statistics, ledgers and job folders."""

import json
import shutil
from pathlib import Path

import pytest

import synth
from synth import jobs
from synth.privacy.ledger.ledger import Ledger
from synth.release import folder

STORED = Path(__file__).parents[1] / "stored"
VERSIONS = ("before_rooms", "before_requests")


@pytest.fixture(params=VERSIONS)
def place(request, tmp_path, monkeypatch):
    """A copy of one version's files, its paths set to where they lie now; its ledger is the one in use."""
    at = tmp_path / request.param
    shutil.copytree(STORED / request.param, at)
    for file in at.rglob("*.json"):
        file.write_text(file.read_text().replace("PLACE", str(at)))
    monkeypatch.setenv("SYNTH_LEDGER", str(at / "ledger.sqlite"))
    return at


def test_schemas_are_read(place):
    assert set(synth.Schema.load(place / "people.schema.json").columns) >= {"age", "seen"}
    learnt = synth.Schema.load(place / "learnt.schema.json")
    assert learnt.learnt is not None
    assert learnt.learnt.epsilon == 3.0
    assert learnt.columns["age"].source == "private"


@pytest.mark.parametrize("name", ["made", "slices"])
def test_a_release_is_checked_fitted_again_and_drawn_from(place, tmp_path, name):
    assert synth.check(json.loads((place / name / "card.json").read_text())).epsilon in (1.0, 2.0)
    stored = folder.load_release(place / name)
    assert stored.releases
    assert len(synth.sample(place / name, num_rows=7, seed=1)[0]) == 7
    again = synth.app_api.refit(place / name, num_rows=5, seed=1, out=tmp_path / "again")
    assert again.num_rows == 5
    assert again.epsilon_spent == 0


def test_the_ledger_tells_its_spends_and_is_charged_on(place):
    book = Ledger()
    assert [e.epsilon for e in book.entries("people") if e.kind == "spend"] == [2.0, 1.0, 0.5]
    assert [e.epsilon for e in book.entries("short") if e.kind == "spend"] == [3.0]
    synth.run(
        place / "people.csv",
        schema=synth.Schema.load(place / "people.schema.json"),
        epsilon=0.25,
        delta=1e-5,
        method="independent",
        dataset="people",
        num_rows=5,
    )
    assert sum(e.epsilon for e in book.entries("people") if e.kind == "spend") == 3.75


def test_paid_statistics_are_read(place):
    from synth.release import statistics_file

    assert statistics_file.load(place / "statistics.json")["statistics"][0]["ask"] == "mean:age"


def test_an_ended_job_tells_its_request_and_its_end(place):
    job = jobs.Job(place / "job")
    assert job.request()["method"] == "independent"
    assert job.request()["epsilon"] == 2.0
    assert job.status().state == "done"
    assert jobs.listing(place)[0].request()


def test_a_run_that_waits_for_a_reviewer_is_approved_and_runs(place, monkeypatch):
    from app.run import runs
    from app.session import access
    from synth.jobs.roles import Visitor

    bob = Visitor(name="bob@example.org", role="reviewer")
    monkeypatch.setattr(access, "allow", lambda *_: bob)
    runs.approve(jobs.Job(place / "held"))
    assert jobs.Job(place / "held").wait(90).state == "done"
    line = Ledger().entries("people")[-1]
    spend = next(e for e in Ledger().entries("people") if e.run == line.run and e.kind == "spend")
    assert (spend.approved_by, spend.epsilon) == ("bob@example.org", 1.0)
    assert (place / "held" / "release" / "synthetic.csv").exists()
