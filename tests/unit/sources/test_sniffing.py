"""What a draft finds of how a table is written, and what it asks."""

import numpy as np
import pandas as pd
import pytest

from synth.schema.dialect import Dialect
from synth.sources.draft_schema import draft
from synth.sources.formats.csv_files import sniffed
from synth.sources.formats.text_table import from_frame

TEXT = "name;gr\u00f6\u00dfe\nM\u00fcller;1,5\nK\u00f6hler;2,5\n"


def reported(tmp_path, data: bytes, **stated) -> Dialect:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    return sniffed(path, **stated)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "windows-1252"])
def test_the_encoding_is_found(tmp_path, encoding):
    assert reported(tmp_path, TEXT.encode(encoding)).encoding == encoding


def test_one_bad_byte_among_utf_8_does_not_make_it_windows_1252(tmp_path):
    assert reported(tmp_path, (TEXT * 3).encode() + b"K\xf6ln;2\n").encoding == "utf-8"


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_separator_is_found_among_decimal_commas_and_quotes(tmp_path, mark):
    cells = [["a", "b", "c"], ["1", '"x, y; z|\tq"', "2"], ["3", "w", "4"]]
    assert reported(tmp_path, "\r\n".join(mark.join(c) for c in cells).encode()).delimiter == mark
    assert reported(tmp_path, b"a;b\n1,5;2,5\n3,5;4,5\n").delimiter == ";"


def test_what_is_stated_is_not_guessed(tmp_path):
    result = reported(tmp_path, TEXT.encode("windows-1252"), delimiter="|", decimal=".")
    assert (result.delimiter, result.decimal, result.source) == ("|", ".", "unconfirmed")


def drafted(cells: dict[str, list], *, dialect: Dialect | None = None, **options):
    table = from_frame(pd.DataFrame(cells))
    table.dialect = dialect
    return draft(table, **options)


def column(cells: list, **options):
    result = drafted({"X": cells}, **options)
    return result.schema.columns["X"], " ".join(result.suggestions)


CSV = Dialect(delimiter=";")


@pytest.mark.parametrize(
    ("cells", "decimal", "thousands", "low", "high"),
    [
        (["1,5", "2,25", "7"], ",", None, 0, 8),
        (["1.234,5", "12,25", "999"], ",", ".", 0, 1500),
        (["1,234.5", "12.25", "999"], ".", ",", 0, 1500),
        (["1'234.5", "12.25"], ".", "'", 0, 1500),
        (["1.5", "2.25"], ".", None, 1.4, 2.4),
    ],
)
def test_marks_in_numbers_are_found(cells, decimal, thousands, low, high):
    result = drafted({"X": cells}, dialect=CSV).schema
    dialect = result.dialect or CSV
    assert (dialect.decimal, dialect.thousands) == (decimal, thousands)
    assert (result.columns["X"].type, result.columns["X"].min, result.columns["X"].max) == ("float", low, high)
    assert result.columns["X"].format is None


def test_outside_csv_numbers_have_a_format_of_their_own():
    result, _ = column(["1.234,5", "12,25"])
    assert (result.type, result.format) == ("float", "1.234,5")


def test_a_column_written_unlike_the_others_has_its_own_format():
    result = drafted({"A": ["1,5", "2,5"], "B": ["3,5", "4,5"], "C": ["1.25", "7.5"]}, dialect=CSV).schema
    assert result.dialect is not None
    assert result.dialect.decimal == ","
    assert [c.format for c in result.columns.values()] == [None, None, "1234.5"]
    assert result.columns["C"].max == 8


def test_an_ambiguous_number_is_a_question():
    result, lines = column(["1.234", "2.500"], dialect=CSV)
    assert result.max == 2.5
    assert "which is right?" in lines
    assert "`formats=X=1.234,5`" in lines
    result, lines = column(["1.234", "2.500"], dialect=CSV, formats={"X": "1.234,5"})
    assert (result.type, result.max, result.format) == ("integer", 2500, "1.234,5")
    assert "which" not in lines
    assert "which" not in column(["0.512", "2.500"], dialect=CSV)[1]


@pytest.mark.parametrize(
    ("cells", "form", "first"),
    [
        (["31.01.2020", "1.2.2020"], "dd.mm.yyyy", "2020-01-01"),
        (["01/31/2020", "02/01/2020"], "mm/dd/yyyy", "2020-01-01"),
        (["31/01/2020", "02/01/2021"], "dd/mm/yyyy", "2020-01-01"),
        (["01/31/2020 1:05 PM", "02/01/2020 12:00 AM"], "mm/dd/yyyy hh:MM AM", "2020-01-01T00:00:00"),
        (["31.01.2020 13:05", "01.02.2020"], "dd.mm.yyyy HH:MM", "2020-01-01T00:00:00"),
        (["31.01.99", "01.02.00"], "dd.mm.yy", "1999-01-01"),
        (["2020/01/31", "2020/02/01"], "yyyy/mm/dd", "2020-01-01"),
    ],
)
def test_dates_are_found(cells, form, first):
    result, lines = column(cells)
    assert (result.type, result.format, result.min) == ("datetime", form, first)
    assert f"X: dates read as {form}" in lines
    assert "which" not in lines


def test_an_ambiguous_date_is_a_question_unless_another_column_answers_it():
    result, lines = column(["01/02/2020", "03/04/2020"])
    assert (result.format, result.min) == ("dd/mm/yyyy", "2020-01-01")
    assert "`formats=X=mm/dd/yyyy`" in lines
    both = drafted({"X": ["01/02/2020", "03/04/2020"], "Y": ["01/31/2020", "03/04/2020"]})
    assert both.schema.columns["X"].format == "mm/dd/yyyy"
    assert column(["01/02/2020", "03/04/2020"], formats={"X": "mm/dd/yyyy"})[0].format == "mm/dd/yyyy"


def test_what_does_not_fit_is_named_by_its_number_and_becomes_empty():
    result, lines = column(["31.01.2020"] * 40 + ["soon"])
    assert (result.type, result.nullable) == ("datetime", True)
    assert "1 cells do not fit" in lines
    assert "soon" not in lines


def test_words_for_nothing_are_missing():
    cells = ["1", "2", "N/A", "NA", ".", "-", "4"]
    result, lines = column(cells)
    assert (result.type, result.missing) == ("integer", ("NA", "N/A", "-", "."))
    assert "X: NA, N/A, -, . taken as missing" in lines
    assert column(["+", "-", "+", "A"])[0].missing is None  # a factor, not a gap
    assert column(["A", "B", "NA"])[0].missing == ("NA",)


def test_999_is_missing_only_far_from_all_other_values():
    ages = np.arange(100).tolist() * 3
    assert column([*ages, 999, 999, 999])[0].missing == ("999",)
    assert column([*ages, 999, 999, 999])[0].max == 100
    assert column([*ages, 999, 999])[0].missing is None  # twice may be chance
    assert column([*range(500, 900, 7), 999, 999, 999])[0].missing is None


def test_a_named_kind_keeps_its_texts():
    assert column(["1,5", "2,5"], categorical=["X"])[0].categories == ("1,5", "2,5")


def test_a_plain_table_needs_no_dialect():
    result = drafted({"A": ["1.5", "2"], "B": ["2020-01-31", "2020-02-01"]}, dialect=Dialect())
    assert result.schema.dialect is None
    assert result.suggestions == []
