"""An attacker's draws against a claim: is the claim contradicted, and how much was certainly learnt?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from synth.evaluate.audit.statistics.bounds import Rates, best_cut, rates
from synth.evaluate.audit.statistics.discriminants import Discriminant, candidates

DELTA = 1e-2  # at which epsilon is bounded: smaller deltas would need millions of draws
CURVE = 200  # points of a ROC that are kept
PILOT = 0.05  # of bounds that only choose, and promise nothing


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

    def denies(self, result: Rates) -> bool:
        """Whether these rates cannot be if the claim is true."""
        gaussian = self.mu is not None and result.mu > self.mu
        return gaussian or any(result.epsilon(d) > e for d, e in self.pairs)


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
    held = [seen[chosen:size] for seen in (one, other)]
    failure = (1 - confidence) / 2  # for each of two cuts
    result = candidates(one[:taught], other[:taught], names)
    score, cuts = _chosen(result, pilot[0], pilot[1])
    scores = [score.score(seen) for seen in held]
    seen = [rates(scores[0], scores[1], cut, failure=failure) for cut in cuts]
    return Finding(
        violated=any(claim.denies(r) for r in seen),
        epsilon=max(r.epsilon(DELTA) for r in seen),
        epsilon_published=max(r.epsilon(claim.delta) for r in seen),
        mu=max(r.mu for r in seen),
        attack=score.name,
        draws=size,
        confidence=confidence,
        claim=claim,
        curve=curve(scores[0], scores[1]),
        guesses=(int((scores[0] >= cuts[0]).sum() + (scores[1] < cuts[0]).sum()), len(scores[0]) + len(scores[1])),
    )


NOTHING = Discriminant(name="nothing moves", score=lambda seen: np.zeros(len(seen)))


def _chosen(
    discriminants: list[Discriminant], one: np.ndarray, other: np.ndarray
) -> tuple[Discriminant, tuple[float, float]]:
    """The score with the largest bound on mu, and its cuts for mu and for epsilon."""
    best, most = NOTHING, 0.0
    for candidate in discriminants:
        bound = best_cut(candidate.score(one), candidate.score(other), failure=PILOT, delta=None)[1]
        if bound > most:
            best, most = candidate, bound
    a, b = best.score(one), best.score(other)
    cuts = [best_cut(a, b, failure=PILOT, delta=d)[0] for d in (None, DELTA)]
    return best, (cuts[0], cuts[1])


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
