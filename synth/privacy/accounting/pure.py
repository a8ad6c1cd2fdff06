"""The accountant of pure epsilons: they add up at delta 0, beside whatever else a run asks.

Proof note: synth/mechanisms/selection.md.
"""

from collections.abc import Iterable
from functools import singledispatch

from synth.privacy.accounting.events import Event, ExponentialMechanismDpEvent


@singledispatch
def epsilon_alone(event: Event) -> float | None:  # noqa: ARG001
    """The pure epsilon of an event, None where it has none.

    Privacy: public only.
    """
    return None


@epsilon_alone.register
def _(event: ExponentialMechanismDpEvent) -> float:
    return event.epsilon


def apart(events: Iterable[Event]) -> tuple[float, list[Event]]:
    """The sum of all pure epsilons, and the events that have none.

    Privacy: public only.

    >>> apart([ExponentialMechanismDpEvent(name="a", sensitivity=1, sigma=4, count=2)])
    (0.5, [])
    """
    held = [(e, epsilon_alone(e)) for e in events]
    return sum(epsilon for _, epsilon in held if epsilon is not None), [e for e, epsilon in held if epsilon is None]
