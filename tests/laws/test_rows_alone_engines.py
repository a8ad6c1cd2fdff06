"""The positions of a row are the same whichever rows stand beside it in a database: PostgreSQL, DuckDB and Spark."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.pipeline import run as pipeline
from synth.privacy.noise import SeededNoise
from synth.schema.table import Schema, parse
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace, WarehouseRows
from synth.sources.table_source import Place, place_of
from tests.engines import SPARK, fill, spark
from tests.laws.hostile_cells import CROWD, LONG, NUL, SCHEMA, check, counts, crowd, typed

POSTGRES = {"i": "bigint", "x": "double precision", "t": "text", "d": "date", "m": "timestamp"}
BESIDE = {
    "i": [-(2**63), 2**63 - 1, None],
    "x": [float("nan"), float("inf"), 5e-324],
    "t": ["x" * 5_000_000, "", "'=x"],
    "d": ["infinity", "-infinity", "0044-03-15 BC"],
    "m": ["infinity", "-infinity", "294276-12-31"],
}


@pytest.mark.parametrize("fetched", [False, True])
@pytest.mark.parametrize("new", [0, 2_500])
def test_rows_of_postgres_are_read_alone(cluster, fetched, new):
    """Infinite and far dates, 5 MB, more texts than a query would list: counted there, and fetched."""
    plain, _ = typed("us")
    rows = pa.table({n: plain.column(n) for n in POSTGRES})
    cells = {n: [*c, *([None] * new)] for n, c in BESIDE.items()}
    cells["t"][3:] = [f"new {i}" for i in range(new)]
    beside = pa.table(cells)
    both = pa.table(
        {
            n: pa.array([*rows.column(n).to_pylist(), *cells[n]], None)
            if n not in "dm"
            else [*map(text, rows.column(n).to_pylist()), *cells[n]]
            for n in POSTGRES
        }
    )

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
IN_A_CROWD = [
    pytest.param(
        *(SPARK.values if e == "spark" else (e,)),
        n,
        marks=(
            *(SPARK.marks if e == "spark" else ()),
            *([pytest.mark.slow] if (e, n) in (("duckdb", "t"), ("duckdb file", "x")) else []),
        ),
    )
    for e in ENGINES
    for n in "xt"
]


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
        assert WarehousePlace(source, name).name == f"{source.identity}/{name}"
    with pytest.raises(Exception, match="no table 'gone'"):
        counts(WarehousePlace(source, "gone"), schema)


def test_learning_from_a_database_without_rows_goes_through(tmp_path):
    with duckdb.connect(str(tmp_path / "p.duckdb")) as con:
        con.execute("CREATE TABLE people (t VARCHAR, x DOUBLE)")
    schema = parse({"columns": {"t": {"type": "categorical"}, "x": {"type": "float"}}}, complete=False)
    place = WarehousePlace(Engine(f"duckdb:///{tmp_path}/p.duckdb"), "people")
    result = pipeline.learn_schema(
        place, schema=schema, epsilon=1.0, delta=1e-5, dataset="none", ledger=tmp_path / "ledger.sqlite"
    )
    assert result is not None
