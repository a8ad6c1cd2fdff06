"""Rows drawn area by area: each part of a column's positions gets its own even share of everything else.

Drawn all at once, counts of one and two columns are even, those of an area by two others are left to chance. Drawn for
each area by itself, these are even too: what is one more pair of columns there.

Privacy: released answers only.
**Source**: TopDown's order, the counts of an area settled before those inside it, Abowd et al., arXiv 2204.08986.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class Strata:
    """Parts that are drawn by themselves: ``groups`` (cells,) the part of each position of ``column``."""

    column: str
    groups: np.ndarray

    def parts(self, shares: np.ndarray, num_rows: int, rng: np.random.Generator) -> list[tuple[int, np.ndarray]]:
        """Rows and positions of each part that has rows; ``shares`` (cells,): the model's of each position.

        >>> halves = Strata(column="a", groups=np.array([0, 0, 1]))
        >>> rng = np.random.default_rng(0)
        >>> [(n, p.tolist()) for n, p in halves.parts(np.array([0.2, 0.3, 0.5]), 10, rng)]
        [(5, [0, 1]), (5, [2])]
        """
        size = int(self.groups.max()) + 1
        share = np.bincount(self.groups, weights=shares, minlength=size)
        wanted = share / max(float(share.sum()), 1e-300) * num_rows
        rows = np.floor(wanted + 1e-9).astype(np.int64)
        rest = np.cumsum(np.maximum(wanted - rows, 0.0))
        last = num_rows - int(rows.sum())
        edges = np.floor(rest * (last / max(float(rest[-1]), 1e-300)) + rng.random())
        edges[-1] = last
        rows += np.diff(np.minimum(edges, last), prepend=0).astype(np.int64)
        return [(int(rows[g]), np.flatnonzero(self.groups == g)) for g in np.flatnonzero(rows > 0).tolist()]
