"""Round numbers are counted apart, each row once at most, and drawn as often as they were counted."""

from dataclasses import replace

import numpy as np
import pytest

from synth.generators.base import Setting
from synth.generators.core.columns import Histogram, _parts
from synth.generators.core.mixture import axis
from synth.generators.core.oneways import has_heaping, heaping_question
from synth.schema.table import parse
from tests.made import codes, facts_of, number

STATE = Setting(schema=parse(facts_of(x=codes("a", "b"))), mu=0.27, sensitivity=1.0)


def _column(low: int = -100, high: int = 99_999):
    about = number(low, high, missing=["?", "-"])
    return parse(facts_of(x=about)).columns["x"]


def _flat(column, edges: list[int]) -> Histogram:
    starts = np.array(edges, dtype=np.int64)
    return Histogram(column="x", cells=column.cells, starts=starts, mass=np.full(len(starts), 1000.0), sigma=1.0)


@pytest.mark.parametrize("low", [-100, -99_999, 0, 17])
def test_every_position_counts_once_at_most_and_missing_ones_never(low):
    column = _column(low=low)
    result = _flat(column, [0, 5, 6, column.size // 3, column.size // 2, column.size])
    asked = heaping_question(result, column, STATE, share=0.1)
    bins = asked.bins[0]
    places = np.repeat(bins.groups, bins.widths)
    assert len(places) == column.cells
    assert (places[column.size :] == -1).all(), "missing codes are no round numbers"
    assert places[5] == -1, "a value that stands alone already is left out"
    assert set(places) == {-1, *range(bins.size)}, "no cell is empty"


def test_rows_are_as_round_as_they_were_counted_and_bins_keep_their_mass():
    column = _column()
    result = _flat(column, [0, 100, 101, 20_100, 50_100, column.size])
    asked = replace(heaping_question(result, column, STATE, share=0.1), sigma=1.0)
    rng = np.random.default_rng(0)
    values = rng.integers(20_000, 50_000, 20_000)
    values[:12_000] = values[:12_000] // 1000 * 1000
    places = np.repeat(asked.bins[0].groups, asked.bins[0].widths)[values + 100]
    counts = np.bincount(places[places >= 0], minlength=asked.bins[0].size)
    mass = np.array([0.0, 0, 0, 20_000, 0, 0])
    reported = replace(result, mass=mass, heaping=((asked, counts.astype(float)),))
    groups = np.arange(len(mass))
    made = axis(reported, groups, (mass / mass.sum())[None, :])
    alone = made.widths == 1
    thousands = made.within[alone & ((made.starts - 100) % 1000 == 0) & (made.groups == 3)].sum()
    assert np.isclose(thousands, 0.6, atol=0.01)
    assert np.isclose(made.within[made.groups == 3].sum(), 1.0, atol=1e-5)


def test_without_wide_whole_numbers_nothing_is_asked():
    about = number(0, 1, decimals=6)
    assert not has_heaping(parse(facts_of(x=about)).columns["x"])
    assert not has_heaping(_column(0, 500))


def test_parts_that_noise_tells_apart_alone_are_even_and_spikes_stay():
    rng = np.random.default_rng(1)
    noisy = 10 + 50 * rng.standard_normal(32)
    even = _parts(noisy, 320.0, 50.0, 50.0)
    assert even.std() < 0.3 * np.maximum(noisy, 0).std()
    noisy[7] = 900.0
    assert _parts(noisy, 1210.0, 50.0, 50.0)[7] > 700
