"""What noisy tables of two columns show never to occur: one column that fixes another, and cells that stay empty."""

import numpy as np

RATIOS = np.append(0.0, np.exp(np.arange(-3.0, 4.01, 0.25)))  # of a cell to what independence expects of it
ROUNDS = 30  # of expectation-maximisation
EMPTY = 0.8  # probability at which a cell is taken to be empty
SURE = 3.0  # standard deviations that the misfit of a function may reach
TOLD = 3.0  # deviations above which a row of a table tells which cell is its own
MOST = 0.5  # part of the rows, at least, that must be told in this way


def never(values: np.ndarray, sigma: float, *, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Cells (R, C) of a noisy table that are taken to be empty; ``rows``, ``cols``: the margins, in rows.

    >>> table = np.array([[50, 1, -2], [-1, 30, 1], [2, -1, 20]])
    >>> never(table, 2.0, rows=np.array([50, 30, 20]), cols=np.array([50, 30, 20])).astype(int).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    out = empty(values, sigma, rows=rows, cols=cols)
    out |= off_function(values, sigma, rows)
    out |= off_function(values.T, sigma, cols).T
    return out


def off_function(values: np.ndarray, sigma: float, rows: np.ndarray) -> np.ndarray:
    """All cells but the largest of every line, if noise explains that each line's mass lies in one cell; else none.

    Lines that the noise hides are told nothing of, and left.
    """
    told = rows > TOLD * sigma
    if not told.any() or rows[told].sum() < MOST * rows.sum():
        return np.zeros(values.shape, dtype=bool)
    own = values.argmax(1)
    others = np.arange(values.shape[1])[None, :] != own[:, None]
    left = np.where(others, values, values - rows[:, None])[told] / sigma
    if (left**2).sum() > left.size + SURE * np.sqrt(2 * left.size):
        return np.zeros(values.shape, dtype=bool)
    return others & told[:, None]


def empty(values: np.ndarray, sigma: float, *, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Cells that are empty with the probability ``EMPTY``, by a prior of ratios to independence learnt from the table.

    **Source**: Kiefer and Wolfowitz 1956; Jiang and Zhang, arXiv 0908.1709, section 2.
    """
    expected = np.outer(rows, cols).ravel() / max(rows.sum(), 1e-9)
    energy = 0.5 * ((values.ravel()[:, None] - expected[:, None] * RATIOS) / sigma) ** 2
    like = np.exp(energy.min(1, keepdims=True) - energy)
    told = expected / (expected + sigma)  # a cell that noise hides tells nothing of the prior
    prior = np.full(len(RATIOS), 1 / len(RATIOS))
    for _ in range(ROUNDS):
        belief = like * prior
        belief /= belief.sum(1, keepdims=True)
        prior = told @ belief / told.sum()
    belief = like * prior
    sure = belief[:, 0] > EMPTY * belief.sum(1)
    return (sure & (expected > sigma)).reshape(values.shape)
