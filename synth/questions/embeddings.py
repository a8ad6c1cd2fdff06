"""Noised mean embeddings: the sum over rows of a public feature map, released once."""

from dataclasses import dataclass
from math import floor, log2

import numpy as np

from synth.questions.features import Fourier, Gradients, Tensors
from synth.questions.scores import Score

GRAIN = 5  # a release is told to 2**-GRAIN of the noise's deviation, to the next power of two
FINENESS = 16  # rows are summed on a lattice 2**FINENESS times as fine as that
FINEST = 2.0**-30  # the finest lattice: sums of 2**32 rows stay whole numbers of 63 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class Embedding:
    """Question: sum over rows of phi(row), with Gaussian noise of deviation ``sigma`` on each feature.

    Errors: ValueError where sigma is not positive and finite.
    Privacy: public only.
    """

    purpose: str
    features: Tensors | Fourier | Gradients | Score
    sigma: float

    def __post_init__(self) -> None:
        if not (0 < self.sigma < 2.0**40):
            raise ValueError("a positive, finite sigma is needed")

    @property
    def grain(self) -> float:
        """What released values are multiples of: a power of two, between sigma / 64 and sigma / 32."""
        return max(2.0 ** (floor(log2(self.sigma)) - GRAIN), FINEST)

    @property
    def pitch(self) -> float:
        """The lattice on which each row's features are truncated towards zero and summed: a power of two."""
        return max(self.grain * 2.0**-FINENESS, FINEST)


@dataclass(frozen=True, kw_only=True, eq=False)
class EmbeddingRelease:
    """Answer: ``values`` (dim,) float64, multiples of the question's grain: the noisy sum of the rows' features.

    Truncation shifts a value by less than ``pitch`` for each row, 2**-21 of the noise's deviation or less; telling it
    to the grain adds less than 1e-4 to the noise's variance.

    Errors: ValueError where a feature lacks its value.
    Privacy: released answers only.
    """

    question: Embedding
    values: np.ndarray

    def __post_init__(self) -> None:
        if self.values.shape != (self.question.features.dim,):
            raise ValueError("a value for each feature is needed")
