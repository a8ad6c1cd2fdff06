"""Bounds from means and spreads: right for sound answers, and sharp enough for what they are there for."""

import numpy as np
import pytest

from synth.evaluate.audit.statistics import moments

CLAIMED, DRAWS, FAILURE = 0.268, 60, 3e-5  # at epsilon 1; the default number; a share of the family's 1e-3


def answers(rng, *, shift: float, noise: float = 1.0, numbers: int = 14) -> tuple[np.ndarray, np.ndarray]:
    way = np.zeros(numbers)
    way[[0, 5]] = shift / np.sqrt(2)
    one, other = noise * rng.standard_normal((2, DRAWS, numbers))
    return one + way, other


def test_sound_answers_are_not_denied():
    """4,000 times at the claim itself; a bound that fails more than 1 in 1,000 would show (false alarm below 1e-9)."""
    rng = np.random.default_rng(1)
    denied = [moments(*answers(rng, shift=CLAIMED), failure=1e-3).denies(CLAIMED) for _ in range(4000)]
    assert sum(denied) < 30


def test_the_bounds_fail_about_as_often_as_they_say():
    """The spread's bound is exact: of 4,000 at one in twenty, 200, give or take 14."""
    rng = np.random.default_rng(2)
    low = [moments(*answers(rng, shift=0.0), failure=0.05).noise < 1 for _ in range(4000)]
    assert 130 < sum(low) < 270


@pytest.mark.parametrize(
    ("shift", "noise"), [(CLAIMED, 0.8), (8 * CLAIMED, 1.0)], ids=["noise times 0.8", "sqrt(64) for 64 rows"]
)
def test_what_the_default_draws_must_see(shift, noise):
    rng = np.random.default_rng(3)
    seen = [moments(*answers(rng, shift=shift, noise=noise), failure=FAILURE).denies(CLAIMED) for _ in range(200)]
    assert sum(seen) > 190


def test_other_randomness_adds_and_never_takes_away():
    """Cells placed at random widen the answers: that is no violation, and hides no distance for certain."""
    rng = np.random.default_rng(4)
    one, other = answers(rng, shift=0.0)
    wider = [a + rng.binomial(400, 0.5, a.shape) for a in (one, other)]
    result = moments(*wider, failure=FAILURE)
    assert result.noise > 1
    assert not result.denies(CLAIMED)
