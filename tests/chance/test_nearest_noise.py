"""The noise of votes is the Gaussian that was paid for: 20,000 draws at |z| < 4.9, a false alarm of about 1e-6."""

import numpy as np
import pytest

from synth.mechanisms import nearest
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Nearest
from tests.evil_twins import Scaled, z_of_squares

BINS = (Bins.each("a", 50), Bins.each("b", 50))
EVERY = np.stack(np.divmod(np.arange(2500), 50), axis=1)
ROWS = {"a": np.arange(100) % 50, "b": np.arange(100) // 50}


def z_of(noise):
    asked = Nearest(
        purpose="n",
        bins=BINS,
        candidates=EVERY,
        sigma=30.0,
        distances=tuple(1 - np.eye(50, dtype=np.int64) for _ in BINS),
    )
    exact = nearest.votes(asked, ROWS)
    z = np.concatenate([nearest.answer(asked, ROWS, noise).values - exact for _ in range(8)]) / 30.0
    return z_of_squares(z)


def test_votes_carry_the_stated_noise():
    assert abs(z_of(SystemNoise())) < 4.9


@pytest.mark.parametrize("factor", [0.5, 0.93, 1.07, 2.0])
def test_wrong_noise_is_caught(factor):
    assert abs(z_of(Scaled(factor))) > 4.9
