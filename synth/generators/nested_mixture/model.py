"""A fitted nested mixture: related rows drawn from the root down, and the model on disk."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synth.errors import InputError
from synth.generators.base import Positions
from synth.generators.product_mixture import check_state
from synth.generators.product_mixture.model import Product
from synth.generators.product_mixture.systematic_sampling import even_codes, even_pairs
from synth.schema.enforcement import Rules
from synth.schema.related import Key, Related, number_of

ROOTS_AT_A_TIME = 1 << 16  # roots drawn at a time
EVENED = 1 << 14  # roots up to which rows are rearranged towards the model's tables of pairs


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Drawn rows of one table: ``positions`` (n,) by column, ``parent`` (n,), the row of the parent's drawn rows."""

    positions: Positions
    parent: np.ndarray

    @property
    def num_rows(self) -> int:
        """How many rows were drawn."""
        return len(self.parent)


@dataclass(frozen=True, kw_only=True, eq=False)
class NestedMixture:
    """A mixture over roots; ``tables``: each table's components and columns.

    ``states`` (C_parent, C): chances of a child's component, of events the first one's; ``later`` (R, C_parent, C), of
    the second, the third, ..., the last for all after it, where events are in order. Of several mixtures in one
    (``joined.py``) these are (C_parent, C / several): chances of the components of the parent's own mixture.
    ``direct``: columns as the parent's components have them; ``lean`` (J,) or (C_parent, J): the part of each column
    drawn from these. Models of before components were shared are of as many mixtures as the parent has components,
    with ``turns`` (C_parent, S, S), from one event to the next.
    **Guarantee**: derived from releases only, hence free to sample, copy and publish.
    """

    schema: Related
    tables: Mapping[str, Product]
    states: Mapping[str, np.ndarray]
    later: Mapping[str, np.ndarray] = field(default_factory=dict)
    direct: Mapping[str, Product] = field(default_factory=dict)
    lean: Mapping[str, np.ndarray] = field(default_factory=dict)
    turns: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """Estimated number of roots."""
        return self.tables[self.schema.root].total

    def probability(self, where: Mapping[str, np.ndarray]) -> float:
        """The chance that a root meets a condition on its columns."""
        return self.tables[self.schema.root].probability(where)

    def blocks(
        self,
        num_roots: int,
        *,
        rng: np.random.Generator,
        where: Mapping[str, np.ndarray] | None = None,
        rules: Mapping[str, Rules] | None = None,
    ) -> Iterator[dict[str, Rows]]:
        """Related rows of ``num_roots`` roots, ``ROOTS_AT_A_TIME`` roots at a time; parents are rows of the same block.

        ``where``: by column of the root the positions allowed. ``rules``: constraints of each table.
        """
        draw = _Draw(model=self, where=where or {}, rules=rules or {}, rng=rng, evened=num_roots <= EVENED)
        for first in range(0, num_roots, ROOTS_AT_A_TIME):
            yield draw.block(min(ROOTS_AT_A_TIME, num_roots - first))

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """A JSON-able description and the arrays that together rebuild the model."""
        about: dict[str, Any] = {"tables": {}, "ordered": list(self.turns)}
        arrays: dict[str, np.ndarray] = {}
        for i, (name, product) in enumerate(self.tables.items()):
            told, own = product.state()
            about["tables"][name] = told
            arrays |= {f"table{i}.{n}": a for n, a in own.items()}
            if name in self.states:
                arrays[f"table{i}.state"] = self.states[name]
            if name in self.direct:
                _, own = self.direct[name].state()
                arrays |= {f"table{i}.direct.{n}": a for n, a in own.items()}
                arrays[f"table{i}.lean"] = self.lean[name]
            if name in self.later:
                arrays[f"table{i}.later"] = self.later[name]
            if name in self.turns:
                arrays[f"table{i}.turn"] = self.turns[name]
        return about, arrays

    @staticmethod
    def from_state(schema: Related, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "NestedMixture":
        """The model that ``state`` described. Errors: InputError where its parts do not fit the schema or together."""
        tables, states, later, turns, direct, lean = {}, {}, {}, {}, {}, {}
        for i, (name, told) in enumerate(about["tables"].items()):
            own = {n.removeprefix(f"table{i}."): a for n, a in arrays.items() if n.startswith(f"table{i}.")}
            tables[name] = Product.from_state(told, own)
            if name != schema.root:
                states[name] = np.asarray(own["state"])
            if "lean" in own:
                parts = {n.removeprefix("direct."): a for n, a in own.items() if n.startswith("direct.")}
                direct[name], lean[name] = Product.from_state(told, parts), np.asarray(own["lean"])
            if "later" in own:
                later[name] = np.asarray(own["later"])
            if name in about["ordered"]:
                turns[name] = np.asarray(own["turn"])
        found = NestedMixture(schema=schema, tables=tables, states=states, later=later, turns=turns,
                              direct=direct, lean=lean)  # fmt: skip
        for problem in found._problems():
            raise InputError(f"the model is damaged: {problem}; make it again or use another copy")
        return found

    def _problems(self) -> Iterator[str]:
        if set(self.tables) != set(self.schema.tables):
            yield "its tables are not those of its schema"
            return
        for name, product in self.tables.items():
            facts = {n: c.cells for n, c in self.schema.learnt(name).columns.items()}
            if {a.column: a.cells for a in product.axes} != facts:
                yield f"table {name} does not have the columns of its schema"
            for problem in check_state.problems(product):
                yield f"table {name}, {problem}"
        for name, state in self.states.items():
            key = self.schema.key_above(name)
            above, many = len(self.tables[key.parent].weights) if key else 1, len(self.tables[name].weights)
            shaped = state.ndim == 2 and len(state) == above and _parted(many, state)
            if not shaped or not np.isfinite(state).all() or (state < 0).any():
                yield f"table {name}: its components do not fit its parent's"
            later, turn = self.later.get(name), self.turns.get(name)
            if later is not None and (
                later.shape[1:] != state.shape or not np.isfinite(later).all() or (later < 0).any()
            ):
                yield f"table {name}: its later events do not fit its first ones"
            if turn is not None and (turn.shape != (*state.shape, state.shape[-1]) or not np.isfinite(turn).all()):
                yield f"table {name}: its steps do not fit its components"
            if name in self.direct:
                yield from self._direct_problems(name, above)

    def _direct_problems(self, name: str, above: int) -> Iterator[str]:
        direct, lean = self.direct[name], self.lean[name]
        if [(a.column, a.cells) for a in direct.axes] != [(a.column, a.cells) for a in self.tables[name].axes]:
            yield f"table {name}: what its columns have from the parent are other columns"
        shaped = lean.shape in ((len(direct.axes),), (above, len(direct.axes)))
        if len(direct.weights) != above or not shaped or not ((lean >= 0) & (lean <= 1)).all():
            yield f"table {name}: what its columns have from the parent does not fit its components"
        yield from (f"table {name}, {problem}" for problem in check_state.problems(direct))


def _parted(many: int, state: np.ndarray) -> bool:
    """Whether so many components are of whole mixtures, each with as many of its parents' lines."""
    each = state.shape[1]
    return each > 0 and many > 0 and many % each == 0 and len(state) % (many // each) == 0


@dataclass(frozen=True, kw_only=True, eq=False)
class _Draw:
    """How rows are drawn from a model; ``evened``: rows of children are rearranged towards the model's tables."""

    model: NestedMixture
    where: Mapping[str, np.ndarray]
    rules: Mapping[str, Rules]
    rng: np.random.Generator
    evened: bool

    def block(self, num_roots: int) -> dict[str, Rows]:
        """Related rows of so many roots."""
        schema, tables, rng = self.model.schema, self.model.tables, self.rng
        root, out = schema.root, {}
        components: dict[str, np.ndarray] = {}
        component, codes, views = tables[root].codes(num_roots, rng=rng, where=self.where)
        order = rng.permutation(num_roots)
        components[root] = component[order]
        positions = self._placed(root, components[root], codes[order], views, self.where)
        out[root] = Rows(positions=positions, parent=np.zeros(num_roots, dtype=np.int64))
        for table in schema.downwards[1:]:
            key = schema.key_above(table)
            assert key is not None
            number = out[key.parent].positions[number_of(table)]
            parent = np.repeat(np.arange(len(number)), number)
            components[table] = self._children(table, components[key.parent], number, parent)
            codes = _codes(tables[table], components[table], rng, evened=self.evened)
            others = self._others(table, components[key.parent][parent], codes)
            positions = self._placed(table, components[table], codes, tables[table]._restrict({})[1], {}, others)
            _in_order(key, positions, parent)
            out[table] = Rows(positions=positions, parent=parent)
        return out

    def _children(self, table: str, above: np.ndarray, number: np.ndarray, parent: np.ndarray) -> np.ndarray:
        """Components (n,) of children, given those of their parents and how many each has."""
        state, rng = self.model.states[table], self.rng
        size, owner = state.shape[1], above[parent]
        mixtures = len(self.model.tables[table].weights) // size
        base = owner // (len(state) // mixtures) * size
        rank = np.arange(len(parent)) - np.repeat(np.cumsum(number) - number, number)
        if table not in self.model.turns:
            found = _picked(state, owner, rng)
            if table in self.model.later:
                later = self.model.later[table]
                for place, one in enumerate(later, 1):
                    rows = np.flatnonzero(rank == place if place < len(later) else rank >= place)
                    found[rows] = _picked(one, owner[rows], rng)
            return base + found
        found = np.zeros(len(parent), dtype=np.int64)
        turn = self.model.turns[table].reshape(-1, size)
        for place in range(int(number.max(initial=0))):
            rows = np.flatnonzero(rank == place)
            found[rows] = (
                _picked(state, owner[rows], rng)
                if place == 0
                else _picked(turn, owner[rows] * size + found[rows - 1], rng)
            )
        return base + found

    def _others(self, table: str, owner: np.ndarray, codes: np.ndarray) -> "_Others | None":
        """The cells (n, J) that follow the parent's component ``owner`` (n,), drawn into the codes; in place."""
        if table not in self.model.direct:
            return None
        direct = self.model.direct[table]
        drawn = _codes(direct, owner, self.rng, evened=self.evened)
        lean = np.broadcast_to(self.model.lean[table].astype(np.float32), (len(direct.weights), codes.shape[1]))
        follows = self.rng.random(codes.shape, dtype=np.float32) < lean[owner]
        np.copyto(codes, drawn, where=follows)
        return _Others(product=direct, component=owner, follows=follows)

    def _placed(self, table: str, component, codes, views, where, others: "_Others | None" = None) -> Positions:
        """Positions of rows whose components and groups are given, constraints of the table kept."""
        product = self.model.tables[table]
        positions = product._positions(codes, views, self.rng)
        if table in self.rules:
            again = product._redraw(component, where, self.rng)
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
        theirs = self.product._redraw(self.component, {}, rng)
        at = {a.column: j for j, a in enumerate(self.product.axes)}

        def again(column: str, rows: np.ndarray, *, allowed: Any, least: np.ndarray | None = None) -> np.ndarray:
            found = ours(column, rows, allowed=allowed, least=least)
            chosen = np.flatnonzero(self.follows[rows, at[column]])
            part = None if least is None else least[chosen]
            found[chosen] = theirs(column, rows[chosen], allowed=allowed, least=part)
            return found

        return again


def _picked(probs: np.ndarray, lines: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A column (n,) of each of these lines of ``probs`` (L, S), by its chances."""
    ends = np.cumsum(probs, axis=1, dtype=float)
    ends /= np.maximum(ends[:, -1:], 1e-300)
    size = probs.shape[1]
    flat = (ends + np.arange(len(ends))[:, None]).reshape(-1)  # rises from line to line: one search finds all
    found = np.searchsorted(flat, rng.random(len(lines)) + lines, side="right") - lines * size
    return np.clip(found, 0, size - 1)


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


def _in_order(key: Key, positions: Positions, parent: np.ndarray) -> None:
    """Deals the values of the column that orders events to one parent's rows as they rise; in place."""
    if key.order is None or key.order not in positions:
        return
    times = positions[key.order]
    positions[key.order] = times[np.lexsort((times, parent))]
