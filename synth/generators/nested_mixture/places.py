"""Places of the rows of one parent: which chances of components a row of some rank among so many siblings has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Places:
    """Counts for parents with 1, 2, ..., ``most`` rows. ``rows`` (most, K): how many of their rows are in each place;
    ``pairs`` (most, K, K): how many pairs of a row and the next, or of any two where rows are in no order;
    ``first`` (most, K), in which the first row is.
    """

    rows: np.ndarray
    pairs: np.ndarray
    first: np.ndarray

    @property
    def turns(self) -> dict[int, list[int]]:
        """By place those of the rows that may follow one in it."""
        found = {k: np.flatnonzero(after).tolist() for k, after in enumerate(self.pairs.sum(0))}
        return {k: after for k, after in found.items() if after}


@lru_cache
def places(most: int, ranks: int, *, last: bool) -> Places:
    """``ranks``: places of the first row, the second, ..., one for all after these; 0 where rows are in no order.

    ``last``: whether the last row, or the only one, has a place of its own, after the others.

    >>> places(3, 2, last=True).rows.tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    """
    size = max(ranks, 1) + last
    rows, pairs, first = np.zeros((most, size)), np.zeros((most, size, size)), np.zeros((most, size))
    for many in range(1, most + 1):
        own = [min(rank, max(ranks, 1) - 1) for rank in range(many)]
        if last:
            own[-1] = size - 1
        first[many - 1, own[0]] = 1
        np.add.at(rows[many - 1], own, 1)
        if ranks:
            np.add.at(pairs[many - 1], (own[:-1], own[1:]), 1)
        else:
            pairs[many - 1] = many * (many - 1)
    return Places(rows=rows, pairs=pairs, first=first)
