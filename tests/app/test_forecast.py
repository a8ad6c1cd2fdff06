"""The curve of expected error falls as epsilon grows, for columns and for pairs, in tables of one size."""

import json
import subprocess
import sys

import numpy as np
import pytest

import synth
from app.run import background, forecast
from app.run.forecast import ASKED_FIRST
from app.session import charts, frame
from app.session.aside import ROOT, Aside
from tests.app.elements import SCHEMA

CURVE = forecast.CURVE[::2]  # each of its eight points is a plan worked out


@pytest.fixture(scope="module")
def lines():
    """Forecasts for the sample table over the curve's epsilons."""
    schema = synth.Schema.load(frame.SAMPLE_SCHEMA)
    return [synth.plan(schema, rows=frame.SAMPLE_ROWS, epsilon=e, delta=1e-5) for e in CURVE]


def test_the_errors_shown_fall_as_epsilon_grows(lines):
    pairs, cells = forecast.pairs_alike(lines)
    assert cells == min(p.cells_two_way for p in lines)
    assert (np.diff([p.error_one_way for p in lines]) < 0).all()
    assert (np.diff(pairs) < 0).all()


def test_tables_of_one_size_are_needed_where_categories_are_many():
    """Six columns of twenty categories: the tables' own errors rise with epsilon somewhere, as tables get finer."""
    facts = {"type": "categorical", "categories": [str(i) for i in range(20)]}
    schema = synth.Schema.parse({"columns": {f"c{j}": facts for j in range(6)}})
    own = [synth.plan(schema, rows=3000, epsilon=e, delta=1e-5) for e in CURVE]
    assert (np.diff([p.error_two_way for p in own]) > 0).any()
    assert (np.diff(forecast.pairs_alike(own)[0]) < 0).all()


def test_a_curve_cut_short_still_spans_the_epsilons():
    whole = forecast.CURVE
    assert sorted(ASKED_FIRST) == whole
    assert {whole[0], whole[-1]} == set(ASKED_FIRST[:2])


def test_adding_up_noisy_cells_gives_the_error_that_is_told():
    rng = np.random.default_rng(0)
    fine, groups, sigma, rows = 400, 16, 3.0, 10_000
    noise = rng.standard_normal((20_000, fine)) * sigma
    own = 0.5 * np.abs(noise).sum(1).mean() / rows
    coarse = 0.5 * np.abs(noise.reshape(-1, groups, fine // groups).sum(2)).sum(1).mean() / rows
    one, two = (_Line(error_two_way=own, cells_two_way=fine), _Line(error_two_way=1.0, cells_two_way=groups))
    assert forecast.pairs_alike([one, two])[0][0] == pytest.approx(coarse, rel=0.02)  # 15 standard errors


def test_a_helper_at_rest_is_gone_and_comes_back_for_the_next_task():
    helper = Aside()
    first = helper.ask("methods", seconds=60.0)
    process = helper._child
    helper.rest()
    assert process.poll() is not None
    assert helper.ask("methods", seconds=60.0, keep=False) == first


def test_a_helper_looks_into_the_ledger_that_it_is_asked_in(people, tmp_path, monkeypatch):
    """It was started with one home, and goes on for another; told what is not set any more, it forgets it."""
    (tmp_path / "t.csv").write_bytes(people)
    schema, helper, results = synth.Schema.parse(SCHEMA), Aside(), []
    asked = ("charged_before", str(tmp_path / "t.csv"), schema.to_json(), "")
    for name in ("one", "two", "one"):
        monkeypatch.setenv("SYNTH_LEDGER", str(tmp_path / f"{name}.sqlite"))
        if not results:
            synth.run(tmp_path / "t.csv", schema=schema, epsilon=1.0, delta=1e-5, method="independent", num_rows=1)
        results.append(helper.ask(*asked, seconds=60.0, dataset="copy"))
        process = helper._child
    monkeypatch.delenv("SYNTH_LEDGER")  # the home's own then, which is empty
    results.append(helper.ask(*asked, seconds=60.0, dataset="copy"))
    assert helper._child is process
    helper.rest()
    assert results == [["club"], [], ["club"], []]


class _Line:
    def __init__(self, **facts: float) -> None:
        self.__dict__.update(facts)


def test_the_chart_draws_what_is_told_and_no_pairs_where_none_are_asked(lines):
    pairs = forecast.pairs_alike(lines)[0]
    drawn = json.loads(charts.curve(lines, pairs, 1.0).to_json())["datasets"].values()
    reported = {(r["epsilon"], r["of"]): r["error"] for rows in drawn for r in rows if "of" in r}
    assert reported[(CURVE[-1], "pairs of columns")] == pytest.approx(pairs[-1])
    lone = synth.plan(synth.Schema.load(frame.SAMPLE_SCHEMA), rows=100, epsilon=1.0, delta=1e-5, method="independent")
    assert forecast.pairs_alike([lone]) is None


UNPACKED = """
import sys, synth
from app.session import frame
from app.session.aside import Aside
asked = dict(rows=20_000, delta=1e-5, method="independent", relation="add_remove", options={})
(found,) = Aside().ask("forecasts", frame.SAMPLE_SCHEMA.read_text(), [1.0], seconds=120, within=1, **asked)
print(found.epsilon, *(name in sys.modules for name in ("torch", "synth.generators")))
"""


def test_a_forecast_from_the_helper_does_not_load_what_made_it():
    done = subprocess.run([sys.executable, "-c", UNPACKED], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.0", "False", "False"], "the server would hold torch, 180 MiB, for nothing"


def test_a_helper_that_rests_gives_its_memory_back_unless_it_works():
    """The page Run lets the forecasts' process go once a run has begun."""
    one = Aside()
    one.warm()
    child = one._child
    with one._lock:  # as while a task is answered
        one.rest()
        assert child.poll() is None
    one.rest()
    assert child.poll() is not None
    assert one._child is None


def test_what_failed_is_not_tried_anew_by_the_page_that_waited_for_it(monkeypatch):
    """Such a page draws itself again at the end: with an epsilon of 0 it did so for ever, each time with a new try."""
    tries = []

    def fails(*_, **__):
        tries.append(1)
        raise synth.UsageError("epsilon must be above 0")

    monkeypatch.setattr(background.planner, "ask", fails)
    first = background.begun("somebody", "forecasts", "of a test", seconds=1.0)
    assert background.over([first], patience=10.0)
    assert background.begun("somebody", "forecasts", "of a test", seconds=1.0) is first
    monkeypatch.setattr(background, "RETRIED", -1.0)
    second = background.begun("somebody", "forecasts", "of a test", seconds=1.0)
    assert second is not first
    assert background.over([second], patience=10.0)
    assert len(tries) == 2


@pytest.mark.parametrize(("method", "reported"), [("mixture", True), ("independent", True), ("dp_ctgan", False)])
def test_a_promised_time_holds_the_fit_of_every_method_that_counts(method, reported):
    """The recommended one among them: the sample's run was announced as training of unknown length."""
    assert forecast.timed(method) is reported
    needs = next(m["reads"] for m in synth.methods() if m["name"] == method)
    assert reported is (set(needs) <= {"counts", "public counts", "search"})
