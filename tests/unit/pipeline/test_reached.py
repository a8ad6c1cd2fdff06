"""The forecast of what `mixture` reaches is that of its runs on public tables, and rests on public facts alone."""

import json

import numpy as np
import pytest

import synth
from app.session import charts
from synth.errors import UsageError
from synth.pipeline import reached
from tests.benchmark_modules import benchmark
from tests.conftest import ROOT
from tests.made import codes, number

COLUMN = codes("a", "b", "c")
SCHEMA = synth.Schema.parse({"columns": {f"c{j}": COLUMN for j in range(6)} | {"n": number(0, 99)}})


def test_the_packaged_constants_are_those_of_the_stored_runs():
    bench = benchmark("forecast_reach")
    runs, reported = json.loads(bench.OUT.read_text()), reached.constants()
    again = bench.fitted(runs)
    assert (reported["tables"], reported["runs"], reported["measured"]) == (
        again["tables"],
        again["runs"],
        again["measured"],
    )
    for kind in ("columns", "pairs"):
        for name in ("intercept", "slope", "floor", "factor"):
            assert reported[kind][name] == pytest.approx(again[kind][name], abs=2e-3)
        assert min(reported[kind]["runs_inside"].values()) >= 0.9, "on every table that the constants do not know"
        assert reported[kind]["runs_inside"] == again[kind]["runs_inside"]


def test_the_documentation_says_the_same():
    reported, page = reached.constants(), (ROOT / "docs" / "app.md").read_text()
    said = (
        f"{reported['runs']} runs on {len(reported['tables'])} public tables",
        f"factor of {reported['columns']['factor']:.1f}",
        f"{reported['pairs']['factor']:.1f} for pairs",
    )
    assert all(words in " ".join(page.split()) for words in said), said


def test_more_rows_and_more_epsilon_help_and_only_numbers_of_cells_enter():
    asked = {"epsilons": (0.1, 1.0, 10.0), "delta": 1e-5}
    few, many = (synth.app_api.expected(SCHEMA, rows=n, **asked) for n in (2_000, 50_000))
    for kind in ("columns", "pairs"):
        likely = np.array([[getattr(f, kind).likely for f in item] for item in (few, many)])
        assert (np.diff(likely, axis=0) < 0).all()
        assert (np.diff(likely, axis=1) < 0).all()
    other = synth.Schema.parse(
        {"columns": {f"x{j}": {**COLUMN, "categories": ["p", "q", "r"]} for j in range(6)} | {"m": number(-5, 94)}}
    )
    assert synth.app_api.expected(other, rows=2_000, **asked) == few
    assert few[1].beyond == f"7 columns, where 11 to {_most_columns()} were measured"
    with pytest.raises(UsageError):
        synth.app_api.expected(SCHEMA, rows=0, **asked)


def _most_columns() -> int:
    return reached.constants()["measured"]["columns"][1]


def test_the_card_s_figure_is_the_curve_s_and_advice_follows_it():
    result = synth.app_api.expected(SCHEMA, rows=2_000, epsilons=(0.1, 0.4, 10.0), delta=1e-5)
    drawn = json.loads(charts.reach(result, result[1]).to_json())["datasets"].values()
    reported = {(r["epsilon"], r["of"]): r["likely"] for rows in drawn for r in rows}
    assert reported[(0.4, "pairs of columns")] == result[1].pairs.likely
    assert reported[(0.4, "single columns")] == result[1].columns.likely
    assert "Enough" in synth.app_api.expected_advice(SCHEMA, rows=1_000_000, epsilon=3.0, delta=1e-5)
    wanting = synth.app_api.expected_advice(SCHEMA, rows=500, epsilon=0.1, delta=1e-5)
    assert "times the rows" in wanting
