"""Which tables of two columns to ask for, on which bins, and with how much noise each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals import areas
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.merging import split
from synth.questions import Bins, Counts, Marginal

PURPOSE = "tables"
DEEPER = 12  # groupings that are coarser than those of pairs
POWER = 2 / 3


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
    levels: areas.Levels = ()


def question(
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
    placed = areas.of(setting.schema).keys()
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
    marginals = spread(pairs, boost, ladders, histograms, setting, share * (1 - retained), plan, shared=wide)
    if not any(merged(m, histograms) > hides for m in marginals):
        marginals = spread(pairs, boost, ladders, histograms, setting, share, plan, shared=wide)
    return Counts(purpose=PURPOSE, marginals=tuple(marginals))


def merged(marginal: Marginal, histograms: Mapping[str, Histogram]) -> float:
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
    out, trees = {}, areas.of(setting.schema)
    for name, histogram in estimates.items():
        numeric = setting.schema.columns[name].is_numeric
        least, middle = (by_halves, 0) if numeric else (by_noise, plan.finer)
        out[name] = _ladder(histogram.mass, least, middle=middle, levels=trees.get(name, ()))
    return out


def _ladder(mass: np.ndarray, least: np.ndarray, *, middle: int, levels: areas.Levels) -> Ladder:
    """From the ``middle`` on a grouping's bins are merged of those before; the earlier ones split those after them."""
    each, held = np.arange(len(mass)), least * (areas.FINE if levels else 1.0)
    groups = [areas.merged(mass, each, least=held[middle], levels=levels)]
    for bound in held[middle + 1 :]:
        groups.append(areas.merged(mass, groups[-1], least=bound, levels=levels))
    for bound in held[:middle][::-1]:
        groups.insert(0, split(groups[0], areas.merged(mass, each, least=bound, levels=levels)))
    return Ladder(least=least, groups=groups, sizes=np.array([g.max() + 1.0 for g in groups]), levels=levels)


def coarser(ladders: Mapping[str, Ladder], estimates, plan: PairPlan) -> dict[str, Ladder]:
    """The same with ``DEEPER`` groupings more, down to two bins: for tables of more columns than noise is small for."""
    out = {}
    for name, ladder in ladders.items():
        mass, groups = estimates[name].mass, list(ladder.groups)
        more = np.minimum(ladder.least[-1] * plan.ratio ** np.arange(1.0, DEEPER + 1), mass.sum() / 3)
        for bound in more:
            groups.append(areas.merged(mass, groups[-1], least=bound, levels=ladder.levels))
        sizes = np.array([g.max() + 1.0 for g in groups])
        out[name] = Ladder(least=np.append(ladder.least, more), groups=groups, sizes=sizes, levels=ladder.levels)
    return out


def spread(
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
