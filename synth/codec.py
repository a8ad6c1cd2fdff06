"""Values to positions and back, under a schema. Encoding and decoding share one law (tests/laws/test_codec.py).

Whatever a cell holds, its row stays and gets a valid position: numbers outside their bounds are clamped;
anything else that the schema does not know becomes the missing code, or, where a column is never missing,
a position drawn uniformly by the secret generator. Nothing else tells that it happened: the counts of such
cells are for the steward alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from synth import formulas, groupings
from synth.intervals import Intervals
from synth.schema import CATEGORICAL, Column, Schema, canonical

EPOCH = np.datetime64("1970-01-01T00:00:00", "s")
MOST_PLACES = 2**24
FEW_CELLS = 1 << 16  # positions of a column that are listed even for a few rows
LISTED = 16  # positions of a column for each row up to which a list of them is shorter work than a sort
HUGE = r"[+-]?[0-9]+[.]?[0-9]*[eE][+]?[0-9]{3,}|[+-]?[0-9]{300,}[.]?[0-9]*"
DATE = (
    r"^(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"
    r"(?:[T ](?P<H>[0-9]{2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.][0-9]+)?)?Z?)?$"
)


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
    """For each distinct text its position, -1 for none, and whether it had to be clamped."""
    texts = canonical_texts(values)
    missing = {canonical(code): column.size + i for i, code in reversed(list(enumerate(column.missing_codes)))}
    if column.type in CATEGORICAL:
        listed = {canonical(c): i for i, c in enumerate(column.categories or ())}
        if column.grouping is not None:
            texts = texts.where(texts.isin(list(missing)), groupings.grouped(column, texts))
        places = _mapped(texts, {**listed, **missing}).fillna(-1).to_numpy(np.int64)
        return places, np.zeros(len(places), dtype=bool)
    places, outside = _steps(column, texts)
    codes = _mapped(texts, missing)
    is_code = codes.notna().to_numpy()
    places[is_code] = codes[is_code].to_numpy(np.int64)
    return places, outside & ~is_code


def _mapped(texts: pd.Series, known: Mapping[str, int]) -> pd.Series:
    """The place of each known text; one that is not known is looked up without the marks of formulas.py."""
    places = texts.map(known)
    lost = np.flatnonzero(places.isna().to_numpy())
    bare = {i: formulas.plain(texts.iat[i]) for i in lost.tolist() if texts.iat[i][:1] == formulas.MARK}
    found = {i: known[canonical(text)] for i, text in bare.items() if text is not None and canonical(text) in known}
    if found:
        places.iloc[list(found)] = list(found.values())
    return places


def canonical_texts(values: np.ndarray) -> pd.Series:
    """``schema.canonical`` of every text, vectorised."""
    trimmed = pa.compute.utf8_trim_whitespace(pa.array(values, type=pa.string()))
    plain = pa.compute.replace_substring_regex(trimmed, r"^(-?[0-9]+)\.0+$", r"\1")
    return pd.Series(plain.to_numpy(zero_copy_only=False), dtype=object)


def _steps(column: Column, texts: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Number of steps above the minimum, clamped into the bounds; -1 for what is no number."""
    numbers = _dates(texts) if column.type == "datetime" else _numbers(texts)
    low, step = float(column.bounds[0]), float(column.step)
    to_whole = np.floor if column.type == "datetime" else np.rint  # an hour belongs to its day
    with np.errstate(all="ignore"):
        steps = to_whole((numbers - low) / step)
    outside = (steps < 0) | (steps >= column.size)
    bad = np.isnan(steps)
    places = np.clip(np.where(bad, 0, steps), 0, column.size - 1).astype(np.int64)
    return np.where(bad, -1, places), outside & ~bad


def _numbers(texts: pd.Series) -> np.ndarray:
    """Floats of texts; a numeral too large for a float is infinite, what is none is not a number."""
    numbers = pd.to_numeric(texts, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    lost = np.flatnonzero(np.isnan(numbers))
    huge = texts.iloc[lost].str.fullmatch(HUGE).to_numpy(bool)
    numbers[lost[huge]] = np.where(texts.iloc[lost[huge]].str.startswith("-"), -np.inf, np.inf)
    return numbers


def _dates(texts: pd.Series) -> np.ndarray:
    """Seconds since 1970 of ISO dates and date-times in any year; what is neither is not a number."""
    found = pa.compute.extract_regex(pa.array(texts, type=pa.string()), pattern=DATE)
    part = {n: pd.to_numeric(found.field(n).to_pandas(), errors="coerce").fillna(0).to_numpy(int) for n in "ymdHMS"}
    months = (part["y"] - 1970) * 12 + part["m"] - 1
    starts = months.astype("datetime64[M]")
    days = starts.astype("datetime64[D]") + (part["d"] - 1)
    exists = (part["m"] >= 1) & (part["m"] <= 12) & (part["d"] >= 1) & (days.astype("datetime64[M]") == starts)
    on_clock = (part["H"] < 24) & (part["M"] < 60) & (part["S"] < 60)
    clock = part["H"] * 3600 + part["M"] * 60 + part["S"]
    seconds = days.astype("datetime64[s]").astype(np.int64) + clock
    readable = np.asarray(found.is_valid()) & exists & on_clock
    return np.where(readable, seconds.astype(np.float64), np.nan)


def decode(
    positions: Mapping[str, np.ndarray], schema: Schema, *, num_rows: int, first: int = 1
) -> dict[str, pa.Array]:
    """Text columns in schema order, as the source would write them; identifiers count from ``first``."""
    out = {}
    for name, column in schema.kept().columns.items():
        if column.type == "identifier":
            out[name] = pa.array(np.arange(first, first + num_rows)).cast(pa.string())
        else:
            out[name] = _texts(column, np.asarray(positions[name], dtype=np.int64))
    return out


def _texts(column: Column, places: np.ndarray) -> pa.Array:
    """Text of each position. Only distinct positions are formatted."""
    distinct, index = _distinct(places, column.cells)
    valid = distinct[distinct < column.size]
    codes = [column.missing_codes[p - column.size] for p in distinct[len(valid) :]]
    written = pa.concat_arrays([_written(column, valid), pa.array(codes, type=pa.string())])
    return written.take(pa.array(index))


def _distinct(places: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """As ``np.unique`` with the inverse; by a list of all positions, without sorting, where there are few of them."""
    if cells > max(FEW_CELLS, LISTED * len(places)):
        return np.unique(places, return_inverse=True)
    seen = np.zeros(cells, dtype=bool)
    seen[places] = True
    return np.flatnonzero(seen), (np.cumsum(seen, dtype=np.int32) - 1)[places]


def _written(column: Column, places: np.ndarray) -> pa.Array:
    """Text of each position of a valid value."""
    if column.type == "integer" and _is_whole(column):
        return pa.array(int(column.bounds[0]) + int(column.step) * places).cast(pa.string())
    return pa.array(_formatted(column, places), type=pa.string())


def _is_whole(column: Column) -> bool:
    """Whether all values are whole numbers that fit into 64 bits."""
    return all(v == int(v) and abs(v) < 1 << 62 for v in (*column.bounds, column.step))


def _formatted(column: Column, places: np.ndarray) -> list[str]:
    if column.type in CATEGORICAL:
        return [(column.categories or ())[p] for p in places]
    low, step = column.bounds[0], column.step
    values = [low + step * int(p) for p in places]
    if column.type == "integer":
        return [str(int(v)) for v in values]
    if column.type == "float":
        digits = column.decimals if column.decimals is not None else _digits(column)
        return [f"{v:.{digits}f}" for v in values]
    unit: Literal["D", "s"] = "D" if (column.resolution or "day") == "day" else "s"
    moments = EPOCH + np.array([int(v) for v in values], dtype="timedelta64[s]")
    return [t.replace("T", " ") for t in np.datetime_as_string(moments, unit=unit)]


def _digits(column: Column) -> int:
    """Decimals that write every position of a float column exactly."""
    exponents = [int(x.normalize().as_tuple().exponent) for x in (column.step, column.bounds[0])]
    return max(0, *(-e for e in exponents))


def typed(texts: Mapping[str, pa.Array], schema: Schema) -> dict[str, pa.Array]:
    """The same columns with numbers and dates as such, for Parquet; a missing code of theirs is null."""
    return {n: _typed(schema.columns[n], a) for n, a in texts.items()}


def _typed(column: Column, texts: pa.Array) -> pa.Array:
    if not column.is_numeric:
        return texts
    coded = pa.array([canonical(c) for c in column.missing_codes] or ["\0"], type=pa.string())
    kept = pa.compute.if_else(pa.compute.is_in(texts, value_set=coded), None, texts)
    if column.type == "integer":
        return kept.cast(pa.int64())
    if column.type == "float":
        return kept.cast(pa.float64())
    return kept.cast(pa.timestamp("s")).cast(pa.timestamp("ms"))


def allowed(column: Column, wanted: str) -> Intervals:
    """Positions that a condition on one column allows: a value, ``a|b``, or ``low..high`` for numbers and dates.

    Errors: ValueError with the rule broken.
    """
    return Intervals.of([_span(column, part) for part in wanted.split("|")])


def places_of(column: Column, wanted: str) -> np.ndarray:
    """The same positions one by one, ascending. Errors: ValueError, also where they are too many to list."""
    found = allowed(column, wanted)
    if found.size > MOST_PLACES:
        raise ValueError(f"allows more than {MOST_PLACES} values; give a narrower range")
    return found.listed()


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
