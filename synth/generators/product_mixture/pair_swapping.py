"""Sampled rows rearranged so that their tables of pairs lie closer to the model's than by chance."""

import numpy as np

SWEEPS = 3  # passes over all columns; the first brings most of the gain
WORK = 60_000_000  # most table look-ups: wide or long tables get fewer passes
LEAST_PASS = 0.1  # of a pass; less gains nothing that is worth counting the pairs for
MOST_GROUPS = 3000  # beyond, the square table of all pairs takes too much memory
BATCH = 500  # swaps judged at once, on the same counts


def even_out(codes: np.ndarray, component: np.ndarray, expected: np.ndarray, *, rng: np.random.Generator) -> None:
    """Swaps values between rows of the same component, in place, where that brings pair counts nearer.

    ``codes`` (n, J): a group of each column, numbered through over all columns. ``component`` (n,).
    ``expected`` (G, G): the counts of pairs of groups that the model expects. Inside a component columns are
    independent, so that a swap makes a row no less likely; every column's counts stay as they are.
    Judged is the sum over pairs of squared errors, each over the root of its expected count.
    """
    size, columns = len(expected), codes.shape[1]
    passes = min(SWEEPS, WORK / max(len(codes) * columns**2, 1))
    if len(codes) < 2 or columns < 2 or size > MOST_GROUPS or passes < LEAST_PASS:
        return
    error = (_pair_counts(codes, size) - expected).ravel()
    weight = (1 / np.sqrt(expected + 0.5)).ravel()
    batch = max(BATCH, len(codes) // 50)
    for sweep in range(int(np.ceil(passes))):
        part = min(1.0, passes - sweep)
        for column in rng.permutation(columns):
            first, second = _proposals(codes[:, column], component, part, rng)
            for at in range(0, len(first), batch):
                pair = first[at : at + batch], second[at : at + batch]
                _swap(codes, column, pair, error, weight, size, rng)


def _pair_counts(codes: np.ndarray, size: int) -> np.ndarray:
    """Counts of all pairs of groups, (G, G), both ways round."""
    counts = np.zeros(size * size)
    for column in codes.T:
        counts += np.bincount((column[:, None] * size + codes).ravel(), minlength=size * size)
    return counts.reshape(size, size)


def _proposals(values: np.ndarray, component: np.ndarray, part: float, rng: np.random.Generator):
    """Disjoint pairs of rows of the same component and different values, in random order."""
    order = np.argsort(component + rng.random(len(component)))[int(rng.integers(0, 2)) :]
    first, second = order[: len(order) // 2 * 2 : 2], order[1::2]
    useful = (component[first] == component[second]) & (values[first] != values[second])
    chosen = rng.permutation(np.flatnonzero(useful))
    chosen = chosen[: int(np.ceil(part * len(chosen)))]
    return first[chosen], second[chosen]


def _swap(codes, column: int, pair, error: np.ndarray, weight: np.ndarray, size: int, rng) -> None:
    """Swaps the column between those pairs of rows for which it lowers the weighted squared error.

    All are judged on the same counts; where together they overshoot, a random part of them is left out.
    """
    first, second = pair
    others = np.arange(codes.shape[1]) != column
    a, b = codes[first, column][:, None] * size, codes[second, column][:, None] * size
    c, d = codes[first][:, others], codes[second][:, others]
    lost, won = np.stack([a + c, b + d], axis=1), np.stack([b + c, a + d], axis=1)
    change = weight[lost] * (1 - 2 * error[lost]) + weight[won] * (1 + 2 * error[won])
    better = (change.sum(1) * (c != d)).sum(1) < 0
    first, second, lost, won = first[better], second[better], lost[better], won[better]
    before = error[lost], error[won]
    _move(error, lost, won, size)
    gain = (weight[lost] * before[0]).sum() - (weight[won] * before[1]).sum()
    joint = (weight[won] * (error[won] - before[1])).sum() - (weight[lost] * (error[lost] - before[0])).sum()
    retained = rng.random(len(first)) < gain / max(joint, 1e-12)
    _move(error, won[~retained], lost[~retained], size)
    rows, partners = first[retained], second[retained]
    codes[rows, column], codes[partners, column] = codes[partners, column], codes[rows, column]


def _move(error: np.ndarray, lost: np.ndarray, won: np.ndarray, size: int) -> None:
    """One row less in each of the cells lost, one more in each won, both ways round."""
    for cells, step in ((lost.ravel(), -1.0), (won.ravel(), 1.0)):
        np.add.at(error, cells, step)
        np.add.at(error, cells % size * size + cells // size, step)
