"""A column's numbers in both tables: missing shares, means, spreads and quantiles. For the steward alone."""

from dataclasses import dataclass, field
from math import exp, log, pi, sqrt

import numpy as np

from synth.evaluate.distances import apart
from synth.evaluate.read_sample import values
from synth.evaluate.verdict import DISTANCES, NOT, Measured, percent, rate, rate_average
from synth.languages import Said
from synth.schema.grouping import Groups
from synth.schema.table import Column

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.9, 0.99)
LEAST = 1e-9  # ratio of standard deviations; a column that does not vary has none
THIN = 0.20  # a second sample's distance, above which filled cells are too few to be compared by themselves
QUANTILES_IN_WORDS = (
    "5 % are below",
    "a quarter is below",
    "half is below",
    "three quarters are below",
    "90 % are below",
    "99 % are below",
)
Pair = tuple[float, float]  # of the real and of the synthetic table


@dataclass(frozen=True, kw_only=True)
class ColumnNumbers:
    """One column in both tables, the real one first.

    ``date``: whether it is days since 1970. ``missing``: share of empty cells; the rest is of the cells that are not.
    ``distance``: of their shares, None where they are too few; ``by_chance``: what another sample of real rows would
    show. ``mean``, ``spread`` (standard deviation) and ``quantiles`` (of ``QUANTILES``): of numbers and of dates, None
    for categories. ``tail``: kurtosis of the real values, by which another real sample's spread varies."""

    column: str
    date: bool = False
    filled: tuple[int, int] = field(repr=False)
    missing: Pair = field(repr=False)
    distance: float | None = field(repr=False)
    by_chance: float = field(repr=False)
    mean: Pair | None = field(repr=False, default=None)
    spread: Pair | None = field(repr=False, default=None)
    quantiles: tuple[Pair, ...] = field(repr=False, default=())
    tail: float = field(repr=False, default=3.0)

    @property
    def score(self) -> float | None:
        """Share of filled cells that would have to change, or by how much that of empty cells is off if that is
        more."""
        return None if self.distance is None else max(self.distance, abs(self.missing[0] - self.missing[1]))

    @property
    def mean_off(self) -> float | None:
        """How far the mean is off, in standard deviations of the real values."""
        if self.mean is None or self.spread is None or not self.spread[0]:
            return None
        return abs(self.mean[1] - self.mean[0]) / self.spread[0]

    @property
    def spread_ratio(self) -> float | None:
        """The synthetic standard deviation over the real one."""
        return None if self.spread is None or not self.spread[0] else self.spread[1] / self.spread[0]

    @property
    def spread_factor(self) -> float | None:
        """The larger standard deviation over the smaller one."""
        return None if self.spread_ratio is None else exp(abs(log(max(self.spread_ratio, LEAST))))

    def quantile_off(self, share: float) -> float | None:
        """How far the value below which a ``share`` of the rows lie is off, in standard deviations of the real ones."""
        if not self.quantiles or self.spread is None or not self.spread[0]:
            return None
        real, synthetic = self.quantiles[QUANTILES.index(share)]
        return abs(synthetic - real) / self.spread[0]

    @property
    def by_chance_mean(self) -> float:
        """How far another real sample's mean would be off, in standard deviations."""
        return sqrt(2 / pi * sum(1 / n for n in self.filled if n))

    @property
    def average(self) -> tuple[str, str, str] | None:
        """The level of its mean and spread, what decided, and both in words; None where it has none."""
        if self.mean_off is None or self.mean is None or self.spread_ratio is None:
            return None
        apart = abs(log(max(self.spread_ratio, LEAST)))
        second = self.by_chance_mean * sqrt(max(self.tail - 1, 0) / 4)
        mean = Measured(value=self.mean_off, second=self.by_chance_mean)
        level, why = rate_average(mean, Measured(value=apart, second=second))
        about = Said("its mean is {}, its spread {:.2f} times", versus(self.mean, self.date), self.spread_ratio)
        return level, why, about

    @property
    def unserved(self) -> str:
        """Why no use of the column's shares is served, in words; empty where one is."""
        if self.distance is not None and rate(DISTANCES["columns"], self.distance, second=self.by_chance)[0] == NOT:
            return Said("{} of its filled cells would have to change", percent(self.distance))
        if rate(DISTANCES["columns"], abs(self.missing[0] - self.missing[1]))[0] == NOT:
            return Said("{} empty for {}", percent(self.missing[1]), percent(self.missing[0]))
        return ""


def lines(result: ColumnNumbers | None) -> list[tuple[str, ...]]:
    """What a table beside the pictures shows: missing shares, mean, spread and quantiles, real and synthetic.

    ``result``: the column's numbers; without them no line.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    if result is None:
        return []
    out: list[tuple[str, ...]] = (
        [("empty", percent(result.missing[0]), percent(result.missing[1]))] if any(result.missing) else []
    )
    if result.mean is not None and result.spread is not None:
        named = [("mean", result.mean), *zip(QUANTILES_IN_WORDS, result.quantiles, strict=True)]
        out += [(name, *(_day(v) if result.date else f"{v:,.5g}" for v in pair)) for name, pair in named]
        unit = " days" if result.date else ""
        out.insert(-len(QUANTILES), ("spread", *(f"{v:,.4g}{unit}" for v in result.spread)))
    return out


def versus(both: Pair, date: bool) -> str:
    """A synthetic figure for a real one, in words.

    >>> versus((45800.4, 52300.2), False), versus((0.5, 1.25), False)
    ('52,300 in place of 45,800', '1.25 in place of 0.5')
    """
    real, synthetic = (_day(v) if date else Said("{:,.0f}" if abs(v) >= 1000 else "{:.4g}", v) for v in both)
    return Said("{} in place of {}", synthetic, real)


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
    reported, tail = [values(column, k) for k in retained] if column.is_numeric and min(filled) else None, 3.0
    if reported is not None and (off := (reported[0] - reported[0].mean()) ** 2).any():
        tail = float((off**2).mean() / max(float(off.mean()) ** 2, 1e-300))  # kurtosis
    return ColumnNumbers(
        column=name,
        date=column.type == "datetime",
        filled=filled,
        missing=(missing[0], missing[1]),
        distance=None if chance > THIN else distance,
        by_chance=chance,
        mean=None if reported is None else (float(reported[0].mean()), float(reported[1].mean())),
        spread=None if reported is None else (float(reported[0].std()), float(reported[1].std())),
        quantiles=()
        if reported is None
        else tuple((float(a), float(b)) for a, b in zip(*(np.quantile(t, QUANTILES) for t in reported), strict=True)),
        tail=tail,
    )
