"""Whose rows are whose: bounding how many rows of one person are kept."""

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import pyarrow.compute as pc

from synth.schema import cells
from synth.schema.codec import TextColumn


class Keys(Protocol):
    """Where a secret random key for every row comes from."""

    def uniform_codes(self, size: int, *, high: int) -> np.ndarray: ...


def keep_parts(
    parts: Iterable[tuple[TextColumn, np.ndarray]], max_rows: int, draws: Keys, *, num_rows: int
) -> np.ndarray:
    """``keep`` for a table in parts, (persons, where their rows stand), each with all rows of its persons.

    Returns a mark for each of ``num_rows`` rows. **Guarantee**: as of ``keep``, since no person is in two parts.
    """
    retained = np.zeros(num_rows, dtype=bool)
    for persons, rows in parts:
        retained[rows[keep(persons, max_rows, draws)]] = True
    return retained


def keep(persons: TextColumn, max_rows: int, draws: Keys, *, nameless: bool = True) -> np.ndarray:
    """Indices, ascending, of at most ``max_rows`` rows of each person, drawn at random by secret keys of their own.

    Persons compare by ``cells.key``. A row whose person is missing (an empty cell) is a unit of its own and kept,
    or passed over unless ``nameless``.

    **Guarantee**: the rows kept of one person depend on that person's rows and their keys alone, so that one person
    more or less moves at most ``max_rows`` kept rows.
    """
    texts = cells.key(persons.values)
    person = texts.dictionary_encode().indices.to_numpy()[persons.codes]
    unnamed = pc.equal(texts, "").to_numpy(zero_copy_only=False)[persons.codes]
    keys = draws.uniform_codes(len(person), high=2**63 - 1)
    order = np.lexsort((keys, person))
    ranked = person[order]
    first = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])) if len(ranked) else np.zeros(0, int)
    rank = np.arange(len(ranked)) - np.repeat(first, np.diff(np.append(first, len(ranked))))
    retained = np.zeros(len(person), dtype=bool)
    retained[order] = rank < max_rows
    return np.flatnonzero(retained | unnamed if nameless else retained & ~unnamed)
