"""Models of before components were shared are read and drawn from as they were meant."""

import numpy as np

from synth.generators.nested_mixture.model import NestedMixture
from synth.generators.product_mixture.column import Axis
from synth.generators.product_mixture.model import Product
from synth.schema import related

FLAG = {"type": "boolean", "categories": ["0", "1"]}
SCHEMA = related.parse({
    "tables": {"p": {"columns": {"id": {"type": "identifier"}, "x": FLAG}},
               "c": {"columns": {"id": {"type": "identifier"}, "t": {"type": "identifier"}, "y": FLAG}}},
    "keys": [{"parent": "p", "child": "c", "columns": ["id"], "most_children": 3, "order": "t"}],
})  # fmt: skip


def axis(column, probs):
    probs = np.array(probs, dtype=np.float32)
    cells = probs.shape[1]
    return Axis(column=column, cells=cells, starts=np.arange(cells), groups=np.arange(cells),
                within=np.ones(cells, dtype=np.float32), probs=probs)  # fmt: skip


def test_a_component_owns_its_childrens_and_events_walk_among_them():
    """Roots of x = 0 have three rows that go 0, 1, 1; those of x = 1 three that go 1, 0, 0."""
    three = [[0, 0, 0, 1.0]] * 2
    root = Product(total=10.0, weights=np.array([0.5, 0.5]),
                   axes=(axis("x", [[1.0, 0], [0, 1.0]]), axis("number of c", three)))  # fmt: skip
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
