"""Databases by name: passwords are read by whoever connects, and stand nowhere else."""

import json

import duckdb
import pyarrow.parquet as pq
import pytest

from synth.app_api import databases
from synth.cli.options import address
from synth.errors import InputError, UsageError
from tests.made import python

SECRET = "s3cr&t/of:the@steward"


@pytest.fixture
def people(tmp_path):
    """A DuckDB file with a table of 200 people."""
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE club AS SELECT 20 + i % 60 AS age, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS team "
            "FROM range(200) AS t(i)"
        )
    return f"duckdb://{path}"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Writes the file of databases and names it."""

    def written(text: str) -> None:
        place = tmp_path / "sources.toml"
        place.write_text(text)
        monkeypatch.setenv("SYNTH_SOURCES", str(place))

    return written


@pytest.mark.parametrize("how", ["password_file", "password_env"])
def test_a_password_is_put_into_the_address_by_whoever_connects(file, tmp_path, monkeypatch, how):
    (tmp_path / "pw").write_text(f"{SECRET}\n")
    monkeypatch.setenv("CENSUS", SECRET)
    named = tmp_path / "pw" if how == "password_file" else "CENSUS"
    file(f'[census]\naddress = "postgres://ann@db.example:5433/census?sslmode=require"\n{how} = "{named}"')
    result = databases.Engine(databases.address("@census"))
    assert result._parts.password == databases.quote(SECRET, safe="")
    assert result.shown == databases.databases()[0].shown == "postgres://db.example:5433/census"
    assert SECRET not in repr(result) + str(databases.databases())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("census = 3", "census: must be a valid dictionary"),
        ('[census]\naddress = "postgres://ann:hush@db/census"', "leave the password out"),
        ('[census]\naddress = "postgres://ann@db/census?password=hush"', "leave the password out"),
        ('[census]\naddress = "mysql://ann@db/census"', "no engine"),
        ('[census]\naddress = "spark"\nuser = "ann"', "census.user: is not known here"),
        ('[census]\naddress = "spark"\npassword_file = "a"\npassword_env = "b"', "file or variable"),
        ('[census]\naddress = "spark"\npeople = "ann"', "census.people: must be a valid list"),
        ('[census]\naddress = "spark"\nmay_write = "yes"', "census.may_write: must be a valid boolean"),
        ("a = = b", "not a TOML file"),
    ],
)
def test_a_faulty_file_is_refused_without_its_secrets(file, text, words):
    file(text)
    with pytest.raises(InputError, match=words) as reported:
        databases.databases()
    assert "hush" not in str(reported.value)


def test_a_name_that_nobody_listed_or_a_secret_that_is_not_there_is_refused(file, tmp_path, monkeypatch):
    file('[census]\naddress = "postgres://ann@db/census"\npassword_env = "NOT_SET"')
    monkeypatch.delenv("NOT_SET", raising=False)
    for name, words in (("@town", "no database of this name"), ("@census", "NOT_SET is not set")):
        with pytest.raises(InputError, match=words):
            databases.address(name)
    file(f'[census]\naddress = "postgres://ann@db/census"\npassword_file = "{tmp_path / "absent"}"')
    with pytest.raises(InputError, match="password_file cannot be read"):
        databases.address("@census")


def test_who_may_use_a_database_and_write_to_it(file):
    file('[a]\naddress = "spark"\npeople = ["ANN@x.org", "*@y.org"]\nmay_write = true\n[b]\naddress = "spark"')
    a, b = databases.databases()
    assert [a.open_to(p) for p in ("ann@x.org", "bob@y.org", "bob@x.org")] == [True, True, False]
    assert b.open_to("bob@x.org")
    assert (a.may_write, b.may_write) == (True, False)


def test_tables_are_listed_drafted_checked_and_fetched(people, tmp_path):
    assert databases.tables(people) == ["club"]
    assert databases.whole("club", people)[0].names == ("age", "team")
    databases.place("club", people).check_form(["age"])
    databases.fetch(people, "club", tmp_path / "copy.parquet", columns=["team"])
    copy = pq.read_table(tmp_path / "copy.parquet")
    assert (copy.num_rows, copy.column_names) == (200, ["team"])
    assert (tmp_path / "copy.parquet").stat().st_mode & 0o077 == 0


def test_a_folder_of_parquet_files_is_drafted_and_fetched_as_one_table(people, tmp_path):
    databases.fetch(people, "club", tmp_path / "one.parquet", columns=["age", "team"])
    (tmp_path / "parts").mkdir()
    for i in range(2):
        (tmp_path / "parts" / f"{i}.parquet").write_bytes((tmp_path / "one.parquet").read_bytes())
    assert databases.whole(tmp_path / "parts", None)[0].num_rows == 400
    databases.fetch(None, str(tmp_path / "parts"), tmp_path / "copy.parquet", columns=["age"])
    assert pq.read_table(tmp_path / "copy.parquet").num_rows == 400


def test_an_absent_database_is_told_in_one_line(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        databases.tables(f"duckdb://{tmp_path}/absent.duckdb")
    with pytest.raises(UsageError, match="no engine"):
        databases.tables("mysql://db/census")


def test_the_command_line_takes_a_name_for_an_address(people, file, tmp_path):
    file(f'[town]\naddress = "{people}"')
    assert address("@town") == people
    assert address("spark") == "spark"
    done = python(*["-m", "synth", "schema", "init", "club", "--source", "@town", "--out"], tmp_path / "s.json")
    assert done.returncode == 0, done.stderr
    assert set(json.loads((tmp_path / "s.json").read_text())["columns"]) == {"age", "team"}


@pytest.mark.parametrize("kind", ["csv", "duckdb"])
def test_a_long_table_is_drafted_from_rows_spread_over_it(tmp_path, kind):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as con:
        con.execute("CREATE TABLE t AS SELECT i FROM range(100000) AS r(i)")
        con.execute(f"COPY t TO '{tmp_path}/t.csv' (HEADER)")
    asked = (tmp_path / "t.csv", None) if kind == "csv" else ("t", f"duckdb://{tmp_path}/t.duckdb")
    result, notes = databases.whole(*asked, few=1000)
    assert 1000 <= result.num_rows <= 2000
    assert "one row in 64" in notes[0]
    values = sorted(int(v) for v in result.column("i").values)
    assert (values[0], values[-1]) == (0, 99968)
    assert databases.whole(*asked, few=100_000)[1] == []
