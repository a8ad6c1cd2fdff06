"""One-way questions: every position of a small column, a tree of levels over a wide range of numbers."""

from collections.abc import Mapping, Sequence
from math import ceil, log, log2
from typing import Any

import numpy as np

from synth.generators.base import Ask, Setting
from synth.generators.marginals import areas, calendar, heaping
from synth.generators.marginals.histogram import AGAIN, CALENDAR, HEAPING, PURPOSE, Histogram, cut_purpose, leaves
from synth.questions import Bins, Counts, CountsRelease, Marginal, PublicCounts, Search
from synth.schema.table import Column

FLAT_NUMBERS = 256  # numbers with no more positions than this are counted one by one
GRID = 32  # equal parts into which a range, and then a heavy part of it, is cut
FINEST_OCTAVE = 2**14  # octaves around zero begin at this fraction of the range
LIMIT = 2**20  # most cells asked of one column in one level
TREE_CELLS = 128  # a tree weighs as much in the budget as a flat column of this size
FIRST, SECOND = 0.35, 0.35  # parts of a tree's share for its first two levels; the rest looks for spikes
HEAVY = 4.0  # a cell this many noise deviations above zero is cut further


def is_tree(column: Column) -> bool:
    """Whether a column's range is too wide to count every position at once."""
    return column.is_numeric and column.size > FLAT_NUMBERS


def measure(ask: Ask, setting: Setting, *, share: float, whole: bool = False) -> list[CountsRelease]:
    """Asks for all columns' one-way counts within ``share`` of the budget.

    Levels of a tree after the first are chosen from the noisy counts of the level before. A tree that finds
    nothing more to cut leaves part of its share; with ``whole`` that is spent on counting again. Of a wide range of
    dates weekdays and months are counted too.
    """
    columns = _varying(setting)
    shares = _shares(columns, setting, share)
    levels = {n: shares[n] / (1 + len(areas.counted(up))) for n, up in areas.of(setting.schema).items() if n in shares}
    shares |= levels
    dates = [n for n, c in columns.items() if is_tree(c) and calendar.has_calendar(c)]
    parts = {n: shares[n] * calendar.SHARE for n in dates}
    rounds = [n for n, c in columns.items() if is_tree(c) and heaping.has_heaping(c)]
    parts |= {n: shares[n] * heaping.SHARE for n in rounds}
    shares |= {n: shares[n] - p for n, p in parts.items()}
    first = tuple(_first(n, c, setting.sigma(shares[n] * (FIRST if is_tree(c) else 1.0))) for n, c in columns.items())
    releases = [ask(Counts(purpose=PURPOSE, marginals=first))]
    if (above := areas.question(setting, levels)) is not None:
        releases.append(ask(above))
    trees = {n: c for n, c in columns.items() if is_tree(c)}
    level = 2
    while trees:
        estimates = leaves(releases, setting)[1]
        asked = {n: _cut(estimates[n], c, setting, shares[n], level) for n, c in trees.items()}
        trees = {n: c for n, c in trees.items() if asked[n] is not None}
        if trees:
            marginals = tuple(m for m in asked.values() if m is not None)
            releases.append(ask(Counts(purpose=cut_purpose(level), marginals=marginals)))
        level += 1
    if dates:
        asked_days = [m for n in dates for m in calendar.questions(n, columns[n], setting, share=parts[n])]
        releases.append(ask(Counts(purpose=CALENDAR, marginals=tuple(asked_days))))
    if rounds:
        estimates = leaves(releases, setting)[1]
        released = [heaping.question(estimates[n], columns[n], setting, share=parts[n]) for n in rounds]
        if retained := tuple(m for m in released if m is not None):
            releases.append(ask(Counts(purpose=HEAPING, marginals=retained)))
    if whole:
        left = share - spent(releases, setting)
        releases += again(ask, setting, releases, left) if left >= 1e-3 * share else []
    return releases


def once_more(ask: Ask, setting: Setting, *, share: float) -> list[CountsRelease]:
    """Columns that are counted position by position, counted again: trees, whose first levels find where to look, are
    served better by tables. ``share``: of the budget, for all columns together; trees leave theirs."""
    columns = _varying(setting)
    shares = _shares(columns, setting, share)
    flat = tuple(_first(n, c, setting.sigma(shares[n])) for n, c in columns.items() if not is_tree(c))
    return [ask(Counts(purpose=AGAIN, marginals=flat))] if flat else []


def _varying(setting: Setting) -> dict[str, Column]:
    """The columns that have more than one position; the first where none has."""
    columns = setting.schema.measured()
    return {n: c for n, c in columns.items() if c.cells > 1} or dict(list(columns.items())[:1])


def spent(releases: Sequence[Any], setting: Setting) -> float:
    """Share of mu**2 that has been spent."""
    return sum(_price(r.question, setting) for r in releases if not isinstance(r, PublicCounts))


def _price(question: Counts | Search, setting: Setting) -> float:
    if isinstance(question, Search):
        return question.picks * (setting.pick / (question.scale * setting.mu)) ** 2
    return sum(setting.share(m.sigma) for m in question.marginals)


def again(
    ask: Ask, setting: Setting, releases: list[CountsRelease], left: float | Mapping[str, float]
) -> list[CountsRelease]:
    """What is left of the budget, of all columns or of each, spent on a second count of every column's leaves."""
    results = [h for h in leaves(releases, setting)[1].values() if len(h.mass) > 1]
    weight = np.array([len(h.mass) for h in results]) ** (2 / 3)
    own = dict(zip((h.column for h in results), weight / weight.sum(), strict=True))
    parts = left if isinstance(left, Mapping) else {n: left * part for n, part in own.items()}
    marginals = [
        Marginal(
            bins=(Bins(column=h.column, cells=h.cells, starts=h.starts, groups=np.arange(len(h.starts))),),
            sigma=setting.sigma(parts[h.column] * (1 - 1e-9)),
        )
        for h in results
        if parts.get(h.column, 0.0) > 0
    ]
    return [ask(Counts(purpose=AGAIN, marginals=tuple(marginals)))] if marginals else []


def shares(setting: Setting, share: float) -> dict[str, float]:
    """Each column's part of ``share`` of the budget."""
    return _shares(_varying(setting), setting, share)


def _shares(columns: dict[str, Column], setting: Setting, share: float) -> dict[str, float]:
    """Parts of the budget that make the mean L1 error over columns least: sigma goes with cells^(-1/3); more for those
    by whose areas everything else is counted."""
    weight = {n: (TREE_CELLS if is_tree(c) else c.cells) ** (2 / 3) for n, c in columns.items()}
    weight |= {n: weight[n] * areas.WEIGHT for n in areas.of(setting.schema) if n in weight}
    return {n: share * w / sum(weight.values()) for n, w in weight.items()}


def _deeper(size: int) -> int:
    """Levels after the second that a range of this many positions is given budget for."""
    return max(ceil(log(max(size / GRID**2, 1.0)) / log(LIMIT / 256)), 0)


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
    deeper = _deeper(column.size)
    if level > 2 + deeper:
        return None
    widths = histogram.widths
    heavy = np.flatnonzero((histogram.mass > HEAVY * histogram.sigma) & (widths > 1) & (histogram.starts < column.size))
    if len(heavy) == 0:
        return None
    parts = GRID if level == 2 else max(LIMIT // len(heavy), GRID)
    inner = _divide(histogram.starts[heavy], widths[heavy], parts)
    after = histogram.starts[heavy] + widths[heavy]
    gaps = np.setdiff1d(np.append(0, after[after < histogram.cells]), histogram.starts[heavy])
    starts = np.concatenate([inner, gaps])
    groups = np.concatenate([np.arange(len(inner)), np.full(len(gaps), -1)])
    order = np.argsort(starts)
    bins = Bins(column=histogram.column, cells=histogram.cells, starts=starts[order], groups=groups[order])
    part = SECOND if level == 2 else (1 - FIRST - SECOND) / deeper
    return Marginal(bins=(bins,), sigma=setting.sigma(share * part))


def _divide(starts: np.ndarray, widths: np.ndarray, parts: int) -> np.ndarray:
    """First positions of at most ``parts`` nearly equal parts of each interval; integers, exact to 2**53."""
    counts = np.minimum(widths, parts)
    step, more = np.divmod(widths, counts)
    which = np.repeat(np.arange(len(starts)), counts)
    part = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    return starts[which] + part * step[which] + np.minimum(part, more[which])
