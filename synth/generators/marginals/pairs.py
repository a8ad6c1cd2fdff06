"""Which tables of two and three columns to ask for, on which bins, and with how much noise each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.merging import merge, merge_bins
from synth.questions import Bins, Counts, CountsRelease, Marginal

PURPOSE = "tables"
POWER = 2 / 3


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How the tables' budget is spread and how fine their bins are; nothing depends on a particular table.

    ``target``: weight of the tables that hold the target, against 1. ``least``: a bin holds this many times
    the noise of the cells it adds to a table. ``ratio``, ``levels``: step and number of the nested groupings
    tried for each column; ``rounds``: of the search for bins that fit the noise. ``triples``: share of the
    budget for tables of two columns and the target, asked if these are at most ``most_triples`` and the
    target has at most ``target_cells``, so that a triple costs little more than a pair. ``wide``: with more
    pairs than this the share ``second`` is kept for finer tables of the ``chosen`` pairs that depend most,
    with groupings ``finer`` levels below and bins that hold ``closer`` times as much, if these pairs hold at
    least the part ``worth`` of all that hides; else all tables are asked again. Where no table hides more than the part
    ``hides`` of its rows in merged bins, nothing is kept back. A wide table's columns have one grouping each, of at
    most ``most`` bins a column on average and ``widest`` in all, so that the fit's steps are products of one matrix.
    ``finest``: most bins of a column in any table; reached by millions of rows, whose fit it keeps within memory.
    """

    target: float = 8.0
    triples: float = 0.0
    most_triples: int = 120
    target_cells: int = 3
    least: float = 1.5
    ratio: float = 2.5
    levels: int = 5
    rounds: int = 12
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


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """Nested groupings of one column's leaves, finest first: ``groups[i]`` with bins of ``least[i]`` rows."""

    least: np.ndarray
    groups: Sequence[np.ndarray]
    sizes: np.ndarray


def question(
    found: Mapping[str, Histogram], total: float, setting: Setting, *, share: float, plan: Plan
) -> Counts | None:
    """The tables to ask for within ``share`` of the budget; None where there is only one column to learn."""
    names = [n for n, h in found.items() if h.cells > 1 and len(h.mass) > 1]
    if len(names) < 2 or share <= 0:
        return None
    pairs = list(combinations(names, 2))
    target = setting.schema.target
    boost = np.array([plan.target if target in p else 1.0 for p in pairs])
    ladders = _ladders(found, names, total, setting.sigma(share) * np.sqrt(len(pairs)), plan, len(pairs))
    wide = len(pairs) > plan.wide
    kept = plan.second if wide else 0.0
    small = target in names and found[target].cells <= plan.target_cells
    triples = [(*p, target) for p in pairs if small and target not in p]
    part = plan.triples if 0 < len(triples) <= plan.most_triples else 0.0
    marginals = _marginals(pairs, boost, ladders, found, setting, share * (1 - part) * (1 - kept), plan, shared=wide)
    if wide and not any(_merged(m, found) > plan.hides for m in marginals):
        marginals = _marginals(pairs, boost, ladders, found, setting, share * (1 - part), plan, shared=wide)
    if part:
        marginals += _marginals(triples, np.ones(len(triples)), ladders, found, setting, share * part, plan)
    return Counts(purpose=PURPOSE, marginals=tuple(marginals))


def closer(
    found: Mapping[str, Histogram],
    asked: CountsRelease,
    total: float,
    setting: Setting,
    *,
    first: float,
    share: float,
    plan: Plan,
) -> Counts | None:
    """Finer tables of the pairs that most hides in, by the first tables; for wide tables only.

    ``first``: the share that ``question`` was given, from which the groupings of both follow, so that they nest.
    """
    pairs = [m.columns for m in asked.question.marginals]
    if len(pairs) <= plan.wide or share <= 1e-6:
        return None
    tables = zip(asked.question.marginals, asked.values, strict=True)
    scores = np.array([_dependence(m, v, total) * _merged(m, found) for m, v in tables])
    best = np.argsort(-scores)[: plan.chosen]
    chosen = [pairs[i] for i in best if scores[i] > 0]
    few = scores[best].sum() < plan.worth * np.maximum(scores, 0).sum()
    if few or not chosen:  # it hides evenly, single values everywhere, or nothing but noise: the same tables once more
        return _again(asked.question, setting, share)
    names = sorted({n for p in chosen for n in p})
    ladders = _ladders(found, names, total, setting.sigma(first) * np.sqrt(len(pairs)), plan, len(pairs))
    sharper = replace(plan, least=plan.least * plan.closer)
    marginals = _marginals(chosen, np.ones(len(chosen)), ladders, found, setting, share, sharper)
    return Counts(purpose=PURPOSE, marginals=tuple(marginals))


def _again(question: Counts, setting: Setting, share: float) -> Counts:
    """The same tables with noise that costs ``share`` in all."""
    cost = sum(setting.share(m.sigma) for m in question.marginals)
    scale = np.sqrt(cost / share) * (1 + 1e-12)
    marginals = tuple(replace(m, sigma=m.sigma * scale) for m in question.marginals)
    return Counts(purpose=question.purpose, marginals=marginals)


def _dependence(marginal: Marginal, values: np.ndarray, total: float) -> float:
    """Total variation between a noisy table and the product of its margins, beyond what noise alone makes."""
    table = values / total
    alone = np.outer(table.sum(1), table.sum(0)) / max(table.sum(), 1e-9)
    noise = marginal.sigma / total * np.sqrt(2 / np.pi) * table.size
    return float(0.5 * (np.abs(table - alone).sum() - noise))


def _merged(marginal: Marginal, found: Mapping[str, Histogram]) -> float:
    """Share of the rows for which a table tells less than single leaves would: what finer bins could still show."""
    alone = 1.0
    for bins in marginal.bins:
        mass = found[bins.column].mass
        single = np.bincount(bins.groups, minlength=bins.size)[bins.groups] == 1
        alone *= mass[single].sum() / mass.sum()
    return 1 - alone


def _ladders(found, names, total: float, base: float, plan: Plan, tables: int) -> dict[str, Ladder]:
    """Groupings of every column around ``base``, the noise of a cell were all tables alike; more for wide tables."""
    more = plan.finer if tables > plan.wide else 0
    steps = np.arange(-1.0 - more, plan.levels - 1 + more)
    least = np.minimum(base * plan.least * plan.ratio**steps, total)
    out = {}
    for name in names:
        floor = found[name].mass.sum() / plan.finest  # a bin that holds so much leaves room for so many
        groups = [merge(found[name].mass, least=max(least[0], floor))]
        for bound in np.maximum(least[1:], floor):
            groups.append(merge_bins(found[name].mass, groups[-1], least=bound))
        out[name] = Ladder(least=least, groups=groups, sizes=np.array([g.max() + 1.0 for g in groups]))
    return out


def _marginals(
    tables, boost: np.ndarray, ladders, found, setting: Setting, share: float, plan: Plan, *, shared: bool = False
) -> list[Marginal]:
    """The tables with their noise, each column's grouping chosen for the table it stands in.

    A bin adds as many cells as the other columns have bins together; it must hold ``least`` times their
    noise. Bins and noise depend on each other: a damped fixed point.
    Noise proportional to cells^(-1/3) makes the tables' mean L1 error least for a given budget.
    ``shared``: one grouping a column for all its tables, which tell of its bins together: the more tables, the
    finer bins they bear, by the root of their number.
    """
    place = {n: i for i, n in enumerate(ladders)}
    axes = np.array([[place[n] for n in t] for t in tables])
    sizes = np.stack([[ladders[n].sizes for n in t] for t in tables])  # (tables, axes, levels)
    least = np.log(next(iter(ladders.values())).least)
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
    while (
        shared and level.min() < len(least) - 1 and _side(axes, sizes, level) > min(plan.most * len(place), plan.widest)
    ):
        bound = bound + 0.2
        level = np.abs(bound[..., None] - least).argmin(-1)
    _, sigma = _noise(sizes, level, boost, setting, share)
    bins_of = {(n, i): _bins(found[n], ladders[n].groups[i]) for n, i in _used(tables, level)}
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


def _noise(sizes, level, boost, setting: Setting, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Bins (tables, axes) at these levels, and each table's sigma (tables,), rounded up."""
    bins = np.take_along_axis(sizes, level[..., None], -1)[..., 0]
    weight = boost * bins.prod(1) ** POWER
    part = share * weight / weight.sum()
    return bins, np.array([setting.sigma(p) for p in part])


def _bins(found: Histogram, groups: np.ndarray) -> Bins:
    return Bins(column=found.column, cells=found.cells, starts=found.starts, groups=groups)
