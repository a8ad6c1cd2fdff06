"""What is fitted of related tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.nested_mixture.known import Known

if TYPE_CHECKING:
    import torch


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

    @cached_property
    def of_one(self) -> np.ndarray:
        """Which two bins (G, G) are of one column."""
        column = np.repeat(np.arange(len(self.slices)), [s.stop - s.start for s in self.slices.values()])
        return column[:, None] == column


@dataclass(kw_only=True)
class Logits:
    """What is fitted of one table: ``columns`` (C, G); ``state`` (1 or C_parent, C), of events the first one's.

    Of a child: ``direct`` (C_parent, G), columns as the parent's component has them; ``lean`` (J,), which of both a
    column follows; ``shared`` (J,), which part of the former is one value for all rows of a parent; ``later``
    (R, C_parent, C), as ``state`` of the second row, the third, ..., one for all after it too, None where a parent has
    one row at most; ``last`` (C_parent, C), of the last event or the only one, None where rows are not in order.
    """

    columns: torch.Tensor
    state: torch.Tensor
    direct: torch.Tensor | None = None
    lean: torch.Tensor | None = None
    shared: torch.Tensor | None = None
    later: torch.Tensor | None = None
    last: torch.Tensor | None = None

    @property
    def tensors(self) -> list[torch.Tensor]:
        """All that is fitted."""
        whole = (self.columns, self.state, self.direct, self.lean, self.shared, self.later, self.last)
        return [t for t in whole if t is not None]
