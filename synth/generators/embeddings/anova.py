"""The ANOVA kernel: a sum of delta kernels over pairs of columns, whose mean embedding is weighted tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from synth.generators.base import Progress, Setting
from synth.generators.embeddings.embedding import ColumnEstimates, balanced, features_of, public_rng
from synth.generators.marginals import fit_mixture as fitting
from synth.generators.marginals import layout, pair_queries
from synth.generators.marginals.combine import sharpen
from synth.generators.marginals.denoise import project
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.mixture import axis, rake
from synth.generators.product_mixture.column import within_groups
from synth.generators.product_mixture.model import Product
from synth.questions import Block, Counts, CountsRelease, EmbeddingRelease, Marginal, Tensors, Term

BIN_NOISE = 1.5  # a bin holds this many times the noise of the cells that it adds to a table
LABEL_ALONE = 0.15  # part of a conditional embedding for tables of one column and the label
POWER = 2 / 3
MOST_PAIRS = 300  # pairs that a conditional embedding holds; wide tables make do with a random choice


def joint(total: float, histograms: Mapping[str, Histogram], setting: Setting, share: float) -> Tensors | None:
    """All pairs of columns, the label's among them: k(x, w) = sum_q a_q^2 1[x and w agree on the bins of pair q].

    Weights a_q^2 go with cells^(2/3), eight times that with the target, which is where the mean error of all tables is
    least for the budget.
    """
    question = pair_queries.question(histograms, total, setting, share=share, plan=pair_queries.PairPlan(second=0.0))
    return None if question is None else _embedded(question.marginals)


def conditional(total: float, histograms: Mapping[str, Histogram], setting: Setting, share: float) -> Tensors | None:
    """k(x, w) 1[same label]: pairs and single columns, each with the label as one more factor."""
    made = conditioned(total, histograms, setting, share)
    if made.label is None or not made.others:
        return joint(total, histograms, setting, share)
    singles = [(n, made.label) for n in made.others]
    doubles = [(*p, made.label) for p in _spread(list(combinations(made.others, 2)))]
    part = LABEL_ALONE if doubles else 1.0
    terms = _terms(made, singles, part) + _terms(made, doubles, 1 - part)
    return Tensors(terms=tuple(terms))


def _spread(result: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """All pairs, or a public random choice of them where there are very many."""
    if len(result) <= MOST_PAIRS:
        return result
    chosen = public_rng().permutation(len(result))[:MOST_PAIRS]
    return [result[i] for i in sorted(chosen)]


def conditioned(total: float, histograms: Mapping[str, Histogram], setting: Setting, share: float) -> ColumnEstimates:
    """The bins of a conditional embedding, by the noise that its tables of two columns and the label will have."""
    first = [n for n, h in histograms.items() if len(h.mass) > 1 and n != setting.schema.target]
    tables = max(min(len(first) * (len(first) - 1) / 2, MOST_PAIRS), 1.0)
    noise = setting.sigma(share) * np.sqrt(tables / (1 - LABEL_ALONE))
    return balanced(total, histograms, setting, noise=noise, least=BIN_NOISE)


def _terms(made: ColumnEstimates, tables: Sequence[tuple[str, ...]], part: float) -> list[Term]:
    """One-hot tensor products whose squared weights sum to ``part``."""
    blocks = {n: Block.one_hot(made.bins(n), weight=1.0) for n in {n for t in tables for n in t}}
    weight = np.array([np.prod([made.size(n) for n in t]) ** POWER for t in tables])
    weight = np.sqrt(part * (1 - 1e-12) * weight / weight.sum()) if len(tables) else weight
    return [Term(blocks=tuple(blocks[n] for n in t), weight=float(w)) for t, w in zip(tables, weight, strict=True)]


def _embedded(marginals: Sequence[Marginal]) -> Tensors:
    """Tables, each with its noise, as one embedding with one noise: weights go with 1 / sigma."""
    precision = np.array([1 / m.sigma for m in marginals])
    weight = precision / np.linalg.norm(precision) * (1 - 1e-12)
    known = {id(b): Block.one_hot(b, weight=1.0) for m in marginals for b in m.bins}
    terms = [
        Term(blocks=tuple(known[id(b)] for b in m.bins), weight=float(w))
        for m, w in zip(marginals, weight, strict=True)
    ]
    return Tensors(terms=tuple(terms))


def tables(release: EmbeddingRelease) -> CountsRelease:
    """The released embedding read as tables of counts: each term's features over its weight, so its noise."""
    features, sigma = features_of(release, Tensors), release.question.sigma
    marginals, values = [], []
    for term, part in zip(features.terms, features.parts, strict=True):
        bins = tuple(b.bins for b in term.blocks)
        marginals.append(Marginal(bins=bins, sigma=sigma / term.weight))
        values.append((release.values[part] / term.weight).reshape([b.size for b in bins]))
    question = Counts(purpose=pair_queries.PURPOSE, marginals=tuple(marginals))
    return CountsRelease(question=question, values=tuple(values))


def fit_tables(
    total: float,
    histograms: Mapping[str, Histogram],
    asked: Sequence[CountsRelease],
    options: fitting.Options,
    *,
    rng: np.random.Generator,
    device: str,
    progress: Progress,
) -> Product:
    """The mixture nearest in the whitened distance of mean embeddings: squared errors of all cells by precision."""
    histograms = sharpen(histograms, asked, total)
    groups = layout.refine(histograms, asked)
    problem, spans = layout.problem(histograms, groups, asked, total)
    weights, probs = fitting.fit(problem, options, rng=rng, device=device, progress=progress)
    axes = [
        axis(h, groups[n], rake(weights, probs[:, spans[n]], problem.mass[spans[n]])) for n, h in histograms.items()
    ]
    return Product(total=total, weights=weights, axes=tuple(axes))


def fit_parallel(
    total: float,
    histograms: Mapping[str, Histogram],
    asked: CountsRelease,
    label: str,
    options: fitting.Options,
    *,
    rng: np.random.Generator,
    device: str,
    progress: Progress,
) -> Product:
    """A mixture for each class, fitted to its own part of the embedding alone; classes weighted by paid counts."""
    groups = layout.refine(histograms, [asked])
    classes = int(groups[label].max()) + 1
    shares = np.bincount(groups[label], weights=histograms[label].mass) / total
    options = replace(options, ensembles=max(options.ensembles // classes, 2))
    weights, probs = [], []
    for c in range(classes):
        mine = _within(histograms, groups, asked, label, c, total * max(float(shares[c]), 1e-6))
        w, table = _fit_class(mine, groups, _slice(asked, c), options, rng=rng, device=device)
        weights.append(shares[c] * w)
        only = np.broadcast_to(np.eye(classes)[c], (len(w), classes))
        probs.append(table | {label: only})
        progress((c + 1) / classes)
    share = np.concatenate(weights) / sum(map(np.sum, weights))
    mass = {n: np.bincount(groups[n], weights=h.mass) / total for n, h in histograms.items()}
    joined = {n: rake(share, np.concatenate([p[n] for p in probs]), mass[n]) for n in histograms}
    return Product(total=total, weights=share, axes=tuple(axis(h, groups[n], joined[n]) for n, h in histograms.items()))


def _fit_class(
    mine: Mapping[str, Histogram],
    groups: Mapping[str, np.ndarray],
    tables: Sequence[CountsRelease],
    options: fitting.Options,
    *,
    rng: np.random.Generator,
    device: str,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Component weights (B,) and every column's group probabilities (B, G_j) within one class."""
    part = float(next(iter(mine.values())).mass.sum())
    if not tables:
        alone = {n: np.bincount(groups[n], weights=h.mass)[None] / part for n, h in mine.items()}
        return np.ones(1), alone
    problem, spans = layout.problem(mine, groups, tables, part)
    weights, probs = fitting.fit(problem, options, rng=rng, device=device, progress=lambda _: None)
    return weights, {n: probs[:, s] for n, s in spans.items()}


def _within(
    histograms: Mapping[str, Histogram],
    groups: Mapping[str, np.ndarray],
    asked: CountsRelease,
    label: str,
    c: int,
    part: float,
) -> dict[str, Histogram]:
    """One-ways inside a class of ``part`` rows: bins by its tables with the label, leaves in their overall shares."""
    out = {n: replace(h, mass=h.mass * (part / h.mass.sum())) for n, h in histograms.items() if n != label}
    for marginal, values in zip(asked.question.marginals, asked.values, strict=True):
        if len(marginal.bins) == 2:
            name = marginal.columns[0]
            mass = project(values[:, c], total=part)
            share = within_groups(np.maximum(histograms[name].mass, 1e-9), groups[name])[1]
            out[name] = replace(out[name], mass=mass[groups[name]] * share, sigma=marginal.sigma)
    return out


def _slice(asked: CountsRelease, c: int) -> list[CountsRelease]:
    """The tables of two columns within one class."""
    retained = [(m, v) for m, v in zip(asked.question.marginals, asked.values, strict=True) if len(m.bins) == 3]
    if not retained:
        return []
    marginals = tuple(replace(m, bins=m.bins[:-1]) for m, _ in retained)
    question = Counts(purpose=pair_queries.PURPOSE, marginals=marginals)
    return [CountsRelease(question=question, values=tuple(v[..., c] for _, v in retained))]
