"""What an attacker computes from what he sees: scores that are higher on one table than on its neighbour.

He learns them on draws of his own from both tables, so no knowledge of the mechanism is needed; a score that he knows
beforehand (a log likelihood ratio) is one more number of what he sees.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

Score = Callable[[np.ndarray], np.ndarray]  # (n, k) seen numbers -> (n,) scores
MOST_SQUARED = 80  # numbers, up to which their squares and products are looked at as well
RIDGE = 1e-9  # of the spread of a number; keeps what has no noise of its own far above the rest


@dataclass(frozen=True, kw_only=True)
class Discriminant:
    """A named score."""

    name: str
    score: Score


def single(one: np.ndarray, other: np.ndarray, names: list[str]) -> Iterator[Discriminant]:
    """Each number alone, in the direction in which the means lie, and its distance from the other table's middle."""
    for j, name in enumerate(names):
        if np.ptp(np.concatenate([one[:, j], other[:, j]])) == 0:
            continue
        sign = 1.0 if one[:, j].mean() >= other[:, j].mean() else -1.0
        middle = float(np.median(other[:, j]))
        yield Discriminant(name=name, score=_column(j, sign))
        wider = 1.0 if np.abs(one[:, j] - middle).mean() >= np.abs(other[:, j] - middle).mean() else -1.0
        yield Discriminant(name=f"{name}, distance", score=_away(j, middle, wider))


def _column(j: int, sign: float) -> Score:
    return lambda seen: sign * seen[:, j]


def _away(j: int, middle: float, sign: float) -> Score:
    return lambda seen: sign * np.abs(seen[:, j] - middle)


def together(one: np.ndarray, other: np.ndarray) -> Iterator[Discriminant]:
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
    yield Discriminant(name="linear discriminant", score=seen_by(lambda x: x @ weights))
    if shifted.sum() <= MOST_SQUARED:
        yield Discriminant(name="quadratic discriminant", score=seen_by(lambda x: laws[0].log(x) - laws[1].log(x)))


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


def candidates(one: np.ndarray, other: np.ndarray, names: list[str]) -> list[Discriminant]:
    """All scores that are tried, learnt on draws (n, k) of what is seen on either table."""
    return [*single(one, other, names), *together(one, other)]
