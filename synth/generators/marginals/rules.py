"""What noisy tables of two columns show never to occur: one column that fixes another, and cells that stay empty."""

import numpy as np

RATIOS = np.append(0.0, np.exp(np.arange(-3.0, 4.01, 0.25)))  # of a cell to what independence expects of it
ROUNDS = 30  # of expectation-maximisation
EMPTY = 0.8  # probability at which a cell is taken to be empty
SURE = 3.0  # standard deviations that the misfit of a function may reach
CLEAR = 3.0  # deviations above which a row of a table tells which cell is its own
MOST = 0.5  # part of the rows, at least, that must be told in this way
ALIKE = 0.9  # probability of its cell at which a line is told by its neighbours
CHAIN = 12  # rounds in which it is learnt how often neighbours differ
FAR = 600.0  # logarithms of odds beyond which more makes no difference


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
    """All cells but one of every line, if noise explains that each line's mass lies in that cell; else none.

    Lines of which neither they nor their neighbours tell which cell is theirs are left.
    """
    released = rows > CLEAR * sigma
    nothing = np.zeros(values.shape, dtype=bool)
    if not released.any() or rows[released].sum() < MOST * rows.sum():
        return nothing
    own, sure = _own(values, sigma, rows, released)
    others = np.arange(values.shape[1])[None, :] != own[:, None]
    misfit = (np.where(others, values, values - rows[:, None]) / sigma) ** 2
    if any(misfit[s].sum() > misfit[s].size + SURE * np.sqrt(2 * misfit[s].size) for s in (released, sure)):
        return nothing
    return others & sure[:, None]


def _own(values: np.ndarray, sigma: float, rows: np.ndarray, released: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cell that holds each line's mass, and whether that is told: by the line, or by it and its neighbours.

    Lines are taken for a chain that keeps its cell from one to the next but for a part of the time, which is learnt:
    where codes are in an order (industries by their sector), few of them change it; where they are in none, as good
    as all do, and a line that noise hides is told by no neighbour.
    **Source**: Baum, Petrie, Soules and Weiss 1970.
    """
    own, size = values.argmax(1), values.shape[1]
    if released.all() or size < 2 or len(values) < 2:
        return own, released
    like = (values * rows[:, None] - rows[:, None] ** 2 / 2) / sigma**2
    like = np.exp(np.maximum(like - like.max(1, keepdims=True), -FAR))
    changes = 0.5
    for _ in range(CHAIN):
        belief, changes = _smoothed(like, changes)
    by_chain = belief.max(1) > ALIKE
    return np.where(by_chain, belief.argmax(1), own), released | by_chain


def _smoothed(like: np.ndarray, changes: float) -> tuple[np.ndarray, float]:
    """Beliefs (R, C) of a chain that changes its cell with the probability ``changes``; how often it is found to."""
    count, size = like.shape
    stays, moves = 1 - changes, changes / (size - 1)
    ahead, behind = np.empty_like(like), np.ones_like(like)
    ahead[0] = like[0] / like[0].sum()
    for i in range(1, count):  # a line of a table each: some hundreds
        ahead[i] = like[i] * (moves + (stays - moves) * ahead[i - 1])
        ahead[i] /= ahead[i].sum()
    retained = 0.0
    for i in range(count - 2, -1, -1):
        back = like[i + 1] * behind[i + 1]
        behind[i] = moves * back.sum() + (stays - moves) * back
        whole = float(ahead[i] @ behind[i])
        retained += stays * float(ahead[i] @ back) / whole
        behind[i] /= whole
    belief = ahead * behind
    estimates = 1 - retained / (count - 1)
    return belief / belief.sum(1, keepdims=True), float(np.clip(estimates, 1 / count, 1 - 1 / size))


def empty(values: np.ndarray, sigma: float, *, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Cells that are empty with the probability ``EMPTY``, by a prior of ratios to independence learnt from the table.

    **Source**: Kiefer and Wolfowitz 1956; Jiang and Zhang, arXiv 0908.1709, section 2.
    """
    expected = np.outer(rows, cols).ravel() / max(rows.sum(), 1e-9)
    energy = 0.5 * ((values.ravel()[:, None] - expected[:, None] * RATIOS) / sigma) ** 2
    like = np.exp(energy.min(1, keepdims=True) - energy)
    released = expected / (expected + sigma)  # a cell that noise hides tells nothing of the prior
    prior = np.full(len(RATIOS), 1 / len(RATIOS))
    for _ in range(ROUNDS):
        belief = like * prior
        belief /= belief.sum(1, keepdims=True)
        prior = released @ belief / released.sum()
    belief = like * prior
    sure = belief[:, 0] > EMPTY * belief.sum(1)
    return (sure & (expected > sigma)).reshape(values.shape)
