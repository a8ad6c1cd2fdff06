"""The noise of a step is the Gaussian that was paid for, its sample has the rate that was paid for; likewise votes.

The sum of squares of 20,000 draws at |z| < 4.9 has a false alarm of about 1e-6 and sees a change of 5 % in scale. Evil
twins: halved and doubled noise, 7 % too little or too much, a sample of the wrong rate or without one.
"""

from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from synth.mechanisms import gradients as mechanism
from synth.mechanisms import votes
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.accounting.losses import sampled_sigma
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Descent, Step, Teachers, Votes
from synth.questions.gradients import FINE, whole_rate
from tests.evil_twins import Scaled, z_of_squares
from tests.shifts import delta_at_least, mu_along

TWINS = [0.5, 0.93, 1.07, 2.0]
SIZES = (40, 30)
BINS = tuple(Bins.each(n, s) for n, s in zip("ab", SIZES, strict=True))
SIGMA = 0.7


class Everybody(SystemNoise):
    """Evil twin: every row enters every sample."""

    def uniform_codes(self, size, *, high):  # noqa: ARG002
        return np.zeros(size, dtype=np.int64)


def plan(*, hidden=64, rate=1.0, sigma=SIGMA, clip=1.0, bins=BINS, steps=50):
    return Descent(
        purpose="d",
        network="critic",
        bins=bins,
        hidden=hidden,
        latent=0,
        clip=clip,
        sigma=sigma,
        rate=rate,
        steps=steps,
    )


def zeros(made):
    """Weights of the right sizes, all 0: then every row's gradient is that of the last bias alone."""
    ends = [sum(made.sizes), made.hidden, made.hidden, 1]
    shapes = [s for a, b in pairwise(ends) for s in ((b, a), (b,))]
    return tuple(np.zeros(s, dtype=np.float32) for s in shapes)


def rows(count):
    rng = np.random.default_rng(0)
    return {n: rng.integers(0, s, count) for n, s in zip("ab", SIZES, strict=True)}


def drawn(noise, steps=3):
    """Noise on the numbers of several steps that no row moves, in deviations."""
    made, session = plan(), mechanism.Descents()
    asked = [Step(descent=made, number=i, weights=zeros(made)) for i in range(steps)]
    return np.concatenate([session.answer(a, rows(20), noise).values[:-1] for a in asked]) / SIGMA


def test_scale_and_shape_are_the_stated_ones():
    z = drawn(SystemNoise())
    assert len(z) > 20_000
    assert abs(z_of_squares(z)) < 4.9
    assert abs(z.mean()) * sqrt(len(z)) < 4.9
    assert stats.kstest(z, "norm").pvalue > 1e-6
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) * sqrt(len(z)) < 4.9


@pytest.mark.parametrize("factor", TWINS)
def test_wrong_noise_is_caught(factor):
    assert abs(z_of_squares(drawn(Scaled(factor)))) > 4.9


def test_far_draws_are_as_rare_as_they_should_be():
    """A million draws: those beyond 3 and 4 deviations, and the zeros, within 5 errors of their chances."""
    sizes = np.abs(SystemNoise().gaussian_counts((1_000_000,), sigma=FINE))
    for chance, seen in (
        (2 * stats.norm.sf((3 * FINE + 0.5) / FINE), sizes > 3 * FINE),
        (2 * stats.norm.sf((4 * FINE + 0.5) / FINE), sizes > 4 * FINE),
        (2 * stats.norm.cdf(0.5 / FINE) - 1, sizes == 0),
    ):
        wanted = 1_000_000 * chance
        assert abs(seen.sum() - wanted) < 5 * sqrt(wanted) + 1


def sampled(noise, *, rate, steps=40, size=400):
    """How many rows entered each step's sum, all moving the last bias by the same half clip; other numbers' noise."""
    made, session = plan(hidden=1, rate=whole_rate(rate), sigma=1e-3, steps=steps), mechanism.Descents()
    asked = [Step(descent=made, number=i, weights=zeros(made)) for i in range(steps)]
    told = np.array([session.answer(a, rows(size), noise).values for a in asked])
    return -told[:, -1] / 0.5, told[:, :-1] / 1e-3


def counts(noise, *, rate):
    return sampled(noise, rate=rate)[0]


def test_samples_are_poissons_with_the_stated_rate():
    """The number of rows in a sample has mean q n and variance q (1 - q) n; no fixed batch, no shuffling. The sum
    carries Gaussian noise, of one scale in all of its numbers, on a lattice."""
    result, z = sampled(SystemNoise(), rate=0.3)
    cells = z * 1e-3 / plan(sigma=1e-3).lattice
    assert cells == pytest.approx(np.rint(cells), abs=1e-6)
    assert np.abs(cells).max() > 100
    assert abs(z_of_squares(z)) < 5.5
    assert abs(z.mean()) * sqrt(z.size) < 5.5
    mean, variance = 400 * 0.3, 400 * 0.3 * 0.7
    assert abs(result.mean() - mean) < 5.5 * sqrt(variance / len(result))
    assert stats.chi2.sf(((result - mean) ** 2).sum() / variance, len(result)) > 1e-6
    assert stats.chi2.cdf(((result - mean) ** 2).sum() / variance, len(result)) > 1e-6


def test_samples_of_the_wrong_rate_are_caught():
    """A rate a fifth too high is ten errors beyond the limit; one a tenth too high is seen in 99 of 100 runs."""
    for item in (counts(Everybody(), rate=0.3), counts(SystemNoise(), rate=0.36)):
        assert abs(item.mean() - 120) > 5.5 * sqrt(400 * 0.3 * 0.7 / len(item))


def audit(runs, *, factor=1.0):
    """Draws of one whole-table step along the move of one row that comes, and the mu that is claimed."""
    made, one = plan(hidden=1, sigma=0.125, steps=runs), {"a": np.array([3]), "b": np.array([4])}
    none, noise = {n: c[:0] for n, c in one.items()}, Scaled(factor)
    doors = mechanism.Descents(), mechanism.Descents()
    asked = [Step(descent=made, number=i, weights=zeros(made)) for i in range(runs)]
    reported = [[d.answer(a, t, noise).values[-1] for a in asked] for d, t in zip(doors, (none, one), strict=True)]
    return np.array(reported[0]), np.array(reported[1]), 0.5 / 0.125


def test_an_audit_finds_the_mu_of_a_row():
    """600 draws at mu = 4 (half the clip is what a row of a network of zeros moves); half the noise doubles it."""
    one, other, claimed = audit(600)
    assert mu_along(one, other) == pytest.approx(claimed, rel=0.3)
    one, other, claimed = audit(600, factor=0.5)
    assert mu_along(one, other) > 1.5 * claimed


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.0, 0.4])
def test_no_violation_of_a_sampled_training_at_delta_one_in_a_hundred(factor):
    """20,000 trainings of 4 steps, with and without a row that moves by the clip: the lower bound on delta at the
    claimed epsilon stays below delta; with four tenths of the noise it passes it."""
    epsilon, delta, rate, runs, steps = 1.0, 1e-2, whole_rate(0.5), 20_000, 4
    sigma = sampled_sigma(epsilon=epsilon, delta=delta, rate=rate, steps=steps)
    noise = SystemNoise()
    shifted = np.rint(FINE / (sigma * factor)) * (noise.uniform_codes(runs * steps, high=2**32) < rate * 2**32)
    one = noise.gaussian_counts((runs, steps), sigma=FINE) * sigma * factor / FINE
    other = (noise.gaussian_counts((runs, steps), sigma=FINE) + shifted.reshape(runs, steps)) * sigma * factor / FINE

    def loss(x):  # the log odds of the two laws: the best statistic there is
        return np.log1p(rate * np.expm1((2 * x - 1) / (2 * (sigma * factor) ** 2))).sum(1)

    result = max(
        delta_at_least(loss(one), loss(other), epsilon=epsilon), delta_at_least(loss(other), loss(one), epsilon=epsilon)
    )
    assert result <= delta if factor == 1.0 else result > delta


def votes_of(noise, *, rounds=40, sigma=25.0):
    """Noise on counts of votes, in deviations: told less the same class's votes without noise."""
    table = np.random.default_rng(3).normal(size=(sum(SIZES), 4))
    teachers = Teachers(purpose="v", bins=BINS, table=table, teachers=30, most_rows=9, sigma=sigma)
    rng = np.random.default_rng(1)
    asked = np.stack([rng.integers(0, s, 500) for s in SIZES], axis=1)
    question = Votes(teachers=teachers, lessons=asked[:5], asked=asked, moves=1)
    results, out = votes.Classes(), []
    for _ in range(rounds):
        reported = results.answer(question, rows(100), noise).values
        (held,) = results._open.values()
        out.append((reported - held.votes(asked)) / sigma)
    return np.concatenate(out)


def test_votes_carry_the_stated_noise():
    z = votes_of(SystemNoise())
    assert abs(z_of_squares(z)) < 4.9
    assert abs(z.mean()) * sqrt(len(z)) < 4.9


@pytest.mark.parametrize("factor", TWINS)
def test_votes_with_wrong_noise_are_caught(factor):
    assert abs(z_of_squares(votes_of(Scaled(factor)))) > 4.9


def test_teachers_are_drawn_evenly_and_afresh():
    """Rows fall on teachers independently: chi-squared over 30 teachers, and another class is another partition."""
    table = np.zeros((sum(SIZES), 1))
    teachers = Teachers(purpose="v", bins=BINS, table=table, teachers=30, most_rows=9, sigma=1.0)
    first, seat = votes.seats(6000, teachers, SystemNoise())
    again, _ = votes.seats(6000, teachers, SystemNoise())
    assert stats.chisquare(np.bincount(first, minlength=30)).pvalue > 1e-6
    assert abs((first == again).mean() - 1 / 30) < 5.5 * sqrt(1 / 30 / 6000)
    assert all(sorted(seat[first == t]) == list(range((first == t).sum())) for t in range(30))


def test_calibrated_votes_have_the_mu_of_the_budget():
    """2,000 counts of one vote more or less, at the noise that makes one of them cost epsilon 5."""
    mu = calibrate(5.0, 1e-5)
    noise = SystemNoise()
    reported = [noise.gaussian_counts((2000,), sigma=1 / mu * 100) + shift for shift in (0, 100)]
    assert mu_along(*reported) == pytest.approx(mu, rel=0.25)
