"""The accountant of Gaussian events: mu adds up in squares, and the exact profile turns it into epsilon.

Source: Dong, Roth, Su, arXiv 1905.02383, Corollary 3.3; profile: Balle and Wang, arXiv 1805.06530, Theorem 8.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Iterable
from functools import singledispatch
from math import inf, isfinite, sqrt

import numpy as np

from synth.privacy.accounting.events import Event, GaussianDpEvent
from synth.privacy.accounting.float_slack import DELTA_SLACK, EPSILON_SLACK, SAFETY, with_float_slack
from synth.privacy.accounting.guarantee import check
from synth.schema.lazy import Lazy

dp_accounting = Lazy("dp_accounting")


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
    with np.errstate(divide="ignore"):  # where the two terms of the profile are one number, and its logarithm -inf
        mu = 1 / dp_accounting.get_sigma_gaussian(target, delta * (1 - DELTA_SLACK)) * (1 - 2 * SAFETY)
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
    with np.errstate(divide="ignore"):
        epsilon = float(dp_accounting.get_epsilon_gaussian(1 / mu, delta * (1 - DELTA_SLACK)))
    return with_float_slack(epsilon) if isfinite(epsilon) else inf
