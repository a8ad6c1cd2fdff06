"""Which tables of totals cannot all hold, although no two of them disagree: by linear programming on joint cells.

Privacy: public only.
"""

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from synth.generators.totals.layout import Layout
from synth.lazy import Lazy

optimize = Lazy("scipy.optimize")
sparse = Lazy("scipy.sparse")

MOST_JOINT = 30_000  # joint cells of the tables of a program
MOST_TRIED = 60  # sets of tables that a program is solved for


def culprits(layout: Layout) -> list[int]:
    """Numbers (from 0) of tables that no counts of joint cells satisfy together, none of them needless; or none."""
    tables = list(range(len(layout.steps)))
    connected = [
        c
        for size in (3, 4)
        for c in combinations(tables, size)
        if all(any(set(layout.steps[a]) & set(layout.steps[b]) for b in c if b != a) for a in c)
    ]
    tried = 0
    for subset in [tables, *connected]:
        if _joint(layout, subset) > MOST_JOINT:
            continue
        tried += 1
        if tried > MOST_TRIED:
            return []
        if not _feasible(layout, subset):
            return _needed(layout, list(subset))
    return []


def _needed(layout: Layout, subset: list[int]) -> list[int]:
    """The subset without tables that the contradiction does not need."""
    for one in list(subset):
        rest = [t for t in subset if t != one]
        if len(rest) > 1 and not _feasible(layout, rest):
            subset = rest
    return subset


def _columns(layout: Layout, tables: Sequence[int]) -> list[int]:
    return sorted({v for t in tables for v in layout.steps[t]})


def _joint(layout: Layout, tables: Sequence[int]) -> int:
    return prod(layout.atoms[v].size for v in _columns(layout, tables))


def _feasible(layout: Layout, tables: Sequence[int]) -> bool:
    """Whether there are counts of at least 0, whole or not, of all joint cells that the tables' bounds allow."""
    columns = _columns(layout, tables)
    sizes = [layout.atoms[v].size for v in columns]
    joint = np.stack([i.ravel() for i in np.indices(sizes)], axis=1)
    atoms = np.zeros((len(joint), len(layout.columns)), dtype=np.int64)
    atoms[:, columns] = joint
    blocks, rows = [np.ones((1, len(joint)))], np.array([layout.totals.num_rows])
    low, high = [rows], [rows]
    for t in tables:
        cells = layout.cells(t, atoms)
        shape = (len(layout.low[t]), len(joint))
        blocks.append(sparse.csr_array((np.ones(len(joint)), (cells, np.arange(len(joint)))), shape=shape))
        low.append(layout.low[t])
        high.append(layout.high[t])
    whole = sparse.vstack(blocks).tocsr()
    lows, highs = np.concatenate(low).astype(float), np.concatenate(high).astype(float)
    same = lows == highs
    solved = optimize.linprog(
        np.zeros(len(joint)),
        A_ub=sparse.vstack([whole[~same], -whole[~same]]) if (~same).any() else None,
        b_ub=np.concatenate([highs[~same], -lows[~same]]) if (~same).any() else None,
        A_eq=whole[same] if same.any() else None,
        b_eq=lows[same] if same.any() else None,
        method="highs",
    )
    return bool(solved.status != 2)
