"""After the run: other fits for free, runs side by side, and the rule on choosing by private scores."""

import io
import json
import os
import shlex
import shutil
import signal
import sys
import time
import zipfile
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import synth
from app.result import alternatives, comparison, export, more
from app.run import runs
from app.session import words
from app.session.state import view
from synth import jobs
from synth.jobs import looks
from tests.app.elements import SCHEMA, all_helped, cancels, downloads, ended, keys, refitted, said, to_run, upload

pytestmark = pytest.mark.xdist_group("app")


RUN = {**SCHEMA, "weight": "age"}, "mixture"  # for ``done``


def test_another_fit_is_free_and_a_choice_by_scores_is_held_back(done, monkeypatch):
    at = done
    first = jobs.Job(at.session_state["wizard"].job)
    at.selectbox(key="refit_method").set_value("independent").run()
    at.selectbox(key="refit_target").set_value("city").run()
    at.button(key="refit").click().run()
    assert "It starts from the stored release: it costs nothing" in said(at)
    assert "The other fit is ready" in said(refitted(at))
    second = jobs.Job(at.session_state["wizard"].job)
    assert second.path != first.path
    card = json.loads((second.path / "release" / "card.json").read_text())
    assert (card["method"], card["refitted"]) == ("independent", True)
    assert synth.Schema.load(second.path / "release" / "schema.json").target == "city"
    assert synth.Ledger().summary("club")[0].epsilon == 1.0

    at.multiselect(key="beside").set_value([at.multiselect(key="beside").options[0]]).run()
    assert "score" not in keys(at), "how one chooses is said before figures are seen"
    with pytest.raises(synth.UsageError, match="say first"):
        comparison.make([first, second])
    assert not looks.looked(first)
    assert at.radio(key="how_beside").options == [words.CHOSEN[w] for w in ("releases", "scores")], "of several"
    assert comparison.undecided([first, second]) == [first, second]
    with monkeypatch.context() as m:
        m.setattr(looks, "signed", lambda job: job.path == first.path)
        assert comparison.undecided([first, second]) == [second], "what a reviewer signed is decided"
    at.radio(key="how_beside").set_value("scores").run()
    at.button(key="choose_beside").click().run()
    at.button(key="score").click().run()
    assert looks.looked(first)
    assert looks.looked(second)
    shown = next(t.value for t in at.table if "Method" in list(t.value.iloc[:, 0]))
    assert list(shown.iloc[:2, 0]) == ["Method", "Epsilon"], "a line for each fact"
    assert shown.shape == (10, 3), "a column for each run"
    assert "%" in str(shown)

    assert "bundle" not in downloads(at)
    assert "Selection not covered" in said(at)
    assert "bundle" not in downloads(at)
    at.button(key="release_all").click().run()
    assert not at.error
    assert {"bundle", "All 2 releases (.zip)"} <= downloads(at)
    assert (second.path / "bundle-all.zip").exists()
    with zipfile.ZipFile(io.BytesIO(export.all_packed(second))) as archive:
        tables = {n: archive.read(n) for n in archive.namelist() if n.endswith("/synthetic.csv")}
        cards = [json.loads(archive.read(n)) for n in archive.namelist() if n.endswith("/card.json")]
    assert set(tables) == {"1-independent/synthetic.csv", "2-mixture/synthetic.csv"}
    assert {c["selection"]["how"] for c in cards} == {"all"}
    for name, run in (("1-independent", second), ("2-mixture", first)):
        assert tables[f"{name}/synthetic.csv"] == (run.path / "release" / "synthetic.csv").read_bytes()


def test_without_the_report_of_sdmetrics_its_tab_is_not_there(done, monkeypatch):
    """As after `make run WITHOUT=report`; its figures were made where it is installed, so that the tab was there."""
    at = done
    at.button(key="compare").click().run()
    assert "Scores" in {t.label for t in at.tabs}
    assert comparison.part_names()[0] == "Scores"
    for name in [n for n in sys.modules if n.split(".")[0] in ("sdmetrics", "copulas")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("sdmetrics", "copulas"):
        monkeypatch.setitem(sys.modules, name, None)
    parts = comparison.part_names()
    assert [t.label for t in at.run().tabs if t.label in parts] == parts[1:]
    assert not at.exception


def _held_out(at, people) -> None:
    """Rows that the run did not see, uploaded beside the button of the full report."""
    next(f for f in at.file_uploader if f.key.startswith("held_out_")).set_value(
        ("others.csv", people, "text/csv")
    ).run()


def test_the_full_report_is_made_in_the_background_against_held_out_rows_and_can_be_cancelled(done, people):
    at = done
    at.button(key="compare").click().run()
    assert "Rows weighted by age: columns differ by" in said(at)
    assert not at.checkbox(key="shadow_runs").value, "what takes minutes is asked for"
    _held_out(at, people)
    at.button(key="make_report").click().run()
    cancels(at).click().run()
    assert _report().wait(60).state == "cancelled"
    assert "make_report" in keys(at.run())
    assert "The last one was cancelled" in said(at)
    assert not list(_report().path.glob("held-out-*")), "rows that were held out are kept for no report"
    _held_out(at, people)
    at.button(key="make_report").click().run()
    assert _report().wait(120).state == "done"
    assert not list(_report().path.glob("held-out-*"))
    assert "240 held-out rows" in (jobs.Job(at.session_state["wizard"].job).path / comparison.PAGE).read_text()
    assert "Download the full report (steward only)" in downloads(at.run())
    job = jobs.Job(at.session_state["wizard"].job)
    assert "for the steward only" in (job.path / comparison.PAGE).read_text().lower()
    assert looks.looked(job)
    assert synth.Ledger().summary("club")[0].epsilon == 1.0, "it spends nothing"


def _report():
    """The newest job that writes a report."""
    return next(j for j in jobs.listing() if "reports" in j.request())


@pytest.mark.slow
@pytest.mark.parametrize("family", alternatives.FAMILIES, ids=lambda f: sorted(f)[0])
def test_every_method_that_is_offered_fits_the_release(family, people, home):
    (home / "people.csv").write_bytes(people)
    for method in sorted(family):
        made = synth.run(
            home / "people.csv",
            schema=synth.Schema.parse(SCHEMA),
            epsilon=5.0,
            delta=1e-4,
            method=method,
            out=home / method,
        )
        for other in alternatives.fitting(made.card, synth.methods()):
            assert synth.app_api.refit(home / method, method=other, num_rows=50).num_rows == 50


def test_noisy_counts_that_are_paid_for_decide_between_compared_runs(done):
    """At epsilon 20 a count errs by less than one row in 240: a table of three rows cannot be the nearer one."""
    at = done
    first = jobs.Job(at.session_state["wizard"].job)
    at.button(key="compare").click().run()
    at.number_input(key="refit_rows").set_value(3).run()  # a table of three rows is far from any
    at.button(key="refit").click().run()
    refitted(at)
    second = jobs.Job(at.session_state["wizard"].job)
    assert "compare" not in keys(at), "how one chooses is asked before the second comparison"
    at.radio(key="how_before").set_value("scores").run()
    at.button(key="choose_before").click().run()
    at.button(key="compare").click().run()
    assert "bundle" not in downloads(at)
    all_helped(at)
    synth.Ledger().set_policy("club", max_epsilon=30.0)
    at.number_input(key="decide_epsilon").set_value(20.0).run()
    at.button(key="decide").click().run()
    limit = time.monotonic() + 60
    while "Noisy counts chose" not in said(at):
        assert time.monotonic() < limit, said(at)
        at.run()
    assert looks.choice(first)["how"] == "private"
    charge = next(e for e in synth.Ledger().entries("club") if e.epsilon == 20.0)
    assert looks.choice(first)["line"] == charge.number
    assert synth.Ledger().summary("club")[0].epsilon == 21.0
    assert looks.barrier(second), "the other one stays"
    at.session_state["wizard"].job = first.path
    at.run()
    assert "bundle" in downloads(at)
    card = json.loads(zipfile.ZipFile(first.path / "bundle-private.zip").read("card.json"))
    assert card["selection"]["how"] == "private"
    assert card["epsilon"] == 21.0, "the choice is counted; the other candidate was another fit of the same release"
    assert "the card counts one more line of the ledger (" in said(at)


@pytest.mark.usefixtures("done")
def test_rows_charged_elsewhere_are_offered_that_budget_before_the_spend(start, people):
    """Under another name the same rows got a fresh budget, and the warning came after the charge."""
    at = to_run(upload(start(), people, {**SCHEMA, "dataset": "copy"}))
    at.button(key="spend").click().run()
    assert "were charged to club before" in said(at)
    assert {e.dataset for e in synth.Ledger().entries() if e.kind != "policy"} == {"club"}
    assert "spend" not in keys(at)
    at.button(key="separate").click().run()
    at.button(key="spend").click().run()
    ended(at)
    assert synth.Ledger().summary("copy")[0].epsilon == 1.0


def test_a_comparison_here_and_one_from_the_command_line_count_in_both_places(done):
    at, book = done, synth.Ledger()
    job = jobs.Job(at.session_state["wizard"].job)
    at.button(key="compare").click().run()
    notes = [json.loads(line) for line in book.path.with_name(book.path.name + ".looks").read_text().splitlines()]
    assert [(n["what"], n["dataset"]) for n in notes] == [("look", "club")]
    at.switch_page(view("result")).run()
    assert "bundle" in downloads(at), "its own comparison is no rival"

    place = runs.release(job)
    other = synth.app_api.refit(place, method="independent", num_rows=20, out=job.path.parent.parent / "other")
    assert other.num_rows == 20
    synth.app_api.note_look(job.path.parent.parent / "other")  # as `synth report --real` does
    assert "bundle" not in downloads(at.run())
    assert "1 other release of this dataset was compared with the real rows elsewhere" in said(at)
    at.radio(key="how").set_value("before").run()
    at.button(key="choose").click().run()
    assert "bundle" in downloads(at)


def test_a_choice_made_before_the_look_may_leave_and_says_so(done):
    at = done
    job = jobs.Job(at.session_state["wizard"].job)
    other = jobs.create(job.request())
    other.write(jobs.Status(state="done"))
    looks.look(other)
    at.switch_page(view("result")).run()
    at.radio(key="how").set_value("before").run()
    at.button(key="choose").click().run()
    assert "bundle" in downloads(at)
    assert (job.path / "bundle-before.zip").exists()


def test_rows_under_a_condition_come_with_the_model_s_probability(done):
    at = done
    at.switch_page(view("result")).run()
    at.multiselect(key="where_columns").set_value(["city", "age"]).run()
    at.multiselect(key="where_city").set_value(["Rome"]).run()
    at.text_input(key="where_age_high").set_value("50").run()
    at.number_input(key="more_rows").set_value(50).run()
    at.button(key="draw").click().run()
    assert "city Rome and age from 0 to 50" in said(at)
    assert "% are expected to meet" in said(at).replace("**", "")
    drawn = next(Path(at.session_state["wizard"].job).glob("more-*.csv")).read_text().splitlines()[1:]
    assert len(drawn) == 50
    assert all(line.endswith("Rome") and int(line.split(",")[0]) <= 50 for line in drawn)


def test_a_killed_worker_shows_a_failed_run_with_its_charge(start, people):
    at = to_run(upload(start(), people, SCHEMA))
    at.button(key="spend").click().run()
    job, limit = jobs.Job(at.session_state["wizard"].job), time.monotonic() + 60
    while not any(e.kind == "spend" for e in synth.Ledger().entries("club")):
        assert time.monotonic() < limit
        time.sleep(0.005)
    os.kill(job.status().pid, signal.SIGKILL)
    ended(at)
    assert "The charge stands: epsilon 1 of club, line 2" in said(at)
    again = start()
    assert not again.exception
    again.switch_page(view("privacy")).run()
    assert "failed" in said(again)


def test_runs_stand_in_line_and_a_second_can_be_prepared_meanwhile(start, people):
    at = to_run(upload(start(), people, SCHEMA))
    at.button(key="spend").click().run()
    first = jobs.Job(at.session_state["wizard"].job)
    at.button(key="another").click().run()
    at.button(key="spend").click().run()
    second = jobs.Job(at.session_state["wizard"].job)
    assert second.path != first.path
    ended(at)
    assert first.status().state == second.status().state == "done"
    assert first.status().updated < second.status().updated
    assert at.title[0].value == "The result"


def test_a_run_is_exported_as_the_command_line_and_the_call_that_make_it(done, people, tmp_path, monkeypatch, command):
    """Both are run as they stand, beside the description and the table; a result opened later has its table's name."""
    at = done
    job = jobs.Job(at.session_state["wizard"].job)
    at.switch_page(view("result")).run()
    assert any(c.value.startswith("import synth") for c in at.code)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_bytes(people)
    shutil.copy(runs.release(job) / "schema.json", tmp_path / "schema.json")
    line = more.command({**job.request(), "method": "independent", "epsilon": 0.5, "options": {}})
    code, _, stderr = command(*shlex.split(line)[1:], "--ledger", tmp_path / "other.sqlite")
    assert code == 0, stderr
    assert synth.Ledger(tmp_path / "other.sqlite").summary("club")[0].epsilon == 0.5
    known: dict = {}
    exec(more.in_python({**job.request(), "method": "independent", "epsilon": 0.25, "options": {}}), known)
    assert known["result"].epsilon_spent == 0.25
    w = at.session_state["wizard"]
    w.label = ""
    assert "Table: people.csv" in said(at.run())


def test_the_ledger_leaves_as_a_table_that_a_spreadsheet_reads(done):
    at = done
    at.switch_page(view("ledger")).run()
    assert {"Export these lines (JSON)", "Export these lines (CSV)"} <= downloads(at)
    noon = datetime(2026, 11, 28, 12, tzinfo=UTC)
    assert words.moment(noon) == words.moment(noon.astimezone(timezone(timedelta(hours=9)))), "one zone on all pages"
