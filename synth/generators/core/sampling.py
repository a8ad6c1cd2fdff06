"""Counts and rows drawn in even proportion, few or many; rows rearranged towards tables of pairs, drawn again, kept
out of cells."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from synth.schema.intervals import Intervals

SWEEPS = 3  # passes over all columns; the first brings most of the gain
SWAP_WORK = 60_000_000  # most table look-ups: wide or long tables get fewer passes
LEAST_PASS = 0.1  # of a pass; less gains nothing that is worth counting the pairs for
MOST_GROUPS = 3000  # beyond, the square table of all pairs takes too much memory
BATCH = 500  # swaps judged at once, on the same counts


def even_out(codes: np.ndarray, component: np.ndarray, expected: np.ndarray, *, rng: np.random.Generator) -> None:
    """Swaps values between rows of the same component, in place, where that brings pair counts nearer.

    ``codes`` (n, J): a group of each column, numbered through over all columns. ``component`` (n,).
    ``expected`` (G, G): the counts of pairs of groups that the model expects. Inside a component columns are
    independent, so that a swap makes a row no less likely; every column's counts stay as they are.
    Judged is the sum over pairs of squared errors, each over the root of its expected count.
    """
    size, columns = len(expected), codes.shape[1]
    passes = min(SWEEPS, SWAP_WORK / max(len(codes) * columns**2, 1))
    if len(codes) < 2 or columns < 2 or size > MOST_GROUPS or passes < LEAST_PASS:
        return
    counts = np.zeros(size * size)  # of all pairs of groups, both ways round
    for groups in codes.T:
        counts += np.bincount((groups[:, None] * size + codes).ravel(), minlength=size * size)
    error = (counts.reshape(size, size) - expected).ravel()
    weight = (1 / np.sqrt(expected + 0.5)).ravel()
    batch = max(BATCH, len(codes) // 50)
    for sweep in range(int(np.ceil(passes))):
        part = min(1.0, passes - sweep)
        for column in rng.permutation(columns):
            first, second = _proposals(codes[:, column], component, part, rng)
            for at in range(0, len(first), batch):
                pair = first[at : at + batch], second[at : at + batch]
                _swap(codes, column, pair, error, weight, size, rng)


def _proposals(values: np.ndarray, component: np.ndarray, part: float, rng: np.random.Generator):
    """Disjoint pairs of rows of the same component and different values, in random order."""
    order = np.argsort(component + rng.random(len(component)))[int(rng.integers(0, 2)) :]
    first, second = order[: len(order) // 2 * 2 : 2], order[1::2]
    useful = (component[first] == component[second]) & (values[first] != values[second])
    chosen = rng.permutation(np.flatnonzero(useful))
    chosen = chosen[: int(np.ceil(part * len(chosen)))]
    return first[chosen], second[chosen]


def _swap(codes, column: int, pair, error: np.ndarray, weight: np.ndarray, size: int, rng) -> None:
    """Swaps the column between those pairs of rows for which it lowers the weighted squared error.

    All are judged on the same counts; where together they overshoot, a random part of them is left out.
    """
    first, second = pair
    others = np.arange(codes.shape[1]) != column
    a, b = codes[first, column][:, None] * size, codes[second, column][:, None] * size
    c, d = codes[first][:, others], codes[second][:, others]
    lost, won = np.stack([a + c, b + d], axis=1), np.stack([b + c, a + d], axis=1)
    change = weight[lost] * (1 - 2 * error[lost]) + weight[won] * (1 + 2 * error[won])
    better = (change.sum(1) * (c != d)).sum(1) < 0
    first, second, lost, won = first[better], second[better], lost[better], won[better]
    before = error[lost], error[won]
    _move(error, lost, won, size)
    gain = (weight[lost] * before[0]).sum() - (weight[won] * before[1]).sum()
    joint = (weight[won] * (error[won] - before[1])).sum() - (weight[lost] * (error[lost] - before[0])).sum()
    retained = rng.random(len(first)) < gain / max(joint, 1e-12)
    _move(error, won[~retained], lost[~retained], size)
    rows, partners = first[retained], second[retained]
    codes[rows, column], codes[partners, column] = codes[partners, column], codes[rows, column]


def _move(error: np.ndarray, lost: np.ndarray, won: np.ndarray, size: int) -> None:
    """One row less in each of the cells lost, one more in each won, both ways round."""
    for cells, step in ((lost.ravel(), -1.0), (won.ravel(), 1.0)):
        np.add.at(error, cells, step)
        np.add.at(error, cells % size * size + cells // size, step)


TOGETHER = 4096  # groups of several axes that are drawn at once
TILT = 1.0  # how strongly counts are drawn towards groups that came short


@dataclass(frozen=True, kw_only=True)
class Inside:
    """Which positions of each leaf may be drawn: all of them, or the sorted ``allowed`` ones."""

    starts: np.ndarray
    counts: np.ndarray
    allowed: np.ndarray | None = None

    def pick(self, leaves: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A position in each row's leaf, (n,) int64."""
        first = self.starts[leaves] + steps(self.counts[leaves], rng)
        return first if self.allowed is None else self.allowed[first]


def steps(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A step in 0 ... count - 1 for each row, all as likely up to 2**-53 of the count; 0 where there is none."""
    if counts.max(initial=0) <= 1:
        return np.zeros(len(counts), dtype=np.int64)
    drawn = (rng.random(len(counts)) * counts).astype(np.int64)
    return np.minimum(drawn, np.maximum(counts - 1, 0))


def cumulative(weights: np.ndarray) -> np.ndarray:
    total = np.cumsum(weights, dtype=float)
    total[-1:] = 1.0  # so that rounding never loses or adds a row
    return total


def even_codes(rows: np.ndarray, probs: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Groups (sum of rows, J) of each axis, components one after the other; each axis' groups in random order in them.

    ``rows`` (B,): of each component; ``probs``: of each axis its groups' probabilities (B, G).
    """
    component = np.repeat(np.arange(len(rows)), rows)
    codes = np.empty((len(component), len(probs)), dtype=np.int64)
    for part in _parts([p.shape[1] for p in probs]):
        counts = even_counts(rows, probs[part], rng)
        for j, own in zip(range(part.start, part.stop), counts, strict=True):
            groups = np.repeat(np.tile(np.arange(own.shape[1]), len(rows)), own.ravel())
            codes[:, j] = groups[np.argsort(component + rng.random(len(component)))]
    return codes


def _parts(sizes: Sequence[int]) -> Iterator[slice]:
    """Runs of axes that have at most ``TOGETHER`` groups in all, or are one axis."""
    start, held = 0, 0
    for j, size in enumerate(sizes):
        if held and held + size > TOGETHER:
            yield slice(start, j)
            start, held = j, 0
        held += size
    yield slice(start, len(sizes))


def even_counts(rows: np.ndarray, probs: Sequence[np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
    """Of each axis integer counts (B, G) near rows * probs: row sums exact, column sums within a few of theirs.

    Components take turns in random order. Each draws what its whole parts leave by systematic sampling, with
    probabilities tilted towards groups that earlier components have left short.
    """
    sizes = np.array([p.shape[1] for p in probs])
    axis, ends = np.repeat(np.arange(len(sizes)), sizes), np.cumsum(sizes)
    expected = rows[:, None] * np.concatenate(probs, axis=1)
    counts = np.floor(expected).astype(np.int64)
    fraction = expected - counts
    missing = rows[:, None] - np.add.reduceat(counts, ends - sizes, axis=1)
    short = np.zeros(len(axis))
    for b in rng.permutation(np.flatnonzero(missing.any(1))):
        run = np.cumsum(fraction[b] * np.exp(np.clip(TILT * short, -3.0, 3.0)))
        last = run[ends - 1]
        before = np.append(0.0, last[:-1])
        most = missing[b][axis]
        step = missing[b] / np.maximum(last - before, 1e-300)
        edges = np.floor((run - before[axis]) * step[axis] + rng.random(len(sizes))[axis])
        edges = np.where(run >= last[axis], most, np.minimum(edges, most)).astype(np.int64)
        drawn = np.diff(edges, prepend=0)
        drawn[ends[:-1]] = edges[ends[:-1]]
        counts[b] += drawn
        short += fraction[b] - drawn
    return np.split(counts, ends[:-1], axis=1)


def even_pairs(codes, component, rows, probs: list[np.ndarray], rng: np.random.Generator) -> None:
    """Rearranges group codes (n, J), in place, towards the model's expected tables of pairs."""
    offsets = np.cumsum([0] + [p.shape[1] for p in probs])
    if offsets[-1] <= MOST_GROUPS:
        joined = np.concatenate(probs, axis=1)
        codes += offsets[:-1]
        even_out(codes, component, (joined * rows[:, None]).T @ joined, rng=rng)
        codes -= offsets[:-1]


def spread(rows: np.ndarray, share: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Counts of each leaf, leaves sorted by group, shares summing to one in a group: systematic sampling."""
    last = np.append(groups[1:] != groups[:-1], True)
    first = np.append(True, last[:-1])
    share = share.astype(float)
    run = np.cumsum(share)
    before = np.where(first, run - share, 0.0)[first][np.cumsum(first) - 1]
    edge = np.floor((run - before) * rows[groups] + rng.random(len(rows))[groups]).astype(np.int64)
    edge = np.where(last, rows[groups], np.minimum(edge, rows[groups]))
    return np.diff(edge, prepend=0) + np.where(first, np.append(0, edge[:-1]), 0)


FEWEST_ROWS = 200_000  # rows from which on this way is taken: so many are close to the model however they are drawn
ROWS_AT_A_TIME = 1 << 16  # rows at a time
TURN = np.uint64(32)
GUIDE = 1 << 16  # parts of all groups in which a leaf is looked for, about

Given = TypeVar("Given")
Made = TypeVar("Made")


def on_all_cores(work: Callable[[Given], Made], given: Iterable[Given]) -> list[Made]:
    """What ``work`` makes of each, on all processors: numpy lets go of the interpreter in long loops."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, given))


def bulk_codes(
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

    on_all_cores(column, zip(wanted, rng.spawn(len(wanted)), strict=True))
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


def bulk_positions(
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
    scale = total[:, -1].max() + 1.0  # one search over all components' laws
    flat = (total[:, 1:] + scale * np.arange(len(total))[:, None]).ravel()
    chosen = np.searchsorted(flat, target + scale * row, side="right") - row * (total.shape[1] - 1)
    chosen = np.clip(chosen, 0, total.shape[1] - 2)
    mass = total[row, chosen + 1] - total[row, chosen]
    inside = (target - total[row, chosen]) / np.where(mass > 0, mass, 1.0)
    index = before[chosen] + np.minimum((inside * width[chosen]).astype(np.int64), width[chosen] - 1)
    even = floor + (rng.random(len(row)) * np.maximum(before[-1] - floor, 1)).astype(np.int64)
    return np.where(highest - lowest > 1e-12, np.maximum(index, floor), even)


KEEP_OUT_ROUNDS = 120  # of swaps at most; what they leave stays
KEEP_OUT_WORK = 4_000_000  # most rows tried, over all rounds
Barred = Mapping[tuple[int, int], np.ndarray]  # by two axes the pairs of their groups (G, H), True where none may be


def keep_out(
    codes: np.ndarray, component: np.ndarray, barred: Barred, fixed: frozenset[int], *, rng: np.random.Generator
):
    """Swaps groups of a column between rows, in place, wherever fewer barred pairs are left.

    ``codes`` (n, J): the rows' groups; ``component`` (n,): partners are sought among rows that stand in barred pairs
    too, in a row's own component, in which columns are independent, and everywhere, in turn; ``fixed``: axes that
    stay. Every column's counts stay as they are.
    """
    sides: dict[int, list[tuple[int, np.ndarray]]] = {}
    for (i, j), never in barred.items():
        sides.setdefault(i, []).append((j, never))
        sides.setdefault(j, []).append((i, never.T))
    broken = np.zeros(codes.shape, dtype=np.int16)  # barred pairs that each cell stands in
    for (i, j), never in barred.items():
        met = never[codes[:, i], codes[:, j]]
        broken[:, i] += met
        broken[:, j] += met
    movable = np.array([j for j in sorted(sides) if j not in fixed], dtype=np.int64)
    rows = np.flatnonzero(broken.any(axis=1))
    if not len(movable) or not len(rows):
        return

    def met_with(column: int, of: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Whether each other column's group would be barred, if these were the rows' groups of this one (S, n)."""
        beside = codes[of]
        return np.stack([never[groups, beside[:, j]] for j, never in sides[column]])

    order = np.argsort(component, kind="stable")
    first = np.searchsorted(component[order], np.arange(int(component.max()) + 2))
    for turn in range(min(KEEP_OUT_ROUNDS, KEEP_OUT_WORK // len(rows))):
        for column in rng.permutation(movable):
            mine = rng.permutation(rows[broken[rows, column] > 0])
            if turn % 3 == 0:
                mine, other = mine[: len(mine) // 2], mine[len(mine) // 2 : len(mine) // 2 * 2]
            else:
                low, high = (first[component[mine] + k] for k in (0, 1)) if turn % 3 == 1 else (0, len(codes))
                other = order[(low + rng.random(len(mine)) * (high - low)).astype(np.int64)]
                alone = ~np.isin(other, mine)  # a row takes part in one swap
                alone[alone] = np.isin(np.flatnonzero(alone), np.unique(other, return_index=True)[1])
                mine, other = mine[alone], other[alone]
            both, size = np.concatenate([mine, other]), len(mine)
            swapped = codes[np.concatenate([other, mine]), column]
            after = met_with(column, both, swapped)
            fewer = broken[both, column] - after.sum(0)
            better = np.tile(fewer[:size] + fewer[size:] > 0, 2)
            both, swapped, after = both[better], swapped[better], after[:, better]
            before = met_with(column, both, codes[both, column])
            codes[both, column], broken[both, column] = swapped, after.sum(0)
            for (j, _), now, was in zip(sides[column], after, before, strict=True):
                broken[both, j] += now.astype(np.int16) - was
        rows = rows[broken[rows].any(axis=1)]
        if not len(rows):
            return
