"""Slices: sums of random groups of rows on random directions, noised. Proof note: slices.md beside this file."""

from collections.abc import Iterator, Mapping
from math import inf, nextafter, sqrt
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.numeric.disk_array import DiskArray
from synth.privacy.accounting.events import Event, GaussianDpEvent, SlicesDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Slices, SlicesRelease
from synth.questions.features import codes
from synth.questions.slices import DIRECTION_BITS, fixed_frames, stretch, swap
from synth.sources.rows.encoded import length, parts

__all__ = ["answer", "changed_cells", "events", "sensitivity", "sums"]

CHUNK = 1 << 20  # most rows added at a time
HELD = 1 << 22  # most coordinates (8 bytes each) projected at a time
VALUES_AT_A_TIME = 1 << 16  # most values noised at a time: they stay in the processor's cache
LIMB = 16  # bits of a sum that are projected at a time: products stay below 2**53, so that float64 is exact
WIDEST = 1 << 20  # most coordinates for which that is proved
WORST = 2.0**16  # largest condition number of a matrix that directions are drawn from; rarely met (slices.md, step 5)
COIN = 1 << 53  # grid on which records are sampled


def sensitivity(question: Slices, adjacency: Adjacency) -> float:
    """L2 distance by which one unit can move the sums of groups, its rows' groups being the same.

    **Guarantee**: for each of its at most ``max_rows`` rows 1 where it comes or goes; where it is replaced 2, or
    sqrt(2) if no coordinate is negative. Rows of a person that fall into different groups move less.

    Errors: ValueError for a relation without a proof.
    Privacy: public only.
    """
    return adjacency.moves(replaced=sqrt(2.0) if question.encoding.non_negative else 2.0)


def events(question: Slices, adjacency: Adjacency) -> list[Event]:
    """What the accountant must count: a Gaussian where the directions are a whole rotation, else slices.

    Errors: UsageError where the relation gives the question no guarantee, or a row's norm exceeds one.

    Privacy: public only.
    """
    _check(question, adjacency)
    size = sensitivity(question, adjacency)
    released: dict[str, Any] = {
        "name": question.purpose,
        "sensitivity": size,
        "sigma": question.sigma,
        "pitch": question.grain,
    }
    if question.whole and question.rate == 1 and not question.drawn:
        return [GaussianDpEvent(**released)]
    dim = question.encoding.dim
    if question.directions == "fixed":
        longest = stretch(dim, question.num_slices or dim, question.k)
        return [GaussianDpEvent(**{**released, "sensitivity": nextafter(size * longest, inf)})]
    return [
        SlicesDpEvent(
            **released,
            dim=dim,
            num_slices=dim if question.whole else question.num_slices or dim,
            directions=question.directions,
            rate=question.share,
            swap=swap(question.encoding) / size if question.drawn else 0.0,
            rows_split_across_groups=adjacency.max_rows > 1 and question.groups != 1 and not question.whole,
        )
    ]


def _check(question: Slices, adjacency: Adjacency) -> None:
    """Refuses what has no proof. Errors: UsageError."""
    if question.groups is None and not adjacency.rows_are_public:
        raise UsageError(
            "a slice for each record reveals the number of rows, which {} with unit {} protects; set a number of "
            "groups, or choose zero_out or replace_one with a row as the unit",
            adjacency.relation,
            adjacency.unit,
        )
    if question.drawn and not (adjacency.rows_are_public and adjacency.by_row):
        raise UsageError(
            "records drawn without replacement have no proof under {} with unit {}; leave sampling out, or choose "
            "zero_out or replace_one with a row as the unit",
            adjacency.relation,
            adjacency.unit,
        )
    if question.rate < 1 and (adjacency.relation is Relation.REPLACE_ONE or not adjacency.by_row):
        raise UsageError(
            "sampled records have no proof under {} with unit {}; set the rate to 1, or choose add_remove or "
            "zero_out with a row as the unit",
            adjacency.relation,
            adjacency.unit,
        )
    if question.encoding.dim > WIDEST:
        raise UsageError("slices of {} coordinates: at most {}; group categories", question.encoding.dim, WIDEST)
    if sum(int((t * t).sum(1).max(initial=0)) for t in _whole(question)) > round(question.pitch**-2):
        raise UsageError("slices: a row's norm exceeds 1 on the lattice; lower the weights of the columns")


def changed_cells(question: Slices, adjacency: Adjacency) -> int:
    """In how many told values neighbouring tables can differ, groups and directions being the same.

    Privacy: public only.
    """
    if not question.whole:
        return adjacency.max_rows * (question.num_slices or 1)
    nonzero = sum(int(np.count_nonzero(b.table, axis=1).max(initial=0)) for b in question.encoding.blocks)
    return adjacency.max_rows * nonzero * (2 if adjacency.relation is Relation.REPLACE_ONE or question.drawn else 1)


def answer(question: Slices, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> SlicesRelease:
    """The question's slices over ``rows`` (by column the positions, (n,)), noised.

    **Guarantee**: the profile of ``events`` (slices.md). Memory: the sums of groups, twice, and ``CHUNK`` rows at a
    time; slices of records are computed some at a time, 8 bytes a record keep their places, and a long release lies on
    disk (disk_array.py).

    Privacy: reads rows, under noise.
    """
    directions = None if question.whole else _directions(question, noise)
    if question.groups is None:
        values = _by_record(question, rows, directions, noise)
    else:
        values = _noisy(question, sums(question, rows, noise), directions, noise)
    released = None if directions is None else directions * 2.0**-DIRECTION_BITS
    return SlicesRelease(question=question, values=values, directions=released)


def _by_record(
    question: Slices, rows: Mapping[str, np.ndarray], directions: np.ndarray | None, noise: SystemNoise
) -> np.ndarray:
    """The noisy slices of single records, some at a time, in a secret order: that of the table is an input.

    Where records are drawn, those that come first in that order.
    """
    wide = question.encoding.dim if directions is None else directions.shape[1]
    size = length(rows)
    if question.drawn and question.drawn[1] != size:
        raise UsageError("slices of drawn records: the question states another number of rows than the table has")
    tall = question.drawn[0] if question.drawn else size  # how many records have a sum
    array_on_disk, tables, places = DiskArray((tall, wide)), _whole(question), noise.permutation(size)
    for part, held in _parts(question, rows, max(min(CHUNK, HELD // question.encoding.dim), 1)):
        exact = np.zeros((part.stop - part.start, question.encoding.dim), dtype=np.int64)
        _add_rows(question, tables, held, _groups(question, part, noise)[0], exact)
        drawn = places[part] < tall
        array_on_disk.put(places[part][drawn], _noisy(question, exact[drawn], directions, noise))
    return array_on_disk.array()


def _noisy(question: Slices, exact: np.ndarray, directions: np.ndarray | None, noise: SystemNoise) -> np.ndarray:
    """Exact sums, projected unless the directions are a whole rotation, with noise."""
    if directions is None:
        return _noised(question, exact, question.pitch, noise)
    projected = _projected(exact, directions, limbs=2 if question.groups is None else 3)
    return _noised(question, projected, question.pitch * 2.0 ** (LIMB - DIRECTION_BITS), noise)


def sums(question: Slices, rows: Mapping[str, np.ndarray], noise: SystemNoise, *, chunk: int = CHUNK) -> np.ndarray:
    """The exact sums of the groups' rows on the lattice, int64 (K, dim), in units of the pitch.

    Each row's group is drawn anew, uniformly, whatever the row and wherever it stands; it is never told. Of single
    records the sums are the table's own, in its order. ``chunk``: most rows added at a time.

    Privacy: reads rows, exact: they stay with the curator.
    """
    groups = length(rows) if question.groups is None else question.groups
    total = np.zeros((groups, question.encoding.dim), dtype=np.int64)
    tables = _whole(question)
    for part, held in _parts(question, rows, chunk):
        group, first, last = _groups(question, part, noise)
        _add_rows(question, tables, held, group, total[first:last])
    return total


def _parts(
    question: Slices, rows: Mapping[str, np.ndarray], step: int
) -> Iterator[tuple[slice, Mapping[str, np.ndarray]]]:
    """At most ``step`` rows at a time, and where they stand."""
    start = 0
    for held in parts(rows, {b.bins.column for b in question.encoding.blocks}, step):
        part = slice(start, start + len(next(iter(held.values()))))
        start = part.stop
        yield part, held


def _add_rows(
    question: Slices, tables: list[np.ndarray], held: Mapping[str, np.ndarray], group: np.ndarray, total: np.ndarray
) -> None:
    """Adds one chunk of rows to the sums (K, dim) of their groups."""
    at = 0
    for block, table in zip(question.encoding.blocks, tables, strict=True):
        _add(table, group, codes(block.bins, held[block.bins.column]), total[:, at : at + block.width])
        at += block.width


def _whole(question: Slices) -> list[np.ndarray]:
    """Each block's coordinates as rows are encoded, int64, in units of the pitch."""
    return [np.trunc(b.table / question.pitch).astype(np.int64) for b in question.encoding.blocks]


def _groups(question: Slices, part: slice, noise: SystemNoise) -> tuple[np.ndarray, int, int]:
    """Each row's group, counted from ``first`` (-1 for a row that is not sampled); first and last group of the part."""
    size = part.stop - part.start
    if question.groups is None:
        group, first, last = np.arange(size), part.start, part.stop
    else:
        group, first, last = noise.uniform_codes(size, high=question.groups), 0, question.groups
    if question.rate < 1:
        group = np.where(noise.uniform_codes(size, high=COIN) < int(question.rate * COIN), group, -1)
    return group, first, last


def _add(table: np.ndarray, group: np.ndarray, bins: np.ndarray, total: np.ndarray) -> None:
    """Adds a column's coordinates of one chunk of rows to its part of the sums (K, width)."""
    retained = (bins >= 0) & (group >= 0)
    if not retained.all():
        group, bins = group[retained], bins[retained]
    size, width = table.shape
    if size == width and np.count_nonzero(table) == np.count_nonzero(np.diagonal(table)):
        height = np.diagonal(table)
        if len(group) < total.size:
            np.add.at(total, (group, bins), height[bins])
        else:
            total += np.bincount(group * size + bins, minlength=total.size).reshape(total.shape) * height
        return
    for j in range(width):  # sums below CHUNK / pitch = 2**40: whole numbers, exact in float64 in any order
        total[:, j] += np.bincount(group, weights=table[bins, j], minlength=len(total)).astype(np.int64)


def _directions(question: Slices, noise: SystemNoise) -> np.ndarray:
    """Random directions, int64 (dim, num_slices), in units of 2**-DIRECTION_BITS."""
    shape, unit = (question.encoding.dim, question.num_slices or 1), 2.0**DIRECTION_BITS
    if question.directions == "fixed":
        return fixed_frames(*shape, question.k)
    if question.directions == "gaussian":
        return noise.gaussian_counts(shape, sigma=unit / sqrt(shape[0]))
    q, r = np.linalg.qr(noise.directions(shape))
    while np.linalg.cond(r) > WORST:  # else rounding errors could turn the directions by more than the slack
        q, r = np.linalg.qr(noise.directions(shape))
    return np.rint(q * np.where(np.diagonal(r) < 0, -unit, unit)).astype(np.int64)


def _projected(total: np.ndarray, directions: np.ndarray, *, limbs: int) -> np.ndarray:
    """floor(total @ directions / 2**LIMB), exactly, int64 (K, num_slices).

    The sums are taken LIMB bits at a time (the last limb has what is left): every partial sum of a product is a whole
    number below 2**53, so float64 arithmetic is exact.
    """
    if int(np.abs(directions).sum(0).max()) >= 1 << (53 - LIMB):
        raise ArithmeticError("directions too long for exact products")
    plain = directions.astype(np.float64)
    result = np.zeros((len(total), directions.shape[1]), dtype=np.int64)
    step = max(HELD // total.shape[1], 1)
    for start in range(0, len(total), step):
        left = total[start : start + step]
        for limb in range(limbs):
            digit = left & ((1 << LIMB) - 1) if limb < limbs - 1 else left
            product = (digit.astype(np.float64) @ plain).astype(np.int64)
            result[start : start + step] += product >> LIMB if limb == 0 else product << (LIMB * (limb - 1))
            left = left >> LIMB
    return result


def _noised(question: Slices, exact: np.ndarray, step: float, noise: SystemNoise) -> np.ndarray:
    """exact (in units of ``step``) + Gaussian noise, rounded to the question's grain, float64."""
    shift = round(question.grain / step).bit_length() - 1
    released = np.empty(exact.shape)
    rows = max(VALUES_AT_A_TIME // exact.shape[1], 1)
    for start in range(0, len(exact), rows):
        part = exact[start : start + rows]
        part += noise.gaussian_counts(part.shape, sigma=question.sigma / step)
        released[start : start + rows] = ((part + ((1 << shift) >> 1)) >> shift) * question.grain
    return released
