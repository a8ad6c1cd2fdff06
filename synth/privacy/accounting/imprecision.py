"""What floating point adds to an event, to be taken from the reserves that calibration set aside (float_slack.py).

Proof note: synth/mechanisms/counts.md.
"""

from functools import singledispatch
from math import exp, sqrt

from synth.privacy.accounting.events import (
    Event,
    PoissonSampledDpEvent,
    PureDpEvent,
    RoundedGaussianDpEvent,
    SlicesDpEvent,
    TabledGaussianDpEvent,
)
from synth.privacy.accounting.float_slack import sampler_cost

TABLED = 2.0**-109  # total variation of a draw from the noise's table
ROUNDED = 2.0**-100  # the same of a draw by rounded_gaussian.py


@singledispatch
def imprecision(event: Event, *, cells: int, epsilon: float, delta: float) -> tuple[float, float]:
    """(epsilon, delta) that floating point adds to an event in which neighbours differ in ``cells`` told values.

    Privacy: public only.
    """
    return sampler_cost(epsilon, delta, sigma=event.sigma / event.pitch, draws=event.count * cells)


@imprecision.register(PoissonSampledDpEvent)
@imprecision.register(TabledGaussianDpEvent)
def _(event: Event, *, cells: int, epsilon: float, delta: float) -> tuple[float, float]:  # noqa: ARG001
    """Their noise is drawn from a table, near enough to the ideal for any number of sums."""
    return 0.0, event.count * cells * TABLED * (1 + exp(min(epsilon, 700.0)))


@imprecision.register
def _(event: PureDpEvent, *, cells: int, epsilon: float, delta: float) -> tuple[float, float]:  # noqa: ARG001
    """Drawn exactly, in whole numbers of any size."""
    return 0.0, 0.0


@imprecision.register
def _(event: RoundedGaussianDpEvent, *, cells: int, epsilon: float, delta: float) -> tuple[float, float]:  # noqa: ARG001
    """Drawn by inversion, in as many digits as it takes."""
    return 0.0, event.count * cells * ROUNDED * (1 + exp(min(epsilon, 700.0)))


@imprecision.register
def _(event: SlicesDpEvent, *, cells: int, epsilon: float, delta: float) -> tuple[float, float]:
    """Random directions take the chance that their draws are farther off than the slack allows, from delta alone.

    For both tables share their law (mechanisms/slices.md, step 5).
    """
    more, lost = sampler_cost(epsilon, delta, sigma=event.sigma / event.pitch, draws=event.count * cells)
    if event.shift.fixed:
        return more, lost
    return more, lost + event.count * (event.dim * event.num_slices * 2.0**-44 + sqrt(event.num_slices) * 2.0**-38)
