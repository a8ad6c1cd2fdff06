"""The order of rows is an input: the law of every answer is the same for every order of the table's rows.

A table kept sorted is shifted by one row between a replaced row's old and new place. Where an answer is a sum that does
not matter; where it has a number for each record, it must be in an order of its own. Every question of every method, in
every form that its options give it, is answered without noise for a sorted table and for the same rows reversed, with
the draws that are secret: an answer that follows the order then falls into two heaps. Questions that no method asks are
answered alone, and what choices are drawn by is the same number for either order.
"""

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import SynthError
from synth.generators import GENERATORS
from synth.generators.base import Run
from synth.generators.method import OneOf, with_options
from synth.mechanisms import search, selection, slices, values, weighted
from synth.pipeline import budget
from synth.privacy.relation import Relation
from synth.questions import Above, Bins, Choice, External, Linked, Marginal, Question, Search, Values, WeightedCounts
from synth.questions.slices import DIRECTION_BITS
from synth.sources.formats.text_table import Text
from tests.conformance.measuring import QUICK, SCHEMA
from tests.conftest import SMALL
from tests.evil_twins import Silent
from tests.laws import related_trees
from tests.made import curator

ROWS = 40
DRAWS = 12  # of either order: two heaps by chance once in 2 ** 24
STEPS = {"steps": 4, "points": 16}  # of a training that factorises a covariance of its points at each step
FORMS = [
    pytest.param(name, {option: value}, id=f"{name}-{option}={value}" if option else name)
    for name, method in GENERATORS.items()
    for option, value in [
        ("", None),
        *((o, v) for o, r in method.ranges.items() if isinstance(r, OneOf) for v in r.words),
    ]
]


def sorted_rows():
    """Rows of two kinds, one kind after the other."""
    second = np.arange(ROWS) >= ROWS // 2
    return {n: np.where(second, c.cells - 1, 0).astype(np.int64) for n, c in SCHEMA.measured().items()}


def few_columns():
    """Two columns, for the method that takes no more."""
    return synth.Schema.parse({**SMALL, "target": None, "columns": {n: SMALL["columns"][n] for n in ("sex", "ill")}})


def questions(name, options, relation):
    """What the method asks in this form; nothing where the form is refused."""
    schema = few_columns() if name == "small_db" else SCHEMA
    rows, asked = sorted_rows(), []
    epsilon = 20.0 if name == "mixture" else 2.0  # which asks for no tables where noise hides so few rows
    door = curator(rows, epsilon=epsilon, relation=relation)

    def ask(question):
        asked.append(question)
        return door.ask(question)

    try:
        short = STEPS if options.get("form") == "stepwise" else QUICK.get(name, {})
        method = with_options(GENERATORS[name], {**short, **{o: v for o, v in options.items() if o}})
        method.check_options()
        method.measure(Run(ask, budget.setting(schema, door.grant, public_rows=ROWS)))
    except SynthError:
        return []
    return asked


def reported(release):
    """All numbers of a release, in its order; its question and directions follow from no row."""
    return numbers([getattr(release, f.name) for f in fields(release) if f.name not in ("question", "directions")])


def numbers(value):
    """All numbers in arrays and sequences, in their order."""
    if isinstance(value, np.ndarray):
        return [value.astype(float).ravel()]
    if isinstance(value, tuple | list):
        return [x for v in value for x in numbers(v)]
    return [np.array([float(value)])] if isinstance(value, int | float | np.number) else []


class Aimed(Silent):
    """No noise, and random directions that are always the same ones."""

    def gaussian_counts(self, shape, *, sigma):
        if sigma == 2.0**DIRECTION_BITS / shape[0] ** 0.5:
            return np.rint(np.random.default_rng(0).standard_normal(shape) * sigma).astype(np.int64)
        return super().gaussian_counts(shape, sigma=sigma)

    def directions(self, shape):
        return np.random.default_rng(0).standard_normal(shape)


def answers(asked, rows):
    """The answers to all questions, as one vector, without noise."""
    mechanisms, noise, out = budget.mechanisms(), Aimed(), []
    for question in asked:
        if isinstance(question, Above):  # without noise a round may end sooner: each comparison alone
            mechanisms = budget.mechanisms()
        out += reported(mechanisms[type(question)].answer(question, rows, noise))
    return np.concatenate(out)


def falls_into_two_groups(one, other):
    """Whether the vector nearest to each is of its own kind, for all of them."""
    whole = np.concatenate([one, other])
    apart = np.linalg.norm(whole[:, None] - whole[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    own = np.arange(len(whole)) < len(one)
    same = np.where(own[:, None] == own[None], apart, np.inf).min(1)
    across = np.where(own[:, None] != own[None], apart, np.inf).min(1)
    return bool((same < across - 1e-9).all())


def turned(rows):
    """The same rows, the last first."""
    return {n: v[::-1].copy() for n, v in rows.items()}


def held_alike(name, options, relation):
    """The kinds of question that were asked and answered alike."""
    asked = questions(name, options, relation)
    ours = [q for q in asked if not isinstance(q, External)]  # OpenDP's are tables of counts
    if ours:  # a form that is refused asks nothing
        rows = sorted_rows()
        one, other = (np.stack([answers(ours, table) for _ in range(DRAWS)]) for table in (rows, turned(rows)))
        assert not falls_into_two_groups(one, other)
        for question in ours:
            if type(question) in SCORES:  # a draw by these numbers
                score = SCORES[type(question)]
                assert np.array_equal(score(question, rows), score(question, turned(rows)))
    return {type(q) for q in asked}


SCORES = {Choice: selection.scores, Search: search.scores}
NUMBERED = ("slice_wasserstein", "slicing")  # records have numbers where their number is public


@pytest.mark.parametrize(("name", "options"), FORMS)
def test_no_answer_follows_the_order_of_rows(name, options):
    asked = held_alike(name, options, Relation.REPLACE_ONE)
    assert asked or None not in options.values(), "the default form is refused, so nothing was compared"


@pytest.mark.parametrize(("name", "options"), [f for f in FORMS if f.values[0] in NUMBERED])
def test_no_answer_of_a_public_number_of_rows_follows_their_order(name, options):
    held_alike(name, options, Relation.ZERO_OUT)


BY_METHODS = ["aim", "dp_hp", "dp_vae", "datalens", "mixture", "mwem"]
BY_METHODS += ["online_weights", "pate_gan", "private_evolution"]
ALONE = {Values, WeightedCounts, Linked}


def test_every_kind_of_question_is_among_these():
    asked = {type(q) for n in BY_METHODS for q in questions(n, {"": None}, Relation.REPLACE_ONE)}
    for name, options in [("slice_wasserstein", {"": None}), ("dp_kernel", {"form": "path"})]:
        asked |= {type(q) for q in questions(name, options, Relation.REPLACE_ONE)}
    kinds = [k for k in vars(synth.questions).values() if isinstance(k, type) and issubclass(k, Question)]
    assert asked | ALONE == {*kinds} - {Question}


def test_learnt_categories_and_weights_do_not_follow_the_order_of_rows():
    learnt = Values(purpose="t", column="c", sigma=1.0, threshold=2.0)
    texts, codes = np.array(["b", "a", "c"], dtype=object), np.repeat(np.arange(3), [9, 5, 1])
    one = values.answer(learnt, {"c": Text(texts, codes)}, Silent())
    other = values.answer(learnt, {"c": Text(texts[::-1], 2 - codes[::-1])}, Silent())
    assert (one.texts, one.counts.tolist()) == (other.texts, other.counts.tolist()) == (("a", "b"), [5, 9])
    by = Bins.each("w", 2)
    marginal = Marginal(bins=(Bins.each("a", 3),), sigma=1.0)
    weighed = WeightedCounts(purpose="t", marginals=(marginal,), by=by, units=np.array([1, 3]))
    rows = {"a": codes, "w": codes % 2}
    one, other = (weighted.answer(weighed, r, Silent()).values[0] for r in (rows, turned(rows)))
    assert np.array_equal(one, other)


def test_no_table_of_related_rows_follows_their_order(tmp_path):
    seen = []
    for step in (1, -1):
        (tmp_path / str(step)).mkdir()
        for name, columns in related_trees.ROWS.items():
            frame = pd.DataFrame(columns)[::step]
            frame.to_csv(tmp_path / str(step) / f"{name}.csv", index=False)
        seen.append(related_trees.counts(tmp_path / str(step)))
    assert all(np.array_equal(a, b) for a, b in zip(*seen, strict=True))


def test_a_record_of_a_sorted_table_stands_anywhere():
    """Where the one other row lands is uniform, so that a neighbour that stands elsewhere has the same law."""
    (asked,) = (q for q in questions("slice_wasserstein", {"": None}, Relation.REPLACE_ONE) if q.groups is None)
    rows = {n: np.zeros(5, dtype=np.int64) for n in SCHEMA.measured()}
    for cells in rows.values():
        cells[0] = 1
    places = np.zeros(5)
    for _ in range(2000):
        summary = slices.answer(asked, rows, Silent()).values
        places[np.argmax(np.abs(summary - np.median(summary, axis=0)).sum(1))] += 1
    assert ((places - 400) ** 2 / 400).sum() < 33.4  # chi-squared of 4: once in 10^6
