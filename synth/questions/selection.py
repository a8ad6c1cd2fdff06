"""Choices: which of some public candidates describes the rows worst, or best."""

from dataclasses import dataclass
from math import isfinite, prod

import numpy as np

from synth.questions.tables import Bins

GOALS = ("worst", "nearest")


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice:
    """Question: one of the candidates, chosen with odds exp(score / ``scale``): the exponential mechanism.

    ``tables``: groupings of columns, whose exact counts are compared with ``expected``. With the goal ``worst`` each
    table is a candidate, ``expected[i]`` an array of its shape, and the candidate with the largest sum of absolute
    differences is sought: that sum, in rows, is its score. With ``nearest`` each row of ``expected[0]`` (candidates,
    cells of all tables together) is one, and the candidate whose largest absolute difference is least: its score is
    minus that, in rows.

    **Source**: McSherry and Talwar, Mechanism design via differential privacy, FOCS 2007, Definition 2.

    Errors: ValueError for a goal, scale or expected count out of range or of another shape.
    Privacy: public only.
    """

    purpose: str
    goal: str
    tables: tuple[tuple[Bins, ...], ...]
    expected: tuple[np.ndarray, ...]
    scale: float

    def __post_init__(self) -> None:
        if self.goal not in GOALS:
            raise ValueError(f"goals are {', '.join(GOALS)}")
        if not (isfinite(self.scale) and self.scale > 0) or not self.tables:
            raise ValueError("a positive, finite scale and at least one table are needed")
        shapes = [tuple(b.size for b in table) for table in self.tables]
        results = [e.shape for e in self.expected]
        cells = sum(prod(s) for s in shapes)
        if self.goal == "worst" and results != shapes:
            raise ValueError("expected counts of each table's shape are needed")
        if self.goal == "nearest" and (len(results) != 1 or results[0][1:] != (cells,) or not results[0][0]):
            raise ValueError("for each candidate the expected count of every cell of all tables is needed")
        if not all(np.isfinite(e).all() for e in self.expected):
            raise ValueError("expected counts must be finite")

    @property
    def candidates(self) -> int:
        """Number of candidates."""
        return len(self.tables) if self.goal == "worst" else len(self.expected[0])

    @property
    def cells(self) -> int:
        """Numbers told: one."""
        return 1

    @property
    def sigma(self) -> float:
        """The scale: that of the Gumbel noise which, added to the scores, would make the same choice."""
        return self.scale


@dataclass(frozen=True, kw_only=True)
class ChoiceRelease:
    """Answer: ``index``, the number of the chosen candidate.

    Errors: ValueError where no candidate has this index.
    Privacy: released answers only.
    """

    question: Choice
    index: int

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.question.candidates:
            raise ValueError("the index of a candidate is needed")
