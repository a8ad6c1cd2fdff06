"""Weighted distances are those of pandas by hand; a table whose weights go astray shows there and nowhere else."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from samples import compared, sample


def test_weighted_shares_are_those_of_pandas():
    real, made = sample(400, seed=0), sample(300, seed=1)
    comparison = compared(real, made, weight="age")
    shares = []
    for one in (real, made):
        weight = pd.Series(np.nan_to_num(one.values("age")))
        shares.append(weight.groupby(np.asarray(one.positions["city"])).sum() / weight.sum())
    by_hand = shares[0].sub(shares[1], fill_value=0).abs().sum() / 2
    assert comparison.weighted.columns["city"] == pytest.approx(by_hand)
    assert "age" not in comparison.weighted.columns
    assert comparison.weighted.means[0] == pytest.approx(np.nan_to_num(real.values("age")).mean())
    assert comparison.weighted.pairs > 0


def test_weights_that_go_to_other_rows_show_in_weighted_shares_alone():
    """The same rows with their weights sorted by city: each column is as it was, what a city weighs is not."""
    real = sample(2000, seed=0)
    order = np.argsort(real.positions["city"], kind="stable")
    shifted = real.positions["age"].copy()
    shifted[order] = np.sort(real.positions["age"])
    made = replace(real, positions={**real.positions, "age": shifted})
    comparison = compared(real, made, weight="age")
    assert comparison.one_way_mean == 0
    assert comparison.weighted.columns["city"] > 0.05
    assert compared(real, real, weight="age").weighted.mean == 0


def test_without_a_weight_or_with_nothing_to_weigh_there_is_none():
    real = sample(50, seed=0)
    assert compared(real, real).weighted is None
    nothing = replace(real, positions={**real.positions, "age": np.full(50, real.columns["age"].size)})  # all missing
    assert compared(nothing, nothing, weight="age").weighted is None
