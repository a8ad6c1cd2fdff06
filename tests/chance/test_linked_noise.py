"""Noise of weighted tables of related rows has the deviation that the question states: no less, and no more.

By the sum of squares of 20,000 draws: a false alarm twice in 10^8; noise a tenth too small or too large is overlooked
less than once in 10^12.
"""

import numpy as np
import pytest
from scipy import stats

from synth.mechanisms import linked
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Linked, Marginal
from synth.questions.linked import grain, place
from synth.sources.rows.forest import Branch, Forest

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
