"""Counts with Laplace noise, and comparisons of a count with a public guess: questions of pure privacy."""

from dataclasses import dataclass
from math import isfinite, prod

import numpy as np

from synth.questions.tables import Bins


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """Question: these tables of counts, with discrete Laplace noise of ``scale`` rows on each cell.

    **Source**: Dwork, McSherry, Nissim, Smith, TCC 2006; discrete: Ghosh, Roughgarden, Sundararajan, arXiv 0811.2841.

    Errors: ValueError without tables or a positive, finite scale.
    Privacy: public only.
    """

    purpose: str
    tables: tuple[tuple[Bins, ...], ...]
    scale: float

    def __post_init__(self) -> None:
        if not (isfinite(self.scale) and self.scale > 0) or not all(self.tables) or not self.tables:
            raise ValueError("a positive, finite scale and at least one table are needed")

    @property
    def sigma(self) -> float:
        """The scale."""
        return self.scale


@dataclass(frozen=True, kw_only=True)
class LaplaceRelease:
    """Answer: for each table its noisy counts, int64, of the table's shape; they may be negative.

    Errors: ValueError where a table has another shape.
    Privacy: released answers only.
    """

    question: Laplace
    values: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if [v.shape for v in self.values] != [tuple(b.size for b in t) for t in self.question.tables]:
            raise ValueError("counts of each table's shape are needed")


@dataclass(frozen=True, kw_only=True)
class Above:
    """Question: is the number of rows in a box farther than ``threshold`` from ``expected``? AboveThreshold.

    ``box``: for each column of the box the positions in group 0; rows elsewhere (group -1) are outside. ``expected``,
    ``threshold``: whole numbers of rows, public. ``number``: of the round; questions of one round are paid for once,
    until one of them is answered "above", and have one ``scale``: that of the threshold's noise, twice as much on each
    count.

    **Source**: Dwork, Naor, Reingold, Rothblum, Vadhan, STOC 2009; Lyu, Su, Li, arXiv 1603.01699, Algorithm 1.

    Errors: ValueError for a box of several cells, numbers that are not whole, or a scale that is not positive.
    Privacy: public only.
    """

    purpose: str
    number: int
    box: tuple[Bins, ...]
    expected: int
    threshold: int
    scale: float

    def __post_init__(self) -> None:
        if not self.box or prod(b.size for b in self.box) != 1:
            raise ValueError("a box is one cell of some columns")
        if not (isfinite(self.scale) and self.scale > 0):
            raise ValueError("a positive, finite scale is needed")
        if not all(isinstance(v, int) for v in (self.number, self.expected, self.threshold)):
            raise ValueError("round, expected count and threshold are whole numbers")

    @property
    def sigma(self) -> float:
        """The scale."""
        return self.scale


@dataclass(frozen=True, kw_only=True)
class AboveRelease:
    """Answer: ``above``, whether the noisy distance reached the noisy threshold; if so, the round is over.

    Privacy: released answers only.
    """

    question: Above
    above: bool
