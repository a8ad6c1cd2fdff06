"""The positions of a row are the same whichever rows stand beside it: every source, every type, hostile neighbours.

Counts tell it for all sources alike: those of some rows and their neighbours together are the sum of those of each.
No column is without a missing code, so that no cell is placed at random.
"""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from synth.pipeline import run as pipeline
from synth.privacy.noise import SeededNoise
from synth.questions import Bins
from synth.schema.table import Schema, parse
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.engines.warehouse_rows import WarehouseRows
from synth.sources.formats import files
from synth.sources.table_source import FramePlace, Place, place_of
from tests.engines import SPARK, fill, postgres, spark
from tests.laws.workbooks import workbook

BIG = 10**18
SCHEMA = parse({"columns": {
    "i": {"type": "integer", "min": BIG, "max": BIG + 300, "nullable": True},
    "x": {"type": "float", "min": 0, "max": 100, "decimals": 2, "nullable": True},
    "t": {"type": "categorical", "categories": ["a", "3", "1.10", "=x", "2020-01-02"], "missing": ["?"]},
    "d": {"type": "datetime", "min": "2020-01-01", "max": "2020-12-31", "nullable": True},
    "m": {"type": "datetime", "min": "2020-01-01", "max": "2020-01-03", "resolution": "second", "nullable": True},
}})  # fmt: skip
TEXTS = {
    "i": [str(BIG + 65), str(BIG + 66), f"{BIG + 129}.0", "", "x"],
    "x": ["1.10", "7.125", "3", "1e1", ""],
    "t": ["a", " a", "3.0", "1.10", "'=x"],
    "d": ["2020-01-02", "2020-01-02T10:00:00", "", "2020-02-30", "2020-12-31"],
    "m": ["2020-01-02", "2020-01-02 10:00:01.9", "", "x", "1900-01-01"],
}
HOSTILE = {
    "blank": ["", " "],
    "word": ["x", "nan", "infinity", "-infinity"],
    "decimal": ["0.5", "7.125", "1e999", "9" * 19],
    "NUL": ["a\0", "\0", "1\0"],
    "5 MB": ["7" * 5_000_000],
    "the 2,001st text": [f"new {i}" for i in range(2_001)],
}
CROWD = [
    "",
    "nan",
    "9" * 19,
    *(f"new {i / 8}" for i in range(70_000)),
]  # more than any reader lists or fetches at a time
LONG = "7" * 5_000_000
NUL = ["a\0", "1.10\0"]
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
ODD = [Decimal("7.125"), Decimal("sNaN"), dt.date(1, 1, 1), pd.Timestamp.min, np.float32(0.1), 2**70, 10**5000, True,
       b"\xff", ["x"], {"a": 1}, float("inf"), "9" * 19, "\ud800", None, "", dt.time(1),
       np.datetime64("NaT")]  # fmt: skip


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


def crowd(beside: list[str], name: str) -> tuple[pa.Table, pa.Table, Schema]:
    """Rows of one column beside many."""
    return pa.table({name: TEXTS[name]}), pa.table({name: beside}), Schema(columns={name: SCHEMA.columns[name]})


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


def typed(unit: str) -> tuple[pa.Table, pa.Table]:
    """Rows of plain types, and beside them the ends of what each type can hold."""
    second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    noon, ends = 1577966400 * second, [-(2**63), -(2**63) + 1, 2**63 - 1, 0]
    days = pa.array([18262, 18263, None, 18627], pa.int32()).view(pa.date32())
    moments = pa.array([noon, noon + 1, None, 0], pa.int64()).view(pa.timestamp(unit))
    small = pa.array(["a", "3.0", None, "'=x"])
    rows = pa.table({"i": pa.array([BIG + 65, BIG + 66, None, 5]), "x": [1.1, 7.125, None, 3.0], "t": small,
                     "d": days, "m": moments})  # fmt: skip
    beside = pa.table({
        "i": pa.array(ends), "x": [float("nan"), float("inf"), -0.0, 5e-324], "t": ["", "a\0", "x" * 5000, "?"],
        "d": pa.array([-(2**31), 2**31 - 1, -(2**31) + 1, None], pa.int32()).view(pa.date32()),
        "m": pa.array(ends, pa.int64()).view(pa.timestamp(unit)),
    })  # fmt: skip
    return rows, beside


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


POSTGRES = {"i": "bigint", "x": "double precision", "t": "text", "d": "date", "m": "timestamp"}
BESIDE = {
    "i": [-(2**63), 2**63 - 1, None], "x": [float("nan"), float("inf"), 5e-324], "t": ["x" * 5_000_000, "", "'=x"],
    "d": ["infinity", "-infinity", "0044-03-15 BC"], "m": ["infinity", "-infinity", "294276-12-31"],
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster():
    """A PostgreSQL of its own."""
    with postgres() as engine:
        yield engine


@pytest.mark.parametrize("fetched", [False, True])
@pytest.mark.parametrize("new", [0, 2_500])
def test_rows_of_postgres_are_read_alone(cluster, fetched, new):
    """Infinite and far dates, 5 MB, more texts than a query would list: counted there, and fetched."""
    plain, _ = typed("us")
    rows = pa.table({n: plain.column(n) for n in POSTGRES})
    cells = {n: [*c, *([None] * new)] for n, c in BESIDE.items()}
    cells["t"][3:] = [f"new {i}" for i in range(new)]
    beside = pa.table(cells)
    both = pa.table({n: pa.array([*rows.column(n).to_pylist(), *cells[n]], None) if n not in "dm" else
                     [*map(text, rows.column(n).to_pylist()), *cells[n]] for n in POSTGRES})  # fmt: skip

    def place(table: pa.Table) -> Place:
        fill(cluster, "t", table, POSTGRES)
        return WarehousePlace(cluster, "t")

    schema = SCHEMA
    if fetched:  # a column of text that holds numbers is the codec's
        schema = Schema(columns={**SCHEMA.columns, "t": SCHEMA.columns["x"]})
    else:
        opened = place(rows).encoded(schema, SeededNoise(1), person=None, key=b"k" * 16)
        assert isinstance(opened.encoded.positions, WarehouseRows)
    check(place, rows, beside, both, schema)


def text(cell: object) -> str | None:
    return None if cell is None else str(cell)


def of_parquet(engine: Engine, folder: Path) -> Callable[[pa.Table], Place]:
    def at(table: pa.Table) -> Place:
        path = folder / f"{engine.dialect.name}{table.num_rows}.parquet"
        pq.write_table(table, path)
        return WarehousePlace(engine, str(path))

    return at


def of_duckdb(folder: Path) -> Callable[[pa.Table], Place]:
    """A table of a database in a file."""

    def at(table: pa.Table) -> Place:
        path = folder / f"p{table.num_rows}.duckdb"
        if not path.exists():
            with duckdb.connect(str(path)) as con:
                con.register("given", table)
                con.execute("CREATE TABLE people AS SELECT * FROM given")
        return WarehousePlace(Engine(f"duckdb:///{path}"), "people")

    return at


ENGINES = {
    "duckdb": lambda folder: of_parquet(Engine("duckdb"), folder),
    "duckdb file": of_duckdb,
    "spark": lambda folder: of_parquet(spark(), folder),
}


@pytest.mark.parametrize("engine", [SPARK if e == "spark" else e for e in ENGINES])
@pytest.mark.long
def test_rows_of_duckdb_and_of_spark_are_read_alone(engine, tmp_path):
    rows, beside = typed("us")
    beside = beside.slice(1)  # what neither engine can hold is -2**63 microseconds
    more = pa.table({n: pa.array([None] * 2_001, beside.column(n).type) for n in beside.column_names})
    more = more.set_column(2, "t", pa.array([f"new {i}" for i in range(2_001)]))
    beside = pa.concat_tables([beside, more])
    check(ENGINES[engine](tmp_path), rows, beside, pa.concat_tables([rows, beside]))


# Of DuckDB's two doors each has one column here, and both with -m slow.
IN_A_CROWD = [pytest.param(*(SPARK.values if e == "spark" else (e,)), n, marks=(
    *(SPARK.marks if e == "spark" else ()), *([pytest.mark.slow] if (e, n) in (("duckdb", "t"), ("duckdb file", "x"))
    else []))) for e in ENGINES for n in "xt"]  # fmt: skip


@pytest.mark.parametrize(("engine", "name"), IN_A_CROWD)
@pytest.mark.long
def test_texts_of_an_engine_are_read_alone_in_a_crowd(engine, name, tmp_path):
    """Categories are counted in the engine, numbers in text are fetched."""
    long = LONG[:200_000] if engine == "spark" else LONG  # no length is a limit to Spark: it reads them slowly alone
    rows, beside, schema = crowd([*CROWD, long, *NUL], name)
    place = ENGINES[engine](tmp_path)
    opened = place(rows).encoded(schema, SeededNoise(1), person=None, key=b"k" * 16)
    assert isinstance(opened.encoded.positions, WarehouseRows) is (name == "t")
    check(place, rows, beside, pa.concat_tables([rows, beside]), schema)


@pytest.mark.parametrize("name", ["x", "t"])
@pytest.mark.long
def test_texts_of_postgres_are_read_alone_in_a_crowd(cluster, name):
    """NUL is left out: PostgreSQL keeps no such text."""

    def place(table: pa.Table) -> Place:
        fill(cluster, "crowd", table, {name: "text"})
        return WarehousePlace(cluster, "crowd")

    rows, beside, schema = crowd([*CROWD, LONG], name)
    check(place, rows, beside, pa.concat_tables([rows, beside]), schema)


def test_a_name_is_no_pattern_and_a_table_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one, other = pa.table({"x": [1.0]}), pa.table({"x": [2.0] * 7})
    for name in ("data[1].parquet", "t*.parquet", "what?.parquet"):
        pq.write_table(one, name)
    for name in ("data1.parquet", "tx.parquet", "what1.parquet", "people", "gone"):
        pq.write_table(other, name)
    schema = Schema(columns={"x": SCHEMA.columns["x"]})
    for name in ("data[1].parquet", "t*.parquet", "what?.parquet"):
        assert counts(place_of(name), schema)[0].sum() == 1
        assert counts(WarehousePlace(Engine("duckdb"), name), schema)[0].sum() == 1
    with duckdb.connect("p.duckdb") as con:
        con.execute("CREATE TABLE people AS SELECT 3.0::DOUBLE AS x")
        con.execute('CREATE TABLE "data1.parquet" AS SELECT 3.0::DOUBLE AS x')
    source = Engine(f"duckdb:///{tmp_path}/p.duckdb")
    for name in ("people", "data1.parquet"):
        assert counts(WarehousePlace(source, name), schema)[0].sum() == 1
        assert WarehousePlace(source, name).name == f"{source.shown}/{name}"
    with pytest.raises(Exception, match="no table 'gone'"):
        counts(WarehousePlace(source, "gone"), schema)


def test_learning_from_a_database_without_rows_goes_through(tmp_path):
    with duckdb.connect(str(tmp_path / "p.duckdb")) as con:
        con.execute("CREATE TABLE people (t VARCHAR, x DOUBLE)")
    schema = parse({"columns": {"t": {"type": "categorical"}, "x": {"type": "float"}}}, complete=False)
    place = WarehousePlace(Engine(f"duckdb:///{tmp_path}/p.duckdb"), "people")
    found = pipeline.learn_schema(place, schema=schema, epsilon=1.0, delta=1e-5,
                           dataset="none", ledger=tmp_path / "ledger.sqlite")  # fmt: skip
    assert found is not None
