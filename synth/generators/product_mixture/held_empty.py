"""Pairs of groups that no row may have: values swapped between rows, until hardly a row stands in one."""

from collections.abc import Mapping

import numpy as np

ROUNDS = 120  # of swaps at most; what they leave stays
WORK = 4_000_000  # most rows tried, over all rounds
Barred = Mapping[tuple[int, int], np.ndarray]  # by two axes the pairs of their groups (G, H), True where none may be


def hold(codes: np.ndarray, component: np.ndarray, barred: Barred, fixed: frozenset[int], *, rng: np.random.Generator):
    """Swaps groups of a column between rows, in place, wherever fewer barred pairs are left.

    ``codes`` (n, J): the rows' groups; ``component`` (n,): partners are sought among rows that stand in barred pairs
    too, in a row's own component, in which columns are independent, and everywhere, in turn; ``fixed``: axes that
    stay. Every column's counts stay as they are.
    """
    sides: dict[int, list[tuple[int, np.ndarray]]] = {}
    for (i, j), never in barred.items():
        sides.setdefault(i, []).append((j, never))
        sides.setdefault(j, []).append((i, never.T))
    movable = np.array([j for j in sorted(sides) if j not in fixed], dtype=np.int64)
    rows = np.flatnonzero(_wrong(codes, np.arange(len(codes)), barred))
    if not len(movable) or not len(rows):
        return

    def met(column: int, of: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Barred pairs of rows, if these were their groups of a column."""
        return np.sum([never[groups, codes[of, j]] for j, never in sides[column]], axis=0)

    order = np.argsort(component, kind="stable")
    first = np.searchsorted(component[order], np.arange(int(component.max()) + 2))
    for turn in range(min(ROUNDS, WORK // len(rows))):
        for column in rng.permutation(movable):
            mine = rng.permutation(rows[met(column, rows, codes[rows, column]) > 0])
            if turn % 3 == 0:
                mine, other = mine[: len(mine) // 2], mine[len(mine) // 2 : len(mine) // 2 * 2]
            else:
                low, high = (first[component[mine] + k] for k in (0, 1)) if turn % 3 == 1 else (0, len(codes))
                other = order[(low + rng.random(len(mine)) * (high - low)).astype(np.int64)]
                alone = ~np.isin(other, mine)  # a row takes part in one swap
                alone[alone] = np.isin(np.flatnonzero(alone), np.unique(other, return_index=True)[1])
                mine, other = mine[alone], other[alone]
            a, b = codes[mine, column], codes[other, column]
            better = met(column, mine, b) + met(column, other, a) < met(column, mine, a) + met(column, other, b)
            codes[mine[better], column], codes[other[better], column] = b[better], a[better]
        rows = rows[_wrong(codes, rows, barred)]
        if not len(rows):
            return


def _wrong(codes: np.ndarray, rows: np.ndarray, barred: Barred) -> np.ndarray:
    return np.logical_or.reduce([never[codes[rows, i], codes[rows, j]] for (i, j), never in barred.items()])
