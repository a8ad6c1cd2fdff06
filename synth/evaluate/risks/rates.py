"""How often attacks succeed, with Wilson intervals, and what that says beyond rows that the run never saw."""

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from synth.lazy import Lazy

special = Lazy("scipy.special")

LEVEL = 0.95  # of every interval


@dataclass(frozen=True, kw_only=True)
class Rate:
    """``hits`` of ``attacks``; ``value`` and ``error``: middle and half width of Wilson's interval of that level."""

    hits: int = field(repr=False)
    attacks: int
    level: float = LEVEL

    @property
    def _z(self) -> float:
        return float(special.ndtri((1 + self.level) / 2))

    @property
    def value(self) -> float:
        """
        >>> round(Rate(hits=0, attacks=100).value, 4), round(Rate(hits=50, attacks=100).value, 4)
        (0.0185, 0.5)
        """
        return (self.hits + self._z**2 / 2) / (self.attacks + self._z**2)

    @property
    def error(self) -> float:
        """
        >>> round(Rate(hits=0, attacks=100).error, 4), round(Rate(hits=50, attacks=100).error, 4)
        (0.0185, 0.0962)
        """
        spread = self.hits * (self.attacks - self.hits) / self.attacks + self._z**2 / 4
        return self._z / (self.attacks + self._z**2) * sqrt(spread)

    @property
    def interval(self) -> tuple[float, float]:
        """Its ends."""
        return max(0.0, self.value - self.error), min(1.0, self.value + self.error)


@dataclass(frozen=True, kw_only=True)
class AttackRates:
    """One attack on one table: ``real`` on rows that the run saw, ``control`` on rows that it did not.

    ``baseline``: how often guessing without the table succeeds. **Guarantee**: none; from real rows.
    """

    attack: str
    table: str
    real: Rate = field(repr=False)
    control: Rate | None = field(repr=False)
    baseline: float = field(repr=False)
    detail: str = field(repr=False, default="")

    @property
    def risk(self) -> tuple[float, float, float] | None:
        """(r - c) / (1 - c) with its interval, the errors propagated; None without rows that the run did not see."""
        if self.control is None:
            return None
        rest, other = 1 - self.real.value, 1 - self.control.value
        error = sqrt((self.real.error / other) ** 2 + (rest * self.control.error / other**2) ** 2)
        middle = 1 - rest / other
        return middle, max(middle - error, -1.0), min(middle + error, 1.0)

    @property
    def reading(self) -> str:
        """What it says, in words; never that a table is safe."""
        if self.risk is None:
            return "no held-out rows: what is the population's and what the table's cannot be told apart"
        if self.risk[1] > 0:
            return "tells more of rows that the run saw: a leak of their own"
        if self.real.interval[1] < self.baseline:
            return "the attack is weaker than guessing: it says nothing"
        return "no more than of rows that the run never saw"

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        both = {
            n: r and {**vars(r), "rate": r.value, "interval": r.interval}
            for n, r in (("real", self.real), ("control", self.control))
        }
        return {**vars(self), **both, "risk": self.risk, "reading": self.reading}


def rate(hits: np.ndarray, level: float = LEVEL) -> Rate:
    """Of one mark for each attack."""
    return Rate(hits=int(np.count_nonzero(hits)), attacks=len(hits), level=level)
