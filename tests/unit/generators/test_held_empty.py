"""Rows are kept out of pairs that never occur: by swaps, which leave every column as it was."""

from dataclasses import replace

import numpy as np
import pytest

from synth.generators.core.conditionals import ConditionalLogit
from synth.generators.core.product import Product, model_problems
from synth.generators.core.sampling import keep_out
from tests.unit.generators.helpers import axis

NEVER = np.zeros((3, 4), dtype=bool)
NEVER[0, :3] = NEVER[1:, 3] = True  # who does not work has no hours, and nobody else has none


def _codes(rows=20_000, seed=0):
    """Jobs, hours and a column beside them, drawn as a model does that has them nearly right."""
    rng = np.random.default_rng(seed)
    job = rng.integers(0, 3, rows)
    hours = np.where(job == 0, 3, rng.integers(0, 3, rows))
    lost = rng.random(rows) < 0.05
    hours[lost] = rng.permutation(hours[lost])
    return np.stack([job, hours, rng.integers(0, 5, rows) * (job > 0)], axis=1), rng.integers(0, 6, rows)


def test_hardly_a_row_is_left_and_every_column_is_as_it_was():
    codes, component = _codes()
    before = codes.copy()
    assert NEVER[before[:, 0], before[:, 1]].mean() > 0.02
    keep_out(codes, component, {(0, 1): NEVER}, frozenset({2}), rng=np.random.default_rng(1))
    assert NEVER[codes[:, 0], codes[:, 1]].mean() < 0.0005
    for j in range(3):
        assert np.bincount(codes[:, j]).tolist() == np.bincount(before[:, j]).tolist()
    assert (codes[:, 2] == before[:, 2]).all(), "a fixed axis stays"
    assert (codes == before).all(1).mean() > 0.9, "the other rows stay"


def test_what_no_swap_can_mend_is_left():
    codes = np.zeros((50, 2), dtype=np.int64)
    keep_out(
        codes,
        np.zeros(50, dtype=np.int64),
        {(0, 1): np.ones((1, 1), dtype=bool)},
        frozenset(),
        rng=np.random.default_rng(0),
    )
    assert not codes.any()
    keep_out(
        codes[:1],
        np.zeros(1, dtype=np.int64),
        {(0, 1): np.ones((1, 1), dtype=bool)},
        frozenset(),
        rng=np.random.default_rng(0),
    )


@pytest.mark.parametrize("rows", [5_000, 1_200_000])
def test_a_model_holds_what_it_was_told_after_it_was_stored_and_conditions_hold_all_the_same(rows):
    """In two components jobs and hours are nearly told; a third column is drawn by a logit, and stays as drawn."""
    axes = (
        axis("job", [[0.95, 0.03, 0.02], [0.02, 0.5, 0.48]]),
        axis("hours", [[0.02, 0.02, 0.02, 0.94], [0.35, 0.35, 0.28, 0.02]]),
        axis("ill", [[0.5, 0.5], [0.5, 0.5]]),
    )
    pulls = {0: np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]], dtype=np.float32)}
    logit = ConditionalLogit(column="ill", start=np.zeros(2), pulls=pulls)
    model = Product(total=1e4, weights=np.array([0.4, 0.6]), axes=axes, conditionals=(logit,))
    free = model.sample(rows, rng=np.random.default_rng(0))
    model = replace(model, barred={(0, 1): NEVER})
    again = Product.from_state(*model.state())
    assert not list(model_problems(again))
    assert (again.barred[0, 1] == NEVER).all()
    made = again.sample(rows, rng=np.random.default_rng(0))
    assert NEVER[free["job"], free["hours"]].mean() > 0.03
    assert NEVER[made["job"], made["hours"]].mean() < 0.006, "of both columns .004 more have no hours than no job"
    for name in made:
        assert np.bincount(made[name]).tolist() == np.bincount(free[name]).tolist()
    asked = again.sample(300, rng=np.random.default_rng(0), where={"job": np.array([0]), "hours": np.array([1, 2])})
    assert set(asked["job"]) == {0}
    assert set(asked["hours"]) <= {1, 2}
    assert "barred" not in replace(model, barred={}).state()[0], "a model without is stored as before"
