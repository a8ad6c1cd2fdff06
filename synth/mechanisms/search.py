"""The exponential mechanism over many tables, several picks at a time. Proof note: search.md beside this file."""

from collections.abc import Mapping
from math import pi, sqrt

import numpy as np

from synth.mechanisms import counts
from synth.mechanisms.selection import FAR, FLOAT
from synth.privacy.accounting.events import BoundedRangeDpEvent, Event
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import Search, SearchRelease

GAUSSIAN_RANGE = sqrt(pi / 8) * (1 + FLOAT)  # mu of the Gaussian that a choice of range 1 is never worse than

changed_cells = counts.no_cells


def sensitivity(adjacency: Adjacency) -> float:
    """By how much one unit can move one candidate's score, in rows.

    **Guarantee**: a row that comes or goes moves one cell of a table by 1, a row that is replaced two; a unit's rows
    add up.

    Privacy: public only.
    """
    return adjacency.moves(replaced=2.0)


def events(question: Search, adjacency: Adjacency) -> list[Event]:
    """For each pick a choice whose log odds range over 2 sensitivity / scale, by the Gaussian that dominates it.

    Privacy: public only.
    """
    mu = 2 * sensitivity(adjacency) * GAUSSIAN_RANGE
    return [BoundedRangeDpEvent(name=question.purpose, sensitivity=mu, sigma=question.scale, count=question.picks)]


def answer(question: Search, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> SearchRelease:
    """The picks, each drawn with odds exp(score / scale) among the candidates that are left.

    ``rows``: by column the positions (n,), whole numbers.

    **Guarantee**: each pick is a choice of range 2 sensitivity / scale; together they compose adaptively (search.md).
    Memory: the candidates' cells.

    Privacy: reads rows, under noise.
    """
    left = scores(question, rows)
    chosen: list[int] = []
    for _ in range(question.picks):
        open_ = np.delete(np.arange(len(left)), chosen)
        logs = (left[open_] - left[open_].max()) / question.scale
        chosen.append(int(open_[noise.choice(np.exp(np.maximum(logs, -FAR)))]))
    return SearchRelease(question=question, chosen=tuple(chosen))


def scores(question: Search, rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Scores of the candidates in rows, int64 (m,), exact: private.

    Privacy: reads rows, exact.
    """
    tables = [question.table(i) for i in range(len(question.tables))]
    result = np.concatenate(counts.exact(tables, rows))
    starts = np.append(0, question.ends[:-1])
    return np.add.reduceat(np.abs(result - question.expected.astype(np.int64)), starts) - question.handicap
