"""Drawing one column of a mixture of products again, for chosen rows, from what is still allowed."""

import numpy as np

from synth.schema.intervals import Intervals

CELLS_AT_A_TIME = 1 << 22  # cells of the table of cumulative masses that are held at a time


def redraw(
    *,
    starts: np.ndarray,
    cells: int,
    masses: np.ndarray,
    component: np.ndarray,
    allowed: Intervals,
    least: np.ndarray | None,
    rng: np.random.Generator,
) -> np.ndarray:
    """A position for each row, from its component's distribution conditioned on ``allowed`` and not below ``least``.

    ``starts`` (L,): first position of each leaf, inside which positions are equally likely; ``masses`` (B, L): each
    component's mass of each leaf; ``component`` (n,): the rows' components; ``least`` (n,) or None. A row whose
    component gives what is allowed no mass is drawn evenly from it.
    """
    out = np.empty(len(component), dtype=np.int64)
    edges = np.append(starts, cells)
    before = allowed.below(edges)  # allowed positions below each leaf
    share = np.diff(before) / np.diff(edges)
    floor = np.zeros(len(component), np.int64) if least is None else allowed.below(least)
    order = np.argsort(component, kind="stable")
    for part in np.array_split(order, max(1, len(np.unique(component)) * len(starts) // CELLS_AT_A_TIME)):
        out[part] = _draw(masses * share, component[part], floor[part], before, rng)
    return allowed.nth(np.minimum(out, allowed.size - 1))


def _draw(
    masses: np.ndarray, component: np.ndarray, floor: np.ndarray, before: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Index among the allowed positions for each row: the cumulative law inverted between its floor and its end.

    ``before`` (L+1,): allowed positions below each leaf; within a leaf they are equally likely.
    """
    used, row = np.unique(component, return_inverse=True)
    total = np.cumsum(masses[used], axis=1)
    total = np.concatenate([np.zeros((len(used), 1)), total], axis=1)
    leaf = np.clip(np.searchsorted(before, floor, side="right") - 1, 0, len(before) - 2)
    width = np.maximum(np.diff(before), 1)
    lowest = total[row, leaf] + (total[row, leaf + 1] - total[row, leaf]) * (floor - before[leaf]) / width[leaf]
    highest = total[row, -1]
    target = lowest + rng.random(len(row)) * (highest - lowest)
    chosen = _invert(total, row, target)
    mass = total[row, chosen + 1] - total[row, chosen]
    inside = (target - total[row, chosen]) / np.where(mass > 0, mass, 1.0)
    index = before[chosen] + np.minimum((inside * width[chosen]).astype(np.int64), width[chosen] - 1)
    even = floor + (rng.random(len(row)) * np.maximum(before[-1] - floor, 1)).astype(np.int64)
    return np.where(highest - lowest > 1e-12, np.maximum(index, floor), even)


def _invert(total: np.ndarray, row: np.ndarray, target: np.ndarray) -> np.ndarray:
    """For each row the leaf in whose cumulative mass its target falls: one search over all components' laws."""
    scale = total[:, -1].max() + 1.0
    flat = (total[:, 1:] + scale * np.arange(len(total))[:, None]).ravel()
    result = np.searchsorted(flat, target + scale * row, side="right") - row * (total.shape[1] - 1)
    return np.clip(result, 0, total.shape[1] - 2)
