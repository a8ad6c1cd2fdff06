"""DP-SWD's own accounting of slices: a sensitivity that holds but for a failure, which is added to delta.

Proof note: synth/mechanisms/slices.md.
"""

from math import log, sqrt

from synth.privacy.accounting.gaussian import calibrate


def swd(epsilon: float, delta_: float, *, dim: int, num_slices: int) -> float:
    """DP-SWD's noise at sensitivity 1, by its smooth sensitivity: for comparison, never for a charge.

    On independent unit directions the slices of a vector of length 1 have, but for a probability of half of delta, a
    squared length of at most k / d + (2 / 3) ln(2 / delta) + (2 / d) sqrt(k (d - 1) / (d + 2) ln(2 / delta)), by
    Bernstein's inequality; the other half of delta is the Gaussian mechanism's. Never more than k. **Source**:
    Rakotomamonjy and Ralaivola, arXiv 2107.01848, as in arXiv 2309.15696, C.1.

    Privacy: public only.

    >>> round(swd(5.1, 1e-5, dim=778, num_slices=200), 2), round(swd(1.0, 1e-5, dim=10, num_slices=1000), 1)
    (2.64, 43.9)
    """
    tail = log(2 / delta_)
    square = num_slices / dim + 2 * tail / 3
    square += 2 / dim * sqrt(num_slices * (dim - 1) / (dim + 2) * tail)
    return sqrt(min(square, num_slices)) / calibrate(epsilon, delta_ / 2)
