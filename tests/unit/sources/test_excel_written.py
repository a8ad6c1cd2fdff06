"""Workbooks that are written: types, sizes, and that they read as the same table."""

import datetime as dt
import warnings

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from synth.errors import UsageError
from synth.sources.formats import excel, files
from tests.conftest import small_frame
from tests.unit.sources.excel_books import cells, columns, fingerprint


def test_one_column_keeps_its_empty_cells(tmp_path):
    files.write(tmp_path / "t.xlsx", {"a": ["", "x", "", ""]})
    assert columns(tmp_path / "t.xlsx") == {"a": ["", "x", "", ""]}


def test_numbers_dates_and_text_have_their_types_and_nothing_is_a_formula(tmp_path):
    path = tmp_path / "t.xlsx"
    moments = ["2020-02-29T13:14:15", "1899-05-01T00:00:00", None]
    files.write(
        path,
        {
            "n": [1, None, 1234567890123456],
            "f": [0.1, 2.0, None],
            "t": ["=1+1", "12", "-x"],
            "d": pa.array([dt.date(2020, 2, 29), dt.date(1850, 1, 1), None]),
            "m": pd.to_datetime(pd.Series(moments)).array,
        },
    )
    sheet = openpyxl.load_workbook(path).active  # not data_only: a formula would show
    values = list(sheet.iter_rows(values_only=True))
    assert values[0] == ("n", "f", "t", "d", "m")
    assert values[1] == (1, 0.1, "=1+1", dt.datetime(2020, 2, 29), dt.datetime(2020, 2, 29, 13, 14, 15))
    assert values[2] == (None, 2, "12", "1850-01-01", "1899-05-01T00:00:00")
    assert values[3] == ("1234567890123456", None, "-x", None, None)
    assert [sheet.cell(2, c).data_type for c in range(1, 6)] == ["n", "n", "s", "d", "d"]


def test_equal_tables_give_equal_bytes_and_pandas_reads_them(tmp_path):
    frame = small_frame(200)
    for name in ("a.xlsx", "b.xlsx"):
        files.write(tmp_path / name, {n: frame[n].tolist() for n in frame})
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = pd.read_excel(tmp_path / "a.xlsx", dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(back, frame.astype(str))


def test_pandas_workbooks_have_the_fingerprint_of_their_csv(tmp_path):
    frame = pd.DataFrame({"n": [3, 5], "f": [1.5, 19.0], "t": ["007", "x"], "d": ["2020-01-31", "2020-02-01"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.assign(d=pd.to_datetime(frame["d"])).to_excel(tmp_path / "t.xlsx", index=False)
    prints = {fingerprint(files.read(tmp_path / n), b"0123456789abcdef") for n in ("t.csv", "t.xlsx")}
    assert len(prints) == 1


def test_more_than_a_sheet_has_room_for_is_refused_with_the_remedy(tmp_path, monkeypatch):
    path = tmp_path / "t.xlsx"
    with pytest.raises(UsageError, match=r"1048575 rows .* write .csv or .parquet"):
        files.write(path, {"a": pa.nulls(1_048_576, pa.string())})
    with pytest.raises(UsageError, match=r"16384 columns"):
        files.write(path, {f"c{i}": ["x"] for i in range(16_385)})
    with pytest.raises(UsageError, match=r"column a: .*32767 characters"):
        files.write(path, {"a": ["\U0001f600" * 16_384]})
    monkeypatch.setattr(excel, "MAX_UNPACKED", 1000)
    with pytest.raises(UsageError, match="too large for Excel"):
        files.write(path, {"a": ["x"] * 100})
    assert list(tmp_path.iterdir()) == []


def test_a_text_of_the_largest_size_is_written_and_read(tmp_path):
    text = "x" * 32_767
    files.write(tmp_path / "t.xlsx", {"a": [text]})
    assert columns(tmp_path / "t.xlsx") == {"a": [text]}


def test_a_run_takes_a_workbook_and_sample_writes_one(command, small, tmp_path):
    table = tmp_path / "t.xlsx"
    small_frame(300).to_excel(table, index=False)
    out = tmp_path / "out"
    code, _, stderr = command(f"run {table} --schema {small[1]} --epsilon 1 --method independent --out {out}")
    assert code == 0, stderr
    for name in ("s.xlsx", "s.csv"):
        assert command("sample", out, "--num-rows", 50, "--seed", 3, "--out", tmp_path / name)[0] == 0
    made, plain = (files.read(tmp_path / name) for name in ("s.xlsx", "s.csv"))
    assert made.names == plain.names
    for name in ("sex", "region", "ill"):
        assert cells(made, name) == cells(plain, name)
    for name in ("age", "income"):
        assert [c and float(c) for c in cells(made, name)] == [c and float(c) for c in cells(plain, name)]
