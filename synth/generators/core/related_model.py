"""A fitted nested mixture, how related rows are drawn from it, and the model on disk.

In long histories a row has the component of the row before with a chance of its parent's component, as far as the
chances of both places allow, so that each place's rows are as without it; else one of what is left of these chances.
Times follow from gaps. Of a few rows that might come next, each with its component and gap, one is chosen by what the
model says of its month: a component whose rows are of the winter comes in winter. Released answers only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import InputError
from synth.generators.base import Positions
from synth.generators.core.product import Axis, Product, model_problems
from synth.generators.core.sampling import even_codes, even_pairs
from synth.schema.column import Column
from synth.schema.dataset import Dataset, number_of
from synth.schema.histories import gap_of, month_of, months
from synth.schema.tree import Key

if TYPE_CHECKING:
    from synth.schema.enforcement import Rules


PARTS = {  # of a child's table, by what they are called in a stored model, in its order
    "states": "state",
    **{n: n for n in ("direct", "lean", "shared", "later", "last")},
    "turns": "turn",
    **{n: n for n in ("keep", "again", "lasting")},
}
BY_COLUMN = ("lean", "shared", "again", "lasting")


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """A mixture over roots as arrays; ``tables``: each table's components and columns.

    ``states`` (C_parent, C): chances of a child's component, the first one's; ``later`` (R, C_parent, C), of the
    second, the third, ..., one for all after it; where rows are in no order, these are dealt by chance; ``last``
    (C_parent, C), of the last event or the only one, where it has chances of its own. Of several mixtures in one
    (``joined``) these are (C_parent, C / several): chances of the components of the parent's own mixture.
    ``direct``: columns as the parent's components have them; ``lean`` (J,) or (C_parent, J): the part of each column
    drawn from these; ``shared``, as ``lean``: of that part what is one value for all rows of a parent.
    ``keep`` (C_parent,): of long histories in order the chance that a row has the component of the row before, as far
    as both places' chances allow; ``again``, as ``lean``: then a column that follows the row's own component repeats
    its value; ``lasting``, as ``lean``: the chance that a value shared by rows lasts to the next one, else all of them
    have it; where it is stated a column follows ``direct`` in all rows of a parent or in none.
    Models of before components were shared are of as many mixtures as the parent has components, with ``turns``
    (C_parent, S, S), from one event to the next.
    """

    schema: Dataset
    tables: Mapping[str, Product]
    states: Mapping[str, np.ndarray]
    later: Mapping[str, np.ndarray] = field(default_factory=dict)
    last: Mapping[str, np.ndarray] = field(default_factory=dict)
    direct: Mapping[str, Product] = field(default_factory=dict)
    lean: Mapping[str, np.ndarray] = field(default_factory=dict)
    shared: Mapping[str, np.ndarray] = field(default_factory=dict)
    keep: Mapping[str, np.ndarray] = field(default_factory=dict)
    again: Mapping[str, np.ndarray] = field(default_factory=dict)
    lasting: Mapping[str, np.ndarray] = field(default_factory=dict)
    turns: Mapping[str, np.ndarray] = field(default_factory=dict)


CANDIDATES = 8  # rows of which one comes next
MOST_LIKELY = 10.0  # by which a month or time makes a row more likely, at most


@dataclass(frozen=True, kw_only=True, eq=False)
class Walked:
    """Rows (n,): ``component`` of their own mixture, whether it ``stayed``, ``times`` or None."""

    component: np.ndarray
    stayed: np.ndarray
    times: np.ndarray | None


class Chances:
    """Draws from lines (L, S) of chances."""

    def __init__(self, lines: np.ndarray) -> None:
        ends = np.cumsum(lines, axis=1, dtype=float)
        ends /= np.maximum(ends[:, -1:], 1e-300)
        self._size, self._flat = lines.shape[1], (ends + np.arange(len(ends))[:, None]).reshape(-1)

    def pick(self, lines: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A column (n,) of each of these lines (n,)."""
        at = np.searchsorted(self._flat, rng.random(len(lines)) + lines, side="right") - lines * self._size
        return np.clip(at, 0, self._size - 1)


class _Inside:
    """Draws positions of a column from ``least`` on and below ``most``, by components."""

    def __init__(self, axis: Axis, least: int, most: int) -> None:
        low, high = np.maximum(axis.starts, least), np.minimum(np.append(axis.starts[1:], axis.cells), most)
        self._low, self._wide = low, np.maximum(high - low, 0)
        masses = axis.probs[:, axis.groups].astype(float) * axis.within * (self._wide / axis.widths)
        none = masses.sum(1) <= 0
        masses[none] = self._wide
        self._chances = Chances(masses)

    def pick(self, components: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        leaf = self._chances.pick(components, rng)
        return self._low[leaf] + (rng.random(len(leaf)) * self._wide[leaf]).astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Origins:
    """One column as rows' own components and as their parents' have it; ``lean`` (C_parent,): part of the latter."""

    own: Axis
    above: Axis | None
    lean: np.ndarray
    usual: np.ndarray

    @classmethod
    def of(cls, model: Parts, table: str, column: str, *, usual: np.ndarray | None = None) -> _Origins:
        """``usual`` (cells,): how often each position comes without weighing, by default as the model has it."""
        product = model.tables[table]
        j = [a.column for a in product.axes].index(column)
        own, lines = product.axes[j], len(model.states[table])
        known = None if usual is None else np.add.reduceat(usual, own.starts)
        mean = _one_way(product, j)
        if table not in model.direct:
            return cls(own=own, above=None, lean=np.zeros(lines), usual=mean if known is None else known)
        direct, lean = model.direct[table], np.broadcast_to(model.lean[table], (lines, len(product.axes)))[:, j]
        part = float(direct.weights @ lean)
        mean = (1 - part) * mean + part * _one_way(direct, j)
        return cls(own=own, above=direct.axes[j], lean=lean, usual=mean if known is None else known)

    def drawing(self, least: int, most: int) -> _Drawing:
        """How positions in a range are drawn."""
        above = None if self.above is None else _Inside(self.above, least, most)
        return _Drawing(own=_Inside(self.own, least, most), above=above, lean=self.lean)

    def likely(self, positions: np.ndarray, component: np.ndarray, owner: np.ndarray) -> np.ndarray:
        """How many times as likely as usual positions (n,) are under rows' and their parents' components."""
        leaf = np.searchsorted(self.own.starts, positions, side="right") - 1
        group = self.own.groups[leaf]
        chance = self.own.probs[component, group].astype(float)
        if self.above is not None:
            lean = self.lean[owner]
            chance = (1 - lean) * chance + lean * self.above.probs[owner, group]
        return np.minimum(chance * self.own.within[leaf] / np.maximum(self.usual[leaf], 1e-9), MOST_LIKELY)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Drawing:
    own: _Inside
    above: _Inside | None
    lean: np.ndarray

    def origins(self, owner: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Whether each parent's rows (m,) follow its component."""
        return rng.random(len(owner)) < self.lean[owner]

    def pick(
        self, component: np.ndarray, owner: np.ndarray, follows: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        result = self.own.pick(component, rng)
        if self.above is not None:
            rows = np.flatnonzero(follows)
            result[rows] = self.above.pick(owner[rows], rng)
        return result


def _one_way(product: Product, j: int) -> np.ndarray:
    """Shares (L,) of a column's leaves."""
    axis = product.axes[j]
    return (np.asarray(product.weights, dtype=float) @ axis.probs.astype(float))[axis.groups] * axis.within


def is_walked(model: Parts, table: str) -> bool:
    """Whether the rows of a table are drawn one after another."""
    key = model.schema.key_above(table)
    timed = key is not None and gap_of(str(key.order)) in {a.column for a in model.tables[table].axes}
    return table in model.keep or timed


class Walk:
    """How histories of one table are drawn from a model."""

    def __init__(self, model: Parts, table: str) -> None:
        key = model.schema.key_above(table)
        assert key is not None
        self.state, later = model.states[table], model.later.get(table, ())
        self.places = [self.state, *later]
        self.last = model.last.get(table)
        self.keep = model.keep.get(table, np.zeros(len(self.state)))
        self.steps: dict[tuple[int, int], tuple[np.ndarray, Chances]] = {}
        self.time: Column | None = None
        columns = {a.column for a in model.tables[table].axes}
        if key.order is not None and gap_of(key.order) in columns:
            self.time = model.schema.tables[table].columns[key.order]
            self.start = _Origins.of(model, table, key.order).drawing(0, self.time.size)
            self.gap = _Origins.of(model, table, gap_of(key.order)).drawing(1, self.time.size + 1)
            month = month_of(key.order)
            self.month = None
            if month in columns:  # times that follow gaps come in all months alike
                calendar = np.bincount(months(self.time, np.arange(self.time.size)), minlength=13) / self.time.size
                self.month = _Origins.of(model, table, month, usual=calendar)

    def _chances(self, place: int) -> np.ndarray:
        return self.places[place] if place >= 0 else self.last  # type: ignore[return-value]

    def _step(self, before: int, place: int) -> tuple[np.ndarray, Chances]:
        """The chance (C_parent, S) that a component is kept from one place to another, and what else comes."""
        if (before, place) not in self.steps:
            near, far = self._chances(before), self._chances(place)
            both = self.keep[:, None] * np.minimum(near, far)
            self.steps[before, place] = both / np.maximum(near, 1e-12), Chances(np.maximum(far - both, 0))
        return self.steps[before, place]

    def rows(self, owner: np.ndarray, base: np.ndarray, number: np.ndarray, rng: np.random.Generator) -> Walked:
        """Rows of parents whose components are ``owner`` (m,), ``base`` (m,) their mixtures' first, ``number`` (m,)."""
        whole, starts = int(number.sum()), np.cumsum(number) - number
        component, stayed = np.zeros(whole, dtype=np.int64), np.zeros(whole, dtype=bool)
        times = np.zeros(whole, dtype=np.int64)
        follows = np.zeros(len(owner), dtype=bool) if self.time is None else self.gap.origins(owner, rng)
        for rank in range(int(number.max(initial=0))):
            for place, some in self._placed(number, rank):
                rows, above = starts[some] + rank, owner[some]
                if rank == 0:
                    component[rows] = Chances(self._chances(place)).pick(above, rng)
                    if self.time is not None:
                        at = self.start.origins(above, rng)
                        times[rows] = self.start.pick(base[some] + component[rows], above, at, rng)
                    continue
                before = min(rank - 1, len(self.places) - 1)
                component[rows], stayed[rows], times[rows] = self._next(
                    self._step(before, place),
                    component[rows - 1],
                    times[rows - 1],
                    above,
                    base[some],
                    follows[some],
                    rng,
                )
        return Walked(
            component=component, stayed=stayed, times=None if self.time is None else self._within(times, starts, number)
        )

    def _placed(self, number: np.ndarray, rank: int) -> Iterator[tuple[int, np.ndarray]]:
        """(place, which parents) that have a row of this rank; -1 for the last one's place."""
        ends = (number == rank + 1) if self.last is not None else np.zeros(len(number), dtype=bool)
        for place, some in ((-1, ends), (min(rank, len(self.places) - 1), (number > rank) & ~ends)):
            if some.any():
                yield place, np.flatnonzero(some)

    def _next(self, step, component, times, owner, base, follows, rng: np.random.Generator):
        """Component, whether it is kept, and time (n,) of rows that follow others."""
        stay, others = step
        many = 1 if self.time is None else CANDIDATES
        at, above = np.repeat(component, many), np.repeat(owner, many)
        stayed = rng.random(len(at)) < stay[above, at]
        new = np.where(stayed, at, others.pick(above, rng))
        if self.time is None:
            return new, stayed, times
        own = np.repeat(base, many) + new
        then = np.repeat(times, many) + self.gap.pick(own, above, np.repeat(follows, many), rng) - 1
        inside = then < self.time.size
        likely = np.ones(len(then))
        if self.month is not None:
            here = months(self.time, np.minimum(then, self.time.size - 1))
            likely = self.month.likely(here, own, above)
        ends = np.cumsum(np.where(inside, likely, 0.0).reshape(-1, many), axis=1)
        chosen = (ends <= rng.random(len(owner))[:, None] * ends[:, -1:]).sum(1)
        chosen = np.where(ends[:, -1] > 0, np.minimum(chosen, many - 1), 0) + np.arange(len(owner)) * many
        return new[chosen], stayed[chosen], then[chosen]

    def _within(self, times: np.ndarray, starts: np.ndarray, number: np.ndarray) -> np.ndarray:
        """Times of histories that end too late: begun earlier, and if that is not enough, with shorter gaps."""
        assert self.time is not None
        most, parents = self.time.size - 1, np.flatnonzero(number)
        first, last = times[starts[parents]], times[starts[parents] + number[parents] - 1]
        begun = np.clip(first - np.maximum(last - most, 0), 0, None)
        short = np.minimum(1.0, (most - begun) / np.maximum(last - first, 1))
        each = number[parents]
        return np.minimum(
            np.repeat(begun, each) + (np.repeat(short, each) * (times - np.repeat(first, each))).astype(np.int64), most
        )


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
            result = Chances(state).pick(owner, rng)
            if table in self.model.later:
                later = self.model.later[table]
                for place, one in enumerate(later, 1):
                    rows = np.flatnonzero(rank == place if place < len(later) else rank >= place)
                    result[rows] = Chances(one).pick(owner[rows], rng)
            if table in self.model.last:
                rows = np.flatnonzero(rank + 1 == number[parent])
                result[rows] = Chances(self.model.last[table]).pick(owner[rows], rng)
            return base + result
        result = np.zeros(len(parent), dtype=np.int64)
        turn = self.model.turns[table].reshape(-1, size)
        for place in range(int(number.max(initial=0))):
            rows = np.flatnonzero(rank == place)
            result[rows] = (
                Chances(state).pick(owner[rows], rng)
                if place == 0
                else Chances(turn).pick(owner[rows] * size + result[rows - 1], rng)
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


ROOTS_AT_A_TIME = 1 << 16  # roots drawn at a time
EVENED = 1 << 14  # roots up to which rows are rearranged towards the model's tables of pairs


class NestedMixture(Parts):
    """A mixture over roots, from which related rows are drawn; its arrays are those of ``Parts``.

    **Guarantee**: derived from releases only, hence free to sample, copy and publish.
    """

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
    ) -> Iterator[dict[str, DrawnTable]]:
        """Related rows of ``num_roots`` roots, ``ROOTS_AT_A_TIME`` roots at a time; parents are rows of the same block.

        ``where``: by column of the root the positions allowed. ``rules``: constraints of each table.
        """
        draw = Draw(model=self, where=where or {}, rules=rules or {}, rng=rng, evened=num_roots <= EVENED)
        for first in range(0, num_roots, ROOTS_AT_A_TIME):
            yield draw.block(min(ROOTS_AT_A_TIME, num_roots - first))

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """A JSON-able description and the arrays that together rebuild the model."""
        about: dict[str, Any] = {"tables": {}, "ordered": list(self.turns)}
        arrays: dict[str, np.ndarray] = {}
        for i, (name, product) in enumerate(self.tables.items()):
            about["tables"][name], own = product.state()
            for part, stored in PARTS.items():
                if part == "direct" and name in self.direct:
                    own |= {f"direct.{n}": a for n, a in self.direct[name].state()[1].items()}
                elif name in (of := getattr(self, part)):
                    own[stored] = of[name]
            arrays |= {f"table{i}.{n}": a for n, a in own.items()}
        return about, arrays

    @staticmethod
    def from_state(schema: Dataset, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> NestedMixture:
        """The model that ``state`` described. Errors: InputError where its parts do not fit the schema or together."""
        tables, parts = {}, {part: dict[str, Any]() for part in PARTS}
        for i, (name, described) in enumerate(about["tables"].items()):
            own = {n.removeprefix(f"table{i}."): a for n, a in arrays.items() if n.startswith(f"table{i}.")}
            tables[name] = Product.from_state(described, own)
            if "lean" in own:
                direct = {n.removeprefix("direct."): a for n, a in own.items() if n.startswith("direct.")}
                parts["direct"][name] = Product.from_state(described, direct)
            for part, stored in PARTS.items():
                if stored in own:
                    parts[part][name] = np.asarray(own[stored])
        result = NestedMixture(schema=schema, tables=tables, **parts)
        for problem in result._problems():
            raise InputError(f"the model is damaged: {problem}; make it again or use another copy")
        return result

    def _problems(self) -> Iterator[str]:
        below = set(self.schema.downwards[1:])
        if set(self.tables) != set(self.schema.tables) or set(self.states) != below:
            yield "its tables are not those of its schema"
            return
        for name, product in self.tables.items():
            facts, asked = (
                {n: c.cells for n, c in of(name).columns.items()}
                for of in (self.schema.as_measured, self.schema.as_asked)
            )
            if {a.column: a.cells for a in product.axes} not in (facts, asked):  # some were made before the latter
                yield f"table {name} does not have the columns of its schema"
            for of in (product, *([self.direct[name]] if name in self.direct else [])):
                yield from (f"table {name}, {problem}" for problem in model_problems(of))
        for name, state in self.states.items():
            key = self.schema.key_above(name)
            above, many = len(self.tables[key.parent].weights) if key else 1, len(self.tables[name].weights)
            if not (_chances(state) and state.ndim == 2 and len(state) == above and _parted(many, state)):
                yield f"table {name}: its components do not fit its parent's"
            later, last, turn = (of.get(name) for of in (self.later, self.last, self.turns))
            if later is not None and not (later.shape[1:] == state.shape and _chances(later)):
                yield f"table {name}: its later events do not fit its first ones"
            if last is not None and not (last.shape == state.shape and _chances(last)):
                yield f"table {name}: its last events do not fit its first ones"
            if turn is not None and (turn.shape != (*state.shape, state.shape[-1]) or not np.isfinite(turn).all()):
                yield f"table {name}: its steps do not fit its components"
            if name in self.direct:
                yield from self._direct_problems(name, above)

    def _direct_problems(self, name: str, above: int) -> Iterator[str]:
        direct, lean = self.direct[name], self.lean[name]
        if [(a.column, a.cells) for a in direct.axes] != [(a.column, a.cells) for a in self.tables[name].axes]:
            yield f"table {name}: what its columns have from the parent are other columns"
        parts = (lean, *(of.get(name, lean) for of in (self.shared, self.again, self.lasting)))
        keep = self.keep.get(name, np.zeros(above))
        if keep.shape != (above,) or not ((keep >= 0) & (keep < 1)).all():
            yield f"table {name}: the chances that components are kept do not fit its parent's"
        shaped = all(p.shape in ((len(direct.axes),), (above, len(direct.axes))) for p in parts)
        if len(direct.weights) != above or not shaped or not all(((p >= 0) & (p <= 1)).all() for p in parts):
            yield f"table {name}: what its columns have from the parent does not fit its components"


def _chances(array: np.ndarray) -> bool:
    return bool(np.isfinite(array).all() and (array >= 0).all())


def _parted(many: int, state: np.ndarray) -> bool:
    """Whether so many components are of whole mixtures, each with as many of its parents' lines."""
    each = state.shape[1]
    return each > 0 and many > 0 and many % each == 0 and len(state) % (many // each) == 0


def joined(models: Sequence[NestedMixture]) -> NestedMixture:
    """The mixture in equal parts of models of the same tables and columns, each with as many components: a root is
    drawn from one of them, and all below it.

    Components of the first model's tables come first, then the second's. Privacy: released answers only.
    """
    first = models[0]
    if len(models) == 1:
        return first

    def together(part: str, table: str) -> Any:
        each = [getattr(m, part)[table] for m in models]
        if part in ("tables", "direct"):
            return _product(each)
        if part in BY_COLUMN:
            return np.repeat(each, len(first.states[table]), axis=0)
        return np.concatenate(each, axis=1 if part == "later" else 0)

    parts: dict[str, Any] = {p: {t: together(p, t) for t in getattr(first, p)} for p in ("tables", *PARTS)}
    return replace(first, **parts)


def _product(products: Sequence[Product]) -> Product:
    """The mixture in equal parts."""
    axes = tuple(
        replace(a, probs=np.concatenate([p.axes[j].probs for p in products])) for j, a in enumerate(products[0].axes)
    )
    total = float(np.mean([p.total for p in products]))
    return Product(total=total, weights=np.concatenate([p.weights for p in products]) / len(products), axes=axes)
