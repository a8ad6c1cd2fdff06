"""Epsilon of several events together: each set of events goes to the accountant that is exact, or closest, for it.

Most mechanisms add Gaussian noise: mu composes exactly (gaussian.py). Slices on random directions have a random shift,
told with the answer: given it they are Gaussian too, and ``slice_profile`` integrates over its law. Samples go through
loss distributions; events that have a Renyi bound only, through that. The sums are dp_accounting's.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Iterable
from typing import Any

from synth.errors import UsageError
from synth.privacy.accounting import losses, renyi
from synth.privacy.accounting.events import (
    Event,
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
    SlicesDpEvent,
    ZCDpEvent,
    total_mu,
)
from synth.privacy.accounting.float_slack import DELTA_SLACK, with_float_slack
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
    listed = list(events)
    name, slices = _chosen(listed)
    if name == ACCOUNTANT:
        return derived_epsilon(total_mu(listed), delta)
    if name == RENYI:
        return _by_renyi(listed, delta)
    elsewhere, net = total_mu(e for e in listed if isinstance(e, GaussianDpEvent)), delta * (1 - DELTA_SLACK)
    others: list[Any] = [e for e in listed if not isinstance(e, GaussianDpEvent)]
    if name == INTEGRATED:
        assert slices is not None
        split = {"rows_split_across_groups": slices.rows_split_across_groups, "rate": slices.rate, "swap": slices.swap}
        epsilon = epsilon_at(net, slices.shift, ratio=slices.ratio, mu_elsewhere=elsewhere, **split)
    elif not any(isinstance(e, PoissonSampledDpEvent) for e in others):
        epsilon = losses.slices_epsilon([e.law for e in others], net, mu_elsewhere=elsewhere)
    elif all(isinstance(e, PoissonSampledDpEvent) for e in others):
        epsilon = losses.samples_epsilon(tuple(e.law for e in others), net, mu_elsewhere=elsewhere)
    else:
        raise UsageError("slices are not composed with sums over samples; use separate runs")
    return with_float_slack(epsilon)


def accountant(events: Iterable[Event]) -> str:
    """The name of the calculus by which ``epsilon_of`` composes these events.

    Privacy: public only.
    """
    return _chosen(list(events))[0]


def _chosen(events: list[Event]) -> tuple[str, SlicesDpEvent | None]:
    """The accountant of these events: its name on a card; and slices of one law as one event, where it is theirs."""
    kinds = {type(e) for e in events}
    if kinds & {ZCDpEvent, ExponentialMechanismDpEvent} or any(isinstance(e, PureDpEvent) for e in events):
        return RENYI, None
    if any(isinstance(e, PoissonSampledDpEvent) for e in events):
        return COMPOSED, None
    slices = [e for e in events if isinstance(e, SlicesDpEvent)]
    if not slices:
        return ACCOUNTANT, None
    one = losses.as_one(slices)
    if one is not None and ((one.rate == 1 and not one.swap) or len(slices) == len(events)):
        return INTEGRATED, one
    return COMPOSED, None


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
