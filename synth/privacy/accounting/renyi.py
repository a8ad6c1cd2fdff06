"""Renyi divergences, where an event has no better law: zero-concentrated privacy, and pure releases.

rho-zCDP bounds the Renyi divergence of each order a by rho a (arXiv 1605.02065, Definition 1.1); divergences add up,
adaptively too; the conversion to (epsilon, delta) is that of arXiv 2004.00010, Proposition 12. dp_accounting has it
too, one order after the other: a search for rho, which every run begins with, took as long as the rest of a small run.

Pure epsilons add up at delta 0. With a delta many of them cost less: by the divergences of randomised response, which
no pure release exceeds, and by Laplace noise's own.

Proof note: synth/mechanisms/selection.md; synth/mechanisms/laplace.md, synth/mechanisms/external.md.
"""

from functools import lru_cache
from math import expm1, inf, log, log1p

import numpy as np

from synth.privacy.accounting.float_slack import DELTA_SLACK, EPSILON_SLACK, SAFETY
from synth.privacy.accounting.guarantee import check

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


def randomised_response(epsilon: float, orders: np.ndarray) -> np.ndarray:
    """Renyi divergences of a bit told truly with odds e^epsilon to 1, which no pure release exceeds: (orders,).

    ``orders`` (orders,): above 1.

    **Source**: Mironov, arXiv 1702.07476, Proposition 5; the worst case: Kairouz, Oh, Viswanath, arXiv 1311.0776.

    Privacy: public only.

    >>> randomised_response(1.0, np.array([2.0])).round(4).tolist()
    [0.7353]
    """
    first = np.logaddexp(orders * epsilon, (1 - orders) * epsilon)
    return (first - np.logaddexp(0.0, epsilon)) / (orders - 1)


def laplace(epsilon: float, orders: np.ndarray, *, step: float = 0.0) -> np.ndarray:
    """Renyi divergences of numbers with Laplace noise that move by epsilon scales in all: (orders,).

    ``orders`` (orders,): above 1.

    ``step``: the lattice of discrete noise, in scales; 0 for continuous noise. **Source**: Mironov, arXiv 1702.07476,
    Proposition 6, for continuous noise; discrete: laplace.md, step 4.

    Privacy: public only.

    >>> laplace(1.0, np.array([2.0])).round(4).tolist(), laplace(1.0, np.array([2.0]), step=1.0).round(4).tolist()
    ([0.6191], [0.7353])
    """
    if step:
        ends, middle = -1 / np.expm1(-step), -1 / np.expm1(-(2 * orders - 1) * step)
        grown = (ends + middle - 1) * np.tanh(step / 2)
        fallen = (ends - middle) * np.tanh(step / 2)
    else:
        grown, fallen = orders / (2 * orders - 1), (orders - 1) / (2 * orders - 1)
    with np.errstate(divide="ignore"):  # at a huge order one of the two is nothing
        up, down = np.log(grown) + (orders - 1) * epsilon, np.log(fallen) - orders * epsilon
    return np.logaddexp(up, down) / (orders - 1)


@lru_cache(maxsize=256)  # a session's events are alike, and all of them are composed again at each of its questions
def pure_curve(ratio: float, step: float | None = None) -> np.ndarray:
    """Divergences (orders,) at ``ORDERS`` of a pure release of that epsilon; ``step``: of Laplace noise, as there.

    Privacy: public only.
    """
    curve = randomised_response(ratio, ORDERS) if step is None else laplace(ratio, ORDERS, step=step)
    curve.flags.writeable = False
    return curve


def calibrate_rho(epsilon: float, delta: float, *, mu_elsewhere: float = 0.0) -> float:
    """The largest rho that a run may spend when a part of it is zero-concentrated only, rounded down; 0 if none.

    Gaussian questions count with half their mu**2. ``mu_elsewhere``: mu of what the run's other sessions may ask.

    Privacy: public only.

    >>> round(calibrate_rho(1.0, 1e-5), 4)
    0.0305
    """
    check(epsilon, delta, pure=True)
    if delta == 0:
        return 0.0
    target = epsilon * (1 - EPSILON_SLACK) * (1 - SAFETY)
    whole = rho_of_epsilon(target, delta * (1 - DELTA_SLACK)) * (1 - SAFETY)
    return max(whole - mu_elsewhere**2 / 2, 0.0)
