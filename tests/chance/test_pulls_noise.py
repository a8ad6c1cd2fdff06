"""The noise on sums of teachers' gradients is what was paid for: |z| of 20,000 draws below 4.9, wrong in 1e-6."""

import numpy as np
import pytest

from synth.mechanisms import pulls
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Pulls, Teachers
from synth.questions.gradients import BALLOTS, CLIPPED, SIGNS
from tests.evil_twins import Scaled, z_of_squares

BINS = (Bins.each("a", 30), Bins.each("b", 20))
SIGMA = 40.0
FORMS = {CLIPPED: {}, SIGNS: {"kept": 5}, BALLOTS: {"kept": 10, "projection": np.eye(50)[:, :5]}}


def z_of(form, noise):
    rng = np.random.default_rng(0)
    plan = Teachers(purpose="p", bins=BINS, table=rng.normal(size=(50, 4)), teachers=6, most_rows=9, sigma=SIGMA)
    asked = np.stack([rng.integers(0, 30, 500), rng.integers(0, 20, 500)], axis=1)
    question = Pulls(teachers=plan, lessons=asked[:9], asked=asked, moves=1, form=form, **FORMS[form])
    result = pulls.Pulling()
    rows = {"a": rng.integers(0, 30, 20), "b": rng.integers(0, 20, 20)}
    reported = result.answer(question, rows, noise).values
    exact = pulls.summed(question, result.taught(plan, rows, noise)) * question.lattice
    z = (reported - exact).ravel() / SIGMA
    assert len(z) > 20_000
    return z_of_squares(z)


@pytest.mark.parametrize("form", FORMS)
def test_sums_carry_the_stated_noise(form):
    assert abs(z_of(form, SystemNoise())) < 4.9


@pytest.mark.parametrize("factor", [0.5, 0.93, 1.07, 2.0])
@pytest.mark.parametrize("form", [CLIPPED, SIGNS])
def test_wrong_noise_is_caught(form, factor):
    assert abs(z_of(form, Scaled(factor))) > 4.9
