"""Epsilon of several events together: each set of events goes to the accountant that is exact, or closest, for it.

Most mechanisms add Gaussian noise: mu composes exactly (gaussian.py). Slices on random directions have a random shift,
told with the answer: given it they are Gaussian too, and ``slice_profile`` integrates over its law. Samples go through
loss distributions; events that have a Renyi bound only, through that. The sums are dp_accounting's.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Callable, Iterable
from typing import Any

from synth.privacy.accounting import pure, renyi, slice_pld, subsampled_gaussian
from synth.privacy.accounting.events import (
    BoundedRangeDpEvent,
    Event,
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    PoissonSampledReplacedDpEvent,
    PureDpEvent,
    RoundedGaussianDpEvent,
    SlicesDpEvent,
    TabledGaussianDpEvent,
    ZCDpEvent,
    event,
)
from synth.privacy.accounting.float_slack import (
    DELTA_SLACK,
    EPSILON_SLACK,
    SAFETY,
    sampler_cost,
    slack_taken,
    with_float_slack,
)
from synth.privacy.accounting.gaussian import calibrate, derived_epsilon, total_mu
from synth.privacy.accounting.guarantee import check
from synth.privacy.accounting.imprecision import imprecision
from synth.privacy.accounting.renyi import calibrate_rho
from synth.privacy.accounting.slice_profile import epsilon_at, slice_sigma
from synth.privacy.accounting.subsampled_gaussian import sampled_sigma

__all__ = [
    "ACCOUNTANT",
    "DELTA_SLACK",
    "EPSILON_SLACK",
    "SAFETY",
    "Event",
    "GaussianDpEvent",
    "accountant",
    "calibrate",
    "calibrate_rho",
    "check",
    "derived_epsilon",
    "epsilon_of",
    "event",
    "imprecision",
    "sampled_sigma",
    "sampler_cost",
    "slack_taken",
    "slice_sigma",
    "total_mu",
]

ACCOUNTANT = "exact Gaussian profile (mu-GDP)"
INTEGRATED = "exact Gaussian profile, averaged over the law of the random shift"
COMPOSED = "privacy loss distributions, rounded pessimistically"
RENYI = "Renyi divergences, pure losses added where that is less"


def epsilon_of(events: Iterable[Event], delta: float) -> float:
    """The accountant's epsilon of all the events together at this delta, the reserves included, rounded up.

    ``delta`` is what the events' own ``failure_delta`` have left of the whole. Gaussian events, and with them slices of
    one law, are composed exactly; anything else by loss distributions, pessimistically. Questions may be adaptive:
    each event stands for a pair of laws that dominates its mechanism, and pairs compose (arXiv 2106.08567, Theorem 10).
    Errors: UsageError for events that no accountant composes.

    Privacy: public only.

    >>> half = dict(name="a", sensitivity=1.0, sigma=1.5, dim=9, directions="gaussian")
    >>> two = epsilon_of([SlicesDpEvent(num_slices=5, **half), SlicesDpEvent(num_slices=4, **half)], 1e-5)
    >>> two == epsilon_of([SlicesDpEvent(num_slices=9, **half)], 1e-5)
    True
    """
    held = list(events)
    return _chosen(held)[1](held, delta)


def accountant(events: Iterable[Event]) -> str:
    """The name of the calculus by which ``epsilon_of`` composes these events.

    Privacy: public only.
    """
    return _chosen(list(events))[0]


def _chosen(events: list[Event]) -> tuple[str, Callable[[list[Event], float], float]]:
    """The accountant of these events: its name on a card, and its epsilon."""
    kinds = {type(e) for e in events}
    if kinds & {ZCDpEvent, ExponentialMechanismDpEvent} or any(isinstance(e, PureDpEvent) for e in events):
        return RENYI, _by_renyi
    if kinds & {PoissonSampledDpEvent, PoissonSampledReplacedDpEvent}:
        return COMPOSED, _by_samples
    if kinds <= {GaussianDpEvent, TabledGaussianDpEvent, RoundedGaussianDpEvent, BoundedRangeDpEvent}:
        return ACCOUNTANT, lambda held, delta: derived_epsilon(total_mu(held), delta)
    elsewhere, slices = _parted(events)
    one = slice_pld.as_one(slices)
    if one is not None and ((one.rate == 1 and not one.swap) or elsewhere == 0):
        return INTEGRATED, lambda _, delta: _by_profile(one, elsewhere, delta)
    return COMPOSED, _by_slices


def _by_renyi(events: list[Event], delta: float) -> float:
    """Through the Renyi divergences of all, or with the pure choices' epsilons added to the others' own."""
    through = renyi.epsilon(events, delta)
    pure_epsilon, others = pure.apart(events)
    if len(others) == len(events):
        return through
    return min(through, epsilon_of(others, delta) + with_float_slack(pure_epsilon))


def _by_samples(events: list[Event], delta: float) -> float:
    """By loss distributions, all Gaussian events as one."""
    elsewhere, others = _parted(events)
    laws = tuple(subsampled_gaussian.law_of(e) for e in others)
    return with_float_slack(subsampled_gaussian.epsilon(laws, delta * (1 - DELTA_SLACK), mu_elsewhere=elsewhere))


def _by_profile(one: SlicesDpEvent, elsewhere: float, delta: float) -> float:
    """Slices of one law, with all Gaussian events, by the exact profile."""
    split = {"rows_split_across_groups": one.rows_split_across_groups, "rate": one.rate, "swap": one.swap}
    net = delta * (1 - DELTA_SLACK)
    return with_float_slack(epsilon_at(net, one.shift, ratio=one.ratio, mu_elsewhere=elsewhere, **split))


def _by_slices(events: list[Event], delta: float) -> float:
    """Slices of several laws, or samples of them beside Gaussian events, by loss distributions."""
    elsewhere, others = _parted(events)
    laws = [slice_pld.law_of(e) for e in others]
    return with_float_slack(slice_pld.epsilon(laws, delta * (1 - DELTA_SLACK), mu_elsewhere=elsewhere))


def _parted(events: list[Event]) -> tuple[float, list[Any]]:
    """mu of the Gaussian events, and the others."""
    gaussian = [e for e in events if isinstance(e, GaussianDpEvent)]
    return total_mu(gaussian), [e for e in events if not isinstance(e, GaussianDpEvent)]
