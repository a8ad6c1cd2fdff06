"""Slices as privacy loss distributions, to be composed with anything else by dp_accounting, pessimistically.

Used where no closed composition holds: subsampled slices beside other questions, or slices of several laws.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, inf, isfinite

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.pld_pmf import PLDPmf, create_pmf_pessimistic_connect_dots

from synth.privacy.accounting.slice_profile import Shift, epsilon_at, profile

INTERVAL = 2e-3  # step of the losses; connecting the dots errs by its square
TOP = 1e-13  # delta at the largest loss listed; what is beyond counts as infinite
LARGEST = 60.0  # losses above this count as infinite


@lru_cache(maxsize=32)
def distribution(shift: Shift, *, ratio: float, rate: float = 1.0) -> pld.PrivacyLossDistribution:
    """The loss distribution that dominates slices with ``ratio`` = sensitivity / sigma, in both orders of neighbours.

    **Source**: connect-the-dots, Doroshenko et al., arXiv 2207.04380, Algorithm 1, applied to the exact profile.
    """
    top = min(epsilon_at(TOP, shift, ratio=ratio, rate=rate), LARGEST)
    most = ceil(top / INTERVAL) + 1
    steps = np.arange(-most, most + 1)
    removed = _masses(steps, profile(steps * INTERVAL, shift, ratio=ratio, rate=rate))
    if rate == 1:
        return pld.PrivacyLossDistribution(removed)
    added = _masses(steps, profile(steps * INTERVAL, shift, ratio=ratio, rate=rate, removed=False))
    return pld.PrivacyLossDistribution(removed, added)


def _masses(steps: np.ndarray, deltas: np.ndarray) -> PLDPmf:
    return create_pmf_pessimistic_connect_dots(INTERVAL, steps, np.minimum.accumulate(deltas))


def epsilon(laws: Sequence[tuple[Shift, float, float, int]], delta: float, *, beside: float = 0.0) -> float:
    """Epsilon at ``delta`` of slices, each given as (shift, ratio, rate, count), and of Gaussians of mu ``beside``.

    >>> twice = [(Shift(9, 9), 0.3, 1.0, 2)]
    >>> round(epsilon(twice, 1e-5), 4), round(epsilon(twice, 1e-5, beside=0.2), 4)
    (1.9592, 2.1063)
    """
    whole = pld.identity(value_discretization_interval=INTERVAL)
    if beside > 0:
        whole = pld.from_gaussian_mechanism(1 / beside, value_discretization_interval=INTERVAL)
    for shift, ratio, rate, count in laws:
        one = distribution(shift, ratio=ratio, rate=rate)
        whole = whole.compose(one if count == 1 else one.self_compose(count))
    found = float(whole.get_epsilon_for_delta(delta))
    return found if isfinite(found) else inf
