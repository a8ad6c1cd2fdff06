"""The paper's scores are SDMetrics' own, on rows with missing values, and their floor is what sampling leaves."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from samples import sample

from synth.evaluate.quality import _frame
from synth.evaluate.similarity import correlations, similarity, variation


def frames(*tables):
    return [_frame(t.positions, t.columns) for t in tables]


def test_scores_are_those_of_sdmetrics():
    from sdmetrics.column_pairs import ContingencySimilarity, CorrelationSimilarity
    from sdmetrics.single_column import KSComplement, TVComplement

    real, other = sample(800, seed=1), sample(600, seed=2, linked=False)
    a, b = frames(real, other)
    result = similarity(real, other, rng=np.random.default_rng(0))
    assert result.ks == pytest.approx(np.mean([KSComplement.compute(a[n], b[n]) for n in ("age", "income")]))
    assert result.tv == pytest.approx(np.mean([TVComplement.compute(a[n], b[n]) for n in ("city", "ill")]))
    pair = ["city", "ill"]
    assert result.contsim == pytest.approx(ContingencySimilarity.compute(a[pair], b[pair]))
    pair = ["age", "income"]
    assert result.corrsim == pytest.approx(CorrelationSimilarity.compute(a[pair], b[pair]))


def test_equal_tables_score_one_and_foreign_ones_less():
    real, other = sample(800, seed=1), sample(800, seed=2, linked=False)
    same = similarity(real, real, rng=np.random.default_rng(0))
    assert (same.ks, same.tv, same.contsim, same.corrsim) == (1, 1, 1, 1)
    assert similarity(real, other, rng=np.random.default_rng(0)).corrsim < 0.7


def test_correlations_are_pandas_pairwise_ones():
    real = sample(500, seed=3)
    names = ["age", "income"]
    wanted = pd.DataFrame({n: real.values(n) for n in names}).corr().to_numpy()
    assert correlations(real, names) == pytest.approx(wanted)


def test_a_constant_column_has_no_correlation():
    real = sample(50, seed=3)
    real.positions["age"][:] = 40
    assert np.isnan(correlations(real, ["age", "income"])).sum() == 3


def test_sparse_and_dense_counting_agree():
    real, other = sample(400, seed=1), sample(300, seed=2)
    pairs = list(combinations(["city", "ill"], 2))
    dense = [variation(real, other, p) for p in pairs]
    assert [variation(real, other, p, dense=0) for p in pairs] == pytest.approx(dense)
