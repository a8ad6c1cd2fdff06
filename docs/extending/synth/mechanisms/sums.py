"""Sums of positions with rounded Gaussian noise. Proof note: sums.md beside this file."""

from collections.abc import Mapping

import numpy as np

from synth.privacy.accounting.events import Event, GaussianDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions.sums import Sum, SumRelease


def sensitivity(question: Sum, adjacency: Adjacency) -> float:
    """How far one unit can move the sum.

    **Guarantee**: each of its at most ``max_rows`` rows adds 0 to cells - 1, whether it comes, goes or is replaced.

    Privacy: public only.
    """
    return float(adjacency.max_rows * (question.cells - 1))


def events(question: Sum, adjacency: Adjacency) -> list[Event]:
    """What the accountant must count: one Gaussian.

    Privacy: public only.
    """
    return [GaussianDpEvent(name=question.purpose, sensitivity=sensitivity(question, adjacency), sigma=question.sigma)]


def changed_cells(_: Sum, adjacency: Adjacency) -> int:  # noqa: ARG001
    """In how many released values neighbouring tables can differ: there is one.

    Privacy: public only.
    """
    return 1


def answer(question: Sum, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> SumRelease:
    """The column's sum with noise; the exact sum is a whole number below 2^63, so rounding the noise loses nothing.

    **Guarantee**: a Gaussian mechanism of mu = sensitivity / sigma, rounded (sums.md).

    Privacy: reads rows, under noise.
    """
    exact = int(np.asarray(rows[question.column], dtype=np.int64).sum())
    return SumRelease(question=question, value=exact + int(noise.gaussian_counts((1,), sigma=question.sigma)[0]))
