"""Amounts: means, spreads and upper ends of long-tailed numbers come out of noisy counts as they went in."""

import numpy as np
import pytest

from synth.generators.base import Fit, Run, Setting
from synth.generators.core.density import EVEN, Counted, Density, fit_density
from synth.generators.core.mixture import Independent
from synth.schema.table import parse
from tests.unit.generators.helpers import OpenSession

ROWS, SEEDS = 20_000, 5
WIDE = {"type": "integer", "min": 0, "max": 1_000_000}
FEW = {"type": "integer", "min": 0, "max": 200}

LAWS = {
    "exponential": (WIDE, lambda rng: rng.exponential(20_000, ROWS)),
    "log-normal": (WIDE, lambda rng: np.exp(rng.normal(9, 1, ROWS))),
    "many zeros": (WIDE, lambda rng: np.exp(rng.normal(9, 1, ROWS)) * (rng.random(ROWS) < 0.7)),
    "negative too": ({**WIDE, "min": -200_000}, lambda rng: rng.normal(20_000, 15_000, ROWS)),
    "round": (WIDE, lambda rng: np.rint(np.exp(rng.normal(9, 1, ROWS)) / 1000) * 1000),
    "days": (FEW, lambda rng: rng.geometric(0.2, ROWS)),
    "visits": (FEW, lambda rng: rng.poisson(4, ROWS) * rng.integers(0, 3, ROWS)),
}


def drawn(columns, rows, *, mu=0.05, seed=0):
    """Positions that `independent` draws from noisy counts of one column and of nothing else."""
    place = Setting(schema=parse({"columns": columns}), mu=mu, sensitivity=1.0)
    method = Independent()
    releases = method.measure(Run(OpenSession(rows, place, seed=seed), place))
    model = method.fit(releases, place, Fit(np.random.default_rng(seed)))
    return model.sample(ROWS, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("law", LAWS)
def test_means_spreads_and_upper_ends_come_out_of_noise(law):
    column, values = LAWS[law]
    real = np.clip(np.rint(values(np.random.default_rng(0))), column["min"], column["max"]).astype(np.int64)
    real -= column["min"]
    made = [drawn({"x": column}, {"x": real}, seed=seed)["x"] for seed in range(SEEDS)]
    assert all(m.min() >= 0 and m.max() <= column["max"] - column["min"] for m in made)
    off = [(m.mean() - real.mean()) / real.std() for m in made]
    spreads = [m.std() / real.std() for m in made]
    ends = [np.quantile(m, 0.99) / np.quantile(real, 0.99) for m in made]
    assert abs(np.median(off)) < 0.05
    assert 0.75 < np.median(spreads) < 1.3
    assert 0.8 < np.median(ends) < 1.2


def test_counts_without_noise_are_not_smoothed():
    """A gap, an edge and single values are no noise."""
    rng = np.random.default_rng(1)
    real = np.concatenate([rng.integers(0, 40, 8000), rng.integers(90, 120, 8000), np.full(4000, 60)])
    made = drawn({"x": FEW}, {"x": real}, mu=3.0)["x"]
    shares = [np.bincount(v, minlength=201) / len(v) for v in (real, made)]
    assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.01


@pytest.mark.parametrize("size", [3, 5])
def test_two_values_apart_make_no_curve_and_no_error(size):
    """Bends between them cost more than their counts: the curve falls without end, after the spend."""
    starts, noise = np.arange(size), np.full(size, 30.0)
    for seed in range(100):
        rows = np.rint(np.eye(size)[[0, -1]].sum(0) * 50_000 + np.random.default_rng(seed).normal(0, 30, size))
        counted = Counted(rows=rows, noise=noise, block=starts, whole=noise)
        made = fit_density(starts, size, counted, np.maximum(rows, 0))
        assert made is None or np.abs(made[1] - rows).max() < 300


def test_parts_of_a_leaf_are_nearly_even_and_have_the_rows_of_the_whole():
    curve = Density(knots=np.array([0.0, 10.0, 1000.0]), logs=np.array([3.0, 1.0, -6.0]))
    starts = np.array([0, 5, 400])
    cut = curve.cut(starts)
    assert set(starts) <= set(cut.tolist())
    rows = curve.rows(np.append(cut, 1000).astype(float))
    whole = curve.rows(np.append(starts, 1000).astype(float))
    assert np.allclose(np.add.reduceat(rows, np.searchsorted(cut, starts)), whole)
    heights = np.interp(np.append(cut, 1000), curve.knots, curve.logs)
    assert np.abs(np.diff(heights)).max() < 2 * EVEN


def test_a_second_count_is_heard_by_precision_in_leaves_and_in_the_cell_they_were_cut_from():
    counted = Counted(
        rows=np.array([10.0, 20.0, 5.0]),
        noise=np.array([3.0, 3.0, 4.0]),
        block=np.array([0, 0, 1]),
        whole=np.array([1.0, 4.0]),
    )
    both = counted.averaged(np.array([20.0, 40.0, 15.0]), 4.0)
    assert both.rows[2] == pytest.approx(10.0)
    assert both.rows[:2].sum() == pytest.approx(30 + 30 / 33), "the first two are known better together"
    assert both.whole[0] == pytest.approx((1 * 32 / 33) ** 0.5)
    assert both.noise[2] == pytest.approx(8**0.5)
