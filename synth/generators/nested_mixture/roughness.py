"""Components over neighbouring bins of a number: data treat them alike, noise treats each by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.generators.marginals.smoothness import neighbours
from synth.generators.nested_mixture.closed_form import LEAST_WEIGHT, Below, Level
from synth.generators.nested_mixture.known import Known
from synth.generators.nested_mixture.logits import Columns
from synth.lazy import Lazy
from synth.schema.dataset import Dataset

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")


@dataclass(frozen=True, kw_only=True)
class Roughness:
    """``three`` (3, K): by table, every three bins that follow each other in a column of numbers."""

    three: Mapping[str, torch.Tensor]

    @classmethod
    def of(cls, schema: Dataset, known: Mapping[str, Known], columns: Mapping[str, Columns], device: str) -> Roughness:
        """The bins of all tables' own numbers and dates; tables without such have none."""
        result = {}
        for table, released in known.items():
            facts = schema.as_asked(table).columns
            sizes = {n: facts[n].size for n in columns[table].slices if facts[n].is_numeric}
            three = neighbours(released.histograms, released.groups, columns[table].slices, sizes)
            if three.shape[1]:
                result[table] = torch.as_tensor(three, device=device)
        return cls(three=result)

    def __call__(self, levels: Mapping[str, Level], middle: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Half the sum over components and ``three`` of w c b**2, of roots' worth of rows; a number.

        w is the component's weight; b by how much its density over the column's own, ``middle`` (G,), bends, all as
        logarithms; c the geometric mean of the three's shares. Privacy: released answers only. **Source**: as
        ``marginals/smoothness.Bends``.
        """
        whole = torch.zeros(())
        for table, three in self.three.items():
            level, base = levels[table], middle[table]
            whole = whole + _bends(level.probs, level.weights, three, base)
            if isinstance(level, Below):
                whole = whole + _bends(level.direct, level.mass.sum(1), three, base)
        return whole


def _bends(probs: torch.Tensor, weights: torch.Tensor, three: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
    """Of components (C, G) with their weights (C,)."""
    low, middle, high = ((probs[:, at].clamp_min(LEAST_WEIGHT).log() - base[at]) for at in three)
    share = base[three].mean(0).exp()
    return (weights @ (low + high - 2 * middle) ** 2 @ share) / 2
