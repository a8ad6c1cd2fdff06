"""Lower confidence bounds on a privacy loss from how often one event happens on either of two neighbouring tables.

If an event has probability p on one table and q on the other, an (epsilon, delta)-DP mechanism keeps
p <= e^epsilon q + delta, and a mu-GDP one Phi^-1(p) - Phi^-1(q) <= mu. Counts bound p and q by Clopper and Pearson
(Biometrika 1934), exactly for every sample size, so the bounds hold with the confidence stated whatever the mechanism.
"""

from dataclasses import dataclass
from math import exp, log

import numpy as np

from synth.lazy import Lazy

special = Lazy("scipy.special")
stats = Lazy("scipy.stats")


def at_least(hits: np.ndarray | int, draws: int, *, failure: float) -> np.ndarray:
    """Lower bound on a probability, exceeding it with probability ``failure`` at most.

    >>> round(float(at_least(50, 100, failure=0.05)), 3)
    0.414
    """
    hits = np.asarray(hits)
    return np.where(hits > 0, stats.beta.ppf(failure, np.maximum(hits, 1), draws - hits + 1), 0.0)


def at_most(hits: np.ndarray | int, draws: int, *, failure: float) -> np.ndarray:
    """Upper bound on a probability, falling below it with probability ``failure`` at most."""
    hits = np.asarray(hits)
    return np.where(hits < draws, stats.beta.ppf(1 - failure, hits + 1, np.maximum(draws - hits, 1)), 1.0)


@dataclass(frozen=True, kw_only=True)
class Rates:
    """An event: at least ``p`` likely on one table and at most ``q`` on the other, both with one confidence."""

    p: float
    q: float

    def epsilon(self, delta: float) -> float:
        """The least epsilon at this delta that allows both rates, 0 or more; the complement is looked at as well.

        >>> round(Rates(p=0.5, q=0.1).epsilon(0.0), 3)
        1.609
        """
        straight = _ratio(self.p - delta, self.q)
        return max(straight, _ratio(1 - self.q - delta, 1 - self.p), 0.0)

    @property
    def mu(self) -> float:
        """The least mu of Gaussian differential privacy that allows both rates, 0 or more.

        **Source**: Dong, Roth and Su, arXiv 1905.02383, section 2.2.
        """
        return max(float(special.ndtri(self.p) - special.ndtri(self.q)), 0.0)

    def delta(self, epsilon: float) -> float:
        """The least delta at this epsilon that allows both rates."""
        return max(self.p - exp(epsilon) * self.q, 1 - self.q - exp(epsilon) * (1 - self.p), 0.0)


def _ratio(above: float, below: float) -> float:
    return log(above / below) if above > 0 and below > 0 else 0.0


def rates(one: np.ndarray, other: np.ndarray, threshold: float, *, failure: float) -> Rates:
    """Rates of the event ``score >= threshold`` from scores drawn on either table; each bound fails by half."""
    hits, alarms = int(np.count_nonzero(one >= threshold)), int(np.count_nonzero(other >= threshold))
    return Rates(
        p=float(at_least(hits, len(one), failure=failure / 2)),
        q=float(at_most(alarms, len(other), failure=failure / 2)),
    )


def thresholds(one: np.ndarray, other: np.ndarray, *, most: int = 400) -> np.ndarray:
    """Values at which scores may be cut, ascending; ends of both samples are looked at closely."""
    both = np.unique(np.concatenate([one, other]))
    if len(both) <= most:
        return both
    even = np.linspace(0, len(both) - 1, most // 2)
    ends = np.geomspace(1, len(both), most // 4) - 1
    return both[np.unique(np.concatenate([even, ends, len(both) - 1 - ends]).astype(int))]


def best_cut(one: np.ndarray, other: np.ndarray, *, failure: float, delta: float | None) -> tuple[float, float]:
    """(threshold, bound) of the cut whose bound is largest: on epsilon at ``delta``, or on mu where that is None.

    For choosing on a pilot: the bound of the best of many cuts is no confidence bound.
    """
    cuts = thresholds(one, other)
    hits = len(one) - np.searchsorted(np.sort(one), cuts, side="left")
    alarms = len(other) - np.searchsorted(np.sort(other), cuts, side="left")
    p = at_least(hits, len(one), failure=failure / 2)
    q = at_most(alarms, len(other), failure=failure / 2)
    results = [Rates(p=float(a), q=float(b)) for a, b in zip(p, q, strict=True)]
    bound = np.array([r.mu if delta is None else r.epsilon(delta) for r in results])
    if bound.max() <= 0:  # nothing is seen: cut in the middle
        return float(np.median(np.concatenate([one, other]))), 0.0
    return float(cuts[int(bound.argmax())]), float(bound.max())
