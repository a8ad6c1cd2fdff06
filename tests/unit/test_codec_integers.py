"""Whole numbers become text in one go: the same text as number by number, wherever they fit into 64 bits."""

import numpy as np
import pytest

from synth.schema import codec
from synth.schema.column import Column


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(-5, 9, None), (-10, 90, 10), (0, 1_500_000, None), (-(2**61), 2**61, None), (0, 9 * 10**18, None)],
)
def test_the_text_of_an_integer_is_that_of_its_value(low, high, step):
    """First, last and others between, missing codes among them; 9e18 is beyond what is written in one go."""
    column = Column(type="integer", min=low, max=high, resolution=step, missing=("?", "NA"))
    rng = np.random.default_rng(0)
    places = np.append(rng.integers(0, column.size, 500), [0, column.size - 1, column.size, column.size + 1, 0])
    result = codec._texts(column, places).to_pylist()
    valid = [str(low + (step or 1) * p) if p < column.size else ["?", "NA"][p - column.size] for p in places.tolist()]
    assert result == valid
    assert codec._is_whole(column) == (high < 2**62)
    assert codec._texts(column, places[:0]).to_pylist() == []


@pytest.mark.parametrize("rows", [10, 5000, 200_000])
def test_positions_are_told_apart_whether_they_are_sorted_or_listed(rows):
    places = np.random.default_rng(1).integers(0, 1_000_000, rows)
    distinct, index = codec._distinct(places, 1_000_000)
    assert np.array_equal(distinct, np.unique(places))
    assert np.array_equal(distinct[index], places)
