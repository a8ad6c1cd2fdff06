"""Tables of counts with discrete Laplace noise. Proof note: laplace.md beside this file."""

from collections.abc import Mapping
from math import prod

import numpy as np

from synth.mechanisms import counts
from synth.privacy.accounting.events import Event, LaplaceDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import Laplace, LaplaceRelease

changed_cells = counts.no_cells


def sensitivity(question: Laplace, adjacency: Adjacency) -> float:
    """Sum of absolute differences by which one unit can move all the question's counts together.

    **Guarantee**: a row that comes or goes moves one cell of each table by 1; a replaced row two cells, or the one cell
    of a table that has no more. A unit's rows add up.

    Privacy: public only.
    """
    return sum(adjacency.moves(replaced=min(prod(b.size for b in t), 2)) for t in question.tables)


def events(question: Laplace, adjacency: Adjacency) -> list[Event]:
    """What the accountant must count: one event of pure privacy.

    Privacy: public only.
    """
    return [LaplaceDpEvent(name=question.purpose, sensitivity=sensitivity(question, adjacency), sigma=question.scale)]


def answer(question: Laplace, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> LaplaceRelease:
    """The counts over ``rows`` (positions by column, wherever they are) with noise.

    **Guarantee**: (sensitivity / scale)-DP with delta 0, exactly: noise is drawn in whole numbers (laplace.md).

    Privacy: reads rows, under noise.
    """
    exact = counts.exact(question.tables, rows)
    shapes = [tuple(b.size for b in t) for t in question.tables]
    values = [e.reshape(s) + noise.laplace_counts(s, scale=question.scale) for e, s in zip(exact, shapes, strict=True)]
    return LaplaceRelease(question=question, values=tuple(values))
