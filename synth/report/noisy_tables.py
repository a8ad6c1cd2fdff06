"""Noisy tables of counts as releases hold them: what was told of the real table, with the noise it was told with."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import pi, sqrt
from typing import Any

import numpy as np

from synth.evaluate.verdict import DISTANCES, Measured, advice, rate
from synth.generators.core.tables import averaged, tables_of
from synth.languages import _, prose
from synth.lazy import Lazy
from synth.questions import Bins, CountsRelease, SlicesRelease

special = Lazy("scipy.special")

LEVEL = 0.95  # of the intervals
FIT = ("distance", "from_noise", "covered")


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTable:
    """Counts over one or more columns' bins: ``values`` (shape) in rows, each with Gaussian noise of ``sigma`` rows."""

    bins: tuple[Bins, ...]
    values: np.ndarray = field(repr=False)
    sigma: float

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns counted."""
        return tuple(b.column for b in self.bins)

    @property
    def whole(self) -> bool:
        """Whether every row is counted in some cell."""
        return all(int(b.groups.min()) >= 0 for b in self.bins)

    @property
    def deviation(self) -> float:
        """Standard deviation of one cell's error, in rows; a count rounded to whole rows errs a little more."""
        return sqrt(self.sigma**2 + 1 / 12)

    @property
    def half(self) -> float:
        """Half the width of one cell's confidence interval at LEVEL, in rows."""
        return float(special.ndtri(0.5 + LEVEL / 2)) * self.deviation

    def counted(self, positions: Mapping[str, np.ndarray]) -> np.ndarray:
        """The same table of other rows, given as positions: float64 (shape), without noise."""
        flat = np.zeros(len(next(iter(positions.values()))), dtype=np.int64)
        retained = np.ones(len(flat), dtype=bool)
        for b in self.bins:
            code = b.groups[np.searchsorted(b.starts, positions[b.column], side="right") - 1]
            flat, retained = flat * b.size + code, retained & (code >= 0)
        counts = np.bincount(flat[retained], minlength=self.values.size)
        return counts.reshape(self.values.shape).astype(float)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedTable:
    """A released table beside the ``synthetic`` one, scaled to the ``rows`` of the source, and what follows for use."""

    table: NoisyTable
    synthetic: np.ndarray = field(repr=False)
    rows: float

    @property
    def distance(self) -> float:
        """Their total variation."""
        return min(1.0, 0.5 * float(np.abs(self.table.values - self.synthetic).sum()) / self.rows)

    @property
    def from_noise(self) -> float:
        """Its mean if noise were the only difference."""
        return min(1.0, 0.5 * self.table.values.size * self.table.deviation * sqrt(2 / pi) / self.rows)

    @property
    def covered(self) -> float:
        """Share of cells whose interval holds the synthetic count."""
        return float((np.abs(self.table.values - self.synthetic) <= self.table.half).mean())

    def plain(self) -> dict[str, Any]:
        """How near it is, as JSON data."""
        return {**{n: getattr(self, n) for n in FIT}, "sigma": self.table.sigma, "cells": int(self.table.values.size)}

    def counts(self) -> dict[str, Any]:
        """The same with the counts themselves."""
        return {**self.plain(), "released": self.table.values.tolist(), "synthetic": self.synthetic.tolist()}

    @property
    def ends(self) -> tuple[float, float]:
        """Between what the distance from the real table lies: what noise cannot explain, and what it may hide."""
        distance, noise = self.distance, self.from_noise
        return sqrt(max(0.0, distance**2 - noise**2)), max(distance, noise)

    def measured(self, rows: float | None) -> Measured:
        """How far it is off, as verdicts take it; a second sample of so many ``rows`` by the synthetic shares."""
        shares = self.synthetic / max(float(self.synthetic.sum()), 1e-9)
        second = min(1.0, 0.5 * sqrt(4 / pi / (rows or 1.0)) * float(np.sqrt(shares * (1 - shares)).sum()))
        return Measured(value=self.ends[1], second=second, low=self.ends[0])

    def advice(self, name: str, rows: float | None, *, fitted: bool = True) -> str:
        """What the table's figures mean for use, by the rule of every verdict. ``name``: a key of ``DISTANCES``."""
        if not rows:
            return _("not known")
        return prose(advice(rate(DISTANCES[name], **vars(self.measured(rows)), fitted=fitted)))


def tables(releases: Sequence[Any]) -> list[NoisyTable]:
    """All tables of counts that can be read off the releases, one that was asked again as the mean of its answers;
    finer ones of a column come later."""
    asked = averaged(tables_of(r for r in releases if isinstance(r, CountsRelease))).values()
    counts = [NoisyTable(bins=t.marginal.bins, values=1.0 * t.values, sigma=t.marginal.sigma) for t in asked]
    return [*counts, *(t for r in releases for t in _projected(r))]


def _projected(release: Any) -> Iterator[NoisyTable]:
    if isinstance(release, SlicesRelease) and release.question.whole:
        start, sums = 0, release.values.sum(axis=0)
        for block in release.question.encoding.blocks:
            part, start = sums[start : start + block.width], start + block.width
            weight = float(block.table.max(initial=0.0))
            square = block.table.shape[0] == block.width and weight > 0
            if square and np.allclose(block.table, weight * np.eye(block.width)):  # one-hot
                yield NoisyTable(
                    bins=(block.bins,),
                    values=part / weight,
                    sigma=release.question.sigma * sqrt(len(release.values)) / weight,
                )


def total(noisy_tables: Iterable[NoisyTable], public: int | None) -> float | None:
    """The source's number of rows: public, or the most precise mean of the tables' sums; None without tables."""
    if public is not None:
        return float(public)
    whole = [t for t in noisy_tables if t.whole]
    weights = [1 / (t.values.size * t.deviation**2) for t in whole]
    if not whole:
        return None
    mean = sum(w * float(t.values.sum()) for w, t in zip(weights, whole, strict=True)) / sum(weights)
    return max(mean, 1.0)
