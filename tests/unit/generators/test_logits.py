"""Classes of many rows drawn by sums of tables follow the conditional's own probabilities."""

import itertools

import numpy as np
import pytest

from synth.generators.core.conditionals import (
    COMPONENT,
    TAME,
    ConditionalLogit,
    Listed,
    Odds,
    Sums,
    _joined,
    draw_many,
    lay,
)

SIZES = (3, 2, 4)  # groups of each axis; the conditionals are on the axes 2, 0 and 1
ROWS = 120_000


def conditionals(scale):
    """A logit of four classes, one of three that reads the first's, drawn before, and one of two that reads both; these
    read their axes together too."""
    rng = np.random.default_rng(3)

    def conditional(column, classes, axes):
        pulls = {j: scale * rng.normal(size=(SIZES[j], classes)).astype(np.float32) for j in axes}
        both = {axes: scale * rng.normal(size=(*(SIZES[j] for j in axes), classes)).astype(np.float32)}
        return ConditionalLogit(
            column=column, start=rng.normal(size=classes), pulls=pulls, joint={} if column == "c" else both
        )

    return [conditional("c", 4, (0, 1)), conditional("a", 3, (2, 1)), conditional("b", 2, (0, 2))]


def tables():
    """Each conditional's axis and the components' probabilities."""
    rng = np.random.default_rng(1)
    return {column: (axis, rng.dirichlet(np.ones(SIZES[axis]), 2)) for column, axis in (("c", 2), ("a", 0), ("b", 1))}


def drawn(made, probs, most):
    """Rows before and after all conditionals; their components."""
    rng = np.random.default_rng(5)
    before = np.column_stack([rng.integers(0, size, ROWS) for size in SIZES])
    component, after = rng.integers(0, 2, ROWS), before.copy()
    draw_many(made, probs, component, after, rng=rng, most=most)
    return before, after, component


def worst(conditional, codes, classes, table, component) -> float:
    """The largest distance of a class's number from what is expected, in deviations, over all cells of rows alike."""
    probs = conditional.probabilities(codes, table[component])
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


@pytest.mark.parametrize(("joined", "kinds"), [(1 << 16, [Listed, Sums, Odds]), (8, [Sums, Sums, Odds])])
@pytest.mark.parametrize("scale", [0.7, 40.0], ids=["tame", "beyond"])
def test_classes_of_rows_alike_are_drawn_as_often_as_the_head_says(scale, joined, kinds):
    """Within 5.5 deviations in each of at most 96 groups' classes; logits of 40 and more would overflow as they are.

    Whether one table tells a conditional's law or the sum of several does: the same law.
    """
    made, probs = conditionals(scale), tables()
    laid = [lay(conditional, probs[conditional.column][1], most=joined) for conditional in made]
    assert [type(law) for law in laid] == kinds
    assert all(law.tame == (scale < 1) for law in laid if isinstance(law, Sums))
    assert [len(law.parts) for law in laid if isinstance(law, Odds)] == [2 if joined > 8 else 3]
    before, after, component = drawn(made, probs, joined)
    none = np.zeros(ROWS, dtype=np.int64)  # its own old class tells nothing
    read = ([*before.T[:2], none], [none, before[:, 1], after[:, 2]], [after[:, 0], none, after[:, 2]])
    for conditional, seen in zip(made, read, strict=True):
        axis, own = probs[conditional.column]
        assert worst(conditional, np.column_stack(seen), after[:, axis], own, component) < 5.5


def test_tables_joined_hold_the_sum_of_theirs_at_each_combination():
    """Of axes of 5, 3, 2 and 4 groups, at most 20 combinations a table: each row's places lead to its numbers' sum."""
    rng = np.random.default_rng(2)
    own = {axis: rng.normal(size=size) for axis, size in ((COMPONENT, 5), (0, 3), (1, 2), (2, 4))}
    parts, joined = _joined(own, 20)
    assert sorted(axis for part in parts for axis in part.axes) == [-1, 0, 1, 2]
    assert [len(table) for table in joined] == [20, 6]
    rows = np.array(list(itertools.product(range(5), range(3), range(2), range(4))))
    component, codes = rows[:, 0], rows[:, 1:]
    total = sum(table[part.places(component, codes)] for part, table in zip(parts, joined, strict=True))
    assert np.allclose(total, own[-1][component] + sum(own[j][codes[:, j]] for j in range(3)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("classes", "joined", "kind"), [(3, 1 << 16, Listed), (3, 1, Sums), (2, 1 << 16, Odds)])
def test_logits_far_beyond_what_single_precision_can_raise_to_a_power_are_drawn_right(classes, joined, kind):
    """Three thousand: the class that is pulled there is drawn always, never a NaN's or the last one.

    Where all are pulled as far up or down, each is drawn as often, within six deviations.
    """
    far = [[3000.0, 0.0, -3000.0], [-3000.0, 3000.0, 0.0], [3000.0] * 3, [-3000.0] * 3]
    pull, each = np.array(far, dtype=np.float32)[:, :classes], 3000
    assert np.abs(pull).max() > TAME
    conditional, own = (
        ConditionalLogit(column="a", start=np.zeros(classes), pulls={1: pull}),
        np.full((1, classes), 1 / classes),
    )
    assert isinstance(lay(conditional, own, most=joined), kind)
    codes = np.column_stack([np.zeros(4 * each, dtype=np.int64), np.arange(4 * each) % 4])
    draw_many(
        [conditional],
        {"a": (0, own)},
        np.zeros(4 * each, dtype=np.int64),
        codes,
        rng=np.random.default_rng(0),
        most=joined,
    )
    for group in (0, 1):
        assert (codes[codes[:, 1] == group, 0] == group).all()
    for group in (2, 3):
        seen = np.bincount(codes[codes[:, 1] == group, 0], minlength=classes)
        assert np.abs(seen - each / classes).max() < 6 * np.sqrt(each / classes)
