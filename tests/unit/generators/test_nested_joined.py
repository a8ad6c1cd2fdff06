"""Several nested mixtures in one: every root, with all rows below it, is of one of them, each in equal parts."""

import numpy as np
import pytest

from synth.errors import InputError
from synth.generators.core.product import Axis, Product
from synth.generators.core.related_model import NestedMixture, joined
from synth.schema import dataset as datasets

FLAG = {"type": "boolean", "categories": ["0", "1"]}
SCHEMA = datasets.parse(
    {
        "tables": {
            "p": {"columns": {"id": {"type": "identifier"}, "x": FLAG}},
            "c": {"columns": {"id": {"type": "identifier"}, "t": {"type": "identifier"}, "y": FLAG, "z": FLAG}},
        },
        "keys": [{"parent": "p", "child": "c", "columns": ["id"], "most_children": 3, "order": "t"}],
    }
)


def product(total, weights, **columns):
    def axis(name, probs):
        probs = np.array(probs, dtype=np.float32)
        cells = np.arange(probs.shape[1])
        return Axis(
            column=name,
            cells=len(cells),
            starts=cells,
            groups=cells,
            probs=probs,
            within=np.ones(len(cells), dtype=np.float32),
        )

    axes = tuple(axis(n.replace("_", " "), p) for n, p in columns.items())
    return Product(total=total, weights=np.array(weights), axes=axes)


def model(x, *, total):
    """All roots have this ``x`` and three rows, whose ``y`` goes x, 1 - x, x by their components and whose ``z``
    is x by the root's: of x = 1 as the lean says, of x = 0 since both say so.
    """
    flag = np.eye(2)
    root = product(total, [1.0], x=[flag[x]], number_of_c=[[0, 0, 0, 1.0]])
    rows = product(3 * total, [2 / 3, 1 / 3], y=[flag[x], flag[1 - x]], z=[flag[0]] * 2)
    direct = product(3 * total, [1.0], y=[flag[0]], z=[flag[x]])
    return NestedMixture(
        schema=SCHEMA,
        tables={"p": root, "c": rows},
        states={"c": np.array([[1.0, 0]])},
        later={"c": np.array([[[0, 1.0]]])},
        last={"c": np.array([[1.0, 0]])},
        direct={"c": direct},
        lean={"c": np.array([0.0, float(x)])},
    )


@pytest.mark.parametrize("stored", [False, True])
def test_a_root_and_its_rows_are_of_one_mixture(stored):
    both = joined([model(0, total=30.0), model(1, total=50.0)])
    both = NestedMixture.from_state(SCHEMA, *both.state()) if stored else both
    (block,) = both.blocks(40, rng=np.random.default_rng(0))
    x = block["p"].positions["x"]
    below = {n: a.reshape(40, 3) for n, a in block["c"].positions.items()}
    assert both.total == 40.0
    assert x.sum() == 20, "in equal parts, drawn evenly"
    assert np.array_equal(below["y"], np.stack([x, 1 - x, x], 1))
    assert np.array_equal(below["z"], np.stack([x] * 3, 1))


def agreeing(lean, shared):
    """A model whose rows follow their parents by these chances, and its draw of x of one root's three rows."""
    half = np.full(2, 0.5)
    root = product(4000.0, [1.0], x=[half], number_of_c=[[0, 0, 0, 1.0]])
    rows, direct = (product(12000.0, [1.0], y=[half], z=[half]) for _ in range(2))
    return NestedMixture(
        schema=SCHEMA,
        tables={"p": root, "c": rows},
        states={"c": np.ones((1, 1))},
        direct={"c": direct},
        lean={"c": np.full(2, lean)},
        shared={"c": np.array(shared)},
    )


@pytest.mark.parametrize("stored", [False, True])
def test_rows_of_one_parent_share_a_value_as_often_as_the_model_says(stored):
    result = joined([agreeing(0.8, [0.0, 0.5]), agreeing(0.8, [0.0, 1.0])])
    result = NestedMixture.from_state(SCHEMA, *result.state()) if stored else result
    (block,) = result.blocks(8000, rng=np.random.default_rng(0))
    own, shared = (block["c"].positions[n].reshape(8000, 3) for n in ("y", "z"))
    reported = np.mean([0.5 + 0.5 * (0.8 * part) ** 2 for part in (0.5, 1.0)])
    for rows, wanted in ((own, 0.5), (shared, reported)):  # six deviations: less than once in 10**6
        assert np.mean(rows[:, :2].std(1) == 0) == pytest.approx(wanted, abs=6 * 0.5 / np.sqrt(8000))
        assert np.mean(rows[:, 1:].std(1) == 0) == pytest.approx(wanted, abs=6 * 0.5 / np.sqrt(8000))
    assert abs(shared.mean() - 0.5) < 6 * 0.5 / np.sqrt(8000)


def test_a_chance_of_sharing_that_is_none_is_a_damaged_model():
    with pytest.raises(InputError, match="damaged"):
        NestedMixture.from_state(SCHEMA, *agreeing(0.8, [0.0, 1.5]).state())


def test_one_alone_is_itself():
    alone = model(1, total=30.0)
    assert joined([alone]) is alone
