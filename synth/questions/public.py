"""What a public table says of the cells that private rows are asked for: exact counts, which cost nothing."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from synth.questions.linked import Linked
from synth.questions.tables import Counts


@dataclass(frozen=True, kw_only=True)
class PublicAnswers:
    """What a public table, or related ones, have at a question's cells, kept so that fits need no file.

    ``values``: an array of each marginal's shape; zeros for marginals of a column or place in ``missing``. ``name``,
    ``sha256``: of the public file or files. ``num_rows``: rows, of related tables roots. The noise of ``question`` says
    nothing.

    Errors: ValueError where a table has another shape than its marginal.
    Privacy: public only.
    """

    question: Any
    values: tuple[np.ndarray, ...]
    name: str
    sha256: str
    num_rows: int
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if [v.shape for v in self.values] != [m.shape for m in self.question.marginals]:
            raise ValueError("an array of each marginal's shape is needed")


@dataclass(frozen=True, kw_only=True)
class PublicCounts(PublicAnswers):
    """A public table's exact counts, int64. Privacy: public only.

    Of an earlier release, whose rows err as its model does, also what its noisy ``answers`` say of the same cells, in
    its own number of rows, and their ``variance``: an array of each marginal's shape, zeros where it was not asked;
    both are empty where none was.

    Errors: ValueError for arrays of another shape than their marginal's.
    """

    question: Counts
    answers: tuple[np.ndarray, ...] = ()
    variance: tuple[np.ndarray, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for arrays in (self.answers, self.variance):
            if arrays and [v.shape for v in arrays] != [m.shape for m in self.question.marginals]:
                raise ValueError("an array of each marginal's shape is needed")


@dataclass(frozen=True, kw_only=True)
class PublicLinked(PublicAnswers):
    """Public related tables' exact weighted counts, float64, in roots. Privacy: public only."""

    question: Linked
