"""Estimates from tables so small, or so noisy, that they tell little: possible figures, wide intervals, a warning."""

import json
from math import inf

import numpy as np
import pytest

import synth
from synth.pipeline.inference import estimates
from synth.pipeline.inference.estimates import ColumnTerm, EstimateQuestion, means, quantile
from tests.conftest import SMALL, small_frame
from tests.made import ran
from tests.people import SCHEMA, counted, people, weighted

ENDS = {
    "mean:age": (0, 9),
    "mean:ill=yes": (0, 1),
    "share:ill": (0, 1),
    "quantile:age:0.5": (0, 9),
    "quantile:age:0.01": (0, 9),
    "difference:age*sex": (-9, 9),
    "difference:ill=yes*sex": (-1, 1),
}
FITS = ("linear:age~sex+ill", "logistic:ill=yes~age+sex", "poisson:age~ill")


def reported_by(result, schema=SCHEMA):
    """All answers of weighted rows, by question."""
    return {
        w: [
            estimates._plain(i)
            for i in estimates._answered(EstimateQuestion.read(w), result, schema, z=1.96, related=0.1)
        ]
        for w in (*ENDS, *FITS)
    }


@pytest.mark.long
def test_figures_are_possible_and_what_is_unknown_is_said_to_be():
    """60 tables of 1 to 60 rows under noise of 1 to 100: whatever is answered."""
    unknown = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 61))
        result = weighted(counted(people(size, rng), 10 ** rng.uniform(0, 2), rng), float(rng.integers(0, 61)), rng)
        reported = reported_by(result)
        for ask, (least, most) in ENDS.items():
            for one in reported[ask]:
                assert least <= one["low"] <= one["estimate"] <= one["high"] <= most, (seed, one)
                assert one["warnings"] or one["high"] - one["low"] < most - least, (seed, one)
        for one in (i for f in FITS for i in reported[f]):
            assert one["low"] <= one["estimate"] <= one["high"] or (one["low"], one["high"]) == (-inf, inf)
            assert np.isfinite(one["low"]) or any("not identified" in w for w in one["warnings"])
            assert abs(one["high"] - one["low"]) < 1000 or not np.isfinite(one["low"]), (seed, one)
            unknown += not np.isfinite(one["low"])
    assert 60 < unknown < 60 * 10  # of ten coefficients each: some, and not all


@pytest.mark.long
def test_small_tables_are_covered_as_often_as_is_said():
    """400 tables of 40 rows, whose number the noise often hides: below 95 % by more than 4.9 deviations (.0534) less
    than once in a million runs, each."""
    hit, tables = [], 400
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        result = weighted(counted(people(40, rng), 4.0, rng), 40.0, rng)
        reported = means(
            result,
            {"age": ColumnTerm(column="age"), "yes": ColumnTerm(column="ill", value="yes")},
            SCHEMA,
            z=1.959964,
            related=0.1,
        )
        reported.append(quantile(result, "age", 0.5, SCHEMA, z=1.959964, related=0.1))
        hit.append([i.low <= truth <= i.high for i, truth in zip(reported, (4.5, 0.3775, 4.5), strict=True)])
    assert np.mean(hit, axis=0).min() > 0.95 - 4.9 * np.sqrt(0.95 * 0.05 / tables)


def test_columns_that_determine_each_other_are_not_identified():
    rng = np.random.default_rng(0)
    rows = people(2000, rng)
    rows["sex"] = np.minimum(rows["ill"], 1)
    result = weighted(counted(rows, 1.0, rng), 2000.0, rng)
    result.positions["sex"][:] = np.minimum(result.positions["ill"], 1)
    reported = {
        i.name: i
        for i in estimates._answered(EstimateQuestion.read("linear:age~sex+ill"), result, SCHEMA, z=1.96, related=0.1)
    }
    assert not reported["sex=m"].identified
    alone = estimates._answered(EstimateQuestion.read("linear:age~sex"), result, SCHEMA, z=1.96, related=0.1)
    assert all(i.identified for i in alone)


@pytest.mark.long
@pytest.mark.parametrize(("rows", "epsilon"), [(3, 0.1), (12, 1.0), (1, 20.0)])
def test_real_runs_of_few_rows_answer_within_what_is_possible(tmp_path, command, rows, epsilon):
    ran(small_frame(rows), SMALL, epsilon=epsilon, out=tmp_path / "out", ledger=tmp_path / "l.sqlite")
    asked = ["mean:age", "share:region", "quantile:income:0.5", "difference:age*sex", "logistic:sex=m~age+region"]
    code, out, _ = command("estimate", tmp_path / "out", "--json", *(w for a in asked for w in ("--ask", a)))
    assert code == 0
    bounds = synth.Schema.parse(SMALL).columns
    ends = dict(zip(asked[:3], (bounds["age"].bounds, (0, 1), bounds["income"].bounds), strict=True))
    for one in json.loads(out)["estimates"]:  # valid JSON: null where nothing is known, no infinity
        if one["ask"] in ends:
            least, most = (float(b) for b in ends[one["ask"]])
            assert least <= one["low"] <= one["estimate"] <= one["high"] <= most
        if one["low"] is None:
            assert one["estimate"] is None
            assert any("ask of fewer columns" in w for w in one["warnings"])
    for cell in synth.app_api.count_intervals(tmp_path / "out", ["sex"]):
        assert 0 <= cell["low"] <= cell["share"] <= cell["high"] <= 1
