"""A database file is somebody's program: its views reach no file, no network and no extension, whatever they try."""

import socket
import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.errors import InputError
from synth.schema.table import parse
from synth.sources import named_databases
from synth.sources.engines import duckdb as files_engine
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace

pytest.importorskip("ibis", reason="the extra `databases` is not installed")
SCHEMA = parse({"columns": {"a": {"type": "integer", "min": 0, "max": 99, "source": "public"}}})
SLY = {  # what a view may try, by what it is
    "a file": "SELECT content AS a FROM read_text('{file}')",
    "a list of files": "SELECT file AS a FROM glob('{folder}/*')",
    "a table of another file": "SELECT a FROM read_csv('{file}', header = false, names = ['a'], all_varchar = true)",
}
TRIED = [
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET autoinstall_known_extensions = true",
    "ATTACH '{folder}/other.duckdb'",
    "COPY people TO '{folder}/out.csv'",
    "CREATE TABLE more (a INTEGER)",
    "DELETE FROM people",
    "SELECT * FROM '{file}'",
    "EXPORT DATABASE '{folder}/all'",
    "RESET lock_configuration",
]


@pytest.fixture
def database(tmp_path) -> Path:
    """A table, and a view for each thing to try."""
    (tmp_path / "secret.txt").write_text("1\n2\n")
    path = tmp_path / "it's [1].duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE people AS SELECT 7 AS a FROM range(5)")
        for name, query in SLY.items():
            con.execute(f'CREATE VIEW "{name}" AS {query.format(file=tmp_path / "secret.txt", folder=tmp_path)}')
    return path


@pytest.mark.parametrize("view", SLY)
def test_a_view_reads_no_file(database, view):
    with duckdb.connect(str(database), read_only=True) as con:  # it would, in a connection as DuckDB makes it
        assert con.execute(f'SELECT count(*) FROM "{view}"').fetchone() != (0,)
    place = WarehousePlace(Engine(f"duckdb://{database}"), view)
    with pytest.raises(InputError):
        place.read(["a"])
    with pytest.raises(InputError):
        place.encoded(SCHEMA, None, person=None, key=b"k" * 16)


def test_a_view_asks_no_address():
    """Neither now, nor by having an extension fetched for it: nobody knocks at the door."""
    knocks: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(2)

        def listen() -> None:
            try:
                knocks.append(door.accept()[0].recv(64))
            except TimeoutError:
                return

        waiting = threading.Thread(target=listen)
        waiting.start()
        address = f"http://127.0.0.1:{door.getsockname()[1]}/people.csv"
        engine = Engine("duckdb")
        with pytest.raises(InputError):
            list(engine.rows(f"SELECT * FROM read_csv('{address}')"))
        waiting.join()
    assert knocks == []


@pytest.mark.parametrize("statement", TRIED)
def test_the_connection_stays_closed(database, statement, tmp_path):
    engine = Engine(f"duckdb://{database}")
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(InputError, match="the engine could not answer"):
        list(engine.rows(statement.format(file=tmp_path / "secret.txt", folder=tmp_path)))
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert next(iter(engine.rows("SELECT count(*) FROM people"))) == [(5,)]


def test_only_the_named_parquet_files_are_read(tmp_path):
    """Also beside signs that DuckDB takes for patterns, quotes among them."""
    for name in ("x[1]'.parquet", "x1'.parquet"):
        pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / name)
    named = tmp_path / "x[1]'.parquet"
    with files_engine.connect([named]) as con:
        for other in ("x1'.parquet", "secret.csv"):
            with pytest.raises(duckdb.PermissionException):
                con.read_parquet([str(tmp_path / other)]).fetchall()
        with pytest.raises(duckdb.InvalidInputException):
            con.execute("SET enable_external_access = true")
    place = WarehousePlace(Engine("duckdb"), str(named))
    assert place.rows_there == 3
    with pytest.raises(InputError):
        list(place.asked.rows(f"SELECT * FROM read_parquet('{tmp_path}/x1''.parquet')"))


def test_a_table_wins_over_a_file_of_its_name(tmp_path, monkeypatch):
    """In whatever schema it lies."""
    monkeypatch.chdir(tmp_path)
    for name in ("t.parquet", "s.t.parquet", "people"):
        pq.write_table(pa.table({"a": [1]}), name)
    with duckdb.connect("d.duckdb") as con:
        con.execute('CREATE SCHEMA s; CREATE TABLE "t.parquet" AS SELECT 2 AS a FROM range(2)')
        con.execute('CREATE TABLE s."t.parquet" AS SELECT 3 AS a FROM range(3)')
    source = f"duckdb://{tmp_path}/d.duckdb"
    results = [named_databases.place(name, source).read(["a"]).num_rows for name in ("t.parquet", "s.t.parquet")]
    assert results == [2, 3]
    assert named_databases.place("./t.parquet", source).read(["a"]).num_rows == 1
    with pytest.raises(InputError, match="no table 'people'"):
        named_databases.place("people", source).read(["a"])


@pytest.mark.parametrize("stem", ["memory", "temp", "system", "main", 'a"b;c'])
def test_a_file_of_any_name(tmp_path, stem):
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{tmp_path}/{stem}.duckdb' AS d; CREATE TABLE d.people AS SELECT 1 AS a")
    assert WarehousePlace(Engine(f"duckdb://{tmp_path}/{stem}.duckdb"), "people").rows_there == 1


def test_two_read_one_file_and_a_third_writes_when_they_are_done(database):
    first, second = (Engine(f"duckdb://{database}") for _ in range(2))
    assert first.tables() == second.tables()
    with pytest.raises(InputError, match="nobody writes to meanwhile"):
        first.store("made", [{"a": pa.array([1])}])
    second.close()
    first.store("made", [{"a": pa.array([1])}])
    assert "made" in first.tables()


def test_postgres_is_asked_and_not_written_to(cluster):
    cluster.backend.con.execute("CREATE TABLE people AS SELECT 1 AS a")
    cluster.backend.con.commit()
    reader = Engine(cluster.address)
    for statement in ("DELETE FROM people", "CREATE TABLE more (a int)"):
        with pytest.raises(InputError, match="could not answer"):
            list(reader.rows(statement))
    assert next(iter(Engine(cluster.address).rows("SELECT count(*) FROM people"))) == [(1,)]
    reader.close()
