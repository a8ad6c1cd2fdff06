"""One root with everything below it moves a weighted table by its stated sensitivity at most: all small trees."""

from itertools import product
from math import isclose, sqrt

import numpy as np
import pytest

from synth.errors import BudgetError
from synth.mechanisms import linked
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Linked, Marginal
from synth.questions.linked import place
from synth.schema import dataset as datasets
from synth.schema.dataset import number_of
from synth.sources.rows.forest import TableRows, link
from tests.laws.secret_numbers import Given, texts
from tests.laws.small_forests import MOST, add_up, farthest, forest, holds, question, trees, two
from tests.made import ID, a_key, binary, facts_of, several

X, Y = Bins.each(place("p", "x"), 2), Bins.each(place("c", "y"), 2)
N, OTHER = Bins.each(place("p", number_of("c")), MOST + 1), Bins.each(place("c", "y", other=True), 2)
QUESTIONS = {
    "roots": ("p", "rows", [(X,), (X, N)], 1),
    "rows": ("c", "rows", [(Y,), (Y, X), (Y, N), (Y, X, N)], MOST),
    "siblings": ("c", "siblings", [(Y, OTHER)], MOST * (MOST - 1)),
    "first": ("c", "first", [(Y,), (Y, X)], 1),
    "steps": ("c", "steps", [(Y, OTHER), (Y, N), (OTHER, N)], MOST - 1),
}


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("name", list(QUESTIONS))
def test_no_tree_moves_a_table_by_more_than_stated_and_some_tree_does(name, relation):
    """Contributions add up (the next test), so a tree alone is what its coming or going moves."""
    asked, schema = question(*QUESTIONS[name]), two("t")
    parts = [linked.exact(asked, forest(schema, [("k", x, 1, below)])) for x, below in trees()]
    stated = linked.sensitivity(Adjacency(relation=relation, unit="p")) * linked.UNIT
    for table in range(len(asked.marginals)):
        largest = farthest([p[table] for p in parts], relation)
        assert largest <= stated * (1 + 1e-12)
        assert largest >= stated * (1 - 1e-8), "the bound is reached, up to weights rounded down"
    holds(asked, parts)


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_trees_add_up_whatever_stands_beside_them(name):
    add_up(question(*QUESTIONS[name]), two("t"), list(trees()), np.random.default_rng(5), 25)


def test_orphans_missing_keys_and_keys_that_stand_twice_move_no_other_tree():
    asked, schema = question(*QUESTIONS["rows"]), two()
    below = [(1, 0, 11), (0, 1, 12)]
    plain = linked.exact(asked, forest(schema, [("a", 0, 5, below), ("b", 1, 6, below)]))
    opened = [("a", 0, 5, below), ("b", 1, 6, below), ("", 1, 7, []), (" ", 0, 8, [])]
    more = linked.exact(asked, forest(schema, opened))
    for a, b in zip(plain, more, strict=True):
        assert np.array_equal(a, b), "roots without a key have no children"
    twin = linked.exact(asked, forest(schema, [("a", 0, 5, below), ("b", 1, 6, below), ("a.", 1, 9, [(1, 2, 1)])]))
    assert not np.array_equal(twin[0], plain[0])
    twice = linked.exact(asked, forest(schema, [("a", 0, 5, below), ("b", 1, 6, below), ("b ", 0, 9, [])]))
    assert twice[0].sum() == plain[0].sum(), "two rows of one key are one root: one of them is kept"


THREE = several(
    a_key("c", "r", "id", 2),
    a_key("g", "c", "cid", 2),
    r=facts_of(id=ID, x=binary("0", "1")),
    c=facts_of(id=ID, cid=ID, y=binary("0", "1")),
    g=facts_of(cid=ID, z=binary("0", "1")),
)


def deep(schema, x, children):
    """One root with ``children``: (y, [z, ...])."""
    lower = [(i, z) for i, (_, zs) in enumerate(children) for z in zs]
    tables = {
        "r": TableRows(positions={"x": np.array([x])}, texts={"id": texts(["k"])}, num_rows=1),
        "c": TableRows(
            positions={"y": np.array([y for y, _ in children], dtype=np.int64)},
            texts={"id": texts(["k"] * len(children)), "cid": texts(range(len(children)))},
            num_rows=len(children),
        ),
        "g": TableRows(
            positions={"z": np.array([z for _, z in lower], dtype=np.int64)},
            texts={"cid": texts([i for i, _ in lower])},
            num_rows=len(lower),
        ),
    }
    draws = Given([0], list(range(len(children))), list(range(len(lower))))
    return link(schema, tables, draws)


def test_grandchildren_multiply_weights():
    schema = datasets.parse_related(THREE)
    zs = [below for many in range(3) for below in product(range(2), repeat=many)]
    children = [(y, list(z)) for y in range(2) for z in zs]
    cases = [(x, list(c)) for x in range(2) for many in range(3) for c in product(children, repeat=many)]
    g, other = Bins.each(place("g", "z"), 2), Bins.each(place("g", "z", other=True), 2)
    above = (Bins.each(place("c", "y"), 2), Bins.each(place("r", "x"), 2), Bins.each(place("r", number_of("c")), 3))
    for view, tables, most in (("rows", [(g,), (g, *above)], 4), ("siblings", [(g, other)], 4)):
        asked = question("g", view, tables, most)
        parts = [linked.exact(asked, deep(schema, x, c)) for x, c in cases]
        for table in range(len(tables)):
            moves = np.array([p[table] for p in parts])
            assert moves.sum(1).max() == linked.UNIT
            assert isclose(sqrt((moves.astype(float) ** 2).sum(1).max()), linked.UNIT)


def test_the_card_counts_every_table_at_its_own_noise():
    adjacency = Adjacency(relation=Relation.ADD_REMOVE, unit="p")
    result = linked.events(question(*QUESTIONS["rows"]), adjacency)
    assert [(e.sensitivity, e.sigma, e.pitch) for e in result] == [(1.0, 5.0, 1.0)] * 4
    with pytest.raises(ValueError, match="max_rows"):
        linked.sensitivity(Adjacency(relation=Relation.ADD_REMOVE, unit="p", max_rows=2))


def test_more_noise_than_whole_numbers_hold_is_refused_before_the_rows_are_asked_for():
    """Noise of 2**31 roots turned the sign of every other sum: 2**63 in the unit that is summed."""
    for sigma in (linked.MOST_NOISE * 1.01, 1e9, 1e300):
        wide = Linked(purpose="t", table="p", view="rows", most=1, marginals=(Marginal(bins=(X,), sigma=sigma),))
        with pytest.raises(BudgetError, match="raise epsilon"):
            linked.events(wide, Adjacency(relation=Relation.ADD_REMOVE))
    with pytest.raises(ArithmeticError, match="63 bits"):
        SeededNoise(0).gaussian_counts((4,), sigma=2.0**59)
    drawn = linked.noised(np.full(20_000, 2**61), linked.MOST_NOISE, SeededNoise(3))
    assert drawn.std() == pytest.approx(linked.MOST_NOISE, rel=0.05)
    assert abs(drawn.mean() - 2**29) < 8 * linked.MOST_NOISE / sqrt(20_000)
