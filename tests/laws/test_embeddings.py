"""Sums of features: the stated sensitivity bounds every pair of neighbours and is reached; arithmetic is exact."""

from dataclasses import replace
from itertools import product
from math import isclose, sqrt

import numpy as np
import pytest

from synth.mechanisms import embeddings
from synth.privacy.accounting.float_slack import slack_taken
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Block, Embedding, Fourier, Gradients, Score, Tensors, Term
from tests.laws.tiny_tables import by_one_row

A = Bins.each("a", 2)
B = Bins(column="b", cells=3, starts=[0, 1, 2], groups=[0, -1, 1])  # position 1 belongs to no bin
C = Bins.each("c", 3)
ONE = {b.column: Block.one_hot(b, weight=1.0) for b in (A, B, C)}
SMOOTH = Block(bins=C, table=np.array([[0.6, 0.8], [-0.6, 0.8], [0.0, -1.0]]))
ROWS = list(product(range(2), range(3), range(3)))
RNG = np.random.default_rng(0)
PHASES = tuple(Block(bins=b, table=RNG.normal(size=(b.size, 5))) for b in (A, B, C))

HERE = Block(bins=B, table=[[1.0], [0.0]])
YES = Block(bins=A, table=[[0.0], [1.0]])


def score(link, clip, **more):
    """Contributions to a regression on a number and a group with a filter, of which the larger ones are clipped."""
    return Score(
        factors=(SMOOTH, ONE["a"]),
        terms=((), ((0, 0),), ((0, 1), (1, 0))),
        present=(HERE,),
        outcome=(YES,),
        link=link,
        coefficients=np.array([0.3, -0.7, 0.2]),
        whitening=np.array([[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-0.3, 0.1, 1.5]]),
        clip=clip,
        **more,
    )


MAPS = {
    "tables": Tensors(terms=(Term(blocks=(ONE["a"], ONE["c"]), weight=0.6), Term(blocks=(ONE["b"],), weight=0.8))),
    "three": Tensors(terms=(Term(blocks=(ONE["a"], ONE["b"], ONE["c"]), weight=1.0),)),
    "signed": Tensors(terms=(Term(blocks=(SMOOTH,), weight=0.8), Term(blocks=(ONE["a"], SMOOTH), weight=0.6))),
    "opposite": Tensors(terms=(Term(blocks=(Block(bins=A, table=[[1.0], [-1.0]]),), weight=1.0),)),
    "waves": Fourier(blocks=PHASES),
    "labelled": Fourier(blocks=PHASES[1:], label=ONE["a"]),
    "network": Gradients(
        blocks=(ONE["b"], SMOOTH), weights=RNG.normal(size=(4, 4)), signs=[1.0, -1, 1, -1], label=ONE["a"]
    ),
    "logistic": score("logistic", 0.8),
    "linear": score("linear", 0.5),
    "poisson": score("poisson", 0.5),
    "quantile": score("quantile", 0.6, level=0.3),
    "survival": Score(
        factors=(Block(bins=C, table=np.eye(3)[:, :2]), Block(bins=C, table=[[0.2, 0.0], [0.2, 0.5], [0.2, 0.6]]), YES),
        terms=(((0, 0), (2, 0)), ((0, 1), (2, 0)), ((1, 0),), ((1, 1),)),
        present=(HERE,),
        outcome=(),
        link="survival",
        coefficients=np.zeros(4),
        whitening=np.hstack([[[1.0, 0.0], [0.4, 2.0]], [[-1.0, 0.0], [-0.4, -2.0]]]),
        clip=0.7,
    ),
    "counted": Score(
        factors=(),
        terms=((),),
        present=(HERE,),
        outcome=(),
        link="count",
        coefficients=[0.0],
        whitening=[[1.0]],
        clip=1.0,
    ),
    "plain network": Gradients(blocks=(ONE["c"],), weights=np.eye(3) + 0.1, signs=[1.0, -1, -1]),
}


def asked(name, sigma=1.0):
    return Embedding(purpose="test", features=MAPS[name], sigma=sigma)


def columns(rows):
    retained = [r for r in rows if r is not None]
    return {n: np.array([r[j] for r in retained], dtype=np.int64) for j, n in enumerate("abc")}


def total(question, rows):
    return embeddings.sums(question, columns(rows))


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("name", MAPS)
def test_no_neighbour_moves_the_sum_by_more_than_stated(name, relation):
    question, adjacency = asked(name), Adjacency(relation=relation)
    bound = embeddings.sensitivity(question, adjacency)
    moves = [total(question, x) - total(question, y) for x, y in by_one_row(ROWS, ROWS[4], relation)]
    squares = [sum(int(v) ** 2 for v in m) for m in moves]  # whole numbers: no rounding hides an excess
    assert max(squares) <= round(bound**2) * round(1 / question.pitch) ** 2
    if name in ("tables", "three", "opposite") or relation is not Relation.REPLACE_ONE:
        assert isclose(sqrt(max(squares)) * question.pitch, bound, rel_tol=1e-5)
    cells = max(np.count_nonzero(m) for m in moves)
    assert cells <= embeddings.changed_cells(question, adjacency)


@pytest.mark.parametrize("name", MAPS)
def test_inner_products_are_as_stated(name):
    """Where a map claims that no inner product is negative, none is; where one is negative it does not claim it."""
    features = np.stack([total(asked(name), [r]) for r in ROWS]).astype(object)
    least = min(int(v) for v in (features @ features.T).ravel())
    assert least >= 0 if MAPS[name].non_negative_inner else least < 0 or name in ("labelled", "network")


def test_replacing_a_signed_row_costs_two_and_not_the_root_of_two():
    adjacency = Adjacency(relation=Relation.REPLACE_ONE)
    assert embeddings.sensitivity(asked("opposite"), adjacency) == 2.0
    assert embeddings.sensitivity(asked("tables"), adjacency) == sqrt(2)


@pytest.mark.parametrize("relation", list(Relation))
def test_a_persons_rows_add_up(relation):
    """Three equal rows move the sum three times as far: the factor is max_rows, not its root."""
    adjacency = Adjacency(relation=relation, unit="person", max_rows=3)
    question = asked("tables")
    other = [ROWS[-1]] * 3 if relation is Relation.REPLACE_ONE else []
    move = total(question, [ROWS[0]] * 3) - total(question, other)
    assert isclose(np.linalg.norm(move) * question.pitch, embeddings.sensitivity(question, adjacency), rel_tol=1e-5)


@pytest.mark.parametrize("name", MAPS)
def test_sums_are_the_features_and_know_no_order(name, monkeypatch):
    rng = np.random.default_rng(1)
    rows = {"a": rng.integers(0, 2, 500), "b": rng.integers(0, 3, 500), "c": rng.integers(0, 3, 500)}
    whole = embeddings.sums(asked(name), rows)
    truth = MAPS[name].of(rows).sum(0)
    assert np.abs(whole * asked(name).pitch - truth).max() <= 500 * (asked(name).pitch + 4e-9)
    order = rng.permutation(500)
    monkeypatch.setattr(embeddings, "CHUNK", 7)
    monkeypatch.setattr(embeddings, "HELD", 50)
    monkeypatch.setattr(embeddings, "LISTED", 0)
    assert np.array_equal(whole, embeddings.sums(asked(name), {n: c[order] for n, c in rows.items()}))


@pytest.mark.parametrize("name", MAPS)
def test_no_rows_and_tiny_or_huge_noise(name):
    empty = {n: np.zeros(0, dtype=np.int64) for n in "abc"}
    assert not embeddings.sums(asked(name), empty).any()
    for sigma in (1e-7, 1e6):
        release = embeddings.answer(asked(name, sigma), empty, SystemNoise())
        assert np.isfinite(release.values).all()
        assert np.array_equal(
            release.values, np.rint(release.values / asked(name, sigma).grain) * release.question.grain
        )


def test_a_map_whose_rows_exceed_the_unit_ball_is_refused():
    with pytest.raises(ValueError, match="norm"):
        Tensors(terms=(Term(blocks=(ONE["a"],), weight=0.8), Term(blocks=(ONE["b"],), weight=0.8)))
    with pytest.raises(ValueError, match="norm"):
        Fourier(blocks=PHASES, label=Block.one_hot(A, weight=1.1))


def test_a_row_that_exceeds_its_bound_in_whole_numbers_counts_as_zero():
    """The check stands on the lattice, after all float arithmetic, and looks at one row alone."""
    most = 2**40
    reported = embeddings.on_lattice(np.array([[0.6, 0.8], [0.7, 0.8]]), 2.0**-20, most=most)
    assert reported[0].any()
    assert not reported[1].any()


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5, 5.1, 8.0])
def test_twenty_thousand_changed_features_fit_the_noise_generators_reserve(epsilon):
    """Since values are told coarsely, no more than a tenth of what calibration set aside is taken."""
    sigma = 1 / calibrate(epsilon, 1e-5)
    (event,) = embeddings.events(asked("tables", sigma), Adjacency(relation=Relation.ADD_REMOVE))
    cost = event.imprecision(cells=20_000, epsilon=epsilon, delta=1e-5)
    assert slack_taken(cost, epsilon, 1e-5) < 0.1
    fine = replace(event, pitch=asked("tables", sigma).pitch)
    assert slack_taken(fine.imprecision(cells=20_000, epsilon=epsilon, delta=1e-5), epsilon, 1e-5) > 1
