"""Many tables of counts in one pass over rows.

Tables that share columns are counted together: a *block* is a joint table of several groupings, small enough for the
processor's cache; it is counted once per row, and every table inside it is a sum over its other axes. Sums of whole
numbers are exact, so that the counts do not depend on the blocks.

Very many tables of two groupings are one product of matrices instead (``block_counts.add_square``). X has a line for
each row and a column for each bin of each grouping, 1 where the row lies in the bin; X'X holds the table of every two
groupings. Marks and sums are whole numbers, and those of a few thousand rows exact in single precision, in which
processors multiply fastest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from math import prod
from typing import Any

import numpy as np

from synth.questions.tables import Bins
from synth.sources.rows import block_counts
from synth.sources.rows.block_counts import CountedAxis, CountPlan
from synth.sources.rows.encoded import PARTS, EncodedRows, Tables, parts

MANY = 10_000  # tables of two groupings, from which on the product is cheaper than joint tables
SIDE = 6000  # most bins of all groupings together: the counts take 8 bytes for each two of them
MARKS = 1 << 25  # most marks held at a time, 4 bytes each; rows of them are far below 2**24
MAX_CELLS = 1 << 16  # most cells of a block of several tables (8 bytes each)
AXES = 32  # most groupings of a block: arrays have no more axes, and groupings of a single bin never fill it

Ask = Callable[[Sequence[str], CountPlan], list[np.ndarray]]
Lost = Callable[[np.ndarray, str, CountedAxis], None]
Batches = Callable[[list[str], int], Iterable[Mapping[str, np.ndarray]]]


def exact(tables: Tables, rows: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Counts without noise, as private as the rows: for each table int64 (cells,).

    >>> from synth.questions import Bins
    >>> a, b = Bins.each("A", 2), Bins.each("B", 2)
    >>> [t.tolist() for t in exact([[a, b], [b]], {"A": np.array([0, 1, 1]), "B": np.array([1, 1, 0])})]
    [[0, 1, 1, 1], [1, 2]]

    Privacy: reads rows, exact: they stay with the curator.
    """
    if isinstance(rows, EncodedRows):
        return rows.counts(tables)
    return counted(tables, lambda names, step: parts(rows, names, step))


def counted(tables: Tables, batches: Batches, *, unit: int = 0, **crossing: Any) -> list[np.ndarray]:
    """The tables' exact counts, int64 (cells,), over batches of rows here: positions by column, of any whole number.

    ``batches``: by the columns that they must hold, and the most rows of each. ``unit``: rows weigh, and a batch's
    ``PARTS`` says in how many parts each one's root is (CountPlan). ``crossing``: limits of the product, by name.
    """

    def ask(names: Sequence[str], plan: CountPlan) -> list[np.ndarray]:
        held = [*names, *([PARTS] if unit else [])]
        rows = ([batch[n] for n in held] for batch in batches(list(names), plan.step))
        joints = block_counts.counted(rows, replace(plan, unit=unit))
        return [*block_counts.summed(joints, plan), *joints[len(plan.blocks) :]]

    return joint_tables(tables, ask, square=not unit, **crossing)


def joint_tables(
    tables: Tables,
    ask: Ask,
    place_lost: Lost | None = None,
    *,
    square: bool = False,
    many: int = MANY,
    side: int = SIDE,
    held: int = MARKS,
) -> list[np.ndarray]:
    """The tables' exact counts, int64 (cells,), by one plan of counting.

    ``ask``: the plan's tables, of columns in this order. ``place_lost``: moves the counts (rows, bins) of a column's
    cells that are to be placed out of the last bin; without it there are none. ``square``: whether very many tables of
    two groupings may be counted by one product.
    """
    groupings, axes = distinct(tables)
    if not axes:
        return []
    names = list(dict.fromkeys(g.column for g in groupings))
    places = [_axis(g, names.index(g.column), lost=place_lost is not None) for g in groupings]
    sizes = [a.size for a in places]
    pairs = {a for a in axes if len(a) == 2 and a[0] != a[1]}
    crossed = pairs if square and len(axes) >= many <= len(pairs) and sum(sizes) <= side else set()
    by_block = [a for a in axes if a not in crossed]
    blocks = cover(by_block, sizes)
    wanted = _wanted(by_block, blocks, sizes)
    plan = CountPlan(tuple(places), tuple(blocks), tuple(dict.fromkeys(wanted)), square=held if crossed else 0)
    answers = ask(names, plan)
    by_table = dict(zip(plan.tables, answers[: len(plan.tables)], strict=True))

    def moved(table: np.ndarray, at: int) -> None:
        if place_lost is not None:
            place_lost(table, groupings[at].column, places[at])

    starts, its_block, counts = np.cumsum([0, *sizes]).tolist(), iter(wanted), []
    for table in axes:
        if table in crossed:
            (row, col), shape = (starts[i] for i in table), [groupings[i].size for i in table]
            counts.append(answers[-1][row : row + shape[0], col : col + shape[1]].reshape(-1))
            continue
        at, own = next(its_block)
        joint = by_table[at, own].reshape([sizes[i] for i in own])
        counts.append(part(joint, own, table, groupings, moved))
    return counts


def _wanted(
    axes: Sequence[tuple[int, ...]], blocks: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> list[tuple[int, tuple[int, ...]]]:
    """For each table its block and the axes that it is summed out to: all of them where a block has less cells than
    its tables together."""
    own = [(at, tuple(sorted(set(table)))) for table, at in zip(axes, holders(axes, blocks), strict=True)]
    cells = dict.fromkeys(range(len(blocks)), 0)
    for at, table in set(own):
        cells[at] += prod(sizes[i] for i in table)
    whole = {at for at, many in cells.items() if many >= prod(sizes[i] for i in blocks[at])}
    return [(at, tuple(blocks[at])) if at in whole else (at, table) for at, table in own]


def _axis(grouping: Bins, column: int, *, lost: bool) -> CountedAxis:
    """The axis of a grouping: rows that it leaves out get a bin behind the others, cells that are to be placed a last
    one."""
    groups = np.where(grouping.groups < 0, grouping.size, grouping.groups)
    size = int(groups.max()) + 1
    bins = np.append(groups, size) if lost else groups
    return CountedAxis(
        column, grouping.cells, grouping.starts, bins.astype(np.min_scalar_type(size)), size + 1 if lost else size
    )


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
    holding = []
    for table in axes:
        members = sorted(set(table))
        if len(members) <= 2:
            holding.append(first[members[0], members[-1]])
        else:
            holding.append(int(np.argmax(member[:, members].all(1))))
    return holding


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
