"""The accountant of zero-concentrated privacy, for runs in which some event has no better law than a Renyi bound.

Proof note: synth/mechanisms/external.md.
"""

from collections.abc import Sequence
from functools import lru_cache, singledispatch

import numpy as np

from synth.errors import UsageError
from synth.privacy.accounting import pure, zcdp
from synth.privacy.accounting.events import (
    Event,
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
    ZCDpEvent,
)
from synth.privacy.accounting.float_slack import DELTA_SLACK, EPSILON_SLACK, SAFETY, with_float_slack
from synth.privacy.accounting.guarantee import check


@singledispatch
def rho_of(event: Event) -> float:  # noqa: ARG001
    """What an event adds to rho. Errors: UsageError where it has none.

    Privacy: public only.
    """
    raise UsageError("slices and samples are not composed with a choice or another library's answer; use separate runs")


@rho_of.register
def _(event: GaussianDpEvent) -> float:
    return event.count * event.ratio**2 / 2


@rho_of.register(ZCDpEvent)
@rho_of.register(ExponentialMechanismDpEvent)
def _(event: ZCDpEvent | ExponentialMechanismDpEvent) -> float:
    return event.rho


@singledispatch
def curve_of(event: Event) -> np.ndarray | None:  # noqa: ARG001
    """Renyi divergences (orders,) of an event at ``zcdp.ORDERS``, where they are less than a rho says; else None.

    Privacy: public only.
    """
    return None


@curve_of.register
def _(event: PureDpEvent) -> np.ndarray:
    return event.count * _reported(event.ratio)


@curve_of.register
def _(event: LaplaceDpEvent) -> np.ndarray:
    return event.count * _shifted(event.ratio, event.pitch / event.sigma)


@lru_cache(maxsize=256)  # a session's events are alike, and all of them are composed again at each of its questions
def _reported(ratio: float) -> np.ndarray:
    return _constant(pure.randomised_response(ratio, zcdp.ORDERS))


@lru_cache(maxsize=256)
def _shifted(ratio: float, step: float) -> np.ndarray:
    return _constant(pure.laplace(ratio, zcdp.ORDERS, step=step))


def _constant(curve: np.ndarray) -> np.ndarray:
    curve.flags.writeable = False
    return curve


def epsilon(events: Sequence[Event], delta: float) -> float:
    """Epsilon of all the events through Renyi divergences, the reserves included, rounded up. Errors: UsageError.

    Privacy: public only.
    """
    curves = [(e, curve_of(e)) for e in events]
    whole = sum(rho_of(e) for e, curve in curves if curve is None) * zcdp.ORDERS
    for _, curve in curves:
        whole = whole if curve is None else whole + curve
    return with_float_slack(zcdp.epsilon_of_curve(whole, delta * (1 - DELTA_SLACK)))


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
    whole = zcdp.rho_of_epsilon(target, delta * (1 - DELTA_SLACK)) * (1 - SAFETY)
    return max(whole - mu_elsewhere**2 / 2, 0.0)
