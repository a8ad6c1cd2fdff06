"""Intervals behave like the set of positions that they stand for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from synth.schema.intervals import Intervals

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
