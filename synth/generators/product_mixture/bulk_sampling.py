"""Many rows of a mixture of products: no sorting, a few passes over blocks that fit into a processor's cache."""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from synth.generators.product_mixture.systematic_sampling import Inside, cumulative

FEWEST_ROWS = 200_000  # rows from which on this way is taken: so many are close to the model however they are drawn
ROWS_AT_A_TIME = 1 << 16  # rows at a time
TURN = np.uint64(32)
GUIDE = 1 << 16  # parts of all groups in which a leaf is looked for, about

Given = TypeVar("Given")
Made = TypeVar("Made")


def side_by_side(work: Callable[[Given], Made], given: Iterable[Given]) -> list[Made]:
    """What ``work`` makes of each, on all processors: numpy lets go of the interpreter in long loops."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, given))


def codes(
    num_rows: int,
    weights: np.ndarray,
    probs: Sequence[np.ndarray],
    rng: np.random.Generator,
    *,
    later: Collection[int] = (),
    block: int = ROWS_AT_A_TIME,
) -> tuple[np.ndarray, np.ndarray]:
    """Components (num_rows,), and groups (num_rows, J) of few bytes each, in random order; 0 in the columns ``later``.

    A component's rows take, in every column, the groups of its sorted share one after the other, at places that a
    multiplication spreads over that share: x -> A x + C, A and C drawn anew for each component and column. C is
    uniform, so that each row alone follows the model; counts are even as those of a lattice are. Nothing depends on
    the ``block``, how many rows are laid out at a time.
    **Source**: shifted lattice rules (Cranley and Patterson 1976).
    """
    edges = np.floor(np.append(0.0, cumulative(weights)) * num_rows + rng.random()).astype(np.int64)
    edges[0], edges[-1] = 0, num_rows
    rows = np.diff(edges)
    order = rng.permutation(num_rows)
    runs = _runs(edges, block)
    kind = np.int16 if max((p.shape[1] for p in probs), default=0) < 1 << 15 else np.int32
    drawn = np.zeros((len(probs), num_rows), dtype=kind)
    wanted = [j for j in range(len(probs)) if j not in later]

    def column(given: tuple[int, np.random.Generator]) -> None:
        j, own = given
        groups, held = _sorted_groups(rows, probs[j], own, kind), np.empty(num_rows, dtype=kind)
        factor = own.integers(1 << 28, (1 << 32) - (1 << 28), len(rows), dtype=np.uint32)
        shift = own.integers(0, 1 << 32, len(rows), dtype=np.uint32)
        for run in runs:
            turned = run.place * run.each(factor)  # modulo 2**32
            turned += run.each(shift)
            spread = turned.astype(np.uint64)
            spread *= run.size
            spread >>= TURN
            groups.take(spread.view(np.int64) + run.start, out=held[run.rows], mode="clip")
        held.take(order, out=drawn[j], mode="clip")

    side_by_side(column, zip(wanted, rng.spawn(len(wanted)), strict=True))
    owner = np.repeat(np.arange(len(rows), dtype=np.int32), rows)
    return owner.take(order), drawn.T


@dataclass(frozen=True, kw_only=True, eq=False)
class _Run:
    """Rows sorted by component, next to each other, and what all columns need to know of them.

    ``components``: theirs; ``counts``: rows of each here; of each row (m,) ``place``: its number in its component,
    ``size``: all rows of its component, ``start``: the component's first row.
    """

    rows: slice
    components: slice
    counts: np.ndarray
    place: np.ndarray
    size: np.ndarray
    start: np.ndarray

    def each(self, values: np.ndarray) -> np.ndarray:
        """Of each row its component's value."""
        return np.repeat(values[self.components], self.counts)


def _runs(edges: np.ndarray, block: int) -> list[_Run]:
    """All rows of components from ``edges`` (B + 1,), so few at a time that a column's work stays cached."""
    out = []
    for low in range(0, int(edges[-1]), block):
        high = min(low + block, int(edges[-1]))
        some = slice(int(np.searchsorted(edges, low, side="right")) - 1, int(np.searchsorted(edges, high)))
        whole = edges[some.start : some.stop + 1]
        counts = np.diff(np.clip(whole, low, high))
        start = np.repeat(whole[:-1], counts)
        place = (np.arange(low, high) - start).astype(np.uint32)
        size = np.repeat(np.diff(whole).astype(np.uint64), counts)
        out.append(_Run(rows=slice(low, high), components=some, counts=counts, place=place, size=size, start=start))
    return out


def _sorted_groups(
    rows: np.ndarray, probs: np.ndarray, rng: np.random.Generator, kind: type[np.signedinteger]
) -> np.ndarray:
    """Each component's groups in order, in even proportion, components one after the other, (sum of rows,)."""
    ends = np.cumsum(probs, axis=1, dtype=float)
    ends = np.floor(ends / np.maximum(ends[:, -1:], 1e-300) * rows[:, None] + rng.random((len(rows), 1)))
    ends = np.minimum(ends, rows[:, None]).astype(np.int64)
    ends[:, -1] = rows
    counts = np.diff(ends, axis=1, prepend=0)
    return np.repeat(np.tile(np.arange(probs.shape[1], dtype=kind), len(rows)), counts.ravel())


def positions(
    groups: np.ndarray, within: np.ndarray, group_of: np.ndarray, inside: Inside, rng: np.random.Generator
) -> np.ndarray:
    """Positions (n,) int64 for rows whose groups are given: a leaf by its share of the group, then evenly inside it."""
    search, counts = LeafSearch(within, group_of), inside.counts.astype(float)
    out, first = np.empty(len(groups), dtype=np.int64), inside.starts.astype(np.int64)
    wide = bool(counts.max(initial=0) > 1)
    if inside.allowed is not None and not wide:
        first = inside.allowed.take(first, mode="clip").astype(np.int64)
    first, counts = first[search.order], counts[search.order]
    for at in range(0, len(groups), ROWS_AT_A_TIME):
        block, into = search.draw(groups[at : at + ROWS_AT_A_TIME], rng), out[at : at + ROWS_AT_A_TIME]
        first.take(block, out=into, mode="clip")
        if wide:
            into += (rng.random(len(block)) * counts.take(block)).astype(np.int64)  # below the count however rounded
            if inside.allowed is not None:
                into[:] = inside.allowed.take(into, mode="clip")
    return out


class LeafSearch:
    """Leaves found by their shares: of most of the even parts of a group one table tells the leaf, in others it is
    looked for.

    ``within`` (L,): shares; ``group_of`` (L,): the leaf's group; ``order`` (L,): leaves by group.
    **Source**: indexed search (Chen and Asau 1974).
    """

    def __init__(self, within: np.ndarray, group_of: np.ndarray) -> None:
        self.order = np.argsort(group_of, kind="stable")
        held = group_of[self.order]
        self._last = np.flatnonzero(np.append(held[1:] != held[:-1], True))
        self._alone = len(held) == len(self._last)
        share = np.cumsum(within[self.order], dtype=float)
        whole = share[self._last]
        before = np.append(0.0, whole[:-1])
        inner = (share - before[held]) / np.maximum(whole - before, 1e-300)[held]
        inner[self._last] = 1.0
        self._steps = held + inner  # of group g those between g and g + 1
        self._parts = int(2 ** np.clip(np.floor(np.log2(GUIDE / len(whole))), 4, 12))
        self._guide = self._guided(len(whole) * self._parts)

    def _guided(self, parts: int) -> np.ndarray:
        """The leaf of each even part of all groups, -1 where there are several."""
        scaled = self._steps * self._parts
        below, inside = (
            np.cumsum(np.bincount(edge.astype(np.int64), minlength=parts)[:parts])
            for edge in (np.ceil(scaled), np.floor(scaled))
        )
        return np.where(below == inside, below, -1).astype(np.int32)

    def draw(self, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Of each row (n,) in a group the place in ``order`` of a leaf."""
        if self._alone:
            return groups
        even = rng.random(len(groups))
        part = (even * self._parts).astype(np.int32)
        part += groups * np.int32(self._parts)
        result: np.ndarray = self._guide.take(part, mode="clip")
        several = np.flatnonzero(result < 0)
        own = groups[several]
        sought = np.searchsorted(self._steps, own + even[several], side="right")
        result[several] = np.minimum(sought, self._last[own])  # the sum may be rounded up to the next group
        return result
