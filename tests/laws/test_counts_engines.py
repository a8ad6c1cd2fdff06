"""The same table under the same schema has the same counts wherever its rows are: frames, files, databases, Spark."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from synth.pipeline import run as pipeline
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SeededNoise
from synth.questions import Bins
from synth.schema.table import Schema, parse
from synth.sources.engines import engine as engines
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace, WarehouseRows
from synth.sources.formats.text_table import Table
from synth.sources.rows.encoding import Batch, Encoder
from synth.sources.rows.spill import Spill
from synth.sources.table_source import CsvPlace, ParquetPlace
from tests.engines import fill, spark
from tests.laws.typed_cells import (
    LAW,
    POSTGRES,
    TYPES,
    arrow,
    at,
    compiled,
    hard_rows,
    in_frames,
    question_of,
    rows,
    same,
    schema_of,
    schemas,
)
from tests.made import codes, facts_of, number


@settings(LAW, max_examples=60)
@given(rows, schemas, st.integers(0, 99))
def test_frames_count_as_one_row_after_the_other_does(cells, schema, seed):
    """The reference: each row's bins looked up, one table at a time, in plain Python."""
    encoded, question = in_frames(arrow(cells), schema), question_of(schema, seed=seed)
    for marginal, item in zip(question.marginals, encoded.counts([m.bins for m in question.marginals]), strict=True):
        plain = np.zeros(marginal.shape, dtype=np.int64)
        for i in range(encoded.num_rows):
            at_ = [int(b.groups[np.flatnonzero(b.starts <= encoded[b.column][i])[-1]]) for b in marginal.bins]
            if min(at_) >= 0:
                plain[tuple(at_)] += 1
        assert item.tolist() == plain.reshape(-1).tolist()


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


@pytest.mark.long
@settings(LAW, max_examples=15, phases=[Phase.explicit, Phase.generate])
@given(rows, schemas, st.integers(0, 99))
def test_postgres_counts_what_frames_count(cluster, cells, schema, seed):
    fill(cluster, "t", arrow(cells), POSTGRES)
    schema = compiled(schema)
    result = at(WarehousePlace(cluster, "t"), schema)
    assert isinstance(result, WarehouseRows)
    same(result, in_frames(arrow(cells), schema), question_of(schema, seed=seed))


@pytest.mark.long
@settings(LAW, max_examples=15, phases=[Phase.explicit, Phase.generate])
@given(rows, schemas, st.integers(0, 99))
def test_duckdb_through_ibis_counts_what_frames_count(tmp_path_factory, cells, schema, seed):
    pytest.importorskip("ibis", reason="the extra `databases` is not installed")
    path = tmp_path_factory.mktemp("duck") / "t.parquet"
    pq.write_table(arrow(cells), path)
    schema = compiled(schema)
    result = at(WarehousePlace(Engine("duckdb"), str(path)), schema)
    assert isinstance(result, WarehouseRows)
    same(result, in_frames(arrow(cells), schema), question_of(schema, seed=seed))


@pytest.mark.parametrize("others", [[3e22], [1.0, 2.0], []])
def test_a_parquet_file_whose_statistics_hide_nan_is_read_as_the_codec_does(tmp_path, others):
    """Minimum and maximum of a file leave NaN out; whoever believes them takes NaN for a number."""
    table = pa.table({"x": [*others, float("nan"), float("nan")]})
    pq.write_table(table, tmp_path / "t.parquet")
    schema = parse(facts_of(x=number(0, 10, resolution=1, missing=[""])))
    here = in_frames(table, schema)["x"].tolist()
    assert here[-2:] == [11, 11]
    assert at(ParquetPlace(tmp_path / "t.parquet"), schema)["x"].tolist() == here
    pytest.importorskip("ibis", reason="the extra `databases` is not installed")
    result = at(WarehousePlace(Engine("duckdb"), str(tmp_path / "t.parquet")), schema)
    assert result.counts([[Bins.each("x", 12)]])[0].tolist() == np.bincount(here, minlength=12).tolist()


@pytest.mark.xdist_group("spark")
@pytest.mark.long
def test_spark_counts_what_frames_count(tmp_path, monkeypatch):
    """One table of many rows, drawn from the same cells: a query costs Spark too much for hundreds of tables."""
    engine, rng = spark(), np.random.default_rng(0)
    cells = hard_rows(rng)
    path = tmp_path / "t.parquet"
    pq.write_table(arrow(cells), path)
    schema = compiled(schema_of(low=-0.3, step=0.1, coded=True))
    result = at(WarehousePlace(engine, str(path)), schema)
    assert isinstance(result, WarehouseRows)
    same(result, in_frames(arrow(cells), schema), question_of(schema, seed=3, every_pair=False))
    two = schema.model_copy(update={"columns": {n: schema.columns[n] for n in ("k", "t")}})
    pipeline.run(
        str(path),
        schema=two,
        epsilon=1.0,
        delta=1e-5,
        method="independent",
        source="spark",
        seed=1,
        num_rows=10,
        dataset="cells",
        ledger=tmp_path / "ledger.db",
    )
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


def collecting(monkeypatch) -> list[str]:
    """Notes whoever asks Spark for all rows at once; batches of 64 rows."""
    from pyspark.sql.classic.dataframe import DataFrame

    seen: list[str] = []
    for name in ("collect", "toPandas", "toArrow"):
        monkeypatch.setattr(DataFrame, name, lambda _, name=name: seen.append(name))
    monkeypatch.setattr("synth.sources.engines.spark_session.PACKED", 64)
    return seen


def test_what_a_database_cannot_encode_is_fetched_and_read_by_the_codec(cluster, monkeypatch):
    """More texts than a query lists, single precision and decimals: the same positions, from a spool."""
    monkeypatch.setattr("synth.sources.engines.sql.MOST_TEXTS", 5)
    table = pa.table(
        {
            "t": [f" {i % 9}.0" for i in range(50)],
            "r": [str(i / 8) for i in range(50)],
            "n": [f"{i}.50" for i in range(50)],
        }
    )
    fill(cluster, "t", table, {"t": "text", "r": "real", "n": "numeric"})
    schema = parse(
        facts_of(
            t=codes(*[str(i) for i in range(8)], nullable=True), r=number(0, 5, decimals=2), n=number(0, 40, decimals=1)
        )
    )
    result = at(WarehousePlace(cluster, "t"), schema)
    assert isinstance(result, Spill)
    here = in_frames(table, schema)
    assert {n: sorted(a.tolist()) for n, a in result.items()} == {n: sorted(a.tolist()) for n, a in here.items()}


def test_more_groupings_than_a_query_has_room_for_are_counted_in_several(cluster, monkeypatch):
    monkeypatch.setattr(engines, "MOST_BINS", 3)
    cells = hard_rows(np.random.default_rng(1))
    fill(cluster, "t", arrow(cells), POSTGRES)
    schema = compiled(schema_of(low=-0.3, step=0.1, coded=True))
    asked: list[str] = []
    whole = Engine.rows
    monkeypatch.setattr(Engine, "rows", lambda engine, query: (asked.append(query), whole(engine, query))[1])
    same(at(WarehousePlace(cluster, "t"), schema), in_frames(arrow(cells), schema), question_of(schema, seed=3))
    assert sum("keyed_rows" in q for q in asked) > 1


def unmissable() -> Schema:
    return parse(facts_of(t=codes("a", "b", "c"), i=number(0, 3)))


def test_a_cell_nothing_is_known_of_lands_anywhere_and_nowhere_else(cluster):
    """In a column that is never missing: rows stay, known ones where they belong, the others by a uniform draw."""
    table = pa.table({"t": ["a"] * 1000 + ["zz"] * 3000, "i": [0] * 1000 + [3] * 3000})
    fill(cluster, "t", table, {"t": "text", "i": "bigint"})
    result = at(WarehousePlace(cluster, "t"), unmissable())
    columns = unmissable().columns
    both = [Bins.each(n, c.cells) for n, c in columns.items()]
    joint = result.counts([both])[0].reshape(3, 4)
    assert joint.sum() == 4000
    assert joint[:, 1:3].sum() == 0
    assert joint[:, 0].tolist() == [1000, 0, 0]
    assert np.abs(joint[:, 3] - 1000).max() < 6 * np.sqrt(3000 * 2 / 9)  # 6 sigma of a third of 3000
