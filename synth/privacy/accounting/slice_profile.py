"""Exact privacy of slices: a Gaussian mechanism whose shift is random, and told with the answer.

Given the directions U, which have the same law on both tables and are published, moving a row by z shifts the
answer by r = ||zU|| (mechanisms/slices.md). So the privacy profile is the Gaussian one averaged over r: one integral.

Proof note: synth/mechanisms/slices.md.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import asin, expm1, inf, isfinite, log, log1p, pi, sqrt
from typing import Any

import numpy as np

from synth.lazy import Lazy
from synth.privacy.accounting.float_slack import DELTA_SLACK, EPSILON_SLACK, SAFETY
from synth.privacy.accounting.gaussian import calibrate, gaussian_delta
from synth.privacy.accounting.roots import least
from synth.questions.slices import DIRECTION_BITS

special = Lazy("scipy.special")
stats = Lazy("scipy.stats")

NODES = 400  # Gauss-Legendre nodes; the integrand is smooth
TAIL = 1e-30  # probability left out at either end of the law of r, and added to delta
ROUNDED = 1e-11  # relative error of the weights and sums, added to every delta


@dataclass(frozen=True)
class Shift:
    """The law of r = ||zU|| for ||z|| = 1 and U (dim, num_slices).

    ``gaussian``: entries N(0, 1/dim), so dim * r**2 is chi-squared of num_slices degrees. ``rotation``: orthonormal
    columns, so r**2 is Beta(num_slices / 2, (dim - num_slices) / 2), and r = 1 once num_slices reaches dim. (A form
    with U scaled by sqrt(num_slices / dim) there has noise scaled by as much, and the same privacy.)

    Errors: ValueError for directions that are none, or a number below 1.
    Privacy: public only.

    >>> r, weight = Shift(100, 10).nodes
    >>> round(float(weight @ r**2), 3)
    0.1
    """

    dim: int
    num_slices: int
    directions: str = "gaussian"

    def __post_init__(self) -> None:
        if self.dim < 1 or self.num_slices < 1 or self.directions not in ("gaussian", "rotation"):
            raise ValueError(f"no law of shifts is known for {self}")

    @property
    def fixed(self) -> bool:
        """Whether r is 1 for certain: all of a rotation's directions are there."""
        return self.directions == "rotation" and self.num_slices >= self.dim

    @property
    def slack(self) -> float:
        """By how much r may grow since directions are rounded onto their lattice, and computed in float64."""
        return 0.0 if self.fixed else sqrt(self.dim * self.num_slices) * 2.0**-DIRECTION_BITS

    @cached_property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of r (slack included) and their weights: the law of r, save for ``TAIL`` at either end."""
        if self.fixed:
            return np.ones(1), np.ones(1)
        if self.directions == "gaussian":  # over the chi law of sqrt(dim) * r, in which the integrand is smooth at 0
            law = stats.chi(self.num_slices)
            x, weight = _between(float(law.ppf(TAIL)), float(law.isf(TAIL)))
            density = special.xlogy(self.num_slices - 1, x) - x * x / 2 - special.gammaln(self.num_slices / 2)
            return x / sqrt(self.dim) + self.slack, weight * np.exp(density + (1 - self.num_slices / 2) * np.log(2.0))
        # over the angle t with r = sin t, in which the Beta law has no singular end
        a, b = self.num_slices / 2, (self.dim - self.num_slices) / 2
        low, high = (float(special.betaincinv(a, b, TAIL)), float(special.betaincinv(b, a, TAIL)))
        t, weight = _between(asin(sqrt(low)), pi / 2 - asin(sqrt(high)))
        density = special.xlogy(2 * a - 1, np.sin(t)) + special.xlogy(2 * b - 1, np.cos(t)) - special.betaln(a, b)
        return np.sin(t) + self.slack, 2 * weight * np.exp(density)


_legendre = lru_cache(np.polynomial.legendre.leggauss)


def _between(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    x, weight = _legendre(NODES)
    return (low + high) / 2 + (high - low) / 2 * x, (high - low) / 2 * weight


def _convex(epsilon: float, mu: np.ndarray) -> np.ndarray:
    """The tangent majorant of delta(epsilon; sqrt(t)), convex in t = mu**2, at epsilon >= 0.

    The derivative in t is phi(epsilon / mu - mu / 2) / (2 mu), which grows up to t0 = 2 (sqrt(1 + epsilon**2) - 1) and
    falls afterwards; beyond t0 the tangent there is taken.
    """
    turn = sqrt(2 * (sqrt(1 + epsilon**2) - 1))
    if turn == 0:
        return np.where(mu > 0, inf, 0.0)
    slope = stats.norm.pdf(epsilon / turn - turn / 2) / (2 * turn)
    tangent = float(gaussian_delta(epsilon, turn)) + slope * (mu**2 - turn**2)
    return np.where(mu <= turn, gaussian_delta(epsilon, mu), tangent)


def delta(
    epsilon: float,
    shift: Shift,
    *,
    ratio: float,
    mu_elsewhere: float = 0.0,
    rate: float = 1.0,
    swap: float = 0.0,
    rows_split_across_groups: bool = False,
) -> float:
    """The least delta at this epsilon of slices with ``ratio`` = sensitivity / sigma, rounded up.

    ``mu_elsewhere``: mu of Gaussian mechanisms that are asked as well: given U all is Gaussian, with mu**2 summed.
    ``rate``: each row enters with this probability, else as a zero row (with neither of the other two); or, with
    ``swap`` above 0, so many of the rows are drawn without replacement, two of which differ by at most ``swap``
    sensitivities (``without_replacement``).
    ``rows_split_across_groups``: the sensitivity is several rows' that may fall into different groups, so that r**2 is
    only bounded in increasing convex order by that of one row as large: the profile's convex majorant is averaged.

    Errors: ValueError for a rate beside other questions or spread rows.
    Privacy: public only.

    >>> round(delta(5.1, Shift(100, 100), ratio=1 / 0.915), 6)
    1e-05
    """
    if (rate < 1 or swap) and (mu_elsewhere > 0 or rows_split_across_groups):
        raise ValueError("subsampled slices compose by loss distributions only")
    r, weight = shift.nodes
    mu = np.hypot(mu_elsewhere, ratio * r)
    if rows_split_across_groups:
        values = _convex(epsilon, mu) if epsilon >= 0 else np.ones_like(mu)
    else:
        values = _sampled(epsilon, mu, rate=rate, swap=swap, removed=True)
    return min(1.0, float(weight @ values) * (1 + ROUNDED) + 2 * TAIL)


def _sampled(epsilon: np.ndarray | float, mu: np.ndarray, *, rate: float, swap: float, removed: bool) -> np.ndarray:
    """delta at each ``mu``, for the way in which rows were sampled."""
    if swap:
        return without_replacement(float(epsilon), mu, rate=rate, swap=swap)
    if rate == 1:
        return gaussian_delta(epsilon, mu)
    if removed:  # a Gaussian that is shifted with probability ``rate`` beside an unshifted one
        if np.ndim(epsilon) == 0 and float(epsilon) <= log1p(-rate):
            return np.full(np.shape(mu), -np.expm1(epsilon))
        return rate * gaussian_delta(np.log1p(np.expm1(epsilon) / rate), mu)
    left = 1 - np.exp(epsilon) * (1 - rate)
    if left <= 0:
        return np.zeros(np.shape(mu))
    return left * gaussian_delta(epsilon + np.log(rate / left), mu)


def without_replacement(epsilon: float, mu: np.ndarray, *, rate: float, swap: float) -> np.ndarray:
    """A bound on delta, in either order of neighbours, where ``rate`` of the rows are drawn without replacement.

    ``mu``: (k,), the result has its shape: by how many deviations the changed row moves; another row in its place
    moves by ``swap`` times that at most. With a = e^epsilon, a' = 1 + (a - 1) / rate and b = a / a': rate times the
    average, by 1 - b and b, of the deltas at ln a' of ``swap`` mu and of mu. **Source**: Balle, Barthe, Gaboardi,
    arXiv 1807.01647, Theorem 2.

    Privacy: public only.

    >>> one = without_replacement(1.0, np.array([0.5]), rate=1.0, swap=2.0)
    >>> bool(np.isclose(one[0], gaussian_delta(1.0, 0.5)))
    True
    """
    if epsilon < 0:
        return -np.expm1(epsilon) + np.exp(epsilon) * without_replacement(-epsilon, mu, rate=rate, swap=swap)
    above = 1 + np.expm1(epsilon) / rate
    share = np.exp(epsilon) / above
    own, other = gaussian_delta(np.log(above), mu), gaussian_delta(np.log(above), swap * mu)
    return rate * ((1 - share) * np.maximum(own, other) + share * own)


def profile(
    grid: np.ndarray, shift: Shift, *, ratio: float, rate: float = 1.0, swap: float = 0.0, removed: bool = True
) -> np.ndarray:
    """delta at each epsilon of ``grid`` (any sign), rounded up, for one of the two orders of the neighbours.

    ``grid``: (k,), the result has its shape; ``ratio``: at least 0; ``rate`` and ``swap`` as in
    ``delta``.

    Privacy: public only.
    """
    r, weight = shift.nodes
    deltas = np.empty(len(grid))
    for i, epsilon in enumerate(grid):
        deltas[i] = weight @ _sampled(epsilon, ratio * r, rate=rate, swap=swap, removed=removed)
    return np.minimum(deltas * (1 + ROUNDED) + 2 * TAIL, 1.0)


def epsilon_at(delta_: float, shift: Shift, *, ratio: float, **composed: Any) -> float:
    """The least epsilon at this delta, rounded up; inf where there is none below 1e6. No reserves.

    ``composed``: what else ``delta`` takes.

    Privacy: public only.

    >>> round(epsilon_at(1e-5, Shift(100, 100), ratio=1 / 1.1492), 1)  # what Theorem 1 asks for at 5.1
    3.9
    """
    return least(lambda epsilon: delta(epsilon, shift, ratio=ratio, **composed) > delta_, floor=0.0, ceiling=1e6)


def sigma_at(epsilon: float, delta_: float, shift: Shift, *, sensitivity: float = 1.0, **composed: Any) -> float:
    """The least sigma whose delta at ``epsilon`` is at most ``delta_``, rounded up; inf where none is. No reserves.

    ``composed``: what else ``delta`` takes.

    Privacy: public only.

    >>> round(sigma_at(5.1, 1e-5, Shift(100, 10)), 3), round(sigma_at(5.1, 1e-5, Shift(100, 10, "rotation")), 3)
    (0.362, 0.351)
    """

    def above(sigma: float) -> bool:
        ratio = sensitivity / sigma if sigma > 0 else inf
        return not isfinite(ratio) or delta(epsilon, shift, ratio=ratio, **composed) > delta_

    return least(above, floor=0.0, ceiling=1e9 * sensitivity)


def slice_sigma(
    *,
    epsilon: float,
    delta: float,
    sensitivity: float,
    dim: int,
    num_slices: int,
    directions: str = "gaussian",
    **composed: Any,
) -> float:
    """The least noise of one question of slices that keeps (epsilon, delta), the sampler's reserves set aside.

    ``composed``: what else ``delta`` takes. Errors: ValueError where ``mu_elsewhere`` alone takes it all.

    Privacy: public only.

    >>> facts = dict(epsilon=1.0, delta=1e-5, sensitivity=1.0, dim=100)
    >>> round(slice_sigma(num_slices=100, **facts), 2), round(slice_sigma(num_slices=10, **facts), 2)
    (3.85, 1.45)
    """
    target = epsilon * (1 - EPSILON_SLACK) * (1 - SAFETY), delta * (1 - DELTA_SLACK)
    sigma = sigma_at(*target, Shift(dim, num_slices, directions), sensitivity=sensitivity, **composed)
    if not isfinite(sigma):
        raise ValueError("no noise is enough: other questions take the whole budget")
    return sigma * (1 + SAFETY)


def theorem_1(epsilon: float, delta_: float, *, dim: int, num_slices: int, rate: float = 1.0) -> float:
    """The noise that the published bound asks for at sensitivity 1: for comparison, never for a charge.

    The least sigma whose ``theorem_1_epsilon``, at the best order, is at most epsilon. ``rate`` below 1: the published
    Lemma 1's amplification by a sample, epsilon = ln(1 + rate (e^epsilon' - 1)) and delta = rate delta', which
    overlooks that the sample's size is disclosed. **Source**: arXiv 2410.19941, Theorem 1 and Lemma 1.

    Privacy: public only.

    >>> round(theorem_1(5.1, 1e-5, dim=778, num_slices=200), 3)
    0.557
    >>> round(theorem_1(5.1, 1e-5, dim=778, num_slices=200, rate=0.25), 3)  # the paper's own; 0.486 is sound
    0.424
    """
    epsilon, delta_ = log1p(expm1(epsilon) / rate), delta_ / rate
    orders = 1 + np.logspace(-3, 4, 20_001)
    left = epsilon - np.log(1 / delta_) / (orders - 1)
    orders, left = orders[left > 0], left[left > 0]
    return float(np.sqrt(((orders * num_slices / (2 * left)) + orders * (orders - 1)) / dim).min())


def swd(epsilon: float, delta_: float, *, dim: int, num_slices: int) -> float:
    """DP-SWD's noise at sensitivity 1, by its smooth sensitivity: for comparison, never for a charge.

    On independent unit directions the slices of a vector of length 1 have, but for a probability of half of delta, a
    squared length of at most k / d + (2 / 3) ln(2 / delta) + (2 / d) sqrt(k (d - 1) / (d + 2) ln(2 / delta)), by
    Bernstein's inequality; the other half of delta is the Gaussian mechanism's. Never more than k. **Source**:
    Rakotomamonjy and Ralaivola, arXiv 2107.01848, as in arXiv 2309.15696, C.1.

    Privacy: public only.

    >>> round(swd(5.1, 1e-5, dim=778, num_slices=200), 2), round(swd(1.0, 1e-5, dim=10, num_slices=1000), 1)
    (2.64, 43.9)
    """
    tail = log(2 / delta_)
    square = num_slices / dim + 2 * tail / 3
    square += 2 / dim * sqrt(num_slices * (dim - 1) / (dim + 2) * tail)
    return sqrt(min(square, num_slices)) / calibrate(epsilon, delta_ / 2)
