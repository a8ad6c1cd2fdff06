"""Waves of one table: the sum of their budgets, and what changed between them beyond noise and chance."""

import numpy as np
import pandas as pd
import pytest

from synth.errors import UsageError
from synth.pipeline.series import changes, plan, standing_out
from tests.made import a_schema, codes, ran

SCHEMA = a_schema(region=codes("n", "s", "w"), ill=codes("no", "yes"))


def wave(out, *, ill: float, seed: int, **options):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {"region": rng.choice(["n", "s", "w"], 4000), "ill": np.where(rng.random(4000) < ill, "yes", "no")}
    )
    ran(rows, SCHEMA, delta=1e-6, out=out, separate=True, **options)
    return out


def test_the_waves_of_a_plan_add_up_to_the_whole_and_compose_to_less():
    result = plan(waves=5, epsilon=1.0, delta=1e-5)
    assert result.each * 5 == pytest.approx(1.0)
    assert result.each_delta * 5 == pytest.approx(1e-5)
    assert result.each < result.exact < 0.7
    with pytest.raises(UsageError, match="waves 0: must be 1 to"):
        plan(waves=0, epsilon=1.0, delta=1e-5)


def test_a_change_is_seen_through_noise_and_a_prior_does_not_hide_it(tmp_path):
    """False alarms have a chance of 6e-7 at this level; the change is of twenty standard errors."""
    first = wave(tmp_path / "one", ill=0.2, seed=1)
    same = wave(tmp_path / "same", ill=0.2, seed=2, prior=first)
    other = wave(tmp_path / "other", ill=0.5, seed=3, prior=first)
    level = 1 - 6e-7
    assert not any(row["sure"] for row in changes(first, same, level=level))
    result = changes(first, other, level=level)
    assert {(row["column"], row["value"]) for row in result if row["sure"]} == {("ill", "yes"), ("ill", "no")}
    assert result[0]["low"] < result[0]["change"] < result[0]["high"]
    with pytest.raises(UsageError, match="age: is not a measured column of both"):
        changes(first, other, columns=["age"])


def test_among_many_shares_chance_marks_hardly_any_and_what_changed_is_marked():
    """Each by itself at 95 %, 25 of 500 would be marked where nothing changed."""
    noise = np.random.default_rng(0).normal(size=(200, 500))
    series = [[{"change": float(z), "high": float(z) + 1.96} for z in one] for one in noise]
    marked = [sum(row["sure"] for row in standing_out(rows, level=0.95)) for rows in series]
    assert np.mean([many > 0 for many in marked]) < 0.15
    moved = [{"change": 6.0, "high": 7.96}] * 10
    assert [row["sure"] for row in standing_out([*series[0], *moved], level=0.95)][500:] == [True] * 10
