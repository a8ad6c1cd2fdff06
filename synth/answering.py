"""Which mechanism answers which kind of question."""

from collections.abc import Callable
from typing import Any

from synth.mechanisms import counts, values
from synth.privacy.curator import Grant
from synth.questions import Counts, Values


def mechanisms() -> dict[type, Any]:
    """By kind of question the mechanism that answers it; new for each run, since some keep what they answered."""
    return {Counts: counts, Values: values}


def slices_within(grant: Grant) -> Callable[..., float]:
    """The least noise of one question of slices that takes the whole grant, given dim and num_slices."""

    def sigma(*, dim: int, num_slices: int, signed: bool = False, **more: Any) -> float:
        from synth.privacy.profiles import slice_sigma

        size = counts.signed_sensitivity(grant.near) if signed else counts.sensitivity(grant.near)
        delta = grant.delta - grant.failure_delta
        return slice_sigma(epsilon=grant.epsilon, delta=delta, sensitivity=size, dim=dim, num_slices=num_slices, **more)

    return sigma
