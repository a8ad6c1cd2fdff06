"""A column of a mixture of products: its groups and leaves, how positions are drawn in them, conditions on it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synth.errors import UsageError
from synth.generators.product_mixture import bulk_sampling
from synth.generators.product_mixture.systematic_sampling import Inside, spread


@dataclass(frozen=True, kw_only=True, eq=False)
class Axis:
    """One column of the model: which positions form a leaf, which leaves a group.

    ``starts`` (L,) int64: first position of each leaf; positions inside a leaf are equally likely.
    ``groups`` (L,) int64: the group of a leaf. ``within`` (L,) float32: the leaf's share of its group, the
    same in every component. ``probs`` (B, G) float32: probability of each group in each component.
    """

    column: str
    cells: int
    starts: np.ndarray
    groups: np.ndarray
    within: np.ndarray
    probs: np.ndarray

    @cached_property
    def widths(self) -> np.ndarray:
        """Positions in each leaf, (L,)."""
        return np.diff(np.append(self.starts, self.cells))

    def draw(self, groups: np.ndarray, within: np.ndarray, inside: Inside, rng: np.random.Generator) -> np.ndarray:
        """Positions for rows whose groups are given: leaves in even proportion, then evenly inside a leaf."""
        if len(groups) >= bulk_sampling.FEWEST_ROWS:
            return bulk_sampling.positions(groups, within, self.groups, inside, rng)
        size = self.probs.shape[1]
        order = np.argsort(self.groups, kind="stable")
        rows = np.bincount(groups, minlength=size)
        counts = spread(rows, within[order], self.groups[order], rng)
        leaves = np.empty(len(groups), dtype=np.int64)
        leaves[np.argsort(groups + rng.random(len(groups)))] = np.repeat(order, counts)
        return inside.pick(leaves, rng)


View = tuple[np.ndarray, np.ndarray, Inside]  # probabilities (by group), shares within groups, what to draw


def within_groups(mass: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass of each group, and each leaf's share of its group (zero where the group has none)."""
    sums = np.bincount(groups, weights=mass, minlength=int(groups.max()) + 1)
    return sums, mass / np.where(sums > 0, sums, 1.0)[groups]


def rows_to_one(table: np.ndarray, *, spare: np.ndarray) -> np.ndarray:
    """Rows scaled to sum to one; a row of zeros becomes ``spare``."""
    table = np.where(table.sum(1, keepdims=True) > 0, table, spare)
    return table / table.sum(1, keepdims=True)


def condition(axis: Axis, allowed: np.ndarray) -> View:
    """Allowed share of each group (G,), leaves' shares of what is allowed of a group (L,), what to draw."""
    if len(allowed) == 0 or allowed[0] < 0 or allowed[-1] >= axis.cells:
        raise UsageError(f"condition on {axis.column!r}: needs at least one value, all of them in the schema")
    ends = np.searchsorted(allowed, np.append(axis.starts[1:], axis.cells))
    first = np.append(0, ends[:-1])
    counts = ends - first
    mass, within = within_groups(axis.within * (counts / axis.widths), axis.groups)
    blind = within_groups(counts.astype(float), axis.groups)[1]
    within = np.where(mass[axis.groups] > 0, within, blind)
    return mass, within, Inside(starts=first, counts=counts, allowed=allowed)
