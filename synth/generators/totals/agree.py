"""A model's rows brought to agree with published totals, to the unit, and changed as little as that takes.

First the model itself proposes: of rows in cells that hold too many, a column is drawn again from the row's own
component, and taken where that helps. What is left is found by the search. Should it end short, the rows that totals
alone make stand in for the counted columns, each as like the model's row as can be.

Privacy: released answers and public facts only.
"""

from collections.abc import Callable, Mapping

import numpy as np

from synth.generators.base import Positions
from synth.generators.totals.finish import brought
from synth.generators.totals.layout import Layout
from synth.generators.totals.search import Search
from synth.generators.totals.witness import witness
from synth.schema.enforcement import Rules
from synth.schema.intervals import Intervals
from synth.schema.totals_places import PublishedTotals

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
