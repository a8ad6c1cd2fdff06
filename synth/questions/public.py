"""What a public table says of the cells that private rows are asked for: exact counts, which cost nothing."""

from dataclasses import dataclass

import numpy as np

from synth.questions.linked import Linked
from synth.questions.tables import Counts


@dataclass(frozen=True, kw_only=True)
class PublicCounts:
    """A public table's exact counts at a question's cells, kept among the answers so that fits need no other file.

    ``values``: an int64 array of each marginal's shape; zeros for marginals of a column in ``missing``, which the table
    lacks. ``name``, ``sha256``: of the public file. ``num_rows``: its rows. The noise of ``question`` says nothing.

    Errors: ValueError where a table has another shape than its marginal.
    Privacy: public only.
    """

    question: Counts
    values: tuple[np.ndarray, ...]
    name: str
    sha256: str
    num_rows: int
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if [v.shape for v in self.values] != [m.shape for m in self.question.marginals]:
            raise ValueError("an array of each marginal's shape is needed")


@dataclass(frozen=True, kw_only=True)
class PublicLinked:
    """Public related tables' exact weighted counts at a question's cells, in roots, kept as ``PublicCounts`` are.

    ``values``: a float64 array of each marginal's shape; zeros for marginals of a place in ``missing``. ``sha256``: of
    all files. ``num_rows``: roots. The noise of ``question`` says nothing.

    Errors: ValueError where a table has another shape than its marginal.
    Privacy: public only.
    """

    question: Linked
    values: tuple[np.ndarray, ...]
    name: str
    sha256: str
    num_rows: int
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if [v.shape for v in self.values] != [m.shape for m in self.question.marginals]:
            raise ValueError("an array of each marginal's shape is needed")
