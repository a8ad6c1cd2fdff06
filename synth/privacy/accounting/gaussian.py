"""Gaussian noise: mu adds up in squares, and the exact profile turns it into epsilon.

Source: Dong, Roth, Su, arXiv 1905.02383, Corollary 3.3; profile: Balle and Wang, arXiv 1805.06530, Theorem 8.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Callable
from math import inf

import numpy as np

from synth.lazy import Lazy
from synth.privacy.accounting.float_slack import DELTA_SLACK, EPSILON_SLACK, SAFETY, with_float_slack
from synth.privacy.accounting.guarantee import check
from synth.privacy.accounting.roots import root

special = Lazy("scipy.special")
TOLERANCE = 1e-12  # of roots: the reserves that are set aside are far larger


def calibrate(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian mechanism is (epsilon, delta)-DP, the reserve set aside, rounded down.

    Privacy: public only.

    >>> round(calibrate(1.0, 1e-5), 3)
    0.268
    """
    check(epsilon, delta)
    target = epsilon * (1 - EPSILON_SLACK)
    wanted = np.log(delta * (1 - DELTA_SLACK))
    mu = 1 / _root(lambda sigma: _log_delta(sigma, target) - wanted, low=0.1) * (1 - 2 * SAFETY)
    while mu > 0 and derived_epsilon(mu * (1 + SAFETY), delta) > epsilon:
        mu *= 1 - SAFETY
    return mu


def derived_epsilon(mu: float, delta: float) -> float:
    """The epsilon of a mu-GDP mechanism at this delta, the reserves included, rounded up.

    Privacy: public only.

    >>> derived_epsilon(0.0, 1e-5)
    0.0
    """
    if mu <= 0:
        return 0.0
    if mu == inf or delta == 0:
        return inf
    wanted = np.log(delta * (1 - DELTA_SLACK))
    if _log_delta(1 / mu, 0.0) < wanted:
        return 0.0
    return with_float_slack(_root(lambda epsilon: _log_delta(1 / mu, epsilon) - wanted, low=0.0))


def _log_delta(sigma: float, epsilon: float) -> float:
    """The logarithm of the least delta at that epsilon, of noise sigma on what changes by one (Theorem 8 there).

    dp_accounting has the same function; loading all of it takes longer than a run of some thousand rows.
    """
    middle = epsilon * sigma + 1 / (2 * sigma)
    first, second = special.log_ndtr(1 / sigma - middle), epsilon + special.log_ndtr(-middle)
    with np.errstate(divide="ignore"):  # where the two terms are one number
        return float(first + np.log1p(-np.exp(second - first))) if second <= first else -inf


def _root(falling: Callable[[float], float], *, low: float) -> float:
    """Where a falling function of positive numbers passes zero, looked for from ``low`` to 1 and tenfold beyond."""
    high = 1.0
    while low > 0 and falling(low) < 0:
        low, high = low / 10, low
    while falling(high) > 0:
        low, high = high, high * 10
    return float(root(falling, low, high, near=TOLERANCE))


def gaussian_delta(epsilon: np.ndarray | float, mu: np.ndarray | float) -> np.ndarray:
    """delta(epsilon; mu) of a Gaussian mechanism, element by element; epsilon may be negative.

    The result has the common shape of both arguments. ``mu``: at least 0.

    **Source**: Balle and Wang, arXiv 1805.06530, Theorem 8.

    Privacy: public only.

    >>> round(float(gaussian_delta(1.0, 1.0)), 4)
    0.1269
    """
    epsilon, mu = np.broadcast_arrays(np.asarray(epsilon, float), np.maximum(np.asarray(mu, float), 1e-300))
    with np.errstate(over="ignore"):
        size = np.abs(epsilon)
        first = special.log_ndtr(mu / 2 - size / mu)
        ratio = size + special.log_ndtr(-mu / 2 - size / mu) - first
        delta = np.where(ratio < 0, np.exp(first) * -np.expm1(np.minimum(ratio, 0.0)), 0.0)
    return np.where(epsilon < 0, -np.expm1(-size) + np.exp(-size) * delta, delta)
