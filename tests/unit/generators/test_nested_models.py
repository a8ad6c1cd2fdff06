"""Nested mixtures as they are stored, joined and drawn: roots and all rows below them, models of before too."""

import numpy as np
import pytest

from synth.errors import InputError
from synth.generators.core.related_model import Chances, Child, NestedMixture, joined
from tests.unit.generators.helpers import FLAG, IDENTIFIER, mixture, related

SCHEMA = related({"t": IDENTIFIER, "y": FLAG, "z": FLAG}, order="t")
HALF, THREE = np.full(2, 0.5), [0, 0, 0, 1.0]


def nested(root, rows, **parts):
    """A mixture over roots whose children's arrays are as given."""
    arrays = {n: np.array(p) if isinstance(p, list) else p for n, p in parts.items()}
    return NestedMixture(schema=SCHEMA, root=root, children={"c": Child(rows=rows, **arrays)})


def drawn(model, roots, *, stored=True):
    """The roots' x and, by column, each root's three rows, of the model or of what is stored of it."""
    model = NestedMixture.from_state(SCHEMA, *model.state()) if stored else model
    (block,) = model.blocks(roots, rng=np.random.default_rng(0))
    return block["p"].positions["x"], {n: a.reshape(roots, -1) for n, a in block["c"].positions.items()}


def test_a_component_of_a_model_of_before_owns_its_childrens_and_events_walk_among_them():
    """Roots of x = 0 have three rows that go 0, 1, 1; those of x = 1 three that go 1, 0, 0."""
    root = mixture(10.0, HALF, x=np.eye(2), number_of_c=[THREE] * 2)
    rows = mixture(30.0, np.full(4, 0.25), y=[[1.0, 0], [0, 1.0]] * 2, z=[HALF] * 4)
    old = nested(root, rows, state=np.eye(2), turn=[[[0.0, 1], [0, 1]], [[1, 0], [1, 0]]])
    assert set(old.state()[1]) >= {"table1.state", "table1.turn"}
    assert not {"table1.later", "table1.lean"} & set(old.state()[1])
    x, below = drawn(old, 40)
    assert np.array_equal(below["y"], np.stack([x, 1 - x, 1 - x], 1))
    assert 0 < x.sum() < 40


def events(number, **parts):
    """A root of one component with so many rows, the first of which is 0; of the second component they are 1."""
    root = mixture(10.0, [1.0], x=[[1.0, 0]], number_of_c=[number])
    rows = mixture(30.0, [1 / 3, 2 / 3], y=np.eye(2), z=[HALF] * 2)
    return nested(root, rows, state=[[1.0, 0]], **parts)


def test_the_last_event_of_a_model_without_chances_of_its_own_is_a_later_one():
    """Rows go 0, 1, 1, as the model of before has it; with chances of the last one's own they go 0, 1, 0."""
    for last, gone in (({}, [0, 1, 1]), ({"last": [[1.0, 0]]}, [0, 1, 0])):
        model = events(THREE, later=[[[0, 1.0]]], **last)
        assert ("table1.last" in model.state()[1]) == bool(last)
        assert drawn(model, 8)[1]["y"].tolist() == [gone] * 8


def test_chances_of_the_last_event_that_do_not_fit_are_a_damaged_model():
    one = [0, 1.0, 0, 0]
    for last in (np.ones((1, 3)), [[1.0, -1]], [[np.nan, 1]]):
        with pytest.raises(InputError, match="last events do not fit"):
            drawn(events(one, last=last), 8)
    assert (drawn(events(one, last=[[0, 1.0]]), 8)[1]["y"] == 1).all(), "an only row is the last"


def model(x, *, total):
    """All roots have this ``x`` and three rows, whose ``y`` goes x, 1 - x, x by their components and whose ``z``
    is x by the root's: of x = 1 as the lean says, of x = 0 since both say so.
    """
    flag = np.eye(2)
    root = mixture(total, [1.0], x=[flag[x]], number_of_c=[THREE])
    rows = mixture(3 * total, [2 / 3, 1 / 3], y=[flag[x], flag[1 - x]], z=[flag[0]] * 2)
    direct = mixture(3 * total, [1.0], y=[flag[0]], z=[flag[x]])
    chances = {"state": [[1.0, 0]], "later": [[[0, 1.0]]], "last": [[1.0, 0]]}
    return nested(root, rows, direct=direct, lean=[0.0, float(x)], **chances)


@pytest.mark.parametrize("stored", [False, True])
def test_a_root_and_its_rows_are_of_one_mixture(stored):
    both = joined([model(0, total=30.0), model(1, total=50.0)])
    x, below = drawn(both, 40, stored=stored)
    assert both.total == 40.0
    assert x.sum() == 20, "in equal parts, drawn evenly"
    assert np.array_equal(below["y"], np.stack([x, 1 - x, x], 1))
    assert np.array_equal(below["z"], np.stack([x] * 3, 1))


def agreeing(lean, shared):
    """A model whose rows follow their parents by these chances."""
    root = mixture(4000.0, [1.0], x=[HALF], number_of_c=[THREE])
    rows, direct = (mixture(12000.0, [1.0], y=[HALF], z=[HALF]) for _ in range(2))
    return nested(root, rows, state=np.ones((1, 1)), direct=direct, lean=np.full(2, lean), shared=shared)


@pytest.mark.parametrize("stored", [False, True])
def test_rows_of_one_parent_share_a_value_as_often_as_the_model_says(stored):
    result = joined([agreeing(0.8, [0.0, 0.5]), agreeing(0.8, [0.0, 1.0])])
    below = drawn(result, 8000, stored=stored)[1]
    reported = np.mean([0.5 + 0.5 * (0.8 * part) ** 2 for part in (0.5, 1.0)])
    near = 6 * 0.5 / np.sqrt(8000)  # six deviations: less than once in 10**6
    for rows, wanted in ((below["y"], 0.5), (below["z"], reported)):
        assert np.mean(rows[:, :2].std(1) == 0) == pytest.approx(wanted, abs=near)
        assert np.mean(rows[:, 1:].std(1) == 0) == pytest.approx(wanted, abs=near)
    assert abs(below["z"].mean() - 0.5) < near


def test_a_chance_of_sharing_that_is_none_is_a_damaged_model():
    with pytest.raises(InputError, match="damaged"):
        drawn(agreeing(0.8, [0.0, 1.5]), 1)


def test_one_alone_is_itself():
    alone = model(1, total=30.0)
    assert joined([alone]) is alone


def test_chances_are_drawn_line_by_line():
    lines = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])
    result = Chances(lines).pick(np.repeat(np.arange(2), 2000), np.random.default_rng(0))
    assert (result[:2000] == 1).all()
    assert set(result[2000:]) == {0, 2}
    assert 850 < (result[2000:] == 0).sum() < 1150
