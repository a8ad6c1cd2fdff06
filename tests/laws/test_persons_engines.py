"""An engine bounds the rows of a person as we do: however a name is written, each row as often, or the run ends."""

import re
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.errors import SpentError
from synth.pipeline import run as pipeline
from synth.privacy.noise import SeededNoise
from synth.questions import Bins, Counts
from synth.schema import cells
from synth.schema.names import UNSEEN
from synth.schema.table import parse
from synth.sources.engines import spark_session
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace, WarehouseRows
from synth.sources.formats.text_table import Table
from synth.sources.rows.spill import keep_parts
from tests.engines import fill, spark
from tests.laws.typed_cells import LAW, arrow, at, compiled, hard_rows, question_of, schema_of, words
from tests.made import ID, facts_of, number


@pytest.mark.xdist_group("spark")
@pytest.mark.slow
def test_spark_bounds_persons_and_counts_without_python_alike(tmp_path, monkeypatch):
    """PostgreSQL holds both to account in every run of the suite; here is Spark's own SQL for them."""
    engine = spark()
    pq.write_table(persons_table(), tmp_path / "persons.parquet")
    held_to_the_bound(bounded(WarehousePlace(engine, str(tmp_path / "persons.parquet"))))
    pq.write_table(arrow(hard_rows(np.random.default_rng(0))), tmp_path / "t.parquet")
    schema = compiled(schema_of(low=-0.3, step=0.1, coded=True))
    result = at(WarehousePlace(engine, str(tmp_path / "t.parquet")), schema)
    by_keys_alike(result, question_of(schema, seed=3, every_pair=False), monkeypatch)


def by_keys_alike(rows: WarehouseRows, question: Counts, monkeypatch) -> None:
    """Executors that have no Python count by a query instead, and count the same."""
    tables = [m.bins for m in question.marginals[-2:]]
    workers = rows.counts(tables)
    with monkeypatch.context() as without:
        without.setattr(spark_session, "has_python", lambda _: False)
        assert [t.tolist() for t in rows.counts(tables)] == [t.tolist() for t in workers]


PERSONS = facts_of(id=ID, w=number(0, 4, nullable=True), i=number(0, 10)) | {"unit": "id", "max_rows": 2}
FIVE = ["\uff17", "7\u00ad", "7.0", "7.00 ", "\u00a07\u200b"]  # one person, written in five ways
NAMES = [*FIVE, "q", " \uff51", "r", None, "", " \u2060", "it's", "'it's", "é"]
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
    names = {"id": ID, "i": number(0, 20)}
    table = pa.table({"id": pa.array([1.0, 1.0]), "i": pa.array([1, 2])})  # of a type that only the codec reads
    pq.write_table(table, tmp_path / "f.parquet")
    schema = parse({"unit": "id", "max_rows": 1, "columns": names})
    place = WarehousePlace(Engine("duckdb"), str(tmp_path / "f.parquet"))
    opened = place.encoded(schema, SeededNoise(1), person="id", key=b"k" * 16, most=1)
    assert not opened.bounded
    assert opened.persons is not None


def characters() -> list[str]:
    """Every character whose spelling may change, alone, between letters and under an accent; and some of the others."""
    known = [c for c in map(chr, range(1, 0x110000)) if unicodedata.category(c) not in ("Cs", "Cn", "Co")]
    moved = [c for c in known if re.search(UNSEEN, c) or unicodedata.combining(c) or not is_normalized(c)]
    return [text for c in [*moved, *known[::97]] for text in (c, f"a{c}e", f"{c}\u0301")]


def is_normalized(character: str) -> bool:
    return unicodedata.is_normalized("NFKC", character) and unicodedata.is_normalized("NFD", character)


def spelled_alike(place: WarehousePlace, names: list[str]) -> None:
    rows = place.asked.rows(f"SELECT i, {place.person('id')} FROM {place.relation} ORDER BY i")
    found = [text for part in rows for _, text in part]
    wanted = cells.key(np.array(names, dtype=object)).to_pylist()
    assert [(ascii(n), f, w) for n, f, w in zip(names, found, wanted, strict=True) if f != w] == []


def test_every_character_is_spelled_by_an_engine_as_here(cluster, tmp_path):
    names = characters()
    table = pa.table({"id": pa.array(names), "i": pa.array(range(len(names)))})
    pq.write_table(table, tmp_path / "t.parquet")
    spelled_alike(WarehousePlace(Engine("duckdb"), str(tmp_path / "t.parquet")), names)
    fill(cluster, "spelled", table, {"id": "text", "i": "bigint"})
    spelled_alike(WarehousePlace(cluster, "spelled"), names)


@pytest.mark.xdist_group("spark")
@pytest.mark.long
def test_every_character_is_spelled_by_spark_as_here(tmp_path):
    names = characters()
    table = pa.table({"id": pa.array(names), "i": pa.array(range(len(names)))})
    pq.write_table(table, tmp_path / "t.parquet")
    spelled_alike(WarehousePlace(spark(), str(tmp_path / "t.parquet")), names)


@settings(LAW, max_examples=12)
@given(st.lists(words | st.integers(-3, 3).map(str) | st.none(), min_size=1, max_size=40), st.integers(1, 3))
def test_an_engine_knows_a_person_as_we_do(tmp_path_factory, names, most):
    """As many rows are kept of drawn names as by the codec's reading of them."""
    path = tmp_path_factory.mktemp("who") / "t.parquet"
    table = pa.table(
        {"id": pa.array(names, pa.string()), "w": pa.array([0] * len(names)), "i": pa.array([0] * len(names))}
    )
    pq.write_table(table, path)
    whose = Table({"id": table.column("id")}, num_rows=len(names)).column("id")
    retained = keep_parts([(whose, np.arange(len(names)))], most, SeededNoise(1), num_rows=len(names))
    assert bounded(WarehousePlace(Engine("duckdb"), str(path)), most=most).num_rows == int(retained.sum())


def test_an_engine_keeps_every_row_of_a_person_as_often(tmp_path):
    """Of 3,000 persons of five rows two each: each place 1,200 times, within 6 standard deviations (1e-8)."""
    persons = np.repeat(np.arange(3000), 5)
    table = pa.table({"id": persons, "w": np.tile([0, 1, 2, 3, 3], 3000), "i": np.tile(np.arange(5), 3000)})
    pq.write_table(table, tmp_path / "t.parquet")
    places = [Bins.each("i", 11)]
    results = [bounded(WarehousePlace(Engine("duckdb"), str(tmp_path / "t.parquet")), seed=s) for s in (1, 2)]
    reported = [rows.counts([places])[0] for rows in results]
    for counts_ in reported:
        assert counts_.sum() == 6000
        assert np.abs(counts_[:5] - 1200).max() < 6 * np.sqrt(3000 * 0.24)
    assert reported[0].tolist() != reported[1].tolist()


def test_rows_of_persons_that_nobody_bounds_end_the_run(tmp_path, monkeypatch):
    """A source that says nothing of a bound and names no persons is not read as one without them."""
    pq.write_table(persons_table(), tmp_path / "t.parquet")
    monkeypatch.setattr(WarehousePlace, "encoded", unbounded(WarehousePlace.encoded))
    with pytest.raises(SpentError, match="RuntimeError"):
        pipeline.run(
            str(tmp_path / "t.parquet"),
            schema=parse(PERSONS),
            epsilon=1.0,
            delta=1e-5,
            method="independent",
            source="duckdb",
            seed=1,
            num_rows=10,
            dataset="p",
            ledger=tmp_path / "ledger.db",
        )


def unbounded(encoded):
    def other(self, schema, draws, *, person, key, most):  # noqa: ARG001
        return encoded(self, schema, draws, person=None, key=key)

    return other
