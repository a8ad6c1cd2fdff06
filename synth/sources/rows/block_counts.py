"""Joint tables of rows that come in parts, in one pass: by this process, or by a worker of a cluster.

Numpy and, for a worker, pyarrow are all that this file needs: it is sent to workers as it is, and they need not have
this package. Counts are exact whole numbers. Parts may be counted anywhere, again if a worker is lost, and added in
any order. What a worker answers is the tables that are asked for, not the joint ones that they are counted in, in
chunks of so many cells that those of all workers are added by several.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

GATHERED = 1 << 17  # rows counted at a time: of fewer, clearing the tables would cost more than filling them
HELD = 1 << 25  # most positions and bins (4 bytes each) held at a time, where columns are many
CHUNK = 1 << 13  # cells of a worker's answer that are added together
LOOKUP = 1 << 22  # above so many positions a bin is found by bisection rather than by a lookup table


@dataclass(frozen=True, eq=False)
class CountedAxis:
    """One grouping of a column: ``bins`` of the parts that begin at ``starts``; of a cell below zero the last of them.

    ``column``: which array of a batch it is about. ``size``: the number of bins.

    >>> CountedAxis(0, 4, np.array([0, 2]), np.array([0, 1, 2]), 3).codes()(np.array([0, 3, -1])).tolist()
    [0, 1, 2]
    """

    column: int
    cells: int
    starts: np.ndarray
    bins: np.ndarray
    size: int

    def codes(self) -> Callable[[np.ndarray], np.ndarray]:
        """What gives rows their bins; -1 stands for a cell below zero and is, as an index, the last."""
        if len(self.starts) == self.cells and np.array_equal(self.bins, np.arange(self.cells)):
            return lambda positions: positions  # each position is its bin, and none is below zero
        if self.cells > LOOKUP:
            return lambda positions: self.bins[np.searchsorted(self.starts, positions, side="right") - 1]
        widths = np.diff(np.append(self.starts, self.cells))
        lookup = np.append(np.repeat(self.bins[: len(widths)], widths), self.bins[len(widths) :])
        return lambda positions: lookup[positions]


@dataclass(frozen=True, eq=False)
class CountPlan:
    """Joint tables to be counted: ``blocks`` are sets of axes. ``tables``: those that are asked for, each by a block
    and those of its axes that the others are summed out to. ``unit``: where it is not 0, a batch's last array says in
    how many parts a row's root is, and the row counts as one part of so many units, rounded down. ``square``: most
    marks held at a time where every two axes are counted too, by one product; their counts come behind the others'."""

    axes: tuple[CountedAxis, ...]
    blocks: tuple[tuple[int, ...], ...]
    tables: tuple[tuple[int, tuple[int, ...]], ...] = ()
    unit: int = 0
    square: int = 0

    def shape(self, block: int) -> tuple[int, ...]:
        """Bins of each axis of a block."""
        return tuple(self.axes[i].size for i in self.blocks[block])

    @property
    def step(self) -> int:
        """Rows to be counted at a time."""
        return max(min(GATHERED, HELD // max(len(self.axes), 1)), 1)

    def lengths(self) -> list[int]:
        """Cells of each block."""
        return [int(np.prod(self.shape(at), dtype=np.int64)) for at in range(len(self.blocks))]


def counted(parts: Iterable[Sequence[np.ndarray]], plan: CountPlan) -> list[np.ndarray]:
    """Flat joint counts, int64, of rows given as an array of positions for each column."""
    codes = [axis.codes() for axis in plan.axes]
    joints = [np.zeros(n, dtype=np.int64) for n in plan.lengths()]
    if plan.square:
        joints.append(np.zeros((sum(a.size for a in plan.axes),) * 2, dtype=np.int64))
    for columns in gathered(parts, plan.step):
        bins = [code(columns[axis.column]) for code, axis in zip(codes, plan.axes, strict=True)]
        if plan.square:
            add_square(bins, [a.size for a in plan.axes], joints[-1], plan.square)
        for rows, weight in alike(columns[-1], plan.unit):
            for at, block in enumerate(plan.blocks):
                add([bins[i][rows] for i in block], plan.shape(at), joints[at], weight)
    return joints


def alike(parts: np.ndarray, unit: int) -> Iterator[tuple[Any, int]]:
    """(which rows, what each of them weighs): all of them 1 without a unit.

    >>> [(rows.tolist(), weight) for rows, weight in alike(np.array([2, 1, 2]), 8)]
    [([1], 8), ([0, 2], 4)]
    """
    if not unit:
        yield slice(None), 1
        return
    order = np.argsort(parts, kind="stable")
    values, first = np.unique(parts[order], return_index=True)
    for value, rows in zip(values.tolist(), np.split(order, first[1:]), strict=True):
        yield rows, unit // value


def gathered(parts: Iterable[Sequence[np.ndarray]], rows: int) -> Iterator[list[np.ndarray]]:
    """The same rows in parts of at least so many, but for the last."""
    held: list[Sequence[np.ndarray]] = []
    waits = 0
    for part in parts:
        held.append(part)
        waits += len(part[0])
        if waits >= rows:
            yield [np.concatenate(c) for c in zip(*held, strict=True)]
            held, waits = [], 0
    if waits:
        yield [np.concatenate(c) for c in zip(*held, strict=True)]


def add(codes: Sequence[np.ndarray], shape: tuple[int, ...], joint: np.ndarray, weight: int = 1) -> None:
    """Adds rows of a ``weight``, given by their bin on each axis, to flat joint counts."""
    kind = np.dtype(np.int16 if len(joint) < 1 << 15 else np.int32 if len(joint) < 1 << 31 else np.int64)
    flat: np.ndarray = codes[0].astype(kind)
    for axis, size in zip(codes[1:], shape[1:], strict=True):
        np.multiply(flat, kind.type(size), out=flat)
        np.add(flat, axis.astype(kind, copy=False), out=flat)
    if len(flat) < len(joint) // 4:
        np.add.at(joint, flat.astype(np.intp), weight)
    else:
        joint += np.bincount(flat, minlength=len(joint)) * weight


def add_square(codes: Sequence[np.ndarray], sizes: Sequence[int], square: np.ndarray, held: int) -> None:
    """Adds rows, given by their bin on each axis, to the counts of every two bins: X'X of their marks.

    Marks and sums are whole numbers, and those of rows of ``held`` marks at a time exact in single precision.

    >>> square = np.zeros((5, 5), dtype=np.int64)
    >>> add_square([np.array([0, 1, 1]), np.array([2, 0, 0])], [2, 3], square, 100)
    >>> square[2:, :2].tolist()
    [[0, 2], [0, 0], [1, 0]]
    """
    side = len(square)
    starts, rows = np.cumsum([0, *sizes[:-1]]).tolist(), max(held // side, 1)
    for first in range(0, len(codes[0]), rows):
        some = [c[first : first + rows].astype(np.int64) for c in codes]
        marks = np.zeros((len(some[0]), side), dtype=np.float32)
        lines = np.arange(len(some[0])) * side
        for start, bins in zip(starts, some, strict=True):
            marks.reshape(-1)[lines + (bins + start)] = 1
        square += (marks.T @ marks).astype(np.int64)


def summed(joints: Sequence[np.ndarray], plan: CountPlan) -> list[np.ndarray]:
    """The tables that are asked for, flat, each from the joint counts of its block."""
    tables = []
    for at, axes in plan.tables:
        others = tuple(i for i, axis in enumerate(plan.blocks[at]) if axis not in axes)
        tables.append(joints[at].reshape(plan.shape(at)).sum(axis=others).reshape(-1) if others else joints[at])
    return tables


def worker(plan: CountPlan) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What a worker does with the record batches of its part of the rows: its own counts of the tables, in chunks."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        parts = ([c.to_numpy(zero_copy_only=False) for c in b.columns] for b in batches if b.num_rows)
        tables = summed(counted(parts, plan), plan)
        flat = np.concatenate([*tables, np.zeros(0, dtype=np.int64)])
        yield _answer({at // CHUNK: flat[at : at + CHUNK] for at in range(0, len(flat), CHUNK)})

    return work


def packer() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What a worker does with rows that are fetched: each record batch as bytes, beside how many rows it has."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as out:
                out.write_batch(batch)
            packed = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([pa.array([batch.num_rows], pa.int64()), packed], ["k", "n"])

    return work


def adder() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What a worker does with chunks of several workers, all those of a number being among them: their sums."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        sums: dict[int, np.ndarray] = {}
        for batch in batches:
            for number, packed in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                chunk = unpacked(packed)
                sums[number] = sums[number] + chunk if number in sums else chunk
        yield _answer(sums)

    return work


def joined(numbers: Sequence[int], chunks: Sequence[bytes], plan: CountPlan) -> list[np.ndarray]:
    """The tables of chunks; one that nobody sent holds no row."""
    sizes = [int(np.prod([plan.axes[i].size for i in axes], dtype=np.int64)) for _, axes in plan.tables]
    whole = np.zeros(sum(sizes), dtype=np.int64)
    for number, packed in zip(numbers, chunks, strict=True):
        chunk = unpacked(packed)
        whole[number * CHUNK : number * CHUNK + len(chunk)] += chunk
    return np.split(whole, np.cumsum(sizes)[:-1]) if sizes else []


def unpacked(packed: bytes) -> np.ndarray:
    """Counts, int64, as they were packed: in numbers of as many bytes as the first one says."""
    return np.frombuffer(packed, dtype=f"<u{packed[0]}", offset=1).astype(np.int64)


def _answer(chunks: dict[int, np.ndarray]) -> Any:
    import pyarrow as pa

    rows = {n: c for n, c in chunks.items() if c.any()}
    kinds = [np.min_scalar_type(int(c.max())) for c in rows.values()]
    packed = [bytes([k.itemsize]) + c.astype(k).tobytes() for k, c in zip(kinds, rows.values(), strict=True)]
    return pa.RecordBatch.from_arrays([pa.array(list(rows), pa.int64()), pa.array(packed, pa.binary())], ["k", "n"])
