"""Excel workbooks: what is read, what is refused and with which words, what is written."""

import datetime as dt
import warnings
import zipfile

import openpyxl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.errors import InputError
from synth.sources.formats import excel, files
from tests.unit.sources.excel_books import book, columns

SECRET = "s3cret"


CELLS = [
    (3, "3"),
    (3.0, "3"),
    (-2.5, "-2.5"),
    (True, "True"),
    (False, "False"),
    ("007", "007"),
    (" padded ", " padded "),
    ("NA", "NA"),
    (dt.date(2020, 2, 29), "2020-02-29"),
    (dt.datetime(2020, 2, 29), "2020-02-29"),
    (dt.datetime(2020, 2, 29, 13, 14, 15), "2020-02-29T13:14:15"),
    (dt.time(13, 14), "13:14:00"),
    (None, ""),
    ("#N/A", "#N/A"),
]


@pytest.mark.parametrize(("cell", "text"), CELLS, ids=[repr(c) for c, _ in CELLS])
def test_a_cell_is_read_as_the_text_of_its_value(tmp_path, cell, text):
    assert columns(book(tmp_path, [["a", "b"], [cell, "x"]])) == {"a": [text], "b": ["x"]}


def test_a_formula_is_read_by_its_stored_result(tmp_path):
    path = book(tmp_path, [["a", "b"], ["=1+1", "x"]])
    with zipfile.ZipFile(path) as old:
        parts = {n: old.read(n) for n in old.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    assert b"<f>1+1</f><v/>" in parts[sheet] or b"<f>1+1</f><v />" in parts[sheet]
    parts[sheet] = parts[sheet].replace(b"<f>1+1</f><v/>", b"<f>1+1</f><v>2</v>").replace(b"<v />", b"<v>2</v>")
    with zipfile.ZipFile(path, "w") as new:
        for name, data in parts.items():
            new.writestr(name, data)
    assert columns(path)["a"] == ["2"]


SHAPES = [
    ([["a", "b"], [1, 2], [None, None], [3, 4], [None, None]], {"a": ["1", "3"], "b": ["2", "4"]}),
    ([[None, None], ["a", "b"], [1, 2]], {"a": ["1"], "b": ["2"]}),
    ([["a", "b"], [1]], {"a": ["1"], "b": [""]}),
    ([["a", None, None], [1, None, None]], {"a": ["1"]}),
    ([["a"], [1], [None], [3], [None]], {"a": ["1", "3"]}),
    ([[2019, 2020.5], [1, 2]], {"2019": ["1"], "2020.5": ["2"]}),
]


@pytest.mark.parametrize(("rows", "expected"), SHAPES)
def test_empty_rows_are_none_and_short_rows_are_filled(tmp_path, rows, expected):
    assert columns(book(tmp_path, rows)) == expected


def test_the_one_sheet_with_cells_is_the_table(tmp_path):
    assert columns(book(tmp_path, [], [["a"], [1]], [])) == {"a": ["1"]}


FAULTS = [
    ([[]], "the workbook is empty"),
    ([[["a", "b"]]], "no rows"),
    ([[["a", "a"], [SECRET, 2]]], "two columns are named 'a'"),
    ([[["a", None, "b"], [SECRET, 2, 3]]], "column 2 has no name"),
    ([[["a", "b"], [1, 2], [1, 2, SECRET]]], "row 3 has a cell beyond"),
    ([[["a"], [SECRET]], [["b"], [1]]], "2 of its sheets hold cells"),
]


def assert_one_line(path, part, call=files.check_form):
    with pytest.raises(InputError) as caught:
        call(path)
    text = str(caught.value)
    assert part in text
    assert str(path) in text
    assert "\n" not in text
    assert SECRET not in text
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("call", [files.check_form, files.read])
@pytest.mark.parametrize(("sheets", "part"), FAULTS, ids=[part for _, part in FAULTS])
def test_a_fault_of_form_is_one_line_that_names_it_and_no_cell(tmp_path, sheets, part, call):
    assert_one_line(book(tmp_path, *sheets), part, call)


def test_merged_cells_are_refused_for_all_but_one_would_look_missing(tmp_path):
    made = openpyxl.Workbook()
    for row in (["a", "b"], [SECRET, 1], [None, 2]):
        made.active.append(row)
    made.active.merge_cells("A2:A3")
    made.save(tmp_path / "t.xlsx")
    assert_one_line(tmp_path / "t.xlsx", "merged cells")


def test_a_merge_is_found_where_two_chunks_meet(tmp_path, monkeypatch):
    made = openpyxl.Workbook()
    made.active.append(["a", "b"])
    made.active.merge_cells("A2:A3")
    made.save(tmp_path / "t.xlsx")
    for size in (7, 11, 13):
        monkeypatch.setattr(excel, "CHUNK", size)
        assert_one_line(tmp_path / "t.xlsx", "merged cells")


def damaged(data):
    middle = len(data) // 2
    return {
        "no archive": b"PK\x03\x04 nothing of the kind",
        "empty": b"",
        "cut short": data[:middle],
        "text": b"a,b\n1,2\n",
        "bytes changed": data[:200] + bytes(300) + data[500:],
    }


@pytest.mark.parametrize("fault", damaged(b""))
def test_a_damaged_workbook_is_refused(tmp_path, fault):
    path = book(tmp_path, [["a", "b"], *[[SECRET, i] for i in range(50)]])
    path.write_bytes(damaged(path.read_bytes())[fault])
    assert_one_line(path, "not a readable Excel workbook")


def test_an_encrypted_or_old_workbook_is_named_as_such(tmp_path):
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    assert_one_line(path, "password")


def test_a_missing_file_is_named(tmp_path):
    assert_one_line(tmp_path / "none.xlsx", "no such file")


def bomb(path, name, size):
    """A workbook with one part of zeros, tiny on disk."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as part:
        for _ in range(size >> 20):
            part.write(bytes(1 << 20))
    return path


def test_what_would_unpack_to_too_much_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(excel, "MAX_UNPACKED", 3 << 20)
    path = bomb(book(tmp_path, [["a"], [1]]), "xl/worksheets/other.xml", 4 << 20)
    assert path.stat().st_size < 1 << 16
    assert_one_line(path, "unpacks to more than 3 MiB")


def test_a_huge_style_sheet_is_refused(tmp_path):
    path = bomb(book(tmp_path, [["a"], [1]]), "xl/theme/huge.xml", 17 << 20)
    assert_one_line(path, "16 MiB of styles")


def test_a_row_number_beyond_the_sheet_is_refused(tmp_path):
    path = book(tmp_path, [["a"], [1], [2]])
    with zipfile.ZipFile(path) as old:
        parts = {n: old.read(n) for n in old.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b'<row r="3"', b'<row r="99999999"')
    with zipfile.ZipFile(path, "w") as new:
        for name, data in parts.items():
            new.writestr(name, data)
    assert_one_line(path, "more than 1048576 rows")


def test_the_reader_s_warnings_are_not_shown_since_they_quote_cells(tmp_path):
    made = openpyxl.Workbook()
    made.active.append(["a", "b"])
    made.active.append([98765432109, 1])
    made.active["A2"].number_format = "yyyy-mm-dd"
    made.save(tmp_path / "t.xlsx")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert columns(tmp_path / "t.xlsx")["a"] == ["#VALUE!"]


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8) | st.sampled_from(
    ["=1+1", "+1", "-1", "@x", "=cmd|' /C calc'!A0", "_x0041_", "_x005F_", "\r\n", "a\x01b", "\ufffe", "]]>&<", "3.0"]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_every_text_comes_back_as_it_was(tmp_path, rows):
    path = tmp_path / "t.xlsx"
    table = {"a": [a for a, _ in rows], "b": [b for _, b in rows]}
    files.write(path, table)
    assert columns(path) == table


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ints=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5),
    floats=st.lists(st.floats(allow_nan=False), min_size=5, max_size=5),
)
def test_every_number_comes_back_with_its_value(tmp_path, ints, floats):
    path = tmp_path / "t.xlsx"
    files.write(path, {"i": pa.array(ints, pa.int64()), "f": pa.array(floats[: len(ints)], pa.float64())})
    result = columns(path)
    assert result["i"] == [str(i) for i in ints]
    assert [float(text) for text in result["f"]] == floats[: len(ints)]


def test_no_nul_character_comes_out_of_a_workbook(tmp_path):
    assert columns(book(tmp_path, [["a", "b"], ["x_x0000_", "_x000D_"]])) == {"a": ["x_x0000_"], "b": ["\r"]}
