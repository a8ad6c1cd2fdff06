"""Whose rows are whose, of a table of any length: in memory while rows are few, then in a file without a name.

The file holds parts, each with all rows of its persons, so that how many rows a person has can be bounded one part at
a time. It is as private as the rows, lies in the folder for temporary files and goes with the process.
"""

import hashlib
import secrets
import tempfile
from collections.abc import Iterator
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa

from synth.errors import InputError
from synth.schema import cells
from synth.sources.formats.arrow_text import encode
from synth.sources.formats.text_table import Text
from synth.sources.rows.spill import FULL

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
        self._file: IO[bytes] | None = None
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(PARTS)]
        self._end = 0

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
        if self._file is None:
            columns = [_texts(text, text.codes) for text, _ in self._held]
            yield Text(*encode(pa.chunked_array(columns, pa.large_string()), name=self._name)), np.arange(self.num_rows)
            return
        for places in self._places:
            tables = [self._read(*place) for place in places]
            if tables:
                whole = pa.concat_tables(tables)
                yield Text(*encode(whole.column("person"), name=self._name)), whole.column("row").to_numpy()

    def _store(self, text: Text, first: int) -> None:
        part = _part(text, first)
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(PARTS + 1))
        for number in range(PARTS):
            rows = order[ends[number] : ends[number + 1]]
            if len(rows):
                self._write(number, pa.table({"person": _texts(text, text.codes[rows]), "row": rows + first}))

    def _write(self, number: int, table: pa.Table) -> None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as out:
            out.write_table(table)
        packed = sink.getvalue()
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="synth-")  # noqa: SIM115
            self._file.seek(self._end)
            self._file.write(packed)
        except OSError:
            raise InputError(FULL) from None
        self._places[number].append((self._end, packed.size))
        self._end += packed.size

    def _read(self, start: int, size: int) -> pa.Table:
        assert self._file is not None
        try:
            self._file.seek(start)
            return pa.ipc.open_stream(self._file.read(size)).read_all()
        except OSError:
            raise InputError(FULL) from None


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


def _part(text: Text, first: int) -> np.ndarray:
    """The part of each row; one person's rows have one. The nameless, units of their own, are dealt out."""
    part = (pd.util.hash_array(text.values, categorize=False) % PARTS).astype(np.uint8)[text.codes]
    nameless = np.flatnonzero((text.values == "")[text.codes])
    part[nameless] = (nameless + first) % PARTS
    return part
