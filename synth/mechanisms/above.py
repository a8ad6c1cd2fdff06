"""Comparisons of counts with a noisy threshold, free until one is above (AboveThreshold). Proof note: above.md."""

from collections.abc import Mapping

import numpy as np

from synth.errors import BudgetError
from synth.mechanisms import counts
from synth.privacy.accounting.events import Event, PureDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import Above, AboveRelease


def sensitivity(adjacency: Adjacency) -> float:
    """By how much one unit can move the number of rows in a box, hence its distance from a public number.

    **Guarantee**: a row comes, goes or leaves a box: 1 under every relation; a unit's rows add up.

    Privacy: public only.
    """
    return adjacency.moves(replaced=1.0)


class Comparisons:
    """The rounds of one run: each round's noisy threshold is secret and stays with the run's curator.

    Errors: BudgetError for a round that is over, or whose scale is another.
    Privacy: reads rows, under noise.
    """

    changed_cells = staticmethod(counts.no_cells)

    def __init__(self) -> None:
        self._scales: dict[int, float] = {}  # of rounds that are paid for
        self._noise: dict[int, int] = {}  # of their thresholds
        self._over: set[int] = set()

    def events(self, question: Above, adjacency: Adjacency) -> list[Event]:
        """A new round's one event; nothing for a further question of a round that goes on. Errors: BudgetError."""
        self._check(question)
        if question.number in self._noise:
            return []
        reach = 2 * sensitivity(adjacency)
        return [PureDpEvent(name=question.purpose, sensitivity=reach, sigma=question.scale)]

    def answer(self, question: Above, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> AboveRelease:
        """Whether the distance of the box's count from ``expected``, with noise, reaches the round's noisy threshold.

        ``rows``: by column the positions (n,).

        **Guarantee**: all answers of one round together are (2 sensitivity / scale)-DP with delta 0 (above.md).
        """
        self._check(question)
        if question.number not in self._noise:
            self._scales[question.number] = question.scale
            self._noise[question.number] = int(noise.laplace_counts((1,), scale=question.scale)[0])
        distance = abs(int(counts.exact([question.box], rows)[0][0]) - question.expected)
        noisy = distance + int(noise.laplace_counts((1,), scale=2 * question.scale)[0])
        above = noisy >= question.threshold + self._noise[question.number]
        if above:
            self._over.add(question.number)
        return AboveRelease(question=question, above=above)

    def _check(self, question: Above) -> None:
        if question.number in self._over:
            raise BudgetError("round {} of comparisons is over; a new round has to be paid for", question.number)
        if self._scales.get(question.number, question.scale) != question.scale:
            raise BudgetError("round {} of comparisons was paid for with another scale", question.number)
