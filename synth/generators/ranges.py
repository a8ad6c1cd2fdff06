"""What a method's options may be: a range of numbers, or one of some words."""

from dataclasses import dataclass
from math import isfinite
from typing import Any


@dataclass(frozen=True)
class Between:
    """A finite number from ``least`` to ``most``, both allowed.

    >>> Between(1, 3).admits(3), Between(0.0, 1.0).admits(float("nan"))
    (True, False)
    """

    least: float
    most: float

    def admits(self, value: Any) -> bool:
        """Whether the option may be this."""
        return isinstance(value, int | float) and isfinite(value) and self.least <= value <= self.most

    def __str__(self) -> str:
        return f"a number from {self.least:g} to {self.most:g}"


@dataclass(frozen=True)
class OneOf:
    """One of some words, or, with ``most``, a whole number from 1 to it written as text.

    >>> OneOf(("auto",), most=9).admits("3"), OneOf(("auto",)).admits("3")
    (True, False)
    """

    words: tuple[str, ...]
    most: int = 0

    def admits(self, value: Any) -> bool:
        """Whether the option may be this."""
        text = str(value)
        digits = text.isascii() and text.isdecimal() and len(text) <= len(str(self.most))
        return text in self.words or (digits and 1 <= int(text) <= self.most)

    def __str__(self) -> str:
        listed = f"one of {', '.join(self.words)}"
        return f"{listed}, or a whole number from 1 to {self.most}" if self.most else listed


Range = Between | OneOf
SHARE = Between(0.01, 0.99)  # a part of the budget, which leaves some for what else is asked
NONE_OR_SHARE = Between(0.0, 0.99)  # likewise, or nothing at all (gradients/trained.py)
STEPS = Between(1, 1_000_000)
COMPONENTS, ENSEMBLES = Between(1, 2000), Between(1, 32)
FREQUENCIES, ORDER = Between(1, 100_000), Between(1, 16)
RATE = Between(1e-12, 1.0)  # of Adam
