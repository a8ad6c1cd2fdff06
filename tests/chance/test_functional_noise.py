"""What is told of a path has the law of one sample path, in however many batches, and no more and no less noise.

Values minus the true sums, whitened by the covariance that the test computes for itself, are independent standard
normals; of 20,000 the sum of squares sees a change of 5 % in scale at a false alarm of 1e-6 (``z_of_squares``). Points
are chosen after seeing values.
"""

from math import sqrt

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import solve_triangular

from synth.mechanisms.functional import Functional
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Block, FunctionalQuery, GaussianKernel, ProductKernel
from tests.evil_twins import Scaled, Silent, z_of_squares
from tests.shifts import delta_at_least, mu_along, mu_between, mu_of

SIGMA, NUGGET, SIZE = 3.0, 0.02, 16
BINS = (Bins.each("a", SIZE), Bins.each("b", SIZE))
TABLE = 0.8 ** np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE)))
KERNEL = ProductKernel(bins=BINS, tables=(TABLE, TABLE))
DATA = {n: np.random.default_rng(i).integers(0, SIZE, 50) for i, n in enumerate("ab")}
GRID = np.array([(i, j) for i in range(SIZE) for j in range(SIZE)])


def path(points, *, sigma=SIGMA, nugget=NUGGET, kernel=KERNEL, gradients=False):
    return FunctionalQuery(
        name="p", purpose="t", kernel=kernel, sigma=sigma, nugget=nugget, points=points, gradients=gradients
    )


class Detached:
    """Evil twin: each batch gets a path of its own, as if noise were drawn anew for each batch."""

    def answer(self, question, rows, noise):
        return Functional().answer(question, rows, noise)


def adaptive(mechanism, noise, *, batches, total=200):
    """(points, values): each batch asks new points beside those of largest value so far, then at random."""
    rng = np.random.default_rng(0)
    points, values = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
    left = rng.permutation(GRID)
    for k in range(batches):
        if len(values):
            best = points[np.argmax(values)]
            left = left[np.argsort(np.abs(left - best).sum(1), kind="stable")]
        take = total // batches if k < batches - 1 else total - len(points)
        asked, left = left[:take], left[take:]
        values = np.concatenate([values, mechanism.answer(path(asked), DATA, noise).values])
        points = np.vstack([points, asked])
    return points, values


def standardised(points, values):
    """Independent standard normals, if the path has the stated law."""
    truth = KERNEL.seen(np.column_stack([DATA["a"], DATA["b"]]), points).sum(0)
    factor = np.linalg.cholesky(KERNEL.gram(points, points) + NUGGET * np.eye(len(points)))
    return solve_triangular(factor, (values - truth) / path(points).deviation, lower=True)


def many(make, noise, *, batches, runs):
    return np.concatenate([standardised(*adaptive(make(), noise, batches=batches)) for _ in range(runs)])


@pytest.mark.parametrize("batches", [1, 20])
def test_adaptively_chosen_points_have_the_law_of_one_path(batches):
    z = many(Functional, SystemNoise(), batches=batches, runs=100)
    assert abs(z_of_squares(z)) < 4.9
    assert stats.kstest(z, "norm").pvalue > 1e-6
    assert abs(z.mean()) * sqrt(len(z)) < 4.9


@pytest.mark.parametrize("factor", [0.5, 0.93, 1.07])
def test_wrong_noise_is_caught(factor):
    assert abs(z_of_squares(many(Functional, Scaled(factor), batches=4, runs=100))) > 4.9


def test_noise_drawn_anew_for_each_batch_is_caught():
    """Neighbouring points in different batches then disagree by more than one path could."""
    assert z_of_squares(many(Detached, SystemNoise(), batches=20, runs=20)) > 20


@pytest.mark.parametrize("twin", [None, Detached])
def test_the_empirical_covariance_is_the_kernels(twin):
    """200 points chosen adaptively once, then told afresh 500 times in four batches: each entry within six errors."""
    points, _ = adaptive(Functional(), SystemNoise(), batches=20)
    draws = np.empty((500, len(points)))
    for run in range(len(draws)):
        mechanism = (twin or Functional)()
        parts = [
            mechanism.answer(path(p), {n: c[:0] for n, c in DATA.items()}, SystemNoise()).values
            for p in np.array_split(points, 4)
        ]
        draws[run] = np.concatenate(parts)
    wanted = path(points).deviation ** 2 * (KERNEL.gram(points, points) + NUGGET * np.eye(len(points)))
    seen = draws.T @ draws / len(draws)
    scale = np.sqrt((wanted**2 + np.outer(np.diag(wanted), np.diag(wanted))) / len(draws))
    lengths = np.linalg.norm(np.linalg.solve(np.linalg.cholesky(wanted), KERNEL.seen(GRID, points).T), axis=0)
    assert 0.97 / SIGMA < lengths.max() <= 1 / SIGMA, "no row moves the values by more of these deviations"
    if twin is None:
        (state,), grain = mechanism._paths.values(), path(points).grain
        assert np.array_equal(state.noisy, np.rint(state.noisy / grain) * grain), "on a lattice"
        truth = KERNEL.seen(np.column_stack([DATA["a"], DATA["b"]]), points).sum(0)
        off = Functional().answer(path(points), DATA, Silent()).values - truth
        assert np.abs(solve_triangular(state.factor, off, lower=True)).max() <= grain, "of the whitened sums"
        assert state.factor @ state.factor.T * path(points).deviation ** 2 == pytest.approx(wanted, abs=1e-9)
    worst = np.abs((seen - wanted) / scale).max()
    assert worst < 6 if twin is None else worst > 10


@pytest.mark.parametrize("twin", [None, Detached])
def test_one_batch_or_many_is_the_same_law(twin):
    """The sum of a path's values, to which all points add, varies alike in one batch and in twenty.

    By the ratio of two variances of 150 runs each, at 1e-6. Noise drawn anew for each batch makes the ratio about 7.8;
    from 2.3 on it is caught, and the logarithm of 7.8 is seven of its errors (0.16) beyond that of 2.3.
    """
    points, noise = GRID[::4], SystemNoise()

    def total(make, batches):
        mechanism = make()
        return sum(mechanism.answer(path(p), DATA, noise).values.sum() for p in np.array_split(points, batches))

    one, twenty = (np.var([total(m, b) for _ in range(150)]) for m, b in ((Functional, 1), (twin or Functional, 20)))
    alike = stats.f(149, 149).cdf(one / twenty)
    assert (5e-7 < alike < 1 - 5e-7) == (twin is None)


def audit(runs, sigma, noise, points):
    """Draws along the whitened move between no rows and one row, whose own point is among those asked."""
    x = np.array([[3, 4]])
    move = KERNEL.seen(x, points)[0]
    covariance = KERNEL.gram(points, points) + NUGGET * np.eye(len(points))
    along = np.linalg.solve(covariance, move)
    tables = {"a": x[:0, 0], "b": x[:0, 1]}, {"a": x[:, 0], "b": x[:, 1]}
    question = path(points, sigma=sigma)
    draws = [np.array([Functional().answer(question, t, noise).values @ along for _ in range(runs)]) for t in tables]
    return *draws, mu_of(question.deviation**2 * covariance, move)


POINTS = np.array([[3, 4], [3, 5], [0, 0], [12, 9], [4, 4]])


def test_an_audit_finds_the_mu_that_was_claimed():
    """1,500 draws at mu = 4: within 10 % (five errors) of the claim, of which the nugget hides 1 %; half the noise
    doubles it."""
    one, other, exact = audit(1500, 0.25, SystemNoise(), POINTS)
    assert 0.97 / 0.25 < exact <= 1 / 0.25
    assert mu_along(one, other) == pytest.approx(1 / 0.25, rel=0.1)
    one, other, _ = audit(1500, 0.25, Scaled(0.5), POINTS)
    assert mu_along(one, other) > 1.8 / 0.25


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_no_violation_at_delta_one_in_a_hundred(factor):
    """1e5 draws: the lower bound on delta at the claimed epsilon stays below delta; at half the noise it passes it."""
    epsilon, delta = 1.0, 1e-2
    sigma = 1 / calibrate(epsilon, delta)
    one, other, _ = audit(100_000, sigma, Scaled(factor), POINTS)
    result = max(delta_at_least(one, other, epsilon=epsilon), delta_at_least(other, one, epsilon=epsilon))
    assert result <= delta if factor == 1.0 else result > delta


def test_values_and_gradients_together_cost_no_more_than_the_path():
    """The joint covariance covers what a row moves in values and gradients: mu stays below 1 / sigma, by draws too."""
    places = Block(bins=BINS[0], table=np.random.default_rng(5).normal(size=(SIZE, 2)))
    smooth = GaussianKernel(blocks=(places,), lengthscale=1.0)
    points = np.array([[0.1, 0.2], [0.6, -0.4]])
    covariance = smooth.gram(points, points, gradients=True) + NUGGET * np.eye(6)
    moves = smooth.seen(np.arange(SIZE)[:, None], points, gradients=True)
    sigma = 0.25
    exact = [mu_of(sigma**2 * covariance, m) for m in moves]
    assert max(exact) <= 1 / sigma
    question = path(points, kernel=smooth, gradients=True, sigma=sigma)
    worst = int(np.argmax(exact))
    tables = {"a": np.zeros(0, dtype=np.int64)}, {"a": np.array([worst])}
    draws = [
        np.array([Functional().answer(question, t, SystemNoise()).values.ravel() for _ in range(800)]) for t in tables
    ]
    assert mu_between(*draws) == pytest.approx(exact[worst], rel=0.15)
    assert draws[0].var() / sigma**2 == pytest.approx(1.02, rel=0.1)
