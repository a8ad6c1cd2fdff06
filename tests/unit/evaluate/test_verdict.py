"""The verdict's words follow the table: a second sample is good for all, and what was broken is named."""

from itertools import combinations

import numpy as np
import pytest
from samples import SCHEMA, compared, sample, write

from synth.evaluate import amounts
from synth.evaluate.examination import appraise
from synth.evaluate.from_rows import from_rows
from synth.evaluate.read_sample import Sample
from synth.evaluate.verdict import BUILT_ON, CARE, GOOD, LEVELS, NOT, REMEDIES, USES
from synth.schema import grouping
from tests.made import a_schema, codes, number

RULE = "hours is empty where job is none: make it a rule?"


def _levels(result):
    return {u.name: u.level for u in result.uses}


def _appraised(folder, real, synthetic):
    return appraise(write(folder / "real.csv", real), write(folder / "made.csv", synthetic), SCHEMA)[1]


def test_a_second_sample_is_good_for_everything(tmp_path):
    result = _appraised(tmp_path, sample(4000, seed=0), sample(4000, seed=1))
    assert set(_levels(result)) == {*USES, "prediction"}
    assert set(_levels(result).values()) == {GOOD}


def test_columns_without_what_ties_them_together_are_good_for_columns_alone(tmp_path):
    result = _appraised(tmp_path, sample(4000, seed=0), sample(4000, seed=1, linked=False))
    levels = _levels(result)
    assert levels["columns"] == GOOD
    assert levels["pairs"] != GOOD
    assert levels["prediction"] == levels["detection"] == NOT
    assert result.at(NOT)
    assert {"age", "income"} == set(result.worst["pair"][0].names), "the strongest tie is lost, so it is the worst pair"
    assert "both right" in result.reconciled


@pytest.mark.parametrize("broken", [False, True])
def test_a_relation_of_three_columns_is_missed_where_pairs_are_right(broken):
    """e is the sum of a and b modulo 4: independent of each alone."""
    measured = a_schema(**{n: codes(*"0123") for n in "abcde"}).measured()

    def made(seed, *, broken=False):
        rng = np.random.default_rng(seed)
        codes = {n: rng.integers(0, 4, 20_000) for n in "abcd"}
        codes["e"] = rng.integers(0, 4, 20_000) if broken else (codes["a"] + codes["b"]) % 4
        return Sample(columns=measured, positions=codes, rows=20_000)

    comparison = compared(made(0), made(1, broken=broken))
    reported = {u.name: u for u in from_rows(comparison).uses}
    assert reported["pairs"].level == GOOD
    assert (reported["triples"].value > 2 * reported["triples"].second) == broken
    if not broken:  # what a second sample shows is forecast right: ten tables of 64 cells, far below a tenth of error
        assert reported["triples"].value == pytest.approx(reported["triples"].second, rel=0.2)


def test_what_was_not_measured_is_not_judged():
    one = compared(sample(500, seed=0), sample(500, seed=1))
    assert set(_levels(from_rows(one))) == set(USES) - {"subgroups", "detection"}
    assert from_rows(one).reconciled == ""


def _changed(change):
    """A second sample whose incomes are changed: 4,000 rows; positions of income and of city, 1000 the missing one."""
    real, made = sample(4000, seed=0), sample(4000, seed=1)
    income, filled = made.positions["income"].copy(), made.positions["income"] < 1000
    income[filled] = np.clip(change(income, made.positions["city"])[filled].round(), 0, 999)
    made = Sample(columns=made.columns, positions={**made.positions, "income": income}, rows=4000)
    return {u.name: u for u in from_rows(compared(real, made)).uses}


WRONG = {  # a column's mean, its spread, and the mean of one group of a twentieth of the rows
    "nothing": (lambda income, _: income, None),
    "mean": (lambda income, _: income + 40, "averages"),
    "spread": (lambda income, _: income.mean() + 1.3 * (income - income.mean()), "averages"),
    "small group": (lambda income, city: income + 100 * (city == 3), "group_means"),
}


@pytest.mark.parametrize("what", WRONG)
def test_no_verdict_praises_averages_of_which_one_is_wrong(what):
    change, wrong = WRONG[what]
    uses = _changed(change)
    for name in ("averages", "group_means", "correlations"):
        assert (uses[name].level == GOOD) == (wrong is None) or name != wrong, uses[name].sentence
    if wrong is not None:
        parts = " ".join(map(str, (*uses[wrong].but, *uses[wrong].care)))
        assert "income" in parts
        assert ("in place of" in parts) or "times" in parts
        assert wrong == "averages" or uses["averages"].level == GOOD, "of the whole column nothing is wrong"


def test_what_is_not_served_says_what_to_do_and_nothing_is_rated_above_what_it_is_built_on():
    uses = _changed(lambda income, _: 999 - income)
    for use in uses.values():
        assert bool(use.remedy) == (use.level == NOT or bool(use.but))
        assert not use.remedy or use.sentence.endswith(f"to do: {use.remedy}")
        assert LEVELS.index(use.level) >= LEVELS.index(uses[BUILT_ON.get(use.name, use.name)].level)
    assert {u.name for u in uses.values() if u.level == NOT} >= {"averages", "correlations"}
    assert set(REMEDIES) == {*USES, "prediction", "regression", "children", "across"}


HOURS = a_schema(job=codes("none", "cook", "clerk"), hours=number(0, 59, nullable=True), pay=number(0, 9))


def _workers(seed, *, broken, size=3000):
    """Who has no job has no hours, save for a part of the rows."""
    rng = np.random.default_rng(seed)
    job, pay = rng.integers(0, 3, size), rng.integers(0, 10, size)
    empty = (job == 0) ^ (rng.random(size) < broken)
    positions = {"job": job, "hours": np.where(empty, 60, rng.integers(20, 60, size)), "pay": pay}
    return Sample(columns=HOURS.measured(), positions=positions, rows=size)


@pytest.mark.parametrize(("broken", "level"), [(0.0, GOOD), (0.03, CARE), (0.2, NOT)])
def test_rows_that_could_not_be_are_counted_and_their_rule_is_named(broken, level):
    real, made = _workers(0, broken=0.0), _workers(1, broken=broken)
    comparison = compared(real, made)
    assert comparison.implausible.share == pytest.approx(broken, abs=0.02)
    assert comparison.implausible.second < 0.005
    (use,) = (u for u in from_rows(comparison).uses if u.name == "implausible")
    assert use.level == level
    if broken:
        assert set(comparison.implausible.pair) == {"job", "hours"}
        assert comparison.implausible.rule in ("hours is never empty where job is cook, clerk: make it a rule?", RULE)
        assert comparison.implausible.rule in use.sentence


def test_rows_that_could_not_be_are_counted_as_by_hand():
    real, made = sample(600, seed=0), sample(500, seed=1, linked=False)
    halves = np.array_split(np.random.default_rng(2).permutation(600), 2)
    seen = amounts.implausible(real, made, halves)
    groups = {
        n: grouping.coarse(c, real.positions[n]).take if c.is_numeric else np.asarray for n, c in real.columns.items()
    }
    rows = [{n: groups[n](s.positions[n]) for n in groups} for s in (real, made)]
    pairs = list(combinations(groups, 2))
    there = {p: set(zip(*(rows[0][n][halves[0]].tolist() for n in p), strict=True)) for p in pairs}

    def share(table, places):
        return np.mean([any((table[a][i], table[b][i]) not in there[a, b] for a, b in pairs) for i in places])

    assert seen.share == pytest.approx(share(rows[1], range(500)))
    assert seen.second == pytest.approx(share(rows[0], halves[1]))
    assert seen.share > 2 * seen.second


def test_levels_fall_as_the_table_gets_worse():
    rank, seen = [GOOD, CARE, NOT], []
    for mixed in (0.0, 0.3, 0.6, 1.0):
        real, made, lost = sample(4000, seed=0), sample(4000, seed=1), sample(4000, seed=2, linked=False)
        keep = np.random.default_rng(3).random(4000) < mixed
        positions = {n: np.where(keep, lost.positions[n], p) for n, p in made.positions.items()}
        blend = Sample(columns=made.columns, positions=positions, rows=4000)
        result = from_rows(compared(real, blend))
        seen.append(rank.index(_levels(result)["pairs"]))
    assert seen == sorted(seen)
    assert seen[0] < seen[-1]
