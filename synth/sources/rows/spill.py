"""Encoded rows, and whose they are, in as few bytes as they need: in memory while few, then in a file without a name.

The file lies in the folder for temporary files, is removed from it as soon as it is open, and so goes with the process
whatever happens. What it holds is as private as the rows. That of persons holds parts, each with all rows of its
persons, so that how many rows a person has can be bounded one part at a time."""

import hashlib
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from synth.errors import InputError
from synth.schema import cells
from synth.schema.codec import Draws, TextColumn
from synth.sources.formats.arrow_text import encode
from synth.sources.formats.text_table import Text
from synth.sources.rows.encoded import EncodedRows, Tables
from synth.sources.rows.marginals import counted

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


class _Nameless:
    """A file without a name, in the folder for temporary ones. Errors: InputError when the disk is full."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self.end = 0

    def write(self, data: Any) -> int:
        """Puts bytes behind the others; where they begin."""
        start, size = self.end, memoryview(data).nbytes
        try:
            self._file = self._file or tempfile.TemporaryFile(prefix="synth-")  # noqa: SIM115
            self._file.seek(start)
            self._file.write(data)
        except OSError:
            raise InputError(FULL) from None
        self.end += size
        return start

    def read(self, start: int, size: int) -> bytearray:
        """So many bytes from there on."""
        assert self._file is not None
        out = bytearray(size)
        try:
            self._file.seek(start)
            self._file.readinto(out)  # type: ignore[attr-defined]
        except OSError:
            raise InputError(FULL) from None
        return out


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
        self._held, self._chunk, self._bytes = held, chunk, 0
        self._chunks: list[_Chunk] = []
        self._waiting: list[dict[str, np.ndarray]] = []
        self._waits = 0
        self._rows = 0
        self._file = _Nameless()
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
        parts = [b[name] for b in self._narrow([name])]
        return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)

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
        return counted(tables, self._sliced)

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
            rows = {n: self._read(chunk, n) for n in columns}
            if self._retained is not None:
                retained = self._retained[chunk.first : chunk.first + chunk.size]
                rows = {n: a[retained] for n, a in rows.items()}
            yield rows

    def _read(self, chunk: _Chunk, name: str) -> np.ndarray:
        if chunk.arrays is not None:
            return chunk.arrays[name]
        kind = self._kinds[name]
        return np.frombuffer(self._file.read(chunk.places[name], chunk.size * kind.itemsize), dtype=kind)

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
            for i, one in enumerate(self._chunks):
                if one.arrays is not None:
                    places = {n: self._file.write(a.data) for n, a in one.arrays.items()}
                    self._chunks[i] = _Chunk(one.first, one.size, None, places)


def keep_parts(
    parts: Iterable[tuple[TextColumn, np.ndarray]], max_rows: int, draws: Draws, *, num_rows: int
) -> np.ndarray:
    """``keep`` for a table in parts, (persons, where their rows stand), each with all rows of its persons.

    Returns a mark for each of ``num_rows`` rows. **Guarantee**: as of ``keep``, since no person is in two parts.
    """
    kept = np.zeros(num_rows, dtype=bool)
    for persons, rows in parts:
        kept[rows[keep(persons, max_rows, draws)]] = True
    return kept


def ranked(codes: np.ndarray, draws: Draws) -> tuple[np.ndarray, np.ndarray]:
    """Rows sorted by code and then at random (n,), and each one's place among those of its code (n,).

    **Guarantee**: the places of one code's rows follow from their own secret numbers.
    """
    order = np.lexsort((draws.uniform_codes(len(codes), high=2**63 - 1), codes))
    ordered = codes[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(order) else np.zeros(0, dtype=np.int64)
    runs = np.diff(np.append(first, len(order)))
    return order, np.arange(len(order)) - np.repeat(first, runs)


def keep(persons: TextColumn, max_rows: int, draws: Draws, *, nameless: bool = True) -> np.ndarray:
    """Indices, ascending, of at most ``max_rows`` rows of each person, drawn at random by secret keys of their own.

    Persons compare by ``cells.key``. A row whose person is missing (an empty cell) is a unit of its own and kept,
    or passed over unless ``nameless``.

    **Guarantee**: the rows kept of one person depend on that person's rows and their keys alone, so that one person
    more or less moves at most ``max_rows`` kept rows.
    """
    texts = cells.key(persons.values)
    person = texts.dictionary_encode().indices.to_numpy()[persons.codes]
    unnamed = pc.equal(texts, "").to_numpy(zero_copy_only=False)[persons.codes]
    order, rank = ranked(person, draws)
    retained = np.zeros(len(person), dtype=bool)
    retained[order] = rank < max_rows
    return np.flatnonzero(retained | unnamed if nameless else retained & ~unnamed)


FEW = 1 << 22  # rows whose persons are held in memory
PARTS = 64
LONG = 256  # characters of a person's canonical name that are kept


class Persons:
    """The person of every row, appended batch by batch.

    >>> persons = Persons("id")
    >>> persons.append(Text(np.array(["ann", "bob"], dtype=object), np.array([0, 1, 0])))
    >>> [(text.values[text.codes].tolist(), rows.tolist()) for text, rows in persons.parts()]
    [(['ann', 'bob', 'ann'], [0, 1, 2])]
    """

    def __init__(self, name: str) -> None:
        self._name, self.num_rows = name, 0
        self._key = secrets.token_bytes(32)  # of digests, so that nobody can write a cell that spells one
        self._held: list[tuple[Text, int]] = []
        self._file = _Nameless()
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(PARTS)]

    def append(self, text: Text) -> None:
        """The persons of more rows. Errors: InputError when the disk is full."""
        text = Text(_short(text.values, self._key), text.codes)
        self._held.append((text, self.num_rows))
        self.num_rows += len(text.codes)
        if self.num_rows > FEW:
            for held, first in self._held:
                self._store(held, first)
            self._held = []

    def parts(self) -> Iterator[tuple[Text, np.ndarray]]:
        """(persons, rows): all rows of some persons, and where they stand in the table; every row in one part."""
        if not self._file.end:
            columns = [_texts(text, text.codes) for text, _ in self._held]
            yield Text(*encode(pa.chunked_array(columns, pa.large_string()), name=self._name)), np.arange(self.num_rows)
            return
        for places in self._places:
            tables = [pa.ipc.open_stream(self._file.read(*place)).read_all() for place in places]
            if tables:
                whole = pa.concat_tables(tables)
                yield Text(*encode(whole.column("person"), name=self._name)), whole.column("row").to_numpy()

    def _store(self, text: Text, first: int) -> None:
        # the part of each row: one person's rows have one, and the nameless, units of their own, are dealt out
        part = (pd.util.hash_array(text.values, categorize=False) % PARTS).astype(np.uint8)[text.codes]
        nameless = np.flatnonzero((text.values == "")[text.codes])
        part[nameless] = (nameless + first) % PARTS
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(PARTS + 1))
        for number in range(PARTS):
            rows = order[ends[number] : ends[number + 1]]
            if not len(rows):
                continue
            table, sink = (
                pa.table({"person": _texts(text, text.codes[rows]), "row": rows + first}),
                pa.BufferOutputStream(),
            )
            with pa.ipc.new_stream(sink, table.schema) as out:
                out.write_table(table)
            packed = sink.getvalue()
            self._places[number].append((self._file.write(packed), packed.size))


def _texts(text: Text, codes: np.ndarray) -> pa.Array:
    return pa.array(text.values, pa.large_string()).take(pa.array(codes))


def _short(values: np.ndarray, key: bytes) -> np.ndarray:
    """``cells.key`` of texts, a digest in place of each long one: a few rows of one person could else fill the memory.

    **Guarantee**: two texts become one if and only if their keys are one, up to a collision of 32 bytes under a secret
    key. What is shortened is the key: a name stays one person however it is written.
    """
    short = cells.key(values).to_numpy(zero_copy_only=False)
    for i in np.flatnonzero(np.fromiter(map(len, short), np.int64, len(short)) > LONG).tolist():
        short[i] = f"\0{hashlib.blake2b(short[i].encode(), key=key, digest_size=32).hexdigest()}"
    return short
