"""Noisy tables of two columns, drawn part of the way to what a few directions of dependence explain of them."""

from collections.abc import Mapping, Sequence

import numpy as np

from synth.generators.marginals.choose_logits import averaged
from synth.generators.marginals.histogram import Histogram
from synth.questions import Counts, CountsRelease, Marginal

HALFWAY = 0.5  # of the way, for a table of which noise hides all
CLEAR, STEEP = 0.5, 4  # dependence, squared and in units of the noise's, at which it is half of that; how fast it falls
LEFT = 0.01  # of the way: less is not worth a decomposition


def shrink_singular_values(
    tables: Sequence[CountsRelease], histograms: Mapping[str, Histogram], total: float
) -> tuple[list[CountsRelease], float, float]:
    """The tables as one release; how far they were moved; and by how much less the truth is off them, were it what they
    are drawn to: both in squared deviations of their noise, over all cells.

    A fit to noisy tables follows noise most where two columns hardly depend on each other. Half-way between a table
    and its denoised form there is as much noise to follow as half of it; tables that stand out of the noise are as
    counted, for theirs is seldom the dependence of a few directions. Tables of more than two columns stay as they are.

    Privacy: released answers only.
    """
    answers = [a for r in tables for a in zip(r.question.marginals, r.values, strict=True)]
    pairs = averaged(a for a in answers if len(a[0].bins) == 2)
    others = [a for a in answers if len(a[0].bins) != 2]
    if not pairs:
        return list(tables), 0.0, 0.0
    drawn, shrunk_by, loss_reduction = [], 0.0, 0.0
    for marginal, values in pairs:
        table, way = _drawn(marginal, values, histograms, total)
        drawn.append((marginal, table))
        far = float(((values - table) ** 2).sum()) / marginal.sigma**2
        shrunk_by += far
        loss_reduction += far * (2 / way - 1) if way > 0 else 0.0  # from 1 to (1 - way) ** 2 of the distance
    whole = [*drawn, *others]
    question = Counts(purpose=tables[0].question.purpose, marginals=tuple(m for m, _ in whole))
    return [CountsRelease(question=question, values=tuple(v for _, v in whole))], shrunk_by, loss_reduction


def _drawn(
    marginal: Marginal, values: np.ndarray, histograms: Mapping[str, Histogram], total: float
) -> tuple[np.ndarray, float]:
    rows, cols = (np.bincount(b.groups, weights=histograms[b.column].mass) for b in marginal.bins)
    alone = np.outer(rows, cols) / total
    table, way = shrink(values - alone, marginal.sigma)
    return (alone + table, way) if way else (values, way)


def shrink(apart: np.ndarray, sigma: float) -> tuple[np.ndarray, float]:
    """What a noisy table (R, C) is off independence, drawn in by as much as its noise suggests; how much that is.

    >>> strong = 100.0 * np.outer([1, -1], [1, -1])
    >>> bool((shrink(strong, 1.0)[0] == strong).all()), shrink(np.ones((2, 2)), 1.0)[0].tolist()
    (True, [[0.5, 0.5], [0.5, 0.5]])
    """
    way = how_far(apart, sigma)
    return apart + way * (few_directions(apart, sigma) - apart) if way else apart, way


def how_far(apart: np.ndarray, sigma: float) -> float:
    """The part of the way from a table to its few directions: ``HALFWAY`` where noise hides it, 0 where it is clear."""
    ratio = max(float((apart**2).mean()) / sigma**2 - 1, 0.0)
    way = HALFWAY / (1 + (ratio / CLEAR) ** STEEP)
    return way if way >= LEFT else 0.0


def few_directions(noisy: np.ndarray, sigma: float) -> np.ndarray:
    """The matrix whose expected squared distance to what lies under white noise is least, of those with its directions.

    Singular values that noise alone could make become zero, greater ones lose what noise adds.
    **Source**: Gavish and Donoho, arXiv 1405.7511, section on the Frobenius norm.
    """
    left, size, right = np.linalg.svd(noisy, full_matrices=False)
    short, long = sorted(noisy.shape)
    aspect, unit = short / long, sigma * np.sqrt(long)
    y = np.maximum(size / unit, 1e-12)
    retained = np.sqrt(np.maximum((y**2 - aspect - 1) ** 2 - 4 * aspect, 0.0)) / y
    out: np.ndarray = (left * np.where(y > 1 + np.sqrt(aspect), retained * unit, 0.0)) @ right
    return out
