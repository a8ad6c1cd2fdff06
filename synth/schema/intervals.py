"""Sets of positions as sorted, disjoint intervals, so that a condition on a wide range of numbers stays small."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Intervals:
    """Positions from ``starts[i]`` to ``ends[i]``-1, ascending and disjoint, both (m,) int64.

    >>> Intervals.of([(3, 5), (4, 7), (9, 10)]).size
    5
    """

    starts: np.ndarray
    ends: np.ndarray

    @staticmethod
    def of(spans: Iterable[tuple[int, int]]) -> "Intervals":
        """From (first, one past the last) pairs in any order, overlapping or not."""
        merged: list[list[int]] = []
        for first, end in sorted(s for s in spans if s[0] < s[1]):
            if merged and first <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([first, end])
        both = np.array(merged, dtype=np.int64).reshape(-1, 2)
        return Intervals(both[:, 0], both[:, 1])

    @property
    def size(self) -> int:
        """Number of positions."""
        return int((self.ends - self.starts).sum())

    def holds(self, places: np.ndarray) -> np.ndarray:
        """Which positions are in the set, a mask of their shape."""
        at = np.searchsorted(self.starts, places, side="right") - 1
        return (at >= 0) & (places < np.append(self.ends, 0)[at])

    def below(self, places: np.ndarray) -> np.ndarray:
        """How many positions of the set lie below each of these, int64."""
        before = np.append(0, np.cumsum(self.ends - self.starts))
        at = np.searchsorted(self.starts, places, side="right")
        inside = np.minimum(places, np.append(0, self.ends)[at]) - np.append(0, self.starts)[at]
        return before[np.maximum(at - 1, 0)] + np.where(at > 0, inside, 0)

    def nth(self, index: np.ndarray) -> np.ndarray:
        """The positions of the set with these indices, counted from 0."""
        before = np.append(0, np.cumsum(self.ends - self.starts))
        at = np.searchsorted(before, index, side="right") - 1
        return self.starts[at] + (index - before[at])

    def other(self, count: int) -> "Intervals":
        """The positions of range(count) that are not in the set."""
        first, last = np.append(0, self.ends), np.append(self.starts, count)
        some = first < last
        return Intervals(first[some], last[some])

    def listed(self) -> np.ndarray:
        """Every position, ascending."""
        return self.nth(np.arange(self.size))
