"""The check of Parquet files before a spend: what it lets through, every later reader reads."""

import random

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import synth
from synth.errors import InputError
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SeededNoise
from synth.schema.table import parse
from synth.sources import table_source
from synth.sources.table_source import place_of
from tests.made import codes, dated, facts_of, number

ROWS = 2000
FACTS = facts_of(n=number(0, 9), x=number(0, 9, decimals=2), b=codes("u", "v"), d=dated("2000-01-01", "2001-01-01"))


def table() -> pa.Table:
    rng = np.random.default_rng(0)
    days = np.datetime64("2000-01-01", "D") + rng.integers(0, 300, ROWS)
    return pa.table(
        {
            "n": rng.integers(0, 10, ROWS).astype(np.int8),
            "x": rng.random(ROWS).round(2) * 9,
            "b": rng.choice(["u", "v"], ROWS),
            "d": days,
        }
    )


@pytest.fixture(params=[True, False], ids=["long", "short"])
def long(request, monkeypatch):
    """Whether tables count as too long to be compared, which Arrow then does not read."""
    if request.param:
        monkeypatch.setattr(table_source, "MOST_COMPARED", 0)
    return request.param


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("column", list(FACTS["columns"]))
def test_a_damaged_page_of_any_column_is_refused_before_the_spend(tmp_path, column):
    """The bytes of one column are lost; the file's own statistics, of which no cell is seen, are whole."""
    path = tmp_path / "t.parquet"
    pq.write_table(table(), path)
    part = next(c for i in range(4) if (c := pq.read_metadata(path).row_group(0).column(i)).path_in_schema == column)
    data = bytearray(path.read_bytes())
    first = part.dictionary_page_offset or part.data_page_offset
    data[first : first + part.total_compressed_size] = bytes(part.total_compressed_size)
    path.write_bytes(data)
    place_of(path).check_form([n for n in FACTS["columns"] if n != column])
    with pytest.raises(InputError, match=r"t\.parquet: its Parquet data are damaged"):
        synth.run(path, schema=parse(FACTS), dataset="t", epsilon=1, delta=1e-5, method="independent")
    assert not [e for e in Ledger().entries() if e.kind == "spend"]


def odd(path) -> None:
    """A file that DuckDB reads and Arrow does not: levels of an encoding that there is not."""
    pq.write_table(table(), path)
    data = path.read_bytes()
    assert data.count(b"\x15\x06\x15\x06") == len(FACTS["columns"])  # both levels by run lengths, once a data page
    path.write_bytes(data.replace(b"\x15\x06\x15\x06", b"\x15\x0e\x15\x06"))


@pytest.mark.usefixtures("long")
def test_what_arrow_does_not_read_is_refused_however_long_the_table_is(tmp_path):
    path = tmp_path / "t.parquet"
    odd(path)
    place, columns = place_of(path), list(FACTS["columns"])
    for read in (place.check_form, place.read):
        with pytest.raises(InputError, match="damaged"):
            read(columns)
    facts = parse(facts_of(**FACTS["columns"] | {"b": {"type": "categorical"}}), complete=False)
    with pytest.raises(InputError, match="damaged"):  # what is learnt is learnt from rows that Arrow reads
        synth.run(path, schema=facts, dataset="t", epsilon=1, delta=1e-5, method="independent", learn_share=0.5)
    assert not [e for e in Ledger().entries() if e.kind == "spend"]


@pytest.mark.usefixtures("long")
def test_a_checked_file_is_read(tmp_path):
    """Random damage, always the same: a file that passes is encoded whole."""
    rng, passed = random.Random(1), 0
    for dictionary in (True, False):
        pq.write_table(table(), tmp_path / "whole.parquet", use_dictionary=dictionary, data_page_size=1024)
        whole = (tmp_path / "whole.parquet").read_bytes()
        end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
        for _ in range(30):
            data = bytearray(whole)
            data[rng.randrange(4, end)] = rng.randrange(256)
            path = tmp_path / "t.parquet"
            path.write_bytes(data)
            place = place_of(path)
            try:
                place.check_form(list(FACTS["columns"]))
            except InputError:
                continue
            place.encoded(parse(FACTS), SeededNoise(1), person=None, key=bytes(32))
            passed += 1
    assert 0 < passed < 60


def test_the_check_decodes_cells_that_statistics_tell_of(tmp_path, monkeypatch):
    """NaN, null and every type that has a text."""
    monkeypatch.setattr(table_source, "MOST_COMPARED", 0)
    frame = pd.DataFrame({"f": np.array([np.nan, 1], np.float32), "t": pd.to_datetime(["2000-01-01 10:00", None])})
    cells = pa.Table.from_pandas(frame).append_column("b", pa.array([True, None]))
    cells = cells.append_column("m", pa.array([None, 3], pa.decimal128(20, 2))).append_column("z", pa.nulls(2))
    cells = cells.append_column("w", pa.array(["a", None]).dictionary_encode())
    pq.write_table(cells, tmp_path / "t.parquet")
    place_of(tmp_path / "t.parquet").check_form(cells.column_names)
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT 1::UBIGINT AS a, 'x' AS b) TO '{tmp_path / 'd.parquet'}'")
    place_of(tmp_path / "d.parquet").check_form(["a", "b"])
