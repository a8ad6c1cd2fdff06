"""The synthetic rows as a law that can be bent: what sums it predicts where the true coefficients lie elsewhere; for
survival at given times a law whose hazards are bent by a factor between each two times."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from synth.questions import Block, Score, TreeScore
from synth.questions.embeddings import COUNT, LINEAR, LOGISTIC, QUANTILE, mean
from synth.questions.features import codes

STEPS, LIFT, ALIKE = 60, 1e-10, 1e-7
MOST_GROUPS = 4  # of rows that are counted by group and outcome
PLAUSIBLE = 2.0  # deviation beforehand of by how much a logarithm of odds or means differs from the synthetic rows'
WHOLE = 1e100  # a clip that cuts nothing off
FAREST = 4.0  # of a coefficient on columns of unit size, for links whose rows are reweighted


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicRows:
    """Rows that are public, as a law: weights ``w`` (N,), which sum to ``total`` in the whole table; ``beta`` (p,)."""

    template: Score
    total: float
    w: np.ndarray
    beta: np.ndarray

    @property
    def mass(self) -> float:
        """How many real rows take part, by the synthetic ones."""
        return float(self.w.sum())

    @property
    def exact(self) -> bool:
        """Whether clipping misjudges nothing but by how many rows take part."""
        return False

    def together(self, parts: np.ndarray, w: np.ndarray) -> np.ndarray:  # noqa: ARG002 (every row is a unit)
        """Contributions (dim, N) of weight w as those of independent units of the unbent law's weight, (dim, units)."""
        return parts

    def apart(self, w: np.ndarray) -> np.ndarray:
        """The weights of these units."""
        return w

    def spread(self, parts: np.ndarray) -> np.ndarray:
        """Mean square of contributions (p, N), lifted so that it has an inverse, (p, p)."""
        spread = (parts * self.w) @ parts.T / max(self.mass, 1e-9)
        return spread + (1e-6 * np.trace(spread) / len(spread) + 1e-12) * np.eye(len(spread))


@dataclass(frozen=True, kw_only=True, eq=False)
class Law(PublicRows):
    """Public rows that take part: ``z`` (p, N) orthonormal columns, outcome ``y`` and weights ``w`` (N,).

    ``total``: what all weights of the table sum to; ``turn`` (p, p): z = turn @ x; ``beta`` (p,): coefficients of z
    that the rows have. A law that is bent by ``shift`` (p,) has coefficients beta + shift: outcomes of a linear link
    move, rows of another link are reweighted by the ratio of their likelihoods; a quantile's level moves on the logit
    scale; a count moves by ``shift`` rows.

    ``unit`` (N,): of related tables to which root each row belongs, in rising order; ``units``: how many roots the real
    table has. ``alike``: so many rows may be alike, as a person's may, whom synthetic rows do not tell. ``tilted``: of
    shares of groups, whose rows are counted by group and outcome and reweighted as those of a logistic link.
    """

    x: np.ndarray
    z: np.ndarray
    y: np.ndarray
    turn: np.ndarray
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
        many = len(next(iter(rows.values())))
        each = np.full(many, total / max(many, 1))
        if unit is not None and likeness > 0:
            rows, unit, each = _likened(rows, unit, each, likeness)
        x, y, here = template.design(rows)
        there = here > 0
        x, y, w = x[:, there], y[there], each[there]
        tilted = bent and template.link == LINEAR and unit is None and len(w) > 0 and bool(np.isin(y, (0.0, 1.0)).all())
        tilted = tilted and bool(np.isin(x, (0.0, 1.0)).all())  # a coefficient for each combination that rows show
        tilted = tilted and len(x) <= MOST_GROUPS and len(np.unique(x, axis=1).T) <= len(x)
        if tilted:
            x, y, w = _cells(x, y, w)
        turn = np.eye(len(x))
        if len(w):  # a triangle that turns columns into ones of mean square 1 that are orthogonal
            size = np.sqrt((x**2) @ w / w.sum())
            size = np.where(size > 0, size, 1.0)
            upper = np.asarray(np.linalg.qr((x / size[:, None] * np.sqrt(w / w.sum())).T, mode="r"))
            turn = np.linalg.inv(upper.T) / size
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
        """As of public rows; shares of groups are reweighted whole."""
        return self.tilted

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
        return np.linalg.solve(np.linalg.cholesky(self.spread(own)), self.turn)

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
            w = w * np.repeat(
                score.factor(np.add.reduceat(score.clipped(self.x, self.y, np.ones_like(w)), self._starts, axis=1)),
                self._sizes,
            )
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


def _cells(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows counted by group and outcome, half a row where there is none: no factor reweights what is not there."""
    groups, own = np.unique(x, axis=1, return_inverse=True)
    counts = np.bincount(own.ravel() * 2 + y.astype(np.int64), weights=w, minlength=2 * groups.shape[1])
    return np.repeat(groups, 2, axis=1), np.tile([0.0, 1.0], groups.shape[1]), np.where(counts > 0, counts, 0.5)


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


MOST_HAZARD = 1 - 1e-9  # of one time: nobody is left after it, and a logarithm must stay finite


@dataclass(frozen=True, kw_only=True, eq=False)
class SurvivalLaw(PublicRows):
    """Cells of public rows, one for each time and whether it ended in the event; weights ``w`` (N,).

    ``at`` (N,): the cells' times, as parts of the column's range; ``event`` (N,): 1 where it happened. ``inside``
    (parts, p): which times lie in which interval; ``hazard`` (parts,): of the rows, by Kaplan and Meier. A law that is
    bent by ``shift`` (p,) has (1 - hazard) ** exp(shift) in place of 1 - hazard; rows are reweighted by the ratio of
    their likelihoods. ``total``: what all weights of the table sum to. ``alike``: so many rows may be alike.
    """

    at: np.ndarray
    event: np.ndarray
    inside: np.ndarray
    hazard: np.ndarray
    alike: float = 1.0

    @classmethod
    def of(cls, template: Score, rows: Mapping[str, np.ndarray], total: float) -> "SurvivalLaw":
        """The law of synthetic rows (positions by column) that stand for ``total`` real ones."""
        time, event = template.factors[0], template.factors[2]
        here = template.design(rows)[2] > 0
        part = codes(time.bins, rows[time.bins.column][here])
        hit = event.table[codes(event.bins, rows[event.bins.column][here]), 0]
        size, inside = time.bins.size, time.table
        counts = np.stack([np.bincount(part[hit == k], minlength=size) for k in (0, 1)]).astype(float)
        counts *= total / max(len(here), 1)
        risk = counts.sum(0)[::-1].cumsum()[::-1]
        events = counts[1]
        for own in inside.T > 0:  # half an event where there is none: no factor bends a hazard of zero
            if not events[own].any():
                events = np.where(own & (risk > 0), 0.5 / max((own & (risk > 0)).sum(), 1), events)
        hazard = np.divide(events, risk, out=np.zeros(size), where=risk > 0)
        kind, at = np.nonzero(counts)
        return cls(
            template=template,
            total=total,
            at=at,
            event=kind.astype(float),
            w=counts[kind, at],
            inside=inside,
            hazard=np.minimum(hazard, MOST_HAZARD),
            beta=np.zeros(inside.shape[1]),
        )

    @property
    def units(self) -> float:
        """How many rows the table has."""
        return self.total

    @cached_property
    def _force(self) -> np.ndarray:
        """-log(1 - hazard), by time."""
        return -np.log1p(-self.hazard)

    @cached_property
    def _lived(self) -> np.ndarray:
        """Each cell's part of every interval's force: of the times that it was at risk and outlived, (N, p)."""
        upto = np.cumsum(self._force[:, None] * self.inside, axis=0)
        own = self._force[self.at][:, None] * self.inside[self.at]
        return upto[self.at] - self.event[:, None] * own

    def _bent_hazard(self, shift: np.ndarray) -> np.ndarray:
        factor = np.exp(self.inside @ shift)
        return np.minimum(-np.expm1(-self._force * factor), MOST_HAZARD)

    def coefficients(self, shift: np.ndarray) -> np.ndarray:
        """Survival at each of the times, (p,)."""
        return np.exp(-np.cumsum((self._force @ self.inside) * np.exp(shift)))

    def slope(self, shift: np.ndarray) -> np.ndarray:
        """How ``coefficients`` move with the shift, (p, p)."""
        force = (self._force @ self.inside) * np.exp(shift)
        return -self.coefficients(shift)[:, None] * np.tril(np.ones((len(shift), len(shift)))) * force

    def _bent(self, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cells' weights under the bent law (N,), and how their logarithms move with the shift (N, p)."""
        own, hazard = self.hazard[self.at], self._bent_hazard(shift)[self.at]
        mine = self.inside[self.at] * self.event[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(self.event * own > 0, hazard / own, 1.0)
            rise = np.where(own > 0, self._force[self.at] * (1 - hazard) / hazard, 1.0)
        among = mine.sum(1) > 0
        change = np.where(among, np.log(ratio), 0.0) - self._lived @ np.expm1(shift)
        back = (mine * rise[:, None] - self._lived) * np.exp(shift)
        return self.w * np.exp(np.clip(change, -12, 12)), back

    def score(self, values: np.ndarray, clip: float, whitening: np.ndarray) -> Score:
        """For each interval the event less the sum of bent hazards of the times at risk, where survival is so."""
        force = self._force @ self.inside
        fallen = -np.diff(np.log(np.clip(np.concatenate([[1.0], values]), 1e-12, 1.0)))
        shift = np.clip(np.log(np.maximum(fallen, 1e-12) / np.maximum(force, 1e-12)), -FAREST, FAREST)
        expected = np.cumsum(self._bent_hazard(shift)[:, None] * self.inside, axis=0)
        factors = list(self.template.factors)
        factors[1] = Block(bins=factors[1].bins, table=expected)
        return replace(self.template, factors=tuple(factors), clip=clip, whitening=np.hstack([whitening, -whitening]))

    def predicted(self, score: Score, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The exact sums that a table of the bent law would have, (dim,), and how they move with the shift."""
        parts, (w, back) = self._summed(score), self._bent(shift)
        return parts @ w, parts @ (back * w[:, None])

    def derivative(self, _score: Score, shift: np.ndarray, released: np.ndarray) -> np.ndarray:
        """How the sums of these contributions (dim, N) move with the shift, (dim, p)."""
        w, back = self._bent(shift)
        return released @ (back * w[:, None])

    def contributions(self, score: Score, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each cell's part of the sums, (dim, N), and its weight, under the bent law."""
        return self._summed(score), self._bent(shift)[0]

    def influences(self, shift: np.ndarray) -> np.ndarray:
        """By how much a row moves the Kaplan-Meier estimates, (p, N)."""
        w, hazard = self._bent(shift)[0], self._bent_hazard(shift)
        size = len(hazard)
        risk = np.bincount(self.at, weights=w, minlength=size)[::-1].cumsum()[::-1]
        per = np.divide(1.0, risk * (1 - hazard), out=np.zeros(size), where=risk > 0)
        before = np.cumsum(self.inside, axis=1)  # (parts, p): whether a time is up to the p-th
        expected = np.cumsum((per * hazard)[:, None] * before, axis=0)[self.at]
        own = (self.event * per[self.at])[:, None] * before[self.at]
        return -self.coefficients(shift)[:, None] * (own - expected).T

    def whitening(self) -> np.ndarray:
        """Turns a row's contribution into numbers of unit variance each, (p, p)."""
        parts = self._summed(self.score(self.coefficients(self.beta), WHOLE, np.eye(len(self.beta)))) * WHOLE
        return np.linalg.inv(np.linalg.cholesky(self.spread(parts)))

    def prior(self) -> np.ndarray:
        """As of a law of regressions: a deviation of ``PLAUSIBLE`` for the logarithm of a hazard's factor."""
        return np.eye(len(self.beta)) / PLAUSIBLE**2

    def _summed(self, score: Score) -> np.ndarray:
        x = np.concatenate([score.factors[0].table[self.at] * self.event[:, None], score.factors[1].table[self.at]], 1)
        ones = np.ones(len(self.w))
        return score.clipped(x.T, ones, ones)
