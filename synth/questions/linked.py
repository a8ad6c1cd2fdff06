"""Weighted tables over rows that belong to roots: what is asked of related tables, and what came back."""

from dataclasses import dataclass
from math import floor, log2
from typing import Literal, get_args

import numpy as np

from synth.questions.tables import Marginal

View = Literal["rows", "first", "last", "steps", "far", "siblings"]
FAR = 4  # rows of a parent from which on the view far has entries
NEAR = 49  # of more siblings in no order each is paired with so many after it, in their secret order
OTHER = "+"  # stands before a column of the second row of a pair


@dataclass(frozen=True, kw_only=True)
class Linked:
    """Question: tables of counts in which the rows, or pairs of rows, of one root weigh at most 1 together.

    ``table``: whose rows. ``view``: ``rows``, each with its ancestors; ``first`` and ``last``, of each parent's events;
    ``steps``, from one event to the next; ``far``, of ``FAR`` events or more from one to that half a history later;
    ``siblings``, every ordered pair of one parent's rows, of many those ``NEAR`` each other in an order drawn by
    chance. Each weighs one part of what the parent weighs, as many parts as there are of them under that parent.
    Columns of the tables are named by ``place``. ``most``: how many of them one root has, a public bound.
    Errors: ValueError for another view.
    Privacy: public only.
    """

    purpose: str
    table: str
    view: View
    most: int
    marginals: tuple[Marginal, ...]

    def __post_init__(self) -> None:
        if self.view not in get_args(View) or self.most < 1:
            raise ValueError("a linked question needs a known view, and at least one row of a root")


@dataclass(frozen=True, kw_only=True)
class LinkedRelease:
    """Answer: for each marginal its noisy weighted counts, float64 of its shape, whole multiples of ``grain(sigma)``.

    They count roots' worth of rows; anything computed from a release is free. Errors: ValueError for arrays of other
    shapes. Privacy: released answers only.
    """

    question: Linked
    values: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if [v.shape for v in self.values] != [m.shape for m in self.question.marginals]:
            raise ValueError("an array of each marginal's shape is needed")


def place(table: str, column: str, *, other: bool = False) -> str:
    """The name of a table's column in a linked question; ``other``: in the second row of a pair. Privacy: public only.

    >>> place("stays", "ward"), place("stays", "ward", other=True)
    ('stays/ward', '+stays/ward')
    """
    return f"{OTHER if other else ''}{table}/{column}"


def placed(name: str) -> tuple[str, str, bool]:
    """What ``place`` named: no table's name holds a stroke or a plus sign. Privacy: public only.

    >>> placed("+stays/length/days")
    ('stays', 'length/days', True)
    """
    table, _, column = name.removeprefix(OTHER).partition("/")
    return table, column, name.startswith(OTHER)


def grain(sigma: float) -> float:
    """The step on which weighted counts with this noise are told: 1, or a power of two well below smaller noise.

    Privacy: public only.

    >>> grain(30.0), grain(3.0)
    (1.0, 0.5)
    """
    return min(1.0, 2.0 ** floor(log2(sigma / 4)))
