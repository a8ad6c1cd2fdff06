"""A mixture of product distributions over positions: the model that `mixture` and `independent` fit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Mend, Positions
from synth.generators.evening import MOST_GROUPS, even_out
from synth.generators.redraw import redraw
from synth.intervals import Intervals

TILT = 1.0  # how strongly counts are drawn towards groups that came short


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

    def draw(self, groups: np.ndarray, within: np.ndarray, inside: "Inside", rng: np.random.Generator) -> np.ndarray:
        """Positions for rows whose groups are given: leaves in even proportion, then evenly inside a leaf."""
        size = self.probs.shape[1]
        order = np.argsort(self.groups, kind="stable")
        rows = np.bincount(groups, minlength=size)
        counts = _spread(rows, within[order], self.groups[order], rng)
        leaves = np.empty(len(groups), dtype=np.int64)
        leaves[np.argsort(groups + rng.random(len(groups)))] = np.repeat(order, counts)
        return inside.pick(leaves, rng)


@dataclass(frozen=True, kw_only=True)
class Inside:
    """Which positions of each leaf may be drawn: all of them, or the sorted ``allowed`` ones."""

    starts: np.ndarray
    counts: np.ndarray
    allowed: np.ndarray | None = None

    def pick(self, leaves: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A position in each row's leaf, (n,) int64."""
        step = rng.integers(0, np.maximum(self.counts[leaves], 1))
        first = self.starts[leaves] + step
        return first if self.allowed is None else self.allowed[first]


View = tuple[np.ndarray, np.ndarray, Inside]  # probabilities (by group), shares within groups, what to draw


@dataclass(frozen=True, kw_only=True, eq=False)
class Product:
    """Rows fall into a component with probability ``weights`` (B,); inside it columns are independent.

    **Guarantee**: derived from releases only, hence free to sample, copy and publish.
    """

    total: float
    weights: np.ndarray
    axes: tuple[Axis, ...]

    def sample(
        self,
        num_rows: int,
        *,
        rng: np.random.Generator,
        where: Mapping[str, np.ndarray] | None = None,
        mend: Mend | None = None,
    ) -> Positions:
        """Draws ``num_rows`` rows in random order, positions (num_rows,) int64 for each column.

        Counts are spread evenly (systematic sampling) over components, groups and leaves, and rows then
        rearranged, so that a sample's tables of one and two columns lie closer to the model's than those of
        independent draws; each row alone follows the model.
        ``where`` conditions exactly; if the model rules the condition out, rows meet it all the same, being
        drawn evenly from what is allowed. ``mend`` may then draw cells again, each from its row's component
        and within the condition. Errors: UsageError for an unknown column, an empty or invalid
        condition.
        """
        weights, views = self._restrict(where or {})
        edges = np.floor(np.append(0.0, _cumulative(weights)) * num_rows + rng.random())
        rows: np.ndarray = np.diff(edges.astype(np.int64))
        component = np.repeat(np.arange(len(rows)), rows)
        codes = np.empty((num_rows, len(self.axes)), dtype=np.int64)
        for j, (probs, _, _) in enumerate(views):
            counts = _even_counts(rows, probs, rng)
            groups = np.repeat(np.tile(np.arange(probs.shape[1]), len(rows)), counts.ravel())
            codes[:, j] = groups[np.argsort(component + rng.random(num_rows))]
        _even_pairs(codes, component, rows, [probs for probs, _, _ in views], rng)
        rows_of = {
            axis.column: axis.draw(codes[:, j], within, inside, rng)
            for j, (axis, (_, within, inside)) in enumerate(zip(self.axes, views, strict=True))
        }
        if mend is not None:
            mend(rows_of, self._redraw(component, where or {}, rng))
        order = rng.permutation(num_rows)
        return {column: places[order] for column, places in rows_of.items()}

    def _redraw(
        self, component: np.ndarray, where: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> Callable[..., np.ndarray]:
        """Draws a column again for rows (indices) from their own components' distributions, restricted."""

        def again(column: str, rows: np.ndarray, *, allowed: Intervals, least: np.ndarray | None = None) -> np.ndarray:
            axis = self._axis(column)
            if column in where:
                met = np.sort(where[column])
                met = met[allowed.holds(met)] if allowed.holds(met).any() else met
                allowed = Intervals.of((p, p + 1) for p in met.tolist())
            masses = axis.probs[:, axis.groups].astype(float) * axis.within
            return redraw(
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
        """The model's probability that a row satisfies ``where``. Errors: as ``sample``."""
        joint = self.weights.astype(float)
        for axis, (mass, _, _) in self._masses(where).items():
            joint = joint * (self._axis(axis).probs @ mass)
        return float(min(joint.sum(), 1.0))

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """A JSON-able description and the arrays that together rebuild the model."""
        about = {"total": self.total, "axes": [{"column": a.column, "cells": a.cells} for a in self.axes]}
        arrays = {"weights": self.weights}
        for i, axis in enumerate(self.axes):
            for part in ("starts", "groups", "within", "probs"):
                arrays[f"{i}.{part}"] = getattr(axis, part)
        return about, arrays

    @staticmethod
    def from_state(about: Mapping, arrays: Mapping[str, np.ndarray]) -> "Product":
        """The model that ``state`` described."""
        parts = ("starts", "groups", "within", "probs")
        axes = tuple(
            Axis(
                column=a["column"],
                cells=int(a["cells"]),
                **{p: np.asarray(arrays[f"{i}.{p}"]) for p in parts},
            )
            for i, a in enumerate(about["axes"])
        )
        return Product(total=float(about["total"]), weights=np.asarray(arrays["weights"]), axes=axes)

    def _axis(self, column: str) -> Axis:
        return next(a for a in self.axes if a.column == column)

    def _masses(self, where: Mapping[str, np.ndarray]) -> dict[str, View]:
        """The condition on each column it names; see ``_condition``."""
        known = {a.column: a for a in self.axes}
        out = {}
        for column, positions in where.items():
            if column not in known:
                raise UsageError(f"condition on {column!r}: the model has no such column; choose a modelled one")
            out[column] = _condition(known[column], np.unique(np.asarray(positions, dtype=np.int64)))
        return out

    def _restrict(self, where: Mapping[str, np.ndarray]) -> tuple[np.ndarray, list[View]]:
        """Component weights and each axis' view under the condition."""
        masses = self._masses(where)
        weights, views = self.weights.astype(float), []
        for axis in self.axes:
            probs = axis.probs.astype(float)
            if axis.column not in masses:
                views.append((probs, axis.within, Inside(starts=axis.starts, counts=axis.widths)))
                continue
            mass, within, inside = masses[axis.column]
            met = probs @ mass
            if not self.weights @ met > 0:  # ruled out: every allowed position alike, components as they were
                mass = np.bincount(axis.groups, weights=inside.counts.astype(float))
                met, probs = np.ones(len(probs)), np.ones_like(probs)
            views.append((_rows_to_one(probs * mass, spare=mass), within, inside))
            weights = weights * met
        weights = weights if weights.sum() > 0 else self.weights.astype(float)
        return weights / weights.sum(), views


def within_groups(mass: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass of each group, and each leaf's share of its group (zero where the group has none)."""
    sums = np.bincount(groups, weights=mass, minlength=int(groups.max()) + 1)
    return sums, mass / np.where(sums > 0, sums, 1.0)[groups]


def _rows_to_one(table: np.ndarray, *, spare: np.ndarray) -> np.ndarray:
    """Rows scaled to sum to one; a row of zeros becomes ``spare``."""
    table = np.where(table.sum(1, keepdims=True) > 0, table, spare)
    return table / table.sum(1, keepdims=True)


def _condition(axis: Axis, allowed: np.ndarray) -> View:
    """Allowed share of each group (G,), leaves' shares of what is allowed of a group (L,), what to draw."""
    if len(allowed) == 0 or allowed[0] < 0 or allowed[-1] >= axis.cells:
        raise UsageError(f"condition on {axis.column!r}: needs at least one value, all of them in the schema")
    ends = np.searchsorted(allowed, np.append(axis.starts[1:], axis.cells))
    first = np.append(0, ends[:-1])
    counts = ends - first
    mass, within = within_groups(axis.within * (counts / axis.widths), axis.groups)
    blind = within_groups(counts.astype(float), axis.groups)[1]
    within = np.where(mass[axis.groups] > 0, within, blind)
    return mass, within, Inside(starts=first, counts=counts, allowed=allowed)


def _cumulative(weights: np.ndarray) -> np.ndarray:
    total = np.cumsum(weights, dtype=float)
    total[-1:] = 1.0  # so that rounding never loses or adds a row
    return total


def _even_counts(rows: np.ndarray, probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Integer counts (B, G) near rows * probs: row sums exact, column sums within a few of theirs.

    Components take turns in random order. Each draws what its whole parts leave by systematic sampling, with
    probabilities tilted towards groups that earlier components have left short.
    """
    expected = rows[:, None] * probs
    counts = np.floor(expected).astype(np.int64)
    fraction = expected - counts
    missing = rows - counts.sum(1)
    short = np.zeros(probs.shape[1])
    for b in rng.permutation(np.flatnonzero(missing > 0)):
        run = np.cumsum(fraction[b] * np.exp(np.clip(TILT * short, -3.0, 3.0)))
        edges = np.floor(run * (missing[b] / run[-1]) + rng.random()).astype(np.int64)
        edges = np.minimum(edges, missing[b])
        edges[np.searchsorted(run, run[-1]) :] = missing[b]
        drawn = np.diff(edges, prepend=0)
        counts[b] += drawn
        short += fraction[b] - drawn
    return counts


def _even_pairs(codes, component, rows, probs: list[np.ndarray], rng: np.random.Generator) -> None:
    """Rearranges group codes (n, J), in place, towards the model's expected tables of pairs."""
    offsets = np.cumsum([0] + [p.shape[1] for p in probs])
    if offsets[-1] <= MOST_GROUPS:
        joined = np.concatenate(probs, axis=1)
        codes += offsets[:-1]
        even_out(codes, component, (joined * rows[:, None]).T @ joined, rng=rng)
        codes -= offsets[:-1]


def _spread(rows: np.ndarray, share: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Counts of each leaf, leaves sorted by group, shares summing to one in a group: systematic sampling."""
    last = np.append(groups[1:] != groups[:-1], True)
    first = np.append(True, last[:-1])
    share = share.astype(float)
    run = np.cumsum(share)
    before = np.where(first, run - share, 0.0)[first][np.cumsum(first) - 1]
    edge = np.floor((run - before) * rows[groups] + rng.random(len(rows))[groups]).astype(np.int64)
    edge = np.where(last, rows[groups], np.minimum(edge, rows[groups]))
    return np.diff(edge, prepend=0) + np.where(first, np.append(0, edge[:-1]), 0)
