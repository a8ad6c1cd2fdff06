"""The papers of a result, one by one: each asks what it lacks; one answer serves all, and all releases of a dataset."""

import io
import json
import zipfile
from datetime import date

import pytest

from app.result import export, papers
from app.run import runs
from app.session import tasks
from synth import app_api
from synth.app_api import jobs, looks
from tests.app.elements import said

pytestmark = pytest.mark.xdist_group("app")
DPIA = "documents/dpia.html"
DAYS = dict.fromkeys(app_api.papers.DATES, "2026-11-25")


def of(at):
    """The run that the page is about."""
    return jobs.Job(at.session_state["wizard"].job)


def panels(at) -> set[str]:
    return {e.label for e in at.expander}


def packed(job):
    with zipfile.ZipFile(io.BytesIO(export.packed(job, runs.release(job)))) as file:
        return {n: file.read(n) for n in file.namelist()}


def papers_of(job) -> dict[str, list[str]]:
    """What each paper asks, by its file."""
    return {p["file"]: p["asks"] for p in tasks.papers(str(runs.release(job)), {}, language="en")}


def opened(at, file: str):
    at.session_state["paper"] = file
    return at.run()


def fill(at, file: str = DPIA, **more: str):
    """One paper, with an answer to whatever it asks."""
    at = opened(at, file)
    for name in papers_of(of(at))[file]:
        kind = at.text_input if name in papers.ONE_LINE else at.text_area
        kind(key=f"{file}_{name}").set_value(more.get(name, DAYS.get(name, f"{name} *stated*")))
    return at.button(key="save_papers").click().run()


def test_a_paper_asks_what_it_lacks_and_is_saved_by_itself(done):
    """What nobody has begun stays out without a word; one answer serves all papers."""
    assert not done.exception
    assert "Papers: 0 of 8 are finished" in panels(done)
    assert not [n for n in packed(of(done)) if n.startswith("documents/")]
    asks = papers_of(of(done))
    at = fill(done)
    assert not at.exception
    assert any(label.startswith("Papers: ") and "0 of 8" not in label for label in panels(at))
    written = [n for n in packed(of(at)) if n.startswith("documents/")]
    assert DPIA in written
    assert set(written) == {f for f, names in asks.items() if set(names) <= set(asks[DPIA])}
    other = next(f for f, names in asks.items() if set(names) - set(asks[DPIA]) and set(names) & set(asks[DPIA]))
    at = opened(at, other)
    shown = {t.key.removeprefix(f"{other}_") for t in (*at.text_input, *at.text_area) if str(t.key).startswith(other)}
    assert shown == set(asks[other])
    assert any(e.label.endswith(("answer that it has", "answers that it has")) for e in at.expander)


def test_all_papers_are_finished_one_by_one_and_are_in_the_zip(done):
    at = done
    for file in papers_of(of(done)):
        at = fill(at, file) if papers_of(of(at))[file] else at
    assert "Papers: 8 of 8 are finished" in panels(at)
    assert len([n for n in packed(of(at)) if n.startswith("documents/")]) == 8


def test_a_paper_begins_with_what_is_known(done):
    file = papers.RECORDS
    at = opened(done, file)
    assert at.text_input(key=f"{file}_published").value == date.today().isoformat()
    assert at.text_input(key=f"{file}_name").value == "Synthetic rows of club", "a file's name may say more"
    assert not papers.store(of(at)).exists(), "a draft counts once it is saved"
    asks = papers_of(of(done))
    at = opened(done, next(f for f, names in asks.items() if "contact" in names))
    assert not next(t for t in at.text_input if t.key.endswith("_contact")).value, "an address is typed by its owner"


def test_a_wrong_date_is_said_and_nothing_is_kept(done):
    file = next(f for f, names in papers_of(of(done)).items() if set(names) & set(app_api.papers.DATES))
    at = fill(done, file, **dict.fromkeys(app_api.papers.DATES, "tomorrow"))
    assert "no day" in said(at)
    assert "Papers: 0 of 8 are finished" in panels(at)
    assert not papers.store(of(at)).exists()


def test_an_unfinished_paper_is_in_the_zip_where_somebody_wants_it(done):
    at = opened(done, DPIA)
    at.checkbox(key=f"unfinished_{DPIA}").check()
    at = at.button(key="save_papers").click().run()
    written = {n: content for n, content in packed(of(at)).items() if n.startswith("documents/")}
    assert set(written) == {DPIA}
    assert b"<mark>" in written[DPIA]


def test_a_mark_of_an_earlier_version_wants_every_paper(done):
    place = papers.store(of(done))
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"answers": {}, "unfinished": True}))
    assert papers.read(of(done))[1] == sorted(papers_of(of(done)))


def test_one_form_serves_the_dataset_however_its_name_is_written(done):
    fill(done)
    job = of(done)
    other = jobs.Job(job.path.parent / "other")
    other.path.mkdir()
    request = json.loads((job.path / "request.json").read_text())
    (other.path / "request.json").write_text(json.dumps({**request, "dataset": request["dataset"].upper() + " "}))
    assert papers.read(other) == papers.read(job)
    assert papers.read(job)[0]["controller"] == "controller *stated*"


def test_what_a_reviewer_released_keeps_the_answers_that_he_saw(done):
    """And he is who approved, where the form names nobody."""
    fill(done, approver="", approved="")
    job = of(done)
    packed(job)
    looks.release(job, by="ann@x.org", approved_by="rev@x.org")
    fill(done, controller="changed later")
    answers = papers.read(job)[0]
    assert answers["approver"] == "rev@x.org"
    assert answers["controller"] == "controller *stated*"
