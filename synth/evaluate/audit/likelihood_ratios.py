"""Log likelihood ratios: how much a release speaks for one table against another that an attacker compares it with.

He knows both tables and the mechanism as published, so that a fault in the mechanism is a fault in his formula: the
auditor's scores (evaluate.audit) do not rely on it.
"""

from math import prod
from typing import Any

import numpy as np

from synth.evaluate.audit.neighbours import Positions
from synth.lazy import Lazy
from synth.mechanisms import nearest, search, selection
from synth.questions import (
    Bins,
    ChoiceRelease,
    CountsRelease,
    EmbeddingRelease,
    ExternalRelease,
    FunctionalRelease,
    GaussianKernel,
    LaplaceRelease,
    NearestRelease,
    SearchRelease,
    SlicesRelease,
    StepRelease,
)
from synth.questions.features import codes, looked_up

special = Lazy("scipy.special")


def ratio(release: Any, one: Positions, other: Positions) -> float:
    """log p(release | one) - log p(release | other), as far as a closed form goes; 0 for kinds that have none.

    Exact for noisy sums, kernel paths and choices. For slices of random groups the groups' other rows are left out.
    """
    match release:
        case CountsRelease():
            tables = [(m.bins, v, m.sigma) for m, v in zip(release.question.marginals, release.values, strict=True)]
            return sum(_table(*t, one, other) for t in tables)
        case ExternalRelease():
            measured = zip(release.cliques, release.values, release.sigmas, strict=True)
            bins = release.question.bins
            return sum(_table(tuple(bins[c] for c in clique), v, s, one, other) for clique, v, s in measured)
        case EmbeddingRelease():
            means = [release.question.features.of(t).sum(0) for t in (one, other)]
            return _normal(release.values, means[0], means[1], release.question.sigma)
        case NearestRelease():
            votes = [nearest.votes(release.question, t).astype(float) for t in (one, other)]
            return _normal(release.values, votes[0], votes[1], release.question.sigma)
        case SlicesRelease():
            return _slices(release, one, other)
        case FunctionalRelease():
            return _path(release, one, other)
        case StepRelease():
            return _step(release, one, other)
        case ChoiceRelease():
            laws = [selection.scores(release.question, t) / release.question.scale for t in (one, other)]
            logs = [s - s.max() - np.log(np.exp(s - s.max()).sum()) for s in laws]
            return float(logs[0][release.index] - logs[1][release.index])
        case LaplaceRelease():
            pairs = list(zip(release.question.tables, release.values, strict=True))
            far = [[np.abs(v.ravel() - counted(t, r)).sum() for r in (one, other)] for t, v in pairs]
            return float(sum(b - a for a, b in far)) / release.question.scale
        case SearchRelease():
            return _picks(release, one) - _picks(release, other)
        case _:
            return 0.0


def _picks(release: SearchRelease, rows: Positions) -> float:
    """The logarithm of the chance of these picks, one after the other."""
    left, total = search.scores(release.question, rows) / release.question.scale, 0.0
    for index in release.chosen:
        total += float(left[index] - special.logsumexp(left))
        left[index] = -np.inf
    return total


def _normal(values: np.ndarray, one: np.ndarray, other: np.ndarray, sigma: float) -> float:
    return float(np.sum((one - other) * (values - (one + other) / 2))) / sigma**2


def _table(bins: tuple[Bins, ...], values: np.ndarray, sigma: float, one: Positions, other: Positions) -> float:
    counts = [counted(bins, t) for t in (one, other)]
    return _normal(values.ravel(), counts[0], counts[1], sigma)


def counted(bins: tuple[Bins, ...], rows: Positions) -> np.ndarray:
    """Exact counts of one table, flat."""
    axes = [codes(b, rows[b.column]) for b in bins]
    inside = np.logical_and.reduce([a >= 0 for a in axes])
    flat = np.ravel_multi_index([a[inside] for a in axes], [b.size for b in bins])
    return np.bincount(flat, minlength=prod(b.size for b in bins)).astype(float)


def _encoded(release: SlicesRelease, rows: Positions) -> np.ndarray:
    """Rows as the question's vectors, (n, d); seen through its directions where these are told."""
    coordinates = np.hstack([looked_up(b, rows[b.bins.column]) for b in release.question.encoding.blocks])
    return coordinates if release.directions is None else coordinates @ release.directions


def _slices(release: SlicesRelease, one: Positions, other: Positions) -> float:
    """One sum: exact. A sum for each record: the records' own rows. Random groups: a mixture over the unit's group."""
    sums, sigma = release.values, release.question.sigma
    tables = [_encoded(release, t) for t in (one, other)]
    if release.question.groups is None and len(tables[0]) == len(tables[1]):
        return _normal(sums, tables[0], tables[1], sigma)
    means = [t.sum(0) for t in tables]
    if len(sums) == 1:
        return _normal(sums[0], means[0], means[1], sigma)
    company = means[1] / len(sums)
    shifted = means[0] - means[1]
    each = ((sums - company) @ shifted - shifted @ shifted / 2) / sigma**2
    return float(np.logaddexp.reduce(each) - np.log(len(sums)))


def _path(release: FunctionalRelease, one: Positions, other: Positions) -> float:
    asked, kernel, more = release.question, release.question.kernel, {"gradients": release.question.gradients}
    points, unique = np.unique(asked.points, axis=0, return_index=True)
    values = release.values[unique].reshape(len(points), -1)
    if isinstance(kernel, GaussianKernel):
        values = values * np.array([1.0] + [kernel.unit] * (values.shape[1] - 1))
    means = [kernel.seen(kernel.coded(t), points, **more).sum(0) for t in (one, other)]
    covariance = asked.sigma**2 * (kernel.gram(points, points, **more) + asked.nugget * np.eye(values.size))
    weights = np.linalg.solve(covariance, means[0] - means[1])
    return float(weights @ (values.ravel() - (means[0] + means[1]) / 2))


def _step(release: StepRelease, one: Positions, other: Positions) -> float:
    """A sampled sum of clipped gradients, the company's taken at its mean; draws of an autoencoder at zero."""
    from synth.mechanisms import gradients  # its extra is asked for only where such a method is audited

    plan = release.question.descent
    taken = gradients.PerExampleGradients(plan)
    taken.at(release.question.weights)

    def summed(rows: Positions) -> np.ndarray:
        at = np.stack([codes(b, rows[b.column]) for b in plan.bins], axis=1)
        taken_gradients = taken.of(at, np.zeros((gradients.CHUNK, plan.latent)))
        return gradients.on_lattice(taken_gradients, plan).sum(0) * plan.lattice

    company = summed(other)
    shifted = summed(one) - company
    speaks = (shifted @ (release.values - plan.rate * company) - shifted @ shifted / 2) / plan.sigma**2
    return float(np.logaddexp(np.log1p(-plan.rate), np.log(plan.rate) + speaks)) if plan.rate < 1 else float(speaks)
