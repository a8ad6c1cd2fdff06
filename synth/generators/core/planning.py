"""Which tables to ask for, on which bins, and with how much noise each: pairs, finer ones of those that hide most,
named tables of more columns, and all pairs of a table of hundreds of columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import pi, prod, sqrt

import numpy as np

from synth.generators.base import NamedTable, Setting
from synth.generators.core.columns import Histogram, merge, merge_bins, nearest, split
from synth.generators.core.oneways import AREA_FINE, Levels, area_levels, merge_areas
from synth.questions import Bins, Counts, CountsRelease, Marginal

TABLES = "tables"
DEEPER = 12  # groupings that are coarser than those of pairs
POWER = 2 / 3
FINE = 6  # most bins of a column in a table of three and more that is sought


@dataclass(frozen=True, kw_only=True)
class PairPlan:
    """How the tables' budget is spread and how fine their bins are; nothing depends on a particular table.

    ``target``: weight of the tables that hold the target, against 1, ``beside`` where uses are named and no target is
    among them; ``named``: of those without a number or date,
    since what neighbouring bins tell each other makes up for some of the noise in the others; ``areas``: of those by
    areas of a declared tree. ``least``: a bin
    holds this many times the noise of the cells it adds to a table. ``ratio``, ``levels``: step and number of the
    nested groupings tried for each column; ``rounds``: of the search for bins that fit the noise. ``spare``: share
    kept for a finer table of a pair that hides more than the part ``hidden`` of the rows and depends by ``sure`` of
    the most that is possible, and by ``plain`` at least. ``wide``: with more
    pairs than this the share ``second`` is kept for finer tables of the ``chosen`` pairs that depend most,
    with groupings ``finer`` levels below and bins that hold ``closer`` times as much, if these pairs hold at
    least the part ``worth`` of all that hides; else all tables are asked again. Where no table hides more than the part
    ``hides`` of its rows in merged bins, nothing is kept back. A wide table's columns have one grouping each, of at
    most ``most`` bins a column on average and ``widest`` in all, so that the fit's steps are products of one matrix.
    ``finest``: most bins of a column in any table; reached by millions of rows, whose fit it keeps within memory.
    ``ordered``: the same of a number or date, beside values that are as heavy: inside a bin its distribution is smooth,
    so that finer ones cost noise and time and tell nothing. ``together``: with more pairs than this all are asked once,
    in one question that takes the tables' whole budget (``wide_queries.py``).
    """

    target: float = 8.0
    beside: float = 4.0
    named: float = 2.0
    areas: float = 4.0
    least: float = 1.5
    ratio: float = 2.5
    levels: int = 5
    rounds: int = 12
    spare: float = 0.03
    hidden: float = 0.02
    determined: int = 3
    sure: float = 0.72
    plain: float = 0.1
    wide: int = 400
    second: float = 0.4
    chosen: int = 4
    finer: int = 4
    closer: float = 0.1
    worth: float = 0.02
    hides: float = 0.02
    most: int = 16
    widest: int = 3000
    finest: int = 256
    ordered: int = 32
    together: int = 10_000


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """Nested groupings of one column's leaves, finest first: ``groups[i]`` with bins of ``least[i]`` rows.

    ``levels``: of areas, whose bins follow the tree and are finer.
    """

    least: np.ndarray
    groups: Sequence[np.ndarray]
    sizes: np.ndarray
    levels: Levels = ()


def pairs_question(
    histograms: Mapping[str, Histogram],
    total: float,
    setting: Setting,
    *,
    share: float,
    plan: PairPlan,
    only: Sequence[tuple[str, str]] = (),
) -> Counts | None:
    """The tables to ask for within ``share`` of the budget; None where there is only one column to learn.

    ``only``: these pairs, of a table of so many columns that the others would hide them.
    """
    names = [n for n, h in histograms.items() if h.cells > 1 and len(h.mass) > 1]
    if len(names) < 2 or share <= 0:
        return None
    pairs = list(only or combinations(names, 2))
    names = [n for n in names if any(n in p for p in pairs)]
    numeric = {n for n in names if setting.schema.columns[n].is_numeric}
    workload, target = setting.workload, setting.schema.target
    placed = area_levels(setting.schema).keys()
    predicted = {*workload.targets} if workload.targets else {target}
    most = plan.beside if workload.tables and not workload.targets else plan.target
    boost = np.array(
        [
            max(most if predicted & set(p) else 1.0, workload.pair_weight(p))
            * (1.0 if numeric & set(p) else plan.named)
            * (plan.areas if placed & set(p) else 1.0)
            for p in pairs
        ]
    )
    wide = len(pairs) > plan.wide
    base = setting.sigma(share) * np.sqrt(len(pairs))
    ladders = ladders_of({n: histograms[n] for n in names}, setting, total, base, plan, wide=wide)
    retained, hides = (plan.second, plan.hides) if wide else (plan.spare, plan.hidden)
    marginals = spread_noise(pairs, boost, ladders, histograms, setting, share * (1 - retained), plan, shared=wide)
    if not any(merged_share(m, histograms) > hides for m in marginals):
        marginals = spread_noise(pairs, boost, ladders, histograms, setting, share, plan, shared=wide)
    return Counts(purpose=TABLES, marginals=tuple(marginals))


def merged_share(marginal: Marginal, histograms: Mapping[str, Histogram]) -> float:
    """Share of the rows for which a table tells less than single leaves would: what finer bins could still show."""
    alone = 1.0
    for bins in marginal.bins:
        mass = histograms[bins.column].mass
        single = np.bincount(bins.groups, minlength=bins.size)[bins.groups] == 1
        alone *= mass[single].sum() / mass.sum()
    return 1 - alone


def ladders_of(
    estimates, setting: Setting, total: float, base: float, plan: PairPlan, *, wide: bool
) -> dict[str, Ladder]:
    """Groupings of every column around ``base``, the noise of a cell were all tables alike: as many for each.

    Those of a column are nested, and the same for the same ``base``, so that tables asked later fit the earlier ones.
    """
    steps = np.arange(-1.0 - plan.finer, plan.levels - 1 + (plan.finer if wide else 0))
    by_noise = np.clip(base * plan.least * plan.ratio**steps, total / plan.finest, total)
    by_halves = np.minimum(total / plan.ordered * 2.0 ** np.arange(len(steps)), total / 2)
    out, trees = {}, area_levels(setting.schema)
    for name, histogram in estimates.items():
        numeric = setting.schema.columns[name].is_numeric
        least, middle = (by_halves, 0) if numeric else (by_noise, plan.finer)
        out[name] = _ladder(histogram.mass, least, middle=middle, levels=trees.get(name, ()))
    return out


def _ladder(mass: np.ndarray, least: np.ndarray, *, middle: int, levels: Levels) -> Ladder:
    """From the ``middle`` on a grouping's bins are merged of those before; the earlier ones split those after them."""
    each, held = np.arange(len(mass)), least * (AREA_FINE if levels else 1.0)
    groups = [merge_areas(mass, each, least=held[middle], levels=levels)]
    for bound in held[middle + 1 :]:
        groups.append(merge_areas(mass, groups[-1], least=bound, levels=levels))
    for bound in held[:middle][::-1]:
        groups.insert(0, split(groups[0], merge_areas(mass, each, least=bound, levels=levels)))
    return Ladder(least=least, groups=groups, sizes=np.array([g.max() + 1.0 for g in groups]), levels=levels)


def coarser(ladders: Mapping[str, Ladder], estimates, plan: PairPlan) -> dict[str, Ladder]:
    """The same with ``DEEPER`` groupings more, down to two bins: for tables of more columns than noise is small for."""
    out = {}
    for name, ladder in ladders.items():
        mass, groups = estimates[name].mass, list(ladder.groups)
        more = np.minimum(ladder.least[-1] * plan.ratio ** np.arange(1.0, DEEPER + 1), mass.sum() / 3)
        for bound in more:
            groups.append(merge_areas(mass, groups[-1], least=bound, levels=ladder.levels))
        sizes = np.array([g.max() + 1.0 for g in groups])
        out[name] = Ladder(least=np.append(ladder.least, more), groups=groups, sizes=sizes, levels=ladder.levels)
    return out


def spread_noise(
    tables,
    boost: np.ndarray,
    ladders,
    estimates,
    setting: Setting,
    share: float,
    plan: PairPlan,
    *,
    shared: bool = False,
    most: float = np.inf,
) -> list[Marginal]:
    """The tables with their noise, each column's grouping chosen for the table it stands in.

    A bin adds as many cells as the other columns have bins together; it must hold ``least`` times their
    noise. Bins and noise depend on each other: a damped fixed point.
    Noise proportional to cells^(-1/3) makes the tables' mean L1 error least for a given budget.
    ``shared``: one grouping a column for all its tables, which tell of its bins together: the more tables, the
    finer bins they bear, by the root of their number. ``most``: cells of all tables; with more, bins are merged further
    than noise asks for.
    """
    place = {n: i for i, n in enumerate(ladders)}
    axes = np.array([[place[n] for n in t] for t in tables])
    sizes = np.stack([[ladders[n].sizes for n in t] for t in tables])  # (tables, axes, levels)
    least = np.log([[ladders[n].least for n in t] for t in tables])
    level = np.full(sizes.shape[:2], sizes.shape[2] // 2)
    bound = np.zeros(0)
    for _ in range(plan.rounds):
        bins, sigma = _noise(sizes, level, boost, setting, share)
        want = np.log(plan.least * sigma[:, None] * bins.prod(1, keepdims=True) / bins)
        if shared:  # all tables of a column tell of its bins together
            seen = np.bincount(axes.ravel())
            want = (np.bincount(axes.ravel(), weights=want.ravel()) / seen - np.log(seen) / 2)[axes]
        bound = want if len(bound) == 0 else (bound + want) / 2
        level = np.abs(bound[..., None] - least).argmin(-1)
    side = min(plan.most * len(place), plan.widest) if shared else np.inf
    while (bound < least[..., -1]).any() and (_side(axes, sizes, level) > side or _cells(sizes, level) > most):
        bound = bound + 0.2
        level = np.abs(bound[..., None] - least).argmin(-1)
    _, sigma = _noise(sizes, level, boost, setting, share)
    bins_of = {(n, i): _bins(estimates[n], ladders[n].groups[i]) for n, i in _used(tables, level)}
    return [
        Marginal(bins=tuple(bins_of[axis] for axis in zip(t, at, strict=True)), sigma=float(s))
        for t, at, s in zip(tables, level.tolist(), sigma, strict=True)
    ]


def _used(tables, level: np.ndarray) -> set[tuple[str, int]]:
    """Columns and the levels at which they occur."""
    return {axis for t, at in zip(tables, level.tolist(), strict=True) for axis in zip(t, at, strict=True)}


def _side(axes: np.ndarray, sizes: np.ndarray, level: np.ndarray) -> float:
    """Bins of all columns together, each column's grouping being the same in all its tables."""
    _, first = np.unique(axes, return_index=True)
    return float(np.take_along_axis(sizes, level[..., None], -1).ravel()[first].sum())


def _cells(sizes: np.ndarray, level: np.ndarray) -> float:
    """Cells of all tables together."""
    return float(np.take_along_axis(sizes, level[..., None], -1)[..., 0].prod(1, dtype=float).sum())


def _noise(sizes, level, boost, setting: Setting, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Bins (tables, axes) at these levels, and each table's sigma (tables,), rounded up."""
    bins = np.take_along_axis(sizes, level[..., None], -1)[..., 0]
    weight = boost * bins.prod(1) ** POWER
    part = share * weight / weight.sum()
    return bins, np.array([setting.sigma(p) for p in part])


def _bins(histogram: Histogram, groups: np.ndarray) -> Bins:
    return Bins(column=histogram.column, cells=histogram.cells, starts=histogram.starts, groups=groups)


def made_by_noise(cells: float, sigma: float, total: float) -> float:
    """Total variation between a table and its counts under noise."""
    return cells * sigma / (sqrt(2 * pi) * max(total, 1.0))


STEP = 0.2  # by which all bins grow at once, in logarithms of rows, until they are few enough


def many_pairs(histograms: Mapping[str, Histogram], plan: PairPlan) -> bool:
    """Whether a table has so many columns that its pairs are asked together."""
    count = len(varying(histograms))
    return count * (count - 1) // 2 > plan.together


def named_pairs(histograms: Mapping[str, Histogram], setting: Setting, plan: PairPlan) -> list[tuple[str, str]]:
    """The pairs that uses need, where there are so many columns that all pairs would hide them: no others are asked for
    then. None where pairs are few, no use needs one, or uses need too many."""
    pairs = setting.workload.pairs(varying(histograms)) if many_pairs(histograms, plan) else []
    return pairs if len(pairs) <= plan.together else []


def wide_question(histograms: Mapping[str, Histogram], setting: Setting, *, share: float, plan: PairPlan) -> Counts:
    """Every pair of columns, within ``share`` of the budget.

    A pair's cells drown in noise when half a million pairs share a budget; what all tables of a column tell together
    does not: a hidden cause of a hundred columns shows in five thousand tables. So no pair is left out, none is told
    better than the others but the target's, and the fit finds what they have in common.
    """
    names = varying(histograms)
    pairs = list(combinations(names, 2))
    base = setting.sigma(share) * np.sqrt(len(pairs))
    groups = _groupings(
        [histograms[n] for n in names], [setting.schema.columns[n].is_numeric for n in names], base, plan
    )
    bins = {n: _wide_bins(histograms[n], own) for n, own in zip(names, groups, strict=True)}
    target = setting.schema.target
    weights = {False: 1.0, True: plan.target}
    whole = sum(weights[target in p] for p in pairs)
    sigma = {held: setting.sigma(share * weight / whole) for held, weight in weights.items()}
    tables = tuple(Marginal(bins=(bins[a], bins[b]), sigma=sigma[target in (a, b)]) for a, b in pairs)
    return Counts(purpose=TABLES, marginals=tables)


def _groupings(
    histograms: Sequence[Histogram], numeric: Sequence[bool], noise: float, plan: PairPlan
) -> list[np.ndarray]:
    """Each column's bins, the bin of each leaf: a bin holds ``least`` times the noise of its cells in all tables, or
    more where the bins of all columns would be more than ``widest``; never more than half of the rows, if leaves allow.
    """
    total = np.array([max(h.mass.sum(), 1.0) for h in histograms])
    most = np.log(total / 2)
    finest = np.log(total / np.where(numeric, plan.ordered, plan.finest))
    bound = np.full(len(histograms), np.log(plan.least * noise))

    def merged() -> tuple[list[np.ndarray], np.ndarray]:
        least = np.exp(np.clip(bound, finest, most))
        groups = [merge(h.mass, least=float(rows)) for h, rows in zip(histograms, least, strict=True)]
        return groups, np.array([g.max() + 1.0 for g in groups])

    for _ in range(plan.rounds):
        bins = np.log(merged()[1])
        others = (bins.sum() - bins) / (len(bins) - 1)
        bound = (bound + np.log(plan.least * noise) + others - np.log(len(bins) - 1) / 2) / 2
    groups, sizes = merged()
    while sizes.sum() > min(plan.most * len(histograms), plan.widest) and (bound < most).any():
        bound = bound + STEP
        groups, sizes = merged()
    return groups


def varying(histograms: Mapping[str, Histogram]) -> list[str]:
    """The columns that are seen to have more than one value."""
    return [n for n, h in histograms.items() if h.cells > 1 and len(h.mass) > 1]


def _wide_bins(histogram: Histogram, groups: np.ndarray) -> Bins:
    return Bins(column=histogram.column, cells=histogram.cells, starts=histogram.starts, groups=groups)


Pair = tuple[str, ...]
FEW = 32  # leaves of a column that a finer table shows one by one
FEW_NAMES = 400  # the same of categories: neighbours tell each other's value where one column fixes the other


def finer_tables(
    histograms: Mapping[str, Histogram],
    asked: CountsRelease,
    total: float,
    setting: Setting,
    *,
    first: float,
    share: float,
    plan: PairPlan,
) -> Counts | None:
    """The question for what ``pairs.question`` kept back; None where that was nothing.

    Of a wide table the pairs that most hides in; of others the one of two columns that nearly determine each other,
    whose merged bins leave rows that contradict themselves. Where there is none, the same tables once more: they are
    averaged with the first, and nothing is lost.
    ``first``: the share that ``pairs.question`` was given, from which the groupings of both follow.
    """
    if share <= 1e-6:
        return None
    pairs = [m.columns for m in asked.question.marginals]
    wide = len(pairs) > plan.wide
    chosen = _hiding(asked, histograms, total, plan) if wide else _determined(asked, histograms, plan)
    if not chosen:
        return asked_again(asked.question, setting, share)
    names = sorted({n for p in chosen for n in p})
    base = setting.sigma(first) * np.sqrt(len(pairs))
    ladders = ladders_of({n: histograms[n] for n in names}, setting, total, base, plan, wide=wide)
    if not wide:
        few = {n: FEW if setting.schema.columns[n].is_numeric else FEW_NAMES for n in names}
        ladders = {n: _single(ladder, len(histograms[n].mass), few[n]) for n, ladder in ladders.items()}
    sharper = replace(plan, least=plan.least * plan.closer)
    marginals = spread_noise(chosen, np.ones(len(chosen)), ladders, histograms, setting, share, sharper)
    return Counts(purpose=TABLES, marginals=tuple(marginals))


def _single(ladder: Ladder, leaves: int, few: int) -> Ladder:
    """The ladder with single leaves below it where these are few: what a column fixes is fixed value by value."""
    finest = np.arange(leaves) if leaves <= few else ladder.groups[0]
    return Ladder(
        least=np.append(ladder.least[0] / 10, ladder.least),
        groups=[finest, *ladder.groups],
        sizes=np.append(finest.max() + 1.0, ladder.sizes),
    )


def _hiding(asked: CountsRelease, histograms: Mapping[str, Histogram], total: float, plan: PairPlan) -> Sequence[Pair]:
    """The pairs that hide most; none if it hides evenly, single values everywhere, or nothing but noise."""
    answers = list(zip(asked.question.marginals, asked.values, strict=True))
    scores = np.array([dependence_of(m, v, total) * merged_share(m, histograms) for m, v in answers])
    best = np.argsort(-scores)[: plan.chosen]
    if scores[best].sum() < plan.worth * np.maximum(scores, 0).sum():
        return []
    return [answers[i][0].columns for i in best if scores[i] > 0]


def _determined(asked: CountsRelease, histograms: Mapping[str, Histogram], plan: PairPlan) -> Sequence[Pair]:
    """The pairs that nearly determine each other and hide much, those that hide most; each column once."""
    scores: dict[Pair, float] = {}
    for marginal, values in zip(asked.question.marginals, asked.values, strict=True):
        hidden = merged_share(marginal, histograms)
        if len(marginal.bins) != 2 or hidden <= plan.hidden:
            continue
        depends = denoised_dependence(values)
        if depends >= max(plan.sure * most_dependence(values), plan.plain) and depends * hidden > plan.hidden:
            scores[marginal.columns] = depends * hidden
    chosen: list[Pair] = []
    for pair in sorted(scores, key=lambda p: -scores[p]):
        if len(chosen) < plan.determined and not any(set(pair) & set(p) for p in chosen):
            chosen.append(pair)
    return chosen


def asked_again(question: Counts, setting: Setting, share: float) -> Counts:
    """The same tables with noise that costs ``share`` in all."""
    cost = sum(setting.share(m.sigma) for m in question.marginals)
    scale = np.sqrt(cost / share) * (1 + 1e-12)
    marginals = tuple(replace(m, sigma=m.sigma * scale) for m in question.marginals)
    return Counts(purpose=question.purpose, marginals=marginals)


def noisier(question: Counts, factor: float) -> Counts:
    """The same tables with so many times the noise."""
    return replace(question, marginals=tuple(replace(m, sigma=m.sigma * factor) for m in question.marginals))


def dependence_of(marginal: Marginal, values: np.ndarray, total: float) -> float:
    """Total variation between a noisy table and the product of its margins, beyond what noise alone makes."""
    table = values / total
    alone = np.outer(table.sum(1), table.sum(0)) / max(table.sum(), 1e-9)
    noise = marginal.sigma / total * np.sqrt(2 / np.pi) * table.size
    return float(0.5 * (np.abs(table - alone).sum() - noise))


def denoised_dependence(values: np.ndarray) -> float:
    """Total variation to independence of the non-negative table that is nearest to a noisy one and has its margins.

    Of rows alone and of columns alone, the less: of two columns that determine each other hardly any noise is left.

    >>> denoised_dependence(np.array([[50, 1, -2], [-1, 30, 1], [2, -1, 20]]))
    0.59755
    """
    depends = []
    for table in (values, values.T):
        table = nearest(table, np.maximum(table.sum(1), 0.0))
        table = table / max(table.sum(), 1e-9)
        depends.append(0.5 * np.abs(table - np.outer(table.sum(1), table.sum(0))).sum())
    return float(round(min(depends), 12))


def most_dependence(values: np.ndarray) -> float:
    """The greatest total variation to independence that a table's margins allow: one column a function of the other.

    >>> most_dependence(np.array([[5, 1], [3, 1]]))
    0.32
    """
    margins = [np.maximum(values.sum(1), 0.0), np.maximum(values.sum(0), 0.0)]
    even = [((m / max(m.sum(), 1e-9)) ** 2).sum() for m in margins]
    return float(round(1 - max(even), 12))


@dataclass(frozen=True, kw_only=True)
class NamedPlan:
    """What named tables get; nothing depends on a particular table.

    ``share``: part of the tables' budget that they take together, by the root of how many they are, from ``least`` for
    one on. ``bears``: total variation that noise may make of such a table; where it makes more, they are too many to be
    counted for certain, and are what the search chooses from. ``cells``: of all of them together at most.
    ``coarse``: times as many rows as in a table of two columns are in a bin, whose finer ones pairs tell of.
    ``others``: of hundreds of columns the part of the tables' budget that counts single ones again.
    """

    share: float = 0.2
    least: float = 0.07
    bears: float = 0.2
    cells: int = 1 << 16
    coarse: float = 2.0
    others: float = 0.5

    def taken(self, histograms: Mapping[str, Histogram], setting: Setting, total: float, share: float) -> float:
        """The part of ``share`` that named tables take for certain; 0 where there are none, or too many."""
        named = setting.workload.larger
        if not named:
            return 0.0
        part = share * min(self.share, self.least * sqrt(len(named)))
        cells = [min(FINE**3, prod(len(histograms[n].mass) for n in t.columns)) for t in named]
        noise = made_by_noise(float(np.mean(cells)), setting.sigma(part / len(named)), total)
        return part if noise <= self.bears else 0.0


def named_question(
    histograms: Mapping[str, Histogram],
    total: float,
    setting: Setting,
    *,
    first: float,
    share: float,
    pairs: int,
    plan: PairPlan,
    named: NamedPlan,
) -> Counts | None:
    """The named tables, within ``share`` of the budget, by their weights; None where nothing is left of them.

    ``first``: the share that the groupings of the ``pairs`` tables of two columns followed from, so that these bins are
    parts of those, or they of these. Where a use has groups of its own, those are counted.
    """
    varying = {n for n, h in histograms.items() if h.cells > 1 and len(h.mass) > 1}
    tables = [t for t in setting.workload.larger if varying.issuperset(t.columns)]
    if not tables or share <= 0:
        return None
    names = {n: histograms[n] for t in tables for n in t.columns}
    base = setting.sigma(first) * np.sqrt(pairs)
    ladders = coarser(ladders_of(names, setting, total, base, plan, wide=pairs > plan.wide), names, plan)
    whole = sum(t.weight for t in tables)
    plan = replace(plan, least=plan.least * named.coarse)
    marginals: list[Marginal] = []
    weights: list[float] = []
    for alike in _alike(tables):
        part = sum(t.weight for t in alike) / whole
        far = {n: _by_leverage(ladders[n], histograms[n], setting.schema.columns[n].size) for n in alike[0].numbers}
        own = {n: _fixed(r, histograms[n], alike[0].bins.get(n)) for n, r in (ladders | far).items()}
        ask = partial(spread_noise, [t.columns for t in alike], np.array([t.weight for t in alike]), own, histograms)
        marginals += ask(setting, share * part, plan, most=named.cells * part)
        weights += [t.weight for t in alike]
    cost = np.array(weights) * np.array([m.cells for m in marginals], dtype=float) ** POWER
    parts = share * cost / cost.sum()
    shared = (replace(m, sigma=setting.sigma(p)) for m, p in zip(marginals, parts.tolist(), strict=True))
    return Counts(purpose=TABLES, marginals=tuple(shared))


def _alike(tables: Sequence[NamedTable]) -> list[list[NamedTable]]:
    """Tables of as many columns, on the same groups of uses, together."""
    sorts: dict[tuple, list[NamedTable]] = {}
    for table in tables:
        groups = tuple(sorted((n, b.starts.tobytes(), b.groups.tobytes()) for n, b in table.bins.items()))
        sorts.setdefault((len(table.columns), groups, tuple(sorted(table.numbers))), []).append(table)
    return list(sorts.values())


def _by_leverage(ladder: Ladder, histogram: Histogram, size: int) -> Ladder:
    """The ladder's bins, of about equal rows and squared distance from the mean together: what decides a slope lies far
    out. ``size``: of the positions that are values."""
    middle, inside = histogram.starts + histogram.widths / 2, histogram.starts < size
    mass = np.where(inside, histogram.mass, 0.0)
    far = mass * (middle - np.average(middle, weights=np.maximum(mass, 1e-9))) ** 2
    weight = histogram.mass / 2 + far / max(far.sum(), 1e-9) * mass.sum() / 2
    groups = [merge(weight, least=ladder.least[0])]
    for least in ladder.least[1:]:
        groups.append(merge_bins(weight, groups[-1], least=least))
    return Ladder(least=ladder.least, groups=groups, sizes=np.array([g.max() + 1.0 for g in groups]))


def _fixed(ladder: Ladder, histogram: Histogram, bins: Bins | None) -> Ladder:
    """The ladder; where a use has groups of its own for the column, these at every level."""
    if bins is None:
        return ladder
    groups = bins.groups[np.searchsorted(bins.starts, histogram.starts, side="right") - 1]
    groups = np.unique(groups, return_inverse=True)[1].reshape(-1)
    many = len(ladder.groups)
    return Ladder(least=ladder.least, groups=[groups] * many, sizes=np.full(many, groups.max() + 1.0))
