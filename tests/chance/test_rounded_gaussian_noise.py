"""Whole-number noise of the system's bits: its law, and that one of another scale or form is caught.

Each test's false alarm is below 1e-7: |z| < 5.4 for 200,000 draws, which sees a change of 1 % in scale; chi-square of
sizes from the exact law.
"""

import numpy as np
import pytest
from scipy import stats

from synth.mechanisms import counts
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Counts, Marginal

DRAWS = 200_000
SIGMAS = (0.7, 30.0, 3000.0, 2.0**26)


def squares(noise: np.ndarray, sigma: float) -> float:
    """Standardised sum of squares; rounding adds 1/12 of variance from sigma 0.7 on, to three places."""
    exact = sigma**2 + 1 / 12 if sigma > 5 else discrete(sigma)
    return float((np.mean(noise.astype(float) ** 2) / exact - 1) / np.sqrt(2 / len(noise)))


def law(sigma: float) -> tuple[np.ndarray, np.ndarray]:
    ends = np.arange(-round(9 * sigma) - 1, round(9 * sigma) + 2) + 0.5
    return (ends[1:] - 0.5).astype(int), np.diff(stats.norm.cdf(ends / sigma))


def discrete(sigma: float) -> float:
    sizes, shares = law(sigma)
    return float((sizes**2 * shares).sum())


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_noise_has_its_deviation_and_another_fails(sigma, few):
    source = SystemNoise()
    calls = [(DRAWS // 10,)] * 10 if few else [(DRAWS,)]
    noise = np.concatenate([source.gaussian_counts(shape, sigma=sigma) for shape in calls])
    assert abs(squares(noise, sigma)) < 5.4
    assert abs(noise.mean()) < 5.4 * np.sqrt(sigma**2 + 0.1) / np.sqrt(DRAWS)
    for factor in (0.95, 1.05):
        assert abs(squares(noise * factor, sigma)) > 5.4


def chi(noise: np.ndarray, sigma: float) -> float:
    sizes, shares = law(sigma)
    seen = np.bincount(noise - sizes[0], minlength=len(sizes))[: len(sizes)]
    often = shares * len(noise) > 10
    rest = np.append(shares[often], 1 - shares[often].sum())
    result = np.append(seen[often], len(noise) - seen[often].sum())
    return float(stats.chisquare(result, rest * len(noise)).pvalue)


def test_every_size_comes_as_often_as_it_should():
    noise = SystemNoise().gaussian_counts((DRAWS,), sigma=5.5)
    assert chi(noise, 5.5) > 1e-7
    discrete_gaussian = np.rint(stats.laplace.rvs(scale=5.5 / 2**0.5, size=DRAWS, random_state=0)).astype(int)
    assert chi(discrete_gaussian, 5.5) < 1e-7


def test_noise_that_is_drawn_for_many_tables_at_once_is_each_table_s_own(monkeypatch):
    """Two deviations in turn: each table has that of its own, and no two the same numbers."""
    monkeypatch.setattr(counts, "MANY", 3)
    bins = Bins.each("A", 20_000)
    sigmas = [30.0, 3000.0] * 5
    question = Counts(purpose="p", marginals=tuple(Marginal(bins=(bins,), sigma=s) for s in sigmas))
    tables = counts.answer(question, {"A": np.zeros(1000, dtype=np.int64)}, SystemNoise()).values
    for sigma in (30.0, 3000.0):
        noise = np.concatenate([t[1:] for t, s in zip(tables, sigmas, strict=True) if s == sigma])
        assert abs(squares(noise, sigma)) < 5.4
        assert abs(squares(noise * 1.05, sigma)) > 5.4
    assert all(abs(t[0] - 1000) < 9 * s for t, s in zip(tables, sigmas, strict=True))
    wide = np.array([t[1:] for t in tables]) / np.array(sigmas)[:, None]
    apart = np.corrcoef(wide)[~np.eye(10, dtype=bool)]
    assert np.abs(apart).max() < 6.5 / np.sqrt(20_000)
