"""A schema's missing facts, learnt by paid questions: categories, bounds, decimals, presence of missing values.

Only names, kinds and missing codes need to be public. Of related tables all are asked together, a column by the name
TABLE.COLUMN. Numbers are first seen on a public grid so wide that it tells nothing: up to 2^31 either side of zero
(2^51 for whole numbers), dates from 1800 to 2200.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, nextafter, sqrt
from typing import Any

import numpy as np

from synth.mechanisms import values as stability
from synth.pipeline.private_rows import PrivateRows
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import Bins, Counts, CountsRelease, Marginal, Question, Release, Values, ValuesRelease
from synth.schema import cells, coarsening, codec
from synth.schema.dataset import ONE, Dataset
from synth.schema.table import CATEGORICAL, Column, Schema
from synth.sources.formats.text_table import Table
from synth.sources.related_tables import whole
from synth.sources.rows.forest import TableRows, one_of_each_root
from synth.sources.rows.spill import keep

Ask = Callable[[Question], Release]
PARTS = 8  # equal parts of each octave of the grid for numbers
CLEAR = 4.5  # a cell this many noise deviations above zero is taken for occupied
DECIMALS = 6  # most decimals of a float that are looked for
QUARTERS = np.arange("1800-01", "2200-01", 3, dtype="datetime64[M]")
WIDE = {
    "integer": Column(type="integer", min=-(2**51), max=2**51),
    "float": Column(type="float", min=-(2**31), max=2**31, decimals=DECIMALS),
    "datetime": Column(type="datetime", min="1800-01-01", max="2200-01-01", resolution="second"),
}


def lacking(schema: Schema | Dataset) -> list[str]:
    """The columns whose facts the schema does not state, and which can be learnt; of related tables TABLE.COLUMN."""
    own = schema.stated
    return [own.name_of(t, n) for t, s in own.tables.items() for n, c in s.measured().items() if is_bare(c)]


def is_bare(column: Column) -> bool:
    """Whether a column's categories or bounds are not stated."""
    return column.categories is None if column.type in CATEGORICAL else column.min is None or column.max is None


def grids(schema: Schema) -> Schema:
    """The public grids on which the lacking numbers and dates are seen: a complete schema of those columns."""
    wide = {}
    for name in lacking(schema):
        column = schema.columns[name]
        if column.is_numeric:
            wide[name] = WIDE[column.type].model_copy(update={"missing": column.missing or ("",)})
    return Schema(columns=wide)


def finer(name: str) -> str:
    """Name of the derived column that says how fine a column's values are: decimals, or 1 for a time of day.

    >>> finer("INCOME")
    'INCOME (fineness)'
    """
    return f"{name} (fineness)"


def fineness(column: Column, places: np.ndarray) -> np.ndarray:
    """How fine each value on a public grid is, (num_rows,): decimals needed, or whether a time of day is there."""
    inside = places < column.size
    if column.type == "datetime":
        return np.where(inside & (places % 86400 != 0), 1, 0)
    zeros = np.zeros(len(places), dtype=np.int64)
    for k in range(1, DECIMALS + 1):  # a loop over decimals, not over rows
        zeros += places % 10**k == 0
    return np.where(inside, DECIMALS - zeros, 0)


def completed(schema: Schema | Dataset, facts: Mapping[str, Column]) -> Schema | Dataset:
    """The schema with these columns in place of its own, by the names of ``lacking``."""

    def own(stated: Schema | Dataset) -> Schema | Dataset:
        columns = {
            t: {n: facts.get(stated.name_of(t, n), c) for n, c in s.columns.items()} for t, s in stated.tables.items()
        }
        return stated.with_tables({t: s.model_copy(update={"columns": columns[t]}) for t, s in stated.tables.items()})

    return schema.changed(own)


def learn(
    ask: Ask, schema: Schema | Dataset, adjacency: Adjacency, *, mu: float, failure_delta: float
) -> Schema | Dataset:
    """The schema with every lacking fact learnt and marked ``private``.

    Asks within ``mu`` and ``failure_delta`` in all; what the schema states is neither asked nor changed.
    """
    names = lacking(schema)
    if not names:
        return schema
    asked = Schema(columns={n: schema.all_columns[n] for n in names})
    return completed(schema, _learnt(ask, asked, adjacency, mu=mu, failure_delta=failure_delta))


def noise_of(columns: int, adjacency: Adjacency, *, mu: float) -> float:
    """Deviation of the noise in rows, where so many columns are learnt within ``mu``."""
    return nextafter(stability.sensitivity(adjacency) / (mu * sqrt(1 / columns)) * (1 + 1e-9), inf)


def _learnt(ask: Ask, schema: Schema, adjacency: Adjacency, *, mu: float, failure_delta: float) -> dict[str, Column]:
    names = lacking(schema)
    sigma = noise_of(len(names), adjacency, mu=mu)
    words = [n for n in names if schema.columns[n].type in CATEGORICAL]
    columns: dict[str, Column] = {}
    for name in words:
        bound = stability.threshold(adjacency, sigma=sigma, failure_delta=failure_delta / len(words))
        question = Values(purpose=f"categories of {name}", column=name, sigma=sigma, threshold=bound)
        columns[name] = _categories(schema.columns[name], ask(question))
    for name, column in grids(schema).columns.items():
        columns[name] = _bounds(schema.columns[name], column, name, ask, sigma)
    return columns


def _categories(column: Column, release: Release) -> Column:
    """Categories in numerical order where all are numbers; the texts that mean missing stand apart."""
    assert isinstance(release, ValuesRelease)
    codes = set(column.missing or ("",))
    texts = [t for t in release.texts if t not in codes]
    here = [c for c in column.missing or ("",) if c in release.texts]
    try:
        texts.sort(key=float)
    except ValueError:
        texts.sort()
    facts = {
        "categories": tuple(texts) or ("unknown",),
        "missing": tuple(here) or None,
        "source": "private",
        "risk": None,
        "reason": None,
    }
    return column.model_copy(update=facts)


def _bounds(column: Column, wide: Column, name: str, ask: Ask, sigma: float) -> Column:
    """min, max, presence of missing values, and decimals or resolution, from one grid and one table of fineness."""
    grid = Bins(column=name, cells=wide.cells, starts=(s := _starts(wide)), groups=np.arange(len(s)))
    fine = Bins.each(finer(name), DECIMALS + 1 if wide.type == "float" else 2)
    tables = [Marginal(bins=(grid,), sigma=sigma * (1 if wide.type == "integer" else sqrt(1.25)))]
    if wide.type != "integer":
        tables.append(Marginal(bins=(fine,), sigma=sigma * sqrt(5)))
    release = ask(Counts(purpose=f"bounds of {name}", marginals=tuple(tables)))
    assert isinstance(release, CountsRelease)
    counts, level = release.values[0], tables[0].sigma
    valid = len(s) - len(wide.missing_codes)
    first, last = _occupied(counts[:valid], level)
    low, high = int(s[first]), int((s[last + 1] if last + 1 < valid else wide.size) - 1)
    missing = [c for c, n in zip(wide.missing_codes, counts[valid:], strict=True) if n > CLEAR * level]
    facts = {"missing": tuple(missing) or None, "source": "private"}
    exact = release.values[1] if len(tables) > 1 else None
    return column.model_copy(update={**facts, **_stated(wide, low, high, exact, sigma * sqrt(5))})


def _starts(wide: Column) -> np.ndarray:
    """First positions of the grid's cells: octaves either side of zero in equal parts, or quarters of a year."""
    if wide.type == "datetime":
        seconds = QUARTERS.astype("datetime64[s]").astype(np.int64)
        inner = np.unique(np.append(seconds - seconds[0], 0))
    else:
        zero = int(-wide.bounds[0] / wide.step)
        octaves = 2.0 ** np.arange(0, np.log2(zero) + 1)
        parts = np.unique(np.floor(np.multiply.outer(octaves, 1 + np.arange(PARTS) / PARTS)).astype(np.int64))
        inner = np.concatenate([[0, zero, zero + 1], zero + parts, zero - parts + 1])
    inner = np.unique(inner[(inner >= 0) & (inner < wide.size)])
    return np.concatenate([inner, np.arange(wide.size, wide.cells)])


def _occupied(counts: np.ndarray, sigma: float) -> tuple[int, int]:
    """First and last cell that is clearly occupied, alone or with the cells outside it; the fullest if none is."""
    total = np.append(0, np.cumsum(counts))
    at = np.arange(len(counts))
    below = total[at + 1] - total[np.maximum(at + 1 - PARTS, 0)]  # a cell with those before it
    above = total[np.minimum(at + PARTS, len(counts))] - total[at]  # and with those after it
    clear, together = counts > CLEAR * sigma, CLEAR * sigma * sqrt(PARTS)
    first, last = np.flatnonzero(clear | (below > together)), np.flatnonzero(clear | (above > together))
    if len(first) == 0 or len(last) == 0:
        return (int(np.argmax(counts)),) * 2
    return int(first[0]), max(int(last[-1]), int(first[0]))


def _stated(wide: Column, low: int, high: int, fine: np.ndarray | None, sigma: float) -> dict:
    """The facts that the occupied range and the fineness of values amount to."""
    if wide.type == "datetime":
        assert fine is not None
        moments = QUARTERS[0].astype("datetime64[s]") + np.array([low, high], dtype="timedelta64[s]")
        if fine[1] > CLEAR * sigma:
            return {"min": str(moments[0]), "max": str(moments[1]), "resolution": "second"}
        days = moments.astype("datetime64[D]")
        return {"min": str(days[0]), "max": str(days[1]), "resolution": "day"}
    low_value, high_value = (wide.bounds[0] + wide.step * p for p in (low, high))
    if fine is None:
        return {"min": int(low_value), "max": int(high_value)}
    clear = np.flatnonzero(fine > CLEAR * sigma)
    decimals = int(clear[-1]) if len(clear) else 2
    return {"min": float(round(low_value, decimals)), "max": float(round(high_value, decimals)), "decimals": decimals}


@dataclass(frozen=True)
class Words:
    """A text column of the kept rows: distinct canonical ``values`` and each row's index into them."""

    values: np.ndarray
    codes: np.ndarray


def rows_to_learn(
    schema: Schema | Dataset, rows: Mapping[str, PrivateRows], adjacency: Adjacency, noise: SystemNoise
) -> Mapping[str, Any]:
    """By column (``lacking`` names them) the rows that count, and how fine their values are: canonical texts of
    categories, numbers and dates on public wide grids.

    Only the columns that lack facts are read, with those that say whose the rows are, as text and into memory. Of
    related tables one row at most of each root is seen in each table, of one table the rows of a person that the
    relation counts.

    **Guarantee**: a unit more or less is ``adjacency.max_rows`` rows more or less of each column, at most.
    """
    if (tree := schema.stated.tree) is not None:
        return _of_tables(tree, rows, noise)
    stated = schema.written[ONE]
    names = lacking(stated)
    table = rows[ONE].place.read([*names, *([] if adjacency.by_row else [adjacency.unit])])
    kept = None
    if not adjacency.by_row:
        apart = not stated.linked_rows  # else rows that name nobody are passed over
        kept = keep(table.column(adjacency.unit), adjacency.max_rows, noise, nameless=apart)
    return _seen(stated, table, kept, noise)


def _of_tables(schema: Dataset, rows: Mapping[str, PrivateRows], noise: SystemNoise) -> Mapping[str, Any]:
    """Of each table that lacks facts one row of each root."""
    tables = {n: whole(r.place, [*lacking(schema.tables[n]), *schema.key_columns(n)]) for n, r in rows.items()}
    keyed = {
        n: TableRows(positions={}, texts={c: t.column(c) for c in schema.key_columns(n)}, num_rows=t.num_rows)
        for n, t in tables.items()
    }
    seen: dict[str, Any] = {}
    for name, chosen in one_of_each_root(schema, keyed, noise).items():
        own = _seen(schema.tables[name], tables[name], chosen, noise)
        seen |= {f"{name}.{column}": values for column, values in own.items()}
    return seen


def _seen(schema: Schema, table: Table, kept: np.ndarray | None, noise: SystemNoise) -> dict[str, Any]:
    wide = grids(schema)
    rows: dict[str, Any] = dict(codec.encode(table, wide, noise, rows=kept).positions)
    for name in list(rows):
        rows[finer(name)] = fineness(wide.columns[name], rows[name])
    for name in lacking(schema):
        if schema.columns[name].type in CATEGORICAL:
            rows[name] = _words(schema.columns[name], table.column(name), kept)
    return rows


def _words(column: Column, text: codec.TextColumn, kept: np.ndarray | None) -> Words:
    merged = coarsening.grouped(column, cells.canonical(text.values)).dictionary_encode()
    values = merged.dictionary.to_numpy(zero_copy_only=False)
    order = np.argsort(values, kind="stable")
    codes = np.argsort(order)[merged.indices.to_numpy()[text.codes]]
    return Words(values[order], codes if kept is None else codes[kept])
