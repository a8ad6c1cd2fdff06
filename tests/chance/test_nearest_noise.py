"""The noise of votes is the Gaussian that was paid for: 20,000 draws at |z| < 4.9, a false alarm of about 1e-6."""

from math import sqrt

import numpy as np
import pytest

from synth.mechanisms import nearest
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Nearest

BINS = (Bins.each("a", 50), Bins.each("b", 50))
EVERY = np.stack(np.divmod(np.arange(2500), 50), axis=1)
ROWS = {"a": np.arange(100) % 50, "b": np.arange(100) // 50}


class Scaled(SystemNoise):
    """Evil twin: noise of the wrong size. Exists in tests only."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def gaussian_counts(self, shape, *, sigma):
        return super().gaussian_counts(shape, sigma=sigma * self.factor)


def z_of_squares(noise):
    asked = Nearest(purpose="n", bins=BINS, candidates=EVERY, sigma=30.0,
                    distances=tuple(1 - np.eye(50, dtype=np.int64) for _ in BINS))  # fmt: skip
    exact = nearest.votes(asked, ROWS)
    z = np.concatenate([nearest.answer(asked, ROWS, noise).values - exact for _ in range(8)]) / 30.0
    return ((z**2).sum() - len(z)) / sqrt(2 * len(z))


def test_votes_carry_the_stated_noise():
    assert abs(z_of_squares(SystemNoise())) < 4.9


@pytest.mark.parametrize("factor", [0.5, 0.93, 1.07, 2.0])
def test_wrong_noise_is_caught(factor):
    assert abs(z_of_squares(Scaled(factor))) > 4.9
