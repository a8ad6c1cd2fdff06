"""Estimated one-way counts: what noisy counts, level after level, say of a column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals.denoise import project, shrink
from synth.generators.marginals.density import Counted, Density, fit
from synth.generators.marginals.prior_variance import Known, variances
from synth.questions import Counts, CountsRelease, Marginal, PublicCounts
from synth.schema.table import Column

PURPOSE = "one-way"
CUT = "one-way, level"
AGAIN = "one-way, again"
CALENDAR = "one-way, calendar"
STANDS_OUT = 4.0  # deviations above the median part
HEAPING = "one-way, round numbers"
LEAVES = "prior, single columns"  # of a public table's counts
ROUNDS = 3  # in which rows that are too many or too few are shared among leaves that are not empty
SPREAD = 1.0  # rows of a public column that are spread evenly over its cells


@dataclass(frozen=True, kw_only=True, eq=False)
class Histogram:
    """Estimated counts of one column: leaf i holds positions from ``starts[i]`` on and ``mass[i]`` >= 0 rows.

    ``sigma``: deviation of a leaf's mass, about. ``counts`` (L,): as counted, where every position was counted by
    itself. ``counted``: of a number what was counted of every leaf. ``density``: how its rows lie inside leaves.
    ``calendar``: of dates, counts by weekday and by month.
    ``heaping``: of wide ranges of whole numbers, by how round they are.
    """

    column: str
    cells: int
    starts: np.ndarray
    mass: np.ndarray
    sigma: float
    counts: np.ndarray | None = None
    counted: Counted | None = None
    density: Density | None = None
    calendar: tuple[tuple[Marginal, np.ndarray], ...] = ()
    heaping: tuple[tuple[Marginal, np.ndarray], ...] = ()

    @property
    def widths(self) -> np.ndarray:
        """Positions in each leaf, (L,)."""
        return np.diff(np.append(self.starts, self.cells))


def cut_purpose(level: int) -> str:
    """Purpose of the question that asks a tree's level: 2 for the parts of its first cells."""
    return f"{CUT} {level}"


def estimate(releases: Sequence[CountsRelease], setting: Setting) -> tuple[float, dict[str, Histogram]]:
    """Row count, at least 1, and every column's histogram, from the one-way releases alone."""
    total, alone = leaves(releases, setting)
    result = {n: smoothed(h, setting.schema.columns[n], total) for n, h in alone.items()}
    return total, with_columns(result, [r for r in releases if isinstance(r, PublicCounts)], total)


def leaves(releases: Sequence[CountsRelease], setting: Setting) -> tuple[float, dict[str, Histogram]]:
    """As ``estimate``, each leaf by itself."""
    total = _total([r for r in releases if r.question.purpose in (PURPOSE, AGAIN)], setting)
    result = {n: _blank(n, c, total) for n, c in setting.schema.measured().items()}
    flat: dict[str, tuple[Marginal, np.ndarray]] = {}
    for release in (r for r in releases if isinstance(r, CountsRelease)):
        for marginal, values in zip(release.question.marginals, release.values, strict=True):
            name = marginal.columns[0]
            counts = values.astype(float).reshape(-1)
            if release.question.purpose == PURPOSE:
                flat[name] = marginal, counts
                result[name] = _first(marginal, counts, total, setting.schema.columns[name])
            elif release.question.purpose.startswith(CUT):
                result[name] = _refine(result[name], marginal, counts, level=_level(release.question))
            elif release.question.purpose == AGAIN:
                if np.array_equal(flat[name][0].bins[0].starts, marginal.bins[0].starts):
                    flat[name] = _pooled(*flat[name], marginal, counts)
                    result[name] = _first(*flat[name], total, setting.schema.columns[name])
                else:
                    result[name] = _average(result[name], marginal, counts, total)
            elif release.question.purpose == CALENDAR:
                result[name] = replace(result[name], calendar=(*result[name].calendar, (marginal, counts)))
            elif release.question.purpose == HEAPING:
                result[name] = replace(result[name], heaping=((marginal, counts),))
    return total, result


def smoothed(histogram: Histogram, column: Column, total: float) -> Histogram:
    """Of a number, leaves of few rows as the curve through all of them has them, and that curve."""
    if not column.is_numeric or histogram.counted is None:
        return histogram
    values = histogram.starts < column.size
    counted = histogram.counted
    first = int(counted.block[values].max()) + 1
    made = fit(
        histogram.starts[values],
        column.size,
        Counted(
            rows=counted.rows[values],
            noise=counted.noise[values],
            block=counted.block[values],
            whole=counted.whole[:first],
        ),
        histogram.mass[values],
    )
    if made is None:
        return histogram
    density, rows, variance = made
    mass = np.append(rows, counted.rows[~values])
    spare = np.append(variance, counted.noise[~values] ** 2)
    for _ in range(ROUNDS):
        mass = np.maximum(mass, 0.0)
        own = np.where(mass > 0, spare, 0.0)
        mass += (total - mass.sum()) * own / max(own.sum(), 1e-9)
    mass = np.maximum(mass, 0.0)
    return replace(histogram, mass=mass * (total / max(mass.sum(), 1e-9)), counts=None, density=density)


def _level(question: Counts) -> int:
    return int(question.purpose.removeprefix(CUT))


def _total(whole: Sequence[CountsRelease], setting: Setting) -> float:
    """The row count: public, or the precision-weighted mean of the noisy sums of all counts of whole columns."""
    if setting.public_rows is not None:
        return max(float(setting.public_rows), 1.0)
    answers = [(m, v) for r in whole for m, v in zip(r.question.marginals, r.values, strict=True)]
    sums = np.array([float(v.sum()) for _, v in answers])
    precision = np.array([1 / (m.cells * m.sigma**2) for m, _ in answers])
    return max(float(sums @ precision / precision.sum()), 1.0)


def _blank(name: str, column: Column, total: float) -> Histogram:
    """What is known of a column before anything is asked."""
    start = np.zeros(1, dtype=np.int64)
    return Histogram(column=name, cells=column.cells, starts=start, mass=np.array([total]), sigma=1.0)


def _first(marginal: Marginal, counts: np.ndarray, total: float, column: Column) -> Histogram:
    """Flat counts, or the first level of a tree."""
    bins = marginal.bins[0]
    # Only categories: a prior that knows no order would blur a distribution over numbers.
    numeric = column.is_numeric
    mass = project(counts, total=total) if numeric else shrink(counts, total=total, sigma=marginal.sigma)
    noise = np.full(len(counts), marginal.sigma)
    return Histogram(
        column=bins.column,
        cells=bins.cells,
        starts=bins.starts,
        mass=mass,
        sigma=marginal.sigma,
        counts=counts,
        counted=Counted(rows=counts, noise=noise, block=np.arange(len(counts)), whole=noise),
    )


def _pooled(one: Marginal, a: np.ndarray, two: Marginal, b: np.ndarray) -> tuple[Marginal, np.ndarray]:
    """Two counts of the same bins as one, averaged by precision before anything is made of them."""
    weight = one.sigma**2 / (one.sigma**2 + two.sigma**2)
    return replace(one, sigma=two.sigma * weight**0.5), a + weight * (b - a)


def _average(histogram: Histogram, marginal: Marginal, counts: np.ndarray, total: float) -> Histogram:
    """The leaves' masses averaged, by precision, with a second count of them."""
    weight = histogram.sigma**2 / (histogram.sigma**2 + marginal.sigma**2)
    mass = project(histogram.mass + weight * (counts - histogram.mass), total=total)
    counted = None if histogram.counted is None else histogram.counted.averaged(counts, marginal.sigma)
    return replace(histogram, mass=mass, counts=None, sigma=marginal.sigma * weight**0.5, counted=counted)


def _refine(histogram: Histogram, marginal: Marginal, values: np.ndarray, *, level: int) -> Histogram:
    """Leaves that were cut are replaced by their parts or, at deeper levels, by the spikes among them."""
    bins = marginal.bins[0]
    at = np.flatnonzero(bins.groups >= 0)
    starts, counts = bins.starts[at], values[bins.groups[at]]
    whole = np.searchsorted(histogram.starts, starts, side="right") - 1
    edges = np.flatnonzero(np.append(True, whole[1:] != whole[:-1]))
    retained = np.setdiff1d(np.arange(len(histogram.starts)), whole)
    was = histogram.counted
    assert was is not None
    whole_noise = was.whole.copy()
    pieces = [(histogram.starts[retained], histogram.mass[retained], was.rows[retained], was.noise[retained])]
    height = marginal.sigma * (0.5 + np.sqrt(2 * np.log(len(starts) + 8.0)))
    for i, j in zip(edges, np.append(edges[1:], len(whole)), strict=True):
        leaf = whole[i]
        if level == 2:
            mass = _parts(counts[i:j], histogram.mass[leaf], histogram.sigma, marginal.sigma)
            parts, before = (j - i) * marginal.sigma**2, was.noise[leaf] ** 2
            rows = counts[i:j] + parts / (before + parts) * (was.rows[leaf] - counts[i:j].sum()) / (j - i)
            whole_noise[was.block[leaf]] = (parts * before / (parts + before)) ** 0.5
            pieces.append((starts[i:j], mass, rows, np.full(j - i, marginal.sigma)))
        else:
            end = int(histogram.starts[leaf] + histogram.widths[leaf])
            places, mass = _spikes(starts[i:j], counts[i:j], end, histogram.mass[leaf], height)
            part = np.maximum(mass, 0.0) / max(float(np.maximum(mass, 0.0).sum()), 1e-9)
            spikes = np.isin(places, starts[i:j][counts[i:j] > height])
            noise = np.where(spikes, marginal.sigma, was.noise[leaf] * part**0.5)
            pieces.append((places, mass, part * was.rows[leaf], noise))
    leaves, mass, rows, noise = (np.concatenate(x) for x in zip(*pieces, strict=True))
    order = np.argsort(leaves)
    mass = mass[order] * (histogram.mass.sum() / max(mass.sum(), 1e-9))
    block = was.block[np.searchsorted(histogram.starts, leaves[order], side="right") - 1]
    counted = Counted(rows=rows[order], noise=noise[order], block=block, whole=whole_noise)
    return replace(histogram, starts=leaves[order], mass=mass, counts=None, sigma=marginal.sigma, counted=counted)


def _parts(counts: np.ndarray, whole: float, before: float, sigma: float) -> np.ndarray:
    """Masses of parts, reconciled with their whole by generalised least squares, non-negative.

    Parts that stand out stay as counted; the others are drawn towards their mean as far as their spread is noise's.
    **Source**: positive-part estimator of James and Stein 1961.
    """
    weight = before**2 / (before**2 + len(counts) * sigma**2)
    goal = max(whole + weight * (counts.sum() - whole), 0.0)
    low = counts < np.median(counts) + STANDS_OUT * sigma
    away = counts[low] - counts[low].mean()
    retained = max(0.0, 1 - (len(away) - 1) * sigma**2 / max(float(away @ away), 1e-9))
    smooth = counts.astype(float)
    smooth[low] = counts[low].mean() + retained * away
    return project(smooth, total=goal)


def _spikes(
    starts: np.ndarray, counts: np.ndarray, end: int, whole: float, height: float
) -> tuple[np.ndarray, np.ndarray]:
    """Parts above ``height``, which noise hardly reaches, as leaves; the rest of ``whole`` even between."""
    high = counts > height
    heights = counts[high] * min(1.0, whole / max(counts[high].sum(), 1e-9))
    ends = np.append(starts[1:], end)
    leaves = np.unique(np.concatenate([starts[:1], starts[high], ends[high]]))
    leaves = leaves[leaves < end]
    width = np.diff(np.append(leaves, end)).astype(float)
    rest = ~np.isin(leaves, starts[high])
    mass = np.zeros(len(leaves))
    mass[~rest] = heights
    if rest.any():
        mass[rest] = (whole - heights.sum()) * width[rest] / width[rest].sum()
    return leaves, mass


def with_columns(
    histograms: Mapping[str, Histogram], publics: Sequence[PublicCounts], total: float
) -> dict[str, Histogram]:
    """The histograms, each drawn to what public tables say of it as far as the private counts bear them out."""
    out = dict(histograms)
    for public in (p for p in publics if p.question.purpose == LEAVES and p.num_rows > 0):
        said = {
            m.columns[0]: values
            for m, values in zip(public.question.marginals, public.values, strict=True)
            if not set(m.columns) & set(public.missing) and len(out[m.columns[0]].mass) == m.cells > 1
        }
        known = [_beside(out[n], values, total) for n, values in said.items()]
        spread = variances(known, least=total / public.num_rows) if known else []
        for name, (counts, target, noise), variance in zip(said, known, spread, strict=True):
            way = noise / (noise + variance)
            mass = project(counts + way * (target - counts), total=total)
            sigma = out[name].sigma * float(np.mean(1 - way)) ** 0.5
            out[name] = replace(out[name], mass=mass, counts=None, sigma=sigma)
    return out


def _beside(histogram: Histogram, public: np.ndarray, total: float) -> Known:
    """A column's counts, what a public table makes of them, and the variance of their noise."""
    target = (public + SPREAD * histogram.widths / histogram.cells) / (public.sum() + SPREAD) * total
    return histogram.mass if histogram.counts is None else histogram.counts, target, histogram.sigma**2
