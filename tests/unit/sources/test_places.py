"""Runs on tables that are no single file: folders, databases; and rows written in blocks."""

import gzip
import json
import os

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from synth.errors import InputError, UsageError
from synth.pipeline import draw_rows, sample_parts
from synth.pipeline import run as pipeline
from synth.pipeline.sample import sample, sample_to
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SeededNoise
from synth.schema.table import parse
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.formats import csv_files, files
from synth.sources.table_source import ParquetPlace, place_of
from tests.engines import PASSWORD, fill, spark
from tests.made import codes, facts_of, number

SCHEMA = facts_of(a=number(0, 9), b=codes("x", "y"))


def rows(count: int) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({"a": rng.integers(0, 10, count), "b": rng.choice(["x", "y"], count)})


@pytest.fixture
def folder(tmp_path):
    """Two Parquet files, and what Spark leaves beside them."""
    home = tmp_path / "parts"
    home.mkdir()
    pq.write_table(rows(500), home / "part-0.parquet")
    pq.write_table(rows(300), home / "part-1.parquet")
    (home / "_SUCCESS").touch()
    (home / ".part-0.parquet.crc").write_bytes(b"x")
    return home


def run(table, out, **options):
    return pipeline.run(table, schema=parse(SCHEMA), epsilon=8, delta=1e-5, method="independent", out=out, **options)


def test_a_folder_of_parquet_files_is_one_table(folder, tmp_path):
    """At epsilon 8 a cell's noise is about 1: the noisy total of 12 cells is within 40 of the true one."""
    result = run(folder, tmp_path / "out")
    assert abs(result.num_rows - 800) <= 40
    line = next(e for e in Ledger().entries() if e.kind == "spend")
    assert (line.engine, line.dataset) == ("duckdb", "parts")
    assert json.loads((tmp_path / "out" / "card.json").read_text())["engine"] == "duckdb"


def test_files_of_a_folder_must_agree(folder):
    pq.write_table(pa.table({"a": ["1"], "b": ["x"]}), folder / "part-2.parquet")
    with pytest.raises(InputError, match="column a is of another type"):
        ParquetPlace(folder).check_form(["a", "b"])


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(InputError, match="lies in this folder"):
        place_of(tmp_path).check_form(["a"])


def test_a_run_on_a_database_names_the_engine_and_never_the_password(cluster, command, tmp_path):
    """The password stands in the address; no file that the run leaves behind holds it, nor the user."""
    fill(cluster, "people", rows(800), {"a": "bigint", "b": "text"})
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    code, said, stderr = command(
        f"run --source {cluster.address} --table people --schema {tmp_path}/schema.json --epsilon 8 "
        f"--method independent --out {tmp_path}/out --job {tmp_path}/job"
    )
    assert code == 0, stderr
    line = next(e for e in Ledger().entries() if e.kind == "spend")
    assert (line.engine, line.dataset) == ("postgres", f"{cluster.identity}/people")
    assert json.loads((tmp_path / "out" / "card.json").read_text())["engine"] == "postgres"
    left = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()) + (said + stderr).encode()
    left += b"".join(p.read_bytes() for p in Ledger().path.parent.rglob("*") if p.is_file())
    for secret in (PASSWORD, cluster.address.split(":")[2].split("@")[0], "steward:"):
        assert secret.encode() not in left
    assert PASSWORD not in repr(cluster) + repr(WarehousePlace(cluster, "people"))


@pytest.mark.parametrize(
    ("address", "table", "error", "said"),
    [
        ("oracle://u:hush@h/d", "t", UsageError, "no engine of this kind"),
        ("postgres://u:hush@127.0.0.1:1/d", "t", InputError, "cannot be connected to"),
        ("postgres://u:hush@h:port/d", "t", UsageError, "cannot be read"),
        ("duckdb:///nowhere/hush.duckdb", "t", InputError, "no such file"),
        ("duckdb", "absent", InputError, "no table 'absent'"),
    ],
)
def test_faults_of_a_source_are_one_line_without_the_password(address, table, error, said, tmp_path):
    pytest.importorskip("ibis", reason="the extra `databases` is not installed")
    with pytest.raises(error, match=said) as caught:
        run(table, tmp_path / "out", source=address)
    assert "u:hush" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_and_types_of_a_database_are_checked_before_the_spend(cluster, tmp_path):
    fill(cluster, "odd", pa.table({"a": [1]}), {"a": "bigint"})
    with pytest.raises(InputError, match="has no column 'b'"):
        run("odd", tmp_path / "out", source=cluster.address)
    assert not [e for e in Ledger().entries() if e.kind == "spend"]


@pytest.fixture
def model(folder, tmp_path):
    run(folder, tmp_path / "out")
    return tmp_path / "out"


def test_blocks_of_rows_make_one_table(model, tmp_path, monkeypatch):
    """Every block has even proportions of its own, identifiers run on, and a Parquet file has a row group for each."""
    monkeypatch.setattr(draw_rows, "ROWS_AT_A_TIME", 1000)
    whole, _ = sample(model, num_rows=3500, seed=1)
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        assert sample_to(model, tmp_path / name, num_rows=3500, seed=1)[:2] == (3500, 1.0)
        reported = files.read(tmp_path / name)
        for column in whole:
            text = reported.column(column)
            assert text.values[text.codes].tolist() == ["" if pd.isna(v) else str(v) for v in whole[column]]
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups == 4
    with gzip.open(tmp_path / "t.csv.gz", "rt") as file:
        assert sum(line.startswith("a,") for line in file) == 1


def test_a_long_run_writes_blocks_and_reads_its_frame_from_the_file(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(draw_rows, "ROWS_AT_A_TIME", 1000)
    result = run(folder, tmp_path / "out", num_rows=2500, seed=3)
    assert len(result.texts) == 0
    assert result.frame.shape == (2500, 2)
    assert len((tmp_path / "out" / "synthetic.csv").read_text().splitlines()) == 2501


def test_rows_go_back_into_the_database(cluster, model, monkeypatch):
    monkeypatch.setattr(draw_rows, "ROWS_AT_A_TIME", 1000)
    size, _, _ = sample_to(model, None, num_rows=2500, seed=1, source=cluster.address, out_table="made")
    result = Engine(cluster.address)
    assert next(iter(result.rows('SELECT count(*), min(a), max(a) FROM "made"'))) == [(2500, 0, 9)]
    assert size == 2500
    with pytest.raises(InputError, match="exists already"):
        sample_to(model, None, num_rows=5, source=cluster.address, out_table="made")


@pytest.mark.parametrize("kind", ["postgres", "duckdb"])
def test_a_load_that_is_broken_off_leaves_no_table(request, tmp_path, kind):
    """The first parts were sent; called again, the same rows go in."""
    pytest.importorskip("ibis", reason="the extra `databases` is not installed")
    duckdb.connect(str(tmp_path / "made.duckdb")).close()
    at = request.getfixturevalue("cluster").address if kind == "postgres" else f"duckdb://{tmp_path / 'made.duckdb'}"

    def parts(end):
        yield {"n": pa.array(range(1000))}
        yield {"n": pa.array(range(1000))}
        if end:
            raise end

    for end in (KeyboardInterrupt(), OSError("full")):
        with pytest.raises((KeyboardInterrupt, InputError)):
            Engine(at, writing=True).store("broken", parts(end))
        assert "broken" not in Engine(at).tables()
    Engine(at, writing=True).store("broken", parts(None))
    assert next(iter(Engine(at).rows("SELECT count(*), sum(n) FROM broken"))) == [(2000, 999_000)]


def test_texts_that_look_like_the_copys_own_signs_arrive_as_they_are(cluster):
    texts = ["", None, '"', ",", "a,b", "\\.", "\\N", "two\nlines", "NULL", " é ", "\t", '""']
    parts = {
        "t": pa.array(texts),
        "n": pa.array([None, 3, *range(10)]),
        "f": pa.array([0.1, None, *([2.5] * 10)]),
        "d": pa.array([None, 0, *([86_400_000] * 10)]).cast(pa.timestamp("ms")),
    }
    cluster.store("awkward", [parts, parts])
    results = [row for batch in cluster.rows('SELECT t, n, f, d FROM "awkward"') for row in batch]
    wanted = list(zip(*(c.to_pylist() for c in parts.values()), strict=True))
    assert sorted(results, key=repr) == sorted(wanted * 2, key=repr)


def test_a_table_of_another_schema_is_named_with_it(cluster, model, tmp_path):
    """Read, counted in the database, and written; a table whose own name has a point is found first."""
    for name in ("elsewhere", "public"):
        cluster.backend.con.execute(f'CREATE SCHEMA IF NOT EXISTS "{name}"')
    fill(cluster, "club", rows(300), {"a": "bigint", "b": "text"})
    cluster.backend.con.execute("CREATE TABLE elsewhere.club AS SELECT * FROM public.club LIMIT 200")
    cluster.backend.con.execute('CREATE TABLE "elsewhere.odd" AS SELECT * FROM public.club LIMIT 100')
    cluster.backend.con.commit()
    place = {n: WarehousePlace(Engine(cluster.address), n) for n in ("elsewhere.club", "public.club", "elsewhere.odd")}
    result = {n: p.encoded(parse(SCHEMA), SeededNoise(1), person=None, key=b"k" * 16) for n, p in place.items()}
    assert [e.encoded.positions.num_rows for e in result.values()] == [200, 300, 100]
    assert sum(b.table.num_rows for b in place["elsewhere.club"].batches(parse(SCHEMA), [])) == 200
    run("elsewhere.club", tmp_path / "told", source=cluster.address, ledger=tmp_path / "own.sqlite")
    line = [e for e in Ledger(tmp_path / "own.sqlite").entries() if e.kind == "spend"][-1]
    assert line.dataset == f"{cluster.identity}/elsewhere.club"
    assert place["public.club"].name == WarehousePlace(cluster, "club").name  # one table, one budget
    with pytest.raises(InputError, match=r"no table 'elsewhere.absent'.*SCHEMA.TABLE"):
        run("elsewhere.absent", tmp_path / "no", source=cluster.address, dataset="absent")
    sample_to(model, None, num_rows=70, seed=1, source=cluster.address, out_table="elsewhere.made")
    assert next(iter(cluster.rows("SELECT count(*) FROM elsewhere.made"))) == [(70,)]
    with pytest.raises(InputError, match="exists already"):
        sample_to(model, None, num_rows=5, source=cluster.address, out_table="elsewhere.made")


def test_a_table_of_another_schema_of_a_duckdb_file(tmp_path):
    pytest.importorskip("ibis", reason="the extra `databases` is not installed")
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS a, 'x' AS b FROM range(50)")
    place = WarehousePlace(Engine(f"duckdb://{path}"), "s.t")
    result = place.encoded(parse(SCHEMA), SeededNoise(1), person=None, key=b"k" * 16).encoded.positions
    assert result.num_rows == 50
    place.source.store("s.made", [{"a": pa.array([1, 2])}])
    assert next(iter(place.source.rows("SELECT count(*) FROM s.made"))) == [(2,)]


def test_a_cluster_has_an_address_and_a_table_one_name_on_all():
    """The master that an address names; what is charged is the table's, whichever cluster reads it."""
    named = Engine("spark://Master:7077")
    assert (named.shown, named.dialect.name) == ("spark://master:7077", "spark")
    assert WarehousePlace(named, "people").name == WarehousePlace(Engine("spark"), "people").name == "spark/people"
    with pytest.raises(UsageError, match="has no path"):
        Engine("spark://master:7077/people")


@pytest.mark.xdist_group("spark")
@pytest.mark.slow
def test_executors_draw_the_parts_that_a_folder_holds(model, tmp_path, monkeypatch):
    """Whoever draws a part, its rows are the same; a table that is there is refused."""
    engine, name = spark(), f"made_{os.getpid()}"
    monkeypatch.setattr(sample_parts, "rows_at_a_time", lambda _: 400)
    sample_to(model, tmp_path / "drawn", num_rows=1000, seed=3)
    sample_to(model, tmp_path / "executors", num_rows=1000, seed=3, source="spark")
    folders = [{p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in ("drawn", "executors")]
    assert folders[0] == folders[1]  # files, checksums and all
    sample_to(model, None, num_rows=1000, seed=3, source="spark", out_table=name)
    here = ds.dataset(tmp_path / "drawn", format="parquet").to_table().to_pylist()
    there = [row for batch in engine.rows(f"SELECT a, b FROM {name}") for row in batch]
    assert sorted(there) == sorted((r["a"], r["b"]) for r in here)
    assert len(there) == 1000
    with pytest.raises(InputError, match="exists already"):
        sample_to(model, None, num_rows=5, source="spark", out_table=name)
    monkeypatch.setattr(sample_parts, "executors_draw", lambda _: False)
    sample_to(model, None, num_rows=1000, seed=3, source="spark", out_table=f"{name}_here")
    again = [row for batch in engine.rows(f"SELECT a, b FROM {name}_here") for row in batch]
    assert sorted(again) == sorted(there)
    for table in (name, f"{name}_here"):
        engine.backend.raw_sql(f"DROP TABLE {table}")


@pytest.mark.parametrize("given", [{}, {"source": "duckdb"}, {"out_table": "t"}])
def test_rows_go_to_one_place(model, given):
    with pytest.raises(UsageError, match=r"`out(_table)?="):
        sample_to(model, None, num_rows=5, **given)


def test_a_csv_file_is_read_in_parts(tmp_path):
    """Every row once, whatever the size of the parts, and faults are the ones that a check finds."""
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": range(1000), "b": ["x,y"] * 1000}).to_csv(path, index=False)
    parts = list(csv_files.stream(path, ["b", "a"], gathered=1))
    assert pa.concat_tables(parts).column("a").to_pylist() == [str(i) for i in range(1000)]
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(InputError, match="row 3"):
        list(csv_files.stream(path, ["a"]))


def test_postgres_tells_the_keys_it_declares(cluster):
    """A key of two columns in the order of its parts, one by a type of the catalogue that no other table has."""
    con = cluster.backend.con
    with con.cursor() as cursor:
        cursor.execute("""DROP TABLE IF EXISTS people; DROP TABLE IF EXISTS homes;
            CREATE TABLE homes (state text, number int, PRIMARY KEY (number, state));
            CREATE TABLE people (pid int PRIMARY KEY, st text, home int, boss int REFERENCES people,
                                 FOREIGN KEY (st, home) REFERENCES homes (state, number))""")
    con.commit()
    assert {str(k) for k in cluster.declared_keys()} == {"people.st+home=homes.state+number", "people.boss=people.pid"}
