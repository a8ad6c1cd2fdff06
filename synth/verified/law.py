"""The synthetic rows as a law that can be bent: what sums it predicts where the true coefficients lie elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from synth.questions import Score
from synth.questions.scores import COUNT, LINEAR, QUANTILE, mean

STEPS, LIFT, ALIKE = 60, 1e-10, 1e-7
PLAUSIBLE = 2.0  # deviation beforehand of by how much a logarithm of odds or means differs from the synthetic rows'
WHOLE = 1e100  # a clip that cuts nothing off
FAREST = 4.0  # of a coefficient on columns of unit size, for links whose rows are reweighted


@dataclass(frozen=True, kw_only=True, eq=False)
class Law:
    """Public rows that take part: ``z`` (p, N) orthonormal columns, outcome ``y`` and weights ``w`` (N,).

    ``total``: what all weights of the table sum to; ``turn`` (p, p): z = turn @ x; ``beta`` (p,): coefficients of z
    that the rows have. A law that is bent by ``shift`` (p,) has coefficients beta + shift: outcomes of a linear link
    move, rows of another link are reweighted by the ratio of their likelihoods; a quantile's level moves on the logit
    scale; a count moves by ``shift`` rows.
    """

    template: Score
    total: float
    x: np.ndarray
    z: np.ndarray
    y: np.ndarray
    w: np.ndarray
    turn: np.ndarray
    beta: np.ndarray

    @classmethod
    def of(cls, template: Score, rows: Mapping[str, np.ndarray], total: float) -> "Law":
        """The law of synthetic rows (positions by column) that stand for ``total`` real ones."""
        x, y, here = template.design(rows)
        there = here > 0
        w = np.full(int(there.sum()), total / len(y))
        x, y = x[:, there], y[there]
        turn = _orthonormal(x, w) if len(w) else np.eye(len(x))
        law = cls(template=template, total=total, x=x, z=turn @ x, y=y, w=w, turn=turn, beta=np.zeros(len(x)))
        return replace(law, beta=law._fitted(law.w, law.y, law.beta))

    @property
    def mass(self) -> float:
        """How many real rows take part, by the synthetic ones."""
        return float(self.w.sum())

    def coefficients(self, shift: np.ndarray) -> np.ndarray:
        """What an analyst would fit to the bent law, on the columns' own scale, (p,)."""
        link = self.template.link
        if link == COUNT:
            return np.array([self.mass]) + shift
        if link == QUANTILE:
            return np.array([self._quantile(float(shift[0]))])
        w, y = self._bent(shift)
        return self.turn.T @ (self.beta + shift if link == LINEAR else self._fitted(w, y, self.beta + shift))

    def slope(self, shift: np.ndarray) -> np.ndarray:
        """How ``coefficients`` move with the shift, (p, p)."""
        link = self.template.link
        if link == COUNT:
            return np.eye(1)
        if link == QUANTILE:
            return np.array([[self._rise(float(shift[0]))]])
        if link == LINEAR:
            return self.turn.T
        w, _ = self._bent(shift)
        at = np.linalg.solve(self.turn.T, self.coefficients(shift))
        fitted, bent = mean(link, at @ self.z), mean(link, (self.beta + shift) @ self.z)
        cross = (self.z * (w * (self.y - fitted) * (self.y - bent))) @ self.z.T
        return self.turn.T @ _solve(self._curvature(w, fitted), cross)

    def score(self, values: np.ndarray, clip: float, whitening: np.ndarray) -> Score:
        """The sum that is asked for at these coefficients."""
        return replace(self.template, coefficients=values, clip=clip, whitening=whitening)

    def predicted(self, score: Score, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The exact sums that a table of the bent law would have, (dim,), and how they move with the shift."""
        link = self.template.link
        if link == COUNT:
            return np.array([self.mass]) + shift, np.eye(1)
        if link == QUANTILE:
            return self._levels(score, float(shift[0]))
        w, y = self._bent(shift)
        released = score.clipped(self.x, y, np.ones_like(w)) if len(w) else np.zeros((score.dim, 0))
        if link != LINEAR:
            back = (self.z * (w * (y - mean(link, (self.beta + shift) @ self.z)))).T
            return released @ w, released @ back
        turned = score.whitening @ self.x
        r, length = score.residuals(self.x, y), np.sqrt((turned**2).sum(0))
        inside = np.abs(r) * length <= score.clip
        return released @ w, (turned * (w * inside / score.clip)) @ self.z.T

    def contributions(self, score: Score, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each row's part of the sums, (dim, N), and its weight, under the bent law."""
        if self.template.link in (COUNT, QUANTILE):
            return score.clipped(self.x, self.y, np.ones_like(self.w)), self.w
        w, y = self._bent(shift)
        return score.clipped(self.x, y, np.ones_like(w)), w

    def influences(self, shift: np.ndarray) -> np.ndarray:
        """By how much a row moves the plain analysis' coefficients, (p, N)."""
        link = self.template.link
        if link == COUNT:
            return np.ones((1, len(self.w)))
        if link == QUANTILE:
            at, level = self._quantile(float(shift[0])), self.template.level
            rise = float(self.slope(shift)[0, 0])  # of the quantile with the level's logit
            return -rise * (level - (self.y <= at))[None, :] / (level * (1 - level) * max(self.mass, 1.0))
        w, y = self._bent(shift)
        fitted = mean(link, np.linalg.solve(self.turn.T, self.coefficients(shift)) @ self.z)
        return self.turn.T @ _solve(self._curvature(w, fitted), self.z * (y - fitted))

    def whitening(self) -> np.ndarray:
        """Turns a row's contribution into numbers of unit variance each, (p, p)."""
        link = self.template.link
        if link in (COUNT, QUANTILE):
            return np.eye(1)
        own = self.z * (self.y - mean(link, self.beta @ self.z))
        spread = (own * self.w) @ own.T / max(self.mass, 1e-9)
        spread += (1e-6 * np.trace(spread) / len(spread) + 1e-12) * np.eye(len(spread))
        return np.linalg.solve(np.linalg.cholesky(spread), self.turn)

    def prior(self) -> np.ndarray:
        """How little a shift is expected beforehand, as a precision (p, p): hardly, but enough to keep it finite.

        Of a link whose rows are reweighted: a deviation of ``PLAUSIBLE`` for a coefficient of a column of ones and
        zeros, and of others by the size of their numbers. Of a linear link: the outcome's own size.
        """
        if self.template.link in (COUNT, QUANTILE):
            return np.zeros((len(self.beta), len(self.beta)))
        if self.template.link == LINEAR:
            size = float((self.y**2) @ self.w) / max(self.mass, 1e-9)
            return np.eye(len(self.beta)) / max(size, 1e-12)
        held = np.maximum((self.x != 0).sum(1), 1)
        size = np.sqrt((self.x**2).sum(1) / held)
        return (self.turn * (size / PLAUSIBLE) ** 2) @ self.turn.T

    def _bent(self, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights and outcomes of the bent law."""
        link, more = self.template.link, shift @ self.z
        if link == LINEAR:
            return self.w, self.y + more
        eta = self.beta @ self.z
        if link == "logistic":
            rise = np.logaddexp(0, eta + more) - np.logaddexp(0, eta)
        else:
            rise = mean(link, eta + more) - mean(link, eta)
        return self.w * np.exp(np.clip(self.y * more - rise, -12, 12)), self.y

    def _fitted(self, w: np.ndarray, y: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Coefficients of z by Newton's method."""
        link, beta = self.template.link, start
        if link in (COUNT, QUANTILE) or not len(w):
            return beta
        for _ in range(STEPS):
            fitted = mean(link, beta @ self.z)
            move = _solve(self._curvature(w, fitted), self.z @ (w * (y - fitted)))
            beta = beta + (move if link == LINEAR else np.clip(move, -1.0, 1.0))
            if np.abs(move).max(initial=0.0) < ALIKE:
                break
        return beta

    def _curvature(self, w: np.ndarray, fitted: np.ndarray) -> np.ndarray:
        link = self.template.link
        slope = np.ones_like(fitted) if link == LINEAR else fitted * (1 - fitted) if link == "logistic" else fitted
        return (self.z * (w * slope)) @ self.z.T

    def _quantile(self, shift: float) -> float:
        """The outcome at the level that ``shift`` moves the question's to."""
        level = self.template.level
        shifted = 1 / (1 + np.exp(-(np.log(level / (1 - level)) - shift)))
        rank, y = self._ranked
        return float(y[min(int(np.searchsorted(rank, shifted)), len(y) - 1)]) if len(y) else 0.0

    @cached_property
    def _ranked(self) -> tuple[np.ndarray, np.ndarray]:
        """The outcomes in order, and which share of the rows is up to each."""
        order = np.argsort(self.y, kind="stable")
        return np.cumsum(self.w[order]) / max(self.mass, 1e-9), self.y[order]

    def _rise(self, shift: float) -> float:
        """By how much the quantile falls with the shift: over a step that is long enough for it to change."""
        step = 0.5 / max(self.mass, 4.0) ** 0.5
        while True:
            ends = [self._quantile(shift + s) for s in (step, -step)]
            if ends[0] != ends[1] or step > FAREST:
                return (ends[0] - ends[1]) / (2 * step)
            step *= 2

    def _levels(self, score: Score, shift: float) -> tuple[np.ndarray, np.ndarray]:
        """The sum of level - (y <= at), where the share below ``at`` is moved by ``shift`` on the logit scale."""
        below = np.clip(float(self.w @ (self.y <= score.coefficients[0])) / max(self.mass, 1e-9), 1e-4, 1 - 1e-4)
        shifted = 1 / (1 + np.exp(-(np.log(below / (1 - below)) + shift)))
        size = self.mass / score.clip
        return np.array([size * (score.level - shifted)]), np.array([[-size * shifted * (1 - shifted)]])


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    lifted = matrix + (LIFT * (np.trace(matrix) / len(matrix)) + 1e-300) * np.eye(len(matrix))
    return np.linalg.solve(lifted, right)


def _orthonormal(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """A triangle that turns columns into ones of mean square 1 that are orthogonal, (p, p)."""
    size = np.sqrt((x**2) @ w / w.sum())
    size = np.where(size > 0, size, 1.0)
    upper = np.asarray(np.linalg.qr((x / size[:, None] * np.sqrt(w / w.sum())).T, mode="r"))
    return np.linalg.inv(upper.T) / size


def free(template: Score, rows: Mapping[str, np.ndarray]) -> list[int]:
    """Which terms the rows tell apart: those that others before them do not determine."""
    x, _, here = template.design(rows)
    x = x[:, here > 0]
    size = np.sqrt((x**2).sum(1))
    scaled = x / np.where(size > 0, size, 1.0)[:, None]
    gram = scaled @ scaled.T
    retained: list[int] = []
    for j in range(len(x)):
        others = (
            np.linalg.lstsq(gram[np.ix_(retained, retained)], gram[retained, j], rcond=None)[0]
            if retained
            else np.zeros(0)
        )
        if gram[j, j] - gram[retained, j] @ others > ALIKE:
            retained.append(j)
    return retained
