"""Events and their exact composition. The sums are dp_accounting's; the events are ours.

Every mechanism so far adds Gaussian noise (rounded afterwards, which is post-processing), so mu, the
parameter of Gaussian differential privacy, composes exactly: mu**2 = sum(count * (sensitivity / sigma)**2).
Source: Dong, Roth, Su, arXiv 1905.02383, Corollary 3.3; profile: Balle and Wang, arXiv 1805.06530, Theorem 8.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from math import exp, inf, isfinite, sqrt
from typing import Any

from dp_accounting import get_epsilon_gaussian, get_sigma_gaussian

from synth.errors import UsageError

ACCOUNTANT = "exact Gaussian profile (mu-GDP)"
DELTA_RESERVE = 0.02  # shares of delta and of epsilon kept for the noise generator's distance
EPSILON_RESERVE = 1e-4  # from an ideal Gaussian (mechanisms/counts.md, step 4)
SAFETY = 1e-9  # relative step towards privacy on every inverted function


@dataclass(frozen=True, kw_only=True)
class Event:
    """``count`` Gaussian releases, each of L2 ``sensitivity`` and noise ``sigma``, in the same units.

    ``failure_delta``: probability that the release is not covered by its Gaussian (a stability threshold's); it adds to
    the delta of the whole.
    """

    name: str
    sensitivity: float
    sigma: float
    count: int = 1
    failure_delta: float = 0.0

    def __post_init__(self) -> None:
        if not (self.sensitivity > 0 and self.sigma > 0 and self.count >= 1):
            raise ValueError(f"an event needs positive sensitivity, sigma and count, got {self}")
        if not (isfinite(self.sensitivity) and isfinite(self.sigma)):
            raise ValueError(f"an event needs finite sensitivity and sigma, got {self}")

    @property
    def mu2(self) -> float:
        """What the event adds to mu**2."""
        return self.count * (self.sensitivity / self.sigma) ** 2

    def plain(self) -> dict:
        """The event as JSON data; a failure probability only where there is one."""
        stated = asdict(self)
        return stated if self.failure_delta else {k: v for k, v in stated.items() if k != "failure_delta"}


def event(plain: Mapping[str, Any]) -> Event:
    """The event that ``Event.plain`` described; other entries are passed over."""
    return Event(
        name=str(plain["name"]),
        sensitivity=float(plain["sensitivity"]),
        sigma=float(plain["sigma"]),
        count=int(plain.get("count", 1)),
        failure_delta=float(plain.get("failure_delta", 0.0)),
    )


def check(epsilon: float, delta: float) -> None:
    """Refuses an epsilon or delta that is no privacy guarantee. Errors: UsageError."""
    if not (isinstance(epsilon, int | float) and isfinite(epsilon) and epsilon > 0):
        raise UsageError(f"epsilon {epsilon} is not a finite number above 0; common choices are 0.1 to 10")
    if not (isinstance(delta, int | float) and 0 < delta < 1):
        raise UsageError(f"delta {delta} must lie between 0 and 1; 1e-5 or less is usual")


def calibrate(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian mechanism is (epsilon, delta)-DP, the reserve set aside, rounded down.

    >>> round(calibrate(1.0, 1e-5), 3)
    0.268
    """
    check(epsilon, delta)
    target = epsilon * (1 - EPSILON_RESERVE)
    mu = 1 / get_sigma_gaussian(target, delta * (1 - DELTA_RESERVE)) * (1 - 2 * SAFETY)
    while mu > 0 and derived_epsilon(mu * (1 + SAFETY), delta) > epsilon:
        mu *= 1 - SAFETY
    return mu


def derived_epsilon(mu: float, delta: float) -> float:
    """The epsilon of a mu-GDP mechanism at this delta, the reserves included, rounded up.

    >>> derived_epsilon(0.0, 1e-5)
    0.0
    """
    if mu <= 0:
        return 0.0
    epsilon = float(get_epsilon_gaussian(1 / mu, delta * (1 - DELTA_RESERVE)))
    return epsilon / (1 - EPSILON_RESERVE) * (1 + SAFETY / 10) if isfinite(epsilon) else inf


def total_mu(events: Iterable[Event]) -> float:
    """mu of all the events together.

    >>> total_mu([Event(name="a", sensitivity=3, sigma=1), Event(name="b", sensitivity=4, sigma=1)])
    5.0
    """
    return sqrt(sum(e.mu2 for e in events))


def sampler_cost(epsilon: float, delta: float, *, sigma: float, draws: int) -> tuple[float, float]:
    """(epsilon, delta) that the floating-point sampler adds when ``draws`` changed cells carry ``sigma``.

    Of the two bounds of mechanisms/counts.md, step 4, the one that takes less of its reserve: total variation at small
    epsilon, the likelihood ratio at large.
    """
    grown = 1 + exp(min(epsilon, 700.0))
    variation = 0.0, draws * (4 * sigma + 256) * 2.0**-52 * grown
    ratio = draws * (sigma + 16) * 2.0**-36, draws * (sigma + 16) * 2.0**-64 * grown
    return min(variation, ratio, key=lambda cost: reserve_taken(cost, epsilon, delta))


def reserve_taken(cost: tuple[float, float], epsilon: float, delta: float) -> float:
    """How much of the sampler's reserves a cost takes; above 1 it is more than was set aside."""
    return max(cost[0] / (epsilon * EPSILON_RESERVE), cost[1] / (delta * DELTA_RESERVE))
