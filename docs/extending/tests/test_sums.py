"""The stated sensitivity is the largest move; noise has its scale; the curator refuses what is beyond the grant."""

from itertools import product

import numpy as np
import pytest

import synth
from synth.mechanisms import sums
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions.sums import Sum

QUESTION = Sum(purpose="example", column="a", cells=4, sigma=30.0)
ROWS = {"a": np.array([3, 1], dtype=np.int64)}


class Silent:
    def gaussian_counts(self, shape, *, sigma):
        return np.zeros(shape, dtype=np.int64)


def exact(rows):
    return sums.answer(QUESTION, {"a": np.array(rows, dtype=np.int64)}, Silent()).value


def test_the_stated_sensitivity_is_reached_and_never_passed():
    for relation in Relation:
        others = [[o] for o in range(4)] if relation is Relation.REPLACE_ONE else [[]]
        rests = product(range(4), repeat=2)
        moves = [
            abs(exact([*rest, row]) - exact([*rest, *other])) for rest in rests for row in range(4) for other in others
        ]
        assert max(moves) == sums.sensitivity(QUESTION, Adjacency(relation=relation))


def test_noise_is_neither_less_nor_more():
    draws, noise = 20_000, SystemNoise()
    answers = np.array([sums.answer(QUESTION, ROWS, noise).value for _ in range(draws)], dtype=float) - 4

    def in_scale(sigma):
        """Whether the sum of squares fits rounded Gaussian noise; a false alarm once in a million runs."""
        return abs((answers**2).sum() / (sigma**2 + 1 / 12) - draws) / (2 * draws) ** 0.5 < 4.9

    assert in_scale(30.0)
    assert not in_scale(30.0 * 1.1)  # had the question asked for more, this would be too little
    assert not in_scale(30.0 / 1.1)  # and this too much


def test_the_curator_refuses_what_is_beyond_the_grant():
    grant = Grant(epsilon=1.0, delta=1e-5, adjacency=Adjacency(relation=Relation.ADD_REMOVE), mu=calibrate(1.0, 1e-5))
    spent = []
    parts = {"commit": lambda: spent.append(1.0), "read": lambda: ROWS, "mechanisms": {Sum: sums}}
    curator = Curator(grant=grant, noise=SystemNoise(), **parts)
    with pytest.raises(synth.BudgetError):
        curator.ask(Sum(purpose="too exact", column="a", cells=4, sigma=1.0))
    assert not spent  # a refused question commits nothing and reads nothing
    assert abs(curator.ask(QUESTION).value - 4) < 30 * 6
    assert spent == [1.0]
    assert curator.epsilon_derived <= 1.0
