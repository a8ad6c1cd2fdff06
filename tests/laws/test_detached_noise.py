"""Why the published DP-kernel has no guarantee, and why a path told with its gradients has (docs/decisions.md, 4).

A generator of one point, G(z) = theta in R^d, is trained to minimise its kernel distance from n records, d > n + 1.
With noise that is added to the loss and detached from the graph, every step is a random number times the exact private
gradient, a combination of x_i - theta: the final theta lies in the affine hull of theta_0 and the records, however
large the noise. Two tables that differ in one record are told apart without error.
"""

from math import inf, sqrt

import numpy as np
import pytest
from scipy.stats import norm

from tests.laws.detached import DIM, KERNEL, ONE, OTHER, PLACES, SIGMA, START, beyond, exact, ours, published, verdicts
from tests.shifts import mu_between, mu_of


def test_detached_noise_lets_an_attacker_tell_neighbours_without_error():
    assert verdicts(published, 200) == (1.0, 0.0)


def test_the_exact_trace_of_the_records_is_left_whatever_the_noise():
    rng = np.random.default_rng(4)
    assert beyond(published(ONE, rng), ONE) < 1e-9
    assert beyond(published(ONE, rng), OTHER) > 1e-3


def test_a_path_with_its_gradients_keeps_its_guarantee_against_the_same_attacker():
    """What he gains over guessing stays below what mu = sqrt(2) / sigma allows, five errors of 150 runs aside."""
    true, false = verdicts(ours, 150)
    allowed = 2 * norm.cdf(sqrt(2) / SIGMA / 2) - 1
    assert true - false <= allowed + 5 * sqrt(0.5 / 150)
    assert 0.1 < true < 0.9


def test_noise_of_the_published_gradient_does_not_reach_what_a_row_moves():
    """The shift test: the noise is one number times one direction; the gradient moves in others."""
    rng = np.random.default_rng(5)
    tables = [
        np.array([-2 * g * (-2 * v + SIGMA * rng.normal()) for _ in range(200) for v, g in [exact(START, d)]])
        for d in (ONE, OTHER)
    ]
    assert mu_between(tables[0], tables[1]) == inf
    direction = exact(START, ONE)[1]
    assert mu_of(SIGMA**2 * np.outer(direction, direction), exact(START, OTHER)[1] - direction) == inf


def noise_of_a_differentiated_factor(points):
    """Covariance of values and gradients when noise is L(w) xi and gradients are those of L(w), xi held fixed."""
    m, step = len(points), 1e-6

    def factor(w):
        return np.linalg.cholesky(KERNEL.gram(w, w) + 0.05 * np.eye(m))

    rows = list(factor(points))
    for i in range(m):
        for j in range(DIM):
            shifted = np.zeros_like(points)
            shifted[i, j] = step
            rows.append(KERNEL.lengthscale * (factor(points + shifted) - factor(points - shifted))[i] / (2 * step))
    linear = np.array(rows)
    return linear @ linear.T


def test_differentiating_through_the_noise_does_not_repair_it():
    """m noise numbers cannot cover m (1 + d) told ones; the joint covariance of a real path does."""
    points = START + np.random.default_rng(6).normal(size=(3, DIM)) / 2
    reported = KERNEL.seen(np.arange(len(PLACES))[:, None], points, gradients=True).reshape(4, 3, 1 + DIM)
    shift = reported[2] - reported[3]
    flat = np.concatenate([shift[:, 0], shift[:, 1:].ravel()])
    assert mu_of(noise_of_a_differentiated_factor(points), flat, tolerance=1e-8) == inf
    joint = KERNEL.gram(points, points, gradients=True) + 0.05 * np.eye(3 * (1 + DIM))
    assert 0 < mu_of(joint, shift.ravel()) <= sqrt(2)


@pytest.mark.parametrize("scale", [1.0, 1.2])
def test_the_covariance_is_scaled_by_the_square(scale):
    """Scaling the covariance by sigma instead of sigma^2, as published, passes mu = sqrt(2) / sigma for sigma > 1."""
    joint = KERNEL.gram(START[None, :], START[None, :], gradients=True)
    row = joint[0]  # what a record at START moves
    assert mu_of((SIGMA * scale) ** 2 * joint, row) <= 1 / SIGMA + 1e-12
    assert mu_of(SIGMA * joint, row) == pytest.approx(1 / sqrt(SIGMA))
