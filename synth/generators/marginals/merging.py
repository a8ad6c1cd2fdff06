"""Merging of neighbouring leaves into bins heavy enough to stand out of the noise."""

import numpy as np


def merge(mass: np.ndarray, *, least: float) -> np.ndarray:
    """Bin of each leaf, (L,) int64: heavy leaves alone, light ones joined with the next light ones.

    Light leaves are gathered in the given order, over the heavy ones between them, until they weigh
    ``least``; a remainder below half of it joins the last such bin.

    >>> merge(np.array([1.0, 1.0, 9.0, 1.0, 1.0, 0.5]), least=3).tolist()
    [0, 0, 1, 0, 2, 2]
    """
    owner = np.zeros(len(mass), dtype=np.int64)
    opened, weight, last, count = -1, 0.0, -1, 0
    for i, m in enumerate(mass):
        if m >= least:
            owner[i], count = count, count + 1
            continue
        if opened < 0:
            opened, count, weight = count, count + 1, 0.0
        owner[i] = opened
        weight += m
        if weight >= least:
            opened, last = -1, opened
    if opened >= 0 and last >= 0 and weight < least / 2:
        owner[owner == opened] = last
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
