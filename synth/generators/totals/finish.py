"""The last units: a whole-number program chooses which of many single changes, made together, leave no cell off.

Each candidate gives one column of one row another value, and so moves the row from a cell to another in some tables.
The fewest that together leave the least off are a sparse problem, which HiGHS solves exactly where little is off; where
its time is over before, what it has by then is taken if that helps.

Privacy: released answers and public facts only: rows here are synthetic ones.
"""

import numpy as np

from synth.generators.totals.search import Broken, Search
from synth.lazy import Lazy

optimize = Lazy("scipy.optimize")
sparse = Lazy("scipy.sparse")

CANDIDATES = (40_000, 120_000)  # of a first program, and of a second where the first has no solution
CHEAP = 1e-3  # a change, beside a row that is off
SECONDS = 60.0  # of a program
MOST_ALIKE = 20  # rows that one effect is asked of
ROUNDS = 5  # of search and program
WITHIN = 40  # squared rows off, beyond which a program would only take time
GAP = 0.5  # a solution is taken that has at most so much more changes than the least, in parts of these


def brought(search: Search, rng: np.random.Generator, broken: Broken | None = None) -> bool:
    """Searches, and finishes, again where that fails; whether no cell is off in the end."""
    return any(search.run() or (search.off <= WITHIN and finished(search, rng, broken)) for _ in range(ROUNDS))


def finished(search: Search, rng: np.random.Generator, broken: Broken | None) -> bool:
    """Makes the changes of a solution, where that helps; whether no cell is off any more."""
    for many in CANDIDATES:
        rows, columns, atoms = _candidates(search, many, rng, broken)
        if not len(rows):
            continue
        chosen = _solved(search, rows, columns, atoms)
        if chosen is None:
            continue
        before, off = search.atoms.copy(), search.off
        for v in np.unique(columns[chosen]):
            at = chosen[columns[chosen] == v]
            search.change(int(v), rows[at], atoms[at])
        if search.off > off:
            for v in range(before.shape[1]):
                back = np.flatnonzero(search.atoms[:, v] != before[:, v])
                search.change(v, back, before[back, v])
        if not search.off:
            return True
    return False


def _candidates(
    search: Search, many: int, rng: np.random.Generator, broken: Broken | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and new atoms, at random, and of rows in cells that hold too many; none twice a row and column."""
    sizes = np.array([a.size for a in search.layout.atoms])
    wrong = [search.wrong_rows(v, many // 4) for v in range(len(sizes))]
    near = np.concatenate([w for w in wrong if len(w)] or [np.zeros(0, dtype=np.int64)])
    rows = rng.integers(0, len(search.atoms), many)
    if len(near):
        rows[: many // 3] = rng.choice(near, many // 3)
    columns = rng.integers(0, len(sizes), many)
    atoms = (rng.random(many) * sizes[columns]).astype(np.int64)
    code = np.unique((rows * len(sizes) + columns) * int(sizes.max()) + atoms)
    rows, rest = np.divmod(code, len(sizes) * int(sizes.max()))
    columns, atoms = np.divmod(rest, int(sizes.max()))
    fine = search.atoms[rows, columns] != atoms
    if broken is not None:
        after = search.atoms[rows].copy()
        after[np.arange(len(rows)), columns] = atoms
        fine &= ~broken(rows, after)
    return rows[fine], columns[fine], atoms[fine]


def _solved(search: Search, rows: np.ndarray, columns: np.ndarray, atoms: np.ndarray) -> np.ndarray | None:
    """Indices of the candidates of a solution, at most one for a row; None where there is none.

    Candidates with the same effect are one variable: the program says how many of them, then rows are drawn.
    """
    layout = search.layout
    offset = np.append(0, np.cumsum([len(low) for low in layout.low]))
    after = search.atoms[rows].copy()
    after[np.arange(len(rows)), columns] = atoms
    before, then = (
        np.stack([offset[t] + cells for t, cells in enumerate(both)], axis=1)
        for both in ([c[rows] for c in search.cells], [layout.cells(t, after) for t in range(len(layout.steps))])
    )
    same = before == then
    before, then = np.where(same, -1, before), np.where(same, -1, then)
    _, first, kind = np.unique(np.concatenate([before, then], axis=1), axis=0, return_index=True, return_inverse=True)
    kind, count = np.asarray(kind).reshape(-1), np.bincount(np.asarray(kind).reshape(-1))
    at, table = np.nonzero(~same[first])
    signs = np.concatenate([-np.ones(len(at)), np.ones(len(at))])
    lines = np.concatenate([before[first][at, table], then[first][at, table]])
    shape = (int(offset[-1]), len(first))
    effect = sparse.csr_array((signs, (lines, np.concatenate([at, at]))), shape=shape)
    counts = np.concatenate(search.counts)
    low, high = np.concatenate(layout.low) - counts, np.concatenate(layout.high) - counts
    cells = len(counts)
    short = sparse.eye_array(cells, format="csr")
    solved = optimize.milp(
        np.concatenate([np.full(len(first), CHEAP), np.ones(2 * cells)]),
        constraints=optimize.LinearConstraint(sparse.hstack([effect, short, -short]), low, high),
        integrality=np.repeat([1, 0], [len(first), 2 * cells]),
        bounds=optimize.Bounds(0, np.concatenate([np.minimum(count, MOST_ALIKE), np.full(2 * cells, np.inf)])),
        options={"time_limit": SECONDS, "mip_rel_gap": GAP},
    )
    return None if solved.x is None else _distinct(rows, kind, np.rint(solved.x[: len(first)]).astype(np.int64))


def _distinct(rows: np.ndarray, kind: np.ndarray, many: np.ndarray) -> np.ndarray | None:
    """So many candidates of each kind, no row twice; None where a kind has too few rows that are free."""
    used: set[int] = set()
    out = []
    for one in np.flatnonzero(many):
        free = [i for i in np.flatnonzero(kind == one).tolist() if int(rows[i]) not in used]
        taken: dict[int, int] = {}
        for i in free:
            taken.setdefault(int(rows[i]), i)
        if len(taken) < many[one]:
            return None
        chosen = list(taken.items())[: int(many[one])]
        used |= {r for r, _ in chosen}
        out += [i for _, i in chosen]
    return np.array(out, dtype=np.int64)
