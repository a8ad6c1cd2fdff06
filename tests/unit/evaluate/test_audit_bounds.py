"""The auditor's bounds hold as often as they say, and find what is there."""

from math import exp, log

import numpy as np
import pytest
from scipy.stats import binom, norm

from synth.evaluate.audit.statistics import (
    DELTA,
    Claim,
    Rates,
    at_least,
    at_most,
    bounded,
    curve,
    examine,
    guessed,
    likelihood,
)


@pytest.mark.parametrize("rate", [0.001, 0.03, 0.5, 0.97])
@pytest.mark.parametrize("draws", [20, 400])
def test_a_bound_on_a_rate_fails_no_more_often_than_it_says(rate, draws):
    """Summed over all outcomes, exactly: no draw is made."""
    hits = np.arange(draws + 1)
    chance = binom.pmf(hits, draws, rate)
    assert chance[at_least(hits, draws, failure=0.05) > rate].sum() <= 0.05 + 1e-12
    assert chance[at_most(hits, draws, failure=0.05) < rate].sum() <= 0.05 + 1e-12


def test_bounds_of_known_rates_are_the_textbooks():
    """Randomised response at epsilon has rates e^eps/(1+e^eps) and its complement; a Gaussian's give its mu."""
    truth = exp(1.3) / (1 + exp(1.3))
    assert Rates(p=truth, q=1 - truth).epsilon(0.0) == pytest.approx(1.3)
    assert Rates(p=float(norm.cdf(0.9)), q=float(norm.cdf(-0.2))).mu == pytest.approx(1.1)
    assert Rates(p=0.5, q=0.1).delta(log(2)) == pytest.approx(0.3)
    assert Rates(p=0.9, q=0.5).epsilon(0.0) == pytest.approx(log(5))  # the complement says more
    assert Rates(p=0.2, q=0.4).mu == 0.0


def gaussian_claim(mu: float) -> Claim:
    return Claim(epsilon=50.0, delta=1e-5, profile=((DELTA, 50.0),), mu=mu)


def draws(mu: float, size: int, seed: int, extra: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """A mu-GDP pair hidden in one of several numbers."""
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=(2, size, 1 + extra))
    one[:, 2] += mu
    return one, other


def test_a_true_claim_is_never_contradicted():
    """Forty audits at a confidence of 1 - 1e-7 each: four false alarms in 1e6 runs."""
    for seed in range(40):
        one, other = draws(1.0, 800, seed)
        assert not examine(one, other, claim=gaussian_claim(1.0), confidence=1 - 1e-7).violated


def test_twice_the_loss_that_is_claimed_is_seen():
    one, other = draws(2.0, 4000, 1)
    examination = examine(one, other, claim=gaussian_claim(1.0), confidence=0.95)
    assert examination.violated
    assert 1.7 < examination.mu < 2.0
    assert examination.epsilon > 2.0


def test_an_epsilon_claim_is_contradicted_without_a_mu():
    """Randomised response at epsilon 3 against a claim of 1."""
    rng = np.random.default_rng(2)
    truth = exp(3) / (1 + exp(3))
    one, other = (rng.random(4000) < p for p in (truth, 1 - truth))
    examination = examine(one, other, claim=Claim(epsilon=1.0, delta=1e-5), confidence=0.95)
    assert examination.violated
    assert 2.0 < examination.epsilon_published < 3.0


def test_a_move_where_there_is_no_noise_is_seen_by_the_quadratic_discriminant():
    """Both tables' numbers lie on planes, whose directions differ: no number alone tells them apart."""
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=(2, 1600, 2))
    one = np.column_stack([one, one.sum(1)])
    other = np.column_stack([other, other @ [1.0, 1.1]])
    examination = examine(one, other, claim=gaussian_claim(1.0), confidence=0.95)
    assert examination.attack == "quadratic discriminant"
    assert examination.mu > 3


def test_numbers_that_never_move_say_nothing():
    same = np.ones((200, 3))
    examination = examine(same, same, claim=gaussian_claim(0.1), confidence=0.999)
    assert (examination.violated, examination.mu, examination.epsilon) == (False, 0.0, 0.0)


def test_the_curve_runs_from_nothing_to_everything():
    rng = np.random.default_rng(4)
    points = curve(rng.normal(size=2000) + 1, rng.normal(size=2000))
    assert points[-1] == (1.0, 1.0)
    assert points == tuple(sorted(points))
    assert all(true >= false - 0.08 for false, true in points)  # a lift of mu = 1; 0.08 is five deviations


def test_right_guesses_of_canaries_bound_epsilon():
    """The chance of k right guesses of n is the binomial's at delta 0; a delta only weakens the bound."""
    assert likelihood(9, 10, 10, epsilon=0.0, delta=0.0) == pytest.approx(binom.sf(8, 10, 0.5))
    assert likelihood(9, 10, 10, epsilon=1.0, delta=1e-3) > likelihood(9, 10, 10, epsilon=1.0, delta=0.0)
    assert bounded(5, 10, 10, delta=0.0, confidence=0.95).epsilon == 0.0
    sure = bounded(100, 100, 200, delta=1e-5, confidence=0.95)
    assert binom.sf(99, 100, 1 / (1 + exp(-sure.epsilon))) == pytest.approx(0.05, abs=0.01)
    assert bounded(100, 100, 200, delta=1e-5, confidence=0.999).epsilon < sure.epsilon


def test_canaries_of_randomised_response_are_bounded_by_its_epsilon():
    """At a confidence of 1 - 1e-6 the bound stays below the truth, and is above nothing."""
    rng = np.random.default_rng(5)
    coins = rng.random(4000) < 0.5
    reported = np.where(rng.random(4000) < exp(1) / (1 + exp(1)), coins, ~coins)
    result = guessed(reported + 0.01 * rng.random(4000), coins, delta=0.0, confidence=1 - 1e-6)
    assert 0.5 < result.epsilon < 1.0
