"""Tables of counts with rounded Gaussian noise. Proof note: counts.md beside this file."""

from collections.abc import Mapping
from itertools import groupby
from math import sqrt
from typing import Any

import numpy as np

from synth.privacy.accounting import Event
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Counts, CountsRelease, Marginal

CHUNK = 1 << 20  # most rows counted at a time
HELD = 1 << 25  # most bin codes (4 bytes each) held at a time
LOOKUP = 1 << 22  # above so many positions a bin is found by bisection rather than by a lookup table


def sensitivity(near: Adjacency) -> float:
    """L2 distance by which one unit can move one table of counts.

    **Guarantee**: for each of its at most ``max_rows`` rows 1 where it comes or goes, sqrt(2) where it moves from one
    cell to another. The rows of a unit may be equal, so their moves add up: the factor is max_rows, not its root.
    """
    match near.relation:
        case Relation.ADD_REMOVE | Relation.ZERO_OUT:
            return float(near.max_rows)
        case Relation.REPLACE_ONE:
            return near.max_rows * sqrt(2.0)
        case _:
            raise ValueError(f"no sensitivity is proved for relation {near.relation!r}")


def signed_sensitivity(near: Adjacency) -> float:
    """L2 distance by which one unit can move a sum of vectors of norm at most one and of any sign."""
    return near.max_rows * (2.0 if near.relation is Relation.REPLACE_ONE else 1.0)


def events(question: Counts, near: Adjacency) -> list[Event]:
    """What the accountant must count for this question; equal noise is one event with a count."""
    sigmas = sorted(m.sigma for m in question.marginals)
    size = sensitivity(near)
    return [
        Event(name=question.purpose, sensitivity=size, sigma=sigma, count=len(list(same)))
        for sigma, same in groupby(sigmas)
    ]


def changed_cells(_: Any, near: Adjacency) -> int:
    """In how many cells of one table of the question neighbouring tables can differ; the same for every question."""
    return changed(near)


def changed(near: Adjacency) -> int:
    """In how many cells of one table neighbouring tables can differ."""
    return near.max_rows * (2 if near.relation is Relation.REPLACE_ONE else 1)


def answer(question: Counts, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> CountsRelease:
    """The question's tables, counted over ``rows`` (positions by column) and noised.

    **Guarantee**: each table is a Gaussian mechanism of mu = sensitivity / sigma, rounded; together they compose
    exactly (counts.md). Memory: the tables, and ``HELD`` bin codes at a time.
    """
    exact = [np.zeros(m.cells, dtype=np.int64) for m in question.marginals]
    groupings, axes = _distinct(question)
    lookups = [_lookup(b) for b in groupings]
    total = len(next(iter(rows.values()))) if rows else 0
    step = max(min(CHUNK, HELD // max(len(groupings), 1)), 1)
    for start in range(0, total, step):
        part = slice(start, start + step)
        codes = [_bin(b, t, rows[b.column][part]) for b, t in zip(groupings, lookups, strict=True)]
        for marginal, at, table in zip(question.marginals, axes, exact, strict=True):
            _add(marginal, [codes[i] for i in at], table)
    values = tuple(
        table.reshape(m.shape) + noise.gaussian_counts(m.shape, sigma=m.sigma)
        for m, table in zip(question.marginals, exact, strict=True)
    )
    return CountsRelease(question=question, values=values)


def _distinct(question: Counts) -> tuple[list[Bins], list[list[int]]]:
    """The groupings of a question, equal ones once, and for each table which of them its axes are."""
    known: dict[tuple[str, bytes, bytes], int] = {}
    groupings: list[Bins] = []
    axes = []
    for marginal in question.marginals:
        at = []
        for bins in marginal.bins:
            key = (bins.column, bins.starts.tobytes(), bins.groups.tobytes())
            if key not in known:
                known[key] = len(groupings)
                groupings.append(bins)
            at.append(known[key])
        axes.append(at)
    return groupings, axes


def _lookup(bins: Bins) -> np.ndarray | None:
    """The bin of every position, or None where there are too many to list."""
    return np.repeat(bins.groups, bins.widths).astype(np.int32) if bins.cells <= LOOKUP else None


def _bin(bins: Bins, lookup: np.ndarray | None, positions: np.ndarray) -> np.ndarray:
    """The bin of each row, int32; -1 for none."""
    if lookup is not None:
        return lookup[positions]
    return bins.groups[np.searchsorted(bins.starts, positions, side="right") - 1].astype(np.int32)


def _add(marginal: Marginal, codes: list[np.ndarray], table: np.ndarray) -> None:
    """Adds one chunk of rows to a flat table; a row that any axis leaves out is not counted."""
    flat = np.zeros(len(codes[0]), dtype=np.int64)
    for bins, axis in zip(marginal.bins, codes, strict=True):
        flat = flat * bins.size + axis
    left_out = [axis < 0 for bins, axis in zip(marginal.bins, codes, strict=True) if bins.groups.min() < 0]
    if left_out:
        flat = flat[~np.logical_or.reduce(left_out)]
    table += np.bincount(flat, minlength=len(table))
