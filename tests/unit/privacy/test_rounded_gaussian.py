"""Draws by inversion: the quantile and the probabilities against 60 digits, and draws at the very edge of two sizes."""

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri

from synth.errors import BudgetError
from synth.mechanisms import counts
from synth.pipeline.budget import mechanisms
from synth.privacy import rounded_gaussian
from synth.privacy.accounting.events import GaussianDpEvent
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SeededNoise, SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.privacy.rounded_gaussian import DEEP, MORE, beyond, draws, size_of
from synth.questions import Bins, Counts, Marginal

SIGMAS = (0.3, 1.0, 7.25, 31.7, 700.1, 4096.0, 5000.3)


def exactly(size, sigma):
    with mpmath.workprec(500):
        at = (mpmath.mpf(size) + 0.5) / mpmath.mpf(sigma)
        return mpmath.erfc(at / mpmath.sqrt(2)) * mpmath.mpf(2) ** (63 + MORE)


def test_the_quantile_errs_by_less_than_the_proof_allows():
    """At 600 points of each of its parts: 2**-46, where the margin is 2**-36."""
    middle, tail = np.linspace(0.14, 0.5, 600)[:-1], np.geomspace(2.0**-28, 0.14, 600)
    with mpmath.workprec(200):
        for p in (*middle, *tail, 0.5 - 2.0**-40):
            result = mpmath.mpf(float(ndtri(p)))
            step = (mpmath.ncdf(result) - mpmath.mpf(float(p))) / mpmath.npdf(
                result
            )  # Newton: its error, up to its square
            assert abs(step) < 2.0**-46


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_probabilities_are_right_to_the_last_place(sigma):
    for size in (0, 1, 2, round(sigma), round(3 * sigma), round(8 * sigma), round(12 * sigma)):
        assert -1.001 < beyond(size, sigma) - exactly(size, sigma) <= 0.001
    assert beyond(round(20 * sigma) + 1, sigma) == 0


@pytest.mark.parametrize("sigma", SIGMAS)
def test_at_the_edge_of_two_sizes_further_bits_decide(sigma):
    """The 63 bits in which an edge lies, and their neighbours: what double precision cannot tell apart."""
    for size in {0, 1, round(sigma), round(2.5 * sigma), round(5 * sigma)}:
        edge = beyond(size, sigma) >> MORE
        bits = np.array([edge - 1, edge, edge + 1, edge], dtype=np.uint64)
        bits[3] += np.uint64(2**63)  # the sign
        low, high = draws(bits, sigma, lambda: 0), draws(bits, sigma, lambda: 2**MORE - 1)
        assert low.tolist() == [size + 1, size + 1, size, -size - 1]
        assert high.tolist() == [size + 1, size, size, -size]


def test_the_table_of_many_draws_says_the_same_as_the_quantile():
    """And the further bits are rarely asked for: never among these draws of small deviations."""
    bits = np.random.default_rng(0).integers(0, 2**64, size=rounded_gaussian.MANY, dtype=np.uint64)
    asked = []
    for sigma in (0.3, 31.7, 700.1):
        many = draws(bits, sigma, lambda: asked.append(1) or 0)
        few = np.concatenate([draws(part, sigma, lambda: 0) for part in np.split(bits, 2)])
        assert np.array_equal(many, few)
    assert not asked


def test_without_its_margin_a_draw_at_the_edge_would_be_wrong(monkeypatch):
    """The evil twin: floating point alone."""
    monkeypatch.setattr(rounded_gaussian, "NEAR", 0.0)
    edges = [beyond(size, 5000.3) >> MORE for size in range(0, 20_000, 500)]
    near = np.array([e + step for e in edges if e > DEEP for step in (-2, 2)], dtype=np.uint64)
    right = [size_of(int(v) << MORE, 5000.3, 0 + int(-5000 * ndtri((int(v) + 0.5) / 2.0**64))) for v in near]
    assert draws(near, 5000.3, lambda: 0).tolist() != right


def test_a_thousand_columns_pairs_do_not_come_near_the_reserve():
    """500,000 tables at delta 1e-9 were refused at 20,000; floating point would take 1,000 times the reserve."""
    delta = 1e-9
    adjacency = Adjacency(relation=Relation.ADD_REMOVE)
    grant = Grant(epsilon=1.0, delta=delta, adjacency=adjacency, mu=calibrate(1.0, delta))
    sigma = 1.01 * 500_000**0.5 / grant.mu
    bins = Bins.each("A", 2)
    question = Counts(purpose="p", marginals=(Marginal(bins=(bins,), sigma=sigma),) * 500_000)
    curator = Curator(grant=grant, commit=lambda: None, read=dict, mechanisms=mechanisms(), noise=SystemNoise())
    asked = counts.events(question, adjacency)
    assert curator._dry_run(question, asked, counts)[1] < 1e-6 * delta
    in_floating_point = [GaussianDpEvent(name=e.name, sensitivity=1.0, sigma=sigma, count=e.count) for e in asked]
    with pytest.raises(BudgetError, match="not precise enough"):
        curator._dry_run(question, in_floating_point, counts)


@pytest.mark.parametrize("sigma", [2.0**21 + 0.3, 2.0**40, 2.0**57.9])
def test_wide_noise_is_as_exact_as_narrow(sigma):
    """Sizes of a few draws, tails among them, against the probabilities: V lies between those of its two edges."""
    bits = np.append(np.random.default_rng(1).integers(0, 2**63, size=20), [0, 1, 2**20, 2**63 - 1]).astype(np.uint64)
    more = 2**MORE // 3
    for value, size in zip(bits, draws(bits, sigma, lambda: more).tolist(), strict=True):
        if sigma > 2.0**35 or int(value) < DEEP:  # else the further bits are rarely asked for
            whole = (int(value) << MORE) | more
            assert beyond(size, sigma) <= whole
            assert size == 0 or whole < beyond(size - 1, sigma)
        low, high = (exactly(size + d, sigma) for d in (0, -1))
        assert low <= (int(value) + 1) << MORE
        assert size == 0 or int(value) << MORE <= high


def test_seeded_noise_keeps_the_numbers_that_were_recorded():
    assert (
        SeededNoise(3).gaussian_counts((6,), sigma=9.0).tolist()
        == np.rint(np.random.default_rng(3).standard_normal(6) * 9.0).astype(int).tolist()
    )
