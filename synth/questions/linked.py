"""Weighted tables over rows that belong to roots: what is asked of related tables, and what came back."""

from dataclasses import dataclass
from math import floor, log2
from typing import Literal, get_args

import numpy as np

from synth.questions.tables import Counts, Marginal, MarginalsRelease, Question

View = Literal["rows", "first", "last", "steps", "far", "siblings"]
FAR = 4  # rows of a parent from which on the view far has entries
NEAR = 49  # of more siblings in no order each is paired with so many after it, in their secret order
OTHER = "+"  # stands before a column of the second row of a pair


@dataclass(frozen=True, kw_only=True)
class Linked(Question):
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
class LinkedRelease(MarginalsRelease):
    """Answer: for each marginal its noisy weighted counts, float64 of its shape, whole multiples of ``grain(sigma)``.

    They count roots' worth of rows; anything computed from a release is free. Errors: ValueError for arrays of other
    shapes. Privacy: released answers only.
    """

    question: Linked


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


@dataclass(frozen=True, kw_only=True)
class PublicAnswers(MarginalsRelease):
    """What a public table, or related ones, have at a question's cells, kept so that fits need no file.

    ``values``: an array of each marginal's shape; zeros for marginals of a column or place in ``missing``. ``name``,
    ``sha256``: of the public file or files. ``num_rows``: rows, of related tables roots. The noise of ``question`` says
    nothing.

    Errors: ValueError where a table has another shape than its marginal.
    Privacy: public only.
    """

    name: str
    sha256: str
    num_rows: int
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PublicCounts(PublicAnswers):
    """A public table's exact counts, int64. Privacy: public only.

    Of an earlier release, whose rows err as its model does, also what its noisy ``answers`` say of the same cells, in
    its own number of rows, and their ``variance``: an array of each marginal's shape, zeros where it was not asked;
    both are empty where none was. Of a public file, where private rows are few, some of its ``rows`` (n, marginals)
    int64, as the marginals' cells.

    Errors: ValueError for arrays of another shape than their marginal's, and for rows in none of their cells.
    """

    question: Counts
    answers: tuple[np.ndarray, ...] = ()
    variance: tuple[np.ndarray, ...] = ()
    rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = [m.cells for m in self.question.marginals]
        if (rows := self.rows) is not None and not (
            rows.dtype == np.int64
            and rows.ndim == 2
            and rows.shape[1] == len(sizes)
            and rows.size
            and (rows >= 0).all()
            and (rows < sizes).all()
        ):
            raise ValueError("rows are cells of the marginals")
        for arrays in (self.answers, self.variance):
            if arrays and [v.shape for v in arrays] != [m.shape for m in self.question.marginals]:
                raise ValueError("an array of each marginal's shape is needed")


@dataclass(frozen=True, kw_only=True)
class PublicLinked(PublicAnswers):
    """Public related tables' exact weighted counts, float64, in roots. Privacy: public only."""

    question: Linked
