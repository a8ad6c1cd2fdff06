"""Many rows of a mixture of products: no sorting, a few passes over blocks that fit into a processor's cache."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from synth.generators.drawing import cumulative

LEAST = 200_000  # rows from which on this way is taken: so many are close to the model however they are drawn
BLOCK = 1 << 16  # rows at a time
TURN = np.uint64(32)
FINE = 16  # parts of a group in which a leaf is looked for

Given = TypeVar("Given")
Made = TypeVar("Made")


def side_by_side(work: Callable[[Given], Made], given: Iterable[Given]) -> list[Made]:
    """What ``work`` makes of each, on all processors: numpy lets go of the interpreter in long loops."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, given))


def codes(
    num_rows: int, weights: np.ndarray, probs: Sequence[np.ndarray], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Components (num_rows,), and groups (num_rows, J), in random order.

    A component's rows take, in every column, the groups of its sorted share one after the other, at places that a
    multiplication spreads over that share: x -> A x + C, A and C drawn anew for each component and column. C is
    uniform, so that each row alone follows the model; counts are even as those of a lattice are.
    **Source**: shifted lattice rules (Cranley and Patterson 1976).
    """
    edges = np.floor(np.append(0.0, cumulative(weights)) * num_rows + rng.random()).astype(np.int64)
    edges[0], edges[-1] = 0, num_rows
    rows = np.diff(edges)
    owner = np.repeat(np.arange(len(rows), dtype=np.int32), rows)
    order = rng.permutation(num_rows)
    component = owner[order]
    place = (order - edges[component]).astype(np.uint32)
    start, size = edges[:-1], rows.astype(np.uint64)

    def column(given: tuple[np.ndarray, np.random.Generator]) -> np.ndarray:
        table, own = given
        groups, drawn = _sorted_groups(rows, table, own), np.empty(num_rows, dtype=np.int32)
        factor = own.integers(1 << 28, (1 << 32) - (1 << 28), len(rows), dtype=np.uint32)
        shift = own.integers(0, 1 << 32, len(rows), dtype=np.uint32)
        for at in range(0, num_rows, BLOCK):
            part = component[at : at + BLOCK]
            turned = place[at : at + BLOCK] * factor[part] + shift[part]  # modulo 2**32
            spread = (turned.astype(np.uint64) * size[part]) >> TURN
            drawn[at : at + BLOCK] = groups[start[part] + spread.astype(np.int64)]
        return drawn

    made = side_by_side(column, zip(probs, rng.spawn(len(probs)), strict=True))
    return component, np.stack(made).T


def _sorted_groups(rows: np.ndarray, probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each component's groups in order, in even proportion, components one after the other, (sum of rows,)."""
    ends = np.cumsum(probs, axis=1, dtype=float)
    ends = np.floor(ends / np.maximum(ends[:, -1:], 1e-300) * rows[:, None] + rng.random((len(rows), 1)))
    ends = np.minimum(ends, rows[:, None]).astype(np.int64)
    ends[:, -1] = rows
    counts = np.diff(ends, axis=1, prepend=0)
    return np.repeat(np.tile(np.arange(probs.shape[1], dtype=np.int32), len(rows)), counts.ravel())


def leaves(groups: np.ndarray, within: np.ndarray, group_of: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A leaf for each row (n,), by the leaves' shares of the row's group."""
    order = np.argsort(group_of, kind="stable")
    held = group_of[order]
    if len(held) == held[-1] + 1:  # one leaf a group
        return order[groups]
    share = np.cumsum(within[order], dtype=float)
    last = np.flatnonzero(np.append(held[1:] != held[:-1], True))
    whole = share[last]
    before = np.append(0.0, whole[:-1])
    inner = (share - before[held]) / np.maximum(whole - before, 1e-300)[held]
    inner[last] = 1.0
    steps = held + inner  # of group g those between g and g + 1
    guide, turns = _guide(steps, int(held[-1]) + 1)
    padded = np.append(steps, np.inf)
    out = np.empty(len(groups), dtype=np.int64)
    for at in range(0, len(groups), BLOCK):
        part = groups[at : at + BLOCK] + rng.random(min(BLOCK, len(groups) - at))
        found = guide[(part * FINE).astype(np.int32)]
        for _ in range(turns):
            found += padded[found] <= part
        out[at : at + BLOCK] = found
    return order[np.minimum(out, len(order) - 1)]


def _guide(steps: np.ndarray, groups: int) -> tuple[np.ndarray, int]:
    """How many ``steps`` lie below each of ``FINE`` even parts of a group, and most of them inside one part.

    **Source**: indexed search (Chen and Asau 1974).
    """
    edges = np.searchsorted(steps, np.arange(groups * FINE + 1) / FINE, side="right").astype(np.int32)
    return edges, int(np.diff(edges).max())
