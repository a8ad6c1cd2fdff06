"""The density of a number along its range: a curve through noisy counts, whose tails go on as far as counts can tell.

Its logarithm is linear between knots, which lie at equal shares of the rows and, towards the ends of the range, at
doubling distances. Counts hold it where they stand out of the noise; where they do not, its bends are small and a tail
falls on. Single values that stand out of it are left to their counts.

Privacy: released answers only.
**Source**: log-splines with a penalty on bends, Eilers and Marx 1996, fitted to counts with noise by Gauss-Newton.
"""

from dataclasses import dataclass

import numpy as np

KNOTS = 32  # parts of equal rows that knots lie between
CLEAR = 4.0  # noise deviations of rows that such a part holds at least, and above which a value stands out of the curve
BEND = 0.5  # deviation of a bend of the logarithm
FALL, FALLS = -1.8, 0.7  # of its fall over a doubling of the distance: mean, deviation
ROUGH = 0.3  # deviation of leaves from the curve, of their rows, in the fit of it
LEAST, MOST = 0.1, 2.0  # the same as the fit finds it
EVEN = 0.4  # most that the logarithm changes over a leaf that rows are laid evenly into
STEPS, NEAR = 30, 0.01  # at most, and the change of the logarithm at which the last one is reached
SEEN = 2.0  # noise deviations of leaves and those around them together, from which on a tail has not begun
HIGHER, AROUND = 3.0, 6  # times the median of so many leaves, on both sides: a value that stands out
HELD = 0.1  # least part of the rows that a curve holds; where bends cost more than counts, it falls without end
FIRM = 1e-12  # of all curvature, added to each direction's: none is without any
DOUBT = 2.5  # times the noise, in squares, by which leaves lie off the curve before they are believed


@dataclass(frozen=True, kw_only=True, eq=False)
class Density:
    """``logs`` (K,): logarithm of the rows at a position, at each of the ``knots`` (K,), the first 0, the last the
    number of positions that are values."""

    knots: np.ndarray
    logs: np.ndarray

    def cut(self, starts: np.ndarray) -> np.ndarray:
        """First positions of the parts of leaves that are nearly even inside."""
        counts = np.ceil(np.abs(np.diff(self.logs)) / EVEN).astype(int).clip(1, 64)
        inner = [np.linspace(a, b, n + 1)[:-1] for a, b, n in zip(self.knots, self.knots[1:], counts, strict=False)]
        return np.union1d(starts, np.concatenate(inner).astype(np.int64))

    def rows(self, edges: np.ndarray) -> np.ndarray:
        """Rows between each edge (E,) and the next; beyond the range as many as at its end."""
        cuts = np.union1d(edges, self.knots[1:-1])
        logs = np.interp(cuts, self.knots, self.logs)
        mass = _integral(logs[:-1], logs[1:], np.diff(cuts))[0]
        return np.add.reduceat(mass, np.searchsorted(cuts, edges[:-1]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """What was counted of the leaves of a column: ``rows`` (L,), which may be negative, and their noise's deviation
    (L,); ``block`` (L,): the cell that a leaf was cut from, whose leaves together have the deviation ``whole`` (B,).
    """

    rows: np.ndarray
    noise: np.ndarray
    block: np.ndarray
    whole: np.ndarray

    def sums(self, leaves: np.ndarray) -> np.ndarray:
        """Of leaves (L,) what they are together in each block, (B,)."""
        return np.bincount(self.block, weights=leaves, minlength=len(self.whole))

    def averaged(self, rows: np.ndarray, sigma: float) -> "Counted":
        """With a second count of the leaves, by precision: of blocks, and of leaves inside them."""
        part, whole = self.noise**2 / (self.noise**2 + sigma**2), self.whole**2
        again = self.sums(np.full(len(rows), sigma**2))
        goal = self.sums(self.rows) + whole / (whole + again) * self.sums(rows - self.rows)
        own = self.rows + part * (rows - self.rows)
        own += ((goal - self.sums(own)) / self.sums(np.ones(len(rows))))[self.block]
        return Counted(
            rows=own, noise=sigma * part**0.5, block=self.block, whole=np.sqrt(whole * again / (whole + again))
        )


def _integral(low: np.ndarray, high: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integral of an exponential between two logarithms, and its mean place, 0 to 1."""
    rise = np.where(np.abs(high - low) < 1e-5, 1e-5, high - low)
    return width * np.exp(low) * np.expm1(rise) / rise, 1 / -np.expm1(-rise) - 1 / rise


def fit_density(
    starts: np.ndarray, size: int, counted: Counted, rough: np.ndarray
) -> tuple[Density, np.ndarray, np.ndarray] | None:
    """The curve, and what it and the counts say together of each leaf: rows (L,), and their variance.

    ``starts`` (L,): first positions of the leaves of values, which end at ``size``; ``rough`` (L,): non-negative rows,
    to begin with. None where counts make no curve: their leaves stay as they are.
    """
    edges, raw, noise = np.append(starts, size).astype(float), counted.rows, counted.noise
    alone = _alone(np.diff(edges), raw, noise)
    rough = np.where(alone, 0.0, rough)
    several = counted.sums(np.ones(len(raw))) > 1
    seen = _near(raw) > SEEN * np.sqrt(_near(noise**2))
    rough = np.where(seen | several[counted.block], rough, 0.0)
    places, scale, body = _knots(edges, rough, noise)
    many = len(places)
    if body < 2:
        return None
    knots = edges[places]
    at = np.searchsorted(places, np.arange(len(raw)), side="right") - 1
    span, width = np.diff(knots)[at], np.diff(edges)
    begin, end = (edges[:-1] - knots[at]) / span, (edges[1:] - knots[at]) / span
    whole = np.bincount(at, weights=rough, minlength=many - 1)
    logs = _start(knots, whole)
    even = np.where(alone, 0.0, whole[at] * width / span)
    weight = np.where(alone, 0.0, 1 / (noise**2 + np.maximum(even, 1.0) + (ROUGH * even) ** 2))
    smooth = counted.sums(even)
    firm = 1 / (counted.whole**2 + counted.sums(np.where(alone, noise**2, 0)) + (ROUGH * smooth) ** 2)
    firm = np.where(several, firm, 0.0)
    penalty, pull = _penalty(scale, body)
    for _ in range(STEPS):
        rise = logs[at + 1] - logs[at]
        rows, place = _integral(logs[at] + begin * rise, logs[at] + end * rise, width)
        if not HELD < rows.sum() / rough.sum() < 1 / HELD:
            return None
        high = rows * ((1 - place) * begin + place * end)
        away, curved = weight * (raw - rows), penalty.copy()
        goal, slope = pull - penalty @ logs, np.zeros((len(firm), many))
        for i, one in ((at, rows - high), (at + 1, high)):
            goal += np.bincount(i, weights=one * away, minlength=many)
            slope += np.bincount(
                counted.block * many + i, weights=np.where(alone, 0, one), minlength=slope.size
            ).reshape(slope.shape)
            for j, other in ((at, rows - high), (at + 1, high)):
                curved += np.bincount(i * many + j, weights=weight * one * other, minlength=many**2).reshape(many, many)
        goal += slope.T @ (firm * counted.sums(np.where(alone, 0, raw - rows)))
        curved += slope.T @ (firm[:, None] * slope)
        curved.flat[:: many + 1] += FIRM * curved.trace()
        step = np.clip(np.linalg.solve(curved, goal), -1.0, 1.0)
        logs = logs + step
        if np.abs(step).max() < NEAR:
            break
    away = np.where(alone, 0.0, raw - rows) ** 2
    spread = (away - noise**2 - rows)[~alone].sum() / max((rows[~alone] ** 2).sum(), 1e-9)
    excess = _near(away - DOUBT * noise**2) / (2 * AROUND + 1)
    own = np.maximum(rows + np.clip(spread, LEAST**2, MOST**2) * rows**2, excess)
    part = np.where(alone, 1.0, own / (own + noise**2))
    rows = np.maximum(rows + part * (raw - rows), 0.0)
    return Density(knots=knots, logs=logs), *_agreeing(rows, part * noise**2, counted)


def _agreeing(rows: np.ndarray, variance: np.ndarray, counted: Counted) -> tuple[np.ndarray, np.ndarray]:
    """Rows shifted to what was counted of blocks, as far as their own variances say."""
    for _ in range(3):
        own = np.where(rows > 0, variance, 0.0)
        held = counted.sums(own)
        gap = (counted.sums(counted.rows) - counted.sums(rows)) / np.maximum(held + counted.whole**2, 1e-9)
        rows = np.maximum(rows + gap[counted.block] * own, 0.0)
    return rows, variance * (counted.whole**2 / np.maximum(held + counted.whole**2, 1e-9))[counted.block]


def _alone(width: np.ndarray, raw: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Which leaves stand out of those on either side of them, (L,)."""
    padded = np.pad(raw / width, AROUND, mode="reflect" if len(raw) > AROUND else "edge")
    sides = np.median(np.lib.stride_tricks.sliding_window_view(padded, AROUND), axis=1)
    around = np.maximum(sides[: len(raw)], sides[AROUND + 1 :])
    return np.asarray(raw > CLEAR * noise + HIGHER * np.maximum(around, 0.0) * width)


def _near(values: np.ndarray) -> np.ndarray:
    """Sums over each leaf and those around it."""
    return np.convolve(values, np.ones(2 * AROUND + 1))[AROUND : AROUND + len(values)]


def _start(knots: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Logarithms to begin with, from the rows between knots."""
    height = np.log((rows + max(float(rows.sum()), 1.0) * 1e-4) / np.diff(knots))
    return np.interp(knots, (knots[1:] + knots[:-1]) / 2, height)


def _knots(edges: np.ndarray, mass: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Which edges of leaves are knots, and these on a scale: equal rows are a step on it, before the first and after
    the last of them, which are so many, a doubling is one."""
    whole = np.append(0.0, np.cumsum(mass))
    least = max(float(whole[-1]) / KNOTS, CLEAR * float(np.median(noise)))
    parts = max(int(whole[-1] / least), 1)
    found = np.searchsorted(whole, whole[-1] * np.arange(1, parts) / parts)
    body = np.unique(np.clip(found, 1, len(edges) - 2))
    most = int(mass.argmax())
    if len(body) < 2 and mass[most] > SEEN * noise[most]:
        body = np.arange(most, most + 2)
    apart = np.diff(edges[body])
    for left, after, own in zip(apart, apart[1:], body[1:], strict=False):  # a part as wide as several before it
        more = np.searchsorted(edges, edges[own] + _doubled(after, left))
        body = np.union1d(body, more)
    if len(body) < 2:
        return body, np.zeros(0), len(body)
    up = _doubled(edges[-1] - edges[body[-1]], edges[body[-1]] - edges[body[-2]])
    down = _doubled(edges[body[0]], edges[body[1]] - edges[body[0]])
    away = np.concatenate([edges[body[0]] - down, edges[body[-1]] + up])
    places = np.unique(np.concatenate([body, np.searchsorted(edges, away), [0, len(edges) - 1]]))
    knots, first, last = edges[places], edges[body[0]], edges[body[-1]]
    scale = np.interp(knots, edges[body], np.arange(len(body)))
    scale += np.log2(1 + np.maximum(knots - last, 0.0) / (last - edges[body[-2]]))
    scale -= np.log2(1 + np.maximum(first - knots, 0.0) / (edges[body[1]] - first))
    return places, scale, len(body)


def _doubled(reach: float, first: float) -> np.ndarray:
    """Distances that double until they reach the end."""
    steps = first * (2.0 ** np.arange(1, 64) - 1)
    return steps[steps < reach * 0.75]


def _penalty(scale: np.ndarray, body: int) -> tuple[np.ndarray, np.ndarray]:
    """Precision (K, K) of the logarithms and what it pulls them to (K,): small bends, falling tails."""
    apart = np.diff(scale)
    slopes = np.diff(np.eye(len(scale)), axis=0) / apart[:, None]
    bends = np.diff(slopes, axis=0) / BEND
    outside = np.where(scale[1:] <= -1, -1.0, np.where(scale[:-1] >= body, 1.0, 0.0))
    tails = slopes[outside != 0] / FALLS
    return bends.T @ bends + tails.T @ tails, tails.T @ (FALL / FALLS * outside[outside != 0])
