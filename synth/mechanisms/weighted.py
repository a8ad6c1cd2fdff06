"""Tables of weights with rounded Gaussian noise. Proof note: weighted.md beside this file."""

from collections.abc import Mapping

import numpy as np

from synth.mechanisms import counts
from synth.privacy.accounting.events import Event
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions.tables import BOUND, WeightedCounts, WeightedCountsRelease

changed_cells = counts.changed_cells


def sensitivity(adjacency: Adjacency) -> float:
    """L2 distance in units by which one unit of privacy can move one table of weights.

    **Guarantee**: ``BOUND`` times what it moves a table of counts by: a row's weight is from 0 to the bound, whatever
    the rows hold (weighted.md).

    Errors: ValueError for a relation without a proof.
    Privacy: public only.
    """
    return BOUND * counts.sensitivity(adjacency)


def events(question: WeightedCounts, adjacency: Adjacency) -> list[Event]:
    """What the accountant must count for this question; equal noise is one event with a count.

    Errors: as ``sensitivity``; BudgetError for more noise than whole numbers of 63 bits hold.
    Privacy: public only.
    """
    return counts.of_tables(question, sensitivity(adjacency))


def answer(question: WeightedCounts, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> WeightedCountsRelease:
    """The question's tables of weights over ``rows`` (positions by column, wherever they are), noised.

    Rows are counted by cell and bin of the weight, in whole numbers, and the bins' units added up: exact, and in any
    order. Memory: a table's cells times the weight's bins.

    **Guarantee**: each table is a Gaussian mechanism of mu = sensitivity / sigma, rounded; they compose exactly.

    Privacy: reads rows, under noise.
    """
    released = counts.exact([(*m.bins, question.by) for m in question.marginals], rows)
    whole = [table.reshape(-1, question.by.size) @ question.units for table in released]
    return WeightedCountsRelease(question=question, values=counts.noised(question.marginals, whole, noise))
