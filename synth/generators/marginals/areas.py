"""Areas in a mixture: every level of a declared tree is counted, levels agree by least squares, bins follow the tree.

The lowest column of a tree is the one that is measured; levels above are groupings of its positions (schema/areas.py),
so that an answer about a level is one more answer about the same column. Their counts are brought to agree as those of
any tree are (combine.py), each level weighed by its variance; tables of more columns meet in the fit.

Privacy: released answers and public facts only.
**Source**: generalised least squares on a tree, Hay et al., arXiv 0904.0942; every level of a geography asked, as
TopDown does, Abowd et al., arXiv 2204.08986.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals.combine import sharpen
from synth.generators.marginals.histogram import Histogram, estimate
from synth.generators.marginals.merging import merge, merge_bins
from synth.generators.product_mixture.strata import Strata
from synth.questions import Bins, Counts, CountsRelease, Marginal
from synth.schema.areas import trees
from synth.schema.table import Schema

PURPOSE = "one-way, areas"
WEIGHT = 8.0  # of an area column's own counts, against 1 of any other column
FINE = 0.25  # part of the rows that a bin of other columns holds: what little noise leaves of areas the fit shares out
BRANCHES = 2.0  # areas below one of a level, on average, from which on that level is counted by itself

STRATUM, STRATA = 500, 200  # rows of areas that are drawn by themselves, at least, and how many of these at most

Levels = Sequence[np.ndarray]  # of a column, from the lowest up: the area (cells,) of each position


def of(schema: Schema) -> dict[str, list[np.ndarray]]:
    """By lowest column the levels above it. Privacy: public only."""
    return {n: [level.of for level in up] for n, up in trees(schema.columns).items()}


def counted(levels: Levels) -> list[np.ndarray]:
    """The levels that are counted by themselves: those with ``BRANCHES`` areas of the next counted one or more each.

    >>> [len(counted([np.arange(n) // 2 for n in (8,)])), len(counted([np.array([0, 1, 2, 2])]))]
    [1, 0]
    """
    out: list[np.ndarray] = []
    below = len(levels[0]) if levels else 0
    for level in levels:
        size = len(np.unique(level))
        if size > 1 and below >= BRANCHES * size:
            out.append(np.unique(level, return_inverse=True)[1].reshape(-1))
            below = size
    return out


def question(setting: Setting, shares: Mapping[str, float]) -> Counts | None:
    """Every level that is counted by itself; ``shares``: of the budget, for each level of a column."""
    marginals = [
        Marginal(bins=(_bins(name, level),), sigma=setting.sigma(shares[name]))
        for name, levels in of(setting.schema).items()
        if name in shares
        for level in counted(levels)
    ]
    return Counts(purpose=PURPOSE, marginals=tuple(marginals)) if marginals else None


def released(releases: Sequence[Any]) -> list[CountsRelease]:
    """The answers to that question."""
    return [r for r in releases if isinstance(r, CountsRelease) and r.question.purpose == PURPOSE]


def estimated(releases: Sequence[Any], setting: Setting) -> tuple[float, dict[str, Histogram]]:
    """As ``histogram.estimate``, columns of areas agreeing with what every level says."""
    total, histograms = estimate(releases, setting)
    return total, sharpen(histograms, released(releases), total)


def strata(histograms: Mapping[str, Histogram], schema: Schema, total: float) -> Strata | None:
    """Areas that are drawn by themselves, light ones together along the tree; of the first tree, where it tells any."""
    for name, levels in of(schema).items():
        if name in histograms:
            mass = histograms[name].mass
            groups = merged(mass, np.arange(len(mass)), least=max(STRATUM, total / STRATA), levels=levels)
            return Strata(column=name, groups=groups) if groups.max() > 0 else None
    return None


def merged(mass: np.ndarray, groups: np.ndarray, *, least: float, levels: Levels = ()) -> np.ndarray:
    """As ``merge_bins``, of areas along their tree: ``levels`` (L,) each, of none as for any other column.

    Areas are joined inside the next area above as long as that holds ``least``; one that does not is joined as a whole
    with others inside the one above it.

    >>> two = [np.array([0, 0, 0, 1, 1, 2, 2])]
    >>> merged(np.array([9.0, 4, 4, 9, 9, 1, 1]), np.arange(7), levels=two, least=8).tolist()
    [0, 1, 1, 2, 3, 4, 4]
    """
    if not levels:
        return merge_bins(mass, groups, least=least)
    labels, settled = groups.astype(np.int64), np.zeros(len(groups), dtype=bool)
    for level in [*levels, np.zeros(len(groups), dtype=np.int64)]:
        last, whole = not level.any(), np.bincount(level, weights=mass)
        for area in np.unique(level[~settled]):
            at = np.flatnonzero((level == area) & ~settled)
            own = np.unique(labels[at], return_inverse=True)[1].reshape(-1)
            held = last or whole[area] >= least
            joined = merge(np.bincount(own, weights=mass[at]), least=least)[own] if held else np.zeros_like(own)
            labels[at] = labels.max() + 1 + joined
            settled[at] |= held
    return _coarser(labels, groups)


def _coarser(labels: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The finest grouping that is coarser than both, numbered by first appearance."""
    out = np.unique(labels, return_inverse=True)[1].reshape(-1)
    while True:
        least = np.full(int(groups.max()) + 1, len(out))
        np.minimum.at(least, groups, out)
        after = np.full(int(out.max()) + 1, len(out))
        np.minimum.at(after, out, least[groups])
        if np.array_equal(after[out], out):
            break
        out = after[out]
    _, first, inverse = np.unique(out, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.reshape(-1)]


def _bins(column: str, groups: np.ndarray) -> Bins:
    return Bins(column=column, cells=len(groups), starts=np.arange(len(groups)), groups=groups)
