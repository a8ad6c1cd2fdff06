"""Relations between columns from the second moments of noisy group sums, and the mixture fitted to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import sqrt

import numpy as np

from synth.generators.base import Progress
from synth.generators.marginals import fit_mixture as fitting
from synth.generators.marginals.mixture import rake
from synth.generators.marginals.problem import Problem, TableMatrix
from synth.numeric.disk_array import chunks
from synth.questions import SlicesRelease

FEWEST = 8  # groups below which second moments tell nothing
LEAST_NOISE = 0.1  # of a column's mean cell variance
STIFF = 3.0  # weight of the one-ways in the fit against a table's cells; raking sets them in the end
EDGE = 0.6  # of the largest singular value of noise: what is smaller is taken for noise
NEVER = -1e9  # the covariances are drawn to zero already: the fit need not stop before it follows their noise
OPTIONS = fitting.Options(components=32, ensembles=4, steps=150, stop=NEVER)


@dataclass(frozen=True, kw_only=True, eq=False)
class SliceMoments:
    """Covariances between columns in coordinates where their noise is even.

    ``matrix`` (r, r): for two different columns their whitened covariance, noise of variance 1 / ``groups`` in every
    entry; zero for a column with itself. ``spans``: each column's rows. ``back``: for each column (bins, rows), by
    which covariances of cells follow, C = back_a M_ab back_b'.
    """

    matrix: np.ndarray
    spans: list[slice]
    back: list[np.ndarray]
    groups: int


def moments(release: SlicesRelease, masses: Sequence[np.ndarray], *, total: float) -> SliceMoments:
    """Whitened covariances of all pairs of columns, from the noisy sums of random groups.

    With S_k the sum of group k, m the one-ways and E the columns' tables, S_k varies about (rows of group k) E'm with
    covariance (mean rows) E'CE. Rows of a group are estimated from the sums of its coordinates and regressed out; a
    sum over a column's cells is constant, so that direction is projected out by generalised least squares.
    ``masses``: each column's shares, (bins,), summing to one. ``total``: number of rows. Where a group is a record,
    its size is known.
    """
    sigma, tables, values = release.question.sigma, release.question.tables, release.values
    groups = len(values)
    size = 1.0 if release.question.groups is None else total / groups
    mean = np.concatenate([e.T @ m for e, m in zip(tables, masses, strict=True)])
    left = np.zeros(len(mean)) if release.question.groups is None else _sizes(tables, sigma, size)
    # records' own mean: the one-ways are drawn to even shares, and what they are off would look like a relation
    middle = sum(p.sum(0) for p in chunks(values)) / groups if release.question.groups is None else size * mean
    turn = np.eye(len(mean)) - np.outer(mean, left)
    spread = 0.0 if release.question.groups is None else size
    noise = turn @ (spread * np.outer(mean, mean) + sigma**2 * np.eye(len(mean))) @ turn.T
    result = sum(_products(p - middle, left, mean) for p in chunks(values)) / groups - noise
    ends = np.cumsum([0] + [e.shape[1] for e in tables])
    spans = [slice(int(a), int(b)) for a, b in pairwise(ends)]
    parts = [_column(e, m, size, noise[s, s]) for e, m, s in zip(tables, masses, spans, strict=True)]
    return _assembled(result, spans, parts, groups)


def _products(centred: np.ndarray, left: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Sums of products of coordinates (d, d), groups' estimated sizes regressed out."""
    centred = centred - np.outer(centred @ left, mean)
    return centred.T @ centred


def _sizes(tables: Sequence[np.ndarray], sigma: float, size: float) -> np.ndarray:
    """Linear estimate of a group's rows beyond their mean, (d,): columns whose cells' coordinates sum to a constant
    tell it, each with noise of its own; the prior is Poisson's variance."""
    parts, precision = [], 1 / size
    for table in tables:
        sums = np.linalg.lstsq(table, np.ones(len(table)), rcond=None)[0]
        tells = bool(np.allclose(table @ sums, 1.0, atol=1e-6))
        weight = 1 / (sigma**2 * float(sums @ sums)) if tells else 0.0
        parts.append(weight * sums)
        precision += weight
    return np.concatenate(parts) / precision


def _column(table: np.ndarray, mass: np.ndarray, size: float, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(whitening (d, r), back (bins, r)) of one column."""
    free = np.diag(mass) - np.outer(mass, mass)
    inner = table.T @ free @ table
    centre = table - table.mean(0)
    left, sizes, _ = np.linalg.svd(centre.T, full_matrices=False)
    basis = left[:, sizes > 1e-6 * max(float(sizes.max(initial=0.0)), 1e-300)]
    inverse = np.linalg.inv(size * inner + noise + 1e-12 * np.trace(noise) * np.eye(len(noise)))
    strength, turn = np.linalg.eigh(basis.T @ inverse @ basis)
    scale = turn / np.sqrt(np.maximum(strength, 1e-300)) @ turn.T
    back = free @ table @ np.linalg.pinv(inner, rcond=1e-9, hermitian=True) @ basis @ scale / sqrt(size)
    return inverse @ basis @ scale, back


def _assembled(result: np.ndarray, spans: list[slice], parts, groups: int) -> SliceMoments:
    ends = np.cumsum([0] + [w.shape[1] for w, _ in parts])
    rows = [slice(int(a), int(b)) for a, b in pairwise(ends)]
    matrix = np.zeros((ends[-1], ends[-1]))
    for i, (a, _) in enumerate(parts):
        for j, (b, _) in enumerate(parts):
            if i != j:
                matrix[rows[i], rows[j]] = a.T @ result[spans[i], spans[j]] @ b
    return SliceMoments(matrix=matrix, spans=rows, back=[b for _, b in parts], groups=groups)


def shrunk(result: SliceMoments, pools: np.ndarray) -> np.ndarray:
    """The matrix with pairs drawn to zero: independence, where nothing but noise is seen.

    ``pools`` (columns, columns): a pool's number for each pair. The factor is a pool's, not a pair's: choosing
    pairs by what they show lets noise in. It asks for more than the noise's expected square.
    **Source**: James and Stein 1961; positive part, the noise variance known.
    """
    out = np.zeros_like(result.matrix)
    if result.groups < FEWEST:
        return out
    for pool in np.unique(pools):
        pairs = [(i, j) for i, j in zip(*np.nonzero(pools == pool), strict=True) if i < j]
        parts = [result.matrix[result.spans[i], result.spans[j]] for i, j in pairs]
        factor = _factor(parts, result.groups)
        for (i, j), part in zip(pairs, parts, strict=True):
            out[result.spans[i], result.spans[j]] = factor * part
            out[result.spans[j], result.spans[i]] = factor * part.T
    return out


def thinned(result: SliceMoments) -> np.ndarray:
    """The matrix with each pair's directions drawn to zero by what noise alone makes of the largest of them.

    For a release of single records: its noise hides all but a few directions of a few pairs, and a factor common to
    pairs would pay for these with all others.
    **Source**: singular values of a matrix of noise, about sqrt(a) + sqrt(b) (Geman 1980).
    """
    out = np.zeros_like(result.matrix)
    if result.groups < FEWEST:
        return out
    for a, b in combinations(result.spans, 2):
        left, sizes, right = np.linalg.svd(result.matrix[a, b], full_matrices=False)
        edge = EDGE * sum(sqrt(n) for n in result.matrix[a, b].shape) / sqrt(result.groups)
        retained = sizes * np.maximum(1 - (edge / np.maximum(sizes, 1e-300)) ** 2, 0.0)
        out[a, b] = (left * retained) @ right
        out[b, a] = out[a, b].T
    return out


def _factor(parts: Sequence[np.ndarray], groups: int) -> float:
    """What is left of these covariances: more than noise's expected square, by a deviation, is asked for."""
    cells = sum(p.size for p in parts)
    seen = groups * sum(float((p**2).sum()) for p in parts)
    margin = cells + sqrt(2 * cells) + 2 * cells / sqrt(groups)
    return max(0.0, 1 - margin / seen) if seen > 0 else 0.0


def mixture(
    result: SliceMoments,
    matrix: np.ndarray,
    masses: Sequence[np.ndarray],
    *,
    rng: np.random.Generator,
    device: str,
    progress: Progress,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Weights (B,) and each column's probabilities (B, bins) of a mixture with these one-ways and covariances."""
    if not matrix.any():
        return np.ones(1), [m[None, :] for m in masses]
    problem, spans = _problem(result, matrix, masses)
    weights, probs = fitting.fit(problem, OPTIONS, rng=rng, device=device, progress=progress)
    return weights, [rake(weights, probs[:, s], m) for s, m in zip(spans, masses, strict=True)]


def _problem(result: SliceMoments, matrix: np.ndarray, masses: Sequence[np.ndarray]) -> tuple[Problem, list[slice]]:
    ends = np.cumsum([0] + [len(m) for m in masses])
    spans = [slice(int(a), int(b)) for a, b in pairwise(ends)]
    mass, groups = np.concatenate(masses), np.arange(ends[-1])
    goal, precision = np.outer(mass, mass), np.zeros((len(mass), len(mass)))
    noise = [_noise((b**2).sum(1)) for b in result.back]
    for i, a in enumerate(spans):
        for j, b in enumerate(spans):
            if i != j:
                goal[a, b] += result.back[i] @ matrix[result.spans[i], result.spans[j]] @ result.back[j].T
                precision[a, b] = 0.5 * result.groups / np.outer(noise[i], noise[j])
    laid = Problem(
        column=np.repeat(np.arange(len(masses)), [len(m) for m in masses]),
        mass=mass,
        precision=np.full(len(mass), 2 * STIFF * float(precision.max())),
        member=np.stack([groups, groups]),
        joint=np.zeros((2, 0), dtype=np.int64),
        blocks=[TableMatrix(rows=groups, cols=groups, y=goal, precision=precision, mirrored=True)],
    )
    return laid, spans


def _noise(variance: np.ndarray) -> np.ndarray:
    """Variance of each cell, bounded below so that no cell stiffens the fit; infinite for bins without any rows."""
    held = variance > 1e-12 * max(float(variance.max(initial=0.0)), 1e-300)
    least = LEAST_NOISE * float(variance[held].mean()) if held.any() else 1.0
    return np.where(held, np.maximum(variance, least), np.inf)
