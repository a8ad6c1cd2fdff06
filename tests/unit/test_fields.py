"""Random fields: tables agree with brute force, the fit with its goals, and records with the field."""

from itertools import combinations

import numpy as np
import pytest

from synth.numeric.markov_field import JunctionTree, MarkovRandomField, MeasuredTable, reduced, total_of

SIZES = [2, 3, 4, 3, 2, 5]
LOOP = [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (5,)]  # a cycle that must be triangulated, and a column apart
EVERY = tuple(range(len(SIZES)))


def truth(seed=0):
    rng = np.random.default_rng(seed)
    return 1000 * rng.dirichlet(np.full(np.prod(SIZES), 0.2)).reshape(SIZES)


def reported(joint, cliques, sigma=1e-3):
    return [MeasuredTable(c, reduced(joint, EVERY, c), sigma) for c in cliques]


def brute(field):
    """The whole table that the potentials define."""
    logs = np.zeros(SIZES)
    for clique, potential in field.potentials.items():
        order = np.argsort(clique)
        logs = logs + potential.transpose(order).reshape([s if i in clique else 1 for i, s in enumerate(SIZES)])
    joint = np.exp(logs - logs.max())
    return field.total * joint / joint.sum()


def test_all_tables_of_two_columns_are_those_of_the_whole_table():
    rng = np.random.default_rng(1)
    field = MarkovRandomField(SIZES, {c: rng.normal(0, 2, [SIZES[i] for i in c]) for c in LOOP}, total=50.0)
    joint = brute(field)
    for a, b in combinations(EVERY, 2):
        assert field.table((a, b)) == pytest.approx(reduced(joint, EVERY, (a, b)), abs=1e-9)
        assert field.table((b, a)) == pytest.approx(reduced(joint, EVERY, (b, a)), abs=1e-9)
    assert field.table((5,)).sum() == pytest.approx(50)


def test_the_fit_meets_exact_tables_and_a_later_one_starts_from_it():
    joint = truth()
    first = MarkovRandomField.fit(SIZES, reported(joint, LOOP), total=1000.0, iterations=3000)
    for clique in LOOP:
        assert first.table(clique) == pytest.approx(reduced(joint, EVERY, clique), abs=0.5)
    more = reported(joint, [*LOOP, (0, 2)])
    again = MarkovRandomField.fit(SIZES, more, total=1000.0, start=first.potentials, iterations=3000)
    assert again.table((0, 2)) == pytest.approx(reduced(joint, EVERY, (0, 2)), abs=0.5)


def test_of_two_answers_the_more_exact_one_counts_more():
    tables = [MeasuredTable((0,), np.array([80.0, 20.0]), 1.0), MeasuredTable((0,), np.array([20.0, 80.0]), 3.0)]
    assert MarkovRandomField.fit([2], tables, total=100.0).table((0,))[0] == pytest.approx(
        (80 + 20 / 9) / (1 + 1 / 9), abs=0.01
    )
    assert total_of([MeasuredTable((0,), np.array([90.0]), 1.0), MeasuredTable((0,), np.array([110.0]), 1.0)]) == 100


def test_records_follow_the_field():
    field = MarkovRandomField.fit(SIZES, reported(truth(), LOOP), total=1000.0)
    records = field.draw(50_000, np.random.default_rng(0))
    for a, b in combinations(EVERY, 2):
        seen = np.bincount(records[a] * SIZES[b] + records[b], minlength=SIZES[a] * SIZES[b]) / 50
        assert np.abs(seen - field.table((a, b)).ravel()).sum() < 40, (a, b)  # 2 % of the mass, by chance less


def test_a_cycle_costs_its_triangles():
    for sizes, cliques, cells in (
        ([2, 3, 4, 5], [(0, 1), (1, 2), (2, 3)], 6 + 12 + 20),
        ([2, 2, 2, 2], [(0, 1), (1, 2), (2, 3), (0, 3)], 16),
    ):
        assert sum(np.prod([sizes[i] for i in c]) for c in JunctionTree(tuple(sizes), cliques).cliques) == cells


@pytest.mark.parametrize("columns", [(0, 2, 4), (4, 1, 3, 0), (5, 0, 2), (1, 4, 5), (2, 1, 0)])
def test_tables_of_columns_in_several_cliques_are_those_of_the_whole(columns):
    rng = np.random.default_rng(1)
    field = MarkovRandomField(SIZES, {c: rng.normal(0, 2, [SIZES[i] for i in c]) for c in LOOP}, total=50.0)
    assert field.table(columns) == pytest.approx(reduced(brute(field), EVERY, columns), abs=1e-9)
