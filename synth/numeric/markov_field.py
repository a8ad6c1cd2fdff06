"""Markov random fields: the distribution of greatest entropy that agrees best with noisy tables of some columns.

Columns are numbered. All of it works on released tables; nothing here reads a row or draws privacy noise.
Source: McKenna, Sheldon, Miklau, arXiv 1901.09136: mirror descent (Algorithm 1) over a junction tree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

Clique = tuple[int, ...]
Potentials = dict[Clique, np.ndarray]
GROW, SHRINK = 1.1, 0.5  # of the step, after one that kept its promise and one that did not
STILL, PATIENCE = 1e-6, 20  # the fit ends when so many steps in a row gain less than this part of the loss


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """Noisy counts of some columns, an axis for each, and the deviation of their noise."""

    columns: Clique
    values: np.ndarray
    sigma: float


def total_of(tables: Sequence[MeasuredTable]) -> float:
    """The row count, at least 1: the tables' sums, weighted by their precision.

    >>> total_of([MeasuredTable((0,), np.array([3.0, 5.0]), 1.0)])
    8.0
    """
    sums = np.array([float(t.values.sum()) for t in tables])
    precision = np.array([1 / (t.values.size * t.sigma**2) for t in tables])
    return max(float(sums @ precision / precision.sum()), 1.0)


class MarkovRandomField:
    """A field with log ``potentials`` on some cliques; ``sizes``: number of values of each column.

    >>> f = MarkovRandomField([2, 2], {(0, 1): np.log([[2.0, 1.0], [1.0, 2.0]])}, total=6.0)
    >>> f.table((1, 0)).round(6).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """

    def __init__(self, sizes: Sequence[int], potentials: Potentials, *, total: float) -> None:
        self.sizes, self.total, self.potentials = tuple(sizes), total, potentials
        self._tree = JunctionTree(self.sizes, list(potentials))
        self._known = self._tree.tables(potentials, total)
        self._pairs: dict[Clique, np.ndarray] = {}

    def table(self, columns: Clique) -> np.ndarray:
        """Expected counts of these columns, an axis for each in this order."""
        for clique, known in zip(self._tree.cliques, self._known, strict=True):
            if set(columns) <= set(clique):
                return reduced(known, clique, columns)
        if len(columns) > 2:
            return self._together(columns)
        if columns not in self._pairs:
            self._spread(columns[0])
        return self._pairs[columns]

    def draw(self, count: int, rng: np.random.Generator) -> dict[int, np.ndarray]:
        """``count`` records, a code for each column; spread evenly within records that agree so far."""
        drawn: dict[int, np.ndarray] = {}
        for clique, known in zip(self._tree.cliques, self._known, strict=True):
            for column in clique:
                if column not in drawn:
                    given = [c for c in clique if c in drawn]
                    joint = reduced(known, clique, (*given, column))
                    drawn[column] = _conditional(joint, [drawn[c] for c in given], count, rng)
        return drawn

    def _together(self, columns: Clique) -> np.ndarray:
        """Counts of columns of several cliques: each node hands those in it and behind it to its parent, by what the
        two share."""
        handed: dict[int, tuple[np.ndarray, Clique]] = {}
        for at in range(len(self._tree.cliques) - 1, -1, -1):
            clique, parent = self._tree.cliques[at], self._tree.parent[at]
            shared = self._tree.shared(at, parent) if parent >= 0 else ()
            behind = [handed[i] for i in self._tree.near[at] if i != parent and i in handed]
            own = [c for c in columns if c in clique and c not in shared]
            far = [c for _, axes in behind for c in axes if c not in clique]
            if at and not own and not far:
                continue
            over = tuple(i for i, c in enumerate(clique) if c not in shared)
            known = self._known[at]
            given = known / np.maximum(known.sum(axis=over, keepdims=True), 1e-300) if at else known
            handed[at] = _product([(given, clique), *behind], (*shared, *own, *far)), (*shared, *own, *far)
        table, axes = handed[0]
        return table.transpose([axes.index(c) for c in columns])

    def _spread(self, name: int) -> None:
        """This column's tables with all others, carried along the tree from a clique that holds it."""
        first = next(i for i, c in enumerate(self._tree.cliques) if name in c)
        todo: list[tuple[int, int, np.ndarray | None]] = [(first, first, None)]
        while todo:
            at, before, carried = todo.pop()
            for other in self._tree.cliques[at]:
                if other != name:
                    self._pairs.setdefault((name, other), self._joint(name, at, before, carried, (other,)))
            for after in self._tree.near[at]:
                if after != before:
                    shared = self._tree.shared(at, after)
                    todo.append((after, at, self._joint(name, at, before, carried, shared)))

    def _joint(self, name: int, at: int, before: int, carried: np.ndarray | None, wanted: Clique) -> np.ndarray:
        """The table of ``name`` and columns of a clique, given that of ``name`` and what it shares with the last."""
        clique = self._tree.cliques[at]
        if name in clique:
            return reduced(self._known[at], clique, (name, *(w for w in wanted if w != name)))
        assert carried is not None
        shared = tuple(c for c in self._tree.shared(before, at) if c != name)
        retained = (*shared, *(w for w in wanted if w not in shared))
        joint = reduced(self._known[at], clique, retained)
        given = joint / np.maximum(joint.sum(axis=tuple(range(len(shared), len(retained))), keepdims=True), 1e-300)
        return np.einsum(
            carried, [len(self.sizes), *shared], given, list(retained), [len(self.sizes), *wanted], optimize=True
        )

    @staticmethod
    def fit(
        sizes: Sequence[int],
        tables: Sequence[MeasuredTable],
        *,
        total: float | None = None,
        start: Mapping[Clique, np.ndarray] | None = None,
        iterations: int = 1000,
        progress: Callable[[float], Any] = lambda _: None,
    ) -> "MarkovRandomField":
        """The field that agrees best with the tables, in squares weighted by precision.

        ``start``: potentials to begin with, as an earlier field's. ``total``: the row count where it is known.
        """
        whole = total_of(tables) if total is None else total
        at: Potentials = {t.columns: np.zeros([sizes[i] for i in t.columns]) for t in tables} | dict(start or {})
        tree = JunctionTree(tuple(sizes), list(at))
        step, still = 1 / (whole * max(t.sigma**-2 for t in tables)), 0
        now = _misfit(tree, at, tables, whole)
        for i in range(iterations):
            tried = {c: p - step * now.slope[c] if c in now.slope else p for c, p in at.items()}
            then = _misfit(tree, tried, tables, whole)
            promised = sum(float(np.vdot(g, now.seen[c] - then.seen[c])) for c, g in now.slope.items())
            if now.loss - then.loss >= promised / 2:
                still = still + 1 if now.loss - then.loss < STILL * now.loss else 0
                at, now, step = tried, then, step * GROW
            else:
                step *= SHRINK
            progress((i + 1) / iterations)
            if still >= PATIENCE:
                break
        return MarkovRandomField(sizes, at, total=whole)


@dataclass(frozen=True, eq=False)
class _Misfit:
    """Half the squared errors over variances, their gradient by clique, and the field's tables there."""

    loss: float
    slope: Potentials
    seen: Potentials


def _misfit(tree: "JunctionTree", potentials: Potentials, tables: Sequence[MeasuredTable], total: float) -> _Misfit:
    known = tree.tables(potentials, total)
    seen = {c: reduced(known[tree.home[c]], tree.cliques[tree.home[c]], c) for c in potentials}
    loss = 0.0
    slope: Potentials = {}
    for table in tables:
        error = (seen[table.columns] - table.values) / table.sigma**2
        loss += 0.5 * float(np.vdot(error, error)) * table.sigma**2
        slope[table.columns] = slope[table.columns] + error if table.columns in slope else error
    return _Misfit(loss, slope, seen)


class JunctionTree:
    """A junction tree of some columns' cliques: its nodes in an order in which each follows its parent."""

    def __init__(self, sizes: tuple[int, ...], cliques: Sequence[Clique]) -> None:
        self.sizes = sizes
        chordal = _triangulated(sizes, cliques)
        nodes = [c for i, c in enumerate(chordal) if not any({*c} < {*d} for d in chordal) and c not in chordal[:i]]
        self.cliques: list[Clique] = []
        self.parent: list[int] = []
        self._join(nodes)
        self.near: list[list[int]] = [[] for _ in self.cliques]
        for child, parent in enumerate(self.parent):
            if parent >= 0:
                self.near[child].append(parent)
                self.near[parent].append(child)
        self.home = {c: next(i for i, n in enumerate(self.cliques) if set(c) <= set(n)) for c in cliques}

    def shared(self, one: int, other: int) -> Clique:
        """Columns that two nodes have in common."""
        return tuple(c for c in self.cliques[one] if c in self.cliques[other])

    def tables(self, potentials: Potentials, total: float) -> list[np.ndarray]:
        """Each node's expected counts: messages up the tree and down again, in logarithms."""
        belief = [np.zeros([self.sizes[i] for i in c]) for c in self.cliques]
        for clique, potential in potentials.items():
            node = self.home[clique]
            belief[node] += _spread_out(potential, clique, self.cliques[node])
        sent: dict[int, np.ndarray] = {}
        for child in range(len(self.cliques) - 1, 0, -1):
            parent = self.parent[child]
            shared = self.shared(child, parent)
            sent[child] = _log_sum(belief[child], self.cliques[child], shared)
            belief[parent] += _spread_out(sent[child], shared, self.cliques[parent])
        for child in range(1, len(self.cliques)):
            parent = self.parent[child]
            shared = self.shared(child, parent)
            back = _log_sum(belief[parent], self.cliques[parent], shared) - sent[child]
            belief[child] += _spread_out(back, shared, self.cliques[child])
        whole = float(_log_sum(belief[0], self.cliques[0], ()))
        return [total * np.exp(b - whole) for b in belief]

    def _join(self, nodes: list[Clique]) -> None:
        """Nodes joined where they share most (Prim): a junction tree, since the graph is triangulated."""
        left = list(nodes)
        self.cliques, self.parent = [left.pop(0)], [-1]
        while left:
            pairs = [(len(set(n) & set(c)), -j, -i) for j, n in enumerate(left) for i, c in enumerate(self.cliques)]
            _, j, i = max(pairs)
            self.cliques.append(left.pop(-j))
            self.parent.append(-i)


def _triangulated(sizes: tuple[int, ...], cliques: Sequence[Clique]) -> list[Clique]:
    """Cliques of a chordal graph that covers these: columns leave one by one, the cheapest first."""
    near: dict[int, set[int]] = {i: set() for i in range(len(sizes))}
    for clique in cliques:
        for a, b in combinations(clique, 2):
            near[a].add(b)
            near[b].add(a)
    results = []
    while near:
        leaving = min(near, key=lambda i: (sizes[i] * prod(sizes[j] for j in near[i]), i))
        around = near.pop(leaving)
        results.append(tuple(sorted({leaving, *around})))
        for a in around:
            near[a] = (near[a] | around) - {a, leaving}
    return results


def reduced(table: np.ndarray, clique: Clique, retained: Sequence[int]) -> np.ndarray:
    """The table of a clique summed to the kept columns, in their order."""
    axes = {c: i for i, c in enumerate(clique)}
    over = tuple(i for c, i in axes.items() if c not in retained)
    left = [c for c in clique if c in retained]
    return table.sum(axis=over).transpose([left.index(k) for k in retained])


def _spread_out(table: np.ndarray, columns: Clique, clique: Clique) -> np.ndarray:
    """A table's axes moved to where its columns stand in a clique that holds them, for broadcasting."""
    order = sorted(range(len(columns)), key=lambda i: clique.index(columns[i]))
    shape = iter([table.shape[i] for i in order])
    return table.transpose(order).reshape([next(shape) if c in columns else 1 for c in clique])


def _product(tables: Sequence[tuple[np.ndarray, Clique]], retained: Clique) -> np.ndarray:
    """The product of tables, each with its columns, summed to the retained ones."""
    axes = {c: i for i, c in enumerate(dict.fromkeys(c for _, columns in tables for c in columns))}
    operands = [x for table, columns in tables for x in (table, [axes[c] for c in columns])]
    out: np.ndarray = np.einsum(*operands, [axes[c] for c in retained], optimize=True)
    return out


def _log_sum(table: np.ndarray, clique: Clique, retained: Clique) -> np.ndarray:
    """log of sums of exponentials over all but the kept columns, which stand in the clique's order."""
    over = tuple(i for i, c in enumerate(clique) if c not in retained)
    top = table.max(axis=over, keepdims=True)
    return np.log(np.exp(table - top).sum(axis=over)) + top.reshape([table.shape[clique.index(c)] for c in retained])


def _conditional(joint: np.ndarray, given: list[np.ndarray], count: int, rng: np.random.Generator) -> np.ndarray:
    """Codes of the last axis given the others': systematic sampling among records that agree on these."""
    size = joint.shape[-1]
    group = np.ravel_multi_index(tuple(given), joint.shape[:-1]) if given else np.zeros(count, dtype=np.int64)
    groups, group = np.unique(group, return_inverse=True)
    run = np.cumsum(joint.reshape(-1, size)[groups] + 1e-12 / size, axis=1)
    run /= run[:, -1:]
    order = np.argsort(group + rng.random(count))
    held = np.bincount(group)
    rank = np.arange(count) - np.repeat(np.cumsum(held) - held, held)
    place = group[order] + (rank + rng.random(count)) / held[group[order]]
    at = np.searchsorted((run + np.arange(len(run))[:, None]).ravel(), place, side="right")
    codes = np.empty(count, dtype=np.int64)
    codes[order] = np.clip(at - group[order] * size, 0, size - 1)
    return codes
