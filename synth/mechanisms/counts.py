"""Tables of counts with rounded Gaussian noise. Proof note: counts.md beside this file."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import sqrt
from typing import Any

import numpy as np

from synth.errors import BudgetError
from synth.privacy.accounting.events import Event, RoundedGaussianDpEvent
from synth.privacy.noise import WIDEST, SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Counts, CountsRelease, Marginal, WeightedCounts
from synth.sources.rows.marginals import exact

FAINT = "noise of {:.3g} rows on a table of counts is more than the {:.3g} that can be drawn; raise epsilon or delta"
MANY = 10_000  # tables of a question whose noise is drawn together


def sensitivity(adjacency: Adjacency) -> float:
    """L2 distance by which one unit can move one table of counts.

    **Guarantee**: for each of its at most ``max_rows`` rows 1 where it comes or goes, sqrt(2) where it moves from one
    cell to another. The rows of a unit may be equal, so their moves add up: the factor is max_rows, not its root.

    Errors: ValueError for a relation without a proof.
    Privacy: public only.
    """
    return adjacency.moves(replaced=sqrt(2.0))


def signed_sensitivity(adjacency: Adjacency) -> float:
    """L2 distance by which one unit can move a sum of vectors of norm at most one and of any sign.

    Privacy: public only.
    """
    return adjacency.moves(replaced=2.0)


def events(question: Counts, adjacency: Adjacency) -> list[Event]:
    """What the accountant must count for this question; equal noise is one event with a count.

    Errors: as ``sensitivity``; BudgetError for more noise than whole numbers of 63 bits hold.
    Privacy: public only.
    """
    return of_tables(question, sensitivity(adjacency))


def of_tables(question: Counts | WeightedCounts, size: float) -> list[Event]:
    """The events of tables of which a unit moves each by ``size``. Errors: as ``events``.

    Privacy: public only.
    """
    sigmas = sorted(m.sigma for m in question.marginals)
    check_noise(max(sigmas, default=0.0))
    return [
        RoundedGaussianDpEvent(name=question.purpose, sensitivity=size, sigma=sigma, count=len(list(same)))
        for sigma, same in groupby(sigmas)
    ]


def check_noise(sigma: float) -> None:
    """Errors: BudgetError for a deviation beyond what is drawn.

    Privacy: public only.
    """
    if sigma > WIDEST:
        raise BudgetError(FAINT, sigma, WIDEST)


def changed_cells(_: Any, adjacency: Adjacency) -> int:
    """In how many cells of one table of the question neighbouring tables can differ; the same for every question.

    Privacy: public only.
    """
    return changed(adjacency)


def no_cells(_question: Any, _adjacency: Adjacency) -> int:
    """No cell carries Gaussian noise.

    Privacy: public only.
    """
    return 0


def changed(adjacency: Adjacency) -> int:
    """In how many cells of one table neighbouring tables can differ.

    Privacy: public only.
    """
    return adjacency.max_rows * (2 if adjacency.relation is Relation.REPLACE_ONE else 1)


def answer(question: Counts, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> CountsRelease:
    """The question's tables, counted over ``rows`` (positions by column, wherever they are) and noised.

    **Guarantee**: each table is a Gaussian mechanism of mu = sensitivity / sigma, rounded; together they compose
    exactly (counts.md). Memory: the tables, and ``marginals.HELD`` bin codes at a time.

    Privacy: reads rows, under noise.
    """
    released = exact([m.bins for m in question.marginals], rows)
    return CountsRelease(question=question, values=noised(question.marginals, released, noise))


def noised(marginals: Sequence[Marginal], tables: list[np.ndarray], noise: SystemNoise) -> tuple[np.ndarray, ...]:
    """Exact tables (cells,) in their shapes, each with draws of its own; of ``MANY`` those of one sigma at once.

    Privacy: reads rows, under noise: ``tables`` are exact.
    **Guarantee**: that of each marginal's discrete Gaussian noise, as the question's events state it (counts.md).
    """
    if len(tables) <= MANY:
        return tuple(
            table.reshape(m.shape) + noise.exact_gaussian_counts(m.shape, sigma=m.sigma)
            for m, table in zip(marginals, tables, strict=True)
        )
    order = sorted(range(len(tables)), key=lambda i: marginals[i].sigma)
    for sigma, same in groupby(order, key=lambda i: marginals[i].sigma):
        held = list(same)
        ends = np.cumsum([len(tables[i]) for i in held]).tolist()
        drawn = noise.exact_gaussian_counts((ends[-1],), sigma=sigma)
        for i, start, end in zip(held, [0, *ends[:-1]], ends, strict=True):
            tables[i] = tables[i] + drawn[start:end]
    return tuple(table.reshape(m.shape) for m, table in zip(marginals, tables, strict=True))
