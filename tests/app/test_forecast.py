"""Forecasts before a spend: their curve, and how honest a promised time is."""

import numpy as np
import pytest

import synth
from app.run import forecast
from app.session import frame

WHOLE = forecast.ASKED_FIRST  # as it is; the tests' pages ask for less of it


def test_the_errors_shown_fall_as_epsilon_grows():
    schema = synth.Schema.load(frame.SAMPLE_SCHEMA)
    lines = [synth.plan(schema, rows=frame.SAMPLE_ROWS, epsilon=e, delta=1e-5) for e in sorted(WHOLE)[::2]]
    assert (np.diff([p.error_one_way for p in lines]) < 0).all()


def test_a_curve_cut_short_still_spans_the_epsilons():
    assert {min(WHOLE), max(WHOLE)} == set(WHOLE[:2])


def test_a_promised_time_holds_the_votes_that_rows_give():
    """A second more for each 8 * 10^8 distances in a column that they look at, whatever else the forecast holds."""
    schema = synth.Schema.load(frame.SAMPLE_SCHEMA)
    asked = {"rows": 2_000_000, "epsilon": 1.0, "delta": 1e-7, "method": "private_evolution"}
    few, many = (synth.plan(schema, options={"rounds": r}, **asked).seconds for r in (2, 12))
    columns, candidates = len(schema.measured()) - 1, 700
    assert many - few > 10 * columns * candidates * 2_000_000 * 1e-9


@pytest.mark.parametrize(("method", "reported"), [("mixture", True), ("independent", True), ("dp_ctgan", False)])
def test_a_promised_time_holds_the_fit_of_every_method_that_counts(method, reported):
    """The recommended one among them: the sample's run was announced as training of unknown length."""
    assert forecast.timed(method) is reported
    needs = next(m["reads"] for m in synth.methods() if m["name"] == method)
    assert reported is (set(needs) <= {"counts", "nearest", "public counts", "search"})
