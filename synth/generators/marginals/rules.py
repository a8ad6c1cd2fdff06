"""What noisy tables of two columns show never to occur: one column that fixes another, and cells that stay empty."""

import numpy as np

RATIOS = np.append(0.0, np.exp(np.arange(-3.0, 4.01, 0.25)))  # of a cell to what independence expects of it
ROUNDS = 30  # of expectation-maximisation
EMPTY = 0.8  # probability at which a cell is taken to be empty
COARSE = np.append(0.0, np.exp(np.arange(-3.0, 4.01, 0.375)))  # the same for lines, of which there are many
TURNS = 10  # of expectation-maximisation there
FIRM = 2.0  # cells that the table's own prior counts as in a line's
AS_GOOD, ALL_BUT = 0.15, 0.06  # ratios up to which a cell is as good as empty: of which the model makes little, and any
LITTLE = 0.15  # of what independence expects
CERTAIN = 0.8  # probability at which rows are kept out
SEEN = 0.5  # standard deviations that independence must expect
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


def barred(values: np.ndarray, sigma: float, made: np.ndarray) -> np.ndarray:
    """Cells (R, C) that no row should have: as good as empty, alone or as part of a line or of all but a line.

    ``made``: the model's table, in rows. A line's cells, and those of all other lines together, tell one prior of
    ratios to independence for the line: where most of a line is empty, a cell is believed to be that its own count
    does not tell of; where one line holds all of another's rows, what is outside of it is empty together. A cell of
    which the model makes more than little is barred on stronger evidence.
    """
    rows, cols = made.sum(1), made.sum(0)
    expected = np.outer(rows, cols) / max(made.sum(), 1e-9)
    little = made < LITTLE * expected
    out, prior = np.zeros(values.shape, dtype=bool), np.full((1, len(COARSE)), 1 / len(COARSE))
    _, prior = _ratios(values.reshape(1, -1), expected.reshape(1, -1), np.array([[sigma]]), prior)
    for seen, own, mild, hit in ((values, expected, little, out), (values.T, expected.T, little.T, out.T)):
        rest, beside = seen.sum(1, keepdims=True) - seen, own.sum(1, keepdims=True) - own
        others = np.sqrt(max(seen.shape[1] - 1, 1))
        belief = _ratios(seen.T, own.T, np.array([[sigma]]), prior)[0]
        there = SEEN * sigma < own.T
        hit |= _unmet(belief, there).T & mild | _unmet(belief, there, ALL_BUT).T
        if seen.shape[1] > 2:
            belief = _ratios(rest.T, beside.T, np.array([[sigma * others]]), prior)[0]
            there = SEEN * sigma * others < beside.T
            lone, sure = _unmet(belief, there), _unmet(belief, there, ALL_BUT)
            for line, (some, more) in enumerate(zip(lone, sure, strict=True)):
                outside = np.arange(seen.shape[1]) != line
                hit |= (some[:, None] & mild | more[:, None]) & outside[None, :]
    return out


def _unmet(belief: np.ndarray, there: np.ndarray, ratio: float = AS_GOOD) -> np.ndarray:
    """Where the ratio to independence is at most so much with the probability ``CERTAIN``."""
    return (belief[..., ratio >= COARSE].sum(-1) > CERTAIN) & there


def _ratios(
    values: np.ndarray, expected: np.ndarray, sigma: np.ndarray, base: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Beliefs (L, n, K) in the ratios ``COARSE`` of cells (L, n), by a prior of each line learnt beside ``base``."""
    energy = 0.5 * ((values[..., None] - expected[..., None] * COARSE) / sigma[..., None]) ** 2
    like = np.exp(energy.min(-1, keepdims=True) - energy)
    told = expected / (expected + sigma)
    prior = np.repeat(base, len(values), axis=0)
    for _ in range(TURNS):
        belief = like * prior[:, None]
        belief /= np.maximum(belief.sum(-1, keepdims=True), 1e-300)
        prior = (np.einsum("ln,lnk->lk", told, belief) + FIRM * base) / (told.sum(1, keepdims=True) + FIRM)
    belief = like * prior[:, None]
    return belief / np.maximum(belief.sum(-1, keepdims=True), 1e-300), prior


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
