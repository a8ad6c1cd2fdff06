"""How much a release tells about one row, seen from its noise: for tests of mechanisms and of what they feed.

A Gaussian release of covariance C whose mean moves by h between neighbours is mu-GDP with mu^2 = h^T C^+ h if h lies in
the range of C, and has no guarantee at all if it does not: some combination of the numbers is free of noise.
"""

from math import inf, sqrt

import numpy as np
from scipy.stats import beta, norm


def mu_of(covariance: np.ndarray, shift: np.ndarray, *, tolerance: float = 1e-9) -> float:
    """mu of a Gaussian release whose mean moves by ``shift``; infinite where noise does not reach the move."""
    values, vectors = np.linalg.eigh(covariance)
    along = vectors.T @ shift
    reached = values > tolerance * max(values[-1], 0.0)
    if np.linalg.norm(along[~reached]) > sqrt(tolerance) * np.linalg.norm(shift):
        return inf
    return float(sqrt(np.sum(along[reached] ** 2 / values[reached])))


def mu_between(one: np.ndarray, other: np.ndarray) -> float:
    """The same from draws (n, k) of a release under two neighbours, noise drawn alike (n well above k).

    Means and covariances are estimated; the estimate's error is about sqrt(k / n). Of the two covariances, which are
    equal where noise does not depend on the rows, the one that hides less.
    """
    move = one.mean(0) - other.mean(0)
    return max(mu_of(np.atleast_2d(np.cov(draws, rowvar=False)), move) for draws in (one, other))


def mu_along(one: np.ndarray, other: np.ndarray) -> float:
    """mu estimated from draws (n,) of one statistic under two neighbours; its error is about sqrt(2 / n)."""
    spread = sqrt((np.var(one, ddof=1) + np.var(other, ddof=1)) / 2)
    return abs(float(one.mean() - other.mean())) / spread


def delta_at_least(one: np.ndarray, other: np.ndarray, *, epsilon: float, failure: float = 1e-6) -> float:
    """A lower confidence bound on delta(epsilon) from draws of one statistic; the threshold is chosen on one half."""
    half, later = slice(None, len(one) // 2), slice(len(one) // 2, None)
    sign = 1.0 if one[half].mean() >= other[half].mean() else -1.0
    a, b = np.sort(sign * one[half]), np.sort(sign * other[half])
    gap = 1 - np.arange(len(a)) / len(a) - np.exp(epsilon) * (1 - np.searchsorted(b, a) / len(b))
    threshold = a[np.argmax(gap)]
    hits, n = np.count_nonzero(sign * one[later] >= threshold), len(one[later])
    alarms, m = np.count_nonzero(sign * other[later] >= threshold), len(other[later])
    low = beta.ppf(failure / 2, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(1 - failure / 2, alarms + 1, m - alarms) if alarms < m else 1.0
    return float(low - np.exp(epsilon) * high)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """delta(epsilon) of a mu-GDP mechanism (arXiv 1805.06530, Theorem 8)."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))
