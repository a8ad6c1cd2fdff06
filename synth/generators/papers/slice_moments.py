"""What noisy slices tell without a network: single columns, and relations by second moments of sums of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import sqrt

import numpy as np

from synth.generators.base import Fit
from synth.generators.core.columns import Histogram
from synth.generators.core.mixture import rake
from synth.generators.core.problem import Problem, TableMatrix
from synth.generators.core.solver import Options, fit_mixture
from synth.lazy import optimize
from synth.numeric.disk_array import chunks
from synth.questions import SlicesRelease
from synth.schema.table import Schema

FEWEST = 8  # groups below which second moments tell nothing
LEAST_NOISE = 0.1  # of a column's mean cell variance
STIFF = 3.0  # weight of the one-ways in the fit against a table's cells; raking sets them in the end
EDGE = 0.6  # of the largest singular value of noise: what is smaller is taken for noise
NEVER = -1e9  # the covariances are drawn to zero already: the fit need not stop before it follows their noise
OPTIONS = Options(components=32, ensembles=4, steps=150, stop=NEVER)
# variance of a bin's log share before anything is seen; a public guess (3 to 30 did alike on ACSIncome, Colorado)
SURPRISE = 10.0
DUAL = {"maxiter": 500, "maxfun": 1000, "ftol": 1e-13, "gtol": 1e-9}
ROUNDS = 60  # of bisection for where a number's law is centred


def rows_and_histograms(release: SlicesRelease, schema: Schema, *, rows: float) -> tuple[float, dict[str, Histogram]]:
    """Row count, at least 1, and every column's histogram. ``rows``: the public or separately counted number.

    A column of one-hot coordinates has the shares of greatest entropy that fit its noisy sums; one on a line the
    normal law, cut off at its ends, that has the noisy mean and about the noisy variance. Where rows were sampled all
    is estimated for the sample, of which the expected size is known, and raised to the table.
    """
    whole = max(rows, 1.0)
    total = max(rows * release.question.share, 1.0)
    sums, squares, shares = _sums(release, total)
    noise = max(len(release.values), 1) * release.question.sigma**2
    result = {
        n: Histogram(column=n, cells=c.cells, starts=np.zeros(1, dtype=np.int64), mass=np.array([whole]), sigma=1.0)
        for n, c in schema.measured().items()
    }
    start = 0
    for i, (block, table) in enumerate(zip(release.question.encoding.blocks, release.question.tables, strict=True)):
        span = slice(start, start + block.width)
        start = span.stop
        square = None if squares is None else squares[span]
        if shares is not None and block.width == len(table):
            mass = total * shares[i]
        else:
            mass = _mass(table, sums[span], square, total, noise)
        result[block.bins.column] = Histogram(
            column=block.bins.column,
            cells=block.bins.cells,
            starts=block.bins.starts,
            mass=mass[block.bins.groups] * (whole / total),
            sigma=1.0,
        )
    return whole, result


def _sums(release: SlicesRelease, total: float) -> tuple[np.ndarray, np.ndarray | None, list[np.ndarray] | None]:
    """Noisy totals of the coordinates over all rows; those of their squares, the noise's own taken off, if told.

    From fewer slices than coordinates: those of the shares that ``_shares`` finds, and these.
    """
    values = release.values
    sums = np.sum([p.sum(0) for p in chunks(values)], axis=0)
    if release.directions is not None:
        shares = _shares(release, sums / total, total)
        means = [m @ t for m, t in zip(shares, release.question.tables, strict=True)]
        return total * np.concatenate(means), None, shares
    squares = np.sum([(p**2).sum(0) for p in chunks(values)], axis=0) - len(values) * release.question.sigma**2
    grouped = release.question.groups is not None  # then rows of a group multiply with each other
    return sums, squares - sums**2 / len(values) if grouped else squares, None


def _shares(release: SlicesRelease, seen: np.ndarray, total: float) -> list[np.ndarray]:
    """Shares of each column's bins from the mean row's slices ``seen``, by greatest entropy."""
    tables, directions = release.question.tables, release.directions
    assert directions is not None
    parts = np.split(directions, np.cumsum([t.shape[1] for t in tables])[:-1])
    noise = max(len(release.values), 1) * (release.question.sigma / total) ** 2
    return _likeliest(tables, [t @ d for t, d in zip(tables, parts, strict=True)], seen, noise)


def _likeliest(
    tables: Sequence[np.ndarray], slopes: Sequence[np.ndarray], seen: np.ndarray, noise: float
) -> list[np.ndarray]:
    """Shares of greatest entropy whose mean (m,), ``slopes`` (bins, m) their bins', is ``seen`` up to noise.

    Most bins of a wide column lie below the noise, or fewer slices than bins are known: least squares alone would put
    all of it on a few bins. Here the misfit's half chi-square plus, for each column, its coordinates / ``SURPRISE``
    times the relative entropy against even shares is least: the shares are then exponential in a combination of the
    slices, found by its dual, which is smooth and has one unknown a slice. **Source**: Jaynes 1957; the dual with a
    quadratic misfit is that of Dudik, Phillips and Schapire, JMLR 8 (2007).
    """
    ends, stiff = np.cumsum([0] + [len(t) for t in tables]), [t.shape[1] / SURPRISE for t in tables]
    flat = np.concatenate(slopes)

    def dual(price: np.ndarray) -> tuple[float, np.ndarray]:
        height, shares = _exponential(flat @ price, ends, stiff)
        value = height - price @ seen + noise / 2 * price @ price
        return value, flat.T @ np.concatenate(shares) - seen + noise * price

    solution = optimize.minimize(dual, np.zeros(len(seen)), jac=True, method="L-BFGS-B", options=DUAL)
    return _exponential(flat @ solution.x, ends, stiff)[1]


def _exponential(scores: np.ndarray, ends: np.ndarray, stiff: list[float]) -> tuple[float, list[np.ndarray]]:
    """(sum of stiffness times log mean exp(scores / stiffness), each column's shares): its gradient in the scores."""
    height, shares = 0.0, []
    for low, high, by in zip(ends, ends[1:], stiff, strict=False):
        x = scores[low:high] / by
        grown = np.exp(x - x.max())
        height += by * (float(np.log(grown.mean())) + float(x.max()))
        shares.append(grown / grown.sum())
    return height, shares


def _mass(table: np.ndarray, sums: np.ndarray, squares: np.ndarray | None, total: float, noise: float) -> np.ndarray:
    """Rows of each bin, (bins,)."""
    bins, wide = table.shape
    if bins == 1:
        return np.full(1, total)
    if wide == bins:
        return total * _likeliest([table], [table], sums / total, noise / total**2)[0]
    height = float(table[:, 0].max())
    inner = np.flatnonzero(table[:, 1:].sum(1) <= 0)
    outer = np.flatnonzero(table[:, 1:].sum(1) > 0)
    codes = np.clip(sums[1:] / max(table[outer, 1:].max(initial=0.0), 1e-300), 0.0, total)
    left = max(total - codes.sum(), 1e-3 * total)
    place = table[inner, 0] / max(height, 1e-300)
    mean = float(np.clip(sums[0] / max(height, 1e-300) / left, 0.0, 1.0))
    spread = 1 / 12  # of even shares
    if squares is not None:
        spread = float(np.clip(squares[0] / max(height**2, 1e-300) / left - mean**2, 0.0, spread))
    doubt = np.sqrt(noise) / max(height, 1e-300) / left
    out = np.zeros(bins)
    out[inner] = left * _tilted(place, mean, max(spread, 1e-3, doubt**2))
    out[outer] = codes
    return out * (total / out.sum())


def _tilted(place: np.ndarray, mean: float, spread: float) -> np.ndarray:
    """Shares that fall off as a normal law of this variance, centred so that their mean is the given one."""
    low, high = -3.0, 4.0
    for _ in range(ROUNDS):
        centre = (low + high) / 2
        energy = (place - centre) ** 2 / (2 * spread)
        share = np.exp(energy.min() - energy)
        share /= share.sum()
        low, high = (centre, high) if share @ place < mean else (low, centre)
    return share


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
    products = np.zeros_like(noise)
    for part in chunks(values):  # of coordinates (d, d), groups' estimated sizes regressed out
        centred = (part - middle) - np.outer((part - middle) @ left, mean)
        products += centred.T @ centred
    result = products / groups - noise
    ends = np.cumsum([0] + [e.shape[1] for e in tables])
    spans = [slice(int(a), int(b)) for a, b in pairwise(ends)]
    parts = [_column(e, m, size, noise[s, s]) for e, m, s in zip(tables, masses, spans, strict=True)]
    return _assembled(result, spans, parts, groups)


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
        thin = sizes * np.maximum(1 - (edge / np.maximum(sizes, 1e-300)) ** 2, 0.0)
        out[a, b] = (left * thin) @ right
        out[b, a] = out[a, b].T
    return out


def _factor(parts: Sequence[np.ndarray], groups: int) -> float:
    """What is left of these covariances: more than noise's expected square, by a deviation, is asked for."""
    cells = sum(p.size for p in parts)
    seen = groups * sum(float((p**2).sum()) for p in parts)
    margin = cells + sqrt(2 * cells) + 2 * cells / sqrt(groups)
    return max(0.0, 1 - margin / seen) if seen > 0 else 0.0


def mixture(
    result: SliceMoments, matrix: np.ndarray, masses: Sequence[np.ndarray], how: Fit
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Weights (B,) and each column's probabilities (B, bins) of a mixture with these one-ways and covariances."""
    if not matrix.any():
        return np.ones(1), [m[None, :] for m in masses]
    problem, spans = _problem(result, matrix, masses)
    weights, probs = fit_mixture(problem, OPTIONS, rng=how.rng, device=how.device, progress=how.progress)
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
    filled = variance > 1e-12 * max(float(variance.max(initial=0.0)), 1e-300)
    least = LEAST_NOISE * float(variance[filled].mean()) if filled.any() else 1.0
    return np.where(filled, np.maximum(variance, least), np.inf)
