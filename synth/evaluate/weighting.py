"""How close a table comes when its rows are weighted by the survey's weight. For the steward alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from synth.evaluate.association import shares_of, tv
from synth.evaluate.read_sample import Sample
from synth.schema.grouping import Groups

Codes = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Weighted:
    """Distances of weighted shares, in at most 12 groups a column (and missing codes).

    ``by``: the weight's column. ``columns``: by column the total variation between the real and the synthetic table's
    shares of all weight. ``pairs``: the mean over pairs of columns, None where there are none. ``means``: the mean
    weight of a real and of a synthetic row. **Guarantee**: none; from real rows.
    """

    by: str
    columns: Mapping[str, float] = field(repr=False)
    pairs: float | None = field(repr=False)
    means: tuple[float, float] = field(repr=False)

    @property
    def mean(self) -> float:
        """Mean distance over the columns."""
        return float(np.mean(list(self.columns.values())))


def weighted(
    real: Sample, synthetic: Sample, groups: Mapping[str, Groups], codes: tuple[Codes, Codes], by: str
) -> Weighted | None:
    """Weighted distances of all columns but the weight itself; None where it is the only one, or weighs nothing.

    ``codes``: of each table the group (num_rows,) of every row. A missing weight is 0.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    names = [n for n in groups if n != by]
    weights = [np.nan_to_num(s.values(by)) for s in (real, synthetic)]
    if not names or min(w.sum() for w in weights) <= 0:
        return None
    sizes = {n: len(groups[n].labels) for n in names}

    def apart(sides: Iterable[np.ndarray], size: int) -> float:
        return tv(*(shares_of(c, size, w) for c, w in zip(sides, weights, strict=True)))

    single = {n: apart((c[n] for c in codes), sizes[n]) for n in names}
    pairs = [
        apart((c[a].astype(np.int64) * sizes[b] + c[b] for c in codes), sizes[a] * sizes[b])
        for a, b in combinations(names, 2)
    ]
    return Weighted(
        by=by,
        columns=single,
        pairs=float(np.mean(pairs)) if pairs else None,
        means=(float(weights[0].mean()), float(weights[1].mean())),
    )
