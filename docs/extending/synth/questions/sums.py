"""Sums of a column's positions."""

from dataclasses import dataclass

from synth.questions.tables import Question, Release


@dataclass(frozen=True, kw_only=True)
class Sum(Question):
    """Question: the sum over rows of the column's position, 0 to ``cells`` - 1, with Gaussian noise of ``sigma``.

    Errors: ValueError unless sigma is positive.
    Privacy: public only.
    """

    purpose: str
    column: str
    cells: int
    sigma: float

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise ValueError("a positive sigma is needed")


@dataclass(frozen=True, kw_only=True)
class SumRelease(Release):
    """Answer: ``value``, a whole number; the noise may make it negative.

    Privacy: released answers only.
    """

    question: Sum
    value: int
