"""Intervals for what weighted rows say: the noise, the rows' own chance, and what no table told, together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synth.pipeline.inference.asked import Term
from synth.pipeline.inference.estimands import Estimated
from synth.pipeline.inference.weighted_rows import ROWS, WeightedRows
from synth.schema.table import Schema

MOST_EDGES = 512  # of a column, at which its distribution is estimated


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its interval; the deviations of its three errors, and whether anything bounds it."""

    name: str
    estimate: float
    low: float
    high: float
    parts: Mapping[str, float]
    bounded: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class Errors:
    """Covariances (k, k) of weighted sums of k scores, by their cause."""

    noise: np.ndarray
    sampling: np.ndarray
    unmeasured: np.ndarray

    @classmethod
    def of(cls, rows: WeightedRows, scores: np.ndarray, *, related: float) -> "Errors":
        """``related``: the correlation with the scores that whatever no table told is allowed to have."""
        moves, left = rows.by_counts(scores)
        weighted = rows.start[:, None]
        freely = rows.start.sum() * (related**2 + 1 / ROWS)  # and the chance by which these rows were drawn
        return cls(noise=moves.T @ moves, sampling=scores.T @ (weighted * scores),
                   unmeasured=freely * (left.T @ (weighted * left)))  # fmt: skip

    @property
    def all(self) -> np.ndarray:
        """Their sum."""
        return self.noise + self.sampling + self.unmeasured

    def parts(self, direction: np.ndarray) -> dict[str, float]:
        """Deviations of a combination (k,) of the sums."""
        named = {"noise": self.noise, "sampling": self.sampling, "unmeasured": self.unmeasured}
        return {n: float(max(direction @ c @ direction, 0.0) ** 0.5) for n, c in named.items()}


def plain(rows: WeightedRows, found: Estimated, *, z: float, related: float) -> list[Interval]:
    """Estimate and z deviations to either side."""
    errors = Errors.of(rows, found.scores, related=related)
    half = z * np.sqrt(np.diag(errors.all))
    ends = zip(found.values - half, found.values + half, strict=True)
    return [
        Interval(name=n, estimate=float(v), low=float(low), high=float(high), parts=errors.parts(unit))
        for n, v, (low, high), unit in zip(found.names, found.values, ends, np.eye(len(half)), strict=True)
    ]


def differences(
    rows: WeightedRows, term: Term, group: str, schema: Schema, *, z: float, related: float
) -> list[Interval]:
    """Of every two groups' means of a term.

    Each mean is a ratio of two noisy sums; the interval of it holds what a test of the ratio does not refuse, and all
    of the column's range where the group's size cannot be told from none. Two of them make one of the difference, with
    the correlation of their errors: where the mean of all is known well, two groups' means err in opposite ways.
    **Source**: Fieller 1954; Zou 2007 (intervals of differences recovered from those of their terms).
    """
    numbers = term.numbers(rows.positions, schema)
    there = np.isfinite(numbers)
    values = schema.columns[group].categories or ()
    inside = [there & (Term(column=group, value=v).numbers(rows.positions, schema) == 1) for v in values]
    scores = np.stack([x for i in inside for x in (np.where(i, numbers, 0.0), i.astype(float))], axis=1)
    errors, ends = Errors.of(rows, scores, related=related), term.ends(schema)
    ratios = [_ratio(rows, scores[:, i : i + 2], errors.all[i : i + 2, i : i + 2], ends, z=z)
              for i in range(0, 2 * len(values), 2)]  # fmt: skip
    return [
        _apart(f"{values[i]} - {values[j]}", (i, j), ratios, errors) for i, j in combinations(range(len(values)), 2)
    ]


@dataclass(frozen=True, kw_only=True)
class _Ratio:
    """A group's mean with its interval; its ``size`` of rows, and whether that can be told from none."""

    middle: float
    low: float
    high: float
    size: float
    clear: bool


def _ratio(rows: WeightedRows, scores: np.ndarray, c: np.ndarray, ends: tuple[float, float], *, z: float) -> _Ratio:
    """Of two sums of covariance ``c``, within ``ends``."""
    upper, lower = (float(x) for x in rows.weights @ scores)
    clear = lower > z * float(c[1, 1]) ** 0.5
    own = rows.start @ scores
    middle = upper / lower if clear else float(own[0] / own[1]) if own[1] > 0 else sum(ends) / 2
    middle, low, high = float(np.clip(middle, *ends)), *ends
    if clear:
        square, linear = lower**2 - z**2 * c[1, 1], upper * lower - z**2 * c[0, 1]
        root = float(max(linear**2 - square * (upper**2 - z**2 * c[0, 0]), 0.0)) ** 0.5
        low, high = (float(np.clip((linear + s * root) / square, *ends)) for s in (-1, 1))
    return _Ratio(middle=middle, low=min(low, middle), high=max(high, middle), size=max(lower, float(own[1]), 1.0),
                  clear=clear)  # fmt: skip


def _apart(name: str, at: tuple[int, int], ratios: Sequence[_Ratio], errors: Errors) -> Interval:
    """Of two of the ratios."""
    a, b = (ratios[i] for i in at)
    units = np.zeros((2, 2 * len(ratios)))
    for unit, i in zip(units, at, strict=True):
        unit[2 * i : 2 * i + 2] = np.array([1.0, -ratios[i].middle]) / ratios[i].size
    spread = units @ errors.all @ units.T
    both = a.clear and b.clear
    shared = float(np.clip(spread[0, 1] / max((spread[0, 0] * spread[1, 1]) ** 0.5, 1e-300), -1, 1)) if both else 0.0
    middle = a.middle - b.middle
    low = middle - _joined(a.middle - a.low, b.high - b.middle, shared)
    high = middle + _joined(a.high - a.middle, b.middle - b.low, shared)
    return Interval(name=name, estimate=middle, low=low, high=high, bounded=both,
                    parts=errors.parts(units[0] - units[1]))  # fmt: skip


def _joined(one: float, other: float, shared: float) -> float:
    return float(max(one**2 - 2 * shared * one * other + other**2, 0.0) ** 0.5)


def quantile(rows: WeightedRows, column: str, level: float, schema: Schema, *, z: float, related: float) -> Interval:
    """What a test of the share below a value does not refuse; each value is spread evenly over its unit.

    **Source**: Woodruff 1952.
    """
    known, places = schema.columns[column], rows.positions[column]
    edges = _edges(places, known.size)
    there = places < known.size
    below = ((places[:, None] < edges) & there[:, None]).astype(float)
    share = rows.weights @ below / max(float(rows.weights @ there), 1.0)
    scores = np.where(there[:, None], below - share, 0.0) / max(float(rows.start @ there), 1.0)
    errors = Errors.of(rows, scores, related=related)
    half = z * np.sqrt(np.maximum(np.diag(errors.all), 0.0))
    values = float(known.bounds[0]) + float(known.step) * (np.concatenate([[0], edges, [known.size]]) - 0.5)
    low, high = _crossed(values, share + half, level), _crossed(values, share - half, level, last=True)
    middle = (_crossed(values, share, level) + _crossed(values, share, level, last=True)) / 2
    near = np.eye(len(edges))[np.abs(share - level).argmin()]
    slope = (high - low) / max(2 * float(near @ half), 1e-12)
    parts = {n: v * slope for n, v in errors.parts(near).items()}
    return Interval(name=column, estimate=float(np.clip(middle, low, high)), low=low, high=high, parts=parts)


def _edges(places: np.ndarray, size: int) -> np.ndarray:
    """Positions at which to cut: all, or as many of those drawn as ``MOST_EDGES``."""
    if size <= MOST_EDGES:
        return np.arange(1, size)
    drawn = np.unique(places[places < size])
    return np.unique(drawn[np.linspace(0, len(drawn) - 1, MOST_EDGES).astype(int)])


def _crossed(values: np.ndarray, share: np.ndarray, level: float, *, last: bool = False) -> float:
    """Where a noisy distribution function first reaches the level, or last leaves it, straight between the cuts."""
    curve = np.concatenate([[0.0], share, [1.0]])
    curve = np.minimum.accumulate(curve[::-1])[::-1] if last else np.maximum.accumulate(curve)
    at = int(np.clip(np.searchsorted(curve, level, side="right" if last else "left"), 1, len(curve) - 1))
    rise = curve[at] - curve[at - 1]
    way = (level - curve[at - 1]) / rise if rise > 0 else 0.5
    return float(values[at - 1] + (values[at] - values[at - 1]) * np.clip(way, 0.0, 1.0))
