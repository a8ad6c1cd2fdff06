"""Epsilon of several events together: each set of events goes to the accountant that is exact, or closest, for it.

Most mechanisms add Gaussian noise: mu composes exactly (gaussian.py). Slices on random directions have a random shift,
told with the answer: given it they are Gaussian too, and ``slice_profile`` integrates over its law. Samples go through
loss distributions; events that have a Renyi bound only, through that. The sums are dp_accounting's.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Callable, Iterable
from typing import Any

from synth.errors import UsageError
from synth.privacy.accounting import losses, renyi
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
    ZCDpEvent,
    total_mu,
)
from synth.privacy.accounting.float_slack import (
    DELTA_SLACK,
    with_float_slack,
)
from synth.privacy.accounting.gaussian import derived_epsilon
from synth.privacy.accounting.slice_profile import epsilon_at

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
    if kinds <= {GaussianDpEvent, RoundedGaussianDpEvent, BoundedRangeDpEvent}:
        return ACCOUNTANT, lambda held, delta: derived_epsilon(total_mu(held), delta)
    elsewhere, slices = _parted(events)
    one = losses.as_one(slices)
    if one is not None and ((one.rate == 1 and not one.swap) or elsewhere == 0):
        return INTEGRATED, lambda _, delta: _by_profile(one, elsewhere, delta)
    return COMPOSED, _by_slices


def _by_renyi(events: list[Event], delta: float) -> float:
    """Through the Renyi divergences of all, or with the pure choices' epsilons added to the others' own."""
    through = through_renyi(events, delta)
    others = [e for e in events if e.epsilon is None]
    if len(others) == len(events):
        return through
    pure_epsilon = sum(e.epsilon for e in events if e.epsilon is not None)
    return min(through, epsilon_of(others, delta) + with_float_slack(pure_epsilon))


def through_renyi(events: list[Event], delta: float) -> float:
    """Epsilon of all the events by their Renyi divergences. Errors: UsageError. Privacy: public only."""
    whole = sum(e.rho for e in events if e.curve is None) * renyi.ORDERS
    for curve in (e.curve for e in events):
        whole = whole if curve is None else whole + curve
    return with_float_slack(renyi.epsilon_of_curve(whole, delta * (1 - DELTA_SLACK)))


def _by_samples(events: list[Event], delta: float) -> float:
    """By loss distributions, all Gaussian events as one."""
    elsewhere, others = _parted(events)
    if not all(isinstance(e, PoissonSampledDpEvent) for e in others):
        raise UsageError("slices are not composed with sums over samples; use separate runs")
    laws = tuple(e.law for e in others)
    return with_float_slack(losses.samples_epsilon(laws, delta * (1 - DELTA_SLACK), mu_elsewhere=elsewhere))


def _by_profile(one: SlicesDpEvent, elsewhere: float, delta: float) -> float:
    """Slices of one law, with all Gaussian events, by the exact profile."""
    split = {"rows_split_across_groups": one.rows_split_across_groups, "rate": one.rate, "swap": one.swap}
    net = delta * (1 - DELTA_SLACK)
    return with_float_slack(epsilon_at(net, one.shift, ratio=one.ratio, mu_elsewhere=elsewhere, **split))


def _by_slices(events: list[Event], delta: float) -> float:
    """Slices of several laws, or samples of them beside Gaussian events, by loss distributions."""
    elsewhere, others = _parted(events)
    laws = [e.law for e in others]
    return with_float_slack(losses.slices_epsilon(laws, delta * (1 - DELTA_SLACK), mu_elsewhere=elsewhere))


def _parted(events: list[Event]) -> tuple[float, list[Any]]:
    """mu of the Gaussian events, and the others."""
    gaussian = [e for e in events if isinstance(e, GaussianDpEvent)]
    return total_mu(gaussian), [e for e in events if not isinstance(e, GaussianDpEvent)]
