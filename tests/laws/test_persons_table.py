"""One person with all rows moves a table whose persons keep their rows by the stated sensitivity at most.

All small persons, those among them whose rows differ in a column that should be one value in all of them.
"""

from itertools import product

import numpy as np
import pytest

import synth
from synth.mechanisms import embeddings, linked
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Embedding
from synth.questions.linked import place
from synth.schema.dataset import PERSONS, ROWS, as_tables, number_of
from synth.sources.rows.forest import TableRows, link
from synth.verified import language
from synth.verified.plan import Cut
from tests.laws.secret_numbers import Given, texts
from tests.laws.small_forests import farthest, question
from tests.made import ID, codes, facts_of, number

MOST = 3


def schema():
    facts = facts_of(id=ID, x=codes("0", "1", of="unit"), y=codes("0", "1"), t=number(0, 9))
    return as_tables(synth.Schema.parse(facts | {"unit": "id", "max_rows": MOST, "order": "t"}))


def forest(tree, rows):
    """``rows``: (person, x, y, t, secret number above, secret number below), in any order."""
    held = TableRows(
        positions={c: np.array([r[i] for r in rows], dtype=np.int64) for i, c in ((1, "x"), (2, "y"), (3, "t"))},
        texts={"id": texts([r[0] for r in rows])},
        num_rows=len(rows),
    )
    return link(tree, dict.fromkeys(tree.tables, held), Given([r[4] for r in rows], [r[5] for r in rows]))


X, Y = Bins.each(place(PERSONS, "x"), 2), Bins.each(place(ROWS, "y"), 2)
N, OTHER = Bins.each(place(PERSONS, number_of(ROWS)), MOST + 1), Bins.each(place(ROWS, "y", other=True), 2)
QUESTIONS = {
    "persons": (PERSONS, "rows", [(X,), (X, N)], 1),
    "rows": (ROWS, "rows", [(Y,), (Y, X), (Y, N)], MOST),
    "siblings": (ROWS, "siblings", [(Y, OTHER)], MOST * (MOST - 1)),
    "steps": (ROWS, "steps", [(Y, OTHER), (Y, N)], MOST - 1),
}


def persons(name="k"):
    """Every person of up to MOST + 1 rows; what should be one value differs within many of them."""
    for many in range(1, MOST + 2):
        for cells in product(range(2), repeat=2 * many):
            yield [
                (name, x, y, t, (t * 5 + 2) % 7, (t * 7 + 3) % 11)
                for t, (x, y) in enumerate(zip(cells[::2], cells[1::2], strict=True))
            ]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("name", list(QUESTIONS))
def test_no_person_moves_a_table_by_more_than_stated_and_some_person_does(name, relation):
    asked, tree = question(*QUESTIONS[name]), schema()
    parts = [linked.exact(asked, forest(tree, rows)) for rows in persons()]
    stated = linked.sensitivity(Adjacency(relation=relation, unit="id")) * linked.UNIT
    for table in range(len(asked.marginals)):
        assert stated * (1 - 1e-8) <= farthest([p[table] for p in parts], relation) <= stated * (1 + 1e-12)
        assert max(int(p[table].sum()) for p in parts) <= linked.UNIT


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_persons_add_up_whatever_stands_beside_them(name):
    """Neither what other persons are nor where their rows stand changes which value or which rows of one are taken."""
    asked, tree = question(*QUESTIONS[name]), schema()
    rng = np.random.default_rng(3)
    all_of = list(persons())
    for _ in range(200):
        chosen = [[(f"p{i}", *r[1:]) for r in all_of[j]] for i, j in enumerate(rng.integers(len(all_of), size=4))]
        rows = [r for person in chosen for r in person]
        order = rng.permutation(len(rows))
        whole = linked.exact(asked, forest(tree, [rows[i] for i in order]))
        for i, table in enumerate(whole):
            assert np.array_equal(table, sum(linked.exact(asked, forest(tree, p))[i] for p in chosen))


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_rows_that_name_nobody_change_nothing(name):
    """They would be units of their own above and of nobody below."""
    asked, tree = question(*QUESTIONS[name]), schema()
    one = [("k", 1, 0, 2, 1, 1), ("k", 0, 1, 1, 2, 2)]
    nobody = [("", 1, 1, 3, 0, 0), (" ", 0, 0, 4, 0, 5)]
    for table, other in zip(
        linked.exact(asked, forest(tree, one)), linked.exact(asked, forest(tree, [*nobody, *one])), strict=True
    ):
        assert np.array_equal(table, other)


def test_one_value_of_a_person_is_taken_by_that_person_s_secret_numbers_alone():
    tree = schema()
    rows = [("k", 0, 0, 0, 9, 1), ("k", 1, 0, 1, 3, 2), ("k", 0, 0, 2, 5, 3)]
    assert forest(tree, rows)[PERSONS].columns["x"].tolist() == [1], "of the row with the least number"
    assert forest(tree, [rows[0], rows[2]])[PERSONS].columns["x"].tolist() == [0]
    assert forest(tree, rows)[PERSONS].columns[number_of(ROWS)].tolist() == [3]


def test_a_key_is_one_however_it_is_written():
    tree = schema()
    rows = [("3", 0, 0, 0, 1, 1), ("3.0", 0, 1, 1, 2, 2), (" 3", 0, 1, 2, 3, 3)]
    assert forest(tree, rows)[PERSONS].columns[number_of(ROWS)].tolist() == [3]


ASKED = {
    "count": {"kind": "count", "where": {"y": "1"}},
    "share": {"kind": "share", "of": {"y": "1"}, "where": {"x": "0"}},
    "linear": {"kind": "linear", "formula": "t ~ y + x"},
    "persons": {"table": "persons", "kind": "mean", "column": "number of rows"},
}


@pytest.mark.parametrize("length", [1.0, 1.7, float(MOST)])
@pytest.mark.parametrize("kind", ASKED)
def test_no_person_moves_an_answer_by_more_than_is_charged(kind, length):
    """Persons whose rows differ in what should be one value, and with more rows than are kept, among them."""
    tree = schema()
    (asked,) = language.read(ASKED[kind], tree)
    asked = Embedding(purpose="x", features=Cut(1.0, min(length, asked.score.most)).of(asked.score), sigma=2.0)
    one = round(1 / asked.pitch)
    moves = [[int(v) for v in embeddings.sums(asked, forest(tree, rows))] for rows in persons()]
    largest = max(sum(v * v for v in move) for move in moves)
    assert (0.3 * one) ** 2 <= largest <= one**2, "no more than is charged, and no more is charged than is there"
    (event,) = embeddings.events(asked, Adjacency(relation=Relation.ADD_REMOVE, unit="id"))
    assert event.sensitivity == 1.0
