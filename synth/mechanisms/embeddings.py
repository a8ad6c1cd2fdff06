"""Noised mean embeddings: sums of public features of rows. Proof note: embeddings.md beside this file."""

from collections.abc import Mapping
from math import floor, prod, sqrt

import numpy as np

from synth.mechanisms.counts import changed
from synth.privacy.accounting.events import Event, GaussianDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import Embedding, EmbeddingRelease, Tensors, Term, TreeScore
from synth.questions.features import codes
from synth.sources.rows.encoded import parts
from synth.sources.rows.forest import Forest

__all__ = ["answer", "changed_cells", "coarsened", "events", "sensitivity", "sums"]

CHUNK = 1 << 20  # most rows looked up at a time
HELD = 1 << 22  # most features (8 bytes each) held at a time
LISTED = 1 << 22  # above so many joint bins only those present are listed
SHRUNK = 1 - 2.0**-28  # makes room for what float arithmetic may add to a norm
ALLOWED = 1 - 2.0**-29


def sensitivity(question: Embedding, adjacency: Adjacency) -> float:
    """L2 distance by which one unit can move the sum of features.

    **Guarantee**: for each of its at most ``max_rows`` rows 1 where it comes or goes; where it is replaced 2, or
    sqrt(2) if the implemented inner product is never negative.

    Errors: ValueError for a relation without a proof.
    Privacy: public only.
    """
    return adjacency.moves(replaced=sqrt(2.0) if question.features.non_negative_inner else 2.0)


def events(question: Embedding, adjacency: Adjacency) -> list[Event]:
    """What the accountant must count: one Gaussian, however many features.

    Errors: as ``sensitivity``.
    Privacy: public only.
    """
    size = sensitivity(question, adjacency)
    return [GaussianDpEvent(name=question.purpose, sensitivity=size, sigma=question.sigma, pitch=question.grain)]


def changed_cells(question: Embedding, adjacency: Adjacency) -> int:
    """In how many features neighbouring tables can differ.

    Privacy: public only.
    """
    return min(question.features.dim, changed(adjacency) * question.features.nonzero)


def answer(question: Embedding, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> EmbeddingRelease:
    """The question's embedding over ``rows`` (by column the positions, (n,)), noised.

    **Guarantee**: a Gaussian mechanism of mu = sensitivity / sigma, rounded (embeddings.md). Memory: the sums, and
    ``HELD`` features at a time.

    Privacy: reads rows, under noise.
    """
    steps = round(question.grain / question.pitch)
    released = coarsened(sums(question, rows), sigma=question.sigma / question.pitch, steps=steps, noise=noise)
    return EmbeddingRelease(question=question, values=released * question.grain)


def coarsened(total: np.ndarray, *, sigma: float, steps: int, noise: SystemNoise) -> np.ndarray:
    """total + Gaussian noise, rounded to whole multiples of ``steps`` (a power of two) and told in them, int64.

    ``total``: int64 of any shape, the result has the same; ``sigma`` in its units, above 0.
    **Guarantee**: a Gaussian mechanism, mu = sensitivity of ``total`` / sigma, post-processed.

    Privacy: reads rows, under noise: ``total`` is exact and must not leave.
    """
    fine = total + noise.gaussian_counts(total.shape, sigma=sigma)
    return (fine + steps // 2) >> (steps.bit_length() - 1)


def sums(question: Embedding, rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """The exact sum of the rows' features on the lattice, int64 (dim,), in units of the pitch.

    Whole numbers: the order of rows does not matter. A row's numbers have a squared sum of at most 1 / pitch**2.

    Privacy: reads rows, exact: they stay with the curator.
    """
    features, pitch = question.features, question.pitch
    if isinstance(features, TreeScore):
        assert isinstance(rows, Forest)
        return _of_trees(features, rows, pitch)
    total = np.zeros(features.dim, dtype=np.int64)
    step = CHUNK if isinstance(features, Tensors) else max(HELD // features.dim, 1)
    for part in parts(rows, features.columns, step):
        if isinstance(features, Tensors):
            _add_tables(features, part, pitch, total)
        else:
            most = floor((ALLOWED / pitch) ** 2)
            total += on_lattice(features.of(part), pitch, most=most).sum(0)
    return total


def _of_trees(features: TreeScore, forest: Forest, pitch: float) -> np.ndarray:
    """The exact sum of the roots' vectors: of each the sum of its rows' on the lattice, shortened, on it again.

    Whole numbers are added, so that neither the order of a root's rows nor other roots change a bit of it.
    """
    rows, roots = forest.rows(features.table, features.places), forest.roots(features.table)
    order, most = np.argsort(roots, kind="stable"), floor((ALLOWED / pitch) ** 2)
    wide = len(features.whitening)
    step = max(HELD // (wide * int(np.bincount(roots, minlength=1).max())), 1) if len(roots) else 1
    total = np.zeros(features.dim, dtype=np.int64)
    for first in range(0, forest.num_roots if len(roots) else 0, step):
        some = order[slice(*np.searchsorted(roots, [first, first + step], sorter=order))]
        own = on_lattice(features.of({n: p[some] for n, p in rows.items()}), pitch, most=most)
        sums = np.zeros((min(step, forest.num_roots - first), wide), dtype=np.int64)
        np.add.at(sums, roots[some] - first, own)
        total += on_lattice(features.of_roots(sums.T * pitch).T, pitch, most=most).sum(0)
    return total


def on_lattice(features: np.ndarray, pitch: float, *, most: int) -> np.ndarray:
    """Features (rows, dim) truncated towards zero, in units of the pitch, int64 of the same shape.

    A row whose squared norm is above ``most`` units becomes zero.

    Privacy: reads rows, exact: it stays with the curator.
    """
    whole = np.trunc(features * (SHRUNK / pitch)).astype(np.int64)
    whole[np.einsum("ij,ij->i", whole, whole) > most] = 0
    return whole


def _add_tables(features: Tensors, rows: Mapping[str, np.ndarray], pitch: float, total: np.ndarray) -> None:
    """Adds rows to the sums of a map whose terms depend on a few bins: each combination of bins is counted first."""
    known: dict[int, np.ndarray] = {}
    for term, where in zip(features.terms, features.parts, strict=True):
        for block in term.blocks:
            if id(block.bins) not in known:
                known[id(block.bins)] = codes(block.bins, rows[block.bins.column])
        counted, times = _combinations(term, [known[id(b.bins)] for b in term.blocks])
        most = floor(term.square * (ALLOWED / pitch) ** 2)
        if all(np.count_nonzero(b.table, axis=1).max(initial=0) <= 1 for b in term.blocks):
            _add_sparse(term, counted, times, pitch, most, total[where])
        else:
            _add_dense(term, counted, times, pitch, most, total[where])


def _combinations(term: Term, axes: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The combinations of a term's bins that rows show, (c, factors), and how often each, (c,)."""
    shape = tuple(b.bins.size for b in term.blocks)
    retained = np.logical_and.reduce([a >= 0 for a in axes])
    flat = np.ravel_multi_index([a[retained] for a in axes], shape)
    if prod(shape) <= LISTED:
        tally = np.bincount(flat, minlength=1)
        values_ = np.flatnonzero(tally)
        times = tally[values_]
    else:
        values_, times = np.unique(flat, return_counts=True)
    return np.column_stack(np.unravel_index(values_, shape)), times


def _add_sparse(term: Term, counted: np.ndarray, times: np.ndarray, pitch: float, most: int, total: np.ndarray) -> None:
    """Adds combinations of bins that have one feature each, as one-hot columns have."""
    index = np.zeros(len(counted), dtype=np.int64)
    height = np.full(len(counted), term.weight)
    for j, block in enumerate(term.blocks):
        at = np.abs(block.table).argmax(axis=1)[counted[:, j]]
        index = index * block.width + at
        height = height * block.table[counted[:, j], at]
    np.add.at(total, index, times * on_lattice(height[:, None], pitch, most=most)[:, 0])


def _add_dense(term: Term, counted: np.ndarray, times: np.ndarray, pitch: float, most: int, total: np.ndarray) -> None:
    """Adds combinations of bins that have many features each, some at a time."""
    step = max(HELD // term.dim, 1)
    for start in range(0, len(counted), step):
        part = slice(start, start + step)
        parts = [b.table[counted[part, j]] for j, b in enumerate(term.blocks)]
        total += times[part] @ on_lattice(term.of(parts), pitch, most=most)
