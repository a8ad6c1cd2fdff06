"""The stated sensitivity of tables of weights is the largest move over all neighbours of tiny tables; noise is paid."""

from itertools import product
from math import isclose, sqrt

import numpy as np
import pytest

from synth.mechanisms import weighted
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Marginal, WeightedCounts
from synth.questions.tables import BOUND
from tests.evil_twins import Silent

UNITS = np.array([0, BOUND // 3, BOUND])
A, BY = Bins.each("a", 2), Bins(column="w", cells=4, starts=[0, 1, 2, 3], groups=[0, 1, 2, -1])  # 3: left out
ROWS = list(product(range(2), range(4)))


def asked(sigma=1.0, bins=(A,)):
    return WeightedCounts(purpose="t", marginals=(Marginal(bins=bins, sigma=sigma),), by=BY, units=UNITS)


def table(rows, noise=None):
    """Weights of column a over a list of rows; an absent row (None) adds nothing."""
    retained = np.array([r for r in rows if r is not None], dtype=np.int64).reshape(-1, 2)
    return weighted.answer(asked(), {"a": retained[:, 0], "w": retained[:, 1]}, noise or Silent()).values[0]


def neighbours(relation, most):
    """Every pair of tables in which one person has up to ``most`` rows beside one other row."""
    mine = [list(rows) for k in range(most + 1) for rows in product(ROWS, repeat=k)]
    for rows in mine:
        match relation:
            case Relation.ADD_REMOVE:
                yield [(1, 1), *rows], [(1, 1)]
            case Relation.ZERO_OUT:
                yield [(1, 1), *rows], [(1, 1), *[None] * len(rows)]
            case Relation.REPLACE_ONE:
                for instead in mine if most == 1 else mine[:: len(mine) // 12 or 1]:
                    yield [(1, 1), *rows], [(1, 1), *instead]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("most", [1, 2])
def test_stated_sensitivity_is_the_largest_move(relation, most):
    adjacency = Adjacency(relation=relation, unit="row" if most == 1 else "person", max_rows=most)
    pairs = (
        [*neighbours(relation, most), ([(0, 2)] * most, [(1, 2)] * most)]
        if relation is Relation.REPLACE_ONE
        else [*neighbours(relation, most)]
    )
    reported = {str(rows): table(rows) for pair in pairs for rows in pair}
    moves = [reported[str(x)] - reported[str(y)] for x, y in pairs]
    assert isclose(max(np.linalg.norm(m) for m in moves), weighted.sensitivity(adjacency))
    assert max(np.count_nonzero(m) for m in moves) <= weighted.changed_cells(None, adjacency)
    assert isclose(weighted.sensitivity(adjacency), BOUND * most * (sqrt(2) if relation is Relation.REPLACE_ONE else 1))


def test_weights_add_up_and_those_left_out_add_nothing():
    reported = table([(0, 2), (0, 1), (1, 0), (1, 3), (1, 2)])
    assert reported.tolist() == [BOUND + BOUND // 3, BOUND]


@pytest.mark.parametrize("units", [[0, 1, BOUND + 1], [-1, 0, 1], [0, 1], [0.0, 0.5, 1.0]])
def test_units_beyond_the_bound_cannot_be_asked(units):
    with pytest.raises(ValueError, match="units"):
        WeightedCounts(purpose="t", marginals=(), by=BY, units=np.array(units))
    with pytest.raises(ValueError, match="other columns"):
        asked(bins=(A, BY))


def test_events_are_what_the_sensitivity_says():
    for relation in Relation:
        adjacency = Adjacency(relation=relation)
        (event,) = weighted.events(asked(sigma=3.0 * BOUND), adjacency)
        assert isclose(event.mu2, (weighted.sensitivity(adjacency) / (3.0 * BOUND)) ** 2)


@pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (0.93, False), (1.07, False)])
def test_noise_is_that_which_was_paid_for(factor, fits):
    """20,000 draws at |z| < 4.9: a false alarm of 1e-6; 7 % too little and too much must fail (z near 13)."""
    draws, sigma = 20_000, 5.0 * BOUND
    rows = {"a": np.arange(1000) % 2, "w": np.arange(1000) % 4}
    wide = Bins(column="a", cells=draws, starts=np.arange(draws), groups=np.arange(draws))
    question = WeightedCounts(
        purpose="t", marginals=(Marginal(bins=(wide,), sigma=sigma * factor),), by=BY, units=UNITS
    )
    reported = weighted.answer(question, rows, SystemNoise()).values[0].astype(float)
    reported[:2] -= table(list(zip(rows["a"], rows["w"], strict=True)))
    z = (np.sum((reported / sigma) ** 2) - draws) / sqrt(2 * draws)
    assert (abs(z) < 4.9) == fits
