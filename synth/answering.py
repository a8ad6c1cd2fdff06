"""Which mechanism answers which kind of question."""

from collections.abc import Callable
from math import hypot
from typing import Any

from synth.mechanisms import counts, embeddings, slices, values
from synth.mechanisms.functional import Functional
from synth.privacy.accounting import slice_sigma
from synth.privacy.curator import Grant
from synth.questions import Counts, Embedding, Path, Slices, Values


def mechanisms() -> dict[type, Any]:
    """By kind of question the mechanism that answers it; new for each run, since some keep what they answered."""
    return {Counts: counts, Values: values, Slices: slices, Embedding: embeddings, Path: Functional()}


def slices_within(grant: Grant) -> Callable[..., float]:
    """The least noise of one question of slices on random directions that takes all that a grant leaves.

    The function returned takes ``dim``, ``num_slices``, and if they differ from the usual ``directions``, ``rate``,
    ``signed`` (coordinates of any sign) and ``beside``, mu of the same generator's Gaussian questions.
    """

    def sigma(
        *,
        dim: int,
        num_slices: int,
        directions: str = "gaussian",
        rate: float = 1.0,
        signed: bool = False,
        beside: float = 0.0,
    ) -> float:
        near = grant.near
        return slice_sigma(
            epsilon=grant.epsilon,
            delta=grant.left_delta,
            sensitivity=counts.signed_sensitivity(near) if signed else counts.sensitivity(near),
            dim=dim,
            num_slices=num_slices,
            directions=directions,
            rate=rate,
            beside=hypot(beside, grant.beside),
            spread=near.max_rows > 1,
        )

    return sigma
