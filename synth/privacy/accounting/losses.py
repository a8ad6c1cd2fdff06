"""Privacy loss distributions, composed by dp_accounting, pessimistically: where no closed composition holds.

Sums over Poisson samples of the rows, noised: each row enters a step's sum with probability ``rate``, by draws of its
own. A row that comes, goes or is blanked: the pair is N(0, 1) and its mixture with N(r, 1), r = sensitivity / sigma, in
either order. A row that is replaced may move the sum from one place to another: what bounds that pair is below. And
slices of several laws, or subsampled ones beside other questions.

Proof note: synth/mechanisms/gradients.md; synth/mechanisms/slices.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import ceil, exp, expm1, inf, isfinite, log, log1p
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import UsageError
from synth.lazy import Lazy
from synth.privacy.accounting.events import SlicesDpEvent
from synth.privacy.accounting.float_slack import DELTA_SLACK, EPSILON_SLACK, SAFETY
from synth.privacy.accounting.gaussian import gaussian_delta
from synth.privacy.accounting.slice_profile import Shift, epsilon_at, profile

if TYPE_CHECKING:
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld
else:
    pld = Lazy("dp_accounting.pld.privacy_loss_distribution")
    pld_pmf = Lazy("dp_accounting.pld.pld_pmf")
optimize = Lazy("scipy.optimize")

INTERVAL = 2e-3  # step of the losses of slices; connecting the dots errs by its square
TOP = 1e-13  # delta at the largest loss listed; what is beyond counts as infinite
LARGEST = 60.0  # losses above this count as infinite
SAMPLED, COARSE = 4e-4, 1e-3  # step of the losses, of many steps and of few: connecting the dots errs by its square
MANY, ROUGH = 100, 4e-3  # how many steps are many; step of the losses of a first search
SAMPLED_TOP = 1e-14  # delta at the largest loss listed; what is beyond counts as infinite
SAMPLED_LARGEST = 40.0  # losses above this count as infinite
CLOSE = 1e-9  # relative width at which the search for a noise stops
LEAST_NOISE, MOST_NOISE = 0.25, 1e6  # deviations in sensitivities between which noise is sought

SELDOM = (
    "options rate and steps: a row would enter the training with a chance of {:.2g}, which delta {:g} alone allows, so "
    "nothing could be learnt and no noise would be needed; raise rate or steps, or lower delta"
)

Law = tuple[float, float, int, bool]  # sensitivity / sigma, rate, steps, whether rows are replaced


@lru_cache(maxsize=512)
def samples_epsilon(laws: tuple[Law, ...], delta: float, *, mu_elsewhere: float = 0.0, interval: float = 0.0) -> float:
    """Epsilon at ``delta`` of all steps of all laws, and of Gaussian mechanisms of mu ``mu_elsewhere``, rounded up.

    ``interval``: step of the losses, where it is not to be chosen by the number of steps.

    Privacy: public only.

    >>> [round(samples_epsilon(((0.5, 0.01, 100, replaced),), 1e-5), 2) for replaced in (False, True)]
    [0.19, 0.45]
    """
    interval = interval or (SAMPLED if max(law[2] for law in laws) >= MANY else COARSE)

    def one(ratio: float, rate: float, replaced: bool) -> pld.PrivacyLossDistribution:
        if replaced and rate < 1:
            return _replaced(ratio, rate, interval)
        noise = 1 / (ratio * (1 + replaced))
        return pld.from_gaussian_mechanism(noise, sampling_prob=rate, value_discretization_interval=interval)

    parts = ((one(ratio, rate, replaced), steps) for ratio, rate, steps, replaced in laws)
    return _composed(parts, delta, mu_elsewhere, interval)


def _composed(
    parts: Iterable[tuple[pld.PrivacyLossDistribution, int]], delta: float, mu_elsewhere: float, interval: float
) -> float:
    """Epsilon at ``delta`` of loss distributions, each so many times, and of Gaussians of ``mu_elsewhere``."""
    whole = pld.identity(value_discretization_interval=interval)
    if mu_elsewhere > 0:
        whole = pld.from_gaussian_mechanism(1 / mu_elsewhere, value_discretization_interval=interval)
    for one, times in parts:
        whole = whole.compose(one if times == 1 else one.self_compose(times))
    epsilon = float(whole.get_epsilon_for_delta(delta))
    return epsilon if isfinite(epsilon) else inf


def _replaced(ratio: float, rate: float, interval: float) -> pld.PrivacyLossDistribution:
    """The loss distribution of the bound ``replaced_delta``, the same in both orders of the neighbours."""
    bounds = np.arange(1.0, SAMPLED_LARGEST, 0.5)
    small = replaced_delta(bounds, ratio=ratio, rate=rate) < SAMPLED_TOP
    top = float(bounds[small][0]) if small.any() else SAMPLED_LARGEST
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
        there = reached(exp(point))
        return log(there / goal) if isfinite(there) else 10.0

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
        raise UsageError(SELDOM, -expm1(steps * log1p(-rate)), delta)

    def reached(sigma: float, *, interval: float = 0.0) -> float:
        return samples_epsilon(((1 / sigma, rate, steps, replaced),), net, mu_elsewhere=mu_elsewhere, interval=interval)

    try:
        near = least_sigma(lambda s: reached(s, interval=ROUGH), goal, close=1e-4)
        return least_sigma(reached, goal, near=near)
    except ValueError:
        raise UsageError(
            "nothing of epsilon is left for the steps; lower option oneway_share, steps or rate, or raise epsilon"
        ) from None


SlicesLaw = tuple[Shift, float, float, float, int]  # the shift's law, sensitivity / sigma, rate, swap, count


def as_one(slices: Sequence[SlicesDpEvent]) -> SlicesDpEvent | None:
    """All slices as one event, where their squared shifts add up to one of the same family; else None.

    Independent Gaussian directions of equal dim and noise: chi-squared degrees add.

    Privacy: public only.
    """
    first = slices[0]
    if len(slices) == 1 and first.count == 1:
        return first
    alike = {(e.dim, e.ratio, e.directions, e.rate, e.swap) for e in slices}
    if len(alike) > 1 or first.directions != "gaussian" or first.rate < 1 or first.swap:
        return None
    split = any(e.rows_split_across_groups for e in slices)
    number = sum(e.count * e.num_slices for e in slices)
    return replace(first, count=1, num_slices=number, rows_split_across_groups=split)


@lru_cache(maxsize=32)
def distribution(shift: Shift, *, ratio: float, rate: float = 1.0, swap: float = 0.0) -> pld.PrivacyLossDistribution:
    """The loss distribution that dominates slices with ``ratio`` = sensitivity / sigma, in both orders of neighbours.

    **Source**: connect-the-dots, Doroshenko et al., arXiv 2207.04380, Algorithm 1, applied to the exact profile.

    Privacy: public only.
    """
    sampled: dict[str, Any] = {"rate": rate, "swap": swap}
    top = min(epsilon_at(TOP, shift, ratio=ratio, **sampled), LARGEST)
    most = ceil(top / INTERVAL) + 1
    steps = np.arange(-most, most + 1)
    masses = [
        pld_pmf.create_pmf_pessimistic_connect_dots(
            INTERVAL,
            steps,
            np.minimum.accumulate(profile(steps * INTERVAL, shift, ratio=ratio, removed=removed, **sampled)),
        )
        for removed in ((True,) if rate == 1 or swap else (True, False))
    ]
    return pld.PrivacyLossDistribution(*masses)


def slices_epsilon(laws: Sequence[SlicesLaw], delta: float, *, mu_elsewhere: float = 0.0) -> float:
    """Epsilon at ``delta`` of slices, each a (shift, ratio, rate, swap, count), and of Gaussians (``mu_elsewhere``).

    Privacy: public only.

    >>> twice = [(Shift(9, 9), 0.3, 1.0, 0.0, 2)]
    >>> round(slices_epsilon(twice, 1e-5), 4), round(slices_epsilon(twice, 1e-5, mu_elsewhere=0.2), 4)
    (1.9592, 2.1063)
    """
    parts = ((distribution(shift, ratio=ratio, rate=rate, swap=swap), n) for shift, ratio, rate, swap, n in laws)
    return _composed(parts, delta, mu_elsewhere, INTERVAL)
