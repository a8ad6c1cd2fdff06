"""Noisy tables of counts as releases hold them: what was told of the real table, with the noise it was told with."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import pi, sqrt
from typing import Any

import numpy as np

from synth.lazy import Lazy
from synth.questions import Bins, CountsRelease, SlicesRelease
from synth.questions.features import Block

special = Lazy("scipy.special")

LEVEL = 0.95  # of the intervals


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


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """A released table beside the synthetic one, all in rows of the source.

    ``distance``: total variation; ``from_noise``: its mean if noise were the only difference; ``covered``: share of
    cells whose interval holds the synthetic count.
    """

    distance: float
    from_noise: float
    covered: float


def tables(releases: Sequence[Any]) -> list[NoisyTable]:
    """All tables of counts that can be read off the releases; finer ones of a column come later."""
    return [t for r in releases for t in _of(r)]


def _of(release: Any) -> Iterator[NoisyTable]:
    if isinstance(release, CountsRelease):
        for marginal, value in zip(release.question.marginals, release.values, strict=True):
            yield NoisyTable(bins=marginal.bins, values=value.astype(float), sigma=marginal.sigma)
    elif isinstance(release, SlicesRelease) and release.question.whole:
        start, sums = 0, release.values.sum(axis=0)
        for block in release.question.encoding.blocks:
            part, start = sums[start : start + block.width], start + block.width
            weight = _height(block)
            if weight is not None:
                yield NoisyTable(
                    bins=(block.bins,),
                    values=part / weight,
                    sigma=release.question.sigma * sqrt(len(release.values)) / weight,
                )


def _height(block: Block) -> float | None:
    """The height of a one-hot block, None for any other block."""
    weight = float(block.table.max(initial=0.0))
    one_hot = block.table.shape[0] == block.width and weight > 0
    return weight if one_hot and np.allclose(block.table, weight * np.eye(block.width)) else None


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


def agreement(table: NoisyTable, synthetic: np.ndarray, *, rows: float) -> Agreement:
    """How a released table and the synthetic one (scaled to the source's ``rows``) agree."""
    gap = np.abs(table.values - synthetic)
    return Agreement(
        distance=min(1.0, 0.5 * float(gap.sum()) / rows),
        from_noise=min(1.0, 0.5 * table.values.size * table.deviation * sqrt(2 / pi) / rows),
        covered=float((gap <= table.half).mean()),
    )
