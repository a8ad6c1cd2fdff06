"""Choices, and picks one after the other, fall with the odds that were paid for: neither flatter nor steeper."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from synth.mechanisms import search, selection
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Choice, Search

DRAWS = 45_000
SCALE = 3.0
ROWS = {"a": np.array([0] * 6 + [1] * 3 + [2], dtype=np.int64)}
EXPECTED = np.array([[6.0, 3, 1], [0, 0, 0], [8, 0, 0], [3, 3, 3]])
SCORES = -np.array([0.0, 6, 3, 3])  # largest errors of the four expectations
QUESTION = Choice(purpose="t", goal="nearest", tables=((Bins.each("a", 3),),), expected=(EXPECTED,), scale=SCALE)


def test_the_scores_are_those_of_this_page():
    assert selection.scores(QUESTION, ROWS).tolist() == SCORES.tolist()


@pytest.fixture(scope="module")
def seen():
    """How often each candidate was chosen; the exact scores, always the same, are counted once."""
    noise, exact = SystemNoise(), selection._whole(QUESTION, ROWS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "_whole", lambda *_: exact)
        return np.bincount([selection.answer(QUESTION, ROWS, noise).index for _ in range(DRAWS)], minlength=4)


# Against the law of 0.9 or 1.1 of the scale the noncentrality is 219 or 146, the bound 31: a miss of odds below 10^-6.
@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
def test_odds_are_exponential_in_the_score_at_the_stated_scale_only(seen, factor):
    law = np.exp(SCORES / (SCALE * factor))
    p = stats.chisquare(seen, DRAWS * law / law.sum()).pvalue
    assert p > 1e-6 if factor == 1.0 else p < 1e-6


def test_weights_of_any_size_are_drawn_in_proportion():
    noise, draws = SystemNoise(), 20_000
    weights = np.array([3e-260, 1e-260, 4e-300])
    seen = np.bincount([noise.choice(weights) for _ in range(draws)], minlength=3)
    assert stats.chisquare(seen[:2], draws * np.array([0.75, 0.25])).pvalue > 1e-6
    assert seen[2] == 0


PICKS_DRAWS = 30_000
ORDERS = list(permutations(range(3), 2))
PICKS_SCORES = np.array([0.0, 5.0, 3.0])  # of the three expectations below, handicaps taken off


def asked(scale, picks):
    expected = np.array([6, 3, 1, 1, 3, 2, 8, 3, 1], dtype=np.int64)
    return Search(
        purpose="t",
        bins=(Bins.each("a", 3),),
        tables=np.zeros((3, 1), dtype=np.int64),
        expected=expected,
        handicap=np.array([0, 1, -1]),
        scale=scale,
        picks=picks,
    )


def test_the_scores_are_those_of_this_page_of_picks():
    assert search.scores(asked(1.0, 1), ROWS).tolist() == PICKS_SCORES.tolist()


@pytest.fixture(scope="module")
def picks_seen():
    """How often each order was picked; the exact scores, always the same, are counted once."""
    noise, question = SystemNoise(), asked(SCALE, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "scores", lambda *_: PICKS_SCORES)
        drawn = [ORDERS.index(search.answer(question, ROWS, noise).chosen) for _ in range(PICKS_DRAWS)]
    return np.bincount(drawn, minlength=len(ORDERS))


# Against the law of 0.9 or 1.1 of the scale the noncentrality is 197 or 132, the bound 36: a miss of odds below 10^-6.
@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
def test_two_picks_follow_the_law_of_one_after_the_other_at_the_stated_scale_only(picks_seen, factor):
    odds = np.exp(PICKS_SCORES / (SCALE * factor))
    law = np.array([odds[i] / odds.sum() * odds[j] / (odds.sum() - odds[i]) for i, j in ORDERS])
    p = stats.chisquare(picks_seen, PICKS_DRAWS * law).pvalue
    assert p > 1e-6 if factor == 1.0 else p < 1e-6
