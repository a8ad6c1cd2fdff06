"""A random part of the tables for each step of a large fit: many cheap steps come nearer than a few whole ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from synth.generators.marginals.problem import Problem, TableMatrix

TILE = 2**15  # most cells of a block that is looked at as a whole


def tiled(problem: Problem, *, tile: int = TILE) -> Problem:
    """The same problem with blocks of at most about ``tile`` cells: strips of the larger ones.

    A mirrored block's strips are plain ones, with each cell in both of its places, at half its precision.
    """
    return replace(problem, blocks=[strip for block in problem.blocks for strip in _strips(block, tile)])


def _strips(block: TableMatrix, tile: int) -> Iterator[TableMatrix]:
    parts = -(-block.y.size // tile)
    if parts == 1:
        yield block
        return
    upright = block.mirrored or len(block.rows) >= len(block.cols)
    for at in np.array_split(np.arange(block.y.shape[0 if upright else 1]), parts):
        cut = np.s_[at, :] if upright else np.s_[:, at]
        yield replace(
            block,
            rows=block.rows[at] if upright else block.rows,
            cols=block.cols if upright else block.cols[at],
            y=block.y[cut],
            precision=block.precision[cut],
            mirrored=False,
        )


@dataclass(frozen=True, kw_only=True)
class Subsets:
    """Random subsets of blocks, each with how often it counts, so that what they add up to is right on average.

    ``kinds``: numbers of the blocks of two columns, and of the larger tables; ``cells``: of every block. Half of a
    step's cells are of either kind: the larger tables have most of the cells, pairs most of what is known.
    """

    kinds: tuple[np.ndarray, ...]
    cells: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> Subsets:
        """Those of a problem's blocks."""
        plain = int(problem.member[1].max(initial=-1))
        pairs = np.array([max(b.rows.max(), b.cols.max()) <= plain for b in problem.blocks])
        kinds = (np.flatnonzero(pairs), np.flatnonzero(~pairs))
        return cls(kinds=kinds, cells=np.array([b.y.size for b in problem.blocks]))

    def drawn(self, share: float, rng: np.random.Generator) -> dict[int, float]:
        """About ``share`` of all cells.

        >>> rng = np.random.default_rng(0)
        >>> Subsets(kinds=(np.arange(2), np.arange(2, 10)), cells=np.full(10, 9)).drawn(0.4, rng)
        {0: 1.0, 1: 1.0, 4: 4.0, 5: 4.0}
        """
        budget, chosen = share * float(self.cells.sum()), dict[int, float]()
        kinds = sorted((k for k in self.kinds if len(k)), key=lambda k: self.cells[k].sum())
        for left, kind in zip(range(len(kinds), 0, -1), kinds, strict=True):
            part = min(1.0, budget / left / float(self.cells[kind].sum()))
            many = max(1, round(part * len(kind)))
            picked = np.sort(rng.choice(kind, many, replace=False))
            chosen |= dict.fromkeys(picked.tolist(), len(kind) / many)
            budget -= float(self.cells[picked].sum())
            budget = max(budget, 0.0)
        return chosen
