"""Questions about texts that many rows share."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Values:
    """Question: which texts does this column hold often enough to be told, and how often?

    Only texts whose noisy count (Gaussian of ``sigma`` rows) exceeds ``threshold`` are told.

    Privacy: public only.
    """

    purpose: str
    column: str
    sigma: float
    threshold: float


@dataclass(frozen=True, kw_only=True)
class ValuesRelease:
    """Answer: the texts, sorted, and their noisy counts (m,) int64, all above the threshold.

    Privacy: released answers only.
    """

    question: Values
    texts: tuple[str, ...]
    counts: np.ndarray
