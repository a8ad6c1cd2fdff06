"""Related rows drawn from a nested mixture, from the root down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.generators.base import Positions
from synth.generators.nested_mixture.history import Walk, Walked, is_walked
from synth.generators.nested_mixture.parts import Parts
from synth.generators.product_mixture.model import Product
from synth.generators.product_mixture.systematic_sampling import even_codes, even_pairs
from synth.schema.dataset import number_of
from synth.schema.histories import gap_of, month_of
from synth.schema.tree import Key

if TYPE_CHECKING:
    from synth.schema.enforcement import Rules  # and with it pandas


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnTable:
    """Drawn rows of one table: ``positions`` (n,) by column, ``parent`` (n,), the row of the parent's drawn rows."""

    positions: Positions
    parent: np.ndarray

    @property
    def num_rows(self) -> int:
        """How many rows were drawn."""
        return len(self.parent)


@dataclass(frozen=True, kw_only=True, eq=False)
class Draw:
    """How rows are drawn from a model; ``evened``: rows of children are rearranged towards the model's tables."""

    model: Parts
    where: Mapping[str, np.ndarray]
    rules: Mapping[str, Rules]
    rng: np.random.Generator
    evened: bool

    def block(self, num_roots: int) -> dict[str, DrawnTable]:
        """Related rows of so many roots."""
        schema, tables, rng = self.model.schema, self.model.tables, self.rng
        root, out = schema.root, {}
        components: dict[str, np.ndarray] = {}
        component, codes, views = tables[root].codes(num_roots, rng=rng, where=self.where)
        order = rng.permutation(num_roots)
        components[root] = component[order]
        positions = self._placed(root, components[root], codes[order], views, self.where)
        out[root] = DrawnTable(positions=positions, parent=np.zeros(num_roots, dtype=np.int64))
        for table in schema.downwards[1:]:
            key = self._key(table)
            number = out[key.parent].positions[number_of(table)]
            parent = np.repeat(np.arange(len(number)), number)
            walked = self._walked(table, components[key.parent], number) if is_walked(self.model, table) else None
            components[table] = (
                self._children(table, components[key.parent], number, parent) if walked is None else walked.component
            )
            codes = _codes(tables[table], components[table], rng, evened=self.evened)
            if walked is not None:
                self._repeat(table, codes, walked.stayed, components[key.parent][parent])
            others = self._others(table, components[key.parent], parent, codes)
            times = None if walked is None or walked.times is None or key.order is None else (key.order, walked.times)
            views = tables[table]._restrict({})[1]
            positions = self._placed(table, components[table], codes, views, {}, others, times)
            _in_order(key, positions, parent)
            out[table] = DrawnTable(positions=positions, parent=parent)
        return out

    def _children(self, table: str, above: np.ndarray, number: np.ndarray, parent: np.ndarray) -> np.ndarray:
        """Components (n,) of children, given those of their parents and how many each has."""
        state, rng = self.model.states[table], self.rng
        size, owner = state.shape[1], above[parent]
        mixtures = len(self.model.tables[table].weights) // size
        base = owner // (len(state) // mixtures) * size
        rank = np.arange(len(parent)) - np.repeat(np.cumsum(number) - number, number)
        if table in self.model.later and self._key(table).order is None:  # places of rows that are in no order
            rank = rank[np.lexsort((rng.random(len(parent)), parent))]
        if table not in self.model.turns:
            result = _picked(state, owner, rng)
            if table in self.model.later:
                later = self.model.later[table]
                for place, one in enumerate(later, 1):
                    rows = np.flatnonzero(rank == place if place < len(later) else rank >= place)
                    result[rows] = _picked(one, owner[rows], rng)
            if table in self.model.last:
                rows = np.flatnonzero(rank + 1 == number[parent])
                result[rows] = _picked(self.model.last[table], owner[rows], rng)
            return base + result
        result = np.zeros(len(parent), dtype=np.int64)
        turn = self.model.turns[table].reshape(-1, size)
        for place in range(int(number.max(initial=0))):
            rows = np.flatnonzero(rank == place)
            result[rows] = (
                _picked(state, owner[rows], rng)
                if place == 0
                else _picked(turn, owner[rows] * size + result[rows - 1], rng)
            )
        return base + result

    def _walked(self, table: str, above: np.ndarray, number: np.ndarray) -> Walked:
        """Children drawn row after row, their components among all of the table's."""
        state = self.model.states[table]
        mixtures = len(self.model.tables[table].weights) // state.shape[1]
        base = above // (len(state) // mixtures) * state.shape[1]
        walked = Walk(self.model, table).rows(above, base, number, self.rng)
        return replace(walked, component=walked.component + np.repeat(base, number))

    def _repeat(self, table: str, codes: np.ndarray, stayed: np.ndarray, owner: np.ndarray) -> None:
        """Gives rows that keep the component of the row before some of its groups (n, J); in place."""
        if table in self.model.again:
            copied = self._chosen(self.model.again[table], owner) & stayed[:, None]
            codes[:] = _repeated(codes, copied)

    def _key(self, table: str) -> Key:
        key = self.model.schema.key_above(table)
        assert key is not None
        return key

    def _others(self, table: str, above: np.ndarray, parent: np.ndarray, codes: np.ndarray) -> _Others | None:
        """The cells (n, J) that follow the component, of ``above``, of a row's ``parent``, drawn into the codes."""
        if table not in self.model.direct:
            return None
        direct, owner = self.model.direct[table], above[parent]
        drawn = _codes(direct, owner, self.rng, evened=self.evened)
        first = np.append(True, parent[1:] != parent[:-1])[: len(parent)]
        lasts = table in self.model.lasting  # and columns follow one origin in all rows of a parent
        if table in self.model.shared:
            if lasts:
                one = _codes(direct, owner, self.rng, evened=self.evened)
                one = _repeated(one, self._chosen(self.model.lasting[table], owner) & ~first[:, None])
            else:
                one = _codes(direct, owner[first], self.rng, evened=self.evened)[np.cumsum(first) - 1]
            np.copyto(drawn, one, where=self._chosen(self.model.shared[table], owner, first if lasts else None))
        follows = self._chosen(self.model.lean[table], owner, first if lasts else None)
        np.copyto(codes, drawn, where=follows)
        return _Others(product=direct, component=owner, follows=follows)

    def _chosen(self, parts: np.ndarray, owner: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
        """Cells (n, J), drawn by chances (J,) or (C_parent, J) of the rows' parents' components; ``first`` (n,): of
        which rows alone, those after each being as it is."""
        if first is not None:
            one: np.ndarray = self._chosen(parts, owner[first])
            return one[np.cumsum(first) - 1]
        drawn = self.rng.random((len(owner), parts.shape[-1]), dtype=np.float32)
        return drawn < (parts.astype(np.float32) if parts.ndim == 1 else parts.astype(np.float32)[owner])

    def _placed(
        self,
        table: str,
        component,
        codes,
        views,
        where,
        others: _Others | None = None,
        times: tuple[str, np.ndarray] | None = None,
    ) -> Positions:
        """Positions of rows whose components and groups are given, constraints of the table kept."""
        product = self.model.tables[table]
        positions = product._positions(codes, views, self.rng)
        if times is not None:
            order, path = times
            known = positions[order] < self.model.schema.tables[table].columns[order].size
            positions[order] = np.where(known, path, positions[order])
            positions = {n: p for n, p in positions.items() if n not in (gap_of(order), month_of(order))}
        if table in self.rules:
            again = product.redrawing(component, self.rng, where)
            self.rules[table].repair(positions, again if others is None else others.redraw(again, self.rng))
        return positions


@dataclass(frozen=True, kw_only=True, eq=False)
class _Others:
    """Which cells (n, J) ``follows`` the parents' ``component`` (n,), whose columns are ``product``."""

    product: Product
    component: np.ndarray
    follows: np.ndarray

    def redraw(self, ours: Callable[..., np.ndarray], rng: np.random.Generator) -> Callable[..., np.ndarray]:
        """Draws a column again for rows, each from what its cell follows."""
        theirs = self.product.redrawing(self.component, rng)
        at = {a.column: j for j, a in enumerate(self.product.axes)}

        def again(column: str, rows: np.ndarray, *, allowed: Any, least: np.ndarray | None = None) -> np.ndarray:
            result = ours(column, rows, allowed=allowed, least=least)
            chosen = np.flatnonzero(self.follows[rows, at[column]])
            part = None if least is None else least[chosen]
            result[chosen] = theirs(column, rows[chosen], allowed=allowed, least=part)
            return result

        return again


def _picked(probs: np.ndarray, lines: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A column (n,) of each of these lines of ``probs`` (L, S), by its chances."""
    ends = np.cumsum(probs, axis=1, dtype=float)
    ends /= np.maximum(ends[:, -1:], 1e-300)
    size = probs.shape[1]
    flat = (ends + np.arange(len(ends))[:, None]).reshape(-1)  # rises from line to line: one search finds all
    result = np.searchsorted(flat, rng.random(len(lines)) + lines, side="right") - lines * size
    return np.clip(result, 0, size - 1)


def _codes(product: Product, component: np.ndarray, rng: np.random.Generator, *, evened: bool) -> np.ndarray:
    """Groups (n, J) of rows whose components are given, in even proportion within each component.

    ``evened``: they are then rearranged within components towards the model's tables of pairs.
    """
    order = np.argsort(component, kind="stable")
    rows = np.bincount(component, minlength=len(product.weights))
    probs = [a.probs.astype(float) for a in product.axes]
    codes = np.empty((len(component), len(probs)), dtype=np.int64)
    if len(component):
        drawn = even_codes(rows, probs, rng)
        if evened:
            even_pairs(drawn, component[order], rows, probs, rng)
        codes[order] = drawn
    return codes


def _repeated(codes: np.ndarray, again: np.ndarray) -> np.ndarray:
    """Cells (n, J) that are those of the row before where it is so said."""
    return np.take_along_axis(codes, np.maximum.accumulate(np.where(again, 0, np.arange(len(codes))[:, None])), axis=0)


def _in_order(key: Key, positions: Positions, parent: np.ndarray) -> None:
    """Deals the values of the column that orders events to one parent's rows as they rise; in place."""
    if key.order is None or key.order not in positions:
        return
    times = positions[key.order]
    positions[key.order] = times[np.lexsort((times, parent))]
