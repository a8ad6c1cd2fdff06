"""Composition through Renyi divergences, where an event has no better law: zero-concentrated privacy and pure.

rho-zCDP bounds the Renyi divergence of each order a by rho a (arXiv 1605.02065, Definition 1.1); divergences add up,
adaptively too; the conversion to (epsilon, delta) is that of arXiv 2004.00010, Proposition 12. dp_accounting has it
too, one order after the other: a search for rho, which every run begins with, took as long as the rest of a small run.

Proof note: synth/mechanisms/selection.md.
"""

from functools import lru_cache
from math import expm1, inf, log, log1p

import numpy as np

ORDERS = 1 + np.geomspace(1e-2, 1e5, 3000)  # each of them gives a valid epsilon; the least is taken


def epsilon_of_rho(rho: float, delta: float) -> float:
    """Epsilon of rho-zCDP at this delta.

    Privacy: public only.

    >>> round(epsilon_of_rho(0.0305, 1e-5), 2)
    1.0
    """
    return epsilon_of_curve(rho * ORDERS, delta)


def epsilon_of_curve(divergences: np.ndarray, delta: float) -> float:
    """Epsilon at this delta of Renyi divergences at the ``ORDERS``, (orders,).

    Privacy: public only.
    """
    first = divergences[0]
    if first <= 0 or delta**2 + expm1(-first) > 0:  # the total variation, by the first order, is below delta
        return 0.0
    if delta == 0:
        return inf
    added, gained = _parts(delta)
    return max(0.0, float(np.min(divergences + added - gained)))


@lru_cache(maxsize=32)
def _parts(delta: float) -> tuple[np.ndarray, np.ndarray]:
    """What conversion adds to the bound of each order, and what it takes off; the order next to 1 tells nothing."""
    gained = [log(delta * a) / (a - 1) for a in ORDERS]
    return np.array([log1p(-1 / a) for a in ORDERS]), np.array([-inf, *gained[1:]])


@lru_cache(maxsize=256)
def rho_of_epsilon(epsilon: float, delta: float) -> float:
    """The largest rho whose zCDP is (epsilon, delta)-DP, rounded down.

    Privacy: public only.

    >>> round(rho_of_epsilon(1.0, 1e-5), 4)
    0.0306
    """
    low, high = 0.0, epsilon + 1.0  # a rho of epsilon + 1 has more than that
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if epsilon_of_rho(middle, delta) > epsilon else (middle, high)
    return low


def chosen_rho(epsilon: float) -> float:
    """The rho of a choice whose log odds, from one table to its neighbour, move over an interval of length epsilon.

    So does the exponential mechanism's at epsilon = 2 sensitivity / scale. Hoeffding's lemma gives an eighth of the
    square. **Source**: arXiv 2004.07223, Lemma 3.2.

    Privacy: public only.

    >>> chosen_rho(2.0)
    0.5
    """
    return epsilon**2 / 8
