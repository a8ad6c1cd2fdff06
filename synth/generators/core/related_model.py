"""A fitted nested mixture, how related rows are drawn from it, and the model on disk.

In long histories a row has the component of the row before with a chance of its parent's component, as far as the
chances of both places allow, so that each place's rows are as without it; else one of what is left of these chances.
Times follow from gaps. Of a few rows that might come next, each with its component and gap, one is chosen by what the
model says of its month: a component whose rows are of the winter comes in winter. Released answers only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import InputError
from synth.generators.base import Positions
from synth.generators.core.product import Axis, Product, model_problems
from synth.generators.core.sampling import even_codes, even_pairs
from synth.languages import Said
from synth.schema.column import Column
from synth.schema.dataset import Dataset, number_of
from synth.schema.histories import gap_of, month_of, months
from synth.schema.table import Key

if TYPE_CHECKING:
    from synth.schema.enforcement import Rules


@dataclass(frozen=True, kw_only=True, eq=False)
class Child:
    """A child's table: ``rows``, its components and columns, and how they come about; ``None`` where a model has none.

    ``state`` (C_parent, C): chances of a row's component, the first one's; ``later`` (R, C_parent, C), of the second,
    the third, ..., one for all after it; where rows are in no order, these are dealt by chance; ``last`` (C_parent, C),
    of the last event or the only one. Of several mixtures in one (``joined``) these are (C_parent, C / several):
    chances of the components of the parent's own mixture.
    ``direct``: columns as the parent's components have them; ``lean`` (J,) or (C_parent, J): the part of each column
    drawn from these; ``shared``, as ``lean``: of that part what is one value for all rows of a parent.
    ``keep`` (C_parent,): of long histories in order the chance that a row has the component of the row before, as far
    as both places' chances allow; ``again``, as ``lean``: then a column that follows the row's own component repeats
    its value; ``lasting``, as ``lean``: the chance that a value shared by rows lasts to the next one, else all of them
    have it; where it is stated a column follows ``direct`` in all rows of a parent or in none.
    Models of before components were shared are of as many mixtures as the parent has components, with ``turn``
    (C_parent, S, S), from one event to the next. Fields have the names and the order of a stored model.
    """

    rows: Product
    state: np.ndarray
    direct: Product | None = None
    lean: np.ndarray | None = None
    shared: np.ndarray | None = None
    later: np.ndarray | None = None
    last: np.ndarray | None = None
    turn: np.ndarray | None = None
    keep: np.ndarray | None = None
    again: np.ndarray | None = None
    lasting: np.ndarray | None = None

    def first_of(self, above: np.ndarray) -> np.ndarray:
        """The first component (n,) of the mixtures that parents of the components ``above`` (n,) belong to."""
        size = self.state.shape[1]
        return above // (len(self.state) // (len(self.rows.weights) // size)) * size

    def is_walked(self, key: Key) -> bool:
        """Whether rows are drawn one after another."""
        return self.keep is not None or gap_of(str(key.order)) in {a.column for a in self.rows.axes}


BY_COLUMN = ("lean", "shared", "again", "lasting")
PARTS = tuple(f.name for f in fields(Child) if f.name not in ("rows", "direct"))

CANDIDATES = 8  # rows of which one comes next
MOST_LIKELY = 10.0  # by which a month or time makes a row more likely, at most


@dataclass(frozen=True, kw_only=True, eq=False)
class Walked:
    """Rows (n,): ``component`` of the table's, whether it ``stayed``, ``times`` or None."""

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


class _Origins:
    """One column as rows' own components and as their parents' have it, drawn from ``least`` on and below ``most``."""

    def __init__(self, child: Child, column: str, least: int = 0, most: int | None = None) -> None:
        j = [a.column for a in child.rows.axes].index(column)
        self.own, lines = child.rows.axes[j], len(child.state)
        self.above, self.lean = None, np.zeros(lines)
        if child.direct is not None and child.lean is not None:
            self.above = child.direct.axes[j]
            self.lean = np.broadcast_to(child.lean, (lines, len(child.rows.axes)))[:, j]
        most = self.own.cells if most is None else most
        self._inside = [_Inside(a, least, most) for a in (self.own, self.above) if a is not None]

    def follows(self, owner: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Whether each parent's rows (m,) follow its component."""
        return rng.random(len(owner)) < self.lean[owner]

    def pick(
        self, component: np.ndarray, owner: np.ndarray, follows: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        result = self._inside[0].pick(component, rng)
        if self.above is not None:
            rows = np.flatnonzero(follows)
            result[rows] = self._inside[1].pick(owner[rows], rng)
        return result

    def likely(self, positions: np.ndarray, component: np.ndarray, owner: np.ndarray, usual: np.ndarray) -> np.ndarray:
        """How many times as likely as ``usual`` (L,) positions (n,) are under rows' and their parents' components."""
        leaf = np.searchsorted(self.own.starts, positions, side="right") - 1
        group = self.own.groups[leaf]
        chance = self.own.probs[component, group].astype(float)
        if self.above is not None:
            lean = self.lean[owner]
            chance = (1 - lean) * chance + lean * self.above.probs[owner, group]
        return np.minimum(chance * self.own.within[leaf] / np.maximum(usual[leaf], 1e-9), MOST_LIKELY)


class Walk:
    """How histories of one table are drawn from a model."""

    def __init__(self, child: Child, key: Key, columns: Mapping[str, Column]) -> None:
        self.child = child
        places = [child.state, *(() if child.later is None else child.later)]
        self.ranks, self.chances = len(places), [*places, *([] if child.last is None else [child.last])]
        self.keep = np.zeros(len(child.state)) if child.keep is None else child.keep
        self.steps: dict[tuple[int, int], tuple[np.ndarray, Chances]] = {}
        self.time: Column | None = None
        known = {a.column for a in child.rows.axes}
        if key.order is not None and gap_of(key.order) in known:
            self.time, month = columns[key.order], month_of(key.order)
            self.start = _Origins(child, key.order, 0, self.time.size)
            self.gap = _Origins(child, gap_of(key.order), 1, self.time.size + 1)
            self.month = _Origins(child, month) if month in known else None
            if self.month is not None:  # times that follow gaps come in all months alike
                calendar = np.bincount(months(self.time, np.arange(self.time.size)), minlength=13) / self.time.size
                self.usual = np.add.reduceat(calendar, self.month.own.starts)

    def _step(self, before: int, place: int) -> tuple[np.ndarray, Chances]:
        """The chance (C_parent, S) that a component is kept from one place to another, and what else comes."""
        if (before, place) not in self.steps:
            near, far = self.chances[before], self.chances[place]
            both = self.keep[:, None] * np.minimum(near, far)
            self.steps[before, place] = both / np.maximum(near, 1e-12), Chances(np.maximum(far - both, 0))
        return self.steps[before, place]

    def rows(self, owner: np.ndarray, number: np.ndarray, rng: np.random.Generator) -> Walked:
        """Rows of parents whose components are ``owner`` (m,), ``number`` (m,) of each."""
        whole, starts, base = int(number.sum()), np.cumsum(number) - number, self.child.first_of(owner)
        component, stayed = np.zeros(whole, dtype=np.int64), np.zeros(whole, dtype=bool)
        times = np.zeros(whole, dtype=np.int64)
        follows = np.zeros(len(owner), dtype=bool) if self.time is None else self.gap.follows(owner, rng)
        for rank in range(int(number.max(initial=0))):
            for place, some in self._placed(number, rank):
                rows, above = starts[some] + rank, owner[some]
                if rank == 0:
                    component[rows] = Chances(self.chances[place]).pick(above, rng)
                    if self.time is not None:
                        at = self.start.follows(above, rng)
                        times[rows] = self.start.pick(base[some] + component[rows], above, at, rng)
                    continue
                step, last = self._step(min(rank - 1, self.ranks - 1), place), rows - 1
                component[rows], stayed[rows], times[rows] = self._next(
                    step, component[last], times[last], above, base[some], follows[some], rng
                )
        within = None if self.time is None else self._within(times, starts, number)
        return Walked(component=component + np.repeat(base, number), stayed=stayed, times=within)

    def _placed(self, number: np.ndarray, rank: int) -> Iterator[tuple[int, np.ndarray]]:
        """(place, which parents) that have a row of this rank; -1 for the last one's place."""
        ends = (number == rank + 1) & (len(self.chances) > self.ranks)
        for place, some in ((-1, ends), (min(rank, self.ranks - 1), (number > rank) & ~ends)):
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
            likely = self.month.likely(here, own, above, self.usual)
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
        begun, short, first = (np.repeat(x, number[parents]) for x in (begun, short, first))
        return np.minimum(begun + (short * (times - first)).astype(np.int64), most)


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

    model: NestedMixture
    where: Mapping[str, np.ndarray]
    rules: Mapping[str, Rules]
    rng: np.random.Generator
    evened: bool

    def block(self, num_roots: int) -> dict[str, DrawnTable]:
        """Related rows of so many roots."""
        schema, rng, product = self.model.schema, self.rng, self.model.root
        component, codes, views = product.codes(num_roots, rng=rng, where=self.where)
        order = rng.permutation(num_roots)
        components, codes = {schema.root: component[order]}, codes[order]
        positions = self._kept(schema.root, product._positions(codes, views, rng), component[order])
        out = {schema.root: DrawnTable(positions=positions, parent=np.zeros(num_roots, dtype=np.int64))}
        for table in schema.downwards[1:]:
            child, key = self.model.children[table], schema.key_above(table)
            assert key is not None
            above, number = components[key.parent], out[key.parent].positions[number_of(table)]
            parent, walked = np.repeat(np.arange(len(number)), number), None
            owner = above[parent]
            if child.is_walked(key):
                walked = Walk(child, key, schema.tables[table].columns).rows(above, number, rng)
                component = walked.component
            else:
                component = self._children(child, key, owner, number, parent)
            codes = _codes(child.rows, component, rng, evened=self.evened)
            if walked is not None and child.again is not None:  # some groups are those of the row before
                codes = _repeated(codes, self._chosen(child.again, owner) & walked.stayed[:, None])
            others = self._others(child, owner, parent, codes)
            positions = child.rows._positions(codes, child.rows._restrict({})[1], rng)
            if walked is not None and walked.times is not None and key.order is not None:
                known = positions[key.order] < schema.tables[table].columns[key.order].size
                positions[key.order] = np.where(known, walked.times, positions[key.order])
                positions = {n: p for n, p in positions.items() if n not in (gap_of(key.order), month_of(key.order))}
            positions, components[table] = self._kept(table, positions, component, others), component
            if key.order is not None and key.order in positions:  # the times of one parent's rows, as they rise
                times = positions[key.order]
                positions[key.order] = times[np.lexsort((times, parent))]
            out[table] = DrawnTable(positions=positions, parent=parent)
        return out

    def _children(
        self, child: Child, key: Key, owner: np.ndarray, number: np.ndarray, parent: np.ndarray
    ) -> np.ndarray:
        """Components (n,) of children, given those of their parents and how many each has."""
        rng = self.rng
        rank = np.arange(len(parent)) - np.repeat(np.cumsum(number) - number, number)
        if child.later is not None and key.order is None:  # places of rows that are in no order
            rank = rank[np.lexsort((rng.random(len(parent)), parent))]
        if child.turn is None:
            result = Chances(child.state).pick(owner, rng)
            later = () if child.later is None else child.later
            for place, one in enumerate(later, 1):
                rows = np.flatnonzero(rank == place if place < len(later) else rank >= place)
                result[rows] = Chances(one).pick(owner[rows], rng)
            if child.last is not None:
                rows = np.flatnonzero(rank + 1 == number[parent])
                result[rows] = Chances(child.last).pick(owner[rows], rng)
            return child.first_of(owner) + result
        result, size = np.zeros(len(parent), dtype=np.int64), child.state.shape[1]
        first, turn = Chances(child.state), Chances(child.turn.reshape(-1, size))
        for place in range(int(number.max(initial=0))):
            rows = np.flatnonzero(rank == place)
            before = owner[rows] * size + result[rows - 1]
            result[rows] = first.pick(owner[rows], rng) if place == 0 else turn.pick(before, rng)
        return child.first_of(owner) + result

    def _others(self, child: Child, owner: np.ndarray, parent: np.ndarray, codes: np.ndarray) -> _Others | None:
        """The cells (n, J) that follow the component ``owner`` (n,) of a row's ``parent``, drawn into the codes."""
        if child.direct is None or child.lean is None:
            return None
        drawn = _codes(child.direct, owner, self.rng, evened=self.evened)
        first = np.append(True, parent[1:] != parent[:-1])[: len(parent)]
        alone = None if child.lasting is None else first  # columns follow one origin in all rows of a parent
        if child.shared is not None:
            if child.lasting is not None:
                one = _codes(child.direct, owner, self.rng, evened=self.evened)
                one = _repeated(one, self._chosen(child.lasting, owner) & ~first[:, None])
            else:
                one = _codes(child.direct, owner[first], self.rng, evened=self.evened)[np.cumsum(first) - 1]
            np.copyto(drawn, one, where=self._chosen(child.shared, owner, alone))
        follows = self._chosen(child.lean, owner, alone)
        np.copyto(codes, drawn, where=follows)
        return _Others(product=child.direct, component=owner, follows=follows)

    def _chosen(self, parts: np.ndarray, owner: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
        """Cells (n, J), drawn by chances (J,) or (C_parent, J) of the rows' parents' components; ``first`` (n,): of
        which rows alone, those after each being as it is."""
        if first is not None:
            one: np.ndarray = self._chosen(parts, owner[first])
            return one[np.cumsum(first) - 1]
        drawn = self.rng.random((len(owner), parts.shape[-1]), dtype=np.float32)
        return drawn < (parts.astype(np.float32) if parts.ndim == 1 else parts.astype(np.float32)[owner])

    def _kept(
        self, table: str, positions: Positions, component: np.ndarray, others: _Others | None = None
    ) -> Positions:
        """Positions of rows whose components are given, constraints of the table kept."""
        if table in self.rules:
            root = table == self.model.schema.root
            again = self.model.tables[table].redrawing(component, self.rng, self.where if root else {})
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


ROOTS_AT_A_TIME = 1 << 16  # roots drawn at a time
EVENED = 1 << 14  # roots up to which rows are rearranged towards the model's tables of pairs


@dataclass(frozen=True, kw_only=True, eq=False)
class NestedMixture:
    """A mixture over roots, from which related rows are drawn: the ``root``'s components and columns, and each child's.

    **Guarantee**: derived from releases only, hence free to sample, copy and publish.
    """

    schema: Dataset
    root: Product
    children: Mapping[str, Child]

    @property
    def tables(self) -> dict[str, Product]:
        """Each table's components and columns."""
        return {self.schema.root: self.root} | {n: c.rows for n, c in self.children.items()}

    @property
    def total(self) -> float:
        """Estimated number of roots."""
        return self.root.total

    def probability(self, where: Mapping[str, np.ndarray]) -> float:
        """The chance that a root meets a condition on its columns."""
        return self.root.probability(where)

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
        about: dict[str, Any] = {"tables": {}, "ordered": [n for n, c in self.children.items() if c.turn is not None]}
        arrays: dict[str, np.ndarray] = {}
        for i, (name, product) in enumerate(self.tables.items()):
            about["tables"][name], own = product.state()
            for part in fields(Child)[1:] if name in self.children else ():
                value = getattr(self.children[name], part.name)
                if part.name == "direct" and value is not None:
                    own |= {f"direct.{n}": a for n, a in value.state()[1].items()}
                elif value is not None:
                    own[part.name] = value
            arrays |= {f"table{i}.{n}": a for n, a in own.items()}
        return about, arrays

    @staticmethod
    def from_state(schema: Dataset, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> NestedMixture:
        """The model that ``state`` described. Errors: InputError where its parts do not fit the schema or together."""
        tables, children = {}, {}
        for i, (name, described) in enumerate(about["tables"].items()):
            own = {n.removeprefix(f"table{i}."): a for n, a in arrays.items() if n.startswith(f"table{i}.")}
            tables[name] = Product.from_state(described, own)
            if "state" in own:
                parts: dict[str, Any] = {n: np.asarray(own[n]) for n in PARTS if n in own}
                if "lean" in own:
                    direct = {n.removeprefix("direct."): a for n, a in own.items() if n.startswith("direct.")}
                    parts["direct"] = Product.from_state(described, direct)
                children[name] = Child(rows=tables[name], **parts)
        if set(tables) != set(schema.tables) or set(children) != set(schema.downwards[1:]):
            raise InputError(DAMAGED, Said("its tables are not those of its schema"))
        result = NestedMixture(schema=schema, root=tables[schema.root], children=children)
        for problem in result._problems():
            raise InputError(DAMAGED, problem)
        return result

    def _problems(self) -> Iterator[str]:
        for name, product in self.tables.items():
            facts, asked = (
                {n: c.cells for n, c in of(name).columns.items()}
                for of in (self.schema.as_measured, self.schema.as_asked)
            )
            if {a.column: a.cells for a in product.axes} not in (facts, asked):  # some were made before the latter
                yield f"table {name} does not have the columns of its schema"
            yield from (f"table {name}, {problem}" for problem in model_problems(product))
        for name, child in self.children.items():
            state, key = child.state, self.schema.key_above(name)
            above, many = len(self.tables[key.parent].weights) if key else 1, len(child.rows.weights)
            each = state.shape[1] if state.ndim == 2 else 0
            whole = each and many and many % each == 0 and len(state) % (many // each) == 0  # of whole mixtures
            if not (whole and _chances(state) and len(state) == above):
                yield f"table {name}: its components do not fit its parent's"
            if child.later is not None and not (child.later.shape[1:] == state.shape and _chances(child.later)):
                yield f"table {name}: its later events do not fit its first ones"
            if child.last is not None and not (child.last.shape == state.shape and _chances(child.last)):
                yield f"table {name}: its last events do not fit its first ones"
            if child.turn is not None and not (
                child.turn.shape == (*state.shape, each) and np.isfinite(child.turn).all()
            ):
                yield f"table {name}: its steps do not fit its components"
            direct, lean, keep = child.direct, child.lean, np.zeros(above) if child.keep is None else child.keep
            if direct is None or lean is None:
                continue
            yield from (f"table {name}, {problem}" for problem in model_problems(direct))
            if [(a.column, a.cells) for a in direct.axes] != [(a.column, a.cells) for a in child.rows.axes]:
                yield f"table {name}: what its columns have from the parent are other columns"
            if keep.shape != (above,) or not ((keep >= 0) & (keep < 1)).all():
                yield f"table {name}: the chances that components are kept do not fit its parent's"
            parts = [part for n in BY_COLUMN if (part := getattr(child, n)) is not None]
            shaped = all(p.shape in ((len(direct.axes),), (above, len(direct.axes))) for p in parts)
            if len(direct.weights) != above or not shaped or not all(((p >= 0) & (p <= 1)).all() for p in parts):
                yield f"table {name}: what its columns have from the parent does not fit its components"


DAMAGED = "the model is damaged: {}; make it again or use another copy"


def _chances(array: np.ndarray) -> bool:
    return bool(np.isfinite(array).all() and (array >= 0).all())


def joined(models: Sequence[NestedMixture]) -> NestedMixture:
    """The mixture in equal parts of models of the same tables and columns, each with as many components: a root is
    drawn from one of them, and all below it.

    Components of the first model's tables come first, then the second's. Privacy: released answers only.
    """
    first = models[0]
    if len(models) == 1:
        return first

    def together(name: str, each: Sequence[Any], lines: int) -> Any:
        if each[0] is None or isinstance(each[0], Product):
            return None if each[0] is None else _product(each)
        if name in BY_COLUMN:
            return np.repeat(each, lines, axis=0)
        return np.concatenate(each, axis=1 if name == "later" else 0)

    children = {}
    for table, child in first.children.items():
        each = {f.name: [getattr(m.children[table], f.name) for m in models] for f in fields(Child)}
        children[table] = Child(**{n: together(n, some, len(child.state)) for n, some in each.items()})
    return replace(first, root=_product([m.root for m in models]), children=children)


def _product(products: Sequence[Product]) -> Product:
    """The mixture in equal parts."""
    axes = tuple(
        replace(a, probs=np.concatenate([p.axes[j].probs for p in products])) for j, a in enumerate(products[0].axes)
    )
    total = float(np.mean([p.total for p in products]))
    return Product(total=total, weights=np.concatenate([p.weights for p in products]) / len(products), axes=axes)
