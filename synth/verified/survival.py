"""Survival at given times: the synthetic rows as a law whose hazards are bent by a factor between each two times."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from synth.questions import Block, Score
from synth.questions.features import codes
from synth.verified.law import FAREST, PLAUSIBLE, WHOLE

MOST_HAZARD = 1 - 1e-9  # of one time: nobody is left after it, and a logarithm must stay finite


@dataclass(frozen=True, kw_only=True, eq=False)
class SurvivalLaw:
    """Cells of public rows, one for each time and whether it ended in the event; weights ``w`` (N,).

    ``at`` (N,): the cells' times, as parts of the column's range; ``event`` (N,): 1 where it happened. ``inside``
    (parts, p): which times lie in which interval; ``hazard`` (parts,): of the rows, by Kaplan and Meier. A law that is
    bent by ``shift`` (p,) has (1 - hazard) ** exp(shift) in place of 1 - hazard; rows are reweighted by the ratio of
    their likelihoods. ``total``: what all weights of the table sum to. ``alike``: so many rows may be alike.
    """

    template: Score
    total: float
    at: np.ndarray
    event: np.ndarray
    w: np.ndarray
    inside: np.ndarray
    hazard: np.ndarray
    beta: np.ndarray
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
    def exact(self) -> bool:
        """Whether clipping misjudges nothing."""
        return False

    @property
    def units(self) -> float:
        """How many rows the table has."""
        return self.total

    def together(self, parts: np.ndarray, _w: np.ndarray) -> np.ndarray:
        """Contributions as those of independent units: every row is one."""
        return parts

    def apart(self, w: np.ndarray) -> np.ndarray:
        """The weights of these units."""
        return w

    @property
    def mass(self) -> float:
        """How many real rows take part, by the synthetic ones."""
        return float(self.w.sum())

    def fewest_at_risk(self) -> float:
        """How many are left before the last of the times, by the synthetic rows."""
        last = int(np.flatnonzero(self.inside[:, -1]).max(initial=0))
        return float(self.w[self.at >= last].sum())

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
        spread = (parts * self.w) @ parts.T / max(self.mass, 1e-9)
        spread += (1e-6 * np.trace(spread) / len(spread) + 1e-12) * np.eye(len(spread))
        return np.linalg.inv(np.linalg.cholesky(spread))

    def prior(self) -> np.ndarray:
        """As of a law of regressions: a deviation of ``PLAUSIBLE`` for the logarithm of a hazard's factor."""
        return np.eye(len(self.beta)) / PLAUSIBLE**2

    def _summed(self, score: Score) -> np.ndarray:
        x = np.concatenate([score.factors[0].table[self.at] * self.event[:, None], score.factors[1].table[self.at]], 1)
        ones = np.ones(len(self.w))
        return score.clipped(x.T, ones, ones)
