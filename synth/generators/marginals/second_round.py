"""A second question: finer tables of the pairs whose first ones hide most in merged bins."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals.denoise import nearest
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.pair_queries import PURPOSE, Ladder, PairPlan, ladders_of, merged, spread
from synth.questions import Counts, CountsRelease, Marginal

Pair = tuple[str, ...]
FEW = 32  # leaves of a column that a finer table shows one by one
FEW_NAMES = 400  # the same of categories: neighbours tell each other's value where one column fixes the other


def tables(
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
        return again(asked.question, setting, share)
    names = sorted({n for p in chosen for n in p})
    base = setting.sigma(first) * np.sqrt(len(pairs))
    ladders = ladders_of({n: histograms[n] for n in names}, setting, total, base, plan, wide=wide)
    if not wide:
        few = {n: FEW if setting.schema.columns[n].is_numeric else FEW_NAMES for n in names}
        ladders = {n: _single(ladder, len(histograms[n].mass), few[n]) for n, ladder in ladders.items()}
    sharper = replace(plan, least=plan.least * plan.closer)
    marginals = spread(chosen, np.ones(len(chosen)), ladders, histograms, setting, share, sharper)
    return Counts(purpose=PURPOSE, marginals=tuple(marginals))


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
    scores = np.array([dependence(m, v, total) * merged(m, histograms) for m, v in answers])
    best = np.argsort(-scores)[: plan.chosen]
    if scores[best].sum() < plan.worth * np.maximum(scores, 0).sum():
        return []
    return [answers[i][0].columns for i in best if scores[i] > 0]


def _determined(asked: CountsRelease, histograms: Mapping[str, Histogram], plan: PairPlan) -> Sequence[Pair]:
    """The pairs that nearly determine each other and hide much, those that hide most; each column once."""
    scores: dict[Pair, float] = {}
    for marginal, values in zip(asked.question.marginals, asked.values, strict=True):
        hidden = merged(marginal, histograms)
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


def again(question: Counts, setting: Setting, share: float) -> Counts:
    """The same tables with noise that costs ``share`` in all."""
    cost = sum(setting.share(m.sigma) for m in question.marginals)
    scale = np.sqrt(cost / share) * (1 + 1e-12)
    marginals = tuple(replace(m, sigma=m.sigma * scale) for m in question.marginals)
    return Counts(purpose=question.purpose, marginals=marginals)


def noisier(question: Counts, factor: float) -> Counts:
    """The same tables with so many times the noise."""
    return replace(question, marginals=tuple(replace(m, sigma=m.sigma * factor) for m in question.marginals))


def dependence(marginal: Marginal, values: np.ndarray, total: float) -> float:
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
