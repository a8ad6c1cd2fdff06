"""Tables of weights: what the rows of a cell weigh together, each row's weight cut off at a public bound."""

from dataclasses import dataclass

import numpy as np

from synth.questions.tables import Bins, Marginal

BOUND = 1 << 20  # units of the lattice that weights lie on: the most a row can weigh


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedCounts:
    """Question: these tables, to whose cells a row adds its weight instead of 1.

    ``by``: the grouping of the weight's own column; ``units`` (by.size,): the weight of a row of each of its bins, in
    whole units from 0 to ``BOUND``. The noise of each marginal is in units too. A row that ``by`` leaves out adds
    nothing.

    Errors: ValueError for units that are no whole numbers within the bound, and for a table of the weight itself.
    Privacy: public only.
    """

    purpose: str
    marginals: tuple[Marginal, ...]
    by: Bins
    units: np.ndarray

    def __post_init__(self) -> None:
        units = np.array(self.units)
        if units.dtype != np.int64 or units.shape != (self.by.size,) or units.min() < 0 or units.max() > BOUND:
            raise ValueError(f"a weight from 0 to {BOUND} units, int64, for each bin of the weight")
        if any(self.by.column in m.columns for m in self.marginals):
            raise ValueError("a table of weights counts other columns than the weight")
        units.setflags(write=False)
        object.__setattr__(self, "units", units)


@dataclass(frozen=True, kw_only=True)
class WeightedCountsRelease:
    """Answer: for each marginal its noisy weights in units, an int64 array of the marginal's shape.

    A value is the exact sum plus a Gaussian of the marginal's sigma, rounded to a whole unit; it may be negative.

    Errors: ValueError where a table has another shape than its marginal.
    Privacy: released answers only.
    """

    question: WeightedCounts
    values: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if [v.shape for v in self.values] != [m.shape for m in self.question.marginals]:
            raise ValueError("an array of each marginal's shape is needed")
