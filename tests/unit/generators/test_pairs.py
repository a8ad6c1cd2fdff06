"""Wide tables are measured in two steps; what most hides in is seen again on finer, nested bins."""

from itertools import combinations
from math import sqrt

import numpy as np
import pytest

from synth.generators.base import Fit, Run, Setting
from synth.generators.core.mixture import RICHER, Mixture
from synth.generators.core.planning import TABLES, PairPlan, denoised_dependence, most_dependence
from synth.generators.core.solver import Options
from synth.schema.table import Schema
from tests.unit.generators.helpers import OpenSession


def wide_setting(columns=8, size=400, mu=1.0):
    facts = {"type": "categorical", "categories": [str(i) for i in range(size)]}
    schema = Schema.model_validate({"columns": {f"c{j}": facts for j in range(columns)}})
    return Setting(schema=schema, mu=mu, sensitivity=1.0)


def dependent(columns=8, size=400, rows=20_000):
    """Independent columns, but c5 follows c2 in a way that coarse bins of neighbours hide in part."""
    rng = np.random.default_rng(0)
    places = {f"c{j}": rng.integers(0, size, rows) for j in range(columns)}
    places["c5"] = np.where(rng.random(rows) < 0.8, (places["c2"] * 7) % size, places["c5"])
    return places


def measured(plan, **more):
    setting = wide_setting(**more)
    session = OpenSession(dependent(), setting)
    releases = Mixture(plan=plan, rounds=0).measure(Run(session, setting))
    return releases, session, setting


def test_the_dependent_pair_is_seen_again_and_finer():
    releases, _, _ = measured(PairPlan(wide=10, chosen=2))
    first, second = (r.question.marginals for r in releases[-2:])
    seen = {m.columns: m for m in second}
    assert ("c2", "c5") in seen
    before = next(m for m in first if m.columns == ("c2", "c5"))
    assert seen["c2", "c5"].cells > 2 * before.cells
    assert seen["c2", "c5"].sigma < before.sigma


@pytest.mark.parametrize(("wide", "made"), [(10, lambda: dependent()), (400, lambda: twins(1.0))])
def test_groupings_of_both_steps_nest(wide, made):
    """A coarser bin is a union of finer ones, for every two groupings of a column, in wide and other tables."""
    setting = wide_setting()
    session = OpenSession(made(), setting)
    releases = Mixture(plan=PairPlan(wide=wide), rounds=0).measure(Run(session, setting))
    groupings: dict[str, dict[bytes, np.ndarray]] = {}
    for release in (r for r in releases if r.question.purpose == TABLES):
        for bins in (b for m in release.question.marginals for b in m.bins):
            groupings.setdefault(bins.column, {})[bins.groups.tobytes()] = bins.groups
    assert len(groupings["c2"]) > 1
    for item in groupings.values():
        for fine, coarse in combinations(sorted(item.values(), key=lambda g: -g.max()), 2):
            assert len(np.unique(np.stack([fine, coarse]), axis=1).T) == fine.max() + 1


@pytest.mark.parametrize("mu", [0.002, 50.0])
def test_a_number_has_few_bins_of_even_weight_however_little_noise_there_is(mu):
    """A thousand values, hardly any noise: 32 bins, none twice as heavy as another; with much noise fewer."""
    facts = {"type": "integer", "min": 0, "max": 999}
    setting = Setting(schema=Schema.model_validate({"columns": {"a": facts, "b": facts}}), mu=mu, sensitivity=1.0)
    rng = np.random.default_rng(2)
    session = OpenSession({"a": rng.integers(0, 1000, 50_000), "b": rng.integers(0, 1000, 50_000)}, setting)
    (table,) = Mixture(rounds=0).measure(Run(session, setting))[-1].question.marginals
    bins = table.bins[0]
    assert bins.size == 32 if mu > 1 else bins.size < 16
    if mu > 1:
        weights = np.bincount(bins.groups[np.searchsorted(bins.starts, session.positions["a"], side="right") - 1])
        assert weights.max() < 2 * weights.min()


@pytest.mark.parametrize(("size", "bins"), [(41, 41), (700, 256)])
def test_rare_categories_stand_alone_where_noise_lets_them_up_to_so_many(size, bins):
    """Hardly any noise, 100,000 rows, nearly all of one country: others are one in a thousand or fewer."""
    rng = np.random.default_rng(3)
    rare = 1 / np.arange(1, size)
    country = rng.choice(size, 100_000, p=np.append(0.97, 0.03 * rare / rare.sum()))
    facts = {"country": [str(i) for i in range(size)], "race": ["a", "b", "c"]}
    schema = Schema.model_validate({"columns": {n: {"type": "categorical", "categories": c} for n, c in facts.items()}})
    setting = Setting(schema=schema, mu=5000.0, sensitivity=1.0)
    session = OpenSession({"country": country, "race": rng.integers(0, 3, 100_000)}, setting)
    (table,) = Mixture(rounds=0).measure(Run(session, setting))[1].question.marginals
    assert 0.98 * bins <= table.bins[0].size <= bins


@pytest.mark.parametrize("plan", [PairPlan(wide=10), PairPlan(wide=10, second=0.9, chosen=30), PairPlan(wide=99)])
def test_the_whole_budget_is_spent_in_either_way(plan):
    releases, session, setting = measured(plan)
    assert session.spent <= setting.mu**2
    assert sqrt(session.spent) > 0.999 * setting.mu
    assert len(releases) == 3


@pytest.mark.parametrize("wide", [10, 99])
def test_where_nothing_is_merged_nothing_is_kept_back(wide):
    setting = wide_setting(size=3)
    session = OpenSession({n: p % 3 for n, p in dependent().items()}, setting)
    releases = Mixture(plan=PairPlan(wide=wide), rounds=0).measure(Run(session, setting))
    assert len(releases) == 2
    assert 0.999 * setting.mu < sqrt(session.spent) <= setting.mu


def test_where_no_few_pairs_stand_out_all_are_asked_again():
    """``worth`` above one: no pairs can hold that part of what hides."""
    releases, session, setting = measured(PairPlan(wide=10, worth=1.1))
    first, second = (r.question.marginals for r in releases[-2:])
    assert [m.columns for m in first] == [m.columns for m in second]
    assert all(a.bins == b.bins for a, b in zip(first, second, strict=True))
    assert 0.999 * setting.mu < sqrt(session.spent) <= setting.mu


def test_a_wide_table_has_one_grouping_a_column_of_bounded_size():
    for most in (20, 60):
        releases, _, _ = measured(PairPlan(wide=10, most=most))
        seen = {(b.column, b.groups.tobytes()): b.size for m in releases[1].question.marginals for b in m.bins}
        assert len(seen) == 8
        assert 0.2 * most * 8 < sum(seen.values()) <= most * 8


def test_finer_tables_lower_the_worst_pairs_error():
    """Total variation of (c2, c5) between source and model rows, with and without the second step."""
    errors = {}
    for name, wide in (("two steps", 10), ("one step", 10_000)):
        releases, session, setting = measured(PairPlan(wide=wide, chosen=2), mu=0.5)
        method = Mixture(options=Options(cells=RICHER, ensembles=2, steps=200))  # errors lie .06 to .12 apart
        model = method.fit(releases, setting, Fit(np.random.default_rng(0)))
        rows = model.sample(20_000, rng=np.random.default_rng(1))
        tables = [
            np.bincount(p["c2"] // 10 * 40 + p["c5"] // 10, minlength=1600) / 20_000 for p in (rows, session.positions)
        ]
        errors[name] = 0.5 * np.abs(tables[0] - tables[1]).sum()
    assert errors["two steps"] < errors["one step"] - 0.02


def twins(part):
    """c2 and c5 name the same thing, a few common values and many rare ones, for the part ``part`` of the rows."""
    rng = np.random.default_rng(1)
    law = np.array([0.14] * 5 + [0.003] * 100)
    same, other = (rng.choice(105, 20_000, p=law / law.sum()) for _ in range(2))
    places = {n: p % 3 for n, p in dependent().items()}
    return places | {"c2": same, "c5": np.where(rng.random(20_000) < part, same, other)}


@pytest.mark.parametrize(("part", "again"), [(1.0, False), (0.5, True)])
def test_columns_that_determine_each_other_are_seen_finer_and_others_once_more(part, again):
    """A small part of the budget, and where no pair is one column twice it is spent on all tables again."""
    setting = wide_setting()
    session = OpenSession(twins(part), setting)
    releases = Mixture(rounds=0).measure(Run(session, setting))
    first, second = (r.question.marginals for r in releases[-2:])
    assert 0.999 * setting.mu < sqrt(session.spent) <= setting.mu
    if again:
        assert [m.columns for m in first] == [m.columns for m in second]
    else:
        assert [m.columns for m in second] == [("c2", "c5")]
        assert second[0].cells > 1.5 * next(m.cells for m in first if m.columns == ("c2", "c5"))
    spent = [sum((setting.sensitivity / m.sigma) ** 2 for m in asked) for asked in (first, second)]
    assert 0.02 < spent[1] / sum(spent) < 0.04


def test_rare_values_of_a_code_and_its_number_are_seen_one_by_one_though_they_are_few():
    """A tenth of the rows has one of seven values that bins of the number join; what noise is left is small."""
    rng = np.random.default_rng(4)
    code = rng.choice(16, 20_000, p=[0.1] * 9 + [0.1 / 7] * 7)
    facts = {
        "code": {"type": "categorical", "categories": [str(k) for k in range(16)]},
        "number": {"type": "integer", "min": 1, "max": 16},
        "other": {"type": "categorical", "categories": ["a", "b", "c"]},
    }
    setting = Setting(schema=Schema.model_validate({"columns": facts}), mu=3.0, sensitivity=1.0)
    places = {"code": code, "number": rng.permutation(16)[code], "other": rng.integers(0, 3, 20_000)}
    releases = Mixture(rounds=0).measure(Run(OpenSession(places, setting), setting))
    tables = [m for r in releases for m in r.question.marginals if m.columns == ("code", "number")]
    assert [m.cells == 256 for m in tables] == [False, True]


def test_noise_does_not_hide_that_columns_determine_each_other():
    """Twenty values in a bijection, cells' noise a sixteenth of their counts: denoised, they still show it."""
    rng = np.random.default_rng(3)
    noisy = np.diag(np.full(20, 100.0)) + rng.normal(0, 6, (20, 20))
    assert denoised_dependence(noisy) > PairPlan().sure * most_dependence(noisy)
    loose = np.full((20, 20), 2.5) + np.diag(np.full(20, 50.0)) + rng.normal(0, 6, (20, 20))
    assert denoised_dependence(loose) < 0.75 * most_dependence(loose)


def test_tables_of_categories_alone_get_twice_the_budget_of_others():
    """Two categories and two numbers of four values each: equal tables but for what they hold."""
    number, name = {"type": "integer", "min": 0, "max": 3}, {"type": "categorical", "categories": list("abcd")}
    schema = Schema.model_validate({"columns": {"a": number, "b": number, "c": name, "d": name}})
    setting, rng = Setting(schema=schema, mu=5.0, sensitivity=1.0), np.random.default_rng(5)
    session = OpenSession({n: rng.integers(0, 4, 50_000) for n in schema.columns}, setting)
    tables = Mixture(rounds=0).measure(Run(session, setting))[1].question.marginals
    spent = {m.columns: 1 / m.sigma**2 for m in tables}
    assert spent["c", "d"] == pytest.approx(2 * spent["a", "b"], rel=1e-6)
    assert spent["a", "c"] == pytest.approx(spent["a", "b"], rel=1e-6)


def test_bins_that_cannot_get_fewer_are_left_as_they_are():
    """A bound on all columns' bins below two a column cannot be met by numbers: the coarsest are taken, and it ends."""
    facts = {"type": "integer", "min": 0, "max": 99}
    setting = Setting(
        schema=Schema.model_validate({"columns": {f"c{j}": facts for j in range(6)}}), mu=9.0, sensitivity=1.0
    )
    rng = np.random.default_rng(6)
    session = OpenSession({n: rng.integers(0, 100, 5_000) for n in setting.schema.columns}, setting)
    releases = Mixture(plan=PairPlan(wide=5, widest=3), rounds=0).measure(Run(session, setting))
    tables = releases[1].question.marginals
    assert max(m.cells for m in tables) <= 9
