"""Columns drawn again, each from a logit of others, in place of a mixture's component: a model's conditionals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from synth.generators.core.sampling import on_all_cores
from synth.lazy import torch

BULK_ROWS = 1 << 15  # rows at a time: what is made of them stays in the processor's cache
FLOAT = np.float32  # a probability is then off by a millionth of itself
TAME = 60.0  # sums of tables that stay below it in size: their exponentials neither overflow nor vanish
JOINED = 1 << 16  # numbers in a table of several axes: what stays in the cache
COMPONENT = -1  # in the place of an axis: the row's component

Key = tuple[int, ...]  # axes
BASE = 0.75  # power of the component's own probabilities that the logit of a target starts from
ROWS_AT_A_TIME = 1 << 16  # rows at a time
MANY = 200_000  # rows that need not be sorted for even proportions
LEAST_PROBABILITY = 1e-6  # a component's smallest probability of a class


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalLogit:
    """P(class | row) ~ p(class | component)**base exp(start_class + sum of the pulls of the row's groups).

    ``start`` (C,); ``pulls``: (G, C) of each group of the axes, by number, that tell of the class; ``joint``:
    (G, H, ..., C) of the groups of several axes together.
    """

    column: str
    start: np.ndarray
    pulls: Mapping[int, np.ndarray]
    base: float = BASE
    joint: Mapping[tuple[int, ...], np.ndarray] = field(default_factory=dict)

    @property
    def read(self) -> frozenset[int]:
        """The axes that tell of the class."""
        return frozenset(self.pulls).union(*self.joint)

    def probabilities(self, codes: np.ndarray, own: np.ndarray) -> np.ndarray:
        """(n, C) of rows with group ``codes`` (n, J), whose components give the classes ``own`` (n, C)."""
        logits = self.base * np.log(np.maximum(own, LEAST_PROBABILITY)) + self.start
        logits -= logits[:, :1]  # all relative to the first class
        for c in range(1, own.shape[1]):
            for j, pull in self.pulls.items():
                logits[:, c] += (pull[:, c] - pull[:, 0])[codes[:, j]]
            for axes, pull in self.joint.items():
                logits[:, c] += (pull[..., c] - pull[..., 0])[tuple(codes[:, axes].T)]
        grown = np.exp(logits - logits.max(1, keepdims=True))
        return grown / grown.sum(1, keepdims=True)

    def order(self, codes: np.ndarray) -> np.ndarray:
        """Rows (n,) sorted by their group on the axis that tells most of the class, then on the next one, and so on."""
        released = sorted(
            self.pulls, key=lambda j: float((self.pulls[j] - self.pulls[j].mean(1, keepdims=True)).var(0).sum())
        )
        return np.lexsort([codes[:, j] for j in released or sorted(self.read)])


def draw_many(
    conditionals: Sequence[ConditionalLogit],
    probs: Mapping[str, tuple[int, np.ndarray]],
    component: np.ndarray,
    codes: np.ndarray,
    *,
    rng: np.random.Generator,
    most: int = JOINED,
) -> None:
    """Draws the conditionals' columns of ``codes`` (n, J) in place, each given those before it; on all processors.

    ``probs``: each conditional's axis and probabilities (B, C) by component; ``most``: as of ``lay``.
    """
    laws = on_all_cores(lambda c: lay(c, probs[c.column][1], most=most), conditionals)
    laid = [(probs[conditional.column][0], law) for conditional, law in zip(conditionals, laws, strict=True)]

    def block(given: tuple[slice, np.random.Generator]) -> None:
        part, own = given
        for axis, law in laid:
            codes[part, axis] = law.draw(component[part], codes[part], own)

    parts = [slice(at, at + BULK_ROWS) for at in range(0, len(codes), BULK_ROWS)]
    on_all_cores(block, zip(parts, rng.spawn(len(parts)), strict=True))


def lay(conditional: ConditionalLogit, own: np.ndarray, *, most: int = JOINED) -> Listed | Odds | Sums:
    """The conditional's law, tables of a few axes joined into one: the fewer are left, the less a row costs.

    ``own`` (B, C): the components' probabilities, taken to be at least ``LEAST_PROBABILITY``; ``most``: numbers in a
    joined table.
    """
    tables = {axis: np.asarray(pull, dtype=float) for axis, pull in conditional.pulls.items()}
    tables[COMPONENT] = conditional.base * np.log(np.maximum(own, LEAST_PROBABILITY)) + conditional.start
    joint = {axes: np.asarray(pull, dtype=float) for axes, pull in conditional.joint.items()}
    further = [_Part(axes=axes, sizes=pull.shape[:-1]) for axes, pull in joint.items()]
    if len(conditional.start) == 2:
        parts, joined = _joined({axis: table[:, 1] - table[:, 0] for axis, table in tables.items()}, most)
        joined += [(pull[..., 1] - pull[..., 0]).ravel() for pull in joint.values()]
        return Odds(parts=[*parts, *further], values=[table.astype(FLOAT) for table in joined])
    parts, joined = _joined(tables, most // len(conditional.start))
    parts, joined = [*parts, *further], [*joined, *(pull.reshape(-1, pull.shape[-1]) for pull in joint.values())]
    return Listed.of(parts[0], joined[0]) if len(parts) == 1 else Sums(parts, joined)


def _joined(tables: Mapping[int, np.ndarray], most: int) -> tuple[list[_Part], list[np.ndarray]]:
    """Tables (G,) or (G, C) of axes, summed into as few as have at most ``most`` combinations of groups each."""
    bins: list[list[int]] = []
    for axis in sorted(tables, key=lambda axis: (-len(tables[axis]), axis)):  # first fit, the largest first
        fits = (b for b in bins if prod(len(tables[a]) for a in (*b, axis)) <= most)
        result = next(fits, None)
        if result is None:
            bins.append([axis])
        else:
            result.append(axis)
    parts = [_Part(axes=tuple(b), sizes=tuple(len(tables[a]) for a in b)) for b in bins]
    sums = []  # of one row of each table, for all combinations of rows, the last table's running fastest
    for first, *others in ([tables[a] for a in b] for b in bins):
        for table in others:
            first = (first[:, None] + table[None]).reshape(-1, *table.shape[1:])
        sums.append(first)
    return parts, sums


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """Some axes whose combinations of groups have a place each in a table, the last axis' groups running fastest."""

    axes: Key
    sizes: Key

    def places(self, component: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Of each row the place of its combination, (n,) int64."""
        out = np.zeros(len(codes), dtype=np.int32)
        for size, axis in zip(self.sizes, self.axes, strict=True):
            out *= size
            out += component if axis == COMPONENT else codes[:, axis]
        return out.astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Listed:
    """A law that one table tells: of each combination the chances of a class beyond the first, the second, ...

    ``beyond`` (C - 1, combinations).
    """

    part: _Part
    beyond: np.ndarray

    @staticmethod
    def of(part: _Part, logits: np.ndarray) -> Listed:
        """From the ``logits`` (combinations, C)."""
        grown = np.exp(logits - logits.max(1, keepdims=True))
        beyond = np.cumsum(grown[:, :0:-1], axis=1)[:, ::-1] / grown.sum(1, keepdims=True)
        return Listed(part=part, beyond=np.ascontiguousarray(beyond.T))

    def draw(self, component: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A class for each row (n,)."""
        places, even = self.part.places(component, codes), rng.random(len(codes))
        drawn, chance = np.zeros(len(codes), dtype=np.int32), np.empty(len(codes))
        for beyond in self.beyond:
            drawn += even < beyond.take(places, out=chance, mode="clip")
        return drawn


@dataclass(frozen=True, kw_only=True, eq=False)
class Odds:
    """The law of two classes: the logarithm of their odds is a sum of one of the ``values`` of each part."""

    parts: Sequence[_Part]
    values: Sequence[np.ndarray]

    def draw(self, component: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A class for each row (n,)."""
        total, one = np.zeros(len(codes), dtype=FLOAT), np.empty(len(codes), dtype=FLOAT)
        for part, values in zip(self.parts, self.values, strict=True):
            total += values.take(part.places(component, codes), out=one, mode="clip")
        against = np.exp(np.minimum(-total, TAME))  # a chance of exp(-TAME) is never drawn
        return rng.random(len(codes)) * (1 + against) < 1


class Sums:
    """The law of several classes by several tables (combinations, C) that are laid under each other."""

    def __init__(self, parts: Sequence[_Part], tables: Sequence[np.ndarray]) -> None:
        self._parts = parts
        self._starts = np.cumsum([0] + [len(t) for t in tables[:-1]]).tolist()
        self._table = torch.from_numpy(np.concatenate(tables).astype(FLOAT))
        self.tame = bool(sum(np.abs(t).max() for t in tables) < TAME)

    def draw(self, component: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A class for each row (n,)."""
        where = np.empty((len(codes), len(self._parts)), dtype=np.int64)
        for k, (part, start) in enumerate(zip(self._parts, self._starts, strict=True)):
            np.add(part.places(component, codes), start, out=where[:, k])
        logits = torch.nn.functional.embedding_bag(torch.from_numpy(where), self._table, mode="sum")
        run = (logits if self.tame else logits - logits.amax(1, keepdim=True)).exp_().cumsum(1)
        even = torch.from_numpy(rng.random(len(run), dtype=FLOAT)) * run[:, -1]
        return torch.searchsorted(run, even[:, None], out_int32=True)[:, 0].numpy()


def draw_in_turn(
    conditionals: Sequence[ConditionalLogit],
    probs: Mapping[str, tuple[int, np.ndarray]],
    component: np.ndarray,
    codes: np.ndarray,
    *,
    rng: np.random.Generator,
    allowed: Mapping[str, np.ndarray] | None = None,
) -> np.ndarray:
    """Draws each logit's column in ``codes`` (n, J) anew, given those drawn before; the chances (n,) of the condition.

    ``probs``: each column's axis and probabilities (B, C) by component. ``allowed``: under a condition on a logit's
    column the part (C,) of each class that meets it; classes are drawn within it, and the chance is that of meeting it.
    """
    limits = allowed or {}

    def block(given: tuple[slice, np.random.Generator]) -> np.ndarray:
        part, own = given
        chance = np.ones(len(component[part]))
        for conditional in conditionals:
            at, table = probs[conditional.column]
            law = conditional.probabilities(codes[part], table[component[part]])
            if conditional.column in limits:
                law *= limits[conditional.column]
                met = law.sum(1)
                chance *= met
                law /= np.maximum(met, 1e-300)[:, None]
            order = conditional.order(codes[part]) if len(codes) < MANY else None
            codes[part, at] = draw_classes(law, own, order=order)
        return chance

    if len(codes) < MANY:
        return block((slice(None), rng))
    if not limits:
        draw_many(conditionals, probs, component, codes, rng=rng)
        return np.ones(len(codes))
    parts = [slice(at, at + ROWS_AT_A_TIME) for at in range(0, len(codes), ROWS_AT_A_TIME)]
    return np.concatenate(on_all_cores(block, zip(parts, rng.spawn(len(parts)), strict=True)))


def draw_classes(probs: np.ndarray, rng: np.random.Generator, *, order: np.ndarray | None = None) -> np.ndarray:
    """A class for each row of ``probs`` (n, C), (n,); with an ``order`` (n,) in even proportion along it.

    Evenly: class after class, systematic samples of the rows that are left.
    """
    drawn = np.zeros(len(probs), dtype=np.int64)
    if order is None:
        run, even = np.zeros(len(probs)), rng.random(len(probs))
        for c in range(probs.shape[1] - 1):
            run += probs[:, c]
            drawn += even > run
        return drawn
    rows, rest = order, np.ones(len(probs))
    for c in range(probs.shape[1] - 1):
        chance = probs[rows, c] / np.maximum(rest[rows], 1e-12)
        taken = np.diff(np.floor(np.cumsum(np.minimum(chance, 1.0)) + rng.random()), prepend=0.0) > 0
        drawn[rows[taken]] = c
        rows = rows[~taken]
        rest -= probs[:, c]
    drawn[rows] = probs.shape[1] - 1
    return drawn
