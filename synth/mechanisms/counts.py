"""Tables of counts with rounded Gaussian noise. Proof note: counts.md beside this file."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from math import sqrt

import numpy as np

from synth.privacy.accounting import Event
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Counts, CountsRelease, Marginal

CHUNK = 1 << 20  # rows held as bin codes at a time
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


def events(question: Counts, near: Adjacency) -> list[Event]:
    """What the accountant must count for this question; equal noise is one event with a count."""
    sigmas = sorted(m.sigma for m in question.marginals)
    size = sensitivity(near)
    return [
        Event(name=question.purpose, sensitivity=size, sigma=sigma, count=len(list(same)))
        for sigma, same in groupby(sigmas)
    ]


def changed_cells(near: Adjacency) -> int:
    """In how many cells of one table neighbouring tables can differ."""
    return near.max_rows * (2 if near.relation is Relation.REPLACE_ONE else 1)


def answer(question: Counts, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> CountsRelease:
    """The question's tables, counted over ``rows`` (positions by column) and noised.

    **Guarantee**: each table is a Gaussian mechanism of mu = sensitivity / sigma, rounded; together they
    compose exactly (counts.md). Memory: the tables, and ``CHUNK`` rows of bin codes for each column.
    """
    exact = [np.zeros(m.cells, dtype=np.int64) for m in question.marginals]
    for chunk in _chunks(question, rows):
        for marginal, table in zip(question.marginals, exact, strict=True):
            _add(marginal, chunk, table)
    values = tuple(
        table.reshape(m.shape) + noise.gaussian_counts(m.shape, sigma=m.sigma)
        for m, table in zip(question.marginals, exact, strict=True)
    )
    return CountsRelease(question=question, values=values)


def _chunks(question: Counts, rows: Mapping[str, np.ndarray]) -> Iterator[dict[int, np.ndarray]]:
    """Yields, for one chunk of rows after another, the bin of each row under each grouping (by its id)."""
    groupings = {id(b): b for m in question.marginals for b in m.bins}
    lookups = {key: _lookup(b) for key, b in groupings.items()}
    total = len(next(iter(rows.values()))) if rows else 0
    for start in range(0, total, CHUNK):
        part = slice(start, start + CHUNK)
        yield {key: _bin(b, lookups[key], rows[b.column][part]) for key, b in groupings.items()}


def _lookup(bins: Bins) -> np.ndarray | None:
    """The bin of every position, or None where there are too many to list."""
    return np.repeat(bins.groups, bins.widths) if bins.cells <= LOOKUP else None


def _bin(bins: Bins, lookup: np.ndarray | None, positions: np.ndarray) -> np.ndarray:
    if lookup is not None:
        return lookup[positions]
    return bins.groups[np.searchsorted(bins.starts, positions, side="right") - 1]


def _add(marginal: Marginal, chunk: dict[int, np.ndarray], table: np.ndarray) -> None:
    """Adds one chunk of rows to a flat table; a row that any axis leaves out is not counted."""
    code, out = np.int64(0), np.bool_(False)
    for bins in marginal.bins:
        axis = chunk[id(bins)]
        code = code * bins.size + axis  # type: ignore[assignment]
        out = out | (axis < 0) if bins.groups.min() < 0 else out  # type: ignore[assignment]
    codes = np.asarray(code)[~out] if np.ndim(out) else np.asarray(code)
    table += np.bincount(codes, minlength=len(table))
