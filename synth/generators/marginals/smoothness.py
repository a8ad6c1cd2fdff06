"""Neighbouring bins of a number: data treat them alike but for a bend here and there, noise treats each by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.marginals.histogram import Histogram
from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

FEWEST = 6  # merged bins of a column from which on its bins are those of a scale: with fewer, values are codes
HIGHER = 3.0  # than the values around it: such a value is a case of its own


def neighbours(
    histograms: Mapping[str, Histogram],
    groups: Mapping[str, np.ndarray],
    spans: Mapping[str, slice],
    sizes: Mapping[str, int],
) -> np.ndarray:
    """Every three groups, (3, K), that follow each other in a column of numbers.

    ``histograms``: estimated counts by column. ``groups``: the group of each leaf, (L,). ``spans``: where a column's
    groups lie among all. ``sizes``: the number of positions that are values, of columns of numbers alone; those after
    them stand for what is no value. Single values that stand out are passed over: what is left and right of a zero are
    neighbours, the zero is nobody's.
    Privacy: released answers only.

    >>> mass = np.append(np.ones(14), 9.0)
    >>> mass[5] = 30.0
    >>> h = Histogram(column="a", cells=15, starts=np.arange(15), mass=mass, sigma=1.0)
    >>> groups = np.array([0, 0, 1, 1, 2, 3, 2, 4, 4, 5, 5, 6, 6, 6, 7])
    >>> neighbours({"a": h}, {"a": groups}, {"a": slice(10, 18)}, {"a": 14}).tolist()
    [[10, 11, 12, 14], [11, 12, 14, 15], [12, 14, 15, 16]]
    """
    out = [np.zeros((3, 0), dtype=np.int64)]
    for name, size in sizes.items():
        own = _in_order(histograms[name], groups[name], size)
        if len(own):
            own = own + spans[name].start
            out.append(np.stack([own[:-2], own[1:-1], own[2:]]))
    return np.concatenate(out, axis=1)


def _in_order(histogram: Histogram, groups: np.ndarray, size: int) -> np.ndarray:
    """The groups of a column on a scale, lowest first; none of a column that is on none."""
    leaves = np.bincount(groups)
    values = np.bincount(groups, weights=histogram.starts < size) > 0
    middle = np.bincount(groups, weights=np.arange(len(groups))) / leaves
    retained = np.flatnonzero(values & ~_alone(histogram, groups))
    retained = retained[np.argsort(middle[retained], kind="stable")]
    return retained if (leaves[retained] > 1).sum() >= FEWEST else retained[:0]


def _alone(histogram: Histogram, groups: np.ndarray) -> np.ndarray:
    """Which groups are mostly single values that stand out of those around them, such as a zero or a limit."""
    density = histogram.mass / histogram.widths
    padded = np.pad(density, 2, mode="reflect") if len(density) > 2 else np.full(len(density) + 4, np.inf)
    around = (padded[:-4] + padded[1:-3] + padded[3:-1] + padded[4:]) / 4
    stands = (histogram.widths == 1) & (density > HIGHER * around)
    alone = np.bincount(groups, weights=np.where(stands, histogram.mass, 0.0))
    return np.asarray(alone > np.bincount(groups, weights=histogram.mass) / 2)


class Bends:
    """Half of ``strength`` times a component's weight, times the sum over ``three`` neighbours of c b**2.

    b is by how much the component's density over the column's own, as a logarithm, bends at the middle one; c the
    geometric mean of the three's shares of the rows. A component that is a normal distribution bends evenly.
    ``three``: (3, K) groups (``neighbours``). ``mass``: (G,), the share of rows in each group.
    Privacy: released answers only.
    """

    def __init__(self, three: np.ndarray, mass: np.ndarray, device: str, *, strength: float):
        self.strength = strength if three.shape[1] else 0.0
        index = [torch.as_tensor(np.ascontiguousarray(t), dtype=torch.int64, device=device) for t in three]
        self.low, self.middle, self.high = index
        weight = np.maximum(mass, 1e-6)[three].prod(0) ** (1 / 3)
        self.weight = torch.as_tensor(weight, dtype=torch.float32, device=device)[:, None]

    def gradients(self, apart: torch.Tensor, share: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """By ``apart`` (E, G, B), logarithms up to a constant a column, and by the components' weights (E, B)."""
        bend = apart.index_select(1, self.low) + apart.index_select(1, self.high)
        bend -= 2 * apart.index_select(1, self.middle)
        force = bend * self.weight
        by_share = (force * bend).sum(1) * (self.strength / 2)
        force *= (self.strength * share)[:, None, :]
        out = torch.zeros_like(apart)
        out.index_add_(1, self.low, force).index_add_(1, self.high, force).index_add_(1, self.middle, force, alpha=-2)
        return out, by_share
