"""What is fitted of related tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.marginals.histogram import Histogram
from synth.generators.nested_mixture.known import Known
from synth.schema.tree import NUMBER

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Where each column's bins stand among the table's (G,), by column.

    ``numbers``: of a number of children whose bins hold several numbers, the share (B, most + 1) of each in its bin.
    """

    slices: Mapping[str, slice]
    size: int
    numbers: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, known: Known) -> Columns:
        """In the order of the table's columns."""
        slices, start = {}, 0
        for name, size in known.sizes.items():
            slices[name] = slice(start, start + size)
            start += size
        numbers = {n: _within(known.histograms[n], known.groups[n]) for n in slices if n.startswith(NUMBER)}
        return cls(slices=slices, size=start, numbers={n: w for n, w in numbers.items() if w.shape[0] < w.shape[1]})

    @cached_property
    def of_one(self) -> np.ndarray:
        """Which two bins (G, G) are of one column."""
        column = np.repeat(np.arange(len(self.slices)), [s.stop - s.start for s in self.slices.values()])
        return column[:, None] == column


def _within(histogram: Histogram, groups: np.ndarray) -> np.ndarray:
    """The share (B, cells) of each position in its bin; those of a leaf are alike."""
    widths = np.diff(np.append(histogram.starts, histogram.cells))
    owner = np.repeat(groups, widths)
    mass = np.repeat(np.maximum(histogram.mass, 0) / widths, widths)
    sums, many = np.bincount(owner, mass), np.bincount(owner)
    out = np.zeros((len(many), histogram.cells))
    out[owner, np.arange(histogram.cells)] = np.where(
        sums[owner] > 0, mass / np.maximum(sums[owner], 1e-12), 1 / many[owner]
    )
    return out


@dataclass(kw_only=True)
class Logits:
    """What is fitted of one table: ``columns`` (C, G); ``state`` (1 or C_parent, C), of events the first one's.

    Of a child: ``direct`` (C_parent, G), columns as the parent's component has them; ``lean`` (J,), which of both a
    column follows; ``shared`` (J,), which part of the former is one value for all rows of a parent; ``later``
    (R, C_parent, C), as ``state`` of the second row, the third, ..., one for all after it too, None where a parent has
    one row at most; ``last`` (C_parent, C), of the last event or the only one, None where rows are not in order;
    ``keep`` (C_parent,), ``again`` (J,), ``lasting`` (J,), of long histories (``parts.py``).
    """

    columns: torch.Tensor
    state: torch.Tensor
    direct: torch.Tensor | None = None
    lean: torch.Tensor | None = None
    shared: torch.Tensor | None = None
    later: torch.Tensor | None = None
    last: torch.Tensor | None = None
    keep: torch.Tensor | None = None
    again: torch.Tensor | None = None
    lasting: torch.Tensor | None = None

    @property
    def tensors(self) -> list[torch.Tensor]:
        """All that is fitted."""
        whole = [self.columns, self.state, self.direct, self.lean, self.shared, self.later, self.last]
        return [t for t in (*whole, self.keep, self.again, self.lasting) if t is not None]
