"""Classes of many rows from sums of tables: what a model's conditionals are drawn with where rows are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np

from synth.generators.product_mixture.bulk_sampling import side_by_side
from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

ROWS_AT_A_TIME = 1 << 15  # rows at a time: what is made of them stays in the processor's cache
FLOAT = np.float32  # a probability is then off by a millionth of itself
TAME = 60.0  # sums of tables that stay below it in size: their exponentials neither overflow nor vanish
JOINED = 1 << 16  # numbers in a table of several axes: what stays in the cache
COMPONENT = -1  # in the place of an axis: the row's component

Key = tuple[int, ...]  # axes


class Logit(Protocol):
    """P(class | row) ~ own**base exp(start_class + the pulls of the row's groups): a ``ConditionalLogit``."""

    @property
    def column(self) -> str: ...

    @property
    def start(self) -> np.ndarray: ...

    @property
    def pulls(self) -> Mapping[int, np.ndarray]: ...

    @property
    def base(self) -> float: ...

    @property
    def joint(self) -> Mapping[Key, np.ndarray]: ...


def draw_many(
    conditionals: Sequence[Logit],
    probs: Mapping[str, tuple[int, np.ndarray]],
    component: np.ndarray,
    codes: np.ndarray,
    *,
    rng: np.random.Generator,
    least: float,
    most: int = JOINED,
) -> None:
    """Draws the conditionals' columns of ``codes`` (n, J) in place, each given those before it; on all processors.

    ``probs``: each conditional's axis and probabilities (B, C) by component, taken to be at least ``least``;
    ``most``: as of ``lay``.
    """
    laws = side_by_side(lambda c: lay(c, probs[c.column][1], least=least, most=most), conditionals)
    laid = [(probs[conditional.column][0], law) for conditional, law in zip(conditionals, laws, strict=True)]

    def block(given: tuple[slice, np.random.Generator]) -> None:
        part, own = given
        for axis, law in laid:
            codes[part, axis] = law.draw(component[part], codes[part], own)

    parts = [slice(at, at + ROWS_AT_A_TIME) for at in range(0, len(codes), ROWS_AT_A_TIME)]
    side_by_side(block, zip(parts, rng.spawn(len(parts)), strict=True))


def lay(conditional: Logit, own: np.ndarray, *, least: float, most: int = JOINED) -> Listed | Odds | Sums:
    """The conditional's law, tables of a few axes joined into one: the fewer are left, the less a row costs.

    ``own`` (B, C): the components' probabilities, taken to be at least ``least``; ``most``: numbers in a joined table.
    """
    tables = {axis: np.asarray(pull, dtype=float) for axis, pull in conditional.pulls.items()}
    tables[COMPONENT] = conditional.base * np.log(np.maximum(own, least)) + conditional.start
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
    return parts, [_outer_sum([tables[a] for a in b]) for b in bins]


def _outer_sum(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Sums of one row of each table, for all combinations of rows, the last table's running fastest."""
    total = tables[0]
    for table in tables[1:]:
        total = (total[:, None] + table[None]).reshape(-1, *table.shape[1:])
    return total


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
