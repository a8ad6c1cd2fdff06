"""Many tables counted together: what a joint block holds, and where it ends."""

import numpy as np
import pytest

from synth.questions import Bins
from synth.sources.rows.encoded import parts
from synth.sources.rows.marginals import AXES, counted, exact, joint_tables


def plan_of(tables, **limits):
    """How the tables would be counted."""
    plans = []
    with pytest.raises(StopIteration):
        joint_tables(tables, lambda _, plan: plans.append(plan) or next(iter(())), square=True, **limits)
    return plans[0]


def merged(column: str) -> Bins:
    """A grouping that puts all positions of a column into one bin, as noise far above the counts makes it."""
    return Bins(column=column, cells=2, starts=np.arange(2), groups=np.zeros(2, dtype=np.int64))


def test_tables_of_single_bins_are_counted_however_many_columns_they_join():
    """A wide table of few rows: more columns of one bin each than an array has axes, after the spend."""
    columns = [f"c{i}" for i in range(100)]
    bins = {n: merged(n) for n in columns}
    tables = [[bins[a], bins[b]] for i, a in enumerate(columns) for b in columns[i + 1 :]]
    result = exact(tables, {n: np.ones(40, dtype=np.int64) for n in columns})
    assert len(result) == 4950
    assert all(t.tolist() == [40] for t in result)
    assert max(len(b) for b in plan_of(tables).blocks) == AXES


def test_the_product_of_marks_counts_as_joint_tables_do():
    """Pairs, one-ways, a table of three, equal groupings under two names, rows left out, batches of odd sizes."""
    rng = np.random.default_rng(0)
    sizes = (2, 5, 3, 7)
    rows = {f"c{i}": rng.integers(0, size, 1000) for i, size in enumerate(sizes)}
    bins = [Bins.each(f"c{i}", size) for i, size in enumerate(sizes)]
    again = Bins.each("c1", 5)
    some = Bins(column="c3", cells=7, starts=np.arange(7), groups=np.array([0, -1, 1, 1, -1, 2, 0]))
    tables = [[a, b] for a in (*bins, some, again) for b in (*bins, some, again)] + [
        [bins[0]],
        [some],
        bins[:3],
        [again],
    ]

    def made(**limits):
        return counted(tables, lambda names, _: parts(rows, names, 300), **limits)

    plain, few = made(), {"many": 5, "held": 700}  # some tens of rows at a time
    for one, two in zip(plain, made(**few), strict=True):
        assert one.tolist() == two.tolist()
    assert plain[0].dtype == made(**few)[1].dtype == np.int64
    assert [plan_of(tables, **limits).square for limits in ({}, few)] == [0, 700]
    assert not plan_of(tables, **few, side=10).square  # too many bins for a square of counts
