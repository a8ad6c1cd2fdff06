"""What is kept of a table's rows to know them again: also with other columns, or with some of the rows changed.

A mark is private: whoever holds one and its key can test guesses about rows. The ledger keeps it encrypted.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from math import comb
from typing import Self

import numpy as np
import pandas as pd

from synth.sources.formats.text_table import Digest, _mixed

RETAINED = 128  # hashes of rows
CHANCE, SHARED = 1e-6, 0.23  # of a false alarm, and the most that chance makes two tables share: ``RowSketch.like``
COLUMNS = 3  # a smaller table of fewer columns is not told from chance
NOTHING = np.iinfo(np.uint64).max


@dataclass(frozen=True, eq=False)
class RowSketch:
    """``digest`` (32 bytes) of the whole; ``rows``; the ``least`` hashes of rows that stand once; of each column one.

    ``least`` is (RETAINED,) uint64, filled up with ``NOTHING`` where fewer rows stand once; ``columns`` (d,)
    uint64, 0 for a column of one value alone, whose name does not count.
    """

    digest: bytes
    rows: int
    least: np.ndarray
    columns: np.ndarray

    def packed(self) -> bytes:
        """The mark as bytes: its length tells how many columns there are, which is public."""
        return self.digest + self.rows.to_bytes(8, "big") + self.least.tobytes() + self.columns.tobytes()

    @classmethod
    def read(cls, packed: bytes) -> Self:
        """The mark that ``packed`` holds. Errors: ValueError for something else."""
        ends = 40, 40 + 8 * RETAINED
        if len(packed) < ends[1] or (len(packed) - ends[1]) % 8:
            raise ValueError("no mark of rows")
        least, columns = (np.frombuffer(b, np.uint64) for b in (packed[ends[0] : ends[1]], packed[ends[1] :]))
        return cls(packed[:32], int.from_bytes(packed[32:40], "big"), least, columns)

    def like(self, other: "RowSketch") -> bool:
        """Whether both are of the same rows, up to columns that one lacks, or up to a third of the rows.

        Rows that stand once in each of two tables drawn independently from one population agree in at most a share
        of 0.23 of both (a value drawn at a rate r stands once with probability r exp(-r), at most 0.37, and
        0.37 / (2 - 0.37) = 0.23), each by itself: so many that chance makes as many once in a million tell a copy,
        0.41 of the ``RETAINED`` hashes, all but one of 12 in a small table. A copy of which a share c of rows was
        changed has (1 - c) / (1 + c).
        """
        return self.digest == other.digest or self._shares(other) or self._fewer_columns(other)

    def _shares(self, other: "RowSketch") -> bool:
        """Whether more rows stand once in both, among the least hashes of their union, than chance explains."""
        union = np.union1d(self.least, other.least)[:RETAINED]
        union = union[union != NOTHING]
        both = int((np.isin(union, self.least) & np.isin(union, other.least)).sum())
        return _beyond(both, len(union)) <= CHANCE

    def _fewer_columns(self, other: "RowSketch") -> bool:
        """Whether as many rows hold, column by column, the same values, whatever the columns are called."""
        ours, theirs = (set(m.columns[m.columns != 0].tolist()) for m in (self, other))
        few = min(len(ours), len(theirs))
        return self.rows == other.rows and few >= COLUMNS and len(ours & theirs) == few


def _beyond(successes: int, trials: int) -> float:
    """The chance of as many successes or more, each of probability ``SHARED``."""
    return sum(comb(trials, k) * SHARED**k * (1 - SHARED) ** (trials - k) for k in range(successes, trials + 1))


class Sketch(Digest):
    """A digest that also gathers a mark. Memory: 8 bytes a row, up to ``most`` rows."""

    def __init__(self, key: bytes, names: Iterable[str], *, most: int | None = None) -> None:
        super().__init__(key, names, most=most)
        self._salt = hashlib.blake2b(b"any column", key=self._key, digest_size=8).hexdigest()
        self._hashes: list[np.ndarray] = []
        self._sums = dict.fromkeys(self._names, 0)
        self._first: dict[str, str] = {}
        self._varied: set[str] = set()

    def _column(self, name: str, texts: np.ndarray, codes: np.ndarray) -> None:
        if not len(codes):
            return
        hashes = _mixed(pd.util.hash_array(texts, hash_key=self._salt, categorize=False))[codes]
        self._sums[name] = (self._sums[name] + int(hashes.sum(dtype=np.uint64))) % 2**64
        first = self._first.setdefault(name, str(hashes[0]))
        if name not in self._varied and bool((hashes != np.uint64(int(first))).any()):
            self._varied.add(name)

    def _take(self, rows: np.ndarray) -> None:
        self._hashes.append(rows)

    def mark(self) -> bytes | None:
        """The packed mark of all rows so far; None of too many to be compared, and of none: they are nobody's."""
        return None if self.full or not self._rows else self.value()

    def value(self) -> bytes:
        """The packed mark of all rows so far, whatever their number."""
        values_, times = np.unique(np.concatenate([*self._hashes, np.zeros(0, np.uint64)]), return_counts=True)
        once = values_[times == 1][:RETAINED]
        least = np.concatenate([once, np.full(RETAINED - len(once), NOTHING, np.uint64)])
        sums = np.array([self._sums[n] if n in self._varied else 0 for n in self._names], np.uint64)
        return RowSketch(super().value(), self._rows, least, sums).packed()
