"""Faults before, in and after the noise, each planted into a whole run by the replacement of one function.

The product has no switch for them. Those of reading, of placing and of keeping rows were found in it in November 2026.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from synth.errors import InputError
from synth.mechanisms import counts
from synth.privacy.noise import SystemNoise
from synth.release import folder, leaving
from synth.schema import cells, codec
from synth.sources import table_source as places
from synth.sources.formats import arrow_text, excel_cells, text_table
from synth.sources.rows import spill
from tests.planted.suspects import swapped

FEW_TEXTS = 2_000
Planted = AbstractContextManager[None]
# ours, as they were when this module was loaded
KNOWN, ENCODE, KEEP, FRAME = codec.known, codec.encode, spill.keep, places.from_frame
GAUSSIAN, LOG = SystemNoise.gaussian_counts, folder.write_steward_log


def _together(column: Any, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A column's texts parsed as one array: to whole numbers if all are, else to the nearest double of each."""
    places, outside = KNOWN(column, values)
    if column.type != "integer":
        return places, outside
    numbers = pd.to_numeric(pd.Series(values).str.strip(), errors="coerce").to_numpy(np.float64, na_value=np.nan)
    steps = np.rint((numbers - float(column.bounds[0])) / float(column.step))
    inside = np.isfinite(steps) & (steps >= 0) & (steps < column.size)
    return np.where(inside, np.where(inside, steps, 0).astype(np.int64), places), outside


def batch_parsed() -> Planted:
    """Numbers are parsed as a batch, so that one blank moves all of them."""
    return swapped(codec, "known", _together)


class _Once:
    """Draws a single position for all cells that were lost."""

    def __init__(self, draws: Any) -> None:
        self._draws = draws

    def uniform_codes(self, size: int, *, high: int) -> np.ndarray:
        return np.full(size, self._draws.uniform_codes(1, high=high)[0])


def _by_number(table: Any, schema: Any, draws: Any, **more: Any) -> Any:
    texts = max((len(table.column(n).values) for n in schema.measured()), default=0)
    return ENCODE(table, schema, _Once(draws) if texts > FEW_TEXTS else draws, **more)


def path_by_texts() -> Planted:
    """Columns of more than 2,000 texts take another path, on which all lost cells are placed by one draw."""
    return swapped(codec, "encode", _by_number)


class _ByPlace:
    """In the place of secret keys: every other row of the table comes first."""

    def uniform_codes(self, size: int, *, high: int) -> np.ndarray:  # noqa: ARG002
        return np.arange(size) % 2


def retained_by_place() -> Planted:
    """Which rows of a person are kept follows from where they stand: a person in front moves everybody's."""
    return swapped(spill, "keep", lambda spill, max_rows, draws: KEEP(spill, max_rows, _ByPlace()))  # noqa: ARG005


def root_of_rows() -> Planted:
    """A person's rows are counted by their root."""
    return swapped(counts, "sensitivity", lambda adjacency: sqrt(adjacency.max_rows))


def less_noise() -> Planted:
    """Noise of four fifths of what ledger and card state."""
    return swapped(
        SystemNoise, "gaussian_counts", lambda self, shape, *, sigma: GAUSSIAN(self, shape, sigma=0.8 * sigma)
    )


def _quoting(column: Any, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    places, outside = KNOWN(column, values)
    if column.type == "integer" and any(values[places < 0]):
        raise InputError(f"cannot read {next(v for v in values[places < 0] if v)!r} as a number")
    return places, outside


def quoting_error() -> Planted:
    """A cell that is no number ends the run with an error that quotes it."""
    return swapped(codec, "known", _quoting)


def _loud(path: Any, encoded: Any) -> None:
    LOG(path, encoded)
    print(f"{sum(encoded.unreadable.values())} cells could not be read")


def counting_note() -> Planted:
    """The number of unreadable cells, which is the steward's alone, is printed."""
    return swapped(folder, "write_steward_log", _loud)


def _inferred(frame: pd.DataFrame) -> Any:
    """Decimals with as many places as the longest."""

    def even(cells: pd.Series) -> pd.Series:
        if not all(isinstance(c, Decimal) for c in cells):
            return cells
        least = min(int(c.as_tuple().exponent) for c in cells)
        return pd.Series([str(c.quantize(Decimal(1).scaleb(least))) for c in cells], dtype=object)

    return FRAME(pd.DataFrame({n: even(frame[n]) for n in frame.columns}))


def inferred_type() -> Planted:
    """A frame's column of objects gets a type that fits all of its cells."""
    return swapped(places, "from_frame", _inferred)


def in_the_files_order() -> Planted:
    """Records are answered in the order of the file."""
    return swapped(SystemNoise, "permutation", lambda self, size: np.arange(size))  # noqa: ARG005


def _raw_first(values: np.ndarray, key: bytes) -> np.ndarray:  # noqa: ARG001
    short = values.copy()
    for i in [i for i, v in enumerate(values) if len(v) > spill.LONG]:
        short[i] = f"\0{hashlib.blake2b(values[i].strip().encode()).hexdigest()}"
    return short


def shortened_raw() -> Planted:
    """Long identifiers are shortened as they are written, short ones are not: one person becomes two."""
    return swapped(spill, "_short", _raw_first)


def unicode_as_written() -> Planted:
    """Persons are compared as they are written: an accent that stands apart makes another person."""
    return swapped(cells, "one_spelling", lambda texts: texts)


def capitals_unseen() -> Planted:
    """Columns that differ in capitals are handed to engines that do not tell them apart."""
    return swapped(text_table, "twins", lambda names: None)  # noqa: ARG005


def unlike_its_digest() -> Planted:
    """What lies in a release is taken for what was released."""
    return swapped(leaving, "content", lambda place, name, card: leaving.untouched(place, name))  # noqa: ARG005


@contextmanager
def half_a_character() -> Iterator[None]:
    """A text is handed on as it was read; half a character ends the run where it becomes a column, after the spend."""
    with (
        swapped(excel_cells, "well_formed", lambda text: text),
        swapped(arrow_text, "strings", lambda texts: pa.array(texts, pa.large_string())),
    ):
        yield


FAULTS: dict[str, Callable[[], Planted]] = {
    "numbers parsed as a batch": batch_parsed,
    "a path by the number of texts": path_by_texts,
    "kept rows that depend on others": retained_by_place,
    "sensitivity sqrt(k) for k rows": root_of_rows,
    "noise times 0.8": less_noise,
    "an error that quotes a cell": quoting_error,
    "a printed count of unreadable cells": counting_note,
    "a column's type inferred from all cells": inferred_type,
    "records told in the order of the file": in_the_files_order,
    "identifiers shortened before they are canonical": shortened_raw,
    "a cell that ends the run after its spend": half_a_character,
    "persons compared as Unicode was written": unicode_as_written,
    "columns that differ in capitals": capitals_unseen,
    "a prior unlike its digest": unlike_its_digest,
}
# what is run where a fault does not show in the audit's usual runs
WAYS: dict[str, dict[str, Any]] = {
    "records told in the order of the file": {
        "method": "slice_wasserstein",
        "relation": "replace_one",
        "options": {"steps": 1, "batch": 8},
        "epsilon": 4.0,
        "draws": 80,
    },
    "identifiers shortened before they are canonical": {"epsilon": 8.0, "draws": 160},
    "a prior unlike its digest": {"method": "mixture", "options": {"order": 2, "rounds": 0}},
}
# the canary that each is made visible by; only the quick tests know it
CANARIES = {
    "numbers parsed as a batch": "a blank among large numbers",
    "a path by the number of texts": "the 2,001st text",
    "kept rows that depend on others": "a person with many rows in front",
    "sensitivity sqrt(k) for k rows": "a person with equal rows",
    "noise times 0.8": "a row more",
    "an error that quotes a cell": "cells that cannot be read",
    "a printed count of unreadable cells": "cells that cannot be read",
    "a column's type inferred from all cells": "a longer decimal, in a frame",
    "records told in the order of the file": "a row moved in a sorted file",
    "identifiers shortened before they are canonical": "a person in two spellings",
    "a cell that ends the run after its spend": "a formula and a clock, in a workbook",
    "persons compared as Unicode was written": "a person in spellings of Unicode",
    "columns that differ in capitals": "two columns that differ in capitals",
    "a prior unlike its digest": "the table in an earlier release",
}
