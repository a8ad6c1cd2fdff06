"""Slices of rows whose covariances are known."""

import numpy as np

from synth.questions import Bins, Block, Encoding, Slices, SlicesRelease

WEIGHT = np.sqrt(0.5) * (1 - 1e-9)


def simulated(*, records, rho=0.3, rows=20_000, sigma=0.5, groups=1000, seed=0):
    """A release over two columns of 3 bins with P(b = a) raised by ``rho``; the true covariance; one-ways."""
    rng = np.random.default_rng(seed)
    a = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    b = np.where(rng.random(rows) < rho, a, rng.choice(3, rows, p=[0.5, 0.3, 0.2]))
    group = np.arange(rows) if records else rng.integers(0, groups, rows)
    count = rows if records else groups
    blocks = tuple(Block.one_hot(Bins.each(n, 3), weight=WEIGHT) for n in "ab")
    sums = np.zeros((count, 6))
    np.add.at(sums, (group, a), WEIGHT)
    np.add.at(sums, (group, 3 + b), WEIGHT)
    question = Slices(purpose="s", encoding=Encoding(blocks=blocks), sigma=sigma, groups=None if records else groups)
    masses = [np.bincount(c, minlength=3) / rows for c in (a, b)]
    truth = np.bincount(3 * a + b, minlength=9).reshape(3, 3) / rows - np.outer(*masses)
    return SlicesRelease(question=question, values=sums + rng.normal(0, sigma, sums.shape)), masses, truth
