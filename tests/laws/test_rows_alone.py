"""The positions of a row are the same whichever rows stand beside it in a file or a frame, however hostile."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from synth.errors import InputError
from synth.schema.dialect import Dialect
from synth.schema.table import Schema
from synth.sources.formats import csv_files, files
from synth.sources.table_source import FramePlace, Place, place_of
from tests.laws.hostile_cells import BIG, CROWD, LONG, NUL, SCHEMA, TEXTS, check, crowd, typed
from tests.laws.workbooks import workbook

HOSTILE = {
    "blank": ["", " "],
    "word": ["x", "nan", "infinity", "-infinity"],
    "decimal": ["0.5", "7.125", "1e999", "9" * 19],
    "NUL": ["a\0", "\0", "1\0"],
    "5 MB": ["7" * 5_000_000],
    "the 2,001st text": [f"new {i}" for i in range(2_001)],
}
OBJECTS = {
    "i": [BIG + 65, Decimal(BIG + 66), np.int64(BIG + 67), None, str(BIG + 68)],
    "x": [Decimal("1.10"), np.float32(0.1), 3, 7.125, float("nan")],
    "t": [Decimal("1.10"), np.float32(3), 3, "a", dt.date(2020, 1, 2)],
    "d": [dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 10), pd.Timestamp("2020-12-31"), "2020-03-04", pd.NaT],
    "m": [
        dt.datetime(2020, 1, 2, 1, 2, 3),
        pd.Timestamp("2020-01-02 04:05:06.9"),
        np.datetime64("2020-01-02"),
        None,
        3,
    ],
}
ODD = [
    Decimal("7.125"),
    Decimal("sNaN"),
    dt.date(1, 1, 1),
    pd.Timestamp.min,
    np.float32(0.1),
    2**70,
    10**5000,
    True,
    b"\xff",
    ["x"],
    {"a": 1},
    float("inf"),
    "9" * 19,
    "\ud800",
    None,
    "",
    dt.time(1),
    np.datetime64("NaT"),
]


def in_file(tmp_path: Path, ending: str) -> Callable[[pa.Table], Place]:
    def place(table: pa.Table) -> Place:
        path = tmp_path / f"t{table.num_rows}{ending}"
        if ending == ".csv":
            pa_csv.write_csv(table, path)  # NUL as it is
        else:
            files.write(path, {n: table.column(n) for n in table.column_names})
        return place_of(path)

    return place


def categories(column: pa.ChunkedArray) -> pd.Categorical:
    """By codes: pandas' own ``astype`` takes a text and the same text with NUL for one category."""
    coded = column.combine_chunks().dictionary_encode()
    return pd.Categorical.from_codes(coded.indices.fill_null(-1).to_numpy(), categories=coded.dictionary.to_pylist())


SOURCES = {
    "csv": lambda p: in_file(p, ".csv"),
    "gz": lambda p: in_file(p, ".csv.gz"),
    "parquet": lambda p: in_file(p, ".parquet"),
    "arrow frame": lambda _: lambda t: FramePlace(t.to_pandas(types_mapper=pd.ArrowDtype)),
    "object frame": lambda _: lambda t: FramePlace(t.to_pandas()),
    "categories": lambda _: lambda t: FramePlace(pd.DataFrame({n: categories(t.column(n)) for n in t.column_names})),
}
HOSTILE_EACH = [pytest.param(h, marks=pytest.mark.long) if h == "5 MB" else h for h in HOSTILE]


def texts(beside: list[str]) -> tuple[pa.Table, pa.Table]:
    return pa.table(TEXTS), pa.table(dict.fromkeys(TEXTS, beside))


@pytest.mark.parametrize("hostile", HOSTILE_EACH)
@pytest.mark.parametrize("source", SOURCES)
def test_rows_of_text_are_read_alone(source, hostile, tmp_path):
    rows, beside = texts(HOSTILE[hostile])
    check(SOURCES[source](tmp_path), rows, beside, pa.concat_tables([rows, beside]))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.long
def test_rows_are_read_alone_in_a_crowd(source, tmp_path):
    """Seventy thousand texts that nobody else has, 5 MB and NUL, all in one column."""
    for name in "xt":
        (tmp_path / name).mkdir()
        rows, beside, schema = crowd([*CROWD, LONG, *NUL], name)
        check(SOURCES[source](tmp_path / name), rows, beside, pa.concat_tables([rows, beside]), schema)


def in_workbook(tmp_path: Path) -> Callable[[pa.Table], Place]:
    def place(table: pa.Table) -> Place:
        path = tmp_path / f"t{table.num_rows}.xlsx"
        workbook(path, table)
        return place_of(path)

    return place


@pytest.mark.parametrize("hostile", HOSTILE_EACH)
def test_rows_of_a_workbook_are_read_alone(hostile, tmp_path):
    rows, beside = texts(HOSTILE[hostile])
    check(in_workbook(tmp_path), rows, beside, pa.concat_tables([rows, beside]))


@pytest.mark.long
def test_rows_of_a_workbook_are_read_alone_in_a_crowd(tmp_path):
    rows, beside, schema = crowd([*CROWD, LONG, *NUL], "t")
    check(in_workbook(tmp_path), rows, beside, pa.concat_tables([rows, beside]), schema)


def test_whether_a_blank_row_of_a_workbook_is_one_is_decided_by_itself(tmp_path):
    """Also in a sheet of one column, where a row below must not make rows of the blank ones above it."""
    schema = Schema(columns={"t": SCHEMA.columns["t"]})

    def place(cells: list) -> Place:
        path = tmp_path / f"b{len(cells)}.xlsx"
        book = openpyxl.Workbook()
        for cell in ["t", *cells]:
            book.active.append([cell])
        book.save(path)
        return place_of(path)

    check(place, ["a", None, None], ["a"], ["a", None, None, "a"], schema)


def objects(columns: dict[str, list]) -> pd.DataFrame:
    return pd.DataFrame({n: pd.Series(cells, dtype=object) for n, cells in columns.items()})


@pytest.mark.parametrize("number", range(len(ODD)))
def test_objects_are_read_alone(number):
    beside = {n: [ODD[number]] for n in OBJECTS}
    both = {n: [*cells, ODD[number]] for n, cells in OBJECTS.items()}
    check(FramePlace, objects(OBJECTS), objects(beside), objects(both))


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("source", ["parquet", "arrow frame"])
def test_rows_of_plain_types_are_read_alone(source, unit, tmp_path):
    rows, beside = typed(unit)
    check(SOURCES[source](tmp_path), rows, beside, pa.concat_tables([rows, beside]))


@pytest.mark.parametrize("cells", [[np.nan], [np.inf, -np.inf], [1e300, 5e-324]])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_numpy_columns_are_read_alone(cells, kind):
    schema = Schema(columns={n: SCHEMA.columns[n] for n in ("x", "t")})
    rows = pd.DataFrame({"x": np.array([1.1, 7.125, 3], kind), "t": np.array([3, 1, 0], kind)})
    with np.errstate(over="ignore", under="ignore"):
        beside = pd.DataFrame(dict.fromkeys(("x", "t"), np.array(cells).astype(kind)))
    check(FramePlace, rows, beside, pd.concat([rows, beside], ignore_index=True), schema)


LONGEST, READ = 4096, 1000  # in place of 64 MiB and 8 MiB at a time


def refused(path, before: int, long: int, *, quoted: bool) -> bool:
    """Whether a row of so many bytes is, behind a row of ``before`` bytes."""
    cell = b'"' + b"y\n" * (long // 2 - 1) + b'"' if quoted else b"y" * long
    path.write_bytes(b"a\n" + (b"x" * before + b"\n" if before else b"") + cell + b"\n" + b"z\n" * 300)
    try:
        return not sum(len(b) for b in csv_files.blocks(path, Dialect(), gathered=READ, longest=LONGEST))
    except InputError as error:
        return "a row is longer" in str(error)


@pytest.mark.parametrize("quoted", [False, True])
def test_a_rows_length_is_judged_alone(tmp_path, quoted):
    for long in (LONGEST - 2, LONGEST, LONGEST + 2, LONGEST + READ // 2, LONGEST + READ - 4, LONGEST + 2 * READ):
        reported = {refused(tmp_path / "t.csv", before, long, quoted=quoted) for before in range(0, 2 * READ, 53)}
        assert reported == {long > LONGEST}, long
