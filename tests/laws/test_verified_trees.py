"""Questions about related tables: no tree, of all small ones, moves what is asked by more than is charged."""

from itertools import permutations

import numpy as np
import pytest

from synth.mechanisms import embeddings
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Embedding
from synth.verified import language
from synth.verified.plan import Cut
from tests.laws.small_forests import MOST, forest, trees, two

ASKED = {
    "count": {"kind": "count", "where": {"y": "1"}},
    "share": {"kind": "share", "of": {"y": "1"}, "where": {"p.x": "0"}},
    "mean": {"kind": "mean", "column": "t"},
    "quantile": {"kind": "quantile", "column": "t", "level": 0.3},
    "difference": {"kind": "difference", "of": {"y": "1"}, "by": "p.x", "groups": ["0", "1"]},
    "linear": {"kind": "linear", "formula": "t ~ y + `p.x`"},
    "logistic": {"kind": "logistic", "formula": "y ~ t + `p.number of c`", "positive": "1"},
    "poisson": {"kind": "poisson", "formula": "t ~ C(y)"},
}
SCHEMA = two("t")
SIGMA = 2.0


def sums(kind, length):
    """The question, cut so far: its rows at most one long, its roots at most ``length``."""
    (question,) = language.read({"table": "c", **ASKED[kind]}, SCHEMA)
    link = question.score.link
    clip = 1.0 if link == "count" else 0.7 if link == "quantile" else 1.5
    return Embedding(purpose="x", features=Cut(clip, length).of(question.score), sigma=SIGMA)


def total(asked, roots):
    return embeddings.sums(asked, forest(SCHEMA, roots))


@pytest.mark.parametrize("length", [1.0, 1.7, float(MOST)])
@pytest.mark.parametrize("kind", ASKED)
def test_no_tree_moves_a_question_by_more_than_is_charged(kind, length):
    """Every root with up to two children more than are retained; one alone is what its coming or going moves."""
    asked, one = sums(kind, length), round(1 / sums(kind, length).pitch)
    moves = [[int(v) for v in total(asked, [("k", x, 1, below)])] for x, below in trees()]
    squares = [sum(v * v for v in move) for move in moves]
    assert max(squares) <= one**2, "in whole numbers, not in floats"
    assert max(squares) >= (one * (0.999 if length == 1 else 0.3)) ** 2, "no more is charged than is there"
    for relation, bound in ((Relation.ADD_REMOVE, 1.0), (Relation.ZERO_OUT, 1.0), (Relation.REPLACE_ONE, 2.0)):
        (event,) = embeddings.events(asked, Adjacency(relation=relation, unit="p"))
        assert event.sensitivity == (2**0.5 if kind == "count" and bound == 2.0 else bound)
        if relation is Relation.REPLACE_ONE:
            array = np.array(moves, dtype=float) / one
            apart = np.sqrt(max(((a - array) ** 2).sum(1).max() for a in array))
            assert apart <= event.sensitivity * (1 + 1e-12)


@pytest.mark.parametrize("kind", ASKED)
def test_trees_add_up_whatever_stands_beside_them_and_in_whatever_order_rows_come(kind):
    asked, rng, every = sums(kind, 1.3), np.random.default_rng(7), list(trees())
    for _ in range(10):
        roots = [
            (f"k{i}", x, int(rng.integers(1 << 40)), [(y, t, int(rng.integers(1 << 40))) for y, t, _ in below])
            for i, (x, below) in enumerate(every[j] for j in rng.integers(len(every), size=3))
        ]
        parts = [total(asked, [r]) for r in roots]
        assert np.array_equal(total(asked, roots), sum(parts))
        for order in permutations(roots):
            assert np.array_equal(total(asked, list(order)), sum(parts))


def test_a_roots_rows_are_shortened_together_and_no_single_row_is():
    """Of a count: one row alone weighs one part of the length, all of them together never more than one."""
    asked = sums("count", 2.0)
    weights = [total(asked, [("k", 0, 1, [(1, t, t) for t in range(n)])])[0] * asked.pitch for n in range(MOST + 1)]
    assert np.allclose(weights, [0.0, 0.5, 1.0, 1.0], atol=1e-6)
