"""One number of the steward's report beside its floor and its forecast."""

from dataclasses import dataclass
from math import sqrt

NEAR = 1.1  # a figure within this factor of an expectation counts as met


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number about the synthetic table.

    ``floor``: the same for a bootstrap sample of the real rows, which no generator beats but by luck. ``forecast``: the
    error that privacy noise alone was expected to bring, as told before the run; for distances only.
    """

    name: str
    label: str
    higher_is_better: bool
    value: float | None
    floor: float | None
    forecast: float | None = None

    @property
    def parts(self) -> tuple[float, float, float] | None:
        """A distance as sampling, noise and the rest (bias); errors of unlike origin add in squares."""
        if self.value is None or self.floor is None or self.forecast is None or self.higher_is_better:
            return None
        sampling = min(self.value, self.floor)
        expected = min(self.value, max(sampling, sqrt(self.floor**2 + self.forecast**2)))
        return sampling, expected - sampling, self.value - expected

    @property
    def reading(self) -> str:
        """What the figure is made of, in words; empty where there is no forecast to tell by."""
        if self.parts is None or self.floor is None or self.forecast is None or self.value is None:
            return ""
        if self.value <= NEAR * self.floor:
            return "as close as another sample of the real table would be"
        if self.value <= NEAR * sqrt(self.floor**2 + self.forecast**2):
            return "sampling and privacy noise explain it"
        return "more than sampling and noise: the rest is bias of the model"
