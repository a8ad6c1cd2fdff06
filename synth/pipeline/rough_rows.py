"""About how many rows a table has, where somebody says that this number is public; forecasts rest on it."""

from math import floor, log10
from pathlib import Path

from synth.pipeline.private_rows import PrivateRows, place_at
from synth.schema.table import Schema
from synth.sources.engines.warehouse import WarehousePlace


def rough_rows(table: str | Path, *, schema: Schema, source: str | None = None) -> int:
    """The number of rows, rounded to two digits; 0 of an empty table. ``schema``, ``source``: as of
    ``synth.run``.

    Errors: UsageError, InputError for a table that cannot be read.

    Privacy: reads rows, exact: only for a steward who vouches that the number of rows is public.
    """
    rows = PrivateRows.of(place_at(str(table), source), schema)
    if isinstance(rows.place, WarehousePlace):
        return rounded(rows.place.rows_there())
    nothing = Schema.model_construct(columns={})
    return rounded(sum(batch.table.num_rows for batch in rows.place.batches(nothing, rows.columns[:1])))


def rounded(count: int) -> int:
    """To two digits.

    >>> rounded(41_188), rounded(7), rounded(0), rounded(99_999)
    (41000, 7, 0, 100000)
    """
    return round(count, 1 - floor(log10(count))) if count else 0
