"""The order of rows is an input: the law of every answer is the same for every order of the table's rows.

A table kept sorted is shifted by one row between a replaced row's old and new place. Where an answer is a sum that does
not matter; where it has a number for each record, it must be in an order of its own. Every question of every method, in
every form that its options give it, is answered without noise for a sorted table and for the same rows reversed, with
the draws that are secret: an answer that follows the order then falls into two heaps.
"""

import numpy as np
import pytest

from synth.errors import SynthError
from synth.generators import GENERATORS
from synth.generators.options import with_options
from synth.generators.ranges import OneOf
from synth.mechanisms import slices
from synth.pipeline import budget
from synth.privacy.accounting.composition import calibrate
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import External
from synth.questions.slices import DIRECTION_BITS
from tests.conformance.measuring import QUICK, SCHEMA
from tests.evil_twins import Silent

ROWS = 40
DRAWS = 12  # of either order: two heaps by chance once in 2 ** 24
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


def questions(name, options, relation):
    """What the method asks in this form; nothing where the form is refused."""
    rows, asked = sorted_rows(), []
    grant = Grant(epsilon=2.0, delta=1e-5, adjacency=Adjacency(relation=relation), mu=calibrate(2.0, 1e-5))
    curator = Curator(
        grant=grant, commit=lambda: None, read=lambda: rows, mechanisms=budget.mechanisms(), noise=SystemNoise()
    )

    def ask(question):
        asked.append(question)
        return curator.ask(question)

    try:
        method = with_options(GENERATORS[name], {**QUICK.get(name, {}), **{o: v for o, v in options.items() if o}})
        method.check_options()
        method.measure(ask, budget.setting(SCHEMA, grant, public_rows=ROWS), progress=lambda _: None)
    except SynthError:
        return []
    return asked


def numbers(value):
    """All numbers of a release's answer, in its order."""
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
        told = mechanisms[type(question)].answer(question, rows, noise)
        out += numbers([getattr(told, f) for f in ("values", "chosen", "counts") if hasattr(told, f)])
    return np.concatenate(out)


def falls_into_two_heaps(one, other):
    """Whether the vector nearest to each is of its own kind, for all of them."""
    whole = np.concatenate([one, other])
    apart = np.linalg.norm(whole[:, None] - whole[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    own = np.arange(len(whole)) < len(one)
    same = np.where(own[:, None] == own[None], apart, np.inf).min(1)
    across = np.where(own[:, None] != own[None], apart, np.inf).min(1)
    return bool((same < across - 1e-9).all())


@pytest.mark.parametrize(("name", "options"), FORMS)
def test_no_answer_follows_the_order_of_rows(name, options):
    asked = [q for q in questions(name, options, Relation.REPLACE_ONE) if not isinstance(q, External)]
    if not asked:  # OpenDP's questions are tables of counts; a form that is refused asks nothing
        return
    rows = sorted_rows()
    turned = {n: v[::-1].copy() for n, v in rows.items()}
    one, other = (np.stack([answers(asked, table) for _ in range(DRAWS)]) for table in (rows, turned))
    assert not falls_into_two_heaps(one, other)


def test_a_record_of_a_sorted_table_stands_anywhere():
    """Where the one other row lands is uniform, so that a neighbour that stands elsewhere has the same law."""
    (asked,) = (q for q in questions("slice_wasserstein", {"": None}, Relation.REPLACE_ONE) if q.groups is None)
    rows = {n: np.zeros(5, dtype=np.int64) for n in SCHEMA.measured()}
    for values in rows.values():
        values[0] = 1
    places = np.zeros(5)
    for _ in range(2000):
        told = slices.answer(asked, rows, Silent()).values
        places[np.argmax(np.abs(told - np.median(told, axis=0)).sum(1))] += 1
    assert ((places - 400) ** 2 / 400).sum() < 33.4  # chi-squared of 4: once in 10^6
