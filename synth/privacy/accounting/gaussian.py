"""The accountant of Gaussian events: mu adds up in squares, and the exact profile turns it into epsilon.

Source: Dong, Roth, Su, arXiv 1905.02383, Corollary 3.3; profile: Balle and Wang, arXiv 1805.06530, Theorem 8.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Callable, Iterable
from functools import singledispatch
from math import inf, sqrt

import numpy as np

from synth.lazy import Lazy
from synth.privacy.accounting.events import Event, GaussianDpEvent
from synth.privacy.accounting.float_slack import DELTA_SLACK, EPSILON_SLACK, SAFETY, with_float_slack
from synth.privacy.accounting.guarantee import check
from synth.privacy.accounting.roots import root

special = Lazy("scipy.special")
TOLERANCE = 1e-12  # of roots: the reserves that are set aside are far larger


@singledispatch
def mu2_of(event: Event) -> float:
    """What an event adds to mu**2. Errors: ValueError where it is no Gaussian event.

    Privacy: public only.
    """
    raise ValueError(f"an event that is not Gaussian ({event.kind}) has no mu; compose it with epsilon_of")


@mu2_of.register
def _(event: GaussianDpEvent) -> float:
    return event.mu2


def total_mu(events: Iterable[Event]) -> float:
    """mu of all the events together. Errors: ValueError where one is not Gaussian.

    Privacy: public only.

    >>> total_mu([GaussianDpEvent(name="a", sensitivity=3, sigma=1), GaussianDpEvent(name="b", sensitivity=4, sigma=1)])
    5.0
    """
    return sqrt(sum(mu2_of(e) for e in events))


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
