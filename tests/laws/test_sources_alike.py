"""Neighbouring tables of every source: what a run or the learning of a schema shows is equal where no noise covers it.

Shown are the exit code, the message, notes, warnings, what is printed, names and sizes of files. One table holds what
its source can do worst, in front of the others; its neighbour does not.
"""

import contextlib
import datetime as dt
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import synth
from synth.evaluate.audit.observed_runs import Observation, observed_run
from synth.pipeline.request import RunRequest
from synth.privacy.ledger.ledger import Ledger
from synth.sources.formats import files
from tests.engines import fill, spark

COLUMNS = {
    "t": {"type": "categorical", "categories": ["a", "b"]},
    "n": {"type": "integer", "min": 0, "max": 7},
    "x": {"type": "float", "min": 0, "max": 1.5, "decimals": 1},
    "d": {"type": "datetime", "min": "2020-01-01", "max": "2020-01-08", "nullable": True},
}  # so few positions that what is asked next follows from no answer
ROWS = 120
BASE = {"t": ["a", "b"], "n": [1, 2], "x": [0.5, 1.0], "d": [dt.date(2020, 1, 2), dt.date(2020, 1, 7)]}
KINDS = {"t": pa.string(), "n": pa.int64(), "x": pa.float64(), "d": pa.date32()}
IN_POSTGRES = {"t": "text", "n": "bigint", "x": "double precision", "d": "date"}
TEXT = {"t": "SENTINEL" + "x" * 300_000, "n": "SENTINEL 1e999", "x": "-infinity", "d": "-infinity"}
ENDS = {"t": "SENTINEL'=\0" + "x" * 300_000, "n": -(2**63), "x": float("nan"), "d": dt.date(9999, 12, 31)}
OBJECTS = {"t": ["SENTINEL"], "n": 10**400, "x": float("inf"), "d": pd.Timestamp.min}
LEAST = {"t": None, "n": None, "x": None, "d": None}
LABELLED = ["dta", "sav", "xpt"]
WORST = {"t": "SENTINEL'=" + "x" * 3000, "n": -(2**52), "x": float("nan"), "d": dt.date(9999, 12, 31)}
ODD = {
    **{kind: [WORST, LEAST] for kind in LABELLED},
    "csv": [TEXT, dict.fromkeys(TEXT, "\0")],
    "csv.gz": [TEXT],
    "xlsx": [TEXT | {"t": "=SENTINEL()"}, LEAST],
    "parquet": [ENDS, LEAST],
    "frame": [OBJECTS, LEAST],
    "duckdb": [ENDS, LEAST],
    "spark": [ENDS, LEAST],
    "sqlite": [TEXT, LEAST, dict.fromkeys(TEXT, b"SENTINEL\0\xff"), {**LEAST, "n": -(2**63), "x": float("inf")}],
    "postgres": [{**ENDS, "t": TEXT["t"], "d": "infinity"}, {**LEAST, "d": "0044-03-15 BC"}],
}


def cells(odd: dict | None) -> dict[str, list]:
    """Ordinary rows, and in front of them an odd one."""
    return {n: [*([odd[n]] if odd else []), *(c * (ROWS // 2))] for n, c in BASE.items()}


def written(kind: str, odd: dict | None, place: Path, request) -> tuple[object, str | None]:
    """(table, source), as `synth.run` takes them."""
    frame = pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in cells(odd).items()})
    if kind == "frame":
        return frame, None
    if kind in ("csv", "csv.gz"):
        frame.to_csv(place / f"t.{kind}", index=False)
        return place / f"t.{kind}", None
    if kind == "xlsx":
        frame.to_excel(place / "t.xlsx", index=False)
        return place / "t.xlsx", None
    if kind in LABELLED:
        files.write(place / f"t.{kind}", {n: pa.array(c, KINDS[n]) for n, c in cells(odd).items()})
        return place / f"t.{kind}", None
    if kind == "postgres":
        engine = request.getfixturevalue("cluster")
        fill(engine, "people", pa.table({n: frame[n].astype(object).map(_word) for n in frame}), IN_POSTGRES)
        return "people", engine.address
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(place / "t.db")) as con, con:
            con.execute("CREATE TABLE people (t TEXT, n INTEGER, x REAL, d TEXT)")
            rows = [[str(v) if isinstance(v, dt.date) else v for v in row] for row in frame.to_numpy().tolist()]
            con.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
            if odd is not None and isinstance(odd["t"], bytes):  # bytes that call themselves a text, too
                con.execute("UPDATE people SET d = CAST(t AS TEXT) WHERE typeof(t) = 'blob'")
        return "people", f"sqlite:///{place / 't.db'}"
    table = pa.table({n: pa.array(c, KINDS[n]) for n, c in cells(odd).items()})
    pq.write_table(table, place / "t.parquet")
    if kind == "duckdb":
        with duckdb.connect(place / "t.duckdb") as con:
            con.execute(f"CREATE TABLE people AS SELECT * FROM '{place / 't.parquet'}'")
        return "people", f"duckdb:///{place / 't.duckdb'}"
    return place / "t.parquet", spark().address if kind == "spark" else None


def _word(cell: object) -> str | None:
    return None if cell is None else str(cell)


@contextlib.contextmanager
def folder(tmp_path: Path, name: str) -> Iterator[Path]:
    place = tmp_path / name
    place.mkdir()
    yield place.resolve()


def ran(kind: str, odd: dict | None, place: Path, request) -> Observation:
    table, source = written(kind, odd, place, request)
    request = RunRequest(method="independent", epsilon=1.0, delta=1e-5)
    return observed_run(table, source, request, synth.Schema.parse({"columns": COLUMNS}), place)


def shown(reported: Observation) -> dict:
    """All texts but the digests of noised files, and sizes of what no noise changes."""
    texts = {n: t for n, t in reported.texts.items() if "sha256" not in n or "schema" in n}
    same = ("schema.json", "release.safetensors", "model.safetensors", "request.json")
    return {**texts, **{n: v for n, v in reported.numbers.items() if n.startswith("size of") and n.endswith(same)}}


SLOW = pytest.param("spark", marks=pytest.mark.slow)  # half a minute


@pytest.mark.parametrize("kind", [k if k != "spark" else SLOW for k in ODD])
@pytest.mark.long
def test_a_run_shows_the_same_of_neighbours(kind, tmp_path, request):
    reported = []
    for i, odd in enumerate([None, *ODD[kind]]):
        with folder(tmp_path, str(i)) as place:
            reported.append(ran(kind, odd, place, request))
    assert reported[0].texts["exit code"] == "0", reported[0].texts["message"]
    assert len(shown(reported[0])) > 50
    for other in reported[1:]:
        assert shown(other) == shown(reported[0])
        assert "SENTINEL" not in "".join(other.texts.values())


def learnt(kind: str, odd: dict | None, place: Path, request, command, monkeypatch) -> dict:
    """What `synth schema learn` shows, or `synth.learn_schema` where the table is a frame."""
    table, source = written(kind, odd, place, request)
    monkeypatch.setenv("SYNTH_HOME", str(place / "home"))
    monkeypatch.setenv("SYNTH_LEDGER", str(place / "ledger.sqlite"))
    facts = {"columns": {n: {"type": c["type"]} for n, c in COLUMNS.items()}}
    (place / "kinds.json").write_text(json.dumps(facts))
    if kind == "frame":
        synth.learn_schema(
            table, schema=synth.Schema.load(place / "kinds.json", complete=False), epsilon=2.0, delta=1e-6, dataset="d"
        )
        code, out, err = 0, "", ""
    else:
        at = ["--source", source] if source else []
        code, out, err = command(
            f"schema learn {table}",
            *at,
            "--schema",
            place / "kinds.json",
            "--epsilon",
            2,
            "--delta",
            1e-6,
            "--dataset",
            "d",
            "--out",
            place / "learnt.json",
        )
    lines = [(e.kind, e.epsilon, e.delta, e.dataset) for e in Ledger(place / "ledger.sqlite").entries()]
    files = sorted(str(p.relative_to(place)) for p in place.rglob("*") if p.is_file() and p.name[:2] != "t.")
    return {
        "code": code,
        "ledger": lines,
        "files": files,
        "out": out.replace(str(place), "PLACE"),
        "err": err.replace(str(place), "PLACE"),
    }


@pytest.mark.parametrize("kind", [k if k != "spark" else SLOW for k in ODD])
@pytest.mark.long
def test_learning_shows_the_same_of_neighbours(kind, tmp_path, request, command, monkeypatch):
    reported = []
    for i, odd in enumerate([None, *ODD[kind]]):
        with folder(tmp_path, str(i)) as place:
            reported.append(learnt(kind, odd, place, request, command, monkeypatch))
    assert reported[0]["code"] == 0, reported[0]["err"]
    assert reported[0]["ledger"][0][0] == "spend"
    for other in reported[1:]:
        assert other == reported[0]
