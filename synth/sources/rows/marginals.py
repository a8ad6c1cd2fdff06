"""Many tables of counts in one pass over rows.

Tables that share columns are counted together: a *block* is a joint table of several groupings, small enough for the
processor's cache; it is counted once per row, and every table inside it is a sum over its other axes. Sums of whole
numbers are exact, so that the counts do not depend on the blocks.

Very many tables of two groupings are one product of matrices instead (``Crossed``). X has a line for each row and a
column for each bin of each grouping, 1 where the row lies in the bin; X'X holds the table of every two groupings. Marks
and sums are whole numbers, and those of a few thousand rows exact in single precision, in which processors multiply
fastest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations_with_replacement
from math import prod

import numpy as np

from synth.questions.tables import Bins
from synth.sources.rows.block_counts import LOOKUP, add
from synth.sources.rows.encoded import Tables

MANY = 10_000  # tables of two groupings, from which on the product is cheaper than joint tables
SIDE = 6000  # most bins of all groupings together: the counts take 8 bytes for each two of them
MARKS = 1 << 25  # most marks held at a time, 4 bytes each; rows of them are far below 2**24


class Crossed:
    """Counts of every two of some groupings.

    >>> counts = Crossed([2, 3])
    >>> counts.add([np.array([0, 1, 1]), np.array([2, 0, 0])])
    >>> counts.table((1, 0), [3, 2]).reshape(3, 2).tolist()
    [[0, 2], [0, 0], [1, 0]]
    """

    def __init__(self, sizes: Sequence[int], *, held: int = MARKS) -> None:
        self._ends = np.cumsum(sizes).tolist()
        self._starts = [0, *self._ends[:-1]]
        side = self._ends[-1]
        self._counts = np.zeros((side, side), dtype=np.int64)
        self._rows = max(held // side, 1)

    @staticmethod
    def holds(axes: tuple[int, ...]) -> bool:
        """Whether a table is of two different groupings."""
        return len(axes) == 2 and axes[0] != axes[1]

    def add(self, codes: Sequence[np.ndarray]) -> None:
        """Counts rows, given by their bin in each grouping."""
        side = self._ends[-1]
        for first in range(0, len(codes[0]), self._rows):
            some = [c[first : first + self._rows] for c in codes]
            marks = np.zeros((len(some[0]), side), dtype=np.float32)
            lines = np.arange(len(some[0])) * side
            for start, bins in zip(self._starts, some, strict=True):
                marks.reshape(-1)[lines + (bins.astype(np.int64) + start)] = 1
            self._counts += (marks.T @ marks).astype(np.int64)

    def table(self, axes: Sequence[int], shape: Sequence[int]) -> np.ndarray:
        """A table's counts, flat; bins behind ``shape`` are of rows that it leaves out."""
        row, col = (self._starts[i] for i in axes)
        return self._counts[row : row + shape[0], col : col + shape[1]].reshape(-1)


def crossed(
    axes: Sequence[tuple[int, ...]], sizes: Sequence[int], *, many: int = MANY, side: int = SIDE, held: int = MARKS
) -> Crossed | None:
    """A counter of every two groupings, where so many tables are asked that it pays."""
    if len(axes) < many or sum(sizes) > side:
        return None
    return Crossed(sizes, held=held) if len({a for a in axes if Crossed.holds(a)}) >= many else None


STEP = 1 << 18  # most rows counted at a time
HELD = 1 << 25  # most bin codes (4 bytes each) held at a time
MAX_CELLS = 1 << 16  # most cells of a block of several tables (8 bytes each)
AXES = 32  # most groupings of a block: arrays have no more axes, and groupings of a single bin never fill it


class MarginalCounter:
    """Counts of ``tables``, filled batch by batch; ``crossing``: limits of ``crossed``, by name.

    >>> from synth.questions import Bins
    >>> counter = MarginalCounter([[Bins.each("A", 2), Bins.each("B", 2)], [Bins.each("B", 2)]])
    >>> counter.add({"A": np.array([0, 1, 1]), "B": np.array([1, 1, 0])})
    >>> [t.tolist() for t in counter.tables()]
    [[0, 1, 1, 1], [1, 2]]
    """

    def __init__(self, tables: Tables, **crossing: int) -> None:
        self.groupings, self._axes = distinct(tables)
        self._bins = [Binner(g) for g in self.groupings]
        sizes = [b.size for b in self._bins]
        self._crossed = crossed(self._axes, sizes, **crossing)
        self._by_block = [a for a in self._axes if not self._crossed.holds(a)] if self._crossed else self._axes
        self._blocks = cover(self._by_block, sizes)
        self._shapes = [tuple(sizes[i] for i in block) for block in self._blocks]
        self._joint = [np.zeros(prod(shape), dtype=np.int64) for shape in self._shapes]

    @property
    def columns(self) -> list[str]:
        """The columns that a batch must hold."""
        return list(dict.fromkeys(g.column for g in self.groupings))

    @property
    def step(self) -> int:
        """Most rows of a batch, so that its bin codes stay within ``HELD``."""
        return max(min(STEP, HELD // max(len(self.groupings), 1)), 1)

    def add(self, batch: Mapping[str, np.ndarray]) -> None:
        """Counts the rows of a batch: positions of at most ``step`` rows by column, of any whole-number type."""
        codes = [b.codes(batch[g.column]) for g, b in zip(self.groupings, self._bins, strict=True)]
        for block, shape, joint in zip(self._blocks, self._shapes, self._joint, strict=True):
            add([codes[i] for i in block], shape, joint)
        if self._crossed:
            self._crossed.add(codes)

    def tables(self) -> list[np.ndarray]:
        """Each table's counts so far, int64 (cells,)."""
        held = iter(holders(self._by_block, self._blocks))
        crossed = self._crossed
        return [
            crossed.table(axes, [self.groupings[i].size for i in axes])
            if crossed and crossed.holds(axes)
            else self._table(axes, next(held))
            for axes in self._axes
        ]

    def _table(self, axes: tuple[int, ...], at: int) -> np.ndarray:
        return part(self._joint[at].reshape(self._shapes[at]), self._blocks[at], axes, self.groupings)


def count(batches: Iterable[Mapping[str, np.ndarray]], counter: MarginalCounter) -> list[np.ndarray]:
    """The tally's tables over all batches."""
    for batch in batches:
        counter.add(batch)
    return counter.tables()


def part(
    joint: np.ndarray,
    block: Sequence[int],
    axes: Sequence[int],
    groupings: Sequence[Bins],
    moved: Callable[[np.ndarray, int], None] = lambda _table, _grouping: None,
) -> np.ndarray:
    """One table of a block's joint counts: other axes summed out, left-out bins cut off, axes in the table's order.

    ``moved``: handed the counts (rows, bins) by each grouping, of which it may move those of the last bin.
    """
    wanted = list(dict.fromkeys(axes))
    summed = joint.sum(axis=tuple(i for i, g in enumerate(block) if g not in wanted))
    order = [g for g in block if g in wanted]
    table = np.transpose(summed, [order.index(g) for g in wanted])
    for axis, g in enumerate(wanted):
        flat = np.ascontiguousarray(np.moveaxis(table, axis, -1))
        moved(flat.reshape(-1, flat.shape[-1]), g)
        table = np.moveaxis(flat, -1, axis)
    table = table[tuple(slice(groupings[g].size) for g in wanted)]
    if len(wanted) < len(axes):  # a grouping that stands twice: its table is a diagonal
        whole = np.zeros([groupings[g].size for g in axes], dtype=np.int64)
        index = np.indices(table.shape)
        whole[tuple(index[wanted.index(g)] for g in axes)] = table
        table = whole
    return np.ascontiguousarray(table).reshape(-1)


def distinct(tables: Tables) -> tuple[list[Bins], list[tuple[int, ...]]]:
    """The groupings of the tables, equal ones once, and for each table which of them its axes are."""
    known: dict[tuple[str, bytes, bytes], int] = {}
    met: dict[int, int] = {}
    groupings: list[Bins] = []
    axes = []
    for table in tables:
        at = []
        for bins in table:
            if id(bins) not in met:
                key = (bins.column, bins.starts.tobytes(), bins.groups.tobytes())
                if key not in known:
                    known[key] = len(groupings)
                    groupings.append(bins)
                met[id(bins)] = known[key]
            at.append(met[id(bins)])
        axes.append(tuple(at))
    return groupings, axes


def cover(axes: Sequence[tuple[int, ...]], sizes: Sequence[int], *, most: int = MAX_CELLS) -> list[tuple[int, ...]]:
    """Sets of groupings such that each table lies in one, few of them, with at most ``most`` cells where possible.

    Greedy: a block starts from the largest table left and takes the grouping that brings in most pairs left.

    >>> cover([(0, 1), (0, 2), (1, 2), (3,)], [2, 3, 4, 100_000])
    [(3,), (0, 1, 2)]
    """
    left = np.zeros((len(sizes), len(sizes)), dtype=bool)  # pairs not covered yet; single columns on the diagonal
    lengths = np.array(sizes, dtype=np.float64)
    longer = _Longer(axes, lengths)
    for table in axes:
        members = sorted(set(table))
        left[members[0], members[-1]] = left[members[-1], members[0]] = True
    cells = np.where(np.eye(len(sizes), dtype=bool), lengths[:, None], np.outer(lengths, lengths))
    blocks = []
    while (start := longer.next()) is not None:
        block = longer.grown(start, most)
        longer.cover(block)
        block = _grown(block, left, lengths, most)
        left[np.ix_(block, block)] = False
        blocks.append(tuple(sorted(block)))
    for i, j in zip(*np.unravel_index(np.argsort(-cells, axis=None), cells.shape), strict=True):
        if left[i, j]:
            block = _grown(list({int(i), int(j)}), left, lengths, most)
            left[np.ix_(block, block)] = False
            blocks.append(tuple(sorted(block)))
    return blocks


class _Longer:
    """Tables of three and more groupings that no block holds yet."""

    def __init__(self, axes: Sequence[tuple[int, ...]], lengths: np.ndarray) -> None:
        longer = sorted({t for t in (tuple(sorted(set(a))) for a in axes) if len(t) > 2})
        longer.sort(key=lambda m: -float(lengths[list(m)].prod()))
        self.tables, self.lengths = longer, lengths
        self.member = np.zeros((len(longer), len(lengths)), dtype=np.float32)
        for i, table in enumerate(longer):
            self.member[i, list(table)] = 1
        self.size = self.member.sum(1)
        self.open = np.ones(len(longer), dtype=bool)
        self.at = 0

    def next(self) -> list[int] | None:
        """The largest table left."""
        while self.at < len(self.tables) and not self.open[self.at]:
            self.at += 1
        return list(self.tables[self.at]) if self.at < len(self.tables) else None

    def grown(self, block: list[int], most: int) -> list[int]:
        """The block with further groupings, as long as each brings in tables left and leaves it small."""
        inside = self.member[:, block].sum(1)
        while len(block) < AXES:
            room = self.lengths * float(np.prod(self.lengths[block])) <= most
            room[block] = False
            lacking = self.open & (self.size - inside == 1)  # one grouping more holds them
            near = self.open & (self.size - inside == 2)  # a reason to go on, where no single one does
            gain = np.where(room, self.member[lacking].sum(0) + 1e-3 * self.member[near].sum(0), 0.0)
            best = int(np.argmax(gain))
            if gain[best] <= 0:
                return block
            block.append(best)
            inside += self.member[:, best]
        return block

    def cover(self, block: Sequence[int]) -> None:
        """Notes the tables that a block holds."""
        self.open &= self.member[:, list(block)].sum(1) < self.size


def holders(axes: Sequence[tuple[int, ...]], blocks: Sequence[tuple[int, ...]]) -> list[int]:
    """For each table the first block that it lies in; time grows with tables and pairs, not with their product.

    >>> holders([(1, 0), (3,), (0, 1, 2)], [(3,), (0, 1, 2)])
    [1, 0, 1]
    """
    first: dict[tuple[int, int], int] = {}
    for at, block in enumerate(blocks):
        for pair in combinations_with_replacement(sorted(block), 2):
            first.setdefault(pair, at)
    member = np.zeros((len(blocks), 1 + max((i for b in blocks for i in b), default=0)), dtype=bool)
    for at, block in enumerate(blocks):
        member[at, list(block)] = True
    results = []
    for table in axes:
        members = sorted(set(table))
        if len(members) <= 2:
            results.append(first[members[0], members[-1]])
        else:
            results.append(int(np.argmax(member[:, members].all(1))))
    return results


def _grown(block: list[int], left: np.ndarray, lengths: np.ndarray, most: int) -> list[int]:
    """The block with further groupings, as long as they bring in tables left and leave it small."""
    while len(block) < AXES:
        room = lengths * float(np.prod(lengths[block])) <= most
        gain = left[block].sum(0) + np.diagonal(left)
        gain = np.where(room, gain, 0)
        gain[block] = 0
        best = int(np.argmax(gain))
        if gain[best] == 0:
            return block
        block.append(best)
    return block


class Binner:
    """The bin of every position of one grouping; rows that it leaves out get a bin of their own behind the others."""

    def __init__(self, grouping: Bins) -> None:
        groups = np.where(grouping.groups < 0, grouping.size, grouping.groups)
        self.size = int(groups.max()) + 1
        self._starts = grouping.starts
        kind = np.min_scalar_type(self.size)
        self._groups = groups.astype(kind)
        self._lookup: np.ndarray | None = None
        if grouping.cells <= LOOKUP:
            widths = np.diff(np.append(grouping.starts, grouping.cells))
            self._lookup = np.repeat(self._groups, widths)
        listed = self._lookup is not None and np.array_equal(self._lookup, np.arange(grouping.cells))
        self._same = listed

    def codes(self, positions: np.ndarray) -> np.ndarray:
        """The bin of each row, (n,), whole numbers from 0 to ``size - 1``."""
        if self._same:
            return positions
        if self._lookup is not None:
            return self._lookup[positions]
        return self._groups[np.searchsorted(self._starts, positions, side="right") - 1]
