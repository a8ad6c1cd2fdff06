"""Attacks on the low bits of floats break noise that is added in floating point, and learn nothing from ours.

**Source**: Mironov 2012, section 3; Haney et al. 2022, arXiv 2207.13793.
"""

import numpy as np
import pytest

from tests.benchmark_modules import benchmark

attacks = benchmark("attacks")

DRAWS = 50_000
# An estimated delta of a mechanism that has none to speak of: a difference of two frequencies, one of them times e.
# Its deviation is below sqrt((1 + e^2) / 4 / 50,000) = 0.0065.
NOTHING = 0.045


@pytest.mark.parametrize(
    ("target", "attack"),
    [
        ("naive Laplace", "Mironov 2012"),
        ("naive Laplace", "Haney et al. 2022"),
        ("naive Gaussian", "Haney et al. 2022"),
    ],
)
def test_the_naive_noise_breaks(target, attack):
    """Whoever is named, is named rightly, far more often than any delta would allow."""
    result = attacks.attacked(attacks.TARGETS[target], attacks.ATTACKS[attack], draws=DRAWS)
    assert result["right then"] == 1.0
    assert result["delta at least"] > 0.05


@pytest.mark.parametrize("attack", attacks.ATTACKS)
def test_ours_does_not(attack):
    result = attacks.attacked(attacks.ours, attacks.ATTACKS[attack], draws=DRAWS)
    assert result["delta at least"] < NOTHING
    assert result["right then"] is None or result["right then"] < 0.6


def test_every_value_that_one_table_gives_the_other_can_give():
    """All whole numbers within reach are met under both tables: no value is a proof."""
    zero, one = (set(attacks.ours(exact, DRAWS, np.random.default_rng(0)).tolist()) for exact in (0, 1))
    near = {float(v) for v in range(-10, 12)}
    assert near <= zero & one
    assert all(v.is_integer() for v in zero | one)
