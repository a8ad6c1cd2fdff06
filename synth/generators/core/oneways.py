"""One-way questions: every position of a small column, a tree of levels over a wide range of numbers; areas, days
of the week and months, round numbers as further groupings of a column.

Every level of a declared tree of areas is counted: levels above the lowest column are groupings of its positions
(schema/areas.py), so that an answer about a level is one more answer about the same column. Their counts are brought to
agree as those of any tree are (``sharpen``), each level weighed by its variance; bins follow the tree.

Privacy: released answers and public facts only.
**Source**: generalised least squares on a tree, Hay et al., arXiv 0904.0942; every level of a geography asked, as
TopDown does, Abowd et al., arXiv 2204.08986.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import ceil, floor, log, log2, log10
from typing import Any

import numpy as np

from synth.generators.base import Ask, Setting
from synth.generators.core.columns import (
    AGAIN,
    BLOCKS,
    CALENDAR,
    HEAPING,
    ONEWAY,
    Histogram,
    OneWays,
    answers_of,
    count_leaves,
    cut_purpose,
    estimate_columns,
    merge,
    merge_bins,
)
from synth.generators.core.product import Strata
from synth.questions import Bins, Counts, CountsRelease, Marginal, Nearest, PublicCounts, Search
from synth.schema.areas import trees
from synth.schema.table import SECONDS, Column, Schema

AREAS = "one-way, areas"
AREA_WEIGHT = 8.0  # of an area column's own counts, against 1 of any other column
AREA_FINE = 0.25  # part of the rows that a bin of other columns holds: what noise leaves of areas the fit shares out
BRANCHES = 2.0  # areas below one of a level, on average, from which on that level is counted by itself

STRATUM, STRATA = 500, 200  # rows of areas that are drawn by themselves, at least, and how many of these at most

Levels = Sequence[np.ndarray]  # of a column, from the lowest up: the area (cells,) of each position


def area_levels(schema: Schema) -> dict[str, list[np.ndarray]]:
    """By lowest column the levels above it. Privacy: public only."""
    return {n: [level.of for level in up] for n, up in trees(schema.columns).items()}


def counted_levels(levels: Levels) -> list[np.ndarray]:
    """The levels that are counted by themselves: those with ``BRANCHES`` areas of the next counted one or more each.

    >>> [len(counted_levels([np.arange(n) // 2 for n in (8,)])), len(counted_levels([np.array([0, 1, 2, 2])]))]
    [1, 0]
    """
    out: list[np.ndarray] = []
    below = len(levels[0]) if levels else 0
    for level in levels:
        size = len(np.unique(level))
        if size > 1 and below >= BRANCHES * size:
            out.append(np.unique(level, return_inverse=True)[1].reshape(-1))
            below = size
    return out


def area_releases(releases: Sequence[Any]) -> list[CountsRelease]:
    """The answers to that question."""
    return [r for r in releases if isinstance(r, CountsRelease) and r.question.purpose == AREAS]


def estimated(releases: Sequence[Any], setting: Setting) -> OneWays:
    """As ``estimate_columns``, columns of areas agreeing with what every level says."""
    return estimate_columns(releases, setting).sharpened(answers_of(area_releases(releases)))


def area_strata(columns: OneWays) -> Strata | None:
    """Areas that are drawn by themselves, light ones together along the tree; of the first tree, where it tells any."""
    for name, levels in area_levels(columns.setting.schema).items():
        if name in columns.histograms:
            mass, least = columns.histograms[name].mass, max(STRATUM, columns.total / STRATA)
            groups = merge_areas(mass, np.arange(len(mass)), least=least, levels=levels)
            return Strata(column=name, groups=groups) if groups.max() > 0 else None
    return None


def merge_areas(mass: np.ndarray, groups: np.ndarray, *, least: float, levels: Levels = ()) -> np.ndarray:
    """As ``merge_bins``, of areas along their tree: ``levels`` (L,) each, of none as for any other column.

    Areas are joined inside the next area above as long as that holds ``least``; one that does not is joined as a whole
    with others inside the one above it.

    >>> two = [np.array([0, 0, 0, 1, 1, 2, 2])]
    >>> merge_areas(np.array([9.0, 4, 4, 9, 9, 1, 1]), np.arange(7), levels=two, least=8).tolist()
    [0, 1, 1, 2, 3, 4, 4]
    """
    if not levels:
        return merge_bins(mass, groups, least=least)
    labels, settled = groups.astype(np.int64), np.zeros(len(groups), dtype=bool)
    for level in [*levels, np.zeros(len(groups), dtype=np.int64)]:
        last, whole = not level.any(), np.bincount(level, weights=mass)
        for area in np.unique(level[~settled]):
            at = np.flatnonzero((level == area) & ~settled)
            own = np.unique(labels[at], return_inverse=True)[1].reshape(-1)
            held = last or whole[area] >= least
            joined = merge(np.bincount(own, weights=mass[at]), least=least)[own] if held else np.zeros_like(own)
            labels[at] = labels.max() + 1 + joined
            settled[at] |= held
    return _coarser(labels, groups)


def _coarser(labels: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The finest grouping that is coarser than both, numbered by first appearance."""
    out = np.unique(labels, return_inverse=True)[1].reshape(-1)
    while True:
        least = np.full(int(groups.max()) + 1, len(out))
        np.minimum.at(least, groups, out)
        after = np.full(int(out.max()) + 1, len(out))
        np.minimum.at(after, out, least[groups])
        if np.array_equal(after[out], out):
            break
        out = after[out]
    _, first, inverse = np.unique(out, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.reshape(-1)]


STRICT = 2.0  # times what noise alone makes: so far a margin must be from what the leaves expect to be heard
FEWEST_DAYS, MOST_DAYS = 60, 2**16  # days a range must have for a calendar to say something, and to be listed
CALENDAR_SHARE = 0.05  # of the column's one-way share
ROUNDS = 30
WEEK, YEAR = 7, 12


def has_calendar(column: Column) -> bool:
    """Whether a column holds dates over a range of days for which weekdays and months are asked."""
    if column.type != "datetime":
        return False
    low, high = column.bounds
    return FEWEST_DAYS <= (high - low) / SECONDS["day"] <= MOST_DAYS


def calendar_questions(name: str, column: Column, setting: Setting, *, share: float) -> list[Marginal]:
    """Counts by day of the week and by month of the year, within ``share`` of the budget."""
    starts, kinds = _days(column)
    more = np.arange(column.size, column.cells)
    places = np.append(starts, more)
    return [
        Marginal(
            bins=(Bins(column=name, cells=column.cells, starts=places, groups=np.append(k, np.full(len(more), -1))),),
            sigma=setting.sigma(share / len(kinds)),
        )
        for k in kinds
    ]


def scale_to_margins(
    starts: np.ndarray,
    mass: np.ndarray,
    cells: int,
    margins: Sequence[tuple[Marginal, np.ndarray]],
    *,
    doubt: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leaves cut at days: their starts (M,), the leaf that each is part of (M,), and their masses (M,).

    Weekdays and months are scaled to the margins in turn. Leaves give way: the finest hold a day or two, and their
    noise would put rows on days that have none. ``doubt``: noise deviations off what leaves expect, from which on a
    cell is heard at all: the rarest kinds of round numbers are the largest ones, to which noise would add.
    **Source**: iterative proportional fitting, Deming and Stephan 1940.
    """
    cut = np.union1d(starts, margins[0][0].bins[0].starts)
    leaf = np.searchsorted(starts, cut, side="right") - 1
    parts = np.diff(np.append(cut, cells)) * (mass / np.diff(np.append(starts, cells)))[leaf]
    goals = []
    for marginal, counts in margins:
        kind = marginal.bins[0].groups[np.searchsorted(marginal.bins[0].starts, cut, side="right") - 1]
        goals.append((kind, _goal(_sums(parts, kind, marginal.cells), counts.astype(float), marginal.sigma, doubt)))
    for _ in range(ROUNDS):
        for kind, goal in goals:
            factor = goal / np.maximum(_sums(parts, kind, len(goal)), 1e-9)
            parts = parts * np.where(kind < 0, 1.0, factor[kind])
    return cut, leaf, parts


def _goal(expected: np.ndarray, counts: np.ndarray, sigma: float, doubt: float) -> np.ndarray:
    """Counts drawn towards what the leaves expect, as far as their distance may be noise.

    **Source**: positive-part estimator of James and Stein 1961.
    """
    away = counts - expected
    weight = max(0.0, 1 - STRICT * len(away) * sigma**2 / max(float(away @ away), 1e-9))
    weight *= np.maximum(0.0, 1 - (doubt * sigma) ** 2 / np.maximum(away**2, 1e-9))
    goal = np.maximum(expected + weight * away, 0.0)
    return goal * (expected.sum() / max(goal.sum(), 1e-9)) if goal.sum() > 0 else expected


def _sums(parts: np.ndarray, kind: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(kind[kind >= 0], weights=parts[kind >= 0], minlength=size)


def _days(column: Column) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """First position of each day of the range, and each day's weekday (Monday 0) and month (January 0)."""
    low, step = int(column.bounds[0]), int(column.step)
    first, last = low // SECONDS["day"], (low + (column.size - 1) * step) // SECONDS["day"]
    days = np.arange(first, last + 1)
    starts = np.maximum(-(-(days * SECONDS["day"] - low) // step), 0)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    retained = np.append(starts[1:] > starts[:-1], True)
    return starts[retained], ((days[retained] + 3) % WEEK, months[retained] % YEAR)


HEAPING_SHARE = 0.1  # of the column's one-way share
ZONES = 4  # parts of a range, of about equal mass, in which round numbers are counted apart
# of a zone's greatest power of ten: numbers are as round as the first that fits
HEAP_STEPS = (1.0, 0.5, 0.1, 0.05, 0.01)
DOUBT = 2.0  # noise deviations from which on a kind of round numbers is heard
FEWEST_NUMBERS = 1000  # numbers that a range must have


def has_heaping(column: Column) -> bool:
    """Whether a column holds whole numbers over a range that is wide enough for round ones to stand out."""
    if column.type != "integer" or column.size < FEWEST_NUMBERS:
        return False
    return float(column.step).is_integer() and float(column.bounds[0]).is_integer()


def heaping_question(histogram: Histogram, column: Column, setting: Setting, *, share: float) -> Marginal | None:
    """Counts of numbers by how round they are, zone by zone; single values that stand out already are left out.

    Zones follow from the noisy counts asked before; a row counts in one cell at most.
    """
    starts, groups = np.zeros(1, dtype=np.int64), np.full(1, -1)
    size = 0
    for low, high in _zones(histogram, column):
        values, kinds = _round(low, high, column)
        if len(values) == 0:
            continue
        first = np.stack([values, values + 1], axis=1).ravel()
        rest = np.full(len(values), len(HEAP_STEPS))
        places = np.append(low, first)
        marks = np.append(len(HEAP_STEPS), np.stack([kinds, rest], axis=1).ravel()) + size
        last = np.append(places[1:] > places[:-1], places[-1] < high)  # neighbours and ends leave nothing between
        starts, groups = np.append(starts, places[last]), np.append(groups, marks[last])
        size += len(HEAP_STEPS) + 1
    if size == 0:
        return None
    starts, groups = np.append(starts, column.size), np.append(groups, -1)
    last = np.append(starts[1:] > starts[:-1], starts[-1] < column.cells)
    starts, groups = starts[last], groups[last]
    alone = histogram.starts[histogram.widths == 1]
    cut = np.union1d(starts, np.concatenate([alone, alone + 1]))
    cut = cut[cut < column.cells]
    groups = groups[np.searchsorted(starts, cut, side="right") - 1]
    groups[np.isin(cut, alone)] = -1
    named = np.unique(groups[groups >= 0])
    if len(named) < 2:
        return None
    groups = np.where(groups < 0, -1, np.searchsorted(named, groups))
    return Marginal(
        bins=(Bins(column=histogram.column, cells=column.cells, starts=cut, groups=groups),), sigma=setting.sigma(share)
    )


def _zones(histogram: Histogram, column: Column) -> list[tuple[int, int]]:
    """Ranges of positions of about equal mass, single values aside; above and below zero apart."""
    wide = (histogram.widths > 1) & (histogram.starts < column.size)
    mass = np.where(wide, histogram.mass, 0.0)
    if mass.sum() <= 0:
        return []
    whole = np.cumsum(mass) / mass.sum()
    inner = [int(histogram.starts[np.searchsorted(whole, q / ZONES)]) for q in range(1, ZONES)]
    zero = round(-column.bounds[0] / column.step)
    edges = sorted({0, *inner, *([zero] if 0 < zero < column.size else []), column.size})
    return list(pairwise(edges))


def _round(low: int, high: int, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Positions in a zone of numbers that are round there, and how round: the number of the first step that fits."""
    first, step = int(column.bounds[0]), int(column.step)
    ends = first + low * step, first + (high - 1) * step
    most = max(abs(ends[0]), abs(ends[1]))
    if most < 10 / HEAP_STEPS[-1] / 10 or high <= low:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    units = [max(round(10 ** floor(log10(most)) * s), 1) for s in HEAP_STEPS]
    finest = units[-1]
    values = np.arange(-(-ends[0] // finest), ends[1] // finest + 1, dtype=np.int64) * finest
    values = values[(values - first) % step == 0]
    fits = np.stack([values % u == 0 for u in units])
    return (values - first) // step, fits.argmax(0)


FLAT_NUMBERS = 256  # numbers with no more positions than this are counted one by one
GRID = 32  # equal parts into which a range, and then a heavy part of it, is cut
FINEST_OCTAVE = 2**14  # octaves around zero begin at this fraction of the range
LIMIT = 2**20  # most cells asked of one column in one level
TREE_CELLS = 128  # a tree weighs as much in the budget as a flat column of this size
FIRST, SECOND = 0.35, 0.35  # parts of a tree's share for its first two levels; the rest looks for spikes
HEAVY = 4.0  # a cell this many noise deviations above zero is cut further
BLOCK, SMALLEST = 0.3, 4  # part of a number's share for cells that are counted together, so many or more


def is_tree(column: Column) -> bool:
    """Whether a column's range is too wide to count every position at once."""
    return column.is_numeric and column.size > FLAT_NUMBERS


def ask_columns(ask: Ask, setting: Setting, *, share: float, whole: bool = False) -> list[CountsRelease]:
    """Asks for all columns' one-way counts within ``share`` of the budget.

    Levels of a tree after the first are chosen from the noisy counts of the level before. A tree that finds
    nothing more to cut leaves part of its share; with ``whole`` that is spent on counting again. Of a wide range of
    dates weekdays and months are counted too.
    """
    columns = varying(setting.schema)
    shares = _shares(columns, setting, share)
    levels = {
        n: shares[n] / (1 + len(counted_levels(up))) for n, up in area_levels(setting.schema).items() if n in shares
    }
    shares |= levels
    further: dict[str, dict[str, float]] = {}  # by purpose what else is asked of a column, and its share
    for purpose, (part, there, _) in GROUPINGS.items():
        further[purpose] = {n: shares[n] * part for n, c in columns.items() if there(c)}
        shares |= {n: shares[n] - own for n, own in further[purpose].items()}
    trees = {n: c for n, c in columns.items() if is_tree(c)}
    first = tuple(_first(n, c, setting.sigma(shares[n] * (FIRST if n in trees else 1.0))) for n, c in columns.items())
    releases = [ask(Counts(purpose=ONEWAY, marginals=first))]
    above = [(n, level) for n, up in area_levels(setting.schema).items() if n in levels for level in counted_levels(up)]
    areas = (Bins(column=n, cells=len(level), starts=np.arange(len(level)), groups=level) for n, level in above)
    releases += _asked(ask, AREAS, [Marginal(bins=(b,), sigma=setting.sigma(levels[b.column])) for b in areas])
    level = 2
    while trees:
        estimates = count_leaves(releases, setting).histograms
        asked = {n: _cut(estimates[n], c, setting, shares[n], level) for n, c in trees.items()}
        trees = {n: c for n, c in trees.items() if asked[n] is not None}
        releases += _asked(ask, cut_purpose(level), [m for m in asked.values() if m is not None])
        level += 1
    for purpose in reversed(GROUPINGS):
        estimates = count_leaves(releases, setting).histograms if further[purpose] else {}
        own = (GROUPINGS[purpose][2](estimates[n], columns[n], setting, part) for n, part in further[purpose].items())
        releases += _asked(ask, purpose, [m for some in own for m in some])
    if whole:
        left = share - spent_share(releases, setting)
        releases += ask_again(ask, setting, releases, left) if left >= 1e-3 * share else []
    return releases


def _asked(ask: Ask, purpose: str, marginals: Sequence[Marginal | None]) -> list[CountsRelease]:
    """The answer about those that there are, if any."""
    some = tuple(m for m in marginals if m is not None)
    return [ask(Counts(purpose=purpose, marginals=some))] if some else []


def ask_flat_again(ask: Ask, setting: Setting, *, share: float) -> list[CountsRelease]:
    """Columns that are counted position by position, counted again: trees, whose first levels find where to look, are
    served better by tables. ``share``: of the budget, for all columns together; trees leave theirs."""
    columns = varying(setting.schema)
    shares = _shares(columns, setting, share)
    flat = [_first(n, c, setting.sigma(shares[n])) for n, c in columns.items() if not is_tree(c)]
    return _asked(ask, AGAIN, flat)


def varying(schema: Schema) -> dict[str, Column]:
    """The columns that have more than one position; the first where none has."""
    columns = schema.measured()
    return {n: c for n, c in columns.items() if c.cells > 1} or dict(list(columns.items())[:1])


def spent_share(releases: Sequence[Any], setting: Setting) -> float:
    """Share of mu**2 that has been spent."""
    asked = [r.question for r in releases if not isinstance(r, PublicCounts)]
    return sum(
        q.picks * (setting.pick / (q.scale * setting.mu)) ** 2
        if isinstance(q, Search)
        else setting.share(q.sigma)
        if isinstance(q, Nearest)
        else sum(setting.share(m.sigma) for m in q.marginals)
        for q in asked
    )


def ask_again(
    ask: Ask, setting: Setting, releases: list[CountsRelease], left: float | Mapping[str, float]
) -> list[CountsRelease]:
    """What is left of the budget, of all columns or of each, spent on a second count of every column's leaves."""
    results = [h for h in count_leaves(releases, setting).histograms.values() if len(h.mass) > 1]
    weight = np.array([len(h.mass) for h in results]) ** (2 / 3)
    own = dict(zip((h.column for h in results), weight / weight.sum(), strict=True))
    parts = left if isinstance(left, Mapping) else {n: left * part for n, part in own.items()}
    marginals = [
        Marginal(
            bins=(h.bins(np.arange(len(h.starts))),),
            sigma=setting.sigma(parts[h.column] * (1 - 1e-9)),
        )
        for h in results
        if parts.get(h.column, 0.0) > 0
    ]
    return _asked(ask, AGAIN, marginals)


def shares_of_columns(setting: Setting, share: float) -> dict[str, float]:
    """Each column's part of ``share`` of the budget."""
    return _shares(varying(setting.schema), setting, share)


def _shares(columns: dict[str, Column], setting: Setting, share: float) -> dict[str, float]:
    """Parts of the budget that make the mean L1 error over columns least: sigma goes with cells^(-1/3); more for those
    by whose areas everything else is counted."""
    weight = {n: (TREE_CELLS if is_tree(c) else c.cells) ** (2 / 3) for n, c in columns.items()}
    weight |= {n: weight[n] * AREA_WEIGHT for n in area_levels(setting.schema) if n in weight}
    return {n: share * w / sum(weight.values()) for n, w in weight.items()}


def _first(name: str, column: Column, sigma: float) -> Marginal:
    if not is_tree(column):
        return Marginal(bins=(Bins.each(name, column.cells),), sigma=sigma)
    starts = np.concatenate([grid(column), np.arange(column.size, column.cells)])
    bins = Bins(column=name, cells=column.cells, starts=starts, groups=np.arange(len(starts)))
    return Marginal(bins=(bins,), sigma=sigma)


def grid(column: Column) -> np.ndarray:
    """First positions of a public coarse grid: equal parts, and octaves on either side of zero.

    Octaves resolve heavy tails (incomes), which crowd near zero within wide bounds.
    """
    size = column.size
    edges = [np.arange(GRID) * (size / GRID)]
    low, high = column.bounds
    if column.type != "datetime" and low <= 0 <= high:
        zero = float(int(-low / column.step))
        octaves = 2.0 ** np.arange(ceil(log2(size)))
        octaves = octaves[octaves > size / FINEST_OCTAVE]
        edges += [np.array([zero, zero + 1.0]), zero + 1 + octaves, zero - octaves]
    starts = np.unique(np.concatenate(edges).astype(np.int64))
    return starts[(starts >= 0) & (starts < size)]


def _cut(histogram: Histogram, column: Column, setting: Setting, share: float, level: int) -> Marginal | None:
    """The tree's next level: heavy leaves in parts; None when there is nothing to cut."""
    deeper = max(ceil(log(max(column.size / GRID**2, 1.0)) / log(LIMIT / 256)), 0)  # levels after the second
    if level > 2 + deeper:
        return None
    widths = histogram.widths
    heavy = np.flatnonzero((histogram.mass > HEAVY * histogram.sigma) & (widths > 1) & (histogram.starts < column.size))
    if len(heavy) == 0:
        return None
    parts = GRID if level == 2 else max(LIMIT // len(heavy), GRID)
    counts = np.minimum(widths[heavy], parts)  # nearly equal parts of each; integers, exact to 2**53
    step, more = np.divmod(widths[heavy], counts)
    which = np.repeat(np.arange(len(heavy)), counts)
    part = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    inner = histogram.starts[heavy][which] + part * step[which] + np.minimum(part, more[which])
    after = histogram.starts[heavy] + widths[heavy]
    gaps = np.setdiff1d(np.append(0, after[after < histogram.cells]), histogram.starts[heavy])
    starts = np.concatenate([inner, gaps])
    groups = np.concatenate([np.arange(len(inner)), np.full(len(gaps), -1)])
    order = np.argsort(starts)
    bins = Bins(column=histogram.column, cells=histogram.cells, starts=starts[order], groups=groups[order])
    share *= SECOND if level == 2 else (1 - FIRST - SECOND) / deeper
    return Marginal(bins=(bins,), sigma=setting.sigma(share))


def _blocks(histogram: Histogram, column: Column, sigma: float) -> Marginal | None:
    """Leaves that do not stand out of the noise, counted together: in blocks that double away from those that do."""
    counted = histogram.counted
    assert counted is not None
    light = (counted.sums(np.ones(len(counted.rows)))[counted.block] == 1) & (histogram.starts < column.size)
    light &= counted.rows <= HEAVY * counted.noise
    edges = np.flatnonzero(np.diff(light, prepend=False, append=False))
    groups, size = np.full(len(light), -1), 0
    for first, end in edges.reshape(-1, 2):
        place = np.arange(end - first) if first or end == len(light) else np.arange(end - first)[::-1]
        groups[first:end] = size + np.log2(place / SMALLEST + 1).astype(int)
        size = int(groups[first:end].max()) + 1
    if not size:
        return None
    return Marginal(
        bins=(Bins(column=histogram.column, cells=histogram.cells, starts=histogram.starts, groups=groups),),
        sigma=sigma,
    )


# By purpose what is asked beside the levels of a tree: the part of a column's share, of which columns, and the counts
GROUPINGS: dict[str, tuple[float, Callable[[Column], bool], Callable[..., Sequence[Marginal | None]]]] = {
    HEAPING: (
        HEAPING_SHARE,
        lambda c: is_tree(c) and has_heaping(c),
        lambda h, c, setting, share: [heaping_question(h, c, setting, share=share)],
    ),
    CALENDAR: (
        CALENDAR_SHARE,
        lambda c: is_tree(c) and has_calendar(c),
        lambda h, c, setting, share: calendar_questions(h.column, c, setting, share=share),
    ),
    BLOCKS: (
        BLOCK,
        is_tree,
        lambda h, c, setting, share: [_blocks(h, c, setting.sigma(share))],
    ),
}
