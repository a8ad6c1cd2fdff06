"""Encoded rows in as few bytes as their columns need: in memory while they are few, then in a file without a name.

The file lies in the folder for temporary files, is removed from it as soon as it is open, and so goes with the
process whatever happens. What it holds is as private as the rows.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

import numpy as np

from synth.errors import InputError
from synth.sources.rows.encoded import EncodedRows, Tables
from synth.sources.rows.marginals import MarginalCounter, count

CHUNK = 1 << 18  # rows stored together, column after column
HELD = 1 << 26  # bytes kept in memory; beyond, all rows go to the file, which the system holds in spare memory anyway
FULL = "the folder for temporary files is full: encoded rows are kept there; set TMPDIR to one with more room"


@dataclass(frozen=True)
class _Chunk:
    """Where some rows are: arrays in memory, or a place in the file for each column."""

    first: int
    size: int
    arrays: Mapping[str, np.ndarray] | None
    places: Mapping[str, int]


class Spill(EncodedRows):
    """Rows appended batch by batch and read again any number of times.

    ``cells``: the number of positions of each column, from the schema; it alone decides how wide a cell is stored.

    >>> rows = Spill({"A": 300, "B": 2})
    >>> rows.append({"A": np.array([299, 0]), "B": np.array([1, 0])})
    >>> rows["A"].tolist(), rows.num_rows
    ([299, 0], 2)
    """

    def __init__(self, cells: Mapping[str, int], *, held: int = HELD, chunk: int = CHUNK) -> None:
        self._kinds = {n: np.min_scalar_type(max(c - 1, 0)) for n, c in cells.items()}
        self._held, self._chunk, self._bytes, self._end = held, chunk, 0, 0
        self._chunks: list[_Chunk] = []
        self._waiting: list[dict[str, np.ndarray]] = []
        self._waits = 0
        self._rows = 0
        self._file: IO[bytes] | None = None
        self._retained: np.ndarray | None = None

    def __repr__(self) -> str:
        """Columns only: a representation may land in a log."""
        return f"Spill({len(self._kinds)} columns)"

    def __iter__(self) -> Iterator[str]:
        """The columns' names."""
        return iter(self._kinds)

    def __getitem__(self, name: str) -> np.ndarray:
        """A column's positions, int64 (num_rows,)."""
        if name not in self._kinds:
            raise KeyError(name)
        results = [b[name] for b in self._narrow([name])]
        return np.concatenate(results).astype(np.int64) if results else np.zeros(0, dtype=np.int64)

    @property
    def num_rows(self) -> int:
        """Rows appended, less those that ``keep`` left out."""
        return self._rows + self._waits if self._retained is None else int(np.count_nonzero(self._retained))

    def append(self, positions: Mapping[str, np.ndarray]) -> None:
        """Stores more rows: positions (n,) of every column. Errors: InputError when the disk is full."""
        batch = {n: np.asarray(positions[n]).astype(kind) for n, kind in self._kinds.items()}
        size = len(next(iter(batch.values()))) if batch else 0
        for start in range(0, size, self._chunk):
            piece = {n: a[start : start + self._chunk] for n, a in batch.items()}
            self._waiting.append(piece)
            self._waits += min(self._chunk, size - start)
            if self._waits >= self._chunk:
                self._flush()

    def keep(self, retained: np.ndarray) -> None:
        """From now on only these rows count: indices into all that were appended, or a mark for each."""
        self._flush()
        self._retained = np.zeros(self._rows, dtype=bool)
        self._retained[retained] = True

    def counts(self, tables: Tables) -> list[np.ndarray]:
        """Exact counts, in one pass over the columns that the tables name."""
        counter = MarginalCounter(tables)
        return count(self._sliced(counter.columns, counter.step), counter)

    def batches(self, columns: Iterable[str], step: int) -> Iterator[dict[str, np.ndarray]]:
        """Positions, int64, of at most ``step`` rows at a time, in the order they came."""
        for batch in self._sliced(list(columns), step):
            yield {n: a.astype(np.int64) for n, a in batch.items()}

    def _sliced(self, columns: list[str], step: int) -> Iterator[dict[str, np.ndarray]]:
        for batch in self._narrow(columns):
            size = len(next(iter(batch.values()))) if batch else 0
            for start in range(0, size, step):
                yield {n: a[start : start + step] for n, a in batch.items()}

    def _narrow(self, columns: list[str]) -> Iterator[dict[str, np.ndarray]]:
        """Chunks of rows as they are stored."""
        self._flush()
        for chunk in self._chunks:
            result = {n: self._read(chunk, n) for n in columns}
            if self._retained is not None:
                retained = self._retained[chunk.first : chunk.first + chunk.size]
                result = {n: a[retained] for n, a in result.items()}
            yield result

    def _read(self, chunk: _Chunk, name: str) -> np.ndarray:
        if chunk.arrays is not None:
            return chunk.arrays[name]
        assert self._file is not None
        self._file.seek(chunk.places[name])
        result = np.empty(chunk.size, dtype=self._kinds[name])
        self._file.readinto(result.data)  # type: ignore[attr-defined]
        return result

    def _flush(self) -> None:
        """Moves the waiting rows to a chunk, in memory or in the file."""
        if not self._waits:
            return
        arrays = {n: np.concatenate([w[n] for w in self._waiting]) for n in self._kinds}
        chunk = _Chunk(self._rows, self._waits, arrays, {})
        self._rows, self._waiting, self._waits = self._rows + self._waits, [], 0
        self._bytes += sum(a.nbytes for a in arrays.values())
        self._chunks.append(chunk)
        if self._bytes > self._held:
            self._chunks = [self._stored(c) for c in self._chunks]

    def _stored(self, chunk: _Chunk) -> _Chunk:
        if chunk.arrays is None:
            return chunk
        places = {}
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="synth-")  # noqa: SIM115
            for name, array in chunk.arrays.items():
                self._file.seek(self._end)
                self._file.write(array.data)
                places[name] = self._end
                self._end += array.nbytes
        except OSError:
            raise InputError(FULL) from None
        return _Chunk(chunk.first, chunk.size, None, places)
