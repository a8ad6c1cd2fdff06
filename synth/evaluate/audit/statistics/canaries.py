"""Canaries: rows that were put into a table by coin tosses, guessed from a single release.

Each guess about an independent coin is right with probability at most e^epsilon / (1 + e^epsilon), whatever the other
coins were. So many right guesses bound epsilon from one run, where worst-case neighbours need thousands.
"""

from dataclasses import dataclass

import numpy as np

from synth.lazy import Lazy

stats = Lazy("scipy.stats")


@dataclass(frozen=True, kw_only=True)
class Guesses:
    """``right`` of ``made`` guesses about ``canaries`` coins; ``epsilon``: lower bound with ``confidence``."""

    canaries: int
    made: int
    right: int
    delta: float
    confidence: float
    epsilon: float


def likelihood(right: int, made: int, canaries: int, *, epsilon: float, delta: float) -> float:
    """An upper bound on the probability that an (epsilon, delta)-DP release lets so many guesses be right.

    **Source**: Steinke, Nasr and Jagielski, arXiv 2305.08846, Theorem 5.2.

    >>> round(likelihood(10, 10, 10, epsilon=0.0, delta=0.0), 6)
    0.000977
    """
    rate = 1 / (1 + np.exp(-epsilon))
    beyond = float(stats.binom.sf(right - 1, made, rate))
    steps = np.arange(1, right + 1)
    missed = np.cumsum(stats.binom.pmf(right - steps, made, rate)) / steps if right else np.zeros(1)
    return min(1.0, beyond + 2 * canaries * delta * float(missed.max()))


def bounded(right: int, made: int, canaries: int, *, delta: float, confidence: float) -> Guesses:
    """The largest epsilon that so many right guesses contradict, 0 if none."""
    low, high = 0.0, 50.0

    def contradicted(epsilon: float) -> bool:
        return likelihood(right, made, canaries, epsilon=epsilon, delta=delta) < 1 - confidence

    if not contradicted(low):
        high = low
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if contradicted(middle) else (low, middle)
    return Guesses(canaries=canaries, made=made, right=right, delta=delta, confidence=confidence, epsilon=low)


def guessed(scores: np.ndarray, present: np.ndarray, *, delta: float, confidence: float, share: float = 0.4) -> Guesses:
    """Guesses ``share`` of the canaries: half of these, the highest scores, as present, the lowest as absent.

    ``scores`` (m,) of the release, higher where a canary seems present; ``present`` (m,) the coins. Few of them have to
    be guessed: he may stay silent where he is not sure, and how many is fixed beforehand.
    """
    each = max(int(len(scores) * share / 2), 1)
    order = np.argsort(scores, kind="stable")
    right = int(present[order[-each:]].sum() + (~present[order[:each]]).sum())
    return bounded(right, 2 * each, len(scores), delta=delta, confidence=confidence)
