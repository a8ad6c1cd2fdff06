"""A model's rows brought to agree with published totals, to the unit, and changed as little as that takes.

First the model itself proposes: of rows in cells that hold too many, a column is drawn again from the row's own
component, and taken where that helps. What is left is found by the search. Should it end short, the rows that totals
alone make stand in for the counted columns, each as like the model's row as can be. That such rows exist is what shows,
before anything is spent, that totals can be met; the same seed makes them again. Which tables cannot all hold, although
no two of them disagree, is told by linear programming on joint cells.

Privacy: released answers and public facts only.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np

from synth.generators.base import Positions
from synth.generators.core.totals_search import Layout, Search, brought
from synth.lazy import optimize, sparse
from synth.schema.enforcement import Rules
from synth.schema.intervals import Intervals
from synth.schema.published_totals import PublishedTotals

SEED = 0


def witness(layout: Layout) -> tuple[np.ndarray, Search]:
    """Atoms (n, V) of as many rows as the totals state, brought as near to all tables as the search can."""
    rng = np.random.default_rng(SEED)
    search = Search(layout, _start(layout, rng), rng)
    brought(search, rng)
    return search.atoms, search


def _start(layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """Table by table, the largest first: rows get the columns that they lack as it has them, given the others."""
    n = layout.totals.num_rows
    atoms = np.zeros((n, len(layout.columns)), dtype=np.int32)
    known: set[int] = set()
    at = {c: i for i, c in enumerate(layout.columns)}
    for table in sorted(layout.totals.tables, key=lambda t: -t.low.size):
        names = [at[c] for c in table.columns]
        held, new = [i for i, v in enumerate(names) if v in known], [i for i, v in enumerate(names) if v not in known]
        if not new:
            continue
        wanted = np.where(table.counts >= 0, table.counts, 0).astype(float)
        lack = max(n - wanted.sum(), 0.0)
        wanted += np.where(table.counts < 0, lack / max((table.counts < 0).sum(), 1), 0.0)
        lines = wanted.transpose(held + new).reshape(int(np.prod([table.parts[i].size for i in held], dtype=int)), -1)
        context = np.zeros(n, dtype=np.int64)
        for i in held:
            part = table.parts[i]
            context = context * part.size + part.of(layout.atoms[names[i]].example())[atoms[:, names[i]]]
        order = np.lexsort((rng.random(n), context))
        sizes = np.bincount(context, minlength=len(lines))
        cells = np.concatenate(
            [np.repeat(np.arange(lines.shape[1]), _apportioned(r, int(s))) for r, s in zip(lines, sizes, strict=True)]
        )
        drawn = np.empty(n, dtype=np.int64)
        drawn[order] = cells
        split = np.unravel_index(drawn, [table.parts[i].size for i in new])
        for i, parts in zip(new, split, strict=True):
            atoms[:, names[i]] = _within(table.parts[i].of(layout.atoms[names[i]].example()), parts, rng)
            known.add(names[i])
    return atoms


def _apportioned(wanted: np.ndarray, size: int) -> np.ndarray:
    """Whole numbers that sum to ``size``, in proportion; the largest remainders are rounded up."""
    whole = wanted.sum()
    share = wanted * (size / whole) if whole > 0 else np.full(len(wanted), size / len(wanted))
    out = np.floor(share + 1e-9).astype(np.int64)
    out[np.argsort(out - share, kind="stable")[: max(size - int(out.sum()), 0)]] += 1
    while (over := int(out.sum()) - size) > 0:
        out[np.argsort(-out)[:over]] -= 1
    return out


def _within(part_of: np.ndarray, parts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An atom of each part, all as likely."""
    order = np.argsort(part_of, kind="stable")
    counts = np.bincount(part_of, minlength=int(part_of.max()) + 1)
    first = np.cumsum(counts) - counts
    return order[first[parts] + (rng.random(len(parts)) * counts[parts]).astype(np.int64)]


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
        if prod(layout.atoms[v].size for v in _columns(layout, subset)) > MOST_JOINT:
            continue
        tried += 1
        if tried > MOST_TRIED:
            return []
        if not _feasible(layout, subset):
            needed = list(subset)  # without tables that the contradiction does not need
            for one in subset:
                rest = [t for t in needed if t != one]
                needed = rest if len(rest) > 1 and not _feasible(layout, rest) else needed
            return needed
    return []


def _columns(layout: Layout, tables: Sequence[int]) -> list[int]:
    return sorted({v for t in tables for v in layout.steps[t]})


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


ROUNDS = 3  # in which rules are mended and totals met again

Redraw = Callable[..., np.ndarray]


def agree(totals: PublishedTotals, rows: Positions, redraw: Redraw, *, rules: Rules, rng: np.random.Generator) -> int:
    """Changes rows of positions (n,) in place until they agree; how many cells disagree in the end.

    ``redraw``: draws a column again for rows, from their own components. ``rules``: kept throughout.
    """
    layout = Layout(totals)
    for _ in range(ROUNDS):
        rules.repair(rows, redraw)
        if not totals.disagreeing(rows):
            return 0
        _searched(layout, rows, redraw, rules, rng)
    rules.repair(rows, redraw)
    if totals.disagreeing(rows):
        _replaced(layout, rows, rng, rules)
        agreeing = {c: rows[c].copy() for c in totals.columns}
        rules.repair(rows, redraw)  # of what is not counted
        for column, positions in agreeing.items():
            rows[column][:] = positions
    return totals.disagreeing(rows)


def _searched(layout: Layout, rows: Positions, redraw: Redraw, rules: Rules, rng: np.random.Generator) -> None:
    before = layout.coded(rows)

    def propose(v: int, at: np.ndarray) -> np.ndarray:
        column = layout.atoms[v]
        return column.of(redraw(column.column, at, allowed=Intervals.of([(0, column.cells)])))

    def broken(at: np.ndarray, atoms: np.ndarray) -> np.ndarray:
        return rules.broken(_positions(layout, rows, before, at, atoms))

    retained = broken if rules.columns else None
    search = Search(layout, before.copy(), rng, propose=propose, broken=retained)
    brought(search, rng, retained)
    _write(layout, rows, before, search.atoms, rng, rules)


def _positions(
    layout: Layout, rows: Positions, before: np.ndarray, at: np.ndarray, atoms: np.ndarray
) -> Mapping[str, np.ndarray]:
    """Positions of some rows with other atoms: their own where those are as before, else an example's."""
    out = {n: p[at] for n, p in rows.items()}
    for v, one in enumerate(layout.atoms):
        same = atoms[:, v] == before[at, v]
        out[one.column] = np.where(same, out[one.column], one.example()[atoms[:, v]])
    return out


def _write(
    layout: Layout, rows: Positions, before: np.ndarray, after: np.ndarray, rng: np.random.Generator, rules: Rules
) -> None:
    """The atoms that changed become positions like those that other rows of the atom have.

    Where such a position breaks a rule, it is the example by which the search looked at the change.
    """
    for v, one in enumerate(layout.atoms):
        changed = np.flatnonzero(before[:, v] != after[:, v])
        if len(changed):
            rows[one.column][changed] = one.drawn(after[changed, v], rng, seen=rows[one.column].copy())
    anywhere = np.flatnonzero((before != after).any(1))
    if not len(anywhere) or not rules.columns:
        return
    wrong = anywhere[rules.broken({n: p[anywhere] for n, p in rows.items()})]
    for v, one in enumerate(layout.atoms):
        at = wrong[before[wrong, v] != after[wrong, v]]
        rows[one.column][at] = one.example()[after[at, v]]


def _replaced(layout: Layout, rows: Positions, rng: np.random.Generator, rules: Rules) -> None:
    """The counted columns become those of rows made of totals alone, in an order that leaves most as they are."""
    made, search = witness(layout)
    if search.off:
        return
    before = layout.coded(rows)
    order = np.argsort([-a.size for a in layout.atoms])
    mine, theirs = (np.lexsort([x[:, v] for v in order[::-1]]) for x in (before, made))
    after = np.empty_like(before)
    after[mine] = made[theirs]
    _write(layout, rows, before, after, rng, rules)
