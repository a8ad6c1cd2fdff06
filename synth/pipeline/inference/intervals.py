"""Intervals for what weighted rows say: the noise, the rows' own chance, and what no table told, together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synth.pipeline.inference.asked import ColumnTerm
from synth.pipeline.inference.estimands import Estimated
from synth.pipeline.inference.weighted_rows import ROWS, WeightedRows
from synth.schema.table import Schema


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its interval; the deviations of its three errors.

    ``bounded``: whether it excludes anything that is possible; ``identified``: whether the release determines it.
    """

    name: str
    estimate: float
    low: float
    high: float
    parts: Mapping[str, float]
    bounded: bool = True
    identified: bool = True


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
        return cls(
            noise=moves.T @ moves,
            sampling=scores.T @ (weighted * scores),
            unmeasured=freely * (left.T @ (weighted * left)),
        )

    @property
    def all(self) -> np.ndarray:
        """Their sum."""
        return self.noise + self.sampling + self.unmeasured

    def parts(self, direction: np.ndarray) -> dict[str, float]:
        """Deviations of a combination (k,) of the sums."""
        named = {"noise": self.noise, "sampling": self.sampling, "unmeasured": self.unmeasured}
        return {n: float(max(direction @ c @ direction, 0.0) ** 0.5) for n, c in named.items()}


def coefficients(rows: WeightedRows, estimated: Estimated, *, z: float, related: float) -> list[Interval]:
    """Estimate and z deviations to either side; neither for those that the release does not identify."""
    errors = Errors.of(rows, estimated.scores, related=related)
    half = z * np.sqrt(np.maximum(np.diag(errors.all), 0.0))
    identified = is_informed(rows, estimated.there, z=z, related=related) & (half < estimated.limits)
    identified[0] = identified.all()  # the constant is the outcome where all columns are zero
    out = []
    for name, value, h, known, unit in zip(
        estimated.names, estimated.values, half, identified, np.eye(len(half)), strict=True
    ):
        if known:
            out.append(
                Interval(
                    name=name,
                    estimate=float(value),
                    low=float(value - h),
                    high=float(value + h),
                    parts=errors.parts(unit),
                )
            )
        else:
            out.append(
                Interval(
                    name=name,
                    estimate=np.nan,
                    low=-np.inf,
                    high=np.inf,
                    identified=False,
                    parts=dict.fromkeys(errors.parts(unit), np.inf),
                )
            )
    return out


def means(
    rows: WeightedRows, terms: Mapping[str, ColumnTerm], schema: Schema, *, z: float, related: float
) -> list[Interval]:
    """Of each term over the rows in which it is not missing; see ``_ratio``."""
    out = []
    for name, term in terms.items():
        numbers = term.numbers(rows.positions, schema)
        there = np.isfinite(numbers)
        scores = np.stack([np.where(there, numbers, 0.0), there], axis=1) * rows.survey[:, None]
        errors = Errors.of(rows, scores, related=related)
        ends = term.ends(schema)
        result = _ratio(rows, scores, errors.all, ends, z=z)
        parts = errors.parts(np.array([1.0, -result.middle]) / result.size)
        out.append(
            Interval(
                name=name,
                estimate=result.middle,
                low=result.low,
                high=result.high,
                parts=parts,
                bounded=result.low > ends[0] or result.high < ends[1],
            )
        )
    return out


def is_informed(rows: WeightedRows, there: np.ndarray, *, z: float, related: float) -> bool:
    """Whether the number of these rows can be told from none."""
    scores = (there * rows.survey)[:, None]
    return float((rows.weights @ scores)[0]) > z * float(Errors.of(rows, scores, related=related).all[0, 0]) ** 0.5


def differences(
    rows: WeightedRows, term: ColumnTerm, group: str, schema: Schema, *, z: float, related: float
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
    inside = [there & (ColumnTerm(column=group, value=v).numbers(rows.positions, schema) == 1) for v in values]
    scores = np.stack([x for i in inside for x in (np.where(i, numbers, 0.0), i)], axis=1) * rows.survey[:, None]
    errors, ends = Errors.of(rows, scores, related=related), term.ends(schema)
    ratios = [
        _ratio(rows, scores[:, i : i + 2], errors.all[i : i + 2, i : i + 2], ends, z=z)
        for i in range(0, 2 * len(values), 2)
    ]
    return [
        _apart(f"{values[i]} - {values[j]}", (i, j), ratios, errors, most=ends[1] - ends[0])
        for i, j in combinations(range(len(values)), 2)
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
    return _Ratio(
        middle=middle, low=min(low, middle), high=max(high, middle), size=max(lower, float(own[1]), 1.0), clear=clear
    )


def _apart(name: str, at: tuple[int, int], ratios: Sequence[_Ratio], errors: Errors, *, most: float) -> Interval:
    """Of two of the ratios, at ``most`` so far apart."""
    a, b = (ratios[i] for i in at)
    units = np.zeros((2, 2 * len(ratios)))
    for unit, i in zip(units, at, strict=True):
        unit[2 * i : 2 * i + 2] = np.array([1.0, -ratios[i].middle]) / ratios[i].size
    spread = units @ errors.all @ units.T
    both, shared = a.clear and b.clear, -1.0  # all that is possible, where nothing is known of one of them
    if both:
        shared = float(np.clip(spread[0, 1] / max((spread[0, 0] * spread[1, 1]) ** 0.5, 1e-300), -1, 1))
    middle = a.middle - b.middle
    low = max(middle - _joined(a.middle - a.low, b.high - b.middle, shared), -most)
    high = min(middle + _joined(a.high - a.middle, b.middle - b.low, shared), most)
    return Interval(
        name=name,
        estimate=middle,
        low=low,
        high=high,
        bounded=both and (low > -most or high < most),
        parts=errors.parts(units[0] - units[1]),
    )


def _joined(one: float, other: float, shared: float) -> float:
    return float(max(one**2 - 2 * shared * one * other + other**2, 0.0) ** 0.5)
