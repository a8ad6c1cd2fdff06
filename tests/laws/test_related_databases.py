"""Related tables in databases: the same counts and the same released bytes as from files, and trees are read alone."""

import sqlite3
from itertools import count

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synth.errors import InputError
from synth.pipeline.charge import ChargedRun
from synth.pipeline.prepare import Context, prepare
from synth.pipeline.request import RunRequest
from synth.privacy.ledger.row_marks import NOBODY
from synth.privacy.noise import SeededNoise
from synth.sources.engines.sqlite import SqliteFile, SqlitePlace
from tests.engines import fill
from tests.laws.related_trees import HOSTILE, ROWS, SCHEMA, beside, both, counts

NUMBERS = count()
TEXT = {"id": "text", "event": "text", "x": "text", "n": "text", "day": "text", "f": "text"}


def stored(kind, tables, folder, request):
    """The address of a database that holds the tables as texts."""
    frames = {t: pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in cs.items()}) for t, cs in tables.items()}
    if kind == "postgres":
        engine = request.getfixturevalue("cluster")
        for name, frame in frames.items():
            fill(engine, name, pa.table({n: pa.array(frame[n], pa.string()) for n in frame}), TEXT)
        return engine.address
    path = folder / f"t{next(NUMBERS)}.{kind}"
    if kind == "sqlite":
        with sqlite3.connect(path) as base:
            for name, frame in frames.items():
                frame.to_sql(name, base, index=False)
        return f"sqlite:///{path}"
    with duckdb.connect(str(path)) as base:
        for name, frame in frames.items():
            columns = pa.table({n: pa.array(frame[n], pa.string()) for n in frame})  # noqa: F841
            base.execute(f"CREATE TABLE {name} AS SELECT * FROM columns")
    return f"duckdb:///{path}"


KINDS = ["sqlite", "duckdb", pytest.param("postgres", marks=pytest.mark.long)]


@pytest.mark.parametrize("hostile", ["numbers", "decimals", "dates", "blank"])
@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_files_and_trees_are_read_alone(kind, hostile, tmp_path, request):
    """Beside rows and orphans with hostile texts the trees count what they count alone, in frames and in databases."""
    other = beside(HOSTILE[hostile])
    frames = [{t: pd.DataFrame(c, dtype=object) for t, c in one.items()} for one in (ROWS, other, both(ROWS, other))]
    reported = [counts(frame) for frame in frames]
    results = [counts(None, stored(kind, one, tmp_path, request)) for one in (ROWS, other, both(ROWS, other))]
    for there, here in zip(results, reported, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(there, here, strict=True))
    for table, rest, whole in zip(*results, strict=True):
        assert np.array_equal(table + rest, whole)
    assert sum(t.sum() for t in results[0]) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_under_the_same_noise_a_release_has_the_same_bytes(kind, tmp_path, request):
    source = stored(kind, ROWS, tmp_path, request)
    frames = {t: pd.DataFrame(c, dtype=object) for t, c in ROWS.items()}
    reported = []
    for rows, at in ((frames, None), (None, source)):
        asked = RunRequest(
            source=at, epsilon=4.0, delta=1e-5, num_rows=5, seed=1, separate=True, device="cpu", dataset="trees"
        )
        run = ChargedRun(prepare(asked, SCHEMA, Context(rows=rows)), Context(noise=SeededNoise(2), audience=NOBODY))
        with run.charged():
            releases, _ = run.measure()
        reported.append([v.tobytes() for r in releases for v in r.values])
    assert reported[0] == reported[1]
    assert len(reported[0]) > 10


def test_cells_of_other_types_than_their_column_says_are_texts(tmp_path):
    """SQLite keeps any cell in any column: none of them ends the reading, each is what it is."""
    with sqlite3.connect(tmp_path / "odd.db") as base:
        base.execute('CREATE TABLE t (a INTEGER, "b ""c" TEXT)')
        odd = [(1, "x"), ("word", 2.5), (b"\xff", None), (0.1, 1e300), (2**62, "\0"), (float("inf"), "\ud7ff")]
        base.executemany("INSERT INTO t VALUES (?, ?)", odd)
        base.execute("INSERT INTO t VALUES (CAST(x'ff41' AS TEXT), 1.0)")
    place = SqlitePlace(SqliteFile(f"sqlite:///{tmp_path}/odd.db"), "t")
    place.check_form(["a", 'b "c'])
    table = place.read(["a", 'b "c'])
    texts = [[column.values[i] for i in column.codes] for column in map(table.column, ("a", 'b "c'))]
    assert texts[0] == ["1", "word", "(bytes)", "0.1", str(2**62), "Inf", "\ufffdA"]
    assert texts[1] == ["x", "2.5", "", "1.0e+300", "\0", "\ud7ff", "1.0"]


def test_what_is_no_database_or_has_no_such_table_is_told_in_one_line(tmp_path, command):
    (tmp_path / "schema.json").write_text(SCHEMA.to_json())
    (tmp_path / "text.db").write_text("no database " * 100)
    with sqlite3.connect(tmp_path / "empty.db") as base:
        base.execute("CREATE TABLE roots (id TEXT)")
    for name, reported in (("none.db", "no such file"), ("text.db", "cannot be read"), ("empty.db", "no column")):
        code, _, said = command(
            f"run --source sqlite:///{tmp_path}/{name} --schema {tmp_path}/schema.json --epsilon 1 --out {tmp_path}/out"
        )
        assert (code, reported in said) == (2, True), said
    with pytest.raises(InputError, match="no table 'events'"):
        SqlitePlace(SqliteFile(f"sqlite:///{tmp_path}/empty.db"), "events").check_form(["id"])
