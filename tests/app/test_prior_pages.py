"""Public data in the application: named on Describe, weighed on Budget, previewed, and a series of releases."""

import io
import json
import zipfile
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest

import synth
from app.result import prior as evidence
from app.run import prior, runs
from app.session import charts, workers
from app.session.state import Wizard, view
from synth import jobs
from synth.release.card.card import PREVIEW
from tests.app.elements import SCHEMA, all_helped, ended, keys, said, sample, to_run, upload

pytestmark = pytest.mark.xdist_group("app")
OLDER = "age,team,town\n" + "\n".join(f"{20 + i % 50},{'abc'[i % 3]},Rome" for i in range(150)) + "\n"
WHY, WHO = "printed in the yearbook", "Ann of the office"


def named(at, content: bytes = OLDER.encode(), name: str = "older.csv", why: str = WHY):
    """The page Describe with this file named as public data."""
    w = at.session_state["wizard"]
    next(f for f in at.file_uploader if f.key.startswith("prior_file")).set_value((name, content, "text/csv")).run()
    if not name.endswith(".zip"):
        next(t for t in at.text_input if t.key == f"prior_why_{w.edition}").set_value(why).run()
        next(t for t in at.text_input if t.key == f"prior_who_{w.edition}").set_value(WHO).run()
    return at.button(key="add_prior").click().run()


@pytest.fixture
def at(start, people):
    return upload(start(), people, SCHEMA)


def test_nothing_public_is_the_answer_until_somebody_names_it_and_confirms_it(at):
    assert "Nothing is named, which is the safe answer" in said(at)
    assert at.button(key="add_prior").disabled
    all_helped(at.main)
    at = named(at)
    reported = said(at)
    assert f"older.csv: {WHY}; confirmed by {WHO}" in reported.replace("**", "")
    assert "150 rows; **2 of 3 columns**: age, team" in reported
    assert "Not in it: city" in reported
    assert "Left out, for the description has no such column: town" in reported
    assert "another spelling than the description's, which tell nothing (team: 50)" in reported
    assert not synth.Ledger().entries()


def test_an_upload_that_is_refused_is_out_of_memory_too():
    class Upload:
        name, file_id, closed = "older.csv", "x", False

        def close(self) -> None:
            self.closed = True

    one = Upload()
    with pytest.raises(synth.UsageError, match="choose a table first"):
        prior.add_file(Wizard(), one)
    assert one.closed


def test_a_map_of_what_was_known_tells_each_cell_s_figures():
    cells = np.full((2, 2), 0.25)
    one = SimpleNamespace(columns=("a", "b"), labels=(["x", "y"], ["u", "v"]), released=cells, known=cells, made=cells)
    told = [tip["title"] for tip in evidence.pair(one).to_dict()["encoding"]["tooltip"]]
    assert told == ["a", "b", "answer minus known", "known before", "answer", "synthetic"]
    bars = charts.bars(["x"], {"": [1.0]}, axis="share", colours=["red"]).to_dict()
    assert [tip["title"] for tip in bars["encoding"]["tooltip"]] == ["value", "share"]


def test_what_a_run_would_refuse_is_said_at_once_and_can_be_taken_out(at):
    at = named(at, b"x\n1\n", "strange.csv")
    assert "A run would refuse it: public data strange.csv: it has none of the schema's columns" in said(at)
    (retained,) = [Path(one["path"]) for one in at.session_state["wizard"].priors]
    assert retained.exists()
    at.button(key="drop_prior_0").click().run()
    assert not retained.exists()
    assert "Nothing is named" in said(at)


def test_it_is_stored_with_the_table_and_found_again_in_a_later_visit(at, start):
    named(at)
    again = start()
    again.button(key="use_0").click().run()
    again.switch_page(view("table")).run()
    assert "older.csv" in said(again)


def test_a_zip_that_is_no_release_is_refused_and_nothing_is_kept(at):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../card.json", "{}")
    at = named(at, packed.getvalue(), "release.zip")
    assert "no release of this program" in at.error[0].value.replace("\\", "")
    w = at.session_state["wizard"]
    assert not w.priors
    assert not list((w.place / "priors").iterdir())


def test_its_worth_stands_beside_epsilon_and_a_preview_goes_the_whole_way_for_nothing(at):
    named(at, (OLDER.replace("town", "city")).encode())
    at.switch_page(view("privacy")).run()
    reported = said(at)
    assert "of the rows would have to change, not" in reported
    assert "if your table is like older.csv" in reported
    w, held = at.session_state["wizard"], Event()
    stuck = workers.FORECASTS.submit(held.wait, 100)
    w.epsilon = 2.0
    assert prior.worth_of(w).result(timeout=90), "forecasts wait for no rehearsal, nor it for them"
    held.set()
    assert stuck.result()
    w.epsilon = 1.0
    at.button(key="to_preview").click().run()
    assert at.title[0].value == "Preview"
    assert "made of public rows only" in at.warning[0].value
    all_helped(at.main)
    at.switch_page(view("preview")).run()
    at.button(key="preview").click().run()
    assert not at.exception
    assert "Rows that would have to change: single columns" in said(at)
    w = at.session_state["wizard"]
    for page in prior.PREVIEW, "comparison.html", "report.html", "card.html":
        if page.endswith(".html"):
            assert PREVIEW in (w.place / prior.PREVIEW / page).read_text()
    assert not synth.Ledger().entries()
    assert not jobs.listing(), "a preview is no run"


def test_a_run_takes_it_and_its_card_command_and_notebook_say_so(at):
    named(at)
    to_run(at, method="mixture")
    assert "**Public data:** older.csv" in said(at)
    at.selectbox(key="method").set_value("independent").run()
    assert "independent takes no public data" in at.error[0].value
    at.selectbox(key="method").set_value("mixture").run()
    at.button(key="spend").click().run()
    ended(at)
    job = jobs.Job(at.session_state["wizard"].job)
    card = json.loads((runs.release(job) / "card.json").read_text())
    assert [(p["name"], p["reason"]) for p in card["priors"]] == [("older.csv", f"{WHY}; confirmed by {WHO}")]
    at.switch_page(view("result")).run()
    assert "older.csv" in said(at)
    at.switch_page(view("result")).run()
    assert f"--prior older.csv --prior-reason '{WHY}; confirmed by {WHO}'" in at.code[0].value
    _series(at, job)


def _series(at, job):
    """The next wave takes every release so far; what changed between the two is a picture, and the card has the sum."""
    at.switch_page(view("series")).run()
    assert "Each release: epsilon 0.5" in said(at)
    all_helped(at.main)
    at.button(key="add_prior").click().run()
    w = at.session_state["wizard"]
    assert [Path(one["path"]) for one in w.priors][1:] == [runs.release(job)]
    w.priors = w.priors[1:]
    at.button(key="use_wave").click().run()
    assert w.epsilon == 0.5
    at.switch_page(view("privacy")).run()
    at.button(key="spend").click().run()
    ended(at)
    card = json.loads((runs.release(jobs.Job(w.job)) / "card.json").read_text())
    assert card["in_all_releases"]["epsilon"] == 1.5
    at.switch_page(view("series")).run()
    assert not at.exception
    assert "The ledger has charged epsilon 1.5 to club" in said(at)
    assert "by more than noise and chance explain" in said(at)
    assert any("epsilon 1.5" in str(cell) for t in at.table for cell in t.value.to_numpy().ravel())
    last, w.priors = runs.release(jobs.Job(w.job)), []
    at.button(key="add_prior").click().run()
    assert [Path(one["path"]) for one in w.priors] == [last, runs.release(job)]
    assert "builds on all 2 releases above" in said(at)


def test_the_sample_can_be_given_something_public_too(start):
    assert "add_prior" in keys(sample(start))
