"""What a nested mixture is fitted to: measured tables as matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class NestedMatrix:
    """Measured tables laid into one matrix: ``y`` shares of the roots, ``precision`` 1 / variance, 0 where none.

    ``view``: as of a question, or ``one-way`` with a single line. ``above``: the ancestor whose columns are the
    matrix' columns, the table itself where it is of one table. ``fold`` (G, F): bins into the fewer ones of a table
    that was asked coarser, or None. ``counted``: rows weigh as much as their parent (``counted.py``). ``cells``: how
    many cells' worth of noise is in ``y``.
    """

    table: str
    view: str
    above: str
    y: torch.Tensor
    precision: torch.Tensor
    fold: torch.Tensor | None = None
    counted: bool = False
    cells: float = 0.0
