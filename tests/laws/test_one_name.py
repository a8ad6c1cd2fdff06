"""Two columns that are one to some engine are refused by every reader, before the spend, in the schema as in the rows.

DuckDB, Spark and SQLite take PID for pid, so that one was read in the other's place: another column said whose rows are
whose, or a private one passed through as a public one.
"""

import contextlib
import sqlite3
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import synth
from synth.errors import InputError
from synth.privacy.ledger.ledger import Ledger
from synth.schema import dataset as datasets
from synth.schema.table import parse
from synth.sources.named_databases import place as placed
from synth.sources.named_databases import whole
from tests.engines import SPARK, spark
from tests.made import ID, codes, facts_of

SCHEMA = facts_of(pid=ID, sex=codes("f", "m")) | {"unit": "pid", "max_rows": 1}
OPEN = {**SCHEMA, "columns": {**SCHEMA["columns"], "sex": {"type": "categorical"}}}
PAIRS = [
    ("pid", "PID"),
    ("sex", "Sex"),
    ("pid", "\uff50\uff49\uff44"),
    ("other \u00c9", "other \u00e9"),
    ("pid", "pid "),
    ("x", "X"),
]
FILES = ["frame", "csv", "xlsx", "parquet", "folder", "later part", "duckdb:", "duckdb: folder", "sqlite"]


def columns_with(pair):
    """The schema's columns, and both of the pair."""
    return list(dict.fromkeys(["pid", "sex", *pair]))


def table_with(names, rows=40):
    return pd.DataFrame(
        {n: [f"{n}{i}" for i in range(rows)] if n != "sex" else ["f", "m"] * (rows // 2) for n in names}
    )


def written(kind, pair, folder):
    """A table with both columns, (table, source)."""
    frame = table_with(columns_with(pair))
    if kind == "frame":
        return frame, None
    if kind == "csv":
        frame.to_csv(folder / "t.csv", index=False)
        return folder / "t.csv", None
    if kind == "xlsx":
        frame.to_excel(folder / "t.xlsx", index=False)
        return folder / "t.xlsx", None
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(folder / "t.db")) as con, con:
            con.execute(f"CREATE TABLE t ({', '.join(chr(34) + n + chr(34) for n in frame)})")
        return "t", f"sqlite:///{folder / 't.db'}"
    parts = folder / "parts"
    parts.mkdir()
    plain = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(plain.select(["pid", "sex"]) if kind == "later part" else plain, parts / "a.parquet")
    if kind != "parquet":
        pq.write_table(plain, parts / "b.parquet")
    engine = kind.partition(" ")[0]
    return parts, engine if engine in ("duckdb:", "spark") else None


def is_refused(table, source, pair, folder):
    """By run, learning and the draft, in one sentence with both names; the ledger stays as it was."""
    ledger = folder / "ledger.sqlite"
    asked = {"source": source, "epsilon": 1.0, "delta": 1e-5, "ledger": ledger, "dataset": "one"}
    for ask in (
        lambda: synth.run(table, schema=parse(SCHEMA), **asked, out=folder / "out"),
        lambda: synth.learn_schema(table, schema=parse(OPEN, complete=False), **asked),
        lambda: whole(table, source) if isinstance(table, (str, Path)) else synth.draft(table),
    ):
        with pytest.raises(InputError, match="one name") as told:
            ask()
        assert all(repr(n.strip()) in str(told.value) or repr(n) in str(told.value) for n in pair)
    assert not ledger.exists() or not Ledger(ledger).entries()


@pytest.mark.parametrize("pair", PAIRS, ids=ascii)
@pytest.mark.parametrize("kind", FILES)
def test_a_table_with_two_columns_of_one_name_is_refused_before_the_spend(kind, pair, tmp_path):
    if kind == "sqlite" and pair[0].isascii() and pair[1].isascii() and pair[0] != pair[1].strip():
        pytest.skip("SQLite itself has no such table")
    is_refused(*written(kind, pair, tmp_path), pair, tmp_path)


def test_postgres_and_its_tables_are_asked_the_same(cluster, tmp_path):
    con = cluster.backend.con
    for pair in (("pid", "PID"), ("sex", "Sex"), ("x", "X")):
        with con.cursor() as cursor:
            cursor.execute('DROP TABLE IF EXISTS "twins"')
            cursor.execute(
                f'CREATE TABLE "twins" ({", ".join(chr(34) + n + chr(34) + " text" for n in columns_with(pair))})'
            )
        con.commit()
        is_refused("twins", cluster.address, pair, tmp_path)


@pytest.mark.parametrize("kind", [SPARK])
def test_spark_is_not_asked_which_it_takes(kind, tmp_path):
    spark()
    is_refused(*written(f"{kind} folder", ("pid", "PID"), tmp_path), ("pid", "PID"), tmp_path)


@pytest.mark.parametrize("engine", [None, "duckdb:", SPARK])
def test_parts_whose_names_differ_in_capitals_are_not_one_table(engine, tmp_path):
    """The rows of the second part would be nobody's, each a unit of its own."""
    if engine == "spark":
        spark()
    for name, unit in (("a", "pid"), ("b", "PID")):
        table_with([unit, "sex"]).to_parquet(tmp_path / f"{name}.parquet")
    place = placed(tmp_path, engine)
    with pytest.raises(InputError, match="no column 'pid'"):
        place.check_form(["pid", "sex"])


@pytest.mark.parametrize("pair", PAIRS, ids=ascii)
def test_a_schema_cannot_name_both(pair):
    columns = {n: SCHEMA["columns"].get(n, {"type": "omitted"}) for n in columns_with(pair)}
    with pytest.raises(InputError, match="one name"):
        parse({**SCHEMA, "columns": columns})


@pytest.mark.parametrize("name", ["row", "Row"])
def test_no_table_or_person_is_called_as_a_row_by_itself_is(name):
    """The card would state the guarantee of one row where that of a person with all rows is meant, or the reverse."""
    key = ID
    tables = {
        name: facts_of(id=key, x=SCHEMA["columns"]["sex"]),
        "visits": facts_of(id=key, y=SCHEMA["columns"]["sex"]),
    }
    keys = [{"parent": name, "child": "visits", "columns": ["id"], "most_children": 3}]
    with pytest.raises(InputError, match="rename the table"):
        datasets.parse_related({"tables": tables, "keys": keys})
    columns = {"row": key, "sex": SCHEMA["columns"]["sex"]}
    with pytest.raises(InputError, match="rename the column"):
        parse({"unit": "row", "columns": columns})
    assert parse({"columns": columns}).person is None
