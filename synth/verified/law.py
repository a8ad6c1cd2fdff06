"""The synthetic rows as a law that can be bent: what sums it predicts where the true coefficients lie elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from synth.questions import Score, TreeScore
from synth.questions.scores import COUNT, LINEAR, LOGISTIC, QUANTILE, mean

STEPS, LIFT, ALIKE = 60, 1e-10, 1e-7
MOST_GROUPS = 4  # of rows that are counted by group and outcome
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

    ``unit`` (N,): of related tables to which root each row belongs, in rising order; ``units``: how many roots the real
    table has. ``alike``: so many rows may be alike, as a person's may, whom synthetic rows do not tell. ``tilted``: of
    shares of groups, whose rows are counted by group and outcome and reweighted as those of a logistic link.
    """

    template: Score
    total: float
    x: np.ndarray
    z: np.ndarray
    y: np.ndarray
    w: np.ndarray
    turn: np.ndarray
    beta: np.ndarray
    unit: np.ndarray | None = None
    units: float = 0.0
    alike: float = 1.0
    tilted: bool = False

    @classmethod
    def of(
        cls,
        template: Score,
        rows: Mapping[str, np.ndarray],
        total: float,
        *,
        unit: np.ndarray | None = None,
        units: float | None = None,
        likeness: float = 0.0,
        bent: bool = True,
    ) -> "Law":
        """The law of synthetic rows (positions by column) that stand for ``total`` real ones, of ``units`` roots.

        ``likeness``: the part of the roots whose rows are all equal to one of them, drawn at random.
        ``bent``: whether it is to be bent; else it is as analysed, to the last row.
        """
        size = len(next(iter(rows.values())))
        each = np.full(size, total / max(size, 1))
        if unit is not None and likeness > 0:
            rows, unit, each = _likened(rows, unit, each, likeness)
        x, y, here = template.design(rows)
        there = here > 0
        x, y, w = x[:, there], y[there], each[there]
        tilted = bent and template.link == LINEAR and unit is None and len(w) > 0 and bool(np.isin(y, (0.0, 1.0)).all())
        tilted = tilted and bool(np.isin(x, (0.0, 1.0)).all()) and saturated(x)
        if tilted:
            x, y, w = _cells(x, y, w)
        turn = _orthonormal(x, w) if len(w) else np.eye(len(x))
        law = cls(
            template=template,
            total=total,
            x=x,
            z=turn @ x,
            y=y,
            w=w,
            turn=turn,
            beta=np.zeros(len(x)),
            unit=None if unit is None else unit[there],
            units=total if units is None else units,
            tilted=tilted,
        )
        return replace(law, beta=law._fitted(law.w, law.y, law.beta, law.bent_as))

    @property
    def bent_as(self) -> str:
        """The link by whose likelihood rows are reweighted; linear: outcomes move."""
        return LOGISTIC if self.tilted else self.template.link

    @property
    def exact(self) -> bool:
        """Whether clipping misjudges nothing but by how many rows take part."""
        return self.tilted

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
        if self.bent_as == LINEAR:
            return self.turn.T @ (self.beta + shift)
        return self.turn.T @ self._fitted(w, y, self.beta + shift)

    def slope(self, shift: np.ndarray) -> np.ndarray:
        """How ``coefficients`` move with the shift, (p, p)."""
        link = self.template.link
        if link == COUNT:
            return np.eye(1)
        if link == QUANTILE:
            return np.array([[self._rise(float(shift[0]))]])
        if self.bent_as == LINEAR:
            return self.turn.T
        w, _ = self._bent(shift)
        at = np.linalg.solve(self.turn.T, self.coefficients(shift))
        fitted, bent = mean(link, at @ self.z), mean(self.bent_as, (self.beta + shift) @ self.z)
        cross = (self.z * (w * (self.y - fitted) * (self.y - bent))) @ self.z.T
        return self.turn.T @ _solve(self._curvature(w, fitted), cross)

    def score(self, values: np.ndarray, clip: float, whitening: np.ndarray) -> Score:
        """The sum that is asked for at these coefficients."""
        return replace(self.template, coefficients=values, clip=clip, whitening=whitening)

    def predicted(self, score: Score, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The exact sums that a table of the bent law would have, (dim,), and how they move with the shift."""
        link = self.template.link
        if link == COUNT:
            rate = self._counted(score)
            return rate * (np.array([self.mass]) + shift), rate * np.eye(1)
        if link == QUANTILE:
            return self._levels(score, float(shift[0]))
        released, w = self.contributions(score, shift)
        return released @ w, self.derivative(score, shift, released)

    def derivative(self, score: Score, shift: np.ndarray, released: np.ndarray) -> np.ndarray:
        """How the sums of these contributions (dim, N) move with the shift, (dim, p)."""
        link = self.template.link
        if link in (COUNT, QUANTILE):
            return self.predicted(score, shift)[1]
        w, y = self._bent(shift)
        if self.bent_as != LINEAR:
            return released @ (self.z * (w * (y - mean(self.bent_as, (self.beta + shift) @ self.z)))).T
        turned = score.whitening @ self.x
        r, length = score.residuals(self.x, y), np.sqrt((turned**2).sum(0))
        inside = turned * ((np.abs(r) * length <= score.clip) / score.clip)
        if self.unit is not None and isinstance(score, TreeScore):
            inside = self._shortened(score, inside, score.clipped(self.x, y, np.ones_like(w)))
        return (inside * w) @ self.z.T

    def _shortened(self, score: TreeScore, moves: np.ndarray, released: np.ndarray) -> np.ndarray:
        """What of the rows' moves (dim, N) remains of a root's sum: of one that is too long nothing along it."""
        sums = np.add.reduceat(released, self._starts, axis=1)
        longer = np.sqrt((sums**2).sum(0)) > score.most
        along = np.where(longer, sums * score.factor(sums), 0.0)  # of length one
        along, factor = np.repeat(along, self._sizes, axis=1), np.repeat(score.factor(sums), self._sizes)
        return factor * (moves - along * (along * moves).sum(0))

    def contributions(self, score: Score, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each row's part of the sums, (dim, N), and its weight, under the bent law."""
        w, y = (self.w, self.y) if self.template.link in (COUNT, QUANTILE) else self._bent(shift)
        if not len(w):
            return np.zeros((score.dim, 0)), w
        released = score.clipped(self.x, y, np.ones_like(w))
        if self.unit is not None and isinstance(score, TreeScore):
            sums = np.add.reduceat(released, self._starts, axis=1)
            released = released * np.repeat(score.factor(sums), self._sizes)
        return released, w

    @cached_property
    def _starts(self) -> np.ndarray:
        """The first row of each root that has some, (roots,)."""
        assert self.unit is not None
        return np.flatnonzero(np.diff(self.unit, prepend=-1))

    @cached_property
    def _sizes(self) -> np.ndarray:
        return np.diff(self._starts, append=len(self.w))

    def together(self, parts: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Contributions (dim, N) of weight w as those of independent units of the unbent law's weight, (dim, units)."""
        if self.unit is None or not len(w):
            return parts
        return np.add.reduceat(parts * (w / self.w), self._starts, axis=1)

    def squared(self, score: TreeScore) -> float:
        """The sum of the squared lengths of the roots' shortened sums, of the unbent law."""
        released, w = self.contributions(score, np.zeros_like(self.beta))
        return float((self.together(released, w) ** 2).sum(0) @ self.apart(w))

    def apart(self, w: np.ndarray) -> np.ndarray:
        """The weights of these units."""
        return w if self.unit is None or not len(w) else self.w[self._starts]

    def influences(self, shift: np.ndarray) -> np.ndarray:
        """By how much a row moves the plain analysis' coefficients, (p, N)."""
        link = self.template.link
        if link == COUNT:
            return np.ones((1, len(self.w)))
        if link == QUANTILE:
            at, level = self._quantile(float(shift[0])), self.template.level
            return -(level - (self.y <= at))[None, :] / (level * (1 - level) * max(self.mass, 1.0))  # of the shift
        w, y = self._bent(shift)
        fitted = mean(link, np.linalg.solve(self.turn.T, self.coefficients(shift)) @ self.z)
        return self.turn.T @ _solve(self._curvature(w, fitted), self.z * (y - fitted))

    def whitening(self) -> np.ndarray:
        """Turns a row's contribution into numbers of unit variance each, (p, p)."""
        link = self.template.link
        if link in (COUNT, QUANTILE):
            return np.eye(1)
        own = self.z * (self.y - mean(self.bent_as, self.beta @ self.z))
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
        if self.bent_as == LINEAR:
            size = float((self.y**2) @ self.w) / max(self.mass, 1e-9)
            return np.eye(len(self.beta)) / max(size, 1e-12)
        held = np.maximum((self.x != 0).sum(1), 1)
        size = np.sqrt((self.x**2).sum(1) / held)
        return (self.turn * (size / PLAUSIBLE) ** 2) @ self.turn.T

    def _bent(self, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights and outcomes of the bent law."""
        if not shift.any():
            return self.w, self.y
        link, more = self.bent_as, shift @ self.z
        if link == LINEAR:
            return self.w, self.y + more
        eta = self.beta @ self.z
        if link == LOGISTIC:
            rise = np.logaddexp(0, eta + more) - np.logaddexp(0, eta)
        else:
            rise = mean(link, eta + more) - mean(link, eta)
        return self.w * np.exp(np.clip(self.y * more - rise, -12, 12)), self.y

    def _fitted(self, w: np.ndarray, y: np.ndarray, start: np.ndarray, link: str | None = None) -> np.ndarray:
        """Coefficients of z by Newton's method; of another link than the template's where one is named."""
        link, beta = link or self.template.link, start
        if link in (COUNT, QUANTILE) or not len(w):
            return beta
        for _ in range(STEPS):
            fitted = mean(link, beta @ self.z)
            move = _solve(self._curvature(w, fitted, link), self.z @ (w * (y - fitted)))
            beta = beta + (move if link == LINEAR else np.clip(move, -1.0, 1.0))
            if np.abs(move).max(initial=0.0) < ALIKE:
                break
        return beta

    def _curvature(self, w: np.ndarray, fitted: np.ndarray, link: str | None = None) -> np.ndarray:
        link = link or self.template.link
        slope = np.ones_like(fitted) if link == LINEAR else fitted * (1 - fitted) if link == LOGISTIC else fitted
        return (self.z * (w * slope)) @ self.z.T

    def _counted(self, score: Score) -> float:
        """What a row adds to a sum of counts: one; less where a root's rows are shortened together."""
        if not isinstance(score, TreeScore):
            return 1.0
        if not len(self.w):
            return 1 / score.most
        return float((self.contributions(score, np.zeros(1))[0] @ self.w).sum() / self.mass)

    def contributed(self, score: Score) -> np.ndarray:
        """Each row's part of the sums before a root's are shortened, in clips, (dim, N), of the unbent law."""
        return score.clipped(self.x, self.y, np.ones_like(self.w))

    def asked_at(self, score: Score) -> float:
        """The shift of a quantile at which it lies where the sum was asked for."""
        below = float(self.w @ (self.y <= score.coefficients[0])) / max(self.mass, 1e-9)
        below, level = min(max(below, 1e-4), 1 - 1e-4), self.template.level
        return float(np.log(level / (1 - level)) - np.log(below / (1 - below)))

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
        w = self.w
        if self.unit is not None and isinstance(score, TreeScore):  # rows of a long sum count for less
            w = w * np.repeat(score.factor(np.add.reduceat(self.contributed(score), self._starts, axis=1)), self._sizes)
        mass = float(w.sum())
        below = np.clip(float(w @ (self.y <= score.coefficients[0])) / max(mass, 1e-9), 1e-4, 1 - 1e-4)
        shifted = 1 / (1 + np.exp(-(np.log(below / (1 - below)) + shift)))
        size = mass / score.clip
        return np.array([size * (score.level - shifted)]), np.array([[-size * shifted * (1 - shifted)]])


def _likened(
    rows: Mapping[str, np.ndarray], unit: np.ndarray, each: np.ndarray, likeness: float
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """The rows with their weights times 1 - ``likeness``, and behind them roots of equal rows, in its part."""
    starts = np.flatnonzero(np.diff(unit, prepend=-1))
    sizes = np.diff(starts, append=len(unit))
    rng = np.random.default_rng(0)  # of public rows
    source = np.repeat(starts + (rng.random(len(starts)) * sizes).astype(np.int64), sizes)
    if likeness >= 1:
        return {n: v[source] for n, v in rows.items()}, unit, each
    both = {n: np.concatenate([v, v[source]]) for n, v in rows.items()}
    weights = np.concatenate([each * (1 - likeness), each * likeness])
    return both, np.concatenate([unit, unit + (unit[-1] + 1 if len(unit) else 0)]), weights


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    lifted = matrix + (LIFT * (np.trace(matrix) / len(matrix)) + 1e-300) * np.eye(len(matrix))
    return np.linalg.solve(lifted, right)


def saturated(x: np.ndarray) -> bool:
    """Whether columns of ones and zeros, (p, N), have a coefficient for each combination that rows show."""
    return len(x) <= MOST_GROUPS and len(np.unique(x, axis=1).T) <= len(x)


def _cells(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows counted by group and outcome, half a row where there is none: no factor reweights what is not there."""
    groups, own = np.unique(x, axis=1, return_inverse=True)
    counts = np.bincount(own.ravel() * 2 + y.astype(np.int64), weights=w, minlength=2 * groups.shape[1])
    return np.repeat(groups, 2, axis=1), np.tile([0.0, 1.0], groups.shape[1]), np.where(counts > 0, counts, 0.5)


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
