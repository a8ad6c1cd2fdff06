"""The papers on the page Release: what is still to be written stands before the downloads; one form a dataset."""

import io
import json
import zipfile

import pytest

from app.result import export, papers
from app.run import runs
from app.session.state import view
from synth import app_api
from synth.app_api import jobs, looks
from tests.app.elements import SCHEMA, ended, said, to_run, upload

pytestmark = pytest.mark.xdist_group("app")
DAYS = dict.fromkeys(app_api.papers.DATES, "2026-11-25")


@pytest.fixture
def done(start, people):
    """The page Release of a run that has just ended."""
    at = to_run(upload(start(), people, SCHEMA))
    at.button(key="spend").click().run()
    return ended(at).switch_page(view("result")).run()


def of(at):
    """The run that the page is about."""
    return jobs.Job(at.session_state["wizard"].job)


def panels(at) -> set[str]:
    return {e.label for e in at.expander}


def packed(job):
    with zipfile.ZipFile(io.BytesIO(export.packed(job, runs.release(job)))) as file:
        return {n: file.read(n) for n in file.namelist()}


def fill(at, **more):
    for name in app_api.papers.FIELDS:
        kind = at.text_input if name in papers.ONE_LINE else at.text_area
        kind(key=f"paper_{name}").set_value(more.get(name, DAYS.get(name, f"{name} *stated*")))
    return at.button(key="save_papers").click().run()


def test_what_is_missing_stands_before_the_downloads_and_the_form_fills_it(done):
    assert not done.exception
    assert "Papers: 0 of 8 are finished" in panels(done)
    assert "Legal basis" in said(done)
    assert not [n for n in packed(of(done)) if n.startswith("documents/")]
    at = fill(done)
    assert not at.exception
    assert "Papers: 8 of 8 are finished" in panels(at)
    assert len([n for n in packed(of(at)) if n.startswith("documents/")]) == 8
    card = json.loads(packed(of(at))["card.json"])["deployment"]
    assert card["approver"] == "approver *stated*"


def test_a_wrong_date_is_said_and_nothing_is_kept(done):
    at = fill(done, approved="tomorrow")
    assert "no day" in said(at)
    assert "Papers: 0 of 8 are finished" in panels(at)
    assert not papers.store(of(at)).exists()


def test_unfinished_papers_are_in_the_zip_where_somebody_wants_them(done):
    done.checkbox(key="papers_unfinished").check()
    at = done.button(key="save_papers").click().run()
    assert "Papers: 0 of 8 are finished" in panels(at)
    assert b"<mark>" in packed(of(at))["documents/dpia.html"]


def test_one_form_serves_the_dataset_however_its_name_is_written(done):
    fill(done)
    job = of(done)
    other = jobs.Job(job.path.parent / "other")
    other.path.mkdir()
    request = json.loads((job.path / "request.json").read_text())
    (other.path / "request.json").write_text(json.dumps({**request, "dataset": request["dataset"].upper() + " "}))
    assert papers.read(other) == papers.read(job)
    assert papers.read(job)[0]["contact"] == "contact *stated*"


def test_what_a_reviewer_released_keeps_the_answers_that_he_saw(done):
    """And he is who approved, where the form names nobody."""
    fill(done, approver="", approved="")
    job = of(done)
    packed(job)
    looks.release(job, by="ann@x.org", approved_by="rev@x.org")
    fill(done, contact="changed later")
    answers = papers.read(job)[0]
    assert answers["approver"] == "rev@x.org"
    assert answers["contact"] == "contact *stated*"
