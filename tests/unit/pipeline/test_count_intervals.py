"""Intervals from released counts cover what they say, and are made of all tables that tell of a column."""

import numpy as np
import pytest

import synth
from synth.pipeline.inference.released_counts import averaged, shares
from synth.questions import Bins, Counts, CountsRelease, Marginal
from tests.conftest import SMALL, small_frame
from tests.made import ran

LAW = np.array([0.5, 0.3, 0.15, 0.05])


def _finest(releases, columns):
    return max(averaged(releases, columns, every=True), key=lambda t: t.counts.size, default=None)


@pytest.mark.parametrize("public", [True, False])
def test_shares_are_covered_as_often_as_they_say(public):
    """4,000 samples of 500 rows under noise of 15 rows, four cells each: within 4.9 deviations of 95 %."""
    rng, rows, sigma, repetitions = np.random.default_rng(3), 500, 15.0, 4000
    hits = np.zeros((repetitions, 4), dtype=bool)
    bare = np.zeros((repetitions, 4), dtype=bool)
    for i in range(repetitions):
        counts = rng.multinomial(rows, LAW) + sigma * rng.standard_normal(4)
        share, half = shares(counts, sigma**2, rows=rows if public else None)
        hits[i] = np.abs(share - LAW) <= half
        bare[i] = np.abs(share - LAW) <= shares(counts, 0.0, rows=rows)[1]
    worst = np.abs(hits.mean(0) - 0.95).max()
    assert worst < 4.9 * np.sqrt(0.95 * 0.05 / repetitions) + 0.012  # p in the variance is estimated, cells are skew
    assert bare.mean(0).min() < 0.8  # without the noise: the evil twin


def test_tables_on_the_same_bins_are_averaged_by_precision():
    a, b = Bins.each("a", 2), Bins.each("b", 3)
    question = Counts(purpose="p", marginals=(Marginal(bins=(a,), sigma=2.0), Marginal(bins=(b, a), sigma=1.0)))
    pair = np.array([[1, 2], [3, 4], [5, 6]])
    release = CountsRelease(question=question, values=(np.array([10, 10]), pair))
    table = _finest([release], ("a",))
    v1, v2 = 4 + 1 / 12, 3 * (1 + 1 / 12)
    assert np.allclose(table.counts, (np.array([10, 10]) / v1 + np.array([9, 12]) / v2) / (1 / v1 + 1 / v2))
    assert table.variance == pytest.approx(1 / (1 / v1 + 1 / v2))
    assert _finest([release], ("a", "b")).counts == pytest.approx(pair.T)
    assert _finest([release], ("a", "c")) is None


def test_a_release_answers_and_refuses(tmp_path):
    ran(small_frame(400), SMALL, out=tmp_path / "out", ledger=tmp_path / "l.sqlite", method="independent")
    cells = synth.app_api.count_intervals(tmp_path / "out", ["sex"])
    assert [c["values"] for c in cells] == [["f"], ["m"]]
    assert all(c["low"] <= c["share"] <= c["high"] for c in cells)
    assert sum(c["share"] for c in cells) == pytest.approx(1)
    for wrong in (["sex", "ill"], ["id"], []):
        with pytest.raises(synth.UsageError):
            synth.app_api.count_intervals(tmp_path / "out", wrong)
