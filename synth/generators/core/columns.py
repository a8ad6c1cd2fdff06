"""Single columns: estimated counts of their values, by what noisy counts, level after level, say of them.

Privacy: released answers only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from synth.generators.base import Setting
from synth.generators.core.density import Counted, Density, fit_density
from synth.generators.core.prior_variance import variances
from synth.questions import Bins, CountsRelease, Marginal, PublicCounts
from synth.questions.tables import MarginalsRelease
from synth.schema.table import Column

Answer = tuple[Marginal, np.ndarray]


def merge(mass: np.ndarray, *, least: float) -> np.ndarray:
    """Bin of each leaf, (L,) int64: heavy leaves alone, light ones joined with the next light ones.

    Light leaves are gathered in the given order, over the heavy ones between them, into bins as equal as the leaves
    allow, as many as could weigh ``least`` each.

    >>> merge(np.array([1.0, 1.0, 9.0, 1.0, 1.0, 0.5]), least=2).tolist()
    [0, 0, 1, 2, 2, 2]
    >>> merge(np.array([1.0, 0.0, 2.0]), least=0).tolist()
    [0, 1, 2]
    """
    heavy = mass >= least
    light = np.where(heavy, 0.0, mass)
    whole = light.sum()
    bins = max(int(whole / least), 1) if whole > 0 else 1
    middle = np.cumsum(light) - light / 2
    owner = np.minimum((middle * (bins / max(whole, 1e-300))).astype(np.int64), bins - 1)
    owner[heavy] = bins + np.arange(heavy.sum())
    return _in_order(owner)


def _in_order(labels: np.ndarray) -> np.ndarray:
    """Labels renumbered 0.. by first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def merge_bins(mass: np.ndarray, groups: np.ndarray, *, least: float) -> np.ndarray:
    """As ``merge``, of bins that are themselves groups of leaves: the result is coarser than ``groups``."""
    return merge(np.bincount(groups, weights=mass), least=least)[groups]


def split(groups: np.ndarray, finer: np.ndarray) -> np.ndarray:
    """The coarsest grouping of leaves (L,) that is finer than both.

    >>> split(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])).tolist()
    [0, 1, 2, 2]
    """
    return _in_order(groups * (int(finer.max()) + 1) + finer)


ENOUGH = 32  # cells from which a prior can be learnt
CLEAR = 6.0  # noise deviations above zero at which a count needs no prior
EM_ROUNDS = 20


def project(counts: np.ndarray, *, total: float) -> np.ndarray:
    """The nearest non-negative counts with the given sum (Euclidean projection on a simplex).

    >>> project(np.array([5.0, 1.0, -2.0]), total=4.0).tolist()
    [4.0, 0.0, 0.0]
    """
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(counts) + 1)
    last = np.flatnonzero(ordered > excess)
    return scaled(np.maximum(counts - (excess[last[-1]] if len(last) else 0.0), 0.0), total)


def scaled(mass: np.ndarray, total: float) -> np.ndarray:
    """Non-negative counts of any shape, brought to the sum; even where all are zero."""
    whole = float(mass.sum())
    return mass * (total / whole) if whole > 0 else np.full(mass.shape, total / mass.size)


def shrink(counts: np.ndarray, *, total: float, sigma: float) -> np.ndarray:
    """Posterior mean counts under a prior learnt from the noisy counts themselves, projected to the sum.

    The prior is a discrete distribution on a fixed grid, fitted by expectation-maximisation; few rounds keep
    it smooth. Rare categories, whose counts are mostly noise, are drawn towards what is common among them;
    counts of ``CLEAR`` deviations and more are left alone. Below ``ENOUGH`` cells no prior can be learnt.
    **Source**: Kiefer and Wolfowitz 1956; Jiang and Zhang, arXiv 0908.1709, section 2.
    """
    if len(counts) < ENOUGH:
        return project(counts, total=total)
    grid = np.arange(0, 2 * CLEAR, 0.25) * sigma
    energy = 0.5 * ((np.minimum(counts, grid[-1])[:, None] - grid) / sigma) ** 2
    like = np.exp(energy.min(1, keepdims=True) - energy)
    prior = np.full(len(grid), 1 / len(grid))
    for _ in range(EM_ROUNDS):
        joint = like * prior
        joint /= joint.sum(1, keepdims=True)
        prior = joint.mean(0)
    return project(np.where(counts > CLEAR * sigma, counts, joint @ grid), total=total)


def nearest(values: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The non-negative table nearest to ``values`` (R, C) whose rows have these ``sums`` (R,).

    What is taken from every cell of a row makes an end of small ones, which are noise: clipped, they would add up.

    >>> nearest(np.array([[9.0, 1.0, -1.0]]), np.array([7.0])).tolist()
    [[7.0, 0.0, 0.0]]
    """
    falling = -np.sort(-values, axis=1)
    excess = (np.cumsum(falling, axis=1) - sums[:, None]) / np.arange(1, values.shape[1] + 1)
    retained = np.maximum((falling > excess).sum(1), 1)
    return np.maximum(values - excess[np.arange(len(values)), retained - 1][:, None], 0.0)


ONEWAY = "one-way"
CUT = "one-way, level"
AGAIN = "one-way, again"
BLOCKS = "one-way, together"
CALENDAR = "one-way, calendar"
STANDS_OUT = 4.0  # deviations above the median part
HEAPING = "one-way, round numbers"
PRIOR_LEAVES = "prior, single columns"  # of a public table's counts
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

    def bins(self, groups: np.ndarray, name: str = "") -> Bins:
        """A grouping (L,) of the leaves, as a question names it."""
        return Bins(column=name or self.column, cells=self.cells, starts=self.starts, groups=groups)


@dataclass(frozen=True, kw_only=True, eq=False)
class OneWays:
    """What noisy answers say of single columns: ``total`` rows, at least 1, and a histogram of each.

    Privacy: released answers only.
    """

    total: float
    histograms: Mapping[str, Histogram]
    setting: Any  # Setting; None where no run is told of

    @property
    def varying(self) -> list[str]:
        """The columns that are seen to have more than one value."""
        return [n for n, h in self.histograms.items() if h.cells > 1 and len(h.mass) > 1]

    def is_number(self, name: str) -> bool:
        """Whether neighbouring bins are neighbouring quantities."""
        return self.setting.schema.columns[name].is_numeric

    def grouping(self, name: str, groups: np.ndarray) -> Bins:
        """A grouping (L,) of a column's leaves, as a question names it."""
        return self.histograms[name].bins(groups)

    def margin(self, bins: Bins) -> np.ndarray:
        """Rows in each bin, ``total`` in all."""
        mass = np.bincount(bins.groups, weights=self.histograms[bins.column].mass, minlength=bins.size)
        return scaled(mass, self.total)

    def alone(self, marginal: Marginal) -> np.ndarray:
        """The table of independent columns, in rows."""
        table = np.array(self.total)
        for bins in marginal.bins:
            table = np.multiply.outer(table, self.margin(bins) / self.total)
        return table

    def sharpened(self, answers: Sequence[Answer]) -> "OneWays":
        """With what tables of more columns say of each; see ``sharpen``."""
        return replace(self, histograms=sharpen(self.histograms, answers, self.total))


def answers_of(releases: Iterable[MarginalsRelease]) -> list[Answer]:
    """All tables of these answers."""
    return [a for r in releases for a in r.items()]


def cut_purpose(level: int) -> str:
    """Purpose of the question that asks a tree's level: 2 for the parts of its first cells."""
    return f"{CUT} {level}"


def estimate_columns(releases: Sequence[Any], setting: Setting) -> OneWays:
    """Every column, from the one-way releases alone."""
    columns = count_leaves(releases, setting)
    made = {n: smoothed(h, setting.schema.columns[n], columns.total) for n, h in columns.histograms.items()}
    return with_public(replace(columns, histograms=made), [r for r in releases if isinstance(r, PublicCounts)])


def count_leaves(releases: Sequence[Any], setting: Setting) -> OneWays:
    """As ``estimate_columns``, each leaf by itself."""
    total = _total([r for r in releases if r.question.purpose in (ONEWAY, AGAIN)], setting)
    start, all_of = np.zeros(1, dtype=np.int64), np.array([total])  # what is known before anything is asked
    result = {
        n: Histogram(column=n, cells=c.cells, starts=start, mass=all_of, sigma=1.0)
        for n, c in setting.schema.measured().items()
    }
    flat: dict[str, tuple[Marginal, np.ndarray]] = {}
    blocks: dict[str, tuple[Marginal, np.ndarray]] = {}
    for release in (r for r in releases if isinstance(r, CountsRelease)):
        for marginal, values in release.items():
            name = marginal.columns[0]
            counts = values.astype(float).reshape(-1)
            if release.question.purpose == ONEWAY:
                flat[name] = marginal, counts
                result[name] = _first(marginal, counts, total, setting.schema.columns[name])
            elif release.question.purpose.startswith(CUT):
                level = int(release.question.purpose.removeprefix(CUT))
                result[name] = _refine(result[name], marginal, counts, level=level)
            elif release.question.purpose == AGAIN:
                if np.array_equal(flat[name][0].bins[0].starts, marginal.bins[0].starts):
                    flat[name] = _pooled(*flat[name], marginal, counts)
                    result[name] = _first(*flat[name], total, setting.schema.columns[name])
                else:
                    result[name] = _average(result[name], marginal, counts, total)
            elif release.question.purpose == BLOCKS:
                blocks[name] = marginal, counts
            elif release.question.purpose == CALENDAR:
                result[name] = replace(result[name], calendar=(*result[name].calendar, (marginal, counts)))
            elif release.question.purpose == HEAPING:
                result[name] = replace(result[name], heaping=((marginal, counts),))
    result |= {n: _together(result[n], *block, total) for n, block in blocks.items()}
    return OneWays(total=total, histograms=result, setting=setting)


def smoothed(histogram: Histogram, column: Column, total: float) -> Histogram:
    """Of a number, leaves of few rows as the curve through all of them has them, and that curve."""
    if not column.is_numeric or histogram.counted is None:
        return histogram
    values = histogram.starts < column.size
    counted = histogram.counted
    first = int(counted.block[values].max()) + 1
    made = fit_density(
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
    return replace(histogram, mass=scaled(mass, total), counts=None, density=density)


def _total(whole: Sequence[CountsRelease], setting: Setting) -> float:
    """The row count: public, or the precision-weighted mean of the noisy sums of all counts of whole columns."""
    if setting.public_rows is not None:
        return max(float(setting.public_rows), 1.0)
    answers = answers_of(whole)
    sums = np.array([float(v.sum()) for _, v in answers])
    precision = np.array([1 / (m.cells * m.sigma**2) for m, _ in answers])
    return max(float(sums @ precision / precision.sum()), 1.0)


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


def _together(histogram: Histogram, marginal: Marginal, counts: np.ndarray, total: float) -> Histogram:
    """Leaves that were counted in blocks too: as many together as both counts say, by precision."""
    was, groups = histogram.counted, marginal.bins[0].groups
    assert was is not None
    inside = groups >= 0
    block, own, width = groups[inside], was.noise[inside] ** 2, histogram.widths[inside]
    rows, variance, wide = (np.bincount(block, weights=w) for w in (was.rows[inside], own, width))
    goal = rows + variance / (variance + marginal.sigma**2) * (counts - rows)
    raw, mass, blocks = was.rows.copy(), histogram.mass.copy(), was.block.copy()
    raw[inside] += ((goal - rows) / variance)[block] * own
    mass[inside] = (np.maximum(goal, 0.0) / wide)[block] * width
    mass = scaled(mass, total)
    blocks[inside] = len(was.whole) + block
    known = np.append(was.whole, np.sqrt(variance * marginal.sigma**2 / (variance + marginal.sigma**2)))
    held, blocks = np.unique(blocks, return_inverse=True)
    counted = replace(was, rows=raw, block=blocks, whole=known[held])
    return replace(histogram, mass=mass, counts=None, counted=counted)


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
    mass = scaled(mass[order], float(histogram.mass.sum()))
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


def with_public(columns: OneWays, publics: Sequence[PublicCounts]) -> OneWays:
    """The columns, each drawn to what public tables say of it as far as the private counts bear them out."""
    out, total = dict(columns.histograms), columns.total
    for public in (p for p in publics if p.question.purpose == PRIOR_LEAVES and p.num_rows > 0):
        said = {
            m.columns[0]: values
            for m, values in public.items()
            if not set(m.columns) & set(public.missing) and len(out[m.columns[0]].mass) == m.cells > 1
        }
        known = []
        for name, values in said.items():  # the counts, what a public table makes of them, their noise's variance
            h = out[name]
            target = (values + SPREAD * h.widths / h.cells) / (values.sum() + SPREAD) * total
            raw = (h.mass, h.sigma**2) if h.counted is None else (h.counted.rows, h.counted.noise**2)
            known.append((raw[0], target, raw[1]))  # not the curve through counts, which errs otherwise than they do
        spread = variances(known, least=total / public.num_rows) if known else []
        for name, (_, target, noise), variance in zip(said, known, spread, strict=True):
            h, way = out[name], noise / (noise + variance)
            counts = h.mass if h.counts is None else h.counts
            mass = project(counts + way * (target - counts), total=total)
            sigma = h.sigma * float(np.mean(1 - way)) ** 0.5
            out[name] = replace(h, mass=mass, counts=None, counted=None, sigma=sigma)
    return replace(columns, histograms=out)


@dataclass(frozen=True, kw_only=True, eq=False)
class Margin:
    """What all tables on the same bins of a column say of them: mean ``counts`` (K,) and variance."""

    groups: np.ndarray
    counts: np.ndarray
    variance: float


def sharpen(histograms: Mapping[str, Histogram], answers: Sequence[Answer], total: float) -> dict[str, Histogram]:
    """The histograms, each bin averaged by precision with what the tables' margins say of it.

    Bins of a column that cut through finer ones are passed over. Leaves keep their proportions inside the finest bins.
    **Source**: generalised least squares on a tree, Hay et al., arXiv 0904.0942, section 4.
    """
    margins = _margins(answers)
    return {n: _sharpened(h, margins[n], total) if n in margins else h for n, h in histograms.items()}


def _sharpened(histogram: Histogram, margins: Sequence[Margin], total: float) -> Histogram:
    """Upwards, means of a bin's own margin and the sum of its parts; downwards, parts fitted to it."""
    groups = np.arange(len(histogram.mass))
    estimate, variance = histogram.mass, np.full(len(groups), histogram.sigma**2)
    steps = []
    for margin in sorted(margins, key=lambda m: -len(m.counts)):
        parent = np.zeros(len(estimate), dtype=np.int64)
        parent[groups] = margin.groups
        if not np.array_equal(parent[groups], margin.groups):  # a use's own groups, that cut through finer ones
            continue
        below, noise = np.bincount(parent, weights=estimate), np.bincount(parent, weights=variance)
        steps.append((parent, estimate, variance))
        estimate = below + noise / (noise + margin.variance) * (margin.counts - below)
        variance, groups = noise * margin.variance / (noise + margin.variance), margin.groups
    if not steps:
        return histogram
    value = project(estimate, total=total)
    for parent, estimate, variance in reversed(steps[1:]):  # parts move in proportion to their variance
        gap = value - np.bincount(parent, weights=estimate)
        noise = np.bincount(parent, weights=variance)
        parts = np.maximum(estimate + (gap / np.maximum(noise, 1e-12))[parent] * variance, 0.0)
        value = _share_out(value, parent, parts, np.ones(len(parent)))
    value = _share_out(value, steps[0][0], histogram.mass, histogram.widths)
    return replace(histogram, mass=value)


def _share_out(value: np.ndarray, parent: np.ndarray, parts: np.ndarray, spare: np.ndarray) -> np.ndarray:
    """``value`` divided over parts in their proportions, or those of ``spare`` where all parts are zero."""
    empty = np.bincount(parent, weights=parts)[parent] <= 0
    parts = np.where(empty, spare, parts)
    whole = np.bincount(parent, weights=parts)
    return parts * (value / np.where(whole > 0, whole, 1.0))[parent]


def _margins(answers: Sequence[Answer]) -> dict[str, list[Margin]]:
    """For each column and each of its binnings the precision-weighted mean margin."""
    seen: dict[str, dict[bytes, tuple[np.ndarray, list, list]]] = {}
    slots: dict[int, tuple[np.ndarray, list, list]] = {}  # by the grouping's identity, of which pairs share a few
    for marginal, values in answers:
        for axis, bins in enumerate(marginal.bins):
            counts = values.sum(axis=tuple(i for i in range(values.ndim) if i != axis))
            slot = slots.get(id(bins))
            if slot is None:
                slot = seen.setdefault(bins.column, {}).setdefault(bins.groups.tobytes(), (bins.groups, [], []))
                slots[id(bins)] = slot
            slot[1].append(counts)
            slot[2].append(1 / (marginal.sigma**2 * (marginal.cells / bins.size)))
    return {
        n: [Margin(groups=g, counts=np.array(p) @ np.stack(c) / sum(p), variance=1 / sum(p)) for g, c, p in of.values()]
        for n, of in seen.items()
    }


EVEN_LEAVES = 256  # most leaves of a number


def even_histogram(name: str, column: Column, total: float) -> Histogram:
    """``total`` rows spread over a column: over its categories, or over equal parts of its range; ``sigma`` infinite.

    Missing codes of a number are leaves of their own, and hold together what one part holds.

    Privacy: public only.
    """
    starts, weights = np.arange(column.cells), np.ones(column.cells)
    if column.is_numeric:
        parts = np.unique(np.arange(EVEN_LEAVES) * column.size // EVEN_LEAVES)
        others = np.arange(column.size, column.cells)
        weights = np.append(np.diff(np.append(parts, column.size)), np.full(len(others), 1 / max(len(others), 1)))
        weights[len(parts) :] *= column.size / len(parts)
        starts = np.append(parts, others)
    mass = total * weights / weights.sum()
    return Histogram(column=name, cells=column.cells, starts=starts.astype(np.int64), mass=mass, sigma=inf)


def is_even(histogram: Histogram) -> bool:
    """Whether a histogram was made here."""
    return histogram.sigma == inf
