"""CSV and Parquet files: what is read, what is refused and with which words, what is written."""

import gzip
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.errors import InputError
from synth.sources.formats import files
from tests.unit.sources.excel_books import fingerprint


def cells(table, name):
    text = table.column(name)
    return [text.values[code] for code in text.codes]


def put(folder: Path, data: bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        (b"a,b\n1,2\n", {"a": ["1"], "b": ["2"]}),
        (b"a,b\n1,2", {"a": ["1"], "b": ["2"]}),
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n", {"a": ["1"], "b": ["2"]}),
        (b"a,b\r1,2\r", {"a": ["1"], "b": ["2"]}),
        (b"a,b\n\n1,2\n\n3,4\n\n", {"a": ["1", "3"], "b": ["2", "4"]}),
        (b"\n\na,b\n1,2\n", {"a": ["1"], "b": ["2"]}),
        (b"a\n1\n\n3\n", {"a": ["1", "", "3"]}),
        (b"a\n\n", {"a": [""]}),
        (b'a,b\n"x,""y""\nz",\n', {"a": ['x,"y"\nz'], "b": [""]}),
        (b'a,b\n1,"ends in a break\n"\n', {"a": ["1"], "b": ["ends in a break\n"]}),
        (b'"a\nb",c\n1,2\n', {"a\nb": ["1"], "c": ["2"]}),
        (b"a,b\nNA,null\nnan,007\n", {"a": ["NA", "nan"], "b": ["null", "007"]}),
        ("a,é\n1,ü\n".encode(), {"a": ["1"], "é": ["ü"]}),
        (b'a,b\n5",2\n', {"a": ['5"'], "b": ["2"]}),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.CSV.gz"])
def test_csv_is_read_as_text_and_nothing_else(tmp_path, data, columns, name):
    path = put(tmp_path, gzip.compress(data) if name.endswith("gz") else data, name)
    files.check_form(path)
    assert files.header(path) == list(columns)
    table = files.read(path)
    assert {n: cells(table, n) for n in table.names} == columns


SECRET = b"s3cret"
FAULTS = [
    (b"", "empty"),
    (b"\n \n", "empty"),
    (b"\xef\xbb\xbf", "empty"),
    (b"a,b\n", "no rows"),
    (b"a,b", "no rows"),
    (b"a,b\n1,2\ns3cret\n", "row 3 (the header is row 1) has 1 fields where the header has 2"),
    (b"\n\na,b\n1,2\ns3cret,2,3\n", "row 3 (the header is row 1) has 3 fields where the header has 2"),
    (b"a\xff,b\n1,s3cret\n", "UTF-8"),
    ("a,b\n1,s3cret\n".encode("utf-16"), "UTF-16"),
    ("a,b\n1,s3cret\n".encode("utf-16-le"), "UTF-8"),
    (b"a\0,b\n1,s3cret\n", "UTF-8"),
    (b"a;b\n1;s3cret\n", "semicolons"),
    (b"a\tb\n1\ts3cret\n", "tabs"),
    (b"a,a\n1,s3cret\n", "two columns are named 'a'"),
    (b",a\n1,s3cret\n", "column 1 has no name"),
    (b'a,b\n1,"s3cret\n1,2\n', "never closed"),
    (b'a,b\n1,"s3cret\n' + b"1,2\n" * 2_200_000, "never closed"),
    (b'"a,b\n1,s3cret\n', "no header"),
    (gzip.compress(b"a\n1\n", mtime=0), "name it .csv.gz"),
    (b"PK\x03\x04", "save it as CSV"),
]


@pytest.mark.parametrize(("data", "part"), FAULTS, ids=[part for _, part in FAULTS])
def test_a_fault_of_form_is_one_line_that_names_it_and_no_cell(tmp_path, data, part):
    path = put(tmp_path, data)
    with pytest.raises(InputError) as caught:
        files.check_form(path)
    text = str(caught.value)
    assert part in text
    assert str(path) in text
    assert "\n" not in text
    assert SECRET.decode() not in text
    assert caught.value.__cause__ is None  # the parser's own message quotes the row
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("data", [data for data, part in FAULTS if part != "never closed"])
def test_reading_without_a_check_refuses_too(tmp_path, data):
    with pytest.raises(InputError) as caught:
        files.read(put(tmp_path, data))
    assert SECRET.decode() not in str(caught.value)


def packed() -> bytes:
    rows = "".join(f"{i},{i * i}\n" for i in range(5000))
    return gzip.compress(f"a,b\n{rows}".encode(), mtime=0)


@pytest.mark.parametrize(
    "data", [packed()[:-30], packed()[:9], packed()[:-6] + b"123456", packed() + b"junk", b"a,b\n1,2\n"]
)
def test_damaged_gzip_is_refused(tmp_path, data):
    with pytest.raises(InputError, match="gzip data are damaged"):
        files.check_form(put(tmp_path, data, "t.csv.gz"))


@pytest.mark.parametrize("name", ["t.xls", "t.txt", "csv", "t.csv.zip", "t.parquet.gz"])
def test_other_kinds_of_file_are_refused_with_the_remedy(tmp_path, name):
    with pytest.raises(InputError, match="save as CSV or Parquet"):
        files.check_form(put(tmp_path, b"a\n1\n", name))


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_missing_files_and_folders_are_named_as_such(tmp_path, name):
    with pytest.raises(InputError, match="no such file"):
        files.header(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        files.check_form(tmp_path / name)


def test_an_unreadable_file_is_named_as_such(tmp_path):
    """As an ordinary user: the superuser, who may read every file, gives up its rights for the moment."""
    path = put(tmp_path, b"a\n1\n")
    path.chmod(0)
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(InputError, match="permission"):
            files.header(path)
    finally:
        os.seteuid(before)


def test_a_missing_column_is_named_with_its_neighbours(tmp_path):
    path = put(tmp_path, b"AGEP,SEX\n1,2\n")
    with pytest.raises(InputError, match="no column 'AGE'; did you mean AGEP"):
        files.check_form(path, columns=["SEX", "AGE"])
    with pytest.raises(InputError, match="did you mean SEX"):
        files.read(path, columns=["sex"])
    with pytest.raises(InputError, match="it has AGEP, SEX"):
        files.check_form(path, columns=["zzz"])


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_columns_are_chosen_and_ordered_by_the_caller(tmp_path, name):
    path = tmp_path / name
    files.write(path, {"a": ["1"], "b": ["2"], "a.b": ["3"]})
    table = files.read(path, columns=["b", "a"])
    assert table.names == ("b", "a")
    assert cells(table, "a") == ["1"]


def save(folder: Path, table: pa.Table) -> Path:
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def test_parquet_faults_are_named(tmp_path):
    for data in (b"", b"PAR1PAR1", b"a,b\n1,2\n"):
        with pytest.raises(InputError, match="not a readable Parquet"):
            files.check_form(put(tmp_path, data, "t.parquet"))
    path = save(tmp_path, pa.table({"a": ["x", "y"]}))
    data = bytearray(path.read_bytes())
    data[40:42] = b"zz"
    with pytest.raises(InputError, match="damaged"):
        files.check_form(put(tmp_path, bytes(data), "t.parquet"))
    with pytest.raises(InputError, match="no rows"):
        files.check_form(save(tmp_path, pa.table({"a": pa.array([], pa.string())})))
    with pytest.raises(InputError, match="two columns"):
        files.header(save(tmp_path, pa.table([pa.array([1])] * 2, names=["a", "a"])))


def test_parquet_columns_without_a_text_are_refused_only_where_wanted(tmp_path):
    path = save(tmp_path, pa.table({"a": pa.array([["secret"]]), "b": [1]}))
    files.check_form(path, columns=["b"])
    for call in (files.check_form, files.read):
        with pytest.raises(InputError, match="column a: cells of type list") as caught:
            call(path)
        assert "secret" not in str(caught.value)


def test_parquet_text_that_is_not_utf8_is_lost_alone(tmp_path):
    path = save(tmp_path, pa.table({"a": pa.array([b"secret\xff"], pa.binary()).view(pa.string())}))
    files.check_form(path)
    assert files.read(path).column("a").values.tolist() == ["secret\ufffd"]


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("at", [0, 69_000])
def test_one_text_that_is_not_utf8_is_lost_alone_wherever_it_stands(tmp_path, listed, at):
    """In a file that lists its texts once, and in one that writes each out; in the first rows and after the first."""
    texts = pa.array([b"secret\xff" if i == at else b"ab%d" % (i % 7) for i in range(70_000)], pa.binary())
    pq.write_table(pa.table({"a": texts.view(pa.string())}), tmp_path / "t.parquet", use_dictionary=listed)
    files.check_form(tmp_path / "t.parquet")
    column = files.read(tmp_path / "t.parquet").column("a")
    result = column.values[column.codes]
    assert result[at] == "secret\ufffd"
    assert {*np.delete(result, at)} == {f"ab{i}" for i in range(7)}


def test_a_csv_and_its_parquet_copy_have_one_fingerprint(tmp_path):
    columns = {"n": [3, 1, 2], "x": [0.5, None, 19.0], "s": ["a", "", "b"], "t": [True, False, None]}
    files.write(tmp_path / "t.csv", columns)
    files.write(tmp_path / "t.parquet", columns)
    one, two = (fingerprint(files.read(tmp_path / n), b"k") for n in ("t.csv", "t.parquet"))
    assert one == two


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
# A header with a replacement character is refused: it may be one in another encoding.
NAMES = TEXTS.filter(lambda t: t.strip() and not {";", "\t", "\ufffd"} & set(t))


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_any_text_comes_back_as_it_was_written(tmp_path, name, data):
    names = data.draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    rows = data.draw(st.integers(1, 4))
    columns = {n: data.draw(st.lists(TEXTS, min_size=rows, max_size=rows)) for n in names}
    files.write(tmp_path / name, columns)
    files.check_form(tmp_path / name)
    table = files.read(tmp_path / name)
    assert {n: cells(table, n) for n in table.names} == columns


def test_csv_is_quoted_only_where_it_must_be_and_carries_no_time(tmp_path):
    columns = {"a,b": ["x", 'say "y"', None], "n": pa.array([1, None, 3])}
    files.write(tmp_path / "t.csv", columns)
    plain = b'"a,b",n\nx,1\n"say ""y""",\n,3\n'
    assert (tmp_path / "t.csv").read_bytes() == plain
    files.write(tmp_path / "t.csv.gz", columns)
    packed = (tmp_path / "t.csv.gz").read_bytes()
    assert gzip.decompress(packed) == plain
    assert packed[3:8] == bytes(5)  # neither flags, so no name, nor a time


def test_more_rows_than_one_batch_are_written_in_order(tmp_path):
    numbers = np.arange(150_000)
    files.write(tmp_path / "t.csv", {"n": pa.array(numbers), "m": pa.array(numbers % 7).cast(pa.string())})
    table = files.read(tmp_path / "t.csv")
    text = table.column("n")
    assert np.array_equal(text.values[text.codes].astype(int), numbers)


def test_a_failed_write_leaves_the_old_file_and_no_remains(tmp_path):
    path = put(tmp_path, b"old")
    with pytest.raises(InputError, match="not supported"):
        files.write(path, {"a": pa.array([[1]])})
    with pytest.raises(InputError, match="cannot be written"):
        files.write(tmp_path / "nowhere" / "t.csv", {"a": ["1"]})
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_checking_takes_no_more_memory_than_a_few_blocks(tmp_path):
    block = b"".join(b"%d,some text,%d\n" % (i, i * 7) for i in range(50_000))
    path, copies = tmp_path / "t.csv.gz", 150
    path.write_bytes(gzip.compress(b"a,b,c\n", mtime=0) + gzip.compress(block, 1) * copies)
    pool, usual = pa.system_memory_pool(), pa.default_memory_pool()
    before = pool.max_memory() or 0
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        files.check_form(path)
        peak = tracemalloc.get_traced_memory()[1] + (pool.max_memory() or 0) - before
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)
    assert len(block) * copies > 160e6
    assert peak < 110e6
