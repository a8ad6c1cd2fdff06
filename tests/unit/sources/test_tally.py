"""Many tables counted together: what a joint block holds, and where it ends."""

import numpy as np

from synth.questions import Bins
from synth.sources.rows.marginals import AXES, MarginalCounter, count


def merged(column: str) -> Bins:
    """A grouping that puts all positions of a column into one bin, as noise far above the counts makes it."""
    return Bins(column=column, cells=2, starts=np.arange(2), groups=np.zeros(2, dtype=np.int64))


def test_tables_of_single_bins_are_counted_however_many_columns_they_join():
    """A wide table of few rows: more columns of one bin each than an array has axes, after the spend."""
    columns = [f"c{i}" for i in range(100)]
    bins = {n: merged(n) for n in columns}
    counter = MarginalCounter([[bins[a], bins[b]] for i, a in enumerate(columns) for b in columns[i + 1 :]])
    found = count([{n: np.ones(40, dtype=np.int64) for n in columns}], counter)
    assert len(found) == 4950
    assert all(t.tolist() == [40] for t in found)
    assert max(len(b) for b in counter._blocks) == AXES
