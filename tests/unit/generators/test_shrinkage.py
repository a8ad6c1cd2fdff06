"""Tables of two columns drawn towards a few directions: nearer to the truth where noise hides them, else as counted."""

from dataclasses import replace

import numpy as np
import pytest

from synth.generators.core.columns import Histogram, OneWays
from synth.generators.core.problem import Problem, TableMatrix
from synth.generators.core.tables import NoisyTable, few_directions, shrink_singular_values, shrink_table
from synth.questions import Bins, Marginal

SIGMA = 20.0


def released(truth, rng, *, times=1, sigma=SIGMA):
    """Noisy counts of one table, asked so many times."""
    bins = tuple(Bins.each(n, k) for n, k in zip("abc", truth.shape, strict=False))
    marginal = Marginal(bins=bins, sigma=sigma)
    counts = (np.rint(truth + sigma * rng.standard_normal(truth.shape)).astype(np.int64) for _ in range(times))
    return [NoisyTable(marginal=marginal, values=v) for v in counts]


def columns(truth):
    """Exact single columns."""
    masses = [truth.sum(tuple(j for j in range(truth.ndim) if j != i)) for i in range(truth.ndim)]
    histograms = {
        n: Histogram(column=n, cells=len(m), starts=np.arange(len(m)), mass=m, sigma=1.0)
        for n, m in zip("abc", masses, strict=False)
    }
    return OneWays(total=float(truth.sum()), histograms=histograms, setting=None)


def distance(table, truth):
    return np.abs(table.values - truth).sum()


def test_a_table_of_independent_columns_loses_half_its_noise():
    truth = np.outer(np.full(12, 50.0), np.full(15, 20.0)) / 12
    (raw,) = released(truth, np.random.default_rng(0))
    (shrunk,), shrunk_by, loss_reduction = shrink_singular_values([raw], columns(truth))
    assert distance(shrunk, truth) == pytest.approx(distance(raw, truth) / 2, rel=0.1)
    assert shrunk_by == pytest.approx(truth.size / 4, rel=0.3)
    left = ((shrunk.values - truth) ** 2).sum() / SIGMA**2  # the truth's own misfit must be no room for another
    assert loss_reduction == pytest.approx(((raw.values - truth) ** 2).sum() / SIGMA**2 - left, rel=0.1)


def test_a_table_that_stands_out_is_as_counted():
    """A diagonal has as many directions as bins: what few directions keep of it is much less than it is."""
    truth = np.diag(np.full(16, 150.0))
    (raw,) = released(truth, np.random.default_rng(1))
    (shrunk,), shrunk_by, loss_reduction = shrink_singular_values([raw], columns(truth))
    assert shrunk_by == loss_reduction == 0.0
    assert (shrunk.values == raw.values).all()
    apart = truth - truth.mean()
    noisy = apart + 60.0 * np.random.default_rng(2).standard_normal(truth.shape)
    assert ((few_directions(noisy, 60.0) - apart) ** 2).sum() > 0.5 * (apart**2).sum()


def test_one_direction_is_kept_and_noise_beside_it_is_not():
    rng = np.random.default_rng(3)
    truth = 20.0 * np.outer(np.sign(rng.standard_normal(20)), np.sign(rng.standard_normal(25)))
    noisy = truth + 40.0 * rng.standard_normal(truth.shape)
    errors = [((x - truth) ** 2).sum() for x in (few_directions(noisy, 40.0), shrink_table(noisy, 40.0)[0], noisy)]
    assert errors[0] < 0.2 * errors[2]
    assert errors[0] < errors[1] < 0.75 * errors[2]


def test_a_table_asked_twice_is_one_of_less_noise_and_larger_ones_stay():
    rng = np.random.default_rng(4)
    truth = np.full((4, 5, 3), 30.0)
    pairs = released(truth.sum(2), rng, times=2)
    triples = released(truth, rng)
    (pair, triple), shrunk_by, loss_reduction = shrink_singular_values([*pairs, *triples], columns(truth))
    assert pair.marginal.sigma == pytest.approx(SIGMA / np.sqrt(2))
    assert [triple] == triples
    assert 0 < shrunk_by < loss_reduction < 20


def test_without_pairs_nothing_is_moved():
    triples = released(np.full((4, 5, 3), 30.0), np.random.default_rng(5))
    for tables in (triples, []):
        assert shrink_singular_values(tables, columns(np.full((4, 5, 3), 30.0))) == (tables, 0.0, 0.0)


def test_what_tables_were_rid_of_is_no_misfit_that_a_fit_may_keep():
    empty = np.zeros((2, 0), dtype=np.int64)
    block = TableMatrix(rows=np.arange(2), cols=np.arange(2, 4), y=np.full((2, 2), 0.25), precision=np.ones((2, 2)))
    laid = Problem(
        column=np.repeat([0, 1], 2),
        mass=np.full(4, 0.5),
        precision=np.ones(4),
        member=empty,
        joint=empty,
        blocks=[block],
    )
    assert replace(laid, loss_reduction=1.5).goal(0.8, components=64) == pytest.approx(
        laid.goal(0.8, components=64) - 1.5
    )
