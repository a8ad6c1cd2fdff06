"""Merging of neighbouring leaves into bins heavy enough to stand out of the noise."""

import numpy as np


def merge(mass: np.ndarray, *, least: float) -> np.ndarray:
    """Bin of each leaf, (L,) int64: heavy leaves alone, light ones joined with the next light ones.

    Light leaves are gathered in the given order, over the heavy ones between them, into bins as equal as the leaves
    allow, as many as could weigh ``least`` each.

    >>> merge(np.array([1.0, 1.0, 9.0, 1.0, 1.0, 0.5]), least=2).tolist()
    [0, 0, 1, 2, 2, 2]
    >>> merge(np.array([1.0, 0.0, 2.0]), least=0).tolist()
    [0, 1, 2]
    """
    heavy = mass >= least
    light = np.where(heavy, 0.0, mass)
    whole = light.sum()
    bins = max(int(whole / least), 1) if whole > 0 else 1
    middle = np.cumsum(light) - light / 2
    owner = np.minimum((middle * (bins / max(whole, 1e-300))).astype(np.int64), bins - 1)
    owner[heavy] = bins + np.arange(heavy.sum())
    return _in_order(owner)


def _in_order(labels: np.ndarray) -> np.ndarray:
    """Labels renumbered 0.. by first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def merge_bins(mass: np.ndarray, groups: np.ndarray, *, least: float) -> np.ndarray:
    """As ``merge``, of bins that are themselves groups of leaves: the result is coarser than ``groups``."""
    return merge(np.bincount(groups, weights=mass), least=least)[groups]


def split(groups: np.ndarray, finer: np.ndarray) -> np.ndarray:
    """The coarsest grouping of leaves (L,) that is finer than both.

    >>> split(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])).tolist()
    [0, 1, 2, 2]
    """
    return _in_order(groups * (int(finer.max()) + 1) + finer)
