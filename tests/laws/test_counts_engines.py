"""The same table under the same schema has the same counts wherever its rows are: frames, files, databases, Spark."""

import datetime as dt
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from synth.errors import SpentError
from synth.mechanisms import counts
from synth.pipeline import run as pipeline
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SeededNoise
from synth.questions import Bins, Counts, Marginal
from synth.schema.table import Schema, parse
from synth.sources.contribution_bound import keep_parts
from synth.sources.engines import one_pass
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.engines.warehouse_rows import WarehouseRows
from synth.sources.formats.text_table import Table
from synth.sources.rows import spill as spool_module
from synth.sources.rows.encoded import EncodedRows
from synth.sources.rows.encoding import Batch, Encoder
from synth.sources.rows.spill import Spill
from synth.sources.table_source import CsvPlace, ParquetPlace, Place
from tests.engines import fill, postgres, spark

TYPES = pa.schema([("i", pa.int64()), ("k", pa.int16()), ("x", pa.float64()), ("t", pa.string()), ("n", pa.string()),
                   ("d", pa.date32()), ("m", pa.timestamp("us"))])  # fmt: skip
POSTGRES = {"i": "bigint", "k": "smallint", "x": "double precision", "t": "text", "n": "varchar(40)", "d": "date",
            "m": "timestamp"}  # fmt: skip
LAW = settings(deadline=None, suppress_health_check=list(HealthCheck))

numbers = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 0.125, 9.75, 10.25, 5e-324, -5e-324, 1e308, -1e308]),
    st.sampled_from([float("nan"), float("inf"), float("-inf"), 99.0, 0.1 + 0.2, 4.35, 1e15, 2.675]),
    st.floats(-3, 13),
    st.floats(),
)
whole = st.one_of(
    st.integers(-8, 30), st.sampled_from([99, -(2**63), 2**63 - 1, 2**53 + 1]), st.integers(-(2**63), 2**63 - 1),
    st.integers(10**18 - 9, 10**18 + 30),
)  # fmt: skip
words = st.one_of(
    st.sampled_from(
        ["a", " a", "b\u00a0", "3", "3.0", "03", "", "?", "it's", "it's ", 'quo"te', "back\\slash", "\\", "é", "%s"]
    ),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=4),
)
digits = st.one_of(st.sampled_from(["1", "1.0", " 2", "1e1", "-0", "nan", "inf", "99", "1_0", "0.5", "2.5", "1e999"]),
                   st.integers(-3, 12).map(str), st.floats(-2, 12).map(str))  # fmt: skip
days = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)) | st.dates(dt.date(1999, 12, 20), dt.date(2000, 3, 1))
moments = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)) | st.datetimes(
    dt.datetime(1999, 12, 31, 20), dt.datetime(2000, 1, 2)
)
narrow = st.integers(-(2**15), 2**15 - 1) | st.integers(-2, 9)
row = st.tuples(*(st.none() | s for s in (whole, narrow, numbers, words, digits, days, moments)))
rows = st.lists(row, min_size=1, max_size=30)


def schema_of(*, low: float, step: float, coded: bool, whole: int = 0, by: int = 1) -> Schema:
    """Columns of every kind that is compiled; none is without a missing code, so that no cell is drawn at random."""
    missing = ["99", "", "?"] if coded else [""]
    return parse({"columns": {
        "i": {"type": "integer", "min": whole - 5, "max": whole + 19, "resolution": by,
              "missing": missing},
        "k": {"type": "categorical", "categories": ["1", "2", "3", "7", "5.0"], "missing": missing},
        "x": {"type": "float", "min": low, "max": low + 10 * step, "resolution": step, "missing": missing[:2]},
        "t": {"type": "categorical", "categories": ["a", "3", "it's", "back\\slash", 'quo"te'], "missing": ["", "?"]},
        "n": {"type": "float", "min": 0, "max": 10, "decimals": 1, "missing": missing},
        "d": {"type": "datetime", "min": "2000-01-01", "max": "2000-02-15", "nullable": True},
        "m": {"type": "datetime", "min": "2000-01-01", "max": "2000-01-02", "resolution": "hour", "nullable": True},
    }})  # fmt: skip


schemas = st.builds(
    schema_of, low=st.sampled_from([0.0, -0.3, 0.1]), step=st.sampled_from([0.1, 0.25, 1.0, 0.3]), coded=st.booleans(),
    whole=st.sampled_from([0, 10**18]), by=st.sampled_from([1, 3]),
)  # fmt: skip


def compiled(schema: Schema) -> Schema:
    """Without the numbers that are kept as text: engines leave those to the codec."""
    return schema.model_copy(update={"columns": {n: c for n, c in schema.columns.items() if n != "n"}})


def question_of(schema: Schema, *, seed: int, every_pair: bool = True) -> Counts:
    """Every column alone, pairs on random groups that may leave positions out, and tables of three and four.

    Without ``every_pair`` each column is in one pair alone.
    """
    rng = np.random.default_rng(seed)
    columns = schema.measured()
    bins = {n: grouped(n, c.cells, rng) for n, c in columns.items()}
    names = list(columns)
    tables = [(Bins.each(n, c.cells),) for n, c in columns.items()]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    tables += [(bins[a], bins[b]) for a, b in (pairs if every_pair else zip(names[::2], names[1::2], strict=False))]
    tables += [(bins["t"], bins["i"], bins["d"]), (bins["m"], bins["i"], bins["k"]), (bins["k"], bins["t"], bins["x"])]
    tables += [(bins["d"], bins["t"], bins["i"], bins["k"])]
    return Counts(purpose="law", marginals=tuple(Marginal(bins=t, sigma=2.0) for t in tables))


def grouped(name: str, cells: int, rng: np.random.Generator) -> Bins:
    size = int(rng.integers(1, cells + 1))
    starts = np.append(0, np.sort(rng.choice(np.arange(1, cells), size - 1, replace=False)))
    groups = rng.integers(-1, 4, size)
    _, dense = np.unique(groups[groups >= 0], return_inverse=True)
    groups[groups >= 0] = dense
    groups[0] = max(groups[0], 0)
    _, dense = np.unique(groups[groups >= 0], return_inverse=True)
    groups[groups >= 0] = dense
    return Bins(column=name, cells=cells, starts=starts, groups=groups)


def arrow(cells: list[tuple]) -> pa.Table:
    columns = list(zip(*cells, strict=True))
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, TYPES, strict=True)], schema=TYPES)


def in_frames(table: pa.Table, schema: Schema) -> EncodedRows:
    encoder = Encoder(schema, SeededNoise(1))
    encoder.add(Batch(table=Table({n: table.column(n) for n in table.column_names}, num_rows=table.num_rows)))
    return encoder.spill


def at(place: Place, schema: Schema) -> EncodedRows:
    opened = place.encoded(schema, SeededNoise(1), person=None, key=b"k" * 16)
    assert isinstance(opened.encoded.positions, EncodedRows)
    return opened.encoded.positions


def same(left: EncodedRows, right: EncodedRows, question: Counts) -> None:
    """With equal noise equal releases, and so equal counts; and as many rows."""
    told = counts.answer(question, left, SeededNoise(7)), counts.answer(question, right, SeededNoise(7))
    for marginal, a, b in zip(question.marginals, told[0].values, told[1].values, strict=True):
        assert a.tolist() == b.tolist(), marginal.columns
    assert left.num_rows == right.num_rows


@settings(LAW, max_examples=60)
@given(rows, schemas, st.integers(0, 99))
def test_frames_count_as_one_row_after_the_other_does(cells, schema, seed):
    """The reference: each row's bins looked up, one table at a time, in plain Python."""
    encoded, question = in_frames(arrow(cells), schema), question_of(schema, seed=seed)
    for marginal, found in zip(question.marginals, encoded.counts([m.bins for m in question.marginals]), strict=True):
        plain = np.zeros(marginal.shape, dtype=np.int64)
        for i in range(encoded.num_rows):
            at_ = [int(b.groups[np.flatnonzero(b.starts <= encoded[b.column][i])[-1]]) for b in marginal.bins]
            if min(at_) >= 0:
                plain[tuple(at_)] += 1
        assert found.tolist() == plain.reshape(-1).tolist()


@settings(LAW, max_examples=25)
@given(rows, schemas, st.integers(0, 99))
def test_duckdb_reads_parquet_as_the_codec_does(tmp_path_factory, cells, schema, seed):
    folder = tmp_path_factory.mktemp("parts")
    table = arrow(cells)
    half = len(cells) // 2
    pq.write_table(table.slice(0, half), folder / "a.parquet")
    pq.write_table(table.slice(half), folder / "b.parquet")
    there, here = at(ParquetPlace(folder), schema), in_frames(table, schema)
    for name in schema.measured():
        assert there[name].tolist() == here[name].tolist(), name
    same(there, here, question_of(schema, seed=seed))


@settings(LAW, max_examples=20)
@given(rows, schemas)
def test_a_csv_file_read_in_blocks_is_the_frame(tmp_path_factory, cells, schema):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    texts = Table({n: arrow(cells).column(n) for n in TYPES.names}, num_rows=len(cells))
    plain = {n: [texts.column(n).values[c] for c in texts.column(n).codes] for n in TYPES.names}
    pa_csv.write_csv(pa.table(plain), path)
    there, here = at(CsvPlace(path), schema), in_frames(arrow(cells), schema)
    assert {n: there[n].tolist() for n in there} == {n: here[n].tolist() for n in here}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Engine]:
    """A PostgreSQL of its own."""
    with postgres() as engine:
        yield engine


@pytest.mark.long
@settings(LAW, max_examples=15, phases=[Phase.explicit, Phase.generate])
@given(rows, schemas, st.integers(0, 99))
def test_postgres_counts_what_frames_count(cluster, cells, schema, seed):
    fill(cluster, "t", arrow(cells), POSTGRES)
    schema = compiled(schema)
    found = at(WarehousePlace(cluster, "t"), schema)
    assert isinstance(found, WarehouseRows)
    same(found, in_frames(arrow(cells), schema), question_of(schema, seed=seed))


@pytest.mark.long
@settings(LAW, max_examples=15, phases=[Phase.explicit, Phase.generate])
@given(rows, schemas, st.integers(0, 99))
def test_duckdb_through_ibis_counts_what_frames_count(tmp_path_factory, cells, schema, seed):
    pytest.importorskip("ibis", reason="the extra `databases` is not installed")
    path = tmp_path_factory.mktemp("duck") / "t.parquet"
    pq.write_table(arrow(cells), path)
    schema = compiled(schema)
    found = at(WarehousePlace(Engine("duckdb"), str(path)), schema)
    assert isinstance(found, WarehouseRows)
    same(found, in_frames(arrow(cells), schema), question_of(schema, seed=seed))


@pytest.mark.parametrize("others", [[3e22], [1.0, 2.0], []])
def test_a_parquet_file_whose_statistics_hide_nan_is_read_as_the_codec_does(tmp_path, others):
    """Minimum and maximum of a file leave NaN out; whoever believes them takes NaN for a number."""
    table = pa.table({"x": [*others, float("nan"), float("nan")]})
    pq.write_table(table, tmp_path / "t.parquet")
    schema = parse({"columns": {"x": {"type": "float", "min": 0, "max": 10, "resolution": 1, "missing": [""]}}})
    here = in_frames(table, schema)["x"].tolist()
    assert here[-2:] == [11, 11]
    assert at(ParquetPlace(tmp_path / "t.parquet"), schema)["x"].tolist() == here
    pytest.importorskip("ibis", reason="the extra `databases` is not installed")
    found = at(WarehousePlace(Engine("duckdb"), str(tmp_path / "t.parquet")), schema)
    assert found.counts([[Bins.each("x", 12)]])[0].tolist() == np.bincount(here, minlength=12).tolist()


@pytest.mark.xdist_group("spark")
@pytest.mark.long
def test_spark_counts_what_frames_count(tmp_path, monkeypatch):
    """One table of many rows, drawn from the same cells: a query costs Spark too much for hundreds of tables."""
    engine, rng = spark(), np.random.default_rng(0)
    cells = hard_rows(rng)
    path = tmp_path / "t.parquet"
    pq.write_table(arrow(cells), path)
    schema = compiled(schema_of(low=-0.3, step=0.1, coded=True))
    found = at(WarehousePlace(engine, str(path)), schema)
    assert isinstance(found, WarehouseRows)
    same(found, in_frames(arrow(cells), schema), question_of(schema, seed=3, every_pair=False))
    two = schema.model_copy(update={"columns": {n: schema.columns[n] for n in ("k", "t")}})
    pipeline.run(str(path), schema=two, epsilon=1.0, delta=1e-5, method="independent", source="spark", seed=1,
                 num_rows=10, dataset="cells", ledger=tmp_path / "ledger.db")  # fmt: skip
    with Ledger(tmp_path / "ledger.db") as book:
        spent = [e for e in book.entries("cells") if e.kind == "spend"]
    assert [e.engine for e in spent] == ["spark"]
    collected = collecting(monkeypatch)
    fetched = [b.table for b in WarehousePlace(engine, str(path)).batches(schema, [])]
    here = in_frames(arrow(cells), schema)
    encoder = Encoder(schema, SeededNoise(1))
    for table in fetched:
        encoder.add(Batch(table=table))
    assert {n: sorted(a.tolist()) for n, a in encoder.spill.items()} == {n: sorted(a.tolist()) for n, a in here.items()}
    assert max(t.num_rows for t in fetched) <= 64 < len(cells)
    assert not collected  # the driver never asked for the table as a whole


@pytest.mark.xdist_group("spark")
@pytest.mark.slow
def test_spark_bounds_persons_and_counts_without_python_alike(tmp_path, monkeypatch):
    """PostgreSQL holds both to account in every run of the suite; here is Spark's own SQL for them."""
    engine = spark()
    pq.write_table(persons_table(), tmp_path / "persons.parquet")
    held_to_the_bound(bounded(WarehousePlace(engine, str(tmp_path / "persons.parquet"))))
    pq.write_table(arrow(hard_rows(np.random.default_rng(0))), tmp_path / "t.parquet")
    schema = compiled(schema_of(low=-0.3, step=0.1, coded=True))
    found = at(WarehousePlace(engine, str(tmp_path / "t.parquet")), schema)
    by_keys_alike(found, question_of(schema, seed=3, every_pair=False), monkeypatch)


def by_keys_alike(rows: WarehouseRows, question: Counts, monkeypatch) -> None:
    """Executors that have no Python count by a query instead, and count the same."""
    tables = [m.bins for m in question.marginals[-2:]]
    workers = rows.counts(tables)
    with monkeypatch.context() as without:
        without.setattr(one_pass, "has_python", lambda _: False)
        assert [t.tolist() for t in rows.counts(tables)] == [t.tolist() for t in workers]


def collecting(monkeypatch) -> list[str]:
    """Notes whoever asks Spark for all rows at once; batches of 64 rows."""
    from pyspark.sql.classic.dataframe import DataFrame

    seen: list[str] = []
    for name in ("collect", "toPandas", "toArrow"):
        monkeypatch.setattr(DataFrame, name, lambda _, name=name: seen.append(name))
    monkeypatch.setattr("synth.sources.engines.engine.FETCH", 64)
    return seen


def hard_rows(rng: np.random.Generator) -> list[tuple]:
    """Rows of the cells that are hardest to read alike, each several times, in random company."""
    whole_ = [None, -8, 0, 3, 20, 21, 99, -(2**63), 2**63 - 1, 2**53 + 1]
    small = [None, -1, 1, 2, 3, 5, 7, 99, 2**15 - 1, -(2**15)]
    doubles = [None, 0.0, -0.0, 0.5, 1.5, 2.5, 0.125, 9.75, 5e-324, 1e308, -1e308, float("nan"), float("inf"),
               float("-inf"), 99.0, 0.1 + 0.2, 2.675, 0.05, 0.15, -0.25, -0.15]  # fmt: skip
    texts = [None, "a", " a", "b\u00a0", "3", "3.0", "03", "", "?", "it's", 'quo"te', "back\\slash", "é", "%s", "\t3"]
    written = [None, "1", "1.0", " 2", "1e1", "-0", "nan", "inf", "99", "1_0", "0.5", "2.5", "1e999", "0.25", "x"]
    dates = [
        None,
        dt.date(1, 1, 1),
        dt.date(1999, 12, 31),
        dt.date(2000, 1, 1),
        dt.date(2000, 2, 15),
        dt.date(9999, 12, 31),
    ]
    times = [
        *(None, dt.datetime(1, 1, 1), dt.datetime(1999, 12, 31, 23, 59, 59, 999999), dt.datetime(2000, 1, 1)),
        *(dt.datetime(2000, 1, 1, 10, 59, 59, 999999), dt.datetime(2000, 1, 2, 1), dt.datetime(9999, 12, 31)),
    ]
    columns = [whole_, small, doubles, texts, written, dates, times]
    return [tuple(c[int(i)] for c, i in zip(columns, rng.integers(0, [len(c) for c in columns]), strict=True))
            for _ in range(400)]  # fmt: skip


def test_what_a_database_cannot_encode_is_fetched_and_read_by_the_codec(cluster, monkeypatch):
    """More texts than a query lists, single precision and decimals: the same positions, from a spool."""
    monkeypatch.setattr("synth.sources.engines.sql.MOST_TEXTS", 5)
    table = pa.table({"t": [f" {i % 9}.0" for i in range(50)], "r": [str(i / 8) for i in range(50)],
                      "n": [f"{i}.50" for i in range(50)]})  # fmt: skip
    fill(cluster, "t", table, {"t": "text", "r": "real", "n": "numeric"})
    schema = parse({"columns": {
        "t": {"type": "categorical", "categories": [str(i) for i in range(8)], "nullable": True},
        "r": {"type": "float", "min": 0, "max": 5, "decimals": 2},
        "n": {"type": "float", "min": 0, "max": 40, "decimals": 1},
    }})  # fmt: skip
    found = at(WarehousePlace(cluster, "t"), schema)
    assert isinstance(found, Spill)
    here = in_frames(table, schema)
    assert {n: sorted(a.tolist()) for n, a in found.items()} == {n: sorted(a.tolist()) for n, a in here.items()}


def test_more_groupings_than_a_query_has_room_for_are_counted_in_several(cluster, monkeypatch):
    monkeypatch.setattr(one_pass, "MOST_BINS", 3)
    cells = hard_rows(np.random.default_rng(1))
    fill(cluster, "t", arrow(cells), POSTGRES)
    schema = compiled(schema_of(low=-0.3, step=0.1, coded=True))
    asked: list[str] = []
    whole = Engine.rows
    monkeypatch.setattr(Engine, "rows", lambda engine, query: (asked.append(query), whole(engine, query))[1])
    same(at(WarehousePlace(cluster, "t"), schema), in_frames(arrow(cells), schema), question_of(schema, seed=3))
    assert sum("keyed_rows" in q for q in asked) > 1


def unmissable() -> Schema:
    return parse({"columns": {
        "t": {"type": "categorical", "categories": ["a", "b", "c"]},
        "i": {"type": "integer", "min": 0, "max": 3},
    }})  # fmt: skip


def test_a_cell_nothing_is_known_of_lands_anywhere_and_nowhere_else(cluster):
    """In a column that is never missing: rows stay, known ones where they belong, the others by a uniform draw."""
    table = pa.table({"t": ["a"] * 1000 + ["zz"] * 3000, "i": [0] * 1000 + [3] * 3000})
    fill(cluster, "t", table, {"t": "text", "i": "bigint"})
    found = at(WarehousePlace(cluster, "t"), unmissable())
    columns = unmissable().columns
    both = [Bins.each(n, c.cells) for n, c in columns.items()]
    joint = found.counts([both])[0].reshape(3, 4)
    assert joint.sum() == 4000
    assert joint[:, 1:3].sum() == 0
    assert joint[:, 0].tolist() == [1000, 0, 0]
    assert np.abs(joint[:, 3] - 1000).max() < 6 * np.sqrt(3000 * 2 / 9)  # 6 sigma of a third of 3000


PERSONS = {"unit": "id", "max_rows": 2, "columns": {
    "id": {"type": "identifier"}, "w": {"type": "integer", "min": 0, "max": 4, "nullable": True},
    "i": {"type": "integer", "min": 0, "max": 10}}}  # fmt: skip
FIVE = [" 7", "7", "7.0", "7.00 ", "\u00a07"]  # one person, written in five ways
NAMES = [*FIVE, "q", " q", "r", None, "", " ", "it's", "'it's", "é"]
WHOSE = [0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 3, 4, None, 4]


def bounded(place: WarehousePlace, *, most: int = 2, seed: int = 1) -> WarehouseRows:
    opened = place.encoded(parse(PERSONS), SeededNoise(seed), person="id", key=b"k" * 16, most=most)
    assert opened.bounded
    assert opened.persons is None
    assert isinstance(opened.encoded.positions, WarehouseRows)
    return opened.encoded.positions


def persons_table(names: list = NAMES) -> pa.Table:
    return pa.table({"id": pa.array(names), "w": pa.array(WHOSE, pa.int64()), "i": pa.array(range(len(WHOSE)))})


def held_to_the_bound(rows: WarehouseRows) -> None:
    """A person of 5 keeps 2, whoever has fewer keeps all, the nameless are all kept; every question sees the same."""
    w, i = Bins.each("w", 6), Bins.each("i", 11)
    whose, both = rows.counts([[w], [w, i]])
    assert whose.tolist() == [2, 2, 1, 3, 2, 1]
    assert rows.num_rows == 11
    again = rows.counts([[i, w], [w], [i]])
    assert again[0].reshape(11, 6).T.reshape(-1).tolist() == both.tolist()
    assert again[1].tolist() == whose.tolist()
    fetched = np.bincount(rows["w"] * 11 + rows["i"], minlength=66)
    assert fetched.tolist() == both.tolist()


def test_rows_of_a_person_are_bounded_by_the_engine_that_holds_them(cluster, tmp_path):
    """The same person however it is written: in PostgreSQL, in DuckDB; whole numbers name persons too."""
    fill(cluster, "t", persons_table(), {"id": "text", "w": "bigint", "i": "bigint"})
    held_to_the_bound(bounded(WarehousePlace(cluster, "t")))
    pq.write_table(persons_table(), tmp_path / "t.parquet")
    held_to_the_bound(bounded(WarehousePlace(Engine("duckdb"), str(tmp_path / "t.parquet"))))
    numbers = [7, 7, 7, 7, 7, -1, -1, 0, None, None, None, 2**62, -(2**63), 2**62]
    pq.write_table(persons_table(numbers), tmp_path / "n.parquet")
    held_to_the_bound(bounded(WarehousePlace(Engine("duckdb"), str(tmp_path / "n.parquet"))))
    names = {"id": {"type": "identifier"}, "i": {"type": "integer", "min": 0, "max": 20}}
    table = pa.table({"id": pa.array([1.0, 1.0]), "i": pa.array([1, 2])})  # of a type that only the codec reads
    pq.write_table(table, tmp_path / "f.parquet")
    schema = parse({"unit": "id", "max_rows": 1, "columns": names})
    place = WarehousePlace(Engine("duckdb"), str(tmp_path / "f.parquet"))
    opened = place.encoded(schema, SeededNoise(1), person="id", key=b"k" * 16, most=1)
    assert not opened.bounded
    assert opened.persons is not None


@settings(LAW, max_examples=12)
@given(st.lists(words | st.integers(-3, 3).map(str) | st.none(), min_size=1, max_size=40), st.integers(1, 3))
def test_an_engine_knows_a_person_as_we_do(tmp_path_factory, names, most):
    """As many rows are kept of drawn names as by the codec's reading of them."""
    path = tmp_path_factory.mktemp("who") / "t.parquet"
    table = pa.table({"id": pa.array(names, pa.string()), "w": pa.array([0] * len(names)),
                      "i": pa.array([0] * len(names))})  # fmt: skip
    pq.write_table(table, path)
    whose = Table({"id": table.column("id")}, num_rows=len(names)).column("id")
    kept = keep_parts([(whose, np.arange(len(names)))], most, SeededNoise(1), num_rows=len(names))
    assert bounded(WarehousePlace(Engine("duckdb"), str(path)), most=most).num_rows == int(kept.sum())


def test_an_engine_keeps_every_row_of_a_person_as_often(tmp_path):
    """Of 3,000 persons of five rows two each: each place 1,200 times, within 6 standard deviations (1e-8)."""
    persons = np.repeat(np.arange(3000), 5)
    table = pa.table({"id": persons, "w": np.tile([0, 1, 2, 3, 3], 3000), "i": np.tile(np.arange(5), 3000)})
    pq.write_table(table, tmp_path / "t.parquet")
    places = [Bins.each("i", 11)]
    found = [bounded(WarehousePlace(Engine("duckdb"), str(tmp_path / "t.parquet")), seed=s) for s in (1, 2)]
    told = [rows.counts([places])[0] for rows in found]
    for counts_ in told:
        assert counts_.sum() == 6000
        assert np.abs(counts_[:5] - 1200).max() < 6 * np.sqrt(3000 * 0.24)
    assert told[0].tolist() != told[1].tolist()


def test_rows_of_persons_that_nobody_bounds_end_the_run(tmp_path, monkeypatch):
    """A source that says nothing of a bound and names no persons is not read as one without them."""
    pq.write_table(persons_table(), tmp_path / "t.parquet")
    monkeypatch.setattr(WarehousePlace, "encoded", unbounded(WarehousePlace.encoded))
    with pytest.raises(SpentError, match="RuntimeError"):
        pipeline.run(str(tmp_path / "t.parquet"), schema=parse(PERSONS), epsilon=1.0, delta=1e-5, method="independent",
                     source="duckdb", seed=1, num_rows=10, dataset="p", ledger=tmp_path / "ledger.db")  # fmt: skip


def unbounded(encoded):
    def other(self, schema, draws, *, person, key, most):  # noqa: ARG001
        return encoded(self, schema, draws, person=None, key=key)

    return other


def test_a_table_beyond_memory_lies_in_a_file_without_a_name(tmp_path, monkeypatch):
    """Rows appended in odd parts come back in order, and the folder for temporary files shows nothing."""
    monkeypatch.setattr(spool_module, "CHUNK", 100)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spill, rng = Spill({"a": 300, "b": 2}, held=500), np.random.default_rng(0)
    parts = [{"a": rng.integers(0, 300, n), "b": rng.integers(0, 2, n)} for n in (1, 250, 99, 1000, 7)]
    for part in parts:
        spill.append(part)
    whole = {n: np.concatenate([p[n] for p in parts]) for n in "ab"}
    assert {n: a.tolist() for n, a in spill.items()} == {n: a.tolist() for n, a in whole.items()}
    assert list(tmp_path.iterdir()) == []
    kept = np.flatnonzero(whole["b"])
    spill.keep(kept)
    assert spill["a"].tolist() == whole["a"][kept].tolist()
    assert spill.counts([[Bins.each("a", 300)]])[0].tolist() == np.bincount(whole["a"][kept], minlength=300).tolist()
