"""Noisy counts of rows by their nearest candidate. Proof note: nearest.md beside this file."""

from collections.abc import Mapping
from math import sqrt

import numpy as np

from synth.mechanisms.counts import changed
from synth.privacy.accounting.events import Event, GaussianDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import Nearest, NearestRelease
from synth.questions.features import codes
from synth.sources.rows.encoded import parts

HELD = 1 << 18  # most distances held at a time: what a processor's own memory holds


def sensitivity(adjacency: Adjacency) -> float:
    """L2 distance by which one unit can move the counts of votes.

    **Guarantee**: for each of its at most ``max_rows`` rows 1 where it comes or goes, sqrt(2) where its vote moves.

    Errors: ValueError for a relation without a proof.
    Privacy: public only.
    """
    return adjacency.moves(replaced=sqrt(2.0))


def events(question: Nearest, adjacency: Adjacency) -> list[Event]:
    """What the accountant must count: one Gaussian, however many candidates.

    Privacy: public only.
    """
    return [GaussianDpEvent(name=question.purpose, sensitivity=sensitivity(adjacency), sigma=question.sigma)]


def changed_cells(question: Nearest, adjacency: Adjacency) -> int:
    """In how many counts neighbouring tables can differ.

    Privacy: public only.
    """
    return min(len(question.candidates), changed(adjacency))


def answer(question: Nearest, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> NearestRelease:
    """Every row's one vote, counted over ``rows`` (by column the positions, (n,)) and noised.

    **Guarantee**: a Gaussian mechanism of mu = sensitivity / sigma, rounded (nearest.md). Memory: ``HELD`` distances.

    Privacy: reads rows, under noise.
    """
    released = votes(question, rows)
    return NearestRelease(
        question=question, values=released + noise.gaussian_counts(released.shape, sigma=question.sigma)
    )


def votes(question: Nearest, rows: Mapping[str, np.ndarray], *, held: int = HELD) -> np.ndarray:
    """How many rows are nearest to each candidate, int64 (m,), exact; ``held``: most distances held at a time.

    Distances are whole numbers, added column by column for each row alone.

    Privacy: reads rows, exact: they stay with the curator.
    """
    count, size = len(question.candidates), sum(int(d.max()) for d in question.distances)
    kind = np.int32 if size < 2**31 else np.int64
    far = [
        np.vstack([d[:, c], np.zeros((1, count), dtype=np.int64)]).astype(kind)  # last a group that a row lacks (-1)
        for d, c in zip(question.distances, question.candidates.T, strict=True)
    ]
    total = np.zeros(count, dtype=np.int64)
    for part in parts(rows, [b.column for b in question.bins], max(held // count, 1)):
        each = (f[codes(b, part[b.column])] for f, b in zip(far, question.bins, strict=True))
        apart = next(each)
        for own in each:
            apart += own
        total += np.bincount(np.argmin(apart, axis=1), minlength=count)
    return total
