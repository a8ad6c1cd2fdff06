"""Long histories drawn row after row: which component a row has after the one before, and how much later it is.

A row has the component of the row before with a chance of its parent's component, as far as the chances of both places
allow, so that each place's rows are as without it; else one of what is left of these chances. Times follow from gaps.
Of a few rows that might come next, each with its component and gap, one is chosen by what the model says of its month:
a component whose rows are of the winter comes in winter. Released answers only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from synth.generators.nested_mixture.parts import Parts
from synth.generators.product_mixture.column import Axis
from synth.generators.product_mixture.model import Product
from synth.schema.column import Column
from synth.schema.histories import gap_of, month_of, months

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
