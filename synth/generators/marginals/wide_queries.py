"""All pairs of a table of hundreds of columns: one question, one grouping a column, the same noise for each table."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.merging import merge
from synth.generators.marginals.pair_queries import PURPOSE, PairPlan
from synth.questions import Bins, Counts, Marginal

STEP = 0.2  # by which all bins grow at once, in logarithms of rows, until they are few enough


def many(histograms: Mapping[str, Histogram], plan: PairPlan) -> bool:
    """Whether a table has so many columns that its pairs are asked together."""
    count = len(varying(histograms))
    return count * (count - 1) // 2 > plan.together


def named(histograms: Mapping[str, Histogram], setting: Setting, plan: PairPlan) -> list[tuple[str, str]]:
    """The pairs that uses need, where there are so many columns that all pairs would hide them: no others are asked for
    then. None where pairs are few, no use needs one, or uses need too many."""
    pairs = setting.workload.pairs(varying(histograms)) if many(histograms, plan) else []
    return pairs if len(pairs) <= plan.together else []


def question(histograms: Mapping[str, Histogram], setting: Setting, *, share: float, plan: PairPlan) -> Counts:
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
    bins = {n: _bins(histograms[n], own) for n, own in zip(names, groups, strict=True)}
    target = setting.schema.target
    weights = {False: 1.0, True: plan.target}
    whole = sum(weights[target in p] for p in pairs)
    sigma = {held: setting.sigma(share * weight / whole) for held, weight in weights.items()}
    tables = tuple(Marginal(bins=(bins[a], bins[b]), sigma=sigma[target in (a, b)]) for a, b in pairs)
    return Counts(purpose=PURPOSE, marginals=tables)


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


def _bins(histogram: Histogram, groups: np.ndarray) -> Bins:
    return Bins(column=histogram.column, cells=histogram.cells, starts=histogram.starts, groups=groups)
