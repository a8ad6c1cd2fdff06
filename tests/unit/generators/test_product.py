"""The mixture of products: what it draws follows its probabilities, and conditions hold exactly."""

import json

import numpy as np
import pytest

from synth.errors import UsageError
from synth.generators.core.product import Product
from tests.unit.generators.helpers import axis


def model():
    """Two components; `a` has three positions, `b` ten positions in three leaves and two groups."""
    a = axis("a", [[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]], starts=[0, 1, 2], groups=[0, 1, 2], within=[1, 1, 1], cells=3)
    b = axis("b", [[0.9, 0.1], [0.2, 0.8]], starts=[0, 1, 6], groups=[0, 1, 0], within=[0.25, 1, 0.75], cells=10)
    return Product(total=100.0, weights=np.array([0.6, 0.4]), axes=(a, b))


def exact():
    """Joint law of (a, b) under ``model``, (3, 10)."""
    b = np.array(
        [[0.25 * 0.9, *[0.1 / 5] * 5, *[0.75 * 0.9 / 4] * 4], [0.25 * 0.2, *[0.8 / 5] * 5, *[0.75 * 0.2 / 4] * 4]]
    )
    return np.einsum("k,ka,kb->ab", [0.6, 0.4], [[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]], b)


def joint(rows):
    return np.bincount(rows["a"] * 10 + rows["b"], minlength=30).reshape(3, 10) / len(rows["a"])


def test_rows_follow_the_joint_law():
    rows = model().sample(40_000, rng=np.random.default_rng(0))
    assert np.abs(joint(rows) - exact()).max() < 0.006


def test_spread_samples_keep_one_ways_closer_than_independent_draws():
    """Systematic sampling: a one-way cell is off by a few rows, independent draws by about 20."""
    rows = model().sample(2000, rng=np.random.default_rng(1))
    assert np.abs(np.bincount(rows["a"], minlength=3) - 2000 * exact().sum(1)).max() <= 3


def test_a_single_row_follows_the_law_too():
    """No rounding bias: over many samples of one row each, every cell comes up as often as it should."""
    rng = np.random.default_rng(2)
    draws = [model().sample(1, rng=rng) for _ in range(4000)]
    rows = {c: np.concatenate([d[c] for d in draws]) for c in ("a", "b")}
    assert np.abs(joint(rows) - exact()).max() < 0.03


@pytest.mark.parametrize("num_rows", [0, 1, 2, 7])
def test_few_rows(num_rows):
    rows = model().sample(num_rows, rng=np.random.default_rng(0))
    assert all(len(v) == num_rows and v.dtype == np.int64 for v in rows.values())


def test_conditions_hold_and_reweight_components():
    """b in {1, 7}: rows satisfy it, and the law of a is the exact conditional."""
    where = {"b": np.array([7, 1])}
    rows = model().sample(20_000, rng=np.random.default_rng(3), where=where)
    assert set(np.unique(rows["b"])) == {1, 7}
    expected = exact()[:, [1, 7]] / exact()[:, [1, 7]].sum()
    assert np.abs(joint(rows)[:, [1, 7]] - expected).max() < 0.01


def test_probability_of_a_condition_is_exact():
    where = {"a": np.array([0, 1]), "b": np.arange(3, 8)}
    assert model().probability(where) == pytest.approx(exact()[:2, 3:8].sum(), rel=1e-5)
    assert model().probability({}) == pytest.approx(1.0)


def test_a_condition_of_probability_zero_is_met_all_the_same():
    impossible = axis("c", [[1.0, 0.0], [1.0, 0.0]], starts=[0, 1], groups=[0, 1], within=[1, 1], cells=4)
    table = Product(total=1.0, weights=np.array([0.5, 0.5]), axes=(impossible,))
    rows = table.sample(3000, rng=np.random.default_rng(0), where={"c": np.array([2, 3])})
    assert np.bincount(rows["c"], minlength=4)[2:].min() > 1300
    assert table.probability({"c": np.array([2, 3])}) == 0.0


@pytest.mark.parametrize(("column", "positions"), [("z", [0]), ("a", []), ("a", [3]), ("a", [-1])])
def test_an_invalid_condition_is_refused_by_name(column, positions):
    where = {column: np.array(positions, dtype=np.int64)}
    with pytest.raises(UsageError, match=f"condition on '{column}'"):
        model().sample(5, rng=np.random.default_rng(0), where=where)


def test_state_rebuilds_the_model_through_json():
    about, arrays = model().state()
    again = Product.from_state(json.loads(json.dumps(about)), arrays)
    one, two = (m.sample(50, rng=np.random.default_rng(4)) for m in (model(), again))
    assert all(np.array_equal(one[c], two[c]) for c in one)


def test_positions_near_two_to_the_53_are_drawn_inside_their_leaf():
    wide = axis("w", [[1.0]], starts=[0], groups=[0], within=[1], cells=2**53)
    rows = Product(total=1.0, weights=np.ones(1), axes=(wide,)).sample(500, rng=np.random.default_rng(5))["w"]
    assert rows.min() >= 0
    assert 2**51 < rows.max() < 2**53
