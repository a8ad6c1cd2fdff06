"""A text of one unit alone passes its threshold as rarely as was paid for; evil twins pass too often.

False alarms are below 10^-6. Of 40,000 lonely texts 400 may pass: with a tenth more noise 690 do, seven errors beyond
the limit. Noise that is a tenth too small is caught by the sum of squares of told counts, of which 5,000 draws overlook
a tenth too little or too much less than once in 10^6.
"""

from math import log

import numpy as np
import pytest
from scipy import stats

from synth.mechanisms import values
from synth.pipeline.learn_schema import Words
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Values

TRIALS = 40_000


def adjacency(most: int) -> Adjacency:
    return Adjacency(relation=Relation.ADD_REMOVE, unit="row" if most == 1 else "person", max_rows=most)


def reported_share(most: int, *, sigma: float, bound: float) -> float:
    """Share of lonely texts (each held by one unit alone, by all its rows) that the mechanism tells."""
    codes = np.repeat(np.arange(TRIALS), most)
    rows = {"x": Words(np.array([f"t{i:05d}" for i in range(TRIALS)]), codes)}
    release = values.answer(Values(purpose="t", column="x", sigma=sigma, threshold=bound), rows, SystemNoise())
    return len(release.texts) / TRIALS


def too_often(share: float, allowed: float) -> bool:
    """Whether so many successes are incredible (1e-6) at the allowed probability."""
    return bool(stats.binom.sf(round(share * TRIALS) - 1, TRIALS, allowed) < 1e-6)


@pytest.mark.parametrize("most", [1, 3])
def test_lonely_texts_are_told_no_more_often_than_paid_for(most):
    sigma, failure = 8.0, 0.01
    bound = values.threshold(adjacency(most), sigma=sigma, failure_delta=failure)
    per_text = values.failure(adjacency(most), sigma=sigma, threshold=bound) / most
    share = reported_share(most, sigma=sigma, bound=bound)
    assert not too_often(share, failure / most)
    assert share > 0.3 * per_text, "a threshold far too high wastes accuracy"


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("twin", ["no rows of its own", "noise wider than stated"])
def test_evil_twins_are_caught(most, twin):
    sigma, failure = 8.0, 0.01
    bound = values.threshold(adjacency(most), sigma=sigma, failure_delta=failure)
    if twin == "no rows of its own":  # the unit's own rows are forgotten in the threshold
        bound -= 3 * most
    share = reported_share(most, sigma=sigma * (1.25 if twin.startswith("noise") else 1.0), bound=bound)
    assert too_often(share, failure / most)


def test_counts_told_carry_the_stated_noise():
    rows = {"x": Words(np.array([f"t{i:05d}" for i in range(5000)]), np.repeat(np.arange(5000), 200))}
    release = values.answer(Values(purpose="t", column="x", sigma=7.0, threshold=100.0), rows, SystemNoise())
    assert len(release.texts) == 5000
    z = (np.sum((release.counts - 200.0) ** 2) / (49 + 1 / 12) - 5000) / np.sqrt(2 * 5000)
    assert abs(z) < 4.9


def test_texts_come_in_their_own_order():
    texts = np.array(["b", "a", "c"])
    rows = {"x": Words(texts, np.repeat([2, 0, 1], 1000))}
    release = values.answer(Values(purpose="t", column="x", sigma=1.0, threshold=50.0), rows, SystemNoise())
    assert release.texts == ("a", "b", "c")


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("sigma", [0.8, 20.0, 4000.0])
@pytest.mark.parametrize("failure", [1e-12, 1e-6, 1e-3])
def test_threshold_is_on_the_safe_side_of_its_failure(relation, most, sigma, failure):
    adjacency = Adjacency(relation=relation, unit="row" if most == 1 else "p", max_rows=most)
    bound = values.threshold(adjacency, sigma=sigma, failure_delta=failure)
    reached = values.failure(adjacency, sigma=sigma, threshold=bound)
    assert reached <= failure
    assert log(failure / reached) < 0.01
