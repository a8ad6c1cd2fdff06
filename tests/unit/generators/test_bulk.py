"""Many rows: the law is the mixture's, counts are even, nothing depends on how many processors draw."""

import numpy as np
import pytest

from synth.generators import bulk
from synth.generators.axis import Axis
from synth.generators.drawing import steps
from synth.generators.product import Product

ROWS = 300_000


def model():
    """Three components; `a` four groups, `b` three leaves in two groups of ten positions."""
    a = np.array([[0.7, 0.2, 0.1, 0.0], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]], dtype=np.float32)
    b = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], dtype=np.float32)
    one = Axis(column="a", cells=4, starts=np.arange(4), groups=np.arange(4), within=np.ones(4, np.float32), probs=a)
    two = Axis(column="b", cells=10, starts=np.array([0, 1, 6]), groups=np.array([0, 1, 0]),
               within=np.array([0.25, 1, 0.75], np.float32), probs=b)  # fmt: skip
    return Product(total=100.0, weights=np.array([0.5, 0.3, 0.2]), axes=(one, two))


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
    """Its groups and component over 4,000 small samples: a chi-square of 23 degrees below its 1e-6 quantile."""
    m, runs = model(), 4000
    probs = [a.probs.astype(float) for a in m.axes]
    expected = np.einsum("k,ka,kb->kab", m.weights, *probs).ravel() * runs
    seen = np.zeros(24)
    rng = np.random.default_rng(1)
    for _ in range(runs):
        component, codes = bulk.codes(7, m.weights, probs, rng)
        seen[(component[0] * 4 + codes[0, 0]) * 2 + codes[0, 1]] += 1
    held = expected > 1e-3
    assert ((seen - expected)[held] ** 2 / expected[held]).sum() < 75
    assert seen[~held].sum() == 0


def test_neighbouring_rows_tell_nothing_of_each_other():
    """Rows come in random order: the share of equal neighbours is that of independent draws within five deviations."""
    a = model().sample(ROWS, rng=np.random.default_rng(2))["a"]
    same, chance = (a[1:] == a[:-1]).mean(), (law().sum(1) ** 2).sum()
    assert abs(same - chance) < 5 * np.sqrt(chance / ROWS)


def test_the_same_seed_gives_the_same_rows():
    one, two = (model().sample(ROWS, rng=np.random.default_rng(3)) for _ in range(2))
    assert all(np.array_equal(one[c], two[c]) for c in one)


def test_conditions_hold_in_bulk_as_well():
    rows = model().sample(ROWS, rng=np.random.default_rng(4), where={"b": np.array([2, 8]), "a": np.array([1, 3])})
    assert set(rows["b"].tolist()) <= {2, 8}
    assert set(rows["a"].tolist()) == {1, 3}
    part = law()[np.ix_([1, 3], [2, 8])]
    found = joint(rows)[np.ix_([1, 3], [2, 8])]
    assert np.abs(found - part / part.sum()).max() < 0.005


def test_leaves_follow_their_shares_within_a_group():
    groups = np.repeat([0, 1, 2], 100_000)
    within, owner = np.array([0.5, 1.0, 0.5, 0.2, 0.8]), np.array([0, 1, 0, 2, 2])
    found = bulk.leaves(groups, within, owner, np.random.default_rng(5))
    assert np.array_equal(owner[found], groups)
    share = np.bincount(found, minlength=5) / 100_000
    assert np.abs(share - [0.5, 1.0, 0.5, 0.2, 0.8]).max() < 0.01


def test_steps_stay_below_their_counts():
    counts = np.array([0, 1, 2, 2**52] * 1000)
    drawn = steps(counts, np.random.default_rng(6))
    assert (drawn >= 0).all()
    assert (drawn[counts > 0] < counts[counts > 0]).all()
