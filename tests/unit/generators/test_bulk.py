"""Many rows: the law is the mixture's, counts are even, nothing depends on how many processors draw."""

import numpy as np
import pytest

from synth.generators.core import sampling
from synth.generators.core.conditionals import ConditionalLogit
from synth.generators.core.product import Product
from synth.generators.core.sampling import Inside, LeafSearch, bulk_codes, bulk_positions, steps
from tests.unit.generators.helpers import axis

ROWS = 300_000


def model():
    """Three components; `a` four groups, `b` three leaves in two groups of ten positions."""
    a = np.array([[0.7, 0.2, 0.1, 0.0], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]], dtype=np.float32)
    b = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], dtype=np.float32)
    two = axis("b", b, starts=[0, 1, 6], groups=[0, 1, 0], within=[0.25, 1, 0.75], cells=10)
    return Product(total=100.0, weights=np.array([0.5, 0.3, 0.2]), axes=(axis("a", a), two))


def law():
    m = model()
    leaf = np.array([0.25, *[1 / 5] * 5, *[0.75 / 4] * 4])
    b = m.axes[1].probs[:, [0, *[1] * 5, *[0] * 4]] * leaf
    return np.einsum("k,ka,kb->ab", m.weights, m.axes[0].probs, b)


def joint(rows):
    return np.bincount(rows["a"] * 10 + rows["b"], minlength=40).reshape(4, 10) / len(rows["a"])


@pytest.mark.parametrize("seed", range(3))
def test_tables_of_pairs_are_no_further_from_the_law_than_independent_draws(seed):
    """No cell beyond 5.5 deviations of independent draws; of 120 cells a fifth of them at most beyond two."""
    apart = (joint(model().sample(ROWS, rng=np.random.default_rng(seed))) - law()) / np.sqrt(law() / ROWS + 1e-30)
    assert np.abs(apart[law() > 0]).max() < 5.5
    assert (np.abs(apart) > 2).mean() < 0.2


def test_counts_of_single_columns_are_even():
    """Nearer than a tenth of what independent draws would be."""
    rows = model().sample(ROWS, rng=np.random.default_rng(0))
    goal = law().sum(1)
    counts = np.bincount(rows["a"], minlength=4)
    assert np.abs(counts - goal * ROWS).max() < 0.1 * np.sqrt(ROWS / 4)


def test_a_single_row_follows_the_mixture():
    """Its groups and component over 1,000 small samples: a chi-square of 23 degrees below its 1e-6 quantile."""
    m, runs = model(), 1000
    probs = [a.probs.astype(float) for a in m.axes]
    expected = np.einsum("k,ka,kb->kab", m.weights, *probs).ravel() * runs
    seen = np.zeros(24)
    rng = np.random.default_rng(1)
    for _ in range(runs):
        component, codes = bulk_codes(7, m.weights, probs, rng)
        seen[(component[0] * 4 + codes[0, 0]) * 2 + codes[0, 1]] += 1
    held = expected > 1e-3
    assert ((seen - expected)[held] ** 2 / expected[held]).sum() < 75
    assert seen[~held].sum() == 0


@pytest.mark.parametrize("weights", [[1.0], [0.5, 0.0, 0.5], [0.0, 0.999, 0.001]])
def test_how_many_rows_are_laid_out_at_a_time_changes_nothing(weights):
    """Blocks that end inside a component, hold several or none: the rows are those of one block."""
    probs, results = [a.probs[: len(weights)] for a in model().axes], []
    for block in (1 << 16, 1000, 17):
        results.append(bulk_codes(5000, np.array(weights), probs, np.random.default_rng(7), block=block))
    for component, codes in results[1:]:
        assert np.array_equal(component, results[0][0])
        assert np.array_equal(codes, results[0][1])
    assert np.abs(np.bincount(results[0][0], minlength=len(weights)) - 5000 * np.array(weights)).max() <= 1


def test_neighbouring_rows_tell_nothing_of_each_other():
    """Rows come in random order: the share of equal neighbours is that of independent draws within five deviations."""
    a = model().sample(ROWS, rng=np.random.default_rng(2))["a"]
    same, chance = (a[1:] == a[:-1]).mean(), (law().sum(1) ** 2).sum()
    assert abs(same - chance) < 5 * np.sqrt(chance / ROWS)


def test_the_same_seed_gives_the_same_rows():
    one, two = (model().sample(ROWS, rng=np.random.default_rng(3)) for _ in range(2))
    assert all(np.array_equal(one[c], two[c]) for c in one)


def with_conditionals(conditionals):
    """``model`` with `b` in one leaf a group and ``conditionals``."""
    a, b = model().axes
    return Product(total=100.0, weights=model().weights, axes=(a, axis("b", b.probs)), conditionals=conditionals)


def test_rows_do_not_depend_on_how_many_processors_draw_them(monkeypatch):
    conditional = ConditionalLogit(
        column="b", start=np.array([0.3, -0.3]), pulls={0: np.array([[0, 0], [0, 1], [0, 2], [0, -1.0]])}
    )
    results = []
    for cores in (1, 3):
        monkeypatch.setattr(sampling.os, "cpu_count", lambda cores=cores: cores)
        results.append(with_conditionals((conditional,)).sample(ROWS, rng=np.random.default_rng(8)))
    assert all(np.array_equal(results[0][c], results[1][c]) for c in results[0])


def test_a_head_may_read_a_column_that_a_later_head_draws():
    """First a given the mixture's b, then b given a: 5.5 deviations; without the mixture's b, a is far off."""
    to_a, to_b = np.array([[0, 0, 0, 0], [2.0, -1, 1, 0]]), np.array([[0, 0], [0, 1.5], [0, -2], [0, 3.0]])
    first = ConditionalLogit(column="a", start=np.zeros(4), pulls={1: to_a})
    m = with_conditionals((first, ConditionalLogit(column="b", start=np.zeros(2), pulls={0: to_b})))
    want = np.zeros((4, 2))
    for weight, a, b in zip(m.weights, m.axes[0].probs.astype(float), m.axes[1].probs.astype(float), strict=True):
        before = np.column_stack([np.zeros(2, dtype=int), [0, 1]])
        drawn = b @ first.probabilities(before, np.stack([a, a]))
        after = np.column_stack([np.arange(4), np.zeros(4, dtype=int)])
        want += weight * drawn[:, None] * m.conditionals[1].probabilities(after, np.stack([b] * 4))
    rows = m.sample(ROWS, rng=np.random.default_rng(9))
    seen = np.bincount(rows["a"] * 2 + rows["b"], minlength=8).reshape(4, 2) / ROWS
    assert np.abs((seen - want) / np.sqrt(want / ROWS)).max() < 5.5
    assert m._later == {0}
    assert with_conditionals(m.conditionals[1:])._later == {1}


def test_a_condition_that_leaves_part_of_a_wide_leaf_is_drawn_evenly_from_it():
    """Of the leaf of positions 1 to 5 four, of that of 6 to 9 one: no cell beyond 5.5 deviations."""
    retained = np.array([1, 2, 4, 5, 7])
    rows = model().sample(ROWS, rng=np.random.default_rng(10), where={"b": retained})
    want = law()[:, retained] / law()[:, retained].sum()
    seen = joint(rows)
    assert seen[:, np.setdiff1d(np.arange(10), retained)].sum() == 0
    assert np.abs((seen[:, retained] - want) / np.sqrt(want / ROWS + 1e-30)).max() < 5.5


def test_conditions_hold_in_bulk_as_well():
    rows = model().sample(ROWS, rng=np.random.default_rng(4), where={"b": np.array([2, 8]), "a": np.array([1, 3])})
    assert set(rows["b"].tolist()) <= {2, 8}
    assert set(rows["a"].tolist()) == {1, 3}
    part = law()[np.ix_([1, 3], [2, 8])]
    result = joint(rows)[np.ix_([1, 3], [2, 8])]
    assert np.abs(result - part / part.sum()).max() < 0.005


def test_leaves_follow_their_shares_within_a_group():
    groups = np.repeat([0, 1, 2], 100_000)
    within, owner = np.array([0.5, 1.0, 0.5, 0.2, 0.8]), np.array([0, 1, 0, 2, 2])
    search = LeafSearch(within, owner)
    result = search.order[search.draw(groups, np.random.default_rng(5))]
    assert np.array_equal(owner[result], groups)
    share = np.bincount(result, minlength=5) / 100_000
    assert np.abs(share - [0.5, 1.0, 0.5, 0.2, 0.8]).max() < 0.01


def test_leaves_far_smaller_than_a_part_of_their_group_are_drawn_as_often_as_they_should_be():
    """A thousand leaves of which most share a part: 9 deviations (few rows have a long tail); one of no share never."""
    within = np.append(np.geomspace(1e-6, 1e-2, 999), 0.0)
    within = np.append(within / within.sum() / 2, [0.5, 1.0])
    owner = np.append(np.zeros(1001, dtype=np.int64), 1)
    groups = np.zeros(1 << 20, dtype=np.int16)
    search = LeafSearch(within, owner)
    assert search._parts <= 4096
    seen = np.bincount(search.order[search.draw(groups, np.random.default_rng(11))], minlength=1002)
    want = within[:-1] * len(groups)
    assert seen[999] == seen[1001] == 0
    assert (seen[:-1][want < 1] < 20).all()
    often = want >= 1
    assert (np.abs(seen[:-1] - want)[often] / np.sqrt(want[often])).max() < 9


def test_positions_of_a_leaf_of_two_to_the_53_stay_inside_it():
    wide = Inside(starts=np.array([7]), counts=np.array([2**53]))
    groups = np.zeros(200_000, dtype=np.int16)
    result = bulk_positions(groups, np.ones(1, np.float32), np.zeros(1, np.int64), wide, np.random.default_rng(12))
    assert result.min() >= 7
    assert result.max() < 7 + 2**53
    assert abs(result.mean() / 2**52 - 1) < 6 / np.sqrt(3 * len(groups))
    even = np.bincount((result - 7) >> 50, minlength=8)
    assert np.abs(even - len(groups) / 8).max() < 6 * np.sqrt(len(groups) / 8)


def test_steps_stay_below_their_counts():
    counts = np.array([0, 1, 2, 2**52] * 1000)
    drawn = steps(counts, np.random.default_rng(6))
    assert (drawn >= 0).all()
    assert (drawn[counts > 0] < counts[counts > 0]).all()
