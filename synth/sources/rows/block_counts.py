"""Joint tables of rows that come in parts, in one pass: by this process, or by a worker of a cluster.

Numpy and, for a worker, pyarrow are all that this file needs: it is sent to workers as it is, and they need not have
this package. Counts are exact whole numbers. Parts may be counted anywhere, again if a worker is lost, and added in
any order.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

GATHERED = 1 << 17  # rows counted at a time: of fewer, clearing the tables would cost more than filling them
HELD = 1 << 25  # most positions and bins (4 bytes each) held at a time, where columns are many
LOOKUP = 1 << 22  # above so many positions a bin is found by bisection rather than by a lookup table


@dataclass(frozen=True, eq=False)
class CountedAxis:
    """One grouping of a column: ``bins`` of the parts that begin at ``starts``, and last the bin of a cell below zero.

    ``column``: which array of a batch it is about. ``size``: the number of bins, the last one included.

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
        if self.cells > LOOKUP:
            return lambda positions: self.bins[np.searchsorted(self.starts, positions, side="right") - 1]
        widths = np.diff(np.append(self.starts, self.cells))
        lookup = np.append(np.repeat(self.bins[:-1], widths), self.bins[-1])
        return lambda positions: lookup[positions]


@dataclass(frozen=True, eq=False)
class CountPlan:
    """Joint tables to be counted: ``blocks`` are sets of axes. Their flat cells follow each other from ``first``."""

    axes: tuple[CountedAxis, ...]
    blocks: tuple[tuple[int, ...], ...]

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
    for columns in gathered(parts, plan.step):
        bins = [code(columns[axis.column]) for code, axis in zip(codes, plan.axes, strict=True)]
        for at, block in enumerate(plan.blocks):
            add([bins[i] for i in block], plan.shape(at), joints[at])
    return joints


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


def add(codes: Sequence[np.ndarray], shape: tuple[int, ...], joint: np.ndarray) -> None:
    """Adds rows, given by their bin on each axis, to flat joint counts."""
    kind = np.dtype(np.int16 if len(joint) < 1 << 15 else np.int32 if len(joint) < 1 << 31 else np.int64)
    flat: np.ndarray = codes[0].astype(kind)
    for axis, size in zip(codes[1:], shape[1:], strict=True):
        np.multiply(flat, kind.type(size), out=flat)
        np.add(flat, axis.astype(kind, copy=False), out=flat)
    if len(flat) < len(joint) // 4:
        np.add.at(joint, flat.astype(np.intp), 1)
    else:
        joint += np.bincount(flat, minlength=len(joint))


def occupied(joints: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The cells that are not empty: their places, all tables one after the other, and their counts."""
    whole = np.concatenate([*joints, np.zeros(0, dtype=np.int64)])
    places = np.flatnonzero(whole)
    return places, whole[places]


def split(places: np.ndarray, counts: np.ndarray, plan: CountPlan) -> list[np.ndarray]:
    """What ``told`` told, as tables; counts of one place are added."""
    lengths = plan.lengths()
    whole = np.zeros(sum(lengths), dtype=np.int64)
    np.add.at(whole, places, counts)
    return np.split(whole, np.cumsum(lengths)[:-1]) if lengths else []


def worker(plan: CountPlan) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What a worker does with the record batches of its part of the rows: it tells places and counts of its own."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        parts = ([c.to_numpy(zero_copy_only=False) for c in b.columns] for b in batches if b.num_rows)
        places, counts = occupied(counted(parts, plan))
        yield pa.RecordBatch.from_arrays([pa.array(places, pa.int64()), pa.array(counts, pa.int64())], ["k", "n"])

    return work
