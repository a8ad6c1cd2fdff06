"""Numbers and dates as text, one by one and in one go; intervals behave like the set of positions they stand for."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schema import codec, literals
from synth.schema.intervals import Intervals
from synth.schema.table import Column, Schema


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        (["3", "-1", "+20", "19.0"], (-1, 20)),
        (["0"], (0, 0)),
        (["-0", "0.0"], (0, 0)),
        (["2.00E+05", "7"], (7, 200_000)),
        (["9007199254740993", "9007199254740992"], (9007199254740992, 9007199254740993)),
        (["007", "1"], None),
        (["1.5"], None),
        (["1", "x"], None),
        (["1", ""], None),
        (["1,000"], None),
        (["1_0"], None),
        (["\u0661"], None),
    ],
)
def test_whole_numbers_have_exact_bounds(values, bounds):
    assert literals.whole(values) == bounds


@pytest.mark.parametrize(
    ("values", "grid"),
    [
        (["1.25", "-3"], (-3.0, 1.25, 2, None)),
        ([".5", "2."], (0.5, 2.0, 1, None)),
        (["1e-3", "1"], (0.001, 1.0, 3, None)),
        (["1.5e1", "0.1"], (0.1, 15.0, 1, None)),
        (["0.12345678949", "1"], (0.123456789, 1.0, 9, None)),  # moved outwards, not to the nearest
        (["0.5", "inf", "-Infinity"], (0.5, 0.5, 1, None)),
        (["1e20", "1"], (0.0, 1e20, 0, 1e5)),
        (["inf"], None),
        (["0.5", "nan"], None),
        (["00.5", "1"], None),
        (["1e999", "1"], None),
    ],
)
def test_decimal_numbers_have_bounds_on_a_grid(values, grid):
    result = literals.decimal(values)
    assert (result and (result.low, result.high, result.decimals, result.resolution)) == grid


@given(st.lists(st.floats(-1e300, 1e300), min_size=1))
def test_any_floats_lie_within_their_bounds_and_at_most_2_to_53_steps(numbers):
    result = literals.decimal([repr(x) for x in numbers])
    assert result is not None
    assert result.low <= min(numbers)
    assert result.high >= max(numbers)
    step = Decimal(repr(result.resolution)) if result.resolution else Decimal(1).scaleb(-result.decimals)
    assert (Decimal(result.high) - Decimal(result.low)) / step <= 2**53


@pytest.mark.parametrize(
    ("values", "span"),
    [
        (["2020-01-31", "0001-01-01"], ("0001-01-01", "2020-01-31", "day")),
        (["2020-01-31T10:00:00", "2020-01-31"], ("2020-01-31T00:00:00", "2020-01-31T10:00:00", "second")),
        (["2020-01-31 10:00", "2020-01-31 09:59:59.9"], ("2020-01-31T09:59:59", "2020-01-31T10:00:00", "second")),
        (["2020-02-30"], None),
        (["31.01.2020"], None),
        (["2020-01-31", "soon"], None),
        (["2020-01-31T10:00:00Z"], None),
        (["0000-01-01"], None),
        (["20200131"], None),
    ],
)
def test_dates_have_a_span(values, span):
    result = literals.dates(values)
    assert (result and (result.first, result.last, result.resolution)) == span


def test_numbers_are_sorted_by_value():
    assert literals.sorted_numbers(["10", "9", "-1.5", "1e2"]) == ["-1.5", "9", "10", "1e2"]
    assert literals.sorted_numbers(["10", "N"]) is None


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(-5, 9, None), (-10, 90, 10), (0, 1_500_000, None), (-(2**61), 2**61, None), (0, 9 * 10**18, None)],
)
def test_the_text_of_an_integer_is_that_of_its_value(low, high, step):
    """First, last and others between, missing codes among them; 9e18 is beyond what is written in one go."""
    column = Column(type="integer", min=low, max=high, resolution=step, missing=("?", "NA"))
    rng = np.random.default_rng(0)
    places = np.append(rng.integers(0, column.size, 500), [0, column.size - 1, column.size, column.size + 1, 0])
    schema = Schema(columns={"x": column})
    result, none = (codec.decode({"x": p}, schema, num_rows=len(p))["x"].to_pylist() for p in (places, places[:0]))
    valid = [str(low + (step or 1) * p) if p < column.size else ["?", "NA"][p - column.size] for p in places.tolist()]
    assert (result, none) == (valid, [])


@pytest.mark.parametrize("rows", [10, 5000, 200_000])
def test_positions_are_told_apart_whether_they_are_sorted_or_listed(rows):
    places = np.random.default_rng(1).integers(0, 1_000_000, rows)
    distinct, index = codec._distinct(places, 1_000_000)
    assert np.array_equal(distinct, np.unique(places))
    assert np.array_equal(distinct[index], places)


spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6)


@given(spans)
def test_like_a_set(pairs):
    made = Intervals.of(pairs)
    members = sorted({p for a, b in pairs for p in range(a, b)})
    places = np.arange(45)
    assert made.size == len(members)
    assert made.listed().tolist() == members
    assert made.holds(places).tolist() == [p in members for p in places]
    assert made.below(places).tolist() == [sum(m < p for m in members) for p in places]
    assert made.other(45).listed().tolist() == [p for p in places if p not in members]
    assert np.all(made.starts[1:] > made.ends[:-1])


def test_a_wide_range_takes_no_memory():
    made = Intervals.of([(0, 2**52)])
    assert made.size == 2**52
    assert made.nth(np.array([2**51])).tolist() == [2**51]
