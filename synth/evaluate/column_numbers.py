"""A column's numbers in both tables: missing shares, means, spreads and quantiles. For the steward alone."""

from dataclasses import dataclass, field
from math import pi, sqrt

import numpy as np

from synth.evaluate.rating import DISTANCES, MEANS, NOT, percent, rate
from synth.evaluate.read_sample import values
from synth.schema.grouping import Groups
from synth.schema.table import Column

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
THIN = 0.20  # a second sample's distance, above which filled cells are too few to be compared by themselves
QUANTILES_IN_WORDS = (
    "5 % are below",
    "a quarter is below",
    "half is below",
    "three quarters are below",
    "95 % are below",
)
Pair = tuple[float, float]  # of the real and of the synthetic table


@dataclass(frozen=True, kw_only=True)
class ColumnNumbers:
    """One column in both tables, the real one first.

    ``missing``: share of empty cells; the rest is of the cells that are not. ``distance``: of their shares, None where
    they are too few; ``by_chance``: what a second real sample would show. ``mean``, ``spread`` (standard deviation) and
    ``quantiles`` (of ``QUANTILES``): of numbers and of dates (days since 1970), None for categories.
    """

    column: str
    filled: tuple[int, int] = field(repr=False)
    missing: Pair = field(repr=False)
    distance: float | None = field(repr=False)
    by_chance: float = field(repr=False)
    mean: Pair | None = field(repr=False, default=None)
    spread: Pair | None = field(repr=False, default=None)
    quantiles: tuple[Pair, ...] = field(repr=False, default=())

    @property
    def score(self) -> float | None:
        """Share of filled cells in the wrong place, or by how much the share of empty cells is off if that is more."""
        return None if self.distance is None else max(self.distance, abs(self.missing[0] - self.missing[1]))

    @property
    def mean_off(self) -> float | None:
        """How far the mean is off, in standard deviations of the real values."""
        if self.mean is None or self.spread is None or not self.spread[0]:
            return None
        return abs(self.mean[1] - self.mean[0]) / self.spread[0]

    @property
    def unserved(self) -> str:
        """Why no use of the column by itself is served, in words; empty where one is."""
        least = min(self.filled)
        if self.distance is not None and rate(DISTANCES["columns"], self.distance, second=self.by_chance)[0] == NOT:
            return f"{percent(self.distance)} of its filled cells in the wrong place"
        if rate(DISTANCES["columns"], abs(self.missing[0] - self.missing[1]))[0] == NOT:
            return f"{percent(self.missing[1])} empty for {percent(self.missing[0])}"
        if self.mean_off is not None and self.mean and least:
            chance = sqrt(sum(1 / n for n in self.filled)) * sqrt(2 / pi)
            if rate(MEANS, self.mean_off, second=chance)[0] == NOT:
                return f"its mean is {self.mean[1]:,.4g} for {self.mean[0]:,.4g}"
        return ""


def lines(result: ColumnNumbers | None, *, date: bool = False) -> list[tuple[str, ...]]:
    """What a table beside the pictures shows: missing shares, mean, spread and quantiles, real and synthetic.

    ``result``: the column's numbers; without them no line. ``date``: whether they are days since 1970.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    if result is None:
        return []
    out: list[tuple[str, ...]] = (
        [("empty", percent(result.missing[0]), percent(result.missing[1]))] if any(result.missing) else []
    )
    if result.mean is not None and result.spread is not None:
        named = [("mean", result.mean), *zip(QUANTILES_IN_WORDS, result.quantiles, strict=True)]
        out += [(name, *(_day(v) if date else f"{v:,.5g}" for v in pair)) for name, pair in named]
        unit = " days" if date else ""
        out.insert(-len(QUANTILES), ("spread", *(f"{v:,.4g}{unit}" for v in result.spread)))
    return out


def _day(value: float) -> str:
    return str(np.datetime64(int(value), "D"))


def numbers(name: str, column: Column, groups: Groups, real: np.ndarray, synthetic: np.ndarray) -> ColumnNumbers:
    """A column's numbers from its positions (rows,) in both tables. ``groups``: in which shares are compared.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    retained = [p[p < column.size] for p in (real, synthetic)]
    filled = len(retained[0]), len(retained[1])
    missing = tuple(1 - f / max(len(p), 1) for f, p in zip(filled, (real, synthetic), strict=True))
    distance, chance = apart(*(np.bincount(groups.take(k), minlength=len(groups.labels)) for k in retained))
    reported = [values(column, k) for k in retained] if column.is_numeric and min(filled) else None
    return ColumnNumbers(
        column=name,
        filled=filled,
        missing=(missing[0], missing[1]),
        distance=None if chance > THIN else distance,
        by_chance=chance,
        mean=None if reported is None else (float(reported[0].mean()), float(reported[1].mean())),
        spread=None if reported is None else (float(reported[0].std()), float(reported[1].std())),
        quantiles=()
        if reported is None
        else tuple((float(a), float(b)) for a, b in zip(*(np.quantile(t, QUANTILES) for t in reported), strict=True)),
    )


def apart(real: np.ndarray, synthetic: np.ndarray) -> Pair:
    """Total variation of two tables of counts of one shape, and what a second sample would show; 1 if one is empty.

    The mean absolute difference of two independent draws' shares, cell by cell, normal approximation.

    >>> apart(np.array([50, 50]), np.array([60, 40]))[0]
    0.1
    """
    sizes = [int(c.sum()) for c in (real, synthetic)]
    if not all(sizes):
        return (0.0, 0.0) if not any(sizes) else (1.0, 1.0)
    p, q = real / sizes[0], synthetic / sizes[1]
    chance = 0.5 * sqrt(2 / pi * sum(1 / n for n in sizes)) * float(np.sqrt(p * (1 - p)).sum())
    return round(float(0.5 * np.abs(p - q).sum()), 12), min(1.0, chance)
