"""The whole way, with real runs in processes of their own."""

import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import synth
from app.run import runs
from app.session.state import view
from synth import jobs
from tests.app.elements import SCHEMA, all_helped, cancels, ended, keys, said, to_run, upload

pytestmark = pytest.mark.xdist_group("app")


@pytest.fixture
def ready(start, people):
    """The application at its page Run, reached by its buttons, with a small described table."""
    return to_run(upload(start(), people, SCHEMA))


def test_a_fault_of_what_is_followed_is_one_line(monkeypatch, ready):
    """Also one that nobody thought of: a part of a page that draws itself again is behind no other guard."""
    monkeypatch.setattr(runs, "in_progress", lambda *_: 1 / 0)
    at = ready.button(key="spend").click().run()
    assert "Internal error (ZeroDivisionError)" in said(at)
    assert "another" in keys(at), "the page stands behind it"
    jobs.Job(at.session_state["wizard"].job).wait(60)


def test_a_table_goes_from_upload_to_release_and_is_found_again_on_the_way(start, people):
    at = to_run(upload(start(), people, SCHEMA), method="mixture")
    assert "Will be charged to club: epsilon 1, delta 1e-5" in said(at)
    at.button(key="spend").click().run()
    assert cancels(at)
    again = start()  # a reload while the run is under way
    again.button(key="watch").click().run()
    assert again.title[0].value == "Privacy and accuracy"
    ended(at)
    assert again.run().title[0].value == "The result", "the run was found again, and its table is shown"
    assert at.title[0].value == "The result"
    all_helped(at)
    assert "73:27" in said(at)
    assert "in line 2 of the ledger" in said(at)  # line 1 is the cap
    assert synth.Ledger().summary("club")[0].epsilon == 1.0
    _the_bundle_is_the_release_alone(jobs.Job(at.session_state["wizard"].job))

    at.number_input(key="more_rows").set_value(500).run()
    at.button(key="draw").click().run()
    drawn = list(Path(at.session_state["wizard"].job).glob("more-*.csv"))
    assert [len(d.read_text().splitlines()) for d in drawn] == [501]
    assert synth.Ledger().summary("club")[0].epsilon == 1.0  # more rows are free

    at.button(key="compare").click().run()
    assert not at.error
    assert any("For the steward only" in w.value for w in at.warning)
    assert "SDMetrics" in said(at)
    assert "both right" in said(at)
    assert any(words in said(at) for words in ("**Good for**", "**Usable with care for**", "**Not for**"))
    at.session_state["compared_part"] = "Columns"  # the scores stand first
    at.run()
    at.selectbox(key="compare_column").set_value("city").run()
    for kind in ("pair", "triple", "group"):  # each of the worst places is a click away
        next(b for b in at.button if b.key == f"worst_{kind}_0").click().run()
        assert not at.exception
    assert at.selectbox(key="group_value").value in at.selectbox(key="group_value").options
    worst = next(b for b in at.button if b.key.startswith("worst_column_") and b.label.startswith("age "))
    worst.click().run()
    assert at.selectbox(key="compare_column").value == "age"
    assert not at.exception

    at.switch_page(view("ledger")).run()
    assert list(at.dataframe[0].value["What"])[-2:] == ["charged", "cap set"]  # the newest line first
    at.button(key="verify").click().run()
    assert "intact" in at.success[0].value

    again = start()  # a reload: a new session that knows nothing
    again.button(key="open_latest").click().run()
    assert again.title[0].value == "The result"
    assert "73:27" in said(again)


def _the_bundle_is_the_release_alone(job: jobs.Job) -> None:
    archive = zipfile.ZipFile(job.path / "bundle-only.zip")
    names = set(archive.namelist())
    assert {"synthetic.csv", "synthetic.parquet", "schema.json", "card.json", "report.html"} <= names
    assert not {n for n in names if "steward" in n}
    typed = pd.read_parquet(io.BytesIO(archive.read("synthetic.parquet")))
    plain = pd.read_csv(io.BytesIO(archive.read("synthetic.csv")))
    assert typed["age"].tolist() == plain["age"].tolist()
    card = json.loads(archive.read("card.json"))
    assert (card["epsilon"], card["selection"]["how"]) == (1.0, "only")


def test_a_refusal_by_the_ledger_is_told_with_its_remedy(ready):
    """The cap appears after the page was shown, so that the ledger has the last word."""
    at = ready
    assert "spend" in keys(at)
    synth.Ledger().set_policy("club", max_epsilon=0.25)
    w = at.session_state["wizard"]
    runs.start(w)
    ended(at)
    reported = "\n".join(e.value for e in at.error).replace("\\", "")
    assert "requested epsilon 1, remaining 0.25, short by 0.75" in reported
    assert "lower “Privacy loss (epsilon)” or have the policy raised" in reported
    assert "Nothing was spent" in said(at)
    assert synth.Ledger().summary("club")[0].epsilon == 0


def test_two_clicks_at_once_are_one_spend(ready):
    """A second click is heard beside the first, while that one's run still begins."""
    w = ready.session_state["wizard"]
    synth.Ledger().set_policy("club", max_epsilon=9)
    for spend in (runs.start, partial(runs.learn, columns=["age"], epsilon=0.1, delta=1e-6)):
        known = len(jobs.listing())
        with ThreadPoolExecutor(2) as clicks:
            one, other = clicks.map(spend, [w, w])
        assert one.path == other.path in (w.job, w.learning)
        assert len(jobs.listing()) == known + 1
        one.wait(60)
    assert [e.epsilon for e in synth.Ledger().entries() if e.epsilon] == [1.0, 0.1]


def test_a_cancelled_run_says_what_was_spent(ready):
    at = ready
    at.button(key="spend").click().run()
    cancels(at).click().run()
    ended(at)
    spent = sum(t.epsilon for t in synth.Ledger().summary("club"))
    assert at.warning
    assert ("Nothing was spent" in said(at)) == (spent == 0)
    assert "spend" in keys(at)  # and it can be run again
