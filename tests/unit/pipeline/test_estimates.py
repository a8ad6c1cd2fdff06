"""Estimates from released counts: exact where these are, covering as often as they say, wide where nothing is known."""

import json
from functools import cache

import numpy as np
import pytest

import synth
from synth.pipeline.inference import estimates
from synth.pipeline.inference.estimates import (
    ColumnTerm,
    EstimateQuestion,
    coefficients,
    differences,
    means,
    quantile,
    regression,
)
from tests.conftest import SMALL, small_frame
from tests.made import ran
from tests.people import SCHEMA, counted, people, weighted

pytestmark = pytest.mark.xdist_group("estimates")


def test_without_noise_the_weights_have_the_counts_and_regressions_are_those_of_the_rows():
    rng = np.random.default_rng(1)
    rows = people(2000, rng)
    result = weighted(counted(rows, 1e-3, rng), 2000.0, rng)
    table = np.zeros((10, 3))
    np.add.at(table, (result.positions["age"], result.positions["ill"]), result.weights)
    exact = np.zeros((10, 3))
    np.add.at(exact, (rows["age"], rows["ill"]), 1)
    assert np.allclose(table, exact, atol=0.01)
    asked = EstimateQuestion.read("linear:ill=yes~age+sex")
    x = np.stack([np.ones(2000), rows["age"], rows["sex"]], axis=1)
    least = np.linalg.lstsq(x, (rows["ill"] == 1).astype(float), rcond=None)[0]
    assert np.allclose(regression(result, asked, SCHEMA).values, least, atol=5e-4)  # three steps


@cache
def repeated(repetitions=250, size=2000, sigma=40.0):
    """Estimates and deviations of 250 samples under noise: a mean, a share, a difference and a slope."""
    reported = []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        rows = people(size, rng)
        result = weighted(counted(rows, sigma, rng), float(size), rng)
        terms = {"age": ColumnTerm(column="age"), "yes": ColumnTerm(column="ill", value="yes")}
        own = means(result, terms, SCHEMA, z=1.959964, related=0.1)
        own += differences(result, ColumnTerm(column="age"), "sex", SCHEMA, z=1.959964, related=0.1)
        slopes = regression(result, EstimateQuestion.read("logistic:ill=yes~age+sex"), SCHEMA)
        own += coefficients(result, slopes, z=1.959964, related=0.1)[1:2]
        own += [quantile(result, "age", 0.5, SCHEMA, z=1.959964, related=0.1)]
        reported.append([(i.estimate, i.low, i.high, i.parts["noise"], i.parts["sampling"]) for i in own])
    return np.array(reported)


@cache
def law():
    """The same of two million rows."""
    rows = people(2_000_000, np.random.default_rng(99))
    y = rows["ill"] == 1
    cells = {(a, s): y[(rows["age"] == a) & (rows["sex"] == s)].mean() for a in range(10) for s in range(2)}
    design, p = np.array([[1, a, s] for a, s in cells]), np.array(list(cells.values()))
    beta = np.zeros(3)
    for _ in range(30):
        m = 1 / (1 + np.exp(-design @ beta))
        beta += np.linalg.solve((design * (m * (1 - m))[:, None]).T @ design, design.T @ (p - m))
    age = rows["age"]
    return np.array([age.mean(), y.mean(), age[rows["sex"] == 0].mean() - age[rows["sex"] == 1].mean(), beta[1], 4.5])


@pytest.mark.long
def test_intervals_cover_what_they_say_though_the_model_is_wrong():
    """250 repetitions: below 95 % by more than 4.9 deviations (.0675) less than once in a million runs, each of five
    estimands; the law's own figures are known to a thirtieth of the intervals."""
    reported = repeated()
    hit = ((reported[:, :, 1] <= law()) & (law() <= reported[:, :, 2])).mean(0)
    assert hit.min() > 0.95 - 4.9 * np.sqrt(0.95 * 0.05 / 250)
    narrow = (np.abs(reported[:, :4, 0] - law()[:4]) <= 1.96 * reported[:, :4, 4]).mean(
        0
    )  # the noise left out: the evil twin
    assert narrow.max() < 0.87


@pytest.mark.long
def test_deviations_are_neither_too_small_nor_too_large():
    """Variances over 250 repetitions against those that were stated: within 4.9 deviations of a chi-square's part."""
    reported = repeated()[:, :4]
    ratio = reported[:, :, 0].var(0, ddof=1) / (reported[:, :, 3] ** 2 + reported[:, :, 4] ** 2).mean(0)
    assert np.abs(ratio - 1).max() < 4.9 * np.sqrt(2 / 250) + 0.05  # linearised: a slope bends a little


def test_a_group_that_noise_hides_has_the_whole_range_and_says_so():
    rng = np.random.default_rng(4)
    result = weighted(counted(people(300, rng), 60.0, rng), 300.0, rng)
    reported = {i.name: i for i in differences(result, ColumnTerm(column="age"), "ill", SCHEMA, z=1.96, related=0.1)}
    assert not reported["yes - perhaps"].bounded
    assert reported["yes - perhaps"].high - reported["yes - perhaps"].low > 9
    fitted = estimates._answered(EstimateQuestion.read("linear:age~ill"), result, SCHEMA, z=1.96, related=0.1)
    assert not {i.name: i.bounded for i in fitted}["ill=perhaps"]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    place = tmp_path_factory.mktemp("estimates")
    ran(small_frame(400), SMALL, at=place, epsilon=5.0, method="independent", seed=1)
    return place / "out"


def test_what_no_table_told_widens_the_interval_and_is_warned_of(release):
    (apart,) = synth.estimates(release, ["difference:age*sex"])
    assert "rests" in apart["warnings"][0]
    assert apart["unmeasured"] > max(apart["noise"], apart["sampling"])
    (alone,) = synth.estimates(release, ["mean:age"])
    assert not alone["warnings"]
    assert alone["unmeasured"] < 0.1 * alone["noise"]
    assert abs(alone["estimate"] - small_frame(400)["age"].astype(int).mean()) < 5 * alone["noise"] + 0.5


def test_the_command_prints_them_and_missing_cells_are_left_out(release, command):
    code, out, _ = command("estimate", release, "--ask", "mean:income", "--ask", "share:region", "--json")
    reported = json.loads(out)["estimates"]
    assert code == 0
    assert [t["name"] for t in reported] == ["income", "1", "2", "3", "4"]
    income = small_frame(400)["income"].replace("", np.nan).astype(float).mean()
    assert reported[0]["low"] < income < reported[0]["high"]
    assert abs(sum(t["estimate"] for t in reported[1:]) - 1) < 0.01


@pytest.mark.parametrize(
    "ask",
    [
        "mean:nothing",
        "mean:sex",
        "share:age",
        "quantile:age:2",
        "difference:age*income",
        "linear:age",
        "linear:age~age",
        "mean:seen",
        "mean:sex=x",
        "how:age",
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(release, ask):
    with pytest.raises(synth.UsageError) as reported:
        synth.estimates(release, [ask])
    assert "\n" not in str(reported.value)
    assert ask in str(reported.value)
