"""The slicing paper's four scores of likeness, from 0 to 1, 1 the best. For the steward alone: they use real rows.

**Source**: arXiv 2410.19941, Table 1, by SDMetrics' definitions: KSComplement, TVComplement, ContingencySimilarity
and CorrelationSimilarity, computed here on positions, over all levels and without a subsample of their own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from synth.evaluate.distances import shares_of, tv
from synth.evaluate.read_sample import Sample

DENSE = 1 << 22  # cells of a joint table that is counted whole; a larger one is counted where it has rows
MOST_PAIRS = 2_000  # pairs of categorical columns compared; of more a seeded choice


@dataclass(frozen=True, kw_only=True, eq=False)
class Similarity:
    """Means over the columns and pairs that a score is defined on; None where there is none.

    ``correlations``: names (k,) and Pearson correlations (k, k) of the real and of the other table, NaN where a
    column does not vary.
    """

    ks: float | None
    tv: float | None
    contsim: float | None
    corrsim: float | None
    names: tuple[str, ...]
    correlations: tuple[np.ndarray, np.ndarray] = field(repr=False)


def similarity(real: Sample, other: Sample, *, rng: np.random.Generator) -> Similarity:
    """The four scores of ``other`` against ``real``."""
    numeric, categorical = real.numeric(), real.categorical()
    pairs = list(combinations(categorical, 2))
    if len(pairs) > MOST_PAIRS:
        pairs = [pairs[i] for i in rng.choice(len(pairs), MOST_PAIRS, replace=False)]
    both = correlations(real, numeric), correlations(other, numeric)
    above = np.triu_indices(len(numeric), 1)
    return Similarity(
        ks=_mean(1 - _kolmogorov(real.values(n), other.values(n)) for n in numeric),
        tv=_mean(1 - variation(real, other, (n,)) for n in categorical),
        contsim=_mean(1 - variation(real, other, pair) for pair in pairs),
        corrsim=_mean(1 - np.abs(both[0] - both[1])[above] / 2),
        names=tuple(numeric),
        correlations=both,
    )


def variation(real: Sample, other: Sample, names: tuple[str, ...], *, dense: int = DENSE) -> float:
    """Total variation distance of two tables' joint distribution of categorical columns, every level its own."""
    cells = np.prod([float(real.columns[n].cells) for n in names])
    codes = [np.zeros(s.used, dtype=np.int64) for s in (real, other)]
    for name in names:
        codes = [c * real.columns[name].cells + s.positions[name] for c, s in zip(codes, (real, other), strict=True)]
    if cells > dense:
        _, index = np.unique(np.concatenate(codes), return_inverse=True)
        codes, cells = np.split(index, [real.used]), index.max() + 1
    return tv(*(shares_of(c, int(cells)) for c in codes))


def _kolmogorov(real: np.ndarray, other: np.ndarray) -> float:
    """The largest difference of two distribution functions; NaN where a column is wholly missing.

    >>> _kolmogorov(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    real, other = (np.sort(v[~np.isnan(v)]) for v in (real, other))
    if not len(real) or not len(other):
        return float("nan")
    at = np.concatenate([real, other])
    below = [np.searchsorted(v, at, side="right") / len(v) for v in (real, other)]
    return float(np.abs(below[0] - below[1]).max())


def correlations(sample: Sample, names: list[str]) -> np.ndarray:
    """Pearson correlations (k, k), each pair over the rows where both are known; NaN where one does not vary."""
    table = np.array([sample.values(n) for n in names]).reshape(len(names), sample.used)
    known = ~np.isnan(table)
    centre = np.array([[row[k].mean() if k.any() else 0.0] for row, k in zip(table, known, strict=True)]).reshape(-1, 1)
    filled, here = np.where(known, table - centre, 0.0), known.astype(float)
    count = here @ here.T
    with np.errstate(all="ignore"):
        mean = filled @ here.T / count  # of the row's column over the rows that both know
        spread = (filled**2) @ here.T / count - mean**2
        joint = filled @ filled.T / count - mean * mean.T
        result = joint / np.sqrt(spread * spread.T)
    varies = spread > 1e-12 * np.nanmax(spread, axis=1, initial=0.0, keepdims=True)
    return np.where(varies & varies.T, np.clip(result, -1, 1), np.nan)


def _mean(values: Iterable[float] | np.ndarray) -> float | None:
    retained = [float(v) for v in values if np.isfinite(v)]
    return float(np.mean(retained)) if retained else None
