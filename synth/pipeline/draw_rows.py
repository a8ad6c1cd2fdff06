"""Rows drawn from a model, a block at a time, so that a table of any length passes through bounded memory."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from synth.generators.base import Model
from synth.schema import codec
from synth.schema.enforcement import Rules
from synth.schema.table import Schema

ROWS_AT_A_TIME = 1 << 20  # rows drawn at a time, each block with even proportions of its own
CELLS_AT_A_TIME = 1 << 26  # of a block, whose rows are fewer where columns are many
PIECE = 1 << 17  # rows of a block told as text at a time: text and what is written of it takes several times as much


def rows_at_a_time(schema: Schema) -> int:
    """Rows of a block of this table."""
    return min(ROWS_AT_A_TIME, max(CELLS_AT_A_TIME // max(len(schema.columns), 1), 1))


class Drawn:
    """A table of ``num_rows`` rows from a model, told once: as ``blocks`` or as a ``whole``.

    ``where``: by column the positions allowed. ``kept``: for each constraint the share of rows drawn so far that keep
    it; the list is filled in place. ``first``: the number that identifiers begin with.
    """

    def __init__(
        self,
        model: Model,
        schema: Schema,
        num_rows: int,
        *,
        rng: np.random.Generator,
        where: Mapping[str, np.ndarray] | None = None,
        first: int = 1,
    ) -> None:
        self._model, self._schema, self._num_rows, self._rng, self._where = model, schema, num_rows, rng, where
        self._first = first
        self._rules = Rules(schema)
        self.kept: list[dict[str, Any]] = []

    def blocks(self) -> Iterator[dict[str, pa.Array]]:
        """Text columns in schema order of at most ``PIECE`` rows at a time; identifiers run on."""
        for part, size, first in self._pieces():
            yield codec.decode(part, self._schema, num_rows=size, first=first)

    def listed(self) -> Iterator[dict[str, pa.Array]]:
        """The same with each text column as its distinct texts and their places, and numbers and dates as such."""
        for part, size, first in self._pieces():
            yield codec.decode(part, self._schema, num_rows=size, first=first, listed=True)

    def _pieces(self) -> Iterator[tuple[Mapping[str, np.ndarray], int, int]]:
        """Positions of at most ``PIECE`` rows, how many they are, and the number of the first."""
        step = rows_at_a_time(self._schema)
        for start in range(0, self._num_rows, step):
            size = min(step, self._num_rows - start)
            positions = self._model.sample(size, rng=self._rng, where=self._where, repair=self._rules.repair)
            self._note(start, size)
            for at in range(0, size, PIECE):
                part = {n: p[at : at + PIECE] for n, p in positions.items()}
                yield part, min(PIECE, size - at), self._first + start + at
            positions = part = {}  # or they would be held while the next block is drawn

    def whole(self) -> dict[str, pa.Array]:
        """All rows in memory."""
        blocks = list(self.blocks())
        return blocks[0] if len(blocks) == 1 else {n: pa.concat_arrays([b[n] for b in blocks]) for n in blocks[0]}

    def _note(self, before: int, size: int) -> None:
        """The shares of rules kept, over this block and those before it."""
        if before == 0:
            self.kept[:] = self._rules.kept
            return
        for all_, now in zip(self.kept, self._rules.kept, strict=True):
            all_["kept"] = (all_["kept"] * before + now["kept"] * size) / (before + size)


def chunks(texts: Mapping[str, pa.Array], num_rows: int) -> Iterator[dict[str, pa.Array]]:
    """A table in memory, ``PIECE`` rows at a time and without a copy, for whoever needs memory of his own for each row.

    >>> [part["A"].to_pylist() for part in chunks({"A": pa.array(["x", "y"])}, 2)]
    [['x', 'y']]
    """
    for at in range(0, num_rows, PIECE):
        yield {n: a.slice(at, PIECE) for n, a in texts.items()}
