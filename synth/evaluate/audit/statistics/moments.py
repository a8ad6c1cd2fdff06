"""Bounds from means and spreads of answers whose noise is claimed to be Gaussian: they need few draws.

Counting events at a few dozen draws sees only gross leaks. An answer in units of its claimed noise tells more: how far
one table's answers lie from its neighbour's is the mechanism's mu, and their spread is the noise itself.
"""

from dataclasses import dataclass

import numpy as np

from synth.lazy import Lazy

stats = Lazy("scipy.stats")

LOUD = 2.0  # deviations of a taught difference, below which a number is not listened to


@dataclass(frozen=True, kw_only=True)
class AnswerMoments:
    """``mu``: lower bound on the distance between the tables' answers, in units of the claimed noise; ``mu_estimate``:
    its estimate. ``noise``: upper bound on the noise that was drawn, as a part of the claimed; ``noise_estimate``:
    its estimate. ``numbers``: of one draw. Each bound holds with the confidence asked for."""

    mu: float
    mu_estimate: float
    noise: float
    noise_estimate: float
    numbers: int
    draws: int

    def denies(self, claimed: float) -> bool:
        """Whether an answer of this claimed mu cannot have such moments."""
        return self.mu > claimed or self.noise < 1.0


def moments(one: np.ndarray, other: np.ndarray, *, failure: float) -> AnswerMoments:
    """``one``, ``other``: answers (n, k) on either table in units of their claimed noise; each bound fails that often.

    **Guarantee**: for independent Gaussian noise of the claimed size or more, whatever else is random in an answer.
    """
    size = min(len(one), len(other))
    one, other = one[:size], other[:size]
    mu, result = _shift(one, other, failure)
    noise, drawn = _noise(one, other, failure)
    return AnswerMoments(mu=mu, mu_estimate=result, noise=noise, noise_estimate=drawn, numbers=one.shape[1], draws=size)


def _shift(one: np.ndarray, other: np.ndarray, failure: float) -> tuple[float, float]:
    """(lower bound, estimate) of the distance of the means, along a direction that half of the draws teach.

    Welch's statistic with the fewest degrees of freedom that it can have, and no smaller spread than the claimed.
    """
    taught = len(one) // 2
    way = one[:taught].mean(0) - other[:taught].mean(0)
    quiet = np.abs(way) < LOUD * np.sqrt(2 / taught)
    way = way if quiet.all() else np.where(quiet, 0.0, way)
    length = float(np.linalg.norm(way))
    if length == 0:
        return 0.0, 0.0
    a, b = (held[taught:] @ (way / length) for held in (one, other))
    spread = float(np.sqrt((max(a.var(ddof=1), 1.0) + max(b.var(ddof=1), 1.0)) / len(a)))
    result = float(a.mean() - b.mean())
    return max(result - float(stats.t.isf(failure, len(a) - 1)) * spread, 0.0), result


def _noise(one: np.ndarray, other: np.ndarray, failure: float) -> tuple[float, float]:
    """(upper bound, estimate) of the noise as a part of what is claimed: the answers' squares about their means.

    What is random beside the noise (cells placed at random, the choice of rows) only adds to them.
    """
    degrees = one.shape[1] * (len(one) + len(other) - 2)
    squares = sum(float(((a - a.mean(0)) ** 2).sum()) for a in (one, other))
    return float(np.sqrt(squares / stats.chi2.ppf(failure, degrees))), float(np.sqrt(squares / degrees))
