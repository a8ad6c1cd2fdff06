"""Weighted tables over rows that belong to roots, with rounded Gaussian noise. Proof note: linked.md beside this."""

from math import sqrt

import numpy as np

from synth.errors import BudgetError
from synth.mechanisms.counts import changed
from synth.mechanisms.embeddings import coarsened
from synth.privacy.accounting.events import Event, GaussianDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions.linked import Linked, LinkedRelease, grain
from synth.sources.rows.forest import Forest

UNIT = 1 << 32  # what a root weighs, in the whole numbers that are summed
MOST_NOISE = 2.0**26  # roots: sixteen deviations of it, and 2**29 roots, are whole numbers of 63 bits in that unit
FAINT = (
    "noise of {:.3g} roots on a table of counts is more than the {:.3g} that are drawn exactly; raise epsilon or "
    "delta, or choose fewer columns"
)


def sensitivity(adjacency: Adjacency) -> float:
    """L2 distance by which one root with everything below it can move one weighted table.

    **Guarantee**: its rows weigh 1 together at most: 1 where it comes or goes, sqrt(2) where it is replaced. Errors:
    ValueError for a unit of several roots. Privacy: public only.
    """
    if adjacency.max_rows != 1:
        raise ValueError("a root's rows are bounded by the keys' bounds; max_rows must be 1")
    return sqrt(2.0) if adjacency.relation is Relation.REPLACE_ONE else 1.0


def events(question: Linked, adjacency: Adjacency) -> list[Event]:
    """What the accountant must count: one Gaussian a table. Privacy: public only.

    Errors: BudgetError for more noise than whole numbers of 63 bits hold.
    """
    if (most := max((m.sigma for m in question.marginals), default=0.0)) > MOST_NOISE:
        raise BudgetError(FAINT, most, MOST_NOISE)
    size, name = sensitivity(adjacency), f"{question.table} {question.view}: {question.purpose}"
    return [
        GaussianDpEvent(name=name, sensitivity=size, sigma=m.sigma, pitch=grain(m.sigma)) for m in question.marginals
    ]


def changed_cells(question: Linked, adjacency: Adjacency) -> int:
    """In how many cells of one table neighbouring forests can differ. Privacy: public only."""
    return question.most * changed(adjacency)


def answer(question: Linked, rows: Forest, noise: SystemNoise) -> LinkedRelease:
    """The question's tables, weighed over the forest and noised.

    **Guarantee**: each table is a Gaussian mechanism of mu = sensitivity / sigma, rounded (linked.md).
    Privacy: reads rows, under noise.
    """
    return LinkedRelease(
        question=question,
        values=tuple(
            noised(total.reshape(m.shape), m.sigma, noise)
            for m, total in zip(question.marginals, exact(question, rows), strict=True)
        ),
    )


def noised(total: np.ndarray, sigma: float, noise: SystemNoise) -> np.ndarray:
    """Sums in units of 1 / ``UNIT`` with noise, rounded to the grain, float64 of the shape of ``total``.

    ``sigma`` in rows of the root, above 0. **Guarantee**: a Gaussian mechanism, mu = sensitivity / sigma,
    post-processed.

    Privacy: reads rows, under noise.
    """
    step = grain(sigma)
    return coarsened(total, sigma=sigma * UNIT, steps=round(step * UNIT), noise=noise) * step


def exact(question: Linked, rows: Forest) -> list[np.ndarray]:
    """Weighted counts without noise, as private as the rows: for each table int64 (cells,), in units of 1 / ``UNIT``.

    A weight is one part of ``UNIT``, rounded down. Privacy: reads rows, exact.
    """
    return rows.weighed(question.table, question.view, [m.bins for m in question.marginals], UNIT)
