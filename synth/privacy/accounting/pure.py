"""The accountant of pure epsilons: they add up at delta 0, beside whatever else a run asks.

With a delta many of them cost less: by the Renyi divergences of randomised response, which no pure release exceeds, and
by Laplace noise's own.

Proof note: synth/mechanisms/laplace.md.
"""

from collections.abc import Iterable
from functools import singledispatch

import numpy as np

from synth.privacy.accounting.events import Event, ExponentialMechanismDpEvent, PureDpEvent


@singledispatch
def epsilon_alone(event: Event) -> float | None:  # noqa: ARG001
    """The pure epsilon of an event, None where it has none.

    Privacy: public only.
    """
    return None


@epsilon_alone.register(ExponentialMechanismDpEvent)
@epsilon_alone.register(PureDpEvent)
def _(event: ExponentialMechanismDpEvent | PureDpEvent) -> float:
    return event.epsilon


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


def apart(events: Iterable[Event]) -> tuple[float, list[Event]]:
    """The sum of all pure epsilons, and the events that have none.

    Privacy: public only.

    >>> apart([ExponentialMechanismDpEvent(name="a", sensitivity=1, sigma=4, count=2)])
    (0.5, [])
    """
    held = [(e, epsilon_alone(e)) for e in events]
    return sum(epsilon for _, epsilon in held if epsilon is not None), [e for e, epsilon in held if epsilon is None]
