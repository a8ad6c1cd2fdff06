"""Non-negative counts behind noisy ones."""

import numpy as np
import pytest

from synth.generators.core.columns import merge, merge_bins, nearest, project, shrink


@pytest.mark.parametrize("denoise", [project, lambda c, total: shrink(c, total=total, sigma=5.0)])
@pytest.mark.parametrize("cells", [1, 2, 500])
def test_counts_are_non_negative_and_have_the_sum(denoise, cells):
    noisy = np.random.default_rng(0).normal(3, 30, cells)
    for total in (0.0, 1.0, 1000.0):
        counts = denoise(noisy, total=total)
        assert (counts >= 0).all()
        assert counts.sum() == pytest.approx(total)


def test_projection_is_the_nearest_point():
    """No feasible point among many is nearer than the projection."""
    rng = np.random.default_rng(1)
    noisy = rng.normal(2, 4, 6)
    best = np.sum((project(noisy, total=10.0) - noisy) ** 2)
    others = 10 * rng.dirichlet(np.ones(6), 20_000)
    assert best <= ((others - noisy) ** 2).sum(1).min()


def test_the_nearest_table_is_the_projection_of_each_row():
    rng = np.random.default_rng(2)
    values, sums = rng.normal(3, 5, (30, 8)), rng.exponential(20, 30)
    result = nearest(values, sums)
    assert np.allclose(result, [project(v, total=s) for v, s in zip(values, sums, strict=True)])


def test_shrinkage_beats_projection_on_many_rare_categories():
    """Five hundred categories with a long tail, noise as large as most counts: less L1 error."""
    rng = np.random.default_rng(2)
    true = 20_000 * rng.dirichlet(np.full(500, 0.5))
    errors = np.zeros(2)
    for _ in range(20):
        noisy = true + rng.normal(0, 20, 500)
        for i, guess in enumerate((project(noisy, total=20_000.0), shrink(noisy, total=20_000.0, sigma=20.0))):
            errors[i] += np.abs(guess - true).sum()
    assert errors[1] < 0.97 * errors[0]


def test_merged_bins_are_heavy_enough_and_spikes_stand_alone():
    mass = np.random.default_rng(3).exponential(1.0, 200)
    mass[50] = 40.0
    bins = merge(mass, least=10.0)
    weights = np.bincount(bins, weights=mass)
    assert weights.min() >= 5.0
    assert (bins == bins[50]).sum() == 1
    assert bins[0] == 0
    assert set(bins) == set(range(bins.max() + 1))


def test_merging_bins_nests():
    """A coarser grouping never cuts a finer bin in two."""
    mass = np.random.default_rng(4).exponential(1.0, 300)
    fine = merge(mass, least=4.0)
    coarse = merge_bins(mass, fine, least=15.0)
    assert len(set(zip(fine, coarse, strict=True))) == fine.max() + 1
    assert coarse.max() < fine.max()


def test_less_than_one_bin_in_all_is_one_bin():
    assert merge(np.ones(5), least=100.0).tolist() == [0] * 5
