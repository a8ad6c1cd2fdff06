"""What a mixture is fitted to: measured tables and one-ways, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, kw_only=True)
class TableMatrix:
    """Measured tables laid into one matrix, whose rows and columns are views.

    ``rows`` (R,), ``cols`` (C,): views; ``y`` (R, C): noisy probabilities; ``precision`` (R, C): 1 / their
    noise variance, zero where nothing was measured. ``mirrored``: rows and columns are the same views; every
    measured cell stands in both halves, at half its precision.
    """

    rows: np.ndarray
    cols: np.ndarray
    y: np.ndarray
    precision: np.ndarray
    mirrored: bool = False

    @property
    def cells(self) -> int:
        """Number of measured cells."""
        return int(np.count_nonzero(self.precision)) // (2 if self.mirrored else 1)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """All that the fit needs.

    ``column`` (G,): the column of each group; ``mass``, ``precision`` (G,): one-ways and 1 / their variance.
    ``total``: rows that the model's simplicity is weighed by; 0 where only the tables count. ``shrunk_by``: squared
    deviations of the noise by which the tables were shrunk before the fit (``shrinkage.py``); ``loss_reduction``: by
    how much less the truth itself is off the tables since then.
    A view is a bin of one column: group ``member[0, i]`` is part of view ``member[1, i]``. After these come
    joint views, the product of views ``joint[0, i]`` and ``joint[1, i]`` of two different columns. ``neighbours``
    (3, K): groups that follow each other in a column of numbers (``smoothness.py``).
    """

    column: np.ndarray
    mass: np.ndarray
    precision: np.ndarray
    member: np.ndarray
    joint: np.ndarray
    blocks: Sequence[TableMatrix]
    total: float = 0.0
    shrunk_by: float = 0.0
    loss_reduction: float = 0.0
    neighbours: np.ndarray = field(default_factory=lambda: np.zeros((3, 0), dtype=np.int64))

    @property
    def cells(self) -> int:
        """Number of measured cells."""
        return sum(b.cells for b in self.blocks)

    @property
    def work(self) -> int:
        """Multiplications and additions of a step for each component: two products of a mirrored block, else three."""
        return sum((4 if b.mirrored else 6) * b.y.size for b in self.blocks)

    @property
    def chance(self) -> float:
        """How much the rows' own chance exceeds the noise, from 0 to 1: 1 less the noise's part, over all cells of two
        columns. Tables of more have more noise, and are followed well only where those of two are.
        """
        plain = int(self.member[1].max(initial=-1))
        pairs = [b for b in self.blocks if max(b.rows.max(initial=0), b.cols.max(initial=0)) <= plain]
        noise = sum(float((1 / b.precision[b.precision > 0]).sum()) / (2 if b.mirrored else 1) for b in pairs)
        rows = sum(float(np.maximum(b.y[b.precision > 0], 0).sum()) for b in pairs)
        return max(0.0, 1 - noise * self.total / rows) if rows > 0 and self.total > 0 else 0.0

    def goal(self, share: float, *, components: int) -> float:
        """The loss at which a mixture has followed the noise as far as ``share`` says.

        That share of the cells where the mixture has as many parameters as there are cells; nearer to all of
        them where it has fewer, since it then can follow less of the noise.
        """
        free = components * (len(self.mass) - int(self.column.max(initial=0)) - 1)
        return self.cells * (1 - (1 - share) * min(1.0, free / max(self.cells, 1))) - self.loss_reduction
