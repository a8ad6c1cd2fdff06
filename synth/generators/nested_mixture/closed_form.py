"""The tables that a mixture over roots implies, in closed form; torch, so that gradients follow.

A root has a component z. A row of a child table has one of the components that its parent's component owns, so that
those of a table are counted (C_parent * S). Columns are independent given the component. Events walk among their
parent's components as a Markov chain. **Source**: nested mixtures of products for households, Hu, Reiter and Wang,
arXiv 1412.2282; chains and closed-form tables are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.generators.nested_mixture.known import Known
from synth.schema.lazy import Lazy
from synth.schema.related import Key, Related, number_of

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

LEAST_WEIGHT = 1e-12


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Where each column's bins stand among the table's (G,), by column."""

    slices: Mapping[str, slice]
    size: int

    @classmethod
    def of(cls, known: Known) -> Columns:
        """In the order of the table's columns."""
        slices, start = {}, 0
        for name, size in known.sizes.items():
            slices[name] = slice(start, start + size)
            start += size
        return cls(slices=slices, size=start)


@dataclass(kw_only=True)
class Logits:
    """What is fitted of one table: ``columns`` (C, G); ``state`` (1 or C_parent, S), of events the first one's;
    ``turn`` (C_parent, S, S), from one event to the next, or None.
    """

    columns: torch.Tensor
    state: torch.Tensor
    turn: torch.Tensor | None = None

    @property
    def tensors(self) -> list[torch.Tensor]:
        """All that is fitted."""
        return [t for t in (self.columns, self.state, self.turn) if t is not None]


@dataclass(kw_only=True)
class Level:
    """One table of the model: ``probs`` (C, G); ``weights`` (C,), roots' worth of rows in each component.

    Of a child: ``state`` (C_parent, S), ``turn``; ``by_number`` (most, C), the weights parted by how many siblings
    there are; ``pairs`` (C_parent, S, S), weights of steps or of pairs of siblings; ``first`` (C,), of first events.
    """

    probs: torch.Tensor
    weights: torch.Tensor
    state: torch.Tensor
    turn: torch.Tensor | None = None
    by_number: torch.Tensor | None = None
    pairs: torch.Tensor | None = None
    first: torch.Tensor | None = None


def levels(schema: Related, columns: Mapping[str, Columns], logits: Mapping[str, Logits]) -> dict[str, Level]:
    """Every table of the model, from the root down."""
    out: dict[str, Level] = {}
    for table in schema.downwards:
        given, key = logits[table], schema.key_above(table)
        probs = torch.cat([given.columns[:, s].softmax(1) for s in columns[table].slices.values()], 1)
        if key is None:
            out[table] = Level(probs=probs, weights=given.state[0].softmax(0), state=given.state.softmax(1))
        else:
            number = out[key.parent].probs[:, columns[key.parent].slices[number_of(table)]]
            out[table] = child(key, out[key.parent].weights, number, probs, given)
    return out


def child(key: Key, above: torch.Tensor, number: torch.Tensor, probs: torch.Tensor, given: Logits) -> Level:
    """A child's table. ``above`` (C_parent,): the parent's weights; ``number`` (C_parent, most + 1): of children."""
    state = given.state.softmax(1)
    turn = None if given.turn is None else given.turn.softmax(2)
    mass = above[:, None] * number[:, 1:]  # (C_parent, most), by number of children
    many = torch.arange(1, key.most_children + 1, dtype=probs.dtype, device=probs.device)
    after = lambda part: torch.flip(torch.cumsum(torch.flip(part, [1]), 1), [1])  # noqa: E731
    if turn is None:
        by_number = (mass.T[:, :, None] * state).reshape(len(many), -1)
        pairs = mass[:, 1:].sum(1)[:, None, None] * state[:, :, None] * state[:, None, :]
        return Level(probs=probs, weights=by_number.sum(0), state=state, by_number=by_number, pairs=pairs,
                     first=by_number.sum(0))  # fmt: skip
    walk = [state]
    for _ in range(1, key.most_children):
        walk.append(torch.bmm(walk[-1][:, None, :], turn)[:, 0, :])
    places = torch.stack(walk)  # (most, C_parent, S), by rank
    mean = torch.cumsum(places, 0) / many[:, None, None]
    by_number = (mass.T[:, :, None] * mean).reshape(len(many), -1)
    steps = mass[:, 1:] / (many[1:] - 1)  # a step's weight, by number of children
    leaving = (after(steps).T[:, :, None] * places[: len(many) - 1]).sum(0)
    first = (mass.sum(1)[:, None] * state).reshape(-1)
    return Level(probs=probs, weights=by_number.sum(0), state=state, turn=turn, by_number=by_number,
                 pairs=leaving[:, :, None] * turn, first=first)  # fmt: skip


def own(level: Level) -> torch.Tensor:
    """Two columns of one row, (G, G)."""
    return (level.weights[:, None] * level.probs).T @ level.probs


def paired(level: Level) -> torch.Tensor:
    """A column of one row and one of the next, or of a sibling, (G, G)."""
    assert level.pairs is not None
    parents, size = level.pairs.shape[:2]
    probs = level.probs.reshape(parents, size, -1)
    return level.probs.T @ torch.bmm(level.pairs, probs).reshape(len(level.probs), -1)


def across(
    schema: Related,
    columns: Mapping[str, Columns],
    found: Mapping[str, Level],
    table: str,
    above: str,
) -> torch.Tensor:
    """A row's columns by those of its ancestor, (G, G_above)."""
    way = schema.upwards(table)
    branch = way[way.index(above) - 1]  # the ancestor's child on the way down
    low, mid, high = found[table], found[branch], found[above]
    gathered = (low.weights[:, None] * low.probs).reshape(len(mid.weights), -1, low.probs.shape[1]).sum(1)
    whole = gathered.reshape(len(high.weights), -1, low.probs.shape[1]).sum(1)
    plain = whole.T @ high.probs
    assert mid.by_number is not None
    each = gathered / mid.weights.clamp_min(LEAST_WEIGHT)[:, None]
    numbers = (mid.by_number @ each).T  # (G, most)
    where = columns[above].slices[number_of(branch)]
    none = torch.zeros_like(numbers[:, :1])
    return torch.cat([plain[:, : where.start], none, numbers, plain[:, where.stop :]], 1)
