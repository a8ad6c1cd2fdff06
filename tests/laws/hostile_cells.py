"""Rows and hostile neighbours of every type, and whether the positions of the one depend on the other.

Counts tell it for all sources alike: those of some rows and their neighbours together are the sum of those of each.
No column is without a missing code, so that no cell is placed at random.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from synth.privacy.noise import SeededNoise
from synth.questions import Bins
from synth.schema.table import Schema, parse
from synth.sources.table_source import Place
from tests.made import codes, dated, facts_of, number

BIG = 10**18
SCHEMA = parse(
    facts_of(
        i=number(BIG, BIG + 300, nullable=True),
        x=number(0, 100, decimals=2, nullable=True),
        t=codes("a", "3", "1.10", "=x", "2020-01-02", missing=["?"]),
        d=dated("2020-01-01", "2020-12-31", nullable=True),
        m=dated("2020-01-01", "2020-01-03", resolution="second", nullable=True),
    )
)
TEXTS = {
    "i": [str(BIG + 65), str(BIG + 66), f"{BIG + 129}.0", "", "x"],
    "x": ["1.10", "7.125", "3", "1e1", ""],
    "t": ["a", " a", "3.0", "1.10", "'=x"],
    "d": ["2020-01-02", "2020-01-02T10:00:00", "", "2020-02-30", "2020-12-31"],
    "m": ["2020-01-02", "2020-01-02 10:00:01.9", "", "x", "1900-01-01"],
}
CROWD = [
    "",
    "nan",
    "9" * 19,
    *(f"new {i / 8}" for i in range(70_000)),
]  # more than any reader lists or fetches at a time
LONG = "7" * 5_000_000
NUL = ["a\0", "\0a", "a\0b", "1.10\0"]


def tables(schema: Schema) -> list[list[Bins]]:
    columns = schema.measured()
    each = {n: Bins.each(n, c.cells) for n, c in columns.items() if c.cells < 1 << 20}
    return [[b] for b in each.values()] + ([[each["i"], each["t"]]] if {"i", "t"} <= set(each) else [])


def counts(place: Place, schema: Schema = SCHEMA) -> list[np.ndarray]:
    opened = place.encoded(schema, SeededNoise(1), person=None, key=b"k" * 16)
    return opened.encoded.positions.counts(tables(schema))


def check(
    place: Callable[[object], Place], rows: object, beside: object, both: object, schema: Schema = SCHEMA
) -> None:
    """Rows before their neighbours, so that they come first in every batch."""
    together = counts(place(both), schema)
    for table, a, b in zip(together, counts(place(rows), schema), counts(place(beside), schema), strict=True):
        assert np.array_equal(table, a + b)


def crowd(beside: list[str], name: str) -> tuple[pa.Table, pa.Table, Schema]:
    """Rows of one column beside many."""
    return pa.table({name: TEXTS[name]}), pa.table({name: beside}), Schema(columns={name: SCHEMA.columns[name]})


def typed(unit: str) -> tuple[pa.Table, pa.Table]:
    """Rows of plain types, and beside them the ends of what each type can hold."""
    second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    noon, ends = 1577966400 * second, [-(2**63), -(2**63) + 1, 2**63 - 1, 0]
    days = pa.array([18262, 18263, None, 18627], pa.int32()).view(pa.date32())
    moments = pa.array([noon, noon + 1, None, 0], pa.int64()).view(pa.timestamp(unit))
    small = pa.array(["a", "3.0", None, "'=x"])
    rows = pa.table(
        {
            "i": pa.array([BIG + 65, BIG + 66, None, 5]),
            "x": [1.1, 7.125, None, 3.0],
            "t": small,
            "d": days,
            "m": moments,
        }
    )
    beside = pa.table(
        {
            "i": pa.array(ends),
            "x": [float("nan"), float("inf"), -0.0, 5e-324],
            "t": ["", "a\0", "x" * 5000, "?"],
            "d": pa.array([-(2**31), 2**31 - 1, -(2**31) + 1, None], pa.int32()).view(pa.date32()),
            "m": pa.array(ends, pa.int64()).view(pa.timestamp(unit)),
        }
    )
    return rows, beside
