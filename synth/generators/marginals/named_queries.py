"""Tables of three and more columns that a use names: asked for certain, on bins that their noise bears."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod, sqrt

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals.candidates import FINE
from synth.generators.marginals.higher_order import made_by_noise
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.merging import merge, merge_bins
from synth.generators.marginals.pair_queries import POWER, PURPOSE, Ladder, PairPlan, coarser, ladders_of, spread
from synth.generators.workload import NamedTable
from synth.questions import Bins, Counts, Marginal


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


def question(
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
        ask = partial(spread, [t.columns for t in alike], np.array([t.weight for t in alike]), own, histograms)
        marginals += ask(setting, share * part, plan, most=named.cells * part)
        weights += [t.weight for t in alike]
    cost = np.array(weights) * np.array([m.cells for m in marginals], dtype=float) ** POWER
    parts = share * cost / cost.sum()
    shared = (replace(m, sigma=setting.sigma(p)) for m, p in zip(marginals, parts.tolist(), strict=True))
    return Counts(purpose=PURPOSE, marginals=tuple(shared))


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
