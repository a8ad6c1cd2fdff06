"""The noise of an embedding is the Gaussian that was paid for; an audit on worst neighbours agrees with the claim.

The sum of squares of 20,000 draws at |z| < 4.9 has a false alarm of about 1e-6 and sees a change of 5 % in scale. An
audit compares draws of the release under two neighbours along the move between them; its evil twin halves the noise.
"""

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from synth.mechanisms import embeddings
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Block, Embedding, Fourier, Tensors, Term
from tests.shifts import delta_at_least, gaussian_delta, mu_along

DRAWS = 20_000
X = Bins.each("x", 3)


def waves(frequencies, seed=0):
    table = np.random.default_rng(seed).normal(size=(3, frequencies))
    return Fourier(blocks=(Block(bins=X, table=table),))


OPPOSITE = Tensors(terms=(Term(blocks=(Block(bins=X, table=[[0.6, 0.8], [-0.6, -0.8], [1, 0]]),), weight=1.0),))
MAPS = {"waves": (waves(3), Relation.ADD_REMOVE), "opposite": (OPPOSITE, Relation.REPLACE_ONE)}


def drawn(sigma, features=None):
    """Noise that the mechanism put on real sums: answer minus truth."""
    question = Embedding(purpose="chance", features=features or waves(DRAWS // 2), sigma=sigma)
    rows = {"x": np.arange(20, dtype=np.int64) % 3}
    return embeddings.answer(question, rows, SystemNoise()).values - question.features.of(rows).sum(0)


def z_of_squares(draws, sigma):
    return (np.sum((draws / sigma) ** 2) - len(draws)) / sqrt(2 * len(draws))


@pytest.mark.parametrize("sigma", [0.4, 3.7, 300.0])
def test_scale_is_the_stated_one(sigma):
    assert abs(z_of_squares(drawn(sigma), sigma)) < 4.9


@pytest.mark.parametrize("factor", [0.93, 1.07])
def test_evil_twins_are_caught(factor):
    assert abs(z_of_squares(drawn(3.7 * factor), 3.7)) > 4.9


@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
def test_shape_is_gaussian_and_only_at_the_true_scale(factor):
    """40,000 draws: a tenth more or less moves the statistic to 0.025 or more, eight of its errors beyond the limit."""
    p = stats.kstest(np.concatenate([drawn(5.0 * factor) for _ in range(2)]) / 5.0, "norm").pvalue
    assert p > 1e-6 if factor == 1.0 else p < 1e-6


def test_features_are_noised_independently():
    one, two = drawn(2.0), drawn(2.0)
    for x, y in ((one[:-1], one[1:]), (one[: DRAWS // 2], one[DRAWS // 2 :]), (one, two)):
        assert abs(np.corrcoef(x, y)[0, 1]) * sqrt(len(x)) < 4.9


def audited(name, runs, sigma, factor=1.0):
    """Draws of the release along the move between two neighbours, under either."""
    features, relation = MAPS[name]
    rows = [0, 1, 2], [0, 1, 2, 0] if relation is Relation.ADD_REMOVE else [1, 1, 2]
    question = Embedding(purpose="audit", features=features, sigma=sigma * factor)
    tables = [{"x": np.array(r, dtype=np.int64)} for r in rows]
    move = features.of(tables[1]).sum(0) - features.of(tables[0]).sum(0)
    return [
        np.array([embeddings.answer(question, t, noise).values @ move for _ in range(runs)])
        for t in tables
        for noise in [SystemNoise()]
    ]


def claimed(name, sigma):
    features, relation = MAPS[name]
    question = Embedding(purpose="audit", features=features, sigma=sigma)
    return embeddings.sensitivity(question, Adjacency(relation=relation)) / sigma


@pytest.mark.parametrize("name", MAPS)
def test_an_audit_finds_the_mu_that_was_claimed(name):
    """1,500 draws at mu = 4 or 8: within 10 %, five standard errors; with half the noise it is twice the claim."""
    mu = claimed(name, 0.25)
    assert mu_along(*audited(name, 1500, 0.25)) == pytest.approx(mu, rel=0.1)
    assert mu_along(*audited(name, 1500, 0.25, factor=0.5)) > 1.8 * mu


@pytest.mark.slow
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_no_violation_at_delta_one_in_a_hundred(name, factor):
    """1e5 draws: the lower bound on delta at the claimed epsilon stays below delta; at half the noise it passes it."""
    epsilon, delta = 1.0, 1e-2
    unit = claimed(name, 1.0)
    sigma = unit / calibrate(epsilon, delta)
    one, other = audited(name, 100_000, sigma, factor=factor)
    result = max(delta_at_least(one, other, epsilon=epsilon), delta_at_least(other, one, epsilon=epsilon))
    assert result <= delta if factor == 1.0 else result > delta
    if factor == 1.0:
        mu = mu_along(one, other)
        assert gaussian_delta(0.9 * epsilon, mu) > delta * 0.9
        assert mu == pytest.approx(unit / sigma, rel=0.03)
