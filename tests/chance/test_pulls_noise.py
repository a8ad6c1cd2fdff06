"""Noise on teachers' gradients, on votes and on weighted tables of related rows is what was paid for: no less, no more.

By the sum of squares of 20,000 draws: |z| below 4.9 is wrong once in 10^6. Of tables a false alarm comes twice in 10^8,
and noise a tenth too small or too large is overlooked less than once in 10^12.
"""

import numpy as np
import pytest
from scipy import stats

from synth.mechanisms import linked, nearest, pulls
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Linked, Marginal, Nearest, Pulls, Teachers
from synth.questions.gradients import BALLOTS, CLIPPED, SIGNS
from synth.questions.linked import grain, place
from synth.sources.rows.forest import Branch, Forest
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


CELLS, RARE = 20_000, 1e-8  # a false alarm at each end


def forest(rows=300):
    """Three children of each root, of one column."""
    parent = np.repeat(np.arange(rows // 3), 3)
    none = np.zeros(rows // 3, dtype=np.int64)
    root = Branch(columns={}, parent=none, siblings=none + 1, rank=none, parts=none + 1)
    three = np.full(rows, 3)
    child = Branch(
        columns={"x": np.arange(rows) % CELLS}, parent=parent, siblings=three, rank=np.arange(rows) % 3, parts=three
    )
    return Forest({"p": root, "c": child}, {"p": None, "c": "p"})


@pytest.mark.parametrize("sigma", [0.7, 5.0, 31.0])
@pytest.mark.parametrize("factor", [1.0, 0.9, 1.1], ids=["as stated", "too little", "too much"])
def test_the_deviation_is_as_stated(sigma, factor):
    marginal = Marginal(bins=(Bins.each(place("c", "x"), CELLS),), sigma=sigma * factor)
    asked = Linked(purpose="t", table="c", view="rows", most=3, marginals=(marginal,))
    rows = forest()
    noise = linked.answer(asked, rows, SystemNoise()).values[0] - linked.exact(asked, rows)[0] / linked.UNIT
    square = float((noise**2).sum()) / (sigma**2 + grain(sigma) ** 2 / 12)
    within = RARE < stats.chi2.cdf(square, CELLS) < 1 - RARE
    assert within == (factor == 1.0)


VOTES_BINS = (Bins.each("a", 50), Bins.each("b", 50))
EVERY = np.stack(np.divmod(np.arange(2500), 50), axis=1)
ROWS = {"a": np.arange(100) % 50, "b": np.arange(100) // 50}


def votes_z_of(noise):
    asked = Nearest(
        purpose="n",
        bins=VOTES_BINS,
        candidates=EVERY,
        sigma=30.0,
        distances=tuple(1 - np.eye(50, dtype=np.int64) for _ in VOTES_BINS),
    )
    exact = nearest.votes(asked, ROWS)
    z = np.concatenate([nearest.answer(asked, ROWS, noise).values - exact for _ in range(8)]) / 30.0
    return z_of_squares(z)


def test_votes_carry_the_stated_noise():
    assert abs(votes_z_of(SystemNoise())) < 4.9


@pytest.mark.parametrize("factor", [0.5, 0.93, 1.07, 2.0])
def test_wrong_noise_is_caught_of_votes(factor):
    assert abs(votes_z_of(Scaled(factor))) > 4.9
