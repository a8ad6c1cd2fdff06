"""Sums over Poisson samples of the rows, noised: their privacy loss distributions, composed by dp_accounting.

Each row enters a step's sum with probability ``rate``, by draws of its own. A row that comes, goes or is blanked: the
pair is N(0, 1) and its mixture with N(r, 1), r = sensitivity / sigma, in either order. A row that is replaced may move
the sum from one place to another: what bounds that pair is below. Proof: mechanisms/gradients.md.

Proof note: synth/mechanisms/gradients.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, singledispatch
from math import exp, expm1, inf, isfinite, log, log1p
from typing import TYPE_CHECKING

import numpy as np

from synth.errors import UsageError
from synth.lazy import Lazy
from synth.privacy.accounting.events import Event, PoissonSampledDpEvent
from synth.privacy.accounting.float_slack import DELTA_SLACK, EPSILON_SLACK, SAFETY
from synth.privacy.accounting.slice_profile import gaussian_delta

if TYPE_CHECKING:
    from dp_accounting.pld import privacy_loss_distribution as pld
else:
    pld = Lazy("dp_accounting.pld.privacy_loss_distribution")
pld_pmf = Lazy("dp_accounting.pld.pld_pmf")
optimize = Lazy("scipy.optimize")

INTERVAL, COARSE = 4e-4, 1e-3  # step of the losses, of many steps and of few: connecting the dots errs by its square
MANY, ROUGH = 100, 4e-3  # how many steps are many; step of the losses of a first search
TOP = 1e-14  # delta at the largest loss listed; what is beyond counts as infinite
LARGEST = 40.0  # losses above this count as infinite
CLOSE = 1e-9  # relative width at which the search for a noise stops
LEAST_NOISE, MOST_NOISE = 0.25, 1e6  # deviations in sensitivities between which noise is sought

SELDOM = (
    "options rate and steps: a row would enter the training with a chance of {:.2g}, which delta {:g} alone allows, so "
    "nothing could be learnt and no noise would be needed; raise rate or steps, or lower delta"
)

Law = tuple[float, float, int, bool]  # sensitivity / sigma, rate, steps, whether rows are replaced


@singledispatch
def law_of(event: Event) -> Law:  # noqa: ARG001
    """What an event adds here. Errors: UsageError where it has no such law.

    Privacy: public only.
    """
    raise UsageError("slices are not composed with sums over samples; use separate runs")


@law_of.register
def _(event: PoissonSampledDpEvent) -> Law:
    return event.ratio, event.rate, event.count, event.replaced


@lru_cache(maxsize=512)
def epsilon(laws: tuple[Law, ...], delta: float, *, mu_elsewhere: float = 0.0, interval: float = 0.0) -> float:
    """Epsilon at ``delta`` of all steps of all laws, and of Gaussian mechanisms of mu ``mu_elsewhere``, rounded up.

    ``interval``: step of the losses, where it is not to be chosen by the number of steps.

    Privacy: public only.

    >>> round(epsilon(((0.5, 0.01, 100, False),), 1e-5), 2), round(epsilon(((0.5, 0.01, 100, True),), 1e-5), 2)
    (0.19, 0.45)
    """
    interval = interval or (INTERVAL if max(law[2] for law in laws) >= MANY else COARSE)
    whole = pld.identity(value_discretization_interval=interval)
    if mu_elsewhere > 0:
        whole = pld.from_gaussian_mechanism(1 / mu_elsewhere, value_discretization_interval=interval)
    for ratio, rate, steps, replaced in laws:
        if replaced and rate < 1:
            one = _replaced(ratio, rate, interval)
        else:
            one = pld.from_gaussian_mechanism(
                1 / (ratio * (1 + replaced)), sampling_prob=rate, value_discretization_interval=interval
            )
        whole = whole.compose(one if steps == 1 else one.self_compose(steps))
    result = float(whole.get_epsilon_for_delta(delta))
    return result if isfinite(result) else inf


def _replaced(ratio: float, rate: float, interval: float) -> pld.PrivacyLossDistribution:
    """The loss distribution of the bound ``replaced_delta``, the same in both orders of the neighbours."""
    bounds = np.arange(1.0, LARGEST, 0.5)
    small = replaced_delta(bounds, ratio=ratio, rate=rate) < TOP
    top = float(bounds[small][0]) if small.any() else LARGEST
    most = int(np.ceil(top / interval)) + 1
    positive = replaced_delta(np.arange(most + 1) * interval, ratio=ratio, rate=rate)
    shrunk = np.exp(-np.arange(1, most + 1) * interval)
    negative = 1 - shrunk + shrunk * positive[1:]
    deltas = np.concatenate([negative[::-1], positive])
    steps = np.arange(-most, most + 1)
    return pld.PrivacyLossDistribution(pld_pmf.create_pmf_pessimistic_connect_dots(interval, steps, deltas))


def replaced_delta(epsilon_: np.ndarray, *, ratio: float, rate: float) -> np.ndarray:
    """A bound on delta at each epsilon >= 0 between (1 - q) A + q B and (1 - q) A + q C, B and C Gaussians like A.

    ``epsilon_``: (k,), the result has its shape; ``ratio`` above 0; ``rate``: q, above 0 and at most 1.

    Their centres lie at most ``ratio`` deviations from A's, hence twice that from each other's. With a = e^epsilon, a'
    = 1 + (a - 1) / q and b = a / a' the divergence is q times that of B from (1 - b) A + b C at ln a', at most q times
    the average. **Source**: Balle, Barthe, Gaboardi, arXiv 1807.01647, Theorem 2 and joint convexity.

    Privacy: public only.
    """
    above = 1 + np.expm1(epsilon_) / rate
    share = np.exp(epsilon_) / above
    near, far = (gaussian_delta(np.log(above), k * ratio) for k in (1, 2))
    return rate * ((1 - share) * near + share * far)


def least_sigma(reached: Callable[[float], float], goal: float, *, near: float = 1.0, close: float = CLOSE) -> float:
    """The least noise, in sensitivities, at which ``reached`` (an epsilon, falling with noise) is at most ``goal``.

    Rounded up, to a share of ``close``; sought from ``near`` on; never less than ``LEAST_NOISE``, below which losses
    are too many to be listed. Errors: ValueError where none up to ``MOST_NOISE`` is enough.

    Privacy: public only.
    """
    step, low, high = 1.002 if near != 1 else 2.0, near, near
    while reached(high) > goal:
        low, high, step = high, step * high, step * step
        if high > MOST_NOISE:
            raise ValueError("no noise is enough: other questions take the whole budget")
    while low == high or reached(low) <= goal:
        if low <= LEAST_NOISE:
            return LEAST_NOISE
        low, high, step = max(low / step, LEAST_NOISE), low, step * step

    def off(point: float) -> float:
        result = reached(exp(point))
        return log(result / goal) if isfinite(result) else 10.0

    sigma = exp(optimize.brentq(off, log(low), log(high), xtol=close))
    while reached(sigma) > goal:
        sigma *= 1 + close
    return sigma


@lru_cache(maxsize=256)
def sampled_sigma(
    *, epsilon: float, delta: float, rate: float, steps: int, mu_elsewhere: float = 0.0, replaced: bool = False
) -> float:
    """The least noise, in sensitivities, of ``steps`` sums over samples of ``rate``, and Gaussians ``mu_elsewhere``.

    The sampler's reserves are set aside. Errors: UsageError where the others take the whole budget, or where a row is
    sampled so rarely that no noise would be asked for.

    Privacy: public only.

    >>> round(sampled_sigma(epsilon=1.0, delta=1e-5, rate=0.01, steps=100), 2)
    0.9
    """
    goal, net = epsilon * (1 - EPSILON_SLACK) * (1 - SAFETY), delta * (1 - DELTA_SLACK)
    if rate < 1 and -expm1(steps * log1p(-rate)) <= delta:
        raise UsageError(SELDOM.format(-expm1(steps * log1p(-rate)), delta))

    def reached(sigma: float, *, interval: float = 0.0) -> float:
        return _epsilon(((1 / sigma, rate, steps, replaced),), net, mu_elsewhere=mu_elsewhere, interval=interval)

    try:
        near = least_sigma(lambda s: reached(s, interval=ROUGH), goal, close=1e-4)
        return least_sigma(reached, goal, near=near)
    except ValueError:
        raise UsageError(
            "nothing of epsilon is left for the steps; lower option oneway_share, steps or rate, or raise epsilon"
        ) from None


_epsilon = epsilon
