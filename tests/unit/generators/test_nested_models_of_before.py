"""Models of before components were shared, or the last event had chances, are read and drawn from as meant."""

import numpy as np
import pytest

from synth.errors import InputError
from synth.generators.core.product import Axis, Product
from synth.generators.core.related_model import NestedMixture
from synth.schema import dataset as datasets

FLAG = {"type": "boolean", "categories": ["0", "1"]}
SCHEMA = datasets.parse(
    {
        "tables": {
            "p": {"columns": {"id": {"type": "identifier"}, "x": FLAG}},
            "c": {"columns": {"id": {"type": "identifier"}, "t": {"type": "identifier"}, "y": FLAG}},
        },
        "keys": [{"parent": "p", "child": "c", "columns": ["id"], "most_children": 3, "order": "t"}],
    }
)


def axis(column, probs):
    probs = np.array(probs, dtype=np.float32)
    cells = probs.shape[1]
    return Axis(
        column=column,
        cells=cells,
        starts=np.arange(cells),
        groups=np.arange(cells),
        within=np.ones(cells, dtype=np.float32),
        probs=probs,
    )


def test_a_component_owns_its_childrens_and_events_walk_among_them():
    """Roots of x = 0 have three rows that go 0, 1, 1; those of x = 1 three that go 1, 0, 0."""
    three = [[0, 0, 0, 1.0]] * 2
    root = Product(
        total=10.0, weights=np.array([0.5, 0.5]), axes=(axis("x", [[1.0, 0], [0, 1.0]]), axis("number of c", three))
    )
    rows = Product(total=30.0, weights=np.full(4, 0.25), axes=(axis("y", [[1.0, 0], [0, 1.0]] * 2),))
    onwards = np.array([[[0.0, 1], [0, 1]], [[1, 0], [1, 0]]])
    old = NestedMixture(schema=SCHEMA, tables={"p": root, "c": rows}, states={"c": np.eye(2)}, turns={"c": onwards})
    about, arrays = old.state()
    assert {"table1.state", "table1.turn"} <= set(arrays)
    assert not {"table1.later", "table1.lean"} & set(arrays)
    again = NestedMixture.from_state(SCHEMA, about, arrays)
    (block,) = again.blocks(40, rng=np.random.default_rng(0))
    x, y = block["p"].positions["x"], block["c"].positions["y"].reshape(40, 3)
    assert np.array_equal(y, np.stack([x, 1 - x, 1 - x], 1))
    assert 0 < x.sum() < 40


def test_the_last_event_of_a_model_without_chances_of_its_own_is_a_later_one():
    """Rows go 0, 1, 1, as the model of before has it; with chances of the last one's own they go 0, 1, 0."""
    root = Product(total=10.0, weights=np.ones(1), axes=(axis("x", [[1.0, 0]]), axis("number of c", [[0, 0, 0, 1.0]])))
    rows = Product(total=30.0, weights=np.array([1 / 3, 2 / 3]), axes=(axis("y", [[1.0, 0], [0, 1.0]]),))
    facts = {
        "schema": SCHEMA,
        "tables": {"p": root, "c": rows},
        "states": {"c": np.array([[1.0, 0]])},
        "later": {"c": np.array([[[0, 1.0]]])},
    }
    for last, gone in (({}, [0, 1, 1]), ({"c": np.array([[1.0, 0]])}, [0, 1, 0])):
        about, arrays = NestedMixture(**facts, last=last).state()
        assert ("table1.last" in arrays) == bool(last)
        (block,) = NestedMixture.from_state(SCHEMA, about, arrays).blocks(8, rng=np.random.default_rng(0))
        assert block["c"].positions["y"].reshape(8, 3).tolist() == [gone] * 8


def test_chances_of_the_last_event_that_do_not_fit_are_a_damaged_model():
    root = Product(total=10.0, weights=np.ones(1), axes=(axis("x", [[1.0, 0]]), axis("number of c", [[0, 1.0, 0, 0]])))
    rows = Product(total=10.0, weights=np.array([0.5, 0.5]), axes=(axis("y", [[1.0, 0], [0, 1.0]]),))
    state = {"c": np.array([[1.0, 0]])}
    for last in (np.ones((1, 3)), np.array([[1.0, -1]]), np.array([[np.nan, 1]])):
        broken = NestedMixture(schema=SCHEMA, tables={"p": root, "c": rows}, states=state, last={"c": last})
        with pytest.raises(InputError, match="last events do not fit"):
            NestedMixture.from_state(SCHEMA, *broken.state())
    whole = NestedMixture(schema=SCHEMA, tables={"p": root, "c": rows}, states=state, last={"c": np.array([[0, 1.0]])})
    (block,) = whole.blocks(8, rng=np.random.default_rng(0))
    assert block["c"].positions["y"].tolist() == [1] * 8, "an only row is the last"
