"""Training with noise added to the loss and detached from the graph, and its attacker (docs/decisions.md, 4)."""

import numpy as np

from synth.mechanisms.functional import Functional
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Block, FunctionalQuery, GaussianKernel

DIM, STEPS, RATE, SIGMA = 8, 5, 0.5, 5.0
PLACES = np.random.default_rng(1).normal(size=(4, DIM)) / 2  # the domain: four possible records in general position
START = np.random.default_rng(2).normal(size=DIM) / 2
KERNEL = GaussianKernel(blocks=(Block(bins=Bins.each("x", 4), table=PLACES),), lengthscale=2.0)
ONE, OTHER = (0, 1, 2), (0, 1, 3)  # neighbours: one record replaced


def exact(theta, records):
    """f_D(theta) and its gradient, f_D the sum of the kernel at the records."""
    numbers = KERNEL.seen(np.array(records)[:, None], theta[None, :], gradients=True).reshape(-1, 1 + DIM).sum(0)
    return numbers[0], numbers[1:] / KERNEL.unit


def published(records, rng):
    """Trains by the published rule: the square of a noisy loss, the noise a constant in the graph."""
    theta = START
    for _ in range(STEPS):
        value, gradient = exact(theta, records)
        loss = -2 * value / len(records) + SIGMA * rng.normal()
        theta = theta - RATE * 2 * loss * (-2 * gradient / len(records))
    return theta


def ours(records, rng):  # noqa: ARG001
    """Trains by ascent of a released path: value and gradient told jointly, at points that earlier answers chose."""
    mechanism, theta = Functional(), START
    rows = {"x": np.array(records, dtype=np.int64)}
    for _ in range(STEPS):
        asked = FunctionalQuery(
            name="p", purpose="t", kernel=KERNEL, sigma=SIGMA, nugget=0.05, points=theta[None, :], gradients=True
        )
        reported = mechanism.answer(asked, rows, SystemNoise()).values[0]
        theta = theta + RATE / len(records) * np.clip(reported[1:], -9, 9)
    return theta


def beyond(theta, records):
    """How far theta lies from the affine hull of the start and these records, relative to its way from the start."""
    basis = np.linalg.qr((PLACES[list(records)] - START).T)[0]
    way = theta - START
    return np.linalg.norm(way - basis @ (basis.T @ way)) / np.linalg.norm(way)


def verdicts(train, runs):
    """How often an attacker who knows both tables says ``ONE``, where it is ONE and where it is OTHER."""
    rng = np.random.default_rng(3)
    said = [[beyond(t, ONE) < beyond(t, OTHER) for t in (train(d, rng) for _ in range(runs))] for d in (ONE, OTHER)]
    return float(np.mean(said[0])), float(np.mean(said[1]))
