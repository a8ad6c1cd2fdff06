"""What is kept of a table's rows to know them again: also with other columns, or with some of the rows changed.

A mark is private: whoever holds one and its key can test guesses about rows. The ledger keeps it encrypted.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import comb
from typing import Self

import numpy as np
import pandas as pd

from synth.schema.table import canonical
from synth.sources.formats.text_table import Table

RETAINED = 128  # hashes of rows
CHANCE, SHARED = 1e-6, 0.23  # of a false alarm, and the most that chance makes two tables share: ``RowSketch.like``
COLUMNS = 3  # a smaller table of fewer columns is not told from chance
NOTHING = np.iinfo(np.uint64).max
TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?")


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
        # as many rows that hold, column by column, the same values, whatever the columns are called
        ours, theirs = (set(m.columns[m.columns != 0].tolist()) for m in (self, other))
        few = min(len(ours), len(theirs))
        if self.digest == other.digest or (self.rows == other.rows and few >= COLUMNS and len(ours & theirs) == few):
            return True
        # or more rows that stand once in both, among the least hashes of their union, than chance explains
        union = np.union1d(self.least, other.least)[:RETAINED]
        union = union[union != NOTHING]
        both, n = int((np.isin(union, self.least) & np.isin(union, other.least)).sum()), len(union)
        return sum(comb(n, k) * SHARED**k * (1 - SHARED) ** (n - k) for k in range(both, n + 1)) <= CHANCE


class Sketch:
    """Gathers the mark of a table that comes in parts. Memory: 8 bytes a row, up to ``most`` rows.

    The digest is the same for any order of rows and columns. Numbers are compared by value, other cells by their
    trimmed text, so that a Parquet copy of a CSV file has that of the original.
    """

    def __init__(self, key: bytes, names: Iterable[str], *, most: int | None = None) -> None:
        self._key, self._names, self._most = key[:64], sorted(names), most
        self._rows, self._sum, self._xor = 0, 0, 0
        self._salt = hashlib.blake2b(b"any column", key=self._key, digest_size=8).hexdigest()
        self._hashes: list[np.ndarray] = []
        self._sums = dict.fromkeys(self._names, 0)
        self._first: dict[str, str] = {}
        self._varied: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether there were more rows than ``most``."""
        return self._most is not None and self._rows > self._most

    def give_up(self) -> None:
        """There are more rows than ``most``, which need not be seen."""
        self._rows, self._most = 1, 0

    def add(self, table: Table) -> None:
        """More rows, all columns of each."""
        self._rows += table.num_rows
        if not table.num_rows or self.full:
            return
        rows = np.zeros(table.num_rows, dtype=np.uint64)
        for name in self._names:
            text = table.column(name)
            salt = hashlib.blake2b(name.encode(), key=self._key, digest_size=8).hexdigest()
            plain = np.array([_comparable(v) for v in text.values], dtype=object)
            rows += pd.util.hash_array(plain, hash_key=salt, categorize=False)[text.codes]
            hashes = _mixed(pd.util.hash_array(plain, hash_key=self._salt, categorize=False))[text.codes]
            self._sums[name] = (self._sums[name] + int(hashes.sum(dtype=np.uint64))) % 2**64
            first = self._first.setdefault(name, str(hashes[0]))
            if name not in self._varied and bool((hashes != np.uint64(int(first))).any()):
                self._varied.add(name)
        rows = _mixed(rows)  # a plain sum of column hashes would not tell which cells share a row
        self._hashes.append(rows)
        self._sum = (self._sum + int(rows.sum(dtype=np.uint64))) % 2**64
        self._xor ^= int(np.bitwise_xor.reduce(rows))

    def mark(self) -> bytes | None:
        """The packed mark of all rows so far; None of too many to be compared, and of none: they are nobody's."""
        return None if self.full or not self._rows else self.value()

    def value(self) -> bytes:
        """The packed mark of all rows so far, whatever their number."""
        joined = "\n".join([*map(str, (self._rows, self._sum, self._xor)), *self._names])
        digest = hashlib.blake2b(joined.encode(), key=self._key, digest_size=32).digest()
        values_, times = np.unique(np.concatenate([*self._hashes, np.zeros(0, np.uint64)]), return_counts=True)
        once = values_[times == 1][:RETAINED]
        least = np.concatenate([once, np.full(RETAINED - len(once), NOTHING, np.uint64)])
        sums = np.array([self._sums[n] if n in self._varied else 0 for n in self._names], np.uint64)
        return RowSketch(digest, self._rows, least, sums).packed()


def _comparable(text: str) -> str:
    """The text by which fingerprints compare cells: numbers by value, dates and truth values by their usual form."""
    if text.isdecimal() and text.isascii() and text[0] != "0":
        return text
    plain = canonical(text)
    if plain.lower() in ("true", "false"):
        return plain.lower()
    if TIME.fullmatch(plain):
        day, rest = plain[:10], plain[11:].rstrip("0").rstrip(".") if "." in plain else plain[11:]
        return day if rest in ("00:00", "00:00:00") else f"{day}T{rest}"
    if plain[:1] not in "+-.0123456789" or "_" in plain:
        return plain
    try:
        return str(int(plain)) if plain.lstrip("+-").isdigit() else canonical(repr(float(plain)))
    except ValueError:
        return plain


def _mixed(words: np.ndarray) -> np.ndarray:
    """The splitmix64 finaliser: each output bit depends on all input bits."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
