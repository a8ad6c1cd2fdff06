"""Post-processing of noisy counts: what non-negative counts with a known sum lie behind them."""

import numpy as np

ENOUGH = 32  # cells from which a prior can be learnt
CLEAR = 6.0  # noise deviations above zero at which a count needs no prior
ROUNDS = 20


def project(counts: np.ndarray, *, total: float) -> np.ndarray:
    """The nearest non-negative counts with the given sum (Euclidean projection on a simplex).

    >>> project(np.array([5.0, 1.0, -2.0]), total=4.0).tolist()
    [4.0, 0.0, 0.0]
    """
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(counts) + 1)
    last = np.flatnonzero(ordered > excess)
    shift = excess[last[-1]] if len(last) else 0.0
    return _scaled(np.maximum(counts - shift, 0.0), total)


def shrink(counts: np.ndarray, *, total: float, sigma: float) -> np.ndarray:
    """Posterior mean counts under a prior learnt from the noisy counts themselves, projected to the sum.

    The prior is a discrete distribution on a fixed grid, fitted by expectation-maximisation; few rounds keep
    it smooth. Rare categories, whose counts are mostly noise, are drawn towards what is common among them;
    counts of ``CLEAR`` deviations and more are left alone. Below ``ENOUGH`` cells no prior can be learnt.
    **Source**: Kiefer and Wolfowitz 1956; Jiang and Zhang, arXiv 0908.1709, section 2.
    """
    if len(counts) < ENOUGH:
        return project(counts, total=total)
    grid = np.arange(0, 2 * CLEAR, 0.25) * sigma
    energy = 0.5 * ((np.minimum(counts, grid[-1])[:, None] - grid) / sigma) ** 2
    like = np.exp(energy.min(1, keepdims=True) - energy)
    prior = np.full(len(grid), 1 / len(grid))
    for _ in range(ROUNDS):
        joint = like * prior
        joint /= joint.sum(1, keepdims=True)
        prior = joint.mean(0)
    return project(np.where(counts > CLEAR * sigma, counts, joint @ grid), total=total)


def _scaled(mass: np.ndarray, total: float) -> np.ndarray:
    """Counts rescaled to the sum; even where all are zero."""
    whole = mass.sum()
    return mass * (total / whole) if whole > 0 else np.full(len(mass), total / len(mass))


def nearest(values: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The non-negative table nearest to ``values`` (R, C) whose rows have these ``sums`` (R,).

    What is taken from every cell of a row makes an end of small ones, which are noise: clipped, they would add up.

    >>> nearest(np.array([[9.0, 1.0, -1.0]]), np.array([7.0])).tolist()
    [[7.0, 0.0, 0.0]]
    """
    falling = -np.sort(-values, axis=1)
    excess = (np.cumsum(falling, axis=1) - sums[:, None]) / np.arange(1, values.shape[1] + 1)
    retained = np.maximum((falling > excess).sum(1), 1)
    return np.maximum(values - excess[np.arange(len(values)), retained - 1][:, None], 0.0)
