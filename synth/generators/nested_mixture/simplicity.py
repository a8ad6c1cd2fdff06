"""How much the columns of a nested mixture depend on its components: what noise adds everywhere, a little at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from synth.generators.nested_mixture.closed_form import LEAST_WEIGHT, Below, Columns, Level
from synth.schema.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")


def dependence(
    found: Mapping[str, Level], columns: Mapping[str, Columns], middle: Mapping[str, torch.Tensor], *, half: float
) -> torch.Tensor:
    """What components tell, in nats of a root: the sum of h log(1 + I/h), h being ``half``.

    One I for each column, the mutual information of a row and its component, or its parent's, and one for each rank of
    children, that of a row's component and its parent's; ``middle``: logarithms of the one-ways (G,). Weak dependence
    counts in full, strong dependence less and less. Privacy: released answers only. **Source**: as ``fit_mixture.fit``.
    """
    parts: list[torch.Tensor] = []
    for table, level in found.items():
        spans, base = list(columns[table].slices.values()), middle[table]
        own = [level.weights @ each for each in _apart(level.probs, base, spans)]
        if isinstance(level, Below):
            mass = level.mass.sum(1)
            above = [mass @ each for each in _apart(level.direct, base, spans)]
            lean = level.lean[[s.start for s in spans]]
            own = [(1 - part) * u + part * z for part, u, z in zip(lean, own, above, strict=True)]
            own += _of_components(level, mass)
        parts += own
    told = torch.stack(parts).clamp_min(0)
    return (half * torch.log1p(told / half)).sum()


def _apart(probs: torch.Tensor, base: torch.Tensor, spans: Iterable[slice]) -> list[torch.Tensor]:
    """Of each column how far each component's bins are from those of all rows, (C,), in nats."""
    apart = probs * (probs.clamp_min(LEAST_WEIGHT).log() - base)
    return [apart[:, s].sum(1) for s in spans]


def _of_components(level: Below, mass: torch.Tensor) -> Iterator[torch.Tensor]:
    """What a parent's component tells of its children's, for each rank, in equal parts."""
    mean = (level.weights / mass.sum().clamp_min(LEAST_WEIGHT)).clamp_min(LEAST_WEIGHT).log()
    states = [level.state] if level.later is None else [level.state, *level.later]
    for state in states:
        apart = (state * (state.clamp_min(LEAST_WEIGHT).log() - mean)).sum(1)
        yield mass @ apart / len(states)
