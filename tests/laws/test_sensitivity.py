"""The stated sensitivity of tables of counts is an upper bound over all neighbours of tiny tables, and reached."""

from itertools import product
from math import isclose, sqrt

import numpy as np
import pytest

from synth.mechanisms import counts, laplace
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Counts, Laplace, Marginal
from synth.sources.rows import block_counts
from tests.evil_twins import Silent

A = Bins.each("a", 2)
B = Bins(column="b", cells=3, starts=[0, 2], groups=[0, 1])  # positions 0 and 1 share a bin
SKIP = Bins(column="b", cells=3, starts=[0, 1, 2], groups=[0, -1, 1])  # position 1 is not counted
MARGINALS = [(A,), (B,), (SKIP,), (A, B), (A, SKIP)]
ROWS = [(a, b) for a in range(2) for b in range(3)]


def tables(marginal, rows):
    """Exact counts of one marginal over a list of rows; an absent row (None) adds nothing."""
    retained = [r for r in rows if r is not None]
    columns = {
        "a": np.array([r[0] for r in retained], dtype=np.int64),
        "b": np.array([r[1] for r in retained], dtype=np.int64),
    }
    question = Counts(purpose="test", marginals=(Marginal(bins=marginal, sigma=1.0),))
    return counts.answer(question, columns, Silent()).values[0]


def neighbours(relation):
    """Every pair of neighbouring tables of at most three rows."""
    for n in (0, 1, 2):
        for rest in product(ROWS, repeat=n):
            for row in ROWS:
                match relation:
                    case Relation.ADD_REMOVE:
                        yield [*rest, row], list(rest)
                    case Relation.ZERO_OUT:
                        yield [*rest, row], [*rest, None]
                    case Relation.REPLACE_ONE:
                        for other in ROWS:
                            yield [*rest, row], [*rest, other]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("marginal", MARGINALS, ids=str)
def test_stated_sensitivity_is_the_largest_move(relation, marginal):
    moves = [np.linalg.norm(tables(marginal, x) - tables(marginal, y)) for x, y in neighbours(relation)]
    assert max(moves) <= counts.sensitivity(Adjacency(relation=relation)) + 1e-12
    assert isclose(max(moves), counts.sensitivity(Adjacency(relation=relation)))
    moves = [np.abs(tables(marginal, x) - tables(marginal, y)).sum() for x, y in neighbours(relation)]
    pure = Laplace(purpose="test", tables=(marginal,), scale=1.0)
    assert isclose(max(moves), laplace.sensitivity(pure, Adjacency(relation=relation))), "the same in L1"


@pytest.mark.parametrize("relation", list(Relation))
def test_changed_cells_is_the_largest_number(relation):
    cells = [np.count_nonzero(tables(MARGINALS[3], x) != tables(MARGINALS[3], y)) for x, y in neighbours(relation)]
    assert max(cells) == counts.changed(Adjacency(relation=relation))


def test_several_tables_move_together_as_their_events_say():
    """Two tables of one question: mu**2 adds, and the joint move in units of noise is never larger."""
    sigmas = (2.0, 5.0)
    parts = tuple(Marginal(bins=m, sigma=s) for m, s in zip(((A,), (A, B)), sigmas, strict=True))
    question = Counts(purpose="test", marginals=parts)
    for relation in Relation:
        mu2 = sum(e.mu2 for e in counts.events(question, Adjacency(relation=relation)))
        worst = 0.0
        for x, y in neighbours(relation):
            shifted = [np.linalg.norm(tables(m.bins, x) - tables(m.bins, y)) / m.sigma for m in parts]
            worst = max(worst, sqrt(sum(v * v for v in shifted)))
        assert isclose(worst, sqrt(mu2)), relation


def person_neighbours(relation, most):
    """Every pair of neighbouring tables in which one person has up to ``most`` rows, beside one other row."""
    mine = [list(rows) for k in range(most + 1) for rows in product(ROWS[:3], repeat=k)]
    other = [(1, 2)]
    for rows in mine:
        match relation:
            case Relation.ADD_REMOVE:
                yield other + rows, other
            case Relation.ZERO_OUT:
                yield other + rows, other + [None] * len(rows)
            case Relation.REPLACE_ONE:
                for instead in mine:
                    yield other + rows, other + instead


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_persons_rows_add_up(relation, most):
    """The largest move is max_rows times a row's: not its root, since a person's rows may be equal."""
    adjacency = Adjacency(relation=relation, unit="person", max_rows=most)
    moves, cells = zip(
        *[
            (np.linalg.norm(d), np.count_nonzero(d))
            for d in (tables((A, B), x) - tables((A, B), y) for x, y in person_neighbours(relation, most))
        ],
        strict=True,
    )
    assert isclose(max(moves), counts.sensitivity(adjacency))
    assert max(cells) <= counts.changed(adjacency)


def test_chunks_of_rows_count_as_one(monkeypatch):
    rng = np.random.default_rng(0)
    rows = {"a": rng.integers(0, 2, 1000), "b": rng.integers(0, 3, 1000)}
    question = Counts(purpose="t", marginals=(Marginal(bins=(A, SKIP), sigma=1.0),))
    whole = counts.answer(question, rows, Silent()).values[0]
    monkeypatch.setattr(block_counts, "GATHERED", 7)
    assert np.array_equal(whole, counts.answer(question, rows, Silent()).values[0])
    monkeypatch.setattr(block_counts, "LOOKUP", 0)
    assert np.array_equal(whole, counts.answer(question, rows, Silent()).values[0])
    assert whole.sum() == np.count_nonzero(rows["b"] != 1)


def test_the_lectures_four_sensitivities_are_the_largest_moves():
    """L2 and L1: histograms, rows added or replaced; k ballots of each; Gram matrices of rows with entries up to 1.
    Of the first three they are what Gaussian and Laplace counts of a table, or of k tables, are charged for."""

    def moves(added):
        return [(np.linalg.norm(m), np.abs(m).sum()) for m in added]

    def charged(relation, tables):
        adjacency = Adjacency(relation=relation)
        many = Counts(purpose="t", marginals=tuple(Marginal(bins=(A,), sigma=1.0) for _ in range(tables)))
        pure = Laplace(purpose="t", tables=((A,),) * tables, scale=1.0)
        squares = sum(e.mu2 for e in counts.events(many, adjacency))
        return pytest.approx((sqrt(squares), laplace.sensitivity(pure, adjacency)))

    cells = np.eye(4)
    assert max(moves(cells)) == (1, 1) == charged(Relation.ADD_REMOVE, 1)
    assert max(moves(a - b for a in cells for b in cells)) == (sqrt(2), 2) == charged(Relation.REPLACE_ONE, 1)
    ballots = [np.array(b) for b in product([0, 1], repeat=5) if sum(b) <= 3]
    assert max(moves(ballots)) == (sqrt(3), 3) == charged(Relation.ADD_REMOVE, 3)
    grams = [np.outer(x, x) for x in product([-1, 0.5, 1], repeat=3)]
    assert max(moves(grams)) == (3, 9)
