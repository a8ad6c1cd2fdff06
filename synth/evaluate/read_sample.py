"""Rows of a file as positions, at most a stated number of them, drawn with a stated seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd

from synth.errors import UsageError
from synth.schema import codec
from synth.schema.dataset import Dataset, check_schema
from synth.schema.table import Column, Schema
from synth.sources.formats import files
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.text_table import from_frame
from synth.sources.related_tables import places
from synth.sources.related_tables import read as read_table
from synth.sources.rows.forest import Forest, link

TABLE = "synthetic.csv"  # of a release of one table


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """``positions`` (used,) of each measured column, of a file that has ``rows`` rows."""

    columns: Mapping[str, Column] = field(repr=False)
    positions: Mapping[str, np.ndarray] = field(repr=False)
    rows: int = field(repr=False)

    @property
    def used(self) -> int:
        """Number of rows held."""
        return len(next(iter(self.positions.values())))

    def take(self, index: np.ndarray) -> "Sample":
        """The rows at these places."""
        positions = {n: p[index] for n, p in self.positions.items()}
        return Sample(columns=self.columns, positions=positions, rows=len(index))

    def at_most(self, limit: int, rng: np.random.Generator) -> "Sample":
        """All rows, or ``limit`` of them drawn without replacement, in their order."""
        return self if self.used <= limit else self.take(some(self.used, limit, rng))

    def resampled(self, size: int, rng: np.random.Generator) -> "Sample":
        """A bootstrap sample of ``size`` rows: what a generator that knew the table's law exactly would make."""
        return self.take(rng.integers(0, self.used, size))

    def values(self, name: str) -> np.ndarray:
        """A number's or date's (in days) values as floats, NaN where missing."""
        return values(self.columns[name], self.positions[name])

    def numeric(self) -> list[str]:
        """Names of numbers and dates."""
        return [n for n, c in self.columns.items() if c.is_numeric]

    def categorical(self) -> list[str]:
        """Names of all other measured columns."""
        return [n for n, c in self.columns.items() if not c.is_numeric]


class Seeded:
    """Replacements of unreadable cells. A comparison has no privacy noise, so they may be seeded."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def uniform_codes(self, size: int, *, high: int) -> np.ndarray:
        """Draws from range(high), int64 (size,)."""
        return self._rng.integers(high, size=size)


def read(
    path: str | Path | pd.DataFrame, schema: Schema, *, limit: int, rng: np.random.Generator, synthetic: bool = False
) -> Sample:
    """At most ``limit`` rows of a CSV, Parquet or Excel file, or a frame; real ones as the schema writes them.

    Errors: InputError for an unusable file.
    """
    measured = schema.measured()
    if isinstance(path, pd.DataFrame):
        table = from_frame(path[files.known(measured, list(map(str, path.columns)), thing="data frame")])
    else:
        reading = PLAIN if synthetic else Reading.of(schema, delimited=files.kind(path) == "csv")
        table = files.read(path, columns=list(measured), reading=reading)
    retained = None if table.num_rows <= limit else some(table.num_rows, limit, rng)
    encoded = codec.encode(table, schema, Seeded(rng), rows=retained)
    return Sample(columns=measured, positions=encoded.positions, rows=table.num_rows)


def opened(
    real: str | Path | pd.DataFrame,
    synthetic: str | Path | pd.DataFrame,
    schema: Schema,
    *,
    limit: int,
    rng: np.random.Generator,
) -> tuple[Sample, Sample]:
    """Both tables, as ``read``. Errors: InputError; UsageError for a schema of identifiers."""
    check_schema(schema)
    if not schema.measured():
        raise UsageError("every column is an identifier; there is nothing to compare")
    return read(real, schema, limit=limit, rng=rng), read(synthetic, schema, limit=limit, rng=rng, synthetic=True)


def some(total: int, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """``wanted`` different places below ``total``, ascending.

    >>> len(some(10, 3, np.random.default_rng(0)))
    3
    """
    return np.sort(rng.choice(total, size=wanted, replace=False))


def values(column: Column, positions: np.ndarray) -> np.ndarray:
    """The values at positions of a number or a date (in days) as floats, NaN where missing."""
    scale = Decimal(86400) if column.type == "datetime" else Decimal(1)
    low, step = float(column.bounds[0] / scale), float(column.step / scale)
    return np.where(positions < column.size, low + step * positions, np.nan)


def forest(
    tables: str | Path | Mapping[str, object], schema: Dataset, *, seed: int = 0, synthetic: bool = False
) -> Forest:
    """Related tables as trees, for a comparison: which rows above a bound are kept follows from ``seed``.

    ``synthetic``: those of a release, which are written in the plain way whatever the schema says of private files.

    Errors: InputError, UsageError. Privacy: reads rows, exact: for the steward alone, never released.
    """
    draws = Seeded(np.random.default_rng(seed))
    if schema.one_table and isinstance(tables, str | Path) and (Path(tables) / TABLE).is_file():
        tables, synthetic = Path(tables) / TABLE, True  # a release
    opened = {
        name: read_table(
            where if synthetic else where.under(schema.written[name]),
            schema.written[name],
            schema.texts(name),
            draws,
            key=b"",
        ).rows
        for name, where in places(tables, schema).items()
    }
    return link(schema, {t: opened[schema.file_of(t)] for t in schema.tables}, draws)
