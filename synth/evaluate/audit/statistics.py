"""The auditor's statistics: lower bounds on what a mechanism let out, from draws of what it told. No rows, no noise.

If an event has probability p on one table and q on the other, an (epsilon, delta)-DP mechanism keeps
p <= e^epsilon q + delta, and a mu-GDP one Phi^-1(p) - Phi^-1(q) <= mu. Counts bound p and q by Clopper and Pearson
(Biometrika 1934), exactly for every sample size, so the bounds hold with the confidence stated whatever the mechanism.

An attacker computes scores that are higher on one table than on its neighbour. He learns them on draws of his own from
both tables, so no knowledge of the mechanism is needed; a score that he knows beforehand (a log likelihood ratio) is
one more number of what he sees.

Canaries are rows that were put into a table by coin tosses, guessed from a single release. Each guess about an
independent coin is right with probability at most e^epsilon / (1 + e^epsilon), whatever the other coins were. So many
right guesses bound epsilon from one run, where worst-case neighbours need thousands.

Moments bound where answers' noise is claimed to be Gaussian, and need few draws: counting events at a few dozen draws
sees only gross leaks. How far one table's answers lie from its neighbour's, in units of their claimed noise, is the
mechanism's mu, and their spread is the noise itself.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from math import exp, log
from typing import Any

import numpy as np

from synth.lazy import Lazy

special = Lazy("scipy.special")
stats = Lazy("scipy.stats")

DELTA = 1e-2  # at which epsilon is bounded: smaller deltas would need millions of draws
CURVE = 200  # points of a ROC that are kept
PILOT = 0.05  # of bounds that only choose, and promise nothing
MOST_SQUARED = 80  # numbers, up to which their squares and products are looked at as well
RIDGE = 1e-9  # of the spread of a number; keeps what has no noise of its own far above the rest
LOUD = 2.0  # deviations of a taught difference, below which a number is not listened to
Score = Callable[[np.ndarray], np.ndarray]  # (n, k) seen numbers -> (n,) scores


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
    rates = [Rates(p=float(a), q=float(b)) for a, b in zip(p, q, strict=True)]
    bound = np.array([r.mu if delta is None else r.epsilon(delta) for r in rates])
    if bound.max() <= 0:  # nothing is seen: cut in the middle
        return float(np.median(np.concatenate([one, other]))), 0.0
    return float(cuts[int(bound.argmax())]), float(bound.max())


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


def single(one: np.ndarray, other: np.ndarray, names: list[str]) -> Iterator[tuple[str, Score]]:
    """Each number alone, in the direction in which the means lie, and its distance from the other table's middle."""
    for j, name in enumerate(names):
        if np.ptp(np.concatenate([one[:, j], other[:, j]])) == 0:
            continue
        sign = 1.0 if one[:, j].mean() >= other[:, j].mean() else -1.0
        middle = float(np.median(other[:, j]))
        yield name, partial(_side, j, sign)
        wider = 1.0 if np.abs(one[:, j] - middle).mean() >= np.abs(other[:, j] - middle).mean() else -1.0
        yield f"{name}, distance", partial(_away, j, wider, middle)


def _side(column: int, sign: float, seen: np.ndarray) -> np.ndarray:
    return sign * seen[:, column]


def _away(column: int, sign: float, middle: float, seen: np.ndarray) -> np.ndarray:
    return sign * np.abs(seen[:, column] - middle)


def together(one: np.ndarray, other: np.ndarray) -> Iterator[tuple[str, Score]]:
    """All numbers: the linear discriminant, and the quadratic one where there are few."""
    spread = np.concatenate([one, other]).std(0)
    shifted = spread > 0
    if not shifted.any() or len(one) <= 2 * shifted.sum():
        return
    scale = spread[shifted]

    def seen_by(law: Callable[[np.ndarray], np.ndarray]) -> Score:
        return lambda seen: law(seen[:, shifted] / scale)

    a, b = one[:, shifted] / scale, other[:, shifted] / scale
    laws = [_law(a), _law(b)]
    shift = laws[0].mean - laws[1].mean
    pooled = (laws[0].covariance + laws[1].covariance) / 2
    weights = np.linalg.solve(pooled, shift)
    yield "linear discriminant", seen_by(lambda x: x @ weights)
    if shifted.sum() <= MOST_SQUARED:
        yield "quadratic discriminant", seen_by(lambda x: laws[0].log(x) - laws[1].log(x))


@dataclass(frozen=True)
class _Normal:
    mean: np.ndarray
    covariance: np.ndarray
    inverse: np.ndarray
    logdet: float

    def log(self, x: np.ndarray) -> np.ndarray:
        """Log density (n,), up to a constant."""
        away = x - self.mean
        return -0.5 * (np.einsum("ij,jk,ik->i", away, self.inverse, away, optimize=True) + self.logdet)


def _law(draws: np.ndarray) -> _Normal:
    """The normal law of the draws' mean and covariance."""
    covariance = np.atleast_2d(np.cov(draws, rowvar=False)) + RIDGE * np.eye(draws.shape[1])
    return _Normal(draws.mean(0), covariance, np.linalg.inv(covariance), float(np.linalg.slogdet(covariance)[1]))


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a mechanism claims: epsilon at each delta of its profile, and mu where it is Gaussian.

    ``epsilon`` and ``delta``: the guarantee as it is published. ``profile``: (delta, epsilon) pairs, among them one
    at ``DELTA``, by the same accountant.
    """

    epsilon: float
    delta: float
    profile: tuple[tuple[float, float], ...] = ()
    mu: float | None = None

    @property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """Every (delta, epsilon) that is claimed."""
        return ((self.delta, self.epsilon), *self.profile)

    @property
    def at_audit(self) -> float:
        """The least epsilon that is claimed at ``DELTA``."""
        return min(e for d, e in self.pairs if d <= DELTA)

    def denies(self, rates: Rates) -> bool:
        """Whether these rates cannot be if the claim is true."""
        gaussian = self.mu is not None and rates.mu > self.mu
        return gaussian or any(rates.epsilon(d) > e for d, e in self.pairs)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found, with one confidence for all of it.

    ``epsilon``: lower bound at ``DELTA``; ``epsilon_published``: at the published delta; ``mu``: lower bound on the
    parameter of Gaussian differential privacy. ``attack``: the score that served; ``draws``: of each table, pilot
    included. ``curve``: (false, true) positive rates of the score on the draws that were held out. ``guesses``: how
    many of their tables the score guesses right, and of how many, each table as likely as the other.
    """

    violated: bool
    epsilon: float
    epsilon_published: float
    mu: float
    attack: str
    draws: int
    confidence: float
    claim: Claim
    curve: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    guesses: tuple[int, int] = (0, 0)

    def plain(self) -> dict[str, Any]:
        """The finding as JSON data."""
        return {**asdict(self), "audit_delta": DELTA, "claimed_at_audit_delta": self.claim.at_audit}


def examine(
    one: np.ndarray, other: np.ndarray, *, claim: Claim, confidence: float, names: Sequence[str] | None = None
) -> Finding:
    """Looks for an event that the claim forbids. ``one``, ``other``: what was seen, (n, k), a row for each draw.

    A quarter of the draws teaches scores, another chooses one of them and where to cut it, half bounds its rates: the
    bounds hold with ``confidence`` whatever was chosen.

    **Guarantee**: a true claim is called violated with probability at most 1 - confidence.
    """
    one, other = (np.asarray(seen, dtype=np.float64).reshape(len(seen), -1) for seen in (one, other))
    names = list(names) if names is not None else [f"number {j}" for j in range(one.shape[1])]
    size = min(len(one), len(other))
    taught, chosen = size // 4, size // 2
    pilot = [seen[taught:chosen] for seen in (one, other)]
    held_out = [seen[chosen:size] for seen in (one, other)]
    failure = (1 - confidence) / 2  # for each of two cuts
    best: tuple[str, Score] = ("nothing moves", lambda seen: np.zeros(len(seen)))
    most = 0.0  # the largest bound on mu of the pilot, whose cuts for mu and for epsilon are taken
    tables = one[:taught], other[:taught]
    for candidate in (*single(*tables, names), *together(*tables)):
        bound = best_cut(*map(candidate[1], pilot), failure=PILOT, delta=None)[1]
        if bound > most:
            best, most = candidate, bound
    name, score = best
    cuts = [best_cut(*map(score, pilot), failure=PILOT, delta=d)[0] for d in (None, DELTA)]
    scores = [score(seen) for seen in held_out]
    seen = [rates(scores[0], scores[1], cut, failure=failure) for cut in cuts]
    return Finding(
        violated=any(claim.denies(r) for r in seen),
        epsilon=max(r.epsilon(DELTA) for r in seen),
        epsilon_published=max(r.epsilon(claim.delta) for r in seen),
        mu=max(r.mu for r in seen),
        attack=name,
        draws=size,
        confidence=confidence,
        claim=claim,
        curve=curve(scores[0], scores[1]),
        guesses=(int((scores[0] >= cuts[0]).sum() + (scores[1] < cuts[0]).sum()), len(scores[0]) + len(scores[1])),
    )


def curve(one: np.ndarray, other: np.ndarray) -> tuple[tuple[float, float], ...]:
    """(false, true) positive rates as the cut falls: the ROC of saying ``one``, denser at few false positives.

    >>> curve(np.array([1.0, 2.0]), np.array([0.0, 1.0]))[0]
    (0.0, 0.5)
    """
    cuts = np.unique(np.concatenate([one, other]))[::-1]
    true = 1 - np.searchsorted(np.sort(one), cuts, side="left") / len(one)
    false = 1 - np.searchsorted(np.sort(other), cuts, side="left") / len(other)
    at = np.unique((np.geomspace(1, len(cuts), CURVE) - 1).astype(int))
    return tuple((float(false[i]), float(true[i])) for i in at)


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
    mu, estimate = _shift(one, other, failure)
    noise, drawn = _noise(one, other, failure)
    return AnswerMoments(
        mu=mu, mu_estimate=estimate, noise=noise, noise_estimate=drawn, numbers=one.shape[1], draws=size
    )


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
    estimate = float(a.mean() - b.mean())
    return max(estimate - float(stats.t.isf(failure, len(a) - 1)) * spread, 0.0), estimate


def _noise(one: np.ndarray, other: np.ndarray, failure: float) -> tuple[float, float]:
    """(upper bound, estimate) of the noise as a part of what is claimed: the answers' squares about their means.

    What is random beside the noise (cells placed at random, the choice of rows) only adds to them.
    """
    degrees = one.shape[1] * (len(one) + len(other) - 2)
    squares = sum(float(((a - a.mean(0)) ** 2).sum()) for a in (one, other))
    return float(np.sqrt(squares / stats.chi2.ppf(failure, degrees))), float(np.sqrt(squares / degrees))
