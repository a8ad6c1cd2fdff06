"""The tables that `mixture` counted, fitted by the model of AIM and MST: a Markov random field over a junction tree.

A field keeps a table of every clique of its triangulated graph, so that not all tables fit: those that depart most
from independence are taken, one after the other, while the tree stays below ``MOST_CELLS``. Post-processing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, prod, sqrt

import numpy as np

from synth.generators.marginals import layout
from synth.generators.marginals.combine import sharpen
from synth.generators.marginals.histogram import estimate
from synth.generators.marginals.mixture import axis
from synth.generators.marginals.pair_queries import PURPOSE
from synth.generators.product_mixture.model import Product
from synth.numeric.markov_field import (
    Clique,
    JunctionTree,
    MarkovRandomField,
    Potentials,
    reduced,
    tree_cells,
)
from synth.questions import CountsRelease
from synth.release.folder import StoredRelease

MOST_CELLS = 1_000_000  # of the tree; AIM's own limit of 80 MB holds ten million or more
STEPS, GROW, SHRINK, STILL, PATIENCE = 300, 1.1, 0.5, 1e-6, 20


@dataclass(frozen=True, eq=False)
class Measured:
    """A noisy table: ``columns`` by number; ``values``; ``sigma``; ``groups``: of each column's groups its bin here."""

    columns: Clique
    values: np.ndarray
    sigma: float
    groups: tuple[np.ndarray, ...]

    def binned(self, table: np.ndarray) -> np.ndarray:
        """A table of groups summed to these bins."""
        for i, of in enumerate(self.groups):
            starts = np.zeros((*table.shape[:i], self.values.shape[i], *table.shape[i + 1 :]))
            np.add.at(np.moveaxis(starts, i, 0), of, np.moveaxis(table, i, 0))
            table = starts
        return table

    def apart(self) -> float:
        """Rows by which the table departs from independent columns, beyond what its noise explains."""
        total = max(float(self.values.sum()), 1.0)
        alone = np.full((1,) * self.values.ndim, total)
        for i in range(self.values.ndim):
            over = tuple(k for k in range(self.values.ndim) if k != i)
            alone = alone * np.maximum(self.values.sum(over, keepdims=True), 0.0) / total
        return float(np.abs(self.values - alone).sum()) - sqrt(2 / pi) * self.sigma * self.values.size


def chosen(sizes: Sequence[int], reported: Sequence[Measured], most: int) -> list[Measured]:
    """The tables that a tree of at most ``most`` cells holds, those that tell most first."""
    retained: list[Measured] = []
    for table in sorted(reported, key=lambda t: -t.apart()):
        if table.apart() > 0 and tree_cells(sizes, [*(k.columns for k in retained), table.columns]) <= most:
            retained.append(table)
    return retained


def fitted(sizes: Sequence[int], reported: Sequence[Measured], total: float) -> MarkovRandomField:
    """The field that agrees best with the tables, in squares weighted by precision, as ``MarkovRandomField.fit``."""
    at: Potentials = {t.columns: np.zeros([sizes[i] for i in t.columns]) for t in reported}
    tree = JunctionTree(tuple(sizes), list(at))
    step, still = 1 / (total * max(t.sigma**-2 for t in reported)), 0
    loss, slope, seen = _misfit(tree, at, reported, total)
    for _ in range(STEPS):
        tried = {c: p - step * slope[c] for c, p in at.items()}
        then = _misfit(tree, tried, reported, total)
        promised = sum(float(np.vdot(g, seen[c] - then[2][c])) for c, g in slope.items())
        if loss - then[0] < promised / 2:
            step *= SHRINK
            continue
        still = still + 1 if loss - then[0] < STILL * loss else 0
        at, (loss, slope, seen), step = tried, then, step * GROW
        if still >= PATIENCE:
            break
    return MarkovRandomField(sizes, at, total=total)


def _misfit(tree: JunctionTree, potentials: Potentials, reported: Sequence[Measured], total: float):
    """Half the squared errors over variances, their gradient by clique, and the field's tables there."""
    known = tree.tables(potentials, total)
    seen = {c: reduced(known[tree.home[c]], tree.cliques[tree.home[c]], c) for c in potentials}
    loss, slope = 0.0, {c: np.zeros_like(p) for c, p in potentials.items()}
    for table in reported:
        error = (table.binned(seen[table.columns]) - table.values) / table.sigma**2
        loss += 0.5 * float(np.vdot(error, error)) * table.sigma**2
        slope[table.columns] += error[np.ix_(*table.groups)]
    return loss, slope, seen


def by_graph(stored: StoredRelease, seed: int) -> tuple[Product, str]:
    """The field's rows as a mixture of as many components, and in words how many tables it could hold."""
    total, result = estimate(stored.releases, stored.setting)
    tables = [r for r in stored.releases if isinstance(r, CountsRelease) and r.question.purpose == PURPOSE]
    result = sharpen(result, tables, total)
    groups = layout.refine(result, tables)
    sizes = [int(groups[n].max()) + 1 for n in result]
    place = {n: i for i, n in enumerate(result)}
    alone = [
        Measured((i,), np.bincount(groups[n], weights=h.mass), max(h.sigma, 1.0), (np.arange(sizes[i]),))
        for i, (n, h) in enumerate(result.items())
    ]
    several = [
        Measured(
            tuple(place[b.column] for b in m.bins),
            v.astype(float),
            m.sigma,
            tuple(_bins_of(groups[b.column], b.groups) for b in m.bins),
        )
        for r in tables
        for m, v in zip(r.question.marginals, r.values, strict=True)
    ]
    retained = chosen(sizes, several, MOST_CELLS)
    field = fitted(sizes, [*alone, *retained], total)
    count = round(total)
    drawn = field.draw(count, np.random.default_rng(seed))
    made = [axis(h, groups[n], np.eye(sizes[i], dtype=np.float32)[drawn[i]]) for i, (n, h) in enumerate(result.items())]
    whole = prod(sizes)
    words = f"{len(retained)} of {len(several)} tables; a graph of all pairs is one table of {whole:.0e} cells"
    return Product(total=total, weights=np.full(count, 1 / count), axes=tuple(made)), words


def _bins_of(groups: np.ndarray, bins: np.ndarray) -> np.ndarray:
    out = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    out[groups] = bins
    return out
