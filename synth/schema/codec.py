"""Values to positions and back, under a schema. Encoding and decoding share one law (tests/laws/test_codec.py).

Whatever a cell holds, its row stays and gets a valid position: numbers outside their bounds are clamped;
anything else that the schema does not know becomes the missing code, or, where a column is never missing,
a position drawn uniformly by the secret generator. Nothing else tells that it happened: the counts of such
cells are for the steward alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synth.schema import cells, coarsening, csv_injection, key_pattern
from synth.schema.intervals import Intervals
from synth.schema.table import CATEGORICAL, NUMERIC, Column, Schema, canonical

if TYPE_CHECKING:
    import pandas as pd

EPOCH = np.datetime64("1970-01-01T00:00:00", "s")
MOST_PLACES = 2**24
FEW_CELLS = 1 << 16  # positions of a column that are listed even for a few rows
LISTED = 16  # positions of a column for each row up to which a list of them is shorter work than a sort
EXACT = 1 << 60  # bounds and steps below this are compared with whole numbers in 64 bits, without rounding


class Draws(Protocol):
    """Where a secret uniform position comes from."""

    def uniform_codes(self, size: int, *, high: int) -> np.ndarray: ...


class TextTable(Protocol):
    """A table of text columns, each as its distinct texts and an index into them for every row."""

    @property
    def num_rows(self) -> int: ...

    def column(self, name: str) -> "TextColumn": ...


class TextColumn(Protocol):
    """Distinct texts and, for each row, the index of its text."""

    values: np.ndarray
    codes: np.ndarray


@dataclass(frozen=True)
class Encoded:
    """Positions (num_rows,) by column, and for the steward the number of clamped and unreadable cells."""

    positions: Mapping[str, np.ndarray]
    clamped: Mapping[str, int]
    unreadable: Mapping[str, int]


def encode(table: TextTable, schema: Schema, draws: Draws, *, rows: np.ndarray | None = None) -> Encoded:
    """The table's measured columns as positions; ``rows``: indices of the rows to keep, all by default.

    **Guarantee**: a row's positions depend on that row, the schema and draws of its own alone.
    """
    positions, clamped, unreadable = {}, {}, {}
    for name, column in schema.measured().items():
        text = table.column(name)
        places, outside = known(column, text.values)
        index = text.codes if rows is None else text.codes[rows]
        codes = places[index]
        clamped[name] = int(np.count_nonzero(outside[index]))
        lost = np.flatnonzero(codes < 0)
        unreadable[name] = len(lost)
        if len(lost):
            codes[lost] = replacement(column, len(lost), draws)
        positions[name] = codes
    return Encoded(positions, clamped, unreadable)


def replacement(column: Column, size: int, draws: Draws) -> np.ndarray | int:
    """Positions for cells the schema does not know: the first missing code, else uniform draws."""
    if column.missing_codes:
        return column.size
    return draws.uniform_codes(size, high=column.size)


def known(column: Column, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each text its position, -1 for none, and whether it had to be clamped.

    **Guarantee**: what is found for a text follows from it and the column alone, whatever texts stand beside it.
    """
    texts = cells.canonical(values)
    legible = cells.legible(texts)
    texts = pc.if_else(legible, texts, "")
    missing = {canonical(code): column.size + i for i, code in reversed(list(enumerate(column.missing_codes)))}
    if column.type in CATEGORICAL:
        listed = {canonical(c): i for i, c in enumerate(column.categories or ())}
        if column.grouping is not None:
            texts = coarsening.grouped(column, texts)
        places = np.where(legible, _mapped(texts, {**listed, **missing}), -1)
        return places, np.zeros(len(places), dtype=bool)
    places, outside = _dated(column, texts) if column.type == "datetime" else _numbered(column, texts)
    codes = _mapped(texts, missing)
    places = np.where(legible, np.where(codes >= 0, codes, places), -1)
    return places, outside & (codes < 0) & legible


def _mapped(texts: pa.Array, known: Mapping[str, int]) -> np.ndarray:
    """The place of each known text, else -1; one that is not known is looked up without csv_injection.py's marks."""
    places = cells.looked_up(texts, known)
    marked = pc.starts_with(texts, csv_injection.MARK).to_numpy(zero_copy_only=False)
    for i in np.flatnonzero(marked & (places < 0)).tolist():
        bare = csv_injection.plain(texts[i].as_py())
        if bare is not None:
            places[i] = known.get(canonical(bare), -1)
    return places


def _dated(column: Column, texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Number of steps above the minimum, clamped into the bounds, -1 for what is no date; and which were clamped."""
    since = cells.seconds(texts)
    return _clamped(np.floor((since - float(column.bounds[0])) / float(column.step)), column.size)


def _numbered(column: Column, texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The same of numbers: the nearest step, halves to the even one.

    Where bounds and step are whole numbers, those in the texts are compared without rounding.
    """
    numbers = cells.floats(texts)
    with np.errstate(all="ignore"):
        places, outside = _clamped(np.rint((numbers - float(column.bounds[0])) / float(column.step)), column.size)
    if is_exact(column):
        exact, is_whole = cells.whole(texts)
        low, step = int(column.bounds[0]), int(column.step)
        above = np.clip(exact, low - 2 * step, low + (column.size + 2) * step) - low
        steps = above if step == 1 else np.rint(above / step).astype(np.int64)
        places = np.where(is_whole, np.clip(steps, 0, column.size - 1), places)
        outside = np.where(is_whole, (steps < 0) | (steps >= column.size), outside)
    return places, outside


def _clamped(steps: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers of steps, -1 for what is not a number; and which were clamped."""
    bad = np.isnan(steps)
    outside = (steps < 0) | (steps >= size)
    places = np.clip(np.where(bad, 0, steps), 0, size - 1).astype(np.int64)
    return np.where(bad, -1, places), outside & ~bad


def is_exact(column: Column) -> bool:
    """Whether whole numbers are compared with the column's bounds without rounding."""
    return column.type in NUMERIC and all(v == int(v) and abs(v) < EXACT for v in (*column.bounds, column.step))


def decode(
    positions: Mapping[str, np.ndarray], schema: Schema, *, num_rows: int, first: int = 1, listed: bool = False
) -> dict[str, pa.Array]:
    """Text columns in schema order, as the source would write them; identifiers count from ``first``, in their form.

    ``listed``: as ``typed`` of that, but a text column is a list of texts and places in it: no text is made for a row.
    """
    out = {}
    for name, column in schema.retained().columns.items():
        if column.type == "identifier":
            out[name] = key_pattern.write(column.pattern, np.arange(first, first + num_rows))
        else:
            written, index = _listed(column, np.asarray(positions[name], dtype=np.int64))
            if listed and column.is_numeric:
                written = _typed(column, written)
            if listed and not column.is_numeric:
                out[name] = pa.DictionaryArray.from_arrays(pa.array(index.astype(np.int32)), written)
            else:
                out[name] = written.take(pa.array(index))
    return out


def _listed(column: Column, places: np.ndarray) -> tuple[pa.Array, np.ndarray]:
    """Texts, and each position's place among them. Only distinct positions are formatted."""
    distinct, index = _distinct(places, column.cells)
    valid = distinct[distinct < column.size]
    codes = [column.missing_codes[p - column.size] for p in distinct[len(valid) :]]
    return pa.concat_arrays([_written(column, valid), pa.array(codes, type=pa.string())]), index


def _distinct(places: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """As ``np.unique`` with the inverse; by a list of all positions, without sorting, where there are few of them."""
    if cells > max(FEW_CELLS, LISTED * len(places)):
        return np.unique(places, return_inverse=True)
    seen = np.zeros(cells, dtype=bool)
    seen[places] = True
    return np.flatnonzero(seen), (np.cumsum(seen, dtype=np.int32) - 1)[places]


def _written(column: Column, places: np.ndarray) -> pa.Array:
    """Text of each position of a valid value."""
    if column.type == "integer" and all(v == int(v) and abs(v) < 1 << 62 for v in (*column.bounds, column.step)):
        return pa.array(int(column.bounds[0]) + int(column.step) * places).cast(pa.string())
    return pa.array(_formatted(column, places), type=pa.string())


def _formatted(column: Column, places: np.ndarray) -> list[str]:
    if column.type in CATEGORICAL:
        return [(column.categories or ())[p] for p in places]
    low, step = column.bounds[0], column.step
    values = [low + step * int(p) for p in places]
    if column.type == "integer":
        return [str(int(v)) for v in values]
    if column.type == "float":
        exponents = [int(x.normalize().as_tuple().exponent) for x in (column.step, column.bounds[0])]
        digits = column.decimals if column.decimals is not None else max(0, *(-e for e in exponents))
        return [f"{v:.{digits}f}" for v in values]
    unit: Literal["D", "s"] = "D" if (column.resolution or "day") == "day" else "s"
    moments = EPOCH + np.array([int(v) for v in values], dtype="timedelta64[s]")
    return [t.replace("T", " ") for t in np.datetime_as_string(moments, unit=unit)]


def typed(texts: Mapping[str, pa.Array], schema: Schema) -> dict[str, pa.Array]:
    """The same columns with numbers and dates as such, for Parquet; a missing code of theirs is null."""
    return {n: _typed(schema.columns[n], a) for n, a in texts.items()}


def typed_frame(texts: Mapping[str, pa.Array], schema: Schema) -> "pd.DataFrame":
    """A frame of columns that ``decode`` made: numbers as numbers, dates as dates, a missing code as missing.

    Privacy: released answers only: it derives from what was decoded.
    """
    import pandas as pd

    frame = {}
    for name, column in typed(texts, schema).items():
        codes = schema.columns[name].missing_codes
        if codes and not schema.columns[name].is_numeric:  # numbers and dates have none left
            known = pa.array(sorted({*codes, *map(canonical, codes)}), type=column.type)
            column = pc.if_else(pc.is_in(column, value_set=known), None, column)
        frame[name] = column.to_pandas()
    return pd.DataFrame(frame)


def _typed(column: Column, texts: pa.Array) -> pa.Array:
    if not column.is_numeric:
        return texts
    coded = pa.array([canonical(c) for c in column.missing_codes] or ["\0"], type=pa.string())
    values = pc.if_else(pc.is_in(texts, value_set=coded), None, texts)
    if column.type == "integer":
        return values.cast(pa.int64())
    if column.type == "float":
        return values.cast(pa.float64())
    return values.cast(pa.timestamp("s")).cast(pa.timestamp("ms"))


def allowed(column: Column, wanted: str) -> Intervals:
    """Positions that a condition on one column allows: a value, ``a|b``, or ``low..high`` for numbers and dates.

    Errors: ValueError with the rule broken.
    """
    return Intervals.of([_span(column, part) for part in wanted.split("|")])


def places_of(column: Column, wanted: str) -> np.ndarray:
    """The same positions one by one, ascending. Errors: ValueError, also where they are too many to list."""
    positions = allowed(column, wanted)
    if positions.size > MOST_PLACES:
        raise ValueError(f"allows more than {MOST_PLACES} values; give a narrower range")
    return positions.listed()


def _span(column: Column, wanted: str) -> tuple[int, int]:
    """First position that a part of a condition allows, and one past the last."""
    if column.is_numeric and ".." in wanted:
        low, high = wanted.split("..", 1)
        first = _one(column, low) if low.strip() else 0
        last = _one(column, high) if high.strip() else column.size - 1
        if last < first:
            raise ValueError("the range is empty; write it as low..high")
        return first, last + 1
    place = _one(column, wanted)
    return place, place + 1


def _one(column: Column, wanted: str) -> int:
    places, outside = known(column, np.array([wanted], dtype=object))
    if places[0] < 0:
        raise ValueError("no such value in the schema")
    if outside[0]:
        raise ValueError(f"outside {column.min} to {column.max}")
    return int(places[0])
