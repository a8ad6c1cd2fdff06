"""A mixture of product distributions over positions: the model that `mixture` and `independent` fit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil

import numpy as np

from synth.errors import InputError, UsageError
from synth.generators.base import Positions, Repair
from synth.generators.core import sampling
from synth.generators.core.conditionals import ConditionalLogit, draw_in_turn
from synth.generators.core.votes import Tilt
from synth.numeric.disk_array import chunks
from synth.schema.intervals import Intervals


@dataclass(frozen=True, kw_only=True, eq=False)
class Axis:
    """One column of the model: which positions form a leaf, which leaves a group.

    ``starts`` (L,) int64: first position of each leaf; positions inside a leaf are equally likely.
    ``groups`` (L,) int64: the group of a leaf. ``within`` (L,) float32: the leaf's share of its group, the
    same in every component. ``probs`` (B, G) float32: probability of each group in each component.
    """

    column: str
    cells: int
    starts: np.ndarray
    groups: np.ndarray
    within: np.ndarray
    probs: np.ndarray

    @cached_property
    def widths(self) -> np.ndarray:
        """Positions in each leaf, (L,)."""
        return np.diff(np.append(self.starts, self.cells))

    def draw(
        self, groups: np.ndarray, within: np.ndarray, inside: sampling.Inside, rng: np.random.Generator
    ) -> np.ndarray:
        """Positions for rows whose groups are given: leaves in even proportion, then evenly inside a leaf."""
        if len(groups) >= sampling.FEWEST_ROWS:
            return sampling.bulk_positions(groups, within, self.groups, inside, rng)
        size = self.probs.shape[1]
        order = np.argsort(self.groups, kind="stable")
        rows = np.bincount(groups, minlength=size)
        counts = sampling.spread(rows, within[order], self.groups[order], rng)
        leaves = np.empty(len(groups), dtype=np.int64)
        leaves[np.argsort(groups + rng.random(len(groups)))] = np.repeat(order, counts)
        return inside.pick(leaves, rng)


PARTS = ("starts", "groups", "within", "probs")  # of an axis, as stored
View = tuple[np.ndarray, np.ndarray, sampling.Inside]  # probabilities (by group), shares within groups, what to draw


def within_groups(mass: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass of each group, and each leaf's share of its group (zero where the group has none)."""
    sums = np.bincount(groups, weights=mass, minlength=int(groups.max()) + 1)
    return sums, mass / np.where(sums > 0, sums, 1.0)[groups]


def condition(axis: Axis, allowed: np.ndarray) -> View:
    """Allowed share of each group (G,), leaves' shares of what is allowed of a group (L,), what to draw."""
    if len(allowed) == 0 or allowed[0] < 0 or allowed[-1] >= axis.cells:
        raise UsageError("condition on {!r}: needs at least one value, all of them in the schema", axis.column)
    ends = np.searchsorted(allowed, np.append(axis.starts[1:], axis.cells))
    first = np.append(0, ends[:-1])
    counts = ends - first
    mass, within = within_groups(axis.within * (counts / axis.widths), axis.groups)
    blind = within_groups(counts.astype(float), axis.groups)[1]
    within = np.where(mass[axis.groups] > 0, within, blind)
    return mass, within, sampling.Inside(starts=first, counts=counts, allowed=allowed)


@dataclass(frozen=True, kw_only=True, eq=False)
class Strata:
    """Parts that are drawn by themselves: ``groups`` (cells,) the part of each position of ``column``."""

    column: str
    groups: np.ndarray

    def parts(self, shares: np.ndarray, num_rows: int, rng: np.random.Generator) -> list[tuple[int, np.ndarray]]:
        """Rows and positions of each part that has rows; ``shares`` (cells,): the model's of each position.

        >>> halves = Strata(column="a", groups=np.array([0, 0, 1]))
        >>> rng = np.random.default_rng(0)
        >>> [(n, p.tolist()) for n, p in halves.parts(np.array([0.2, 0.3, 0.5]), 10, rng)]
        [(5, [0, 1]), (5, [2])]
        """
        size = int(self.groups.max()) + 1
        share = np.bincount(self.groups, weights=shares, minlength=size)
        wanted = share / max(float(share.sum()), 1e-300) * num_rows
        rows = np.floor(wanted + 1e-9).astype(np.int64)
        rest = np.cumsum(np.maximum(wanted - rows, 0.0))
        last = num_rows - int(rows.sum())
        edges = np.floor(rest * (last / max(float(rest[-1]), 1e-300)) + rng.random())
        edges[-1] = last
        rows += np.diff(np.minimum(edges, last), prepend=0).astype(np.int64)
        return [(int(rows[g]), np.flatnonzero(self.groups == g)) for g in np.flatnonzero(rows > 0).tolist()]


RARE = 0.01  # of the rows meet a condition on the conditionals' columns: below, the mixture alone answers
CANDIDATES = 1 << 18  # most rows drawn at a time of which a condition keeps some
PROBES = 20_000  # rows by which the probability of a condition on a conditional's column is estimated


@dataclass(frozen=True, kw_only=True, eq=False)
class Product:
    """Rows fall into a component with probability ``weights`` (B,); inside it columns are independent.

    ``misfit``: how far the model is from the answers that it was fitted to, where its fit tells; not stored with it.
    ``strata``: parts of a column that are drawn by themselves, where nothing is asked of the rows. ``barred``: pairs of
    groups, by two axes, that rows are kept out of. ``tilt``: how often rows are drawn of which the model has others.

    **Guarantee**: derived from releases only, hence free to sample, copy and publish.
    """

    total: float
    weights: np.ndarray
    axes: tuple[Axis, ...]
    conditionals: tuple[ConditionalLogit, ...] = ()
    misfit: Mapping[str, float] | None = None
    strata: Strata | None = None
    barred: sampling.Barred = field(default_factory=dict)
    tilt: Tilt | None = None

    def sample(
        self,
        num_rows: int,
        *,
        rng: np.random.Generator,
        where: Mapping[str, np.ndarray] | None = None,
        repair: Repair | None = None,
    ) -> Positions:
        """Draws ``num_rows`` rows in random order, positions (num_rows,) int64 for each column.

        Counts are spread evenly (systematic sampling) over components, groups and leaves, and rows then
        rearranged, so that a sample's tables of one and two columns lie closer to the model's than those of
        independent draws; each row alone follows the model. The conditionals' columns are drawn last, given the others.
        ``where`` conditions exactly; if the model rules the condition out, rows meet it all the same, being
        drawn evenly from what is allowed. A condition on a conditional's column keeps some of the rows drawn, or, where
        hardly any would be kept, is left to the mixture. ``repair`` may then draw cells again, each from its row's
        component and within the condition. Errors: UsageError for an unknown column, an empty or invalid
        condition.
        """
        where = where or {}
        parts = [(num_rows, where)]
        if self.strata is not None and not where and num_rows < sampling.FEWEST_ROWS:
            axis = self._axis(self.strata.column)
            leaves = (self.weights.astype(float) @ axis.probs.astype(float))[axis.groups] * axis.within
            shares = np.repeat(leaves / axis.widths, axis.widths)
            parts = [(size, {axis.column: at}) for size, at in self.strata.parts(shares, num_rows, rng)]
        drawn = [self._tilted(size, own, rng) for size, own in parts]
        component, rows_of = drawn[0]
        if len(drawn) > 1:
            component = np.concatenate([c for c, _ in drawn])
            rows_of = {n: np.concatenate([rows[n] for _, rows in drawn]) for n in rows_of}
        if repair is not None:
            repair(rows_of, self.redrawing(component, rng, where))
        if num_rows >= sampling.FEWEST_ROWS:  # in random order already
            return rows_of
        order = rng.permutation(num_rows)
        return {column: places[order] for column, places in rows_of.items()}

    def _tilted(
        self, num_rows: int, where: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> tuple[np.ndarray, Positions]:
        """As ``_drawn``; of a tilted model out of as many more rows as some are drawn more often."""
        if self.tilt is None or not num_rows:
            return self._drawn(num_rows, where, rng)
        component, rows = self._drawn(ceil(self.tilt.most * num_rows), where, rng)
        at = self.tilt.picked(rows, num_rows, rng)
        return component[at], {n: p[at] for n, p in rows.items()}

    def pool(self, num_rows: int, *, rng: np.random.Generator) -> Positions:
        """Rows as they come, not in even proportion, and as often as the model has them without a tilt."""
        component, groups, views = self.codes(num_rows, rng=rng, evened=False)
        draw_in_turn(self.conditionals, self.probs, component, groups, rng=rng)
        return self._positions(groups, views, rng)

    def _drawn(
        self, num_rows: int, where: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> tuple[np.ndarray, Positions]:
        """Rows' components, and their positions."""
        if self._redrawn & where.keys():
            component, codes, views = self._retained(num_rows, where, rng)
        else:
            component, codes, views = self.codes(num_rows, rng=rng, where=where, later=self._later)
            draw_in_turn(self.conditionals, self.probs, component, codes, rng=rng)
        if self.barred:
            held = frozenset(self.probs[n][0] for n in self._redrawn)
            sampling.keep_out(codes, component, self.barred, held, rng=rng)
        return component, self._positions(codes, views, rng)

    def _positions(self, codes: np.ndarray, views: Sequence[View], rng: np.random.Generator) -> Positions:
        """Positions of rows whose groups are given, column by column; of many rows on all processors."""

        def draw(j: int, own: np.random.Generator) -> np.ndarray:
            return self.axes[j].draw(codes[:, j], *views[j][1:], own)

        names = [a.column for a in self.axes]
        if len(codes) < sampling.FEWEST_ROWS:
            return {n: draw(j, rng) for j, n in enumerate(names)}
        own = rng.spawn(len(names))
        return dict(zip(names, sampling.on_all_cores(lambda j: draw(j, own[j]), range(len(names))), strict=True))

    def codes(
        self,
        num_rows: int,
        *,
        rng: np.random.Generator,
        where: Mapping[str, np.ndarray] | None = None,
        evened: bool = True,
        later: frozenset[int] = frozenset(),
    ) -> tuple[np.ndarray, np.ndarray, list[View]]:
        """Components (num_rows,), groups (num_rows, J) that the mixture draws in them, and each axis' view.

        ``evened``: rows are then rearranged towards the model's tables of pairs. ``later``: axes that are drawn anew
        before anything reads them, left 0 where rows are many.
        """
        weights, views = self._restrict(where or {})
        probs = [p for p, _, _ in views]
        if num_rows >= sampling.FEWEST_ROWS:
            return *sampling.bulk_codes(num_rows, weights, probs, rng, later=later), views
        edges = np.floor(np.append(0.0, sampling.cumulative(weights)) * num_rows + rng.random())
        rows: np.ndarray = np.diff(edges.astype(np.int64))
        component, codes = np.repeat(np.arange(len(rows)), rows), sampling.even_codes(rows, probs, rng)
        if evened:
            sampling.even_pairs(codes, component, rows, probs, rng)
        return component, codes, views

    @cached_property
    def probs(self) -> dict[str, tuple[int, np.ndarray]]:
        """Each column's axis, and its groups' probabilities (B, G) by component."""
        return {a.column: (j, a.probs) for j, a in enumerate(self.axes)}

    @cached_property
    def _redrawn(self) -> frozenset[str]:
        """Columns that conditionals draw."""
        return frozenset(h.column for h in self.conditionals)

    @cached_property
    def _later(self) -> frozenset[int]:
        """Axes that conditionals draw and that no conditional reads before."""
        read: set[int] = set()
        out = set()
        for conditional in self.conditionals:
            read |= conditional.read
            out |= {self.probs[conditional.column][0]} - read
        return frozenset(out)

    def _met(self, num_rows: int, where: Mapping[str, np.ndarray], rng: np.random.Generator):
        """Rows under the condition: components, groups, and the chance (n,) of what it asks of the logits' columns."""
        others, own = self._parted(where)
        component, codes, _ = self.codes(num_rows, rng=rng, where=others)
        allowed = {column: view[0] for column, view in self._masses(own).items()}
        return component, codes, draw_in_turn(self.conditionals, self.probs, component, codes, rng=rng, allowed=allowed)

    def _parted(self, where: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """A condition's part that the mixture meets, and its part on the conditionals' columns."""
        return {n: p for n, p in where.items() if n not in self._redrawn}, {
            n: p for n, p in where.items() if n in self._redrawn
        }

    def _retained(self, num_rows: int, where: Mapping[str, np.ndarray], rng: np.random.Generator):
        """Rows of which each was kept with the probability that its class meets the condition."""
        retained: list[tuple[np.ndarray, np.ndarray]] = []
        rate = 1.0
        while (missing := num_rows - sum(len(c) for c, _ in retained)) > 0:
            asked = int(min(max(1000, 1.2 * missing / rate), CANDIDATES))
            component, codes, chance = self._met(asked, where, rng)
            rate = float(chance.mean())
            if rate < RARE:
                return self.codes(num_rows, rng=rng, where=where)
            picked = rng.permutation(np.flatnonzero(rng.random(asked) < chance))[:missing]
            retained.append((component[picked], codes[picked]))
        views = self._restrict(where)[1]
        return np.concatenate([c for c, _ in retained]), np.concatenate([c for _, c in retained]), views

    def redrawing(
        self, component: np.ndarray, rng: np.random.Generator, where: Mapping[str, np.ndarray] | None = None
    ) -> Callable[..., np.ndarray]:
        """Draws a column again for rows (indices) from their own components' distributions, restricted."""
        where = where or {}

        def again(column: str, rows: np.ndarray, *, allowed: Intervals, least: np.ndarray | None = None) -> np.ndarray:
            axis = self._axis(column)
            if column in where:
                met = np.sort(where[column])
                met = met[allowed.holds(met)] if allowed.holds(met).any() else met
                allowed = Intervals.of((p, p + 1) for p in met.tolist())
            masses = axis.probs[:, axis.groups].astype(float) * axis.within
            return sampling.redraw(
                starts=axis.starts,
                cells=axis.cells,
                masses=masses,
                component=component[rows],
                allowed=allowed,
                least=least,
                rng=rng,
            )

        return again

    def probability(self, where: Mapping[str, np.ndarray]) -> float:
        """The model's probability that a row satisfies ``where``; by a fixed sample where a logit's column is in it.

        Errors: as ``sample``.
        """
        if self.tilt is not None and where:
            rows = self._drawn(PROBES, where, np.random.default_rng(0))[1]
            plain = replace(self, tilt=None).probability(where)
            return min(plain * float(self.tilt.weights(rows).mean()) / self._weighed, 1.0)
        others, own = self._parted(where)
        if own:
            met = float(self._met(PROBES, where, np.random.default_rng(0))[2].mean())
            if met >= RARE:
                return self.probability(others) * met
        joint = self.weights.astype(float)
        for axis, (mass, _, _) in self._masses(where).items():
            joint = joint * (self._axis(axis).probs @ mass)
        return float(min(joint.sum(), 1.0))

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """A JSON-able description and the arrays that together rebuild the model."""
        about = {"total": self.total, "axes": [{"column": a.column, "cells": a.cells} for a in self.axes]}
        arrays = {"weights": self.weights}
        for i, axis in enumerate(self.axes):
            arrays |= {f"{i}.{part}": getattr(axis, part) for part in PARTS}
        if self.strata is not None:
            about["strata"] = self.strata.column
            arrays["strata"] = self.strata.groups
        if self.barred:
            about["barred"] = [list(pair) for pair in self.barred]
            arrays |= {_barred_name(*pair): np.packbits(never, axis=1) for pair, never in self.barred.items()}
        about["heads"] = [
            {"column": h.column, "base": h.base, "axes": list(h.pulls)} | ({"joint": list(h.joint)} if h.joint else {})
            for h in self.conditionals
        ]
        for k, conditional in enumerate(self.conditionals):
            arrays[f"conditional{k}"] = conditional.start
            arrays |= {f"conditional{k}.{i}": pull for i, pull in conditional.pulls.items()}
            arrays |= {_joint_name(k, axes): pull for axes, pull in conditional.joint.items()}
        if self.tilt is not None:
            about["tilt"], own = self.tilt.state()
            arrays |= own
        return about, arrays

    @staticmethod
    def from_state(about: Mapping, arrays: Mapping[str, np.ndarray]) -> "Product":
        """The model that ``state`` described."""
        axes = tuple(
            Axis(column=a["column"], cells=int(a["cells"]), **{p: np.asarray(arrays[f"{i}.{p}"]) for p in PARTS})
            for i, a in enumerate(about["axes"])
        )
        conditionals = tuple(
            ConditionalLogit(
                column=h["column"],
                base=float(h["base"]),
                start=np.asarray(arrays[f"conditional{k}"]),
                pulls={int(i): np.asarray(arrays[f"conditional{k}.{i}"]) for i in h["axes"]},
                joint={tuple(map(int, a)): np.asarray(arrays[_joint_name(k, a)]) for a in h.get("joint", ())},
            )
            for k, h in enumerate(about.get("heads", ()))
        )
        column = about.get("strata")
        return Product(
            total=float(about["total"]),
            weights=np.asarray(arrays["weights"]),
            axes=axes,
            conditionals=conditionals,
            barred={
                (i, j): np.unpackbits(np.asarray(arrays[_barred_name(i, j)]), axis=1)[:, : axes[j].probs.shape[1]] > 0
                for i, j in about.get("barred", ())
            },
            strata=None if column is None else Strata(column=column, groups=np.asarray(arrays["strata"])),
            tilt=Tilt.from_state(about["tilt"], arrays) if "tilt" in about else None,
        )

    @cached_property
    def _weighed(self) -> float:
        """The mean weight of the model's rows, by a fixed sample."""
        assert self.tilt is not None
        return float(self.tilt.weights(self.pool(PROBES, rng=np.random.default_rng(0))).mean())

    def _axis(self, column: str) -> Axis:
        return next(a for a in self.axes if a.column == column)

    def _masses(self, where: Mapping[str, np.ndarray]) -> dict[str, View]:
        """The condition on each column it names; see ``condition``."""
        known = {a.column: a for a in self.axes}
        out = {}
        for column, positions in where.items():
            if column not in known:
                raise UsageError("condition on {!r}: the model has no such column; choose a modelled one", column)
            out[column] = condition(known[column], np.unique(np.asarray(positions, dtype=np.int64)))
        return out

    def _restrict(self, where: Mapping[str, np.ndarray]) -> tuple[np.ndarray, list[View]]:
        """Component weights and each axis' view under the condition."""
        masses = self._masses(where)
        weights, views = self.weights.astype(float), []
        for axis in self.axes:
            probs = axis.probs.astype(float)
            if axis.column not in masses:
                views.append((probs, axis.within, sampling.Inside(starts=axis.starts, counts=axis.widths)))
                continue
            mass, within, inside = masses[axis.column]
            met = probs @ mass
            if not self.weights @ met > 0:  # ruled out: every allowed position alike, components as they were
                mass = np.bincount(axis.groups, weights=inside.counts.astype(float))
                met, probs = np.ones(len(probs)), np.ones_like(probs)
            table = probs * mass
            table = np.where(table.sum(1, keepdims=True) > 0, table, mass)  # a row of zeros
            views.append((table / table.sum(1, keepdims=True), within, inside))
            weights = weights * met
        weights = weights if weights.sum() > 0 else self.weights.astype(float)
        return weights / weights.sum(), views


def _barred_name(first: int, second: int) -> str:
    """The array of two axes' barred pairs, packed by bits."""
    return f"barred{first}_{second}"


def _joint_name(number: int, axes: Sequence[int]) -> str:
    """The array of a conditional's pulls of several axes together."""
    return f"conditional{number}." + "_".join(map(str, axes))


def check_model(model: Product) -> None:
    """Errors: InputError naming the column and the array that is at fault; no number of it."""
    for problem in model_problems(model):
        raise InputError("the model is damaged: {}; make it again or use another copy", problem)


def check_numbers(arrays: Mapping[str, np.ndarray], *, what: str) -> None:
    """Refuses arrays that hold NaN, which no answer is. Errors: InputError."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and any(bool(np.isnan(piece).any()) for piece in chunks(array)):
            raise InputError("the {} is damaged: its array {} holds NaN; make it again or use another copy", what, name)


def model_problems(model: Product) -> Iterator[str]:
    """Yields a sentence for each part that does not fit; ``Product.state`` tells the shapes."""
    if model.weights.ndim != 1 or not len(model.weights) or not _finite(model.weights):
        yield "its weights must be a list of finite numbers"
    if not np.isfinite(model.total):
        yield "its total must be a finite number"
    for axis in model.axes:
        for problem in _axis_problems(axis, len(model.weights)):
            yield f"column {axis.column}: {problem}"
    yield from () if model.tilt is None else model.tilt.problems()
    for (i, j), never in model.barred.items():
        if never.shape != (model.axes[i].probs.shape[1], model.axes[j].probs.shape[1]):
            yield f"column {model.axes[i].column}: its barred pairs do not have the shape of its groups"
    for conditional in model.conditionals:
        for problem in _conditional_problems(conditional, model):
            yield f"column {conditional.column}: {problem}"


def _axis_problems(axis: Axis, components: int) -> Iterator[str]:
    leaves = len(axis.starts) if axis.starts.ndim == 1 else 0
    for name in ("starts", "groups", "within"):
        if not leaves or getattr(axis, name).shape != (leaves,):
            yield f"{name} must have an entry for each leaf"
            return
    if axis.probs.ndim != 2 or len(axis.probs) != components:
        yield "probs must have a line for each of the model's weights"
    elif not (_finite(axis.probs) and _finite(axis.within)):
        yield "probs and within must be finite numbers"
    elif axis.starts.dtype.kind not in "iu" or axis.groups.dtype.kind not in "iu":
        yield "starts and groups must be whole numbers"
    elif axis.starts[0] != 0 or axis.starts[-1] >= axis.cells or bool((axis.starts[1:] <= axis.starts[:-1]).any()):
        yield "starts must rise from 0 and stay below its cells"
    elif axis.groups.min() < 0 or axis.groups.max() >= axis.probs.shape[1]:
        yield "groups must be columns of probs"


def _conditional_problems(conditional: ConditionalLogit, model: Product) -> Iterator[str]:
    groups = {i: a.probs.shape[-1] for i, a in enumerate(model.axes)}
    classes = next((groups[i] for i, a in enumerate(model.axes) if a.column == conditional.column), None)
    pulls = {(i,): pull for i, pull in conditional.pulls.items()} | dict(conditional.joint)
    shaped = conditional.start.shape == (classes,) and all(
        groups.keys() >= set(axes) and pull.shape == (*(groups[i] for i in axes), classes)
        for axes, pull in pulls.items()
    )
    if not shaped:
        yield "the arrays of its conditional do not have the shapes of its classes and groups"
    elif not (_finite(conditional.start) and all(_finite(p) for p in pulls.values()) and np.isfinite(conditional.base)):
        yield "its conditional must be of finite numbers"


def _finite(array: np.ndarray) -> bool:
    return array.dtype.kind in "fiu" and bool(np.isfinite(array).all())


TOGETHER = 1 << 23  # entries of a table of contexts by components that is held at a time
TINY = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """A model whose rows have the ``given`` columns, positions (n,) each, in their order."""

    model: Product
    given: Mapping[str, np.ndarray]

    def sample(self, start: int, size: int, *, rng: np.random.Generator, repair: Repair | None = None) -> Positions:
        """Rows ``start`` ... ``start + size`` - 1, not rearranged; ``repair`` changes no given column.

        Errors: KeyError for a given column that the model has not.
        """
        model = self.model
        given = {n: p[start : start + size] for n, p in self.given.items()}
        at = {a.column: j for j, a in enumerate(model.axes)}
        axes = [(n, model.axes[at[n]], p) for n, p in given.items()]
        own = {n: a.groups[np.searchsorted(a.starts, p, side="right") - 1] for n, a, p in axes}
        component = self._components(np.stack([own[n] for n in given], axis=1), [at[n] for n in given], rng)
        order = np.argsort(component, kind="stable")
        probs = [a.probs.astype(float) for a in model.axes]
        probs = [p / np.maximum(p.sum(1, keepdims=True), TINY) for p in probs]
        codes = np.empty((size, len(model.axes)), dtype=np.int64)
        codes[order] = sampling.even_codes(np.bincount(component, minlength=len(model.weights)), probs, rng)
        for name, groups in own.items():
            codes[:, at[name]] = groups
        logits = tuple(c for c in model.conditionals if c.column not in given)
        draw_in_turn(logits, model.probs, component, codes, rng=rng)
        rows = {
            a.column: given[a.column]
            if a.column in given
            else a.draw(codes[:, j], a.within, sampling.Inside(starts=a.starts, counts=a.widths), rng)
            for j, a in enumerate(model.axes)
        }
        if repair is not None:
            rows = {n: p.copy() for n, p in rows.items()}
            repair(rows, model.redrawing(component, rng))
            rows |= given
        return rows

    def _components(self, groups: np.ndarray, axes: list[int], rng: np.random.Generator) -> np.ndarray:
        """A component for each row (n, given columns), in even proportion among rows that are alike."""
        contexts, which = np.unique(groups, axis=0, return_inverse=True)
        which = np.asarray(which).reshape(-1)
        weights = np.log(np.maximum(self.model.weights.astype(float), 1e-300))
        tables = [np.log(np.maximum(self.model.axes[j].probs.astype(float), 1e-30)) for j in axes]
        order, sizes = np.lexsort((rng.random(len(which)), which)), np.bincount(which, minlength=len(contexts))
        even = np.empty(len(which))  # uniform numbers, of rows that are alike even ones, in random order
        even[order] = np.arange(len(which)) - (np.cumsum(sizes) - sizes)[which[order]]
        even = (even + rng.random(len(contexts))[which]) / sizes[which]
        out = np.empty(len(groups), dtype=np.int64)
        by_context = np.argsort(which, kind="stable")
        ends = np.cumsum(sizes)
        step = max(1, TOGETHER // len(weights))
        for first in range(0, len(contexts), step):
            part = contexts[first : first + step]
            logits = weights + sum(t[:, part[:, k]].T for k, t in enumerate(tables))
            law = np.exp(logits - logits.max(1, keepdims=True))
            run = np.cumsum(law, axis=1)
            run /= run[:, -1:]
            at = by_context[ends[first - 1] if first else 0 : ends[min(first + step, len(contexts)) - 1]]
            for block in np.array_split(at, max(1, len(at) * len(weights) // TOGETHER)):
                result = (run[which[block] - first] < even[block, None]).sum(1)
                out[block] = np.minimum(result, len(weights) - 1)
        return out
