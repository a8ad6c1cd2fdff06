"""How far a public table may be from the truth: the variance around each of its cells, learnt from noisy answers.

**Source**: empirical Bayes (Morris 1983) with a variance that grows with the cell, as that of counts does.
"""

from collections.abc import Sequence

import numpy as np

EVEN = 0.1  # part of a target's variance that does not grow with what is expected in a cell
DEGREES = 4.0  # of freedom, of the truth around the target
LOOSE = 2.0 ** np.arange(-2, 9)  # grid of a cell's own variance against its table's
ODDS = LOOSE ** (-DEGREES / 2) * np.exp(-DEGREES / (2 * LOOSE))  # inverse gamma, on a logarithmic grid
ODDS = ODDS / ODDS.sum()
SCALES = 20  # of the truth's variance a row expected, each twice the one before
STEPS = 30  # of expectation and maximisation
MOST = 50.0  # of a log likelihood ratio
CLEARLY = 6.0  # of a log likelihood ratio: one in four hundred
LITTLE = 0.02  # weight of a cell's target, against its count, that is none
TINY = 1e-9

Known = tuple[np.ndarray, np.ndarray, float | np.ndarray]  # noisy counts, target, noise's variance, or each cell's


def variances(tables: Sequence[Known], *, least: float, rivals: Sequence[np.ndarray] = ()) -> list[np.ndarray]:
    """How far the truth may be from each table's target, by cell: the variance of each, of the table's shape.

    The truth is spread around the target like a Student variable of ``DEGREES`` of freedom, whose scale grows with what
    is expected; ``least``: its square a row expected, at least. How scales are distributed over tables is learnt from
    all of them, then each table's own counts say which is its own, and each cell's how far it is off: where single ones
    are far off, as of a prior of other people or with another coding, they are let go and the others still tell.
    ``rivals``: what each table would be without the prior; where that explains the counts as well, the target has no
    weight, for a fit falls back to it by itself, and what tables tell together would be hidden by each one's target.
    **Source**: Kiefer and Wolfowitz 1956, on a grid of scales; the Student distribution as a mixture of normal ones.
    """
    scales = least * 2.0 ** np.arange(SCALES)
    logs = [_likelihoods(*known, scales) for known in tables]  # (scales, looseness, cells) each
    joint, evidence = _scale_odds(logs)
    believed = np.ones(len(tables))
    if rivals:
        _, other = _scale_odds([_likelihoods(y, t, s2, scales) for (y, _, s2), t in zip(tables, rivals, strict=True)])
        believed = _better(evidence - other)
    return [
        _variance(x, j, p, t, s2, scales) for x, j, p, (_, t, s2) in zip(logs, joint, believed, tables, strict=True)
    ]


def _scale_odds(logs: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Each table's odds of each scale (m, scales), and the log likelihood of its counts (m,)."""
    whole = np.stack([np.logaddexp.reduce(x, axis=1).sum(1) for x in logs])
    like = np.exp(whole - whole.max(1, keepdims=True))
    often = np.full(SCALES, 1 / SCALES)
    for _ in range(STEPS):
        joint = like * often
        joint /= joint.sum(1, keepdims=True)
        often = (joint.sum(0) + 1 / SCALES) / (len(logs) + 1)
    return joint, np.log(like @ often) + whole.max(1)


def _better(gain: np.ndarray) -> np.ndarray:
    """The odds, for each table, that its target explains it rather than its rival, from both log likelihoods.

    None where all tables together say less than ``CLEARLY`` for the targets: what says the same as the rival adds
    nothing, and hides what tables tell together.
    """
    odds = np.clip(gain, -MOST, MOST)
    often = 0.5
    for _ in range(STEPS):
        believed = 1 / (1 + (1 - often) / often * np.exp(-odds))
        often = float(np.clip(believed.mean(), TINY, 1 - TINY))
    together = float(np.log1p(often * np.expm1(odds)).sum())
    return believed / (1 + np.exp(np.clip(CLEARLY - together, -MOST, MOST)))


def _likelihoods(counts: np.ndarray, target: np.ndarray, noise: float | np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Log likelihood of each cell under each scale and looseness, the looseness's own odds included."""
    spread = scales[:, None, None] * LOOSE[:, None] * variance_shape(target).ravel() + noise
    return np.log(ODDS)[:, None] - 0.5 * (np.log(spread) + (counts - target).ravel() ** 2 / spread)


def _variance(
    logs: np.ndarray,
    odds: np.ndarray,
    believed: float,
    target: np.ndarray,
    noise: float | np.ndarray,
    scales: np.ndarray,
) -> np.ndarray:
    """The variance by which the target has the weight that it has on average over scales and looseness."""
    spread = scales[:, None, None] * LOOSE[:, None] * variance_shape(target).ravel()
    inside = np.exp(logs - logs.max(axis=1, keepdims=True))
    inside /= inside.sum(1, keepdims=True)
    way = believed * np.einsum("s,slc,slc->c", odds, inside, noise / (noise + spread))
    way = np.minimum(way, 1 - TINY)
    spread = np.full(way.shape, np.inf)
    np.divide(noise * (1 - way), way, out=spread, where=way > LITTLE)
    return spread.reshape(target.shape)


def variance_shape(target: np.ndarray) -> np.ndarray:
    """How the variance is spread over cells."""
    whole: np.ndarray = np.maximum((1 - EVEN) * target + EVEN * target.mean(), TINY)
    return whole
