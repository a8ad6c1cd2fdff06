"""DP-SWD's smooth sensitivity: it holds as often as it says, and asks for more noise than the exact profile."""

import numpy as np
import pytest
from scipy import stats

from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.accounting.slice_profile import Shift, sigma_at, swd


@pytest.mark.parametrize(("dim", "slices"), [(10, 5), (50, 200), (778, 200)])
def test_the_bound_on_the_length_holds_but_for_its_failure(dim, slices):
    failure = 0.01
    most = (swd(1.0, 2 * failure, dim=dim, num_slices=slices) * calibrate(1.0, failure)) ** 2
    rng, draws = np.random.default_rng(0), 4000
    squares = rng.beta(0.5, (dim - 1) / 2, size=(draws, slices)).sum(1)
    passed = int((squares > most).sum())
    assert stats.binomtest(passed, draws, failure, alternative="greater").pvalue > 1e-6
    assert np.quantile(squares, 0.99) < most <= slices
    scale = slices / dim
    assert most < scale + 6 * np.log(1 / failure)  # and the additive part stays of the logarithm's size


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.1])
@pytest.mark.parametrize(("dim", "slices"), [(100, 10), (778, 200)])
def test_the_exact_profile_asks_for_less(epsilon, dim, slices):
    assert sigma_at(epsilon, 1e-5, Shift(dim, slices)) < swd(epsilon, 1e-5, dim=dim, num_slices=slices)
