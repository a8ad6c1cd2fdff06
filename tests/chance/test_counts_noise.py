"""The noise of tables of counts is the Gaussian that was paid for: no less, and no more.

The sum of squares of 20,000 draws at |z| < 4.9 has a false alarm of about 1e-6 and sees a change of 5 % in scale; the
evil twins (7 % too little, 7 % too much) must fail the very same test, and are overlooked less than once in 10^17. A
Kolmogorov-Smirnov test sees the shape.
"""

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from synth.mechanisms import counts
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Counts, Marginal

DRAWS = 20_000
SIGMAS = (0.7, 5.0, 300.0)


def answered(sigma: float) -> np.ndarray:
    """Noise that the real mechanism put on the real counts of a real (small) table: answer minus truth."""
    rows = {"x": np.arange(1000, dtype=np.int64) % DRAWS}
    marginal = Marginal(bins=(Bins.each("x", DRAWS),), sigma=sigma)
    release = counts.answer(Counts(purpose="chance", marginals=(marginal,)), rows, SystemNoise())
    return release.values[0] - np.bincount(rows["x"], minlength=DRAWS)


def z_of_squares(draws: np.ndarray, sigma: float) -> float:
    """Standardised sum of squares against a rounded Gaussian, whose variance is sigma**2 + 1/12 (sigma >= 0.5)."""
    return (np.sum(draws.astype(float) ** 2) / (sigma**2 + 1 / 12) - len(draws)) / sqrt(2 * len(draws))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_scale_is_the_stated_one(sigma):
    assert abs(z_of_squares(answered(sigma), sigma)) < 4.9


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("factor", [0.93, 1.07])
def test_evil_twins_are_caught(sigma, factor):
    assert abs(z_of_squares(answered(sigma * factor), sigma)) > 4.9


@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
def test_shape_is_gaussian_and_only_at_the_true_scale(factor):
    """40,000 draws: a tenth more or less moves the statistic to 0.025 or more, eight of its errors beyond the limit."""
    sigma = 3000.0  # so wide that rounding is invisible to the test
    p = stats.kstest(np.concatenate([answered(sigma * factor) for _ in range(2)]) / sigma, "norm").pvalue
    assert p > 1e-6 if factor == 1.0 else p < 1e-6


def test_small_noise_has_the_law_of_a_rounded_gaussian():
    """At sigma 0.7 every probability of a whole number agrees (chi-squared, limit 43), which discrete Gaussian noise
    fails: its noncentrality is 284, and that of a tenth more or less noise 269 and more."""
    draws, sigma = answered(0.7), 0.7
    edges = np.arange(-4, 5)
    seen = np.array([np.count_nonzero(draws == k) for k in edges])
    rounded = stats.norm.cdf((edges + 0.5) / sigma) - stats.norm.cdf((edges - 0.5) / sigma)
    discrete = np.exp(-(edges**2) / (2 * sigma**2))
    discrete /= discrete.sum()

    def misfit(law: np.ndarray) -> float:
        retained = law * DRAWS > 5
        return float(np.sum((seen[retained] - DRAWS * law[retained]) ** 2 / (DRAWS * law[retained])))

    assert misfit(rounded) < stats.chi2.ppf(1 - 1e-6, df=8)
    assert misfit(discrete) > stats.chi2.ppf(1 - 1e-6, df=8)


def test_cells_are_independent_of_each_other():
    """Neighbouring cells of one table, and the same cell of two answers, are uncorrelated."""
    one, two = answered(50.0).astype(float), answered(50.0).astype(float)
    for x, y in ((one[:-1], one[1:]), (one, two)):
        assert abs(np.corrcoef(x, y)[0, 1]) * sqrt(len(x)) < 4.9


def test_replacements_for_unknown_cells_are_uniform():
    """A cell that no category fits falls on every category alike, whatever row it stands in."""
    draws = SystemNoise().uniform_codes(DRAWS, high=7)
    assert stats.chisquare(np.bincount(draws, minlength=7)).pvalue > 1e-6
