"""Places of the rows of one parent: which chances of components a row of some rank among so many siblings has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from synth.questions.linked import FAR


@dataclass(frozen=True, kw_only=True)
class Places:
    """Counts for parents with 1, 2, ..., ``most`` rows. ``rows`` (most, K): how many of their rows are in each place;
    ``pairs`` (most, K, K): how many pairs of a row and the next, or of any two where rows are in no order;
    ``first`` (most, K), in which the first row is; ``far`` (most, K, K), as ``pairs``, of a row and that half a history
    later.

    Rows in no order have places too, dealt by chance, each row another one. Rows that all had the same chances could
    only be alike more often than by chance; of a household there is one head, and of an account one order for its rent.
    """

    rows: np.ndarray
    pairs: np.ndarray
    first: np.ndarray
    far: np.ndarray

    @property
    def turns(self) -> dict[int, list[int]]:
        """By place those of the rows that may follow one in it."""
        result = {k: np.flatnonzero(after).tolist() for k, after in enumerate(self.pairs.sum(0))}
        return {k: after for k, after in result.items() if after}


@lru_cache
def places(most: int, ranks: int, *, last: bool) -> Places:
    """``ranks``: places of the first row, the second, ..., one for all after these.

    ``last``: of rows in order; the last one, or the only one, has a place of its own, after the others.

    >>> places(3, 2, last=True).rows.tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    """
    size = ranks + last
    rows, pairs, first = np.zeros((most, size)), np.zeros((most, size, size)), np.zeros((most, size))
    far = np.zeros_like(pairs)
    for many in range(1, most + 1):
        own = [min(rank, ranks - 1) for rank in range(many)]
        if last:
            own[-1] = size - 1
        first[many - 1, own[0]] = 1
        np.add.at(rows[many - 1], own, 1)
        if last:
            np.add.at(pairs[many - 1], (own[:-1], own[1:]), 1)
            if many >= FAR:
                np.add.at(far[many - 1], (own[: -(many // 2)], own[many // 2 :]), 1)
        else:
            pairs[many - 1] = np.outer(rows[many - 1], rows[many - 1]) - np.diag(rows[many - 1])
    return Places(rows=rows, pairs=pairs, first=first, far=far)
