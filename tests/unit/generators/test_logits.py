"""Classes of many rows drawn by sums of tables follow the head's own probabilities."""

import numpy as np
import pytest

from synth.generators.head import LEAST, Head
from synth.generators.logits import TAME, Logits, draw_many

SIZES = (3, 2, 4)  # groups of each axis; the heads are on the axes 2 and 0
ROWS = 120_000


def heads(scale):
    """A head of four classes that reads axes 0 and 1, and one of three that reads the first one's, drawn before."""
    rng = np.random.default_rng(3)

    def head(column, classes, axes):
        pulls = {j: scale * rng.normal(size=(SIZES[j], classes)).astype(np.float32) for j in axes}
        return Head(column=column, start=rng.normal(size=classes), pulls=pulls)

    return [head("c", 4, (0, 1)), head("a", 3, (2, 1))]


def drawn(made, table, own):
    """Rows before and after all heads; their components."""
    rng = np.random.default_rng(5)
    before = np.column_stack([rng.integers(0, size, ROWS) for size in SIZES])
    component, after = rng.integers(0, 2, ROWS), before.copy()
    draw_many(made, {"c": (2, table), "a": (0, own)}, component, after, rng=rng, least=LEAST)
    return before, after, component


def worst(head, codes, classes, table, component) -> float:
    """The largest distance of a class's number from what is expected, in deviations, over all cells of rows alike."""
    probs = head.probabilities(codes, table[component])
    key = component * 24 + codes[:, 0] * 8 + codes[:, 1] * 4 + codes[:, 2]
    out = 0.0
    for group in np.unique(key):
        at = key == group
        want = probs[at].sum(0)
        seen = np.bincount(classes[at], minlength=probs.shape[1])
        spread = np.sqrt((probs[at] * (1 - probs[at])).sum(0))
        rare = want < 1  # a normal law does not hold there: 20 of them are out of the question
        assert (seen[rare] < 20).all()
        out = max(out, float((np.abs(seen - want)[~rare] / np.maximum(spread[~rare], 1.0)).max(initial=0.0)))
    return out


@pytest.mark.parametrize("scale", [0.7, 40.0], ids=["tame", "beyond"])
def test_classes_of_rows_alike_are_drawn_as_often_as_the_head_says(scale):
    """Within 5.5 deviations in each of at most 96 groups' classes; logits of 40 and more would overflow as they are."""
    rng = np.random.default_rng(1)
    table, own = rng.dirichlet(np.ones(4), 2), rng.dirichlet(np.ones(3), 2)
    made = heads(scale)
    laid = Logits(made, {"c": (2, table), "a": (0, own)}, axes=3, least=LEAST)
    assert {tame for *_, tame in laid._heads} == {scale < 1}
    before, after, component = drawn(made, table, own)
    assert np.array_equal(after[:, 1], before[:, 1])  # a column that no head draws
    first = np.column_stack([before[:, :2], np.zeros(ROWS, dtype=np.int64)])  # its own old class tells nothing
    assert worst(made[0], first, after[:, 2], table, component) < 5.5
    second = np.column_stack([np.zeros(ROWS, dtype=np.int64), after[:, 1:]])
    assert worst(made[1], second, after[:, 0], own, component) < 5.5


def test_logits_far_beyond_what_single_precision_can_raise_to_a_power_are_drawn_right():
    """Three thousand: the class that is pulled there is drawn always, never a NaN's or the last one."""
    pull = np.array([[3000.0, 0.0, -3000.0], [-3000.0, 3000.0, 0.0]], dtype=np.float32)
    assert np.abs(pull).max() > TAME
    head = Head(column="a", start=np.zeros(3), pulls={1: pull})
    codes = np.column_stack([np.zeros(1000, dtype=np.int64), np.arange(1000) % 2])
    draw_many([head], {"a": (0, np.full((1, 3), 1 / 3))}, np.zeros(1000, dtype=np.int64), codes,
              rng=np.random.default_rng(0), least=LEAST)  # fmt: skip
    assert np.array_equal(codes[:, 0], codes[:, 1])
