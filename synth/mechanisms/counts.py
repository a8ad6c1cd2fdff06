"""Tables of counts with rounded Gaussian noise. Proof note: counts.md beside this file."""

from collections.abc import Mapping
from itertools import groupby
from math import sqrt
from typing import Any

import numpy as np

from synth.privacy.accounting.events import Event, GaussianDpEvent, RoundedGaussianDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.privacy.rounded_gaussian import WIDEST_EXACT
from synth.questions import Counts, CountsRelease
from synth.sources.rows.encoded import EncodedRows, Tables, parts
from synth.sources.rows.marginals import MarginalCounter, count


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

    Errors: as ``sensitivity``.
    Privacy: public only.
    """
    sigmas = sorted(m.sigma for m in question.marginals)
    size = sensitivity(adjacency)
    return [
        (RoundedGaussianDpEvent if sigma <= WIDEST_EXACT else GaussianDpEvent)(
            name=question.purpose, sensitivity=size, sigma=sigma, count=len(list(same))
        )
        for sigma, same in groupby(sigmas)
    ]


def changed_cells(_: Any, adjacency: Adjacency) -> int:
    """In how many cells of one table of the question neighbouring tables can differ; the same for every question.

    Privacy: public only.
    """
    return changed(adjacency)


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
    tables = [m.bins for m in question.marginals]
    values = tuple(
        table.reshape(m.shape) + noise.gaussian_counts(m.shape, sigma=m.sigma)
        for m, table in zip(question.marginals, exact(tables, rows), strict=True)
    )
    return CountsRelease(question=question, values=values)


def exact(tables: Tables, rows: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Counts without noise, as private as the rows: for each table int64 (cells,).

    Privacy: reads rows, exact: they stay with the curator.
    """
    if isinstance(rows, EncodedRows):
        return rows.counts(tables)
    counter = MarginalCounter(tables)
    return count(parts(rows, counter.columns, counter.step), counter)
