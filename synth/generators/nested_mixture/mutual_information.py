"""How much the columns of a nested mixture depend on its components: what noise adds everywhere, a little at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from synth.generators.nested_mixture.closed_form import LEAST_WEIGHT, Below, Level
from synth.generators.nested_mixture.logits import Columns
from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")


def dependence(
    levels: Mapping[str, Level], columns: Mapping[str, Columns], middle: Mapping[str, torch.Tensor], *, half: float
) -> torch.Tensor:
    """What components tell, in nats of a root: the sum of h log(1 + I/h), h being ``half``.

    One I for each column, the mutual information of a row and its component, or its parent's, and one for each place of
    children, that of a row's component and its parent's; ``middle``: logarithms of the one-ways (G,). Weak dependence
    counts in full, strong dependence less and less. Privacy: released answers only. **Source**: as ``fit_mixture.fit``.
    """
    parts: list[torch.Tensor] = []
    for table, level in levels.items():
        member = _members(columns[table], level.probs)
        own = (level.weights @ _apart(level.probs, middle[table])) @ member
        if isinstance(level, Below):
            mass = level.mass.sum(1)
            above = (mass @ _apart(level.direct, middle[table])) @ member
            lean = level.lean @ (member / member.sum(0))
            own = (1 - lean) * own + lean * above
            parts.append(_of_components(level, mass))
        parts.append(own)
    released = torch.cat(parts).clamp_min(0)
    return (half * torch.log1p(released / half)).sum()


def _members(columns: Columns, like: torch.Tensor) -> torch.Tensor:
    """Which bins are a column's, (G, J)."""
    sizes = [s.stop - s.start for s in columns.slices.values()]
    column = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return torch.nn.functional.one_hot(column, len(sizes)).to(like)


def _apart(probs: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
    """How far each component's bins are from those of all rows, (C, G), in nats."""
    return probs * (probs.clamp_min(LEAST_WEIGHT).log() - base)


def _of_components(level: Below, mass: torch.Tensor) -> torch.Tensor:
    """What a parent's component tells of its children's, for each place, in equal parts, (K,)."""
    mean = (level.weights / mass.sum().clamp_min(LEAST_WEIGHT)).clamp_min(LEAST_WEIGHT).log()
    states = torch.stack(level.states)
    return (_apart(states, mean).sum(2) @ mass) / len(states)
