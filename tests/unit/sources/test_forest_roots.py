"""Trees of chosen roots: whole, in the order asked for, as often as they are named."""

import numpy as np

from synth.pipeline.rehearsal import made_up
from synth.schema import dataset as datasets
from synth.schema.dataset import number_of

KEY, LETTERS = {"type": "identifier"}, {"type": "categorical", "categories": list("abcdef")}
SCHEMA = datasets.parse_related(
    {
        "tables": {t: {"columns": {"a": KEY, "b": KEY, "x": LETTERS}} for t in ("top", "mid", "low")},
        "keys": [
            {"parent": "top", "child": "mid", "columns": ["a"], "most_children": 3},
            {"parent": "mid", "child": "low", "columns": ["b"], "most_children": 2},
        ],
    }
)


def as_lists(forest, root):
    """A root with everything below it, as nested lists."""
    mids = np.flatnonzero(forest["mid"].parent == root)
    lows = [forest["low"].columns["x"][forest["low"].parent == m].tolist() for m in mids]
    return (
        int(forest["top"].columns["x"][root]),
        forest["mid"].columns["x"][mids].tolist(),
        forest["mid"].rank[mids].tolist(),
        lows,
    )


def test_trees_come_whole_in_order_and_as_often_as_named():
    forest, rows = made_up(SCHEMA, 40), np.array([7, 3, 7, 39, 0])
    made = forest.of_roots(rows)
    assert [as_lists(made, i) for i in range(len(rows))] == [as_lists(forest, r) for r in rows]
    for below, above in (("mid", "top"), ("low", "mid")):
        many = made[above].columns[number_of(below)]
        np.testing.assert_array_equal(np.bincount(made[below].parent, minlength=len(many)), many)
        assert (made[below].parts >= made[below].siblings).all()
