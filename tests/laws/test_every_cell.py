"""A cell of any type at its ends, or beyond, changes no other row, no message and no exit code: every source and type.

A type may be refused, by its name and before a cell is looked at: then a table of ordinary cells is refused alike.
"""

import gc
import json

import numpy as np
import pytest

from synth.errors import InputError
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SeededNoise
from synth.questions import Bins
from synth.schema.dataset import parse_related
from synth.schema.table import Schema
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.related_tables import places, read
from synth.sources.rows.forest import link
from tests.engines import SPARK, fill, spark
from tests.laws import every_cell
from tests.laws.every_cell import CASES, KINDS, SCHEMA, WRITERS, every_kind, parquet

LISTS = ["list", "list of texts", "list of structs", "large list", "list of one length", "LIST", "array"]
NESTED = ["struct", "struct of structs", "map", "STRUCT", "MAP", "composite"]
BYTES = ["bytes", "bytes of one length", "listed bytes", "BLOB", "bytea"]
TIMES = ["zoned", "clock", "clock of 32 bits", "duration", "TIMESTAMPTZ", "timestamptz"]
REFUSED = {*LISTS, *NESTED, *BYTES, *TIMES}  # types that some source has no reading of: by their name, never by a cell

NOT_SPARKS = {"float16", "wide decimal", "time ms", "time ns"}  # Spark opens no file that has such a column


def written(source, folder, kind, cells, request):
    folder.mkdir()
    if source == "spark":
        return WarehousePlace(spark(), str(parquet(folder, "people", every_kind(kind, cells))))
    if source == "postgres":
        engine = request.getfixturevalue("cluster")
        columns = every_cell.pa.table({n: every_cell.pa.array(cells, every_cell.pa.string()) for n in KINDS})
        fill(engine, "people", columns, dict.fromkeys(KINDS, str(kind)))
        return WarehousePlace(engine, "people")
    return WRITERS[source](folder, "people", every_kind(kind, cells))


def looked(place):
    """What is seen of a table: exact counts of each column, and the texts that learning and keys are made of."""
    try:
        place.check_form(KINDS)
    except InputError as refused:
        return str(refused)
    opened = place.under(SCHEMA).encoded(SCHEMA, SeededNoise(1), person=None, key=b"k" * 16)
    counts = opened.encoded.positions.counts([[Bins.each(n, SCHEMA.columns[n].cells)] for n in KINDS])
    table = place.under(SCHEMA).read(KINDS)
    raw = {n: [] for n in KINDS}
    for batch in place.under(SCHEMA).batches(Schema(columns={}), KINDS):  # as keys are read
        for name in KINDS:
            column = batch.table.column(name)
            raw[name] += column.values[column.codes].tolist()
    texts = {n: table.column(n).values[table.column(n).codes].tolist() for n in KINDS}
    for name in KINDS:
        for text in {*texts[name], *raw[name]}:
            text.encode()  # every text is one
    return counts, texts, raw


def law(source, name, tmp_path, request):
    kind, ordinary, hostile = CASES[source][name]
    results = []
    gc.collect()  # a connection of an earlier test's must not be in the way of this
    for i, cells in enumerate((ordinary, hostile, [*ordinary, *hostile])):
        results.append(looked(written(source, tmp_path / str(i), kind, cells, request)))
    alone, beside, both = results
    if isinstance(alone, str):
        assert name in REFUSED or (source == "spark" and name in NOT_SPARKS), alone
        assert [f.replace(f"/{i}/", "/0/") for i, f in enumerate(results)] == [alone] * 3
        return
    for a, b, c in zip(alone[0], beside[0], both[0], strict=True):
        assert np.array_equal(a + b, c)
        assert a.sum() == len(ordinary)
    for texts, mixed in zip(alone[1:], both[1:], strict=True):
        for n in KINDS:
            assert mixed[n][: len(ordinary)] == texts[n]


FIRST = {"int64", "float64", "decimal", "text", "listed text", "date32", "time s", "time ms", "time us", "time ns"}
FIRST |= {"numeric", "double", "date", "timestamp", "time", "json", "varbit", "enum", "array"}
ALIKE = ("parquet by duckdb", "duckdb of arrow", "postgres")  # of which the rest of the types is in `make test-slow`


def each(sources):
    results = [(s, n, s in ALIKE and n not in FIRST) for s in sources for n in CASES[s]]
    return [pytest.param(s, n, id=f"{s}-{n}", marks=pytest.mark.slow if late else ()) for s, n, late in results]


@pytest.mark.parametrize(("source", "name"), each(WRITERS))
def test_every_cell_is_its_own_rows_alone(source, name, tmp_path, request):
    law(source, name, tmp_path, request)


@pytest.mark.parametrize(("source", "name"), each(["postgres"]))
@pytest.mark.long
@pytest.mark.usefixtures("types")
def test_every_cell_of_postgres_is_its_own_rows_alone(source, name, tmp_path, request):
    law(source, name, tmp_path, request)


@pytest.mark.parametrize("source", [SPARK])
@pytest.mark.slow
def test_every_cell_of_spark_is_its_own_rows_alone(source, tmp_path, request):
    for name in CASES[source]:
        (tmp_path / name).mkdir()
        law(source, name, tmp_path / name, request)


@pytest.fixture
def types(request):
    """PostgreSQL's own types."""
    con = request.getfixturevalue("cluster").backend.con
    con.execute(
        "DO $$ BEGIN CREATE TYPE mood AS ENUM ('a', '1', ''); CREATE TYPE pair AS (n integer, t text); "
        "EXCEPTION WHEN duplicate_object THEN NULL; END $$"
    )
    con.commit()


AT = {"duckdb": "duckdb:///{}/t.duckdb", "duckdb of arrow": "duckdb:///{}/t.duckdb", "sqlite": "sqlite:///{}/t.db"}
NAMES = {
    "csv": "{}.csv",
    "xlsx": "{}.xlsx",
    "xlsx of several sheets": "{}.xlsx",
    "parquet": "{}.parquet",
    "parquet by duckdb": "{}.parquet",
    **{ending: f"{{}}.{ending}" for ending in every_cell.LABELLED},
}
SLOW = pytest.mark.slow
TABLES = ("roots", "events")
SOURCES = [pytest.param(s, marks=SLOW if s in ALIKE else ()) for s in WRITERS if s != "arrow frame"]
SOURCES += [pytest.param("spark", marks=[SLOW, *SPARK.marks])]
RELATED = [s for s in SOURCES if s.values[0] != "parquet by duckdb"]
RELATED += [pytest.param("postgres", marks=[SLOW, pytest.mark.long])]
SOURCES += [pytest.param("postgres", marks=pytest.mark.long)]


def types_of(source, folder, request):
    """The cases whose type is not refused."""
    if source == "spark":  # where each look takes a second
        return {n: c for n, c in CASES[source].items() if n not in {*REFUSED, *NOT_SPARKS}}
    if source == "postgres":
        request.getfixturevalue("types")
    results, folder = {}, folder / "types"
    folder.mkdir()
    for i, (name, case) in enumerate(CASES[source].items()):
        try:
            written(source, folder / str(i), *case[:2], request).check_form(KINDS)
            results[name] = case
        except InputError:
            assert name in REFUSED
    return results


def beside_all(cases, *, hostile):
    """Columns of all these types, each under every kind; ordinary rows, and with them every hostile cell."""
    most = max(len(c[2]) for c in cases.values())
    columns = {}
    for i, (kind, ordinary, cells) in enumerate(cases.values()):
        odd = [cells[j % len(cells)] for j in range(most)] if hostile else []
        for name in KINDS:
            columns[f"{name}{i}"] = (kind, [*odd, *(ordinary[j % len(ordinary)] for j in range(40))])
    return columns


def facts(columns, *, learn):
    plain = json.loads(SCHEMA.to_json())["columns"]
    if learn:  # the bounds and lists are to be learnt
        plain = {n: {"type": c["type"]} for n, c in plain.items()}
    return {"columns": {n: plain[n[0]] for n in columns}}


def reported(command, monkeypatch, place, *words):
    monkeypatch.setenv("SYNTH_HOME", str(place / "home"))
    monkeypatch.setenv("SYNTH_LEDGER", str(place / "ledger.sqlite"))
    code, out, err = command(*words, "--epsilon", 1, "--delta", 1e-6, "--dataset", "d", "--json")
    gc.collect()  # a connection of this run's must not be in the way of the next
    lines = [(e.kind, e.epsilon, e.dataset) for e in Ledger(place / "ledger.sqlite").entries()]
    return code, err.replace(str(place), "PLACE"), lines, out


def put(source, place, name, columns, request):
    """The columns as a table of the source's; what its run is told of the place."""
    if source == "postgres":
        cells = {n: every_cell.pa.array(c, every_cell.pa.string()) for n, (_, c) in columns.items()}
        engine = request.getfixturevalue("cluster")
        fill(engine, name, every_cell.pa.table(cells), {n: str(k) for n, (k, _) in columns.items()})
        return [name, "--source", engine.address]
    if source == "spark":
        spark().backend._session.read.parquet(str(parquet(place, name, columns))).createOrReplaceTempView(name)
        return [place / f"{name}.parquet", "--source", "spark"]
    WRITERS[source](place, name, columns)
    if source in AT:
        return [name, "--source", AT[source].format(place)]
    return [place / NAMES[source].format(name), *(["--source", "duckdb"] if source == "parquet by duckdb" else [])]


@pytest.mark.parametrize("learn", [False, True], ids=["run", "learn"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_run_and_a_learning_end_alike_beside_every_cell(source, learn, tmp_path, command, monkeypatch, request):
    cases, ends = types_of(source, tmp_path, request), []
    for i, hostile in enumerate((False, True)):
        place = tmp_path / str(i)
        place.mkdir()
        columns = beside_all(cases, hostile=hostile)
        at = put(source, place, "people", columns, request)
        (place / "schema.json").write_text(json.dumps(facts(columns, learn=learn)))
        kind = ("schema", "learn") if learn else ("run",)
        rest = ["--out", place / "out.json"] if learn else ["--out", place / "out", "--method", "independent"]
        rest += [] if learn else ["--num-rows", 5]
        *end, out = reported(command, monkeypatch, place, *kind, *at, "--schema", place / "schema.json", *rest)
        ends.append(end)
        assert end[0] == 0, end[1]
        assert "Traceback" not in out + end[1]
    assert ends[0] == ends[1]


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("source", RELATED)
def test_related_tables_end_alike_beside_every_cell_as_column_and_as_key(
    source, tmp_path, command, monkeypatch, request
):
    """Every hostile cell of every type is a key of the root and of its children, alone and among others."""
    cases, ends = types_of(source, tmp_path, request), []
    for i, hostile in enumerate((False, True)):
        place = tmp_path / str(i)
        place.mkdir()
        columns = beside_all(cases, hostile=hostile)
        keys = {f"id{n[1:]}": cells for n, cells in columns.items() if n[0] == "t"}
        measured = {n: columns[n] for n in ("t0", "x0")}
        for name in TABLES:
            at = put(source, place, name, {**keys, **measured}, request)
        where = at[2] if len(at) > 1 else None
        for key in keys:
            linked(related([key], measured), None if where else place, where)
        (place / "schema.json").write_text(json.dumps(related(list(keys), measured)))
        at = ["--source", where] if where else [place]
        rest = ["--schema", place / "schema.json", "--out", place / "out", "--num-rows", 3]
        ends.append(reported(command, monkeypatch, place, "run", *at, *rest)[:3])
        assert ends[-1][0] == 0, ends[-1][1]
    assert ends[0] == ends[1]


def related(keys, measured):
    plain = facts(measured, learn=False)["columns"] | {k: {"type": "identifier"} for k in keys}
    below = {"parent": "roots", "child": "events", "columns": keys, "most_children": 2}
    return {"dataset": "d", "tables": {t: {"columns": plain} for t in TABLES}, "keys": [below]}


def linked(plain, folder, source):
    """What a run does with the rows of related tables before it answers."""
    schema, opened = parse_related(plain), {}
    for name, at in places(folder, schema, source).items():
        own = schema.tables[name]
        at.check_form([*own.measured(), *schema.texts(name)])
        opened[name] = read(at.under(own), own, schema.texts(name), SeededNoise(1), key=bytes(32)).rows
    assert link(schema, opened, SeededNoise(1))["roots"].parent.size
