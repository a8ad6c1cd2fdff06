"""Rows as public vectors of at most unit norm: each column's bins have coordinates of their own."""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from synth.questions.tables import Bins

ROUNDING = 1e-9  # by how much float sums may lift a norm above one; mechanisms check it again in integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """The coordinates of one column: a row of ``table`` (bins.size, width) float64 for each bin.

    A position that belongs to no bin (-1) has coordinates zero.

    Errors: ValueError for a table without a finite row for each bin.
    Privacy: public only.
    """

    bins: Bins
    table: np.ndarray

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.table, dtype=np.float64)
        if table.ndim != 2 or len(table) != self.bins.size or not np.isfinite(table).all():
            raise ValueError("a row of finite coordinates for each bin is needed")
        table.setflags(write=False)
        object.__setattr__(self, "table", table)

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return self.table.shape[1]

    @property
    def square(self) -> float:
        """The largest squared norm of a row."""
        return float((self.table**2).sum(1).max(initial=0.0))

    @staticmethod
    def one_hot(bins: Bins, *, weight: float) -> "Block":
        """One coordinate for each bin, of height ``weight``."""
        return Block(bins=bins, table=weight * np.eye(bins.size))


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoding:
    """A row's vector: its columns' coordinates side by side. Its norm is at most one. Errors: ValueError if not.

    Privacy: public only.

    >>> sex = Bins.each("SEX", 2)
    >>> Encoding(blocks=(Block.one_hot(sex, weight=1.0),)).norm
    1.0
    """

    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        if not self.norm <= 1 + ROUNDING:
            raise ValueError(f"rows reach norm {self.norm}, above 1")

    @cached_property
    def norm(self) -> float:
        """The largest norm of a row."""
        return sqrt(sum(b.square for b in self.blocks))

    @property
    def dim(self) -> int:
        """Number of coordinates, d."""
        return sum(b.width for b in self.blocks)

    @property
    def non_negative(self) -> bool:
        """Whether no coordinate is negative: then two rows are at most sqrt(2) apart, not 2."""
        return all(float(b.table.min(initial=0.0)) >= 0 for b in self.blocks)
