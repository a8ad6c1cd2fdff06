"""Groups cover every position once, in order, and say truthfully what they hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.schema import grouping
from synth.schema.table import Column

COLUMNS = {
    "integer": Column(type="integer", min=-5, max=1000, missing=("", "N")),
    "float": Column(type="float", min=0.5, max=80, decimals=1),
    "date": Column(type="datetime", min="2020-01-01", max="2023-12-31", nullable=True),
    "many": Column(type="categorical", categories=tuple(f"c{i}" for i in range(90)), nullable=True),
    "few": Column(type="ordinal", categories=("low", "mid", "high")),
}


@pytest.mark.parametrize("make", [grouping.fine, grouping.coarse], ids=["fine", "coarse"])
@pytest.mark.parametrize("name", COLUMNS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_position_has_one_group_and_every_group_a_label(name, make, data):
    column = COLUMNS[name]
    rows = data.draw(st.lists(st.integers(0, column.cells - 1), min_size=1, max_size=60))
    groups = make(column, np.array(rows))
    taken = groups.take(np.arange(column.cells))
    assert taken.min() >= 0
    assert set(taken) <= set(range(len(groups.labels)))
    if column.is_numeric:
        assert np.all(np.diff(taken) >= 0)  # neighbours stay neighbours
    assert len(groups.labels) <= (grouping.BARS if make is grouping.fine else grouping.COARSE) + 3


def test_missing_codes_are_groups_of_their_own():
    column = COLUMNS["integer"]
    groups = grouping.fine(column, np.arange(column.size))
    assert groups.labels[-2:] == ("(empty)", "N (missing)")
    assert groups.take(np.array([column.size, column.size + 1])).tolist() == [
        len(groups.labels) - 2,
        len(groups.labels) - 1,
    ]


def test_bins_have_equal_width_and_the_outermost_say_that_they_take_in_the_tails():
    column = COLUMNS["integer"]
    rows = np.concatenate([np.full(500, 105), np.full(500, 205), [1005]])  # values 100, 200 and one 1000
    groups = grouping.fine(column, rows)
    assert np.ptp(np.diff(groups.edges)) == 0
    assert groups.labels[0].startswith("up to")
    assert groups.labels[len(groups.edges) - 2].endswith("and above")
    assert groups.take(np.array([0]))[0] == 0
    assert groups.take(np.array([1005]))[0] == len(groups.edges) - 2


def test_the_commonest_categories_stand_first_and_the_rest_together():
    column = COLUMNS["many"]
    rows = np.concatenate([np.full(50, 7), np.full(20, 3), np.arange(90)])
    groups = grouping.fine(column, rows)
    assert groups.labels[:2] == ("c7", "c3")
    assert groups.labels[-1] == "all 61 others"
    assert len(groups.labels) == grouping.BARS + 1


def test_an_ordinal_keeps_its_order():
    groups = grouping.fine(COLUMNS["few"], np.array([2, 2, 2, 1, 1, 0]))
    assert groups.labels == ("low", "mid", "high")


def test_dates_are_written_as_dates():
    groups = grouping.coarse(COLUMNS["date"], np.arange(COLUMNS["date"].size))
    assert groups.labels[0].startswith("2020-01-01 to 2020-")
