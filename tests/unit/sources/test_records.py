"""A CSV file cut where records end: the parser reads the pieces as the whole, and never waits for itself."""

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synth.errors import InputError
from synth.sources.formats import csv_files

TRICKY = st.text('ab,"\n\r', max_size=30)


def parsed(data: bytes) -> list[dict]:
    """What the parser makes of one piece, rows of any length allowed by two columns or none."""
    ragged: list[str] = []

    def odd(row: pa_csv.InvalidRow) -> str:
        ragged.append(row.text)
        return "skip"

    table = pa_csv.read_csv(
        pa.BufferReader(data),
        read_options=pa_csv.ReadOptions(use_threads=False, column_names=["x", "y"]),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=odd),
        convert_options=pa_csv.ConvertOptions(column_types=dict.fromkeys("xy", pa.string()), strings_can_be_null=False),
    )
    return [*table.to_pylist(), {"ragged": sorted(ragged)}]


def joined(parts: list[list[dict]]) -> list[dict]:
    rows = [row for part in parts for row in part[:-1]]
    return [*rows, {"ragged": sorted(text for part in parts for text in part[-1]["ragged"])}]


@given(TRICKY)
@example('a"b,"c\nd"\n')
@example('"a"b"\n,"\r\n"\n')
def test_pieces_read_as_the_whole_does(text: str) -> None:
    """Every record end that the cut finds is one for the parser too; what is left over holds none."""
    data = text.encode()
    end = csv_files.whole_records(data)
    left = data[end:]
    assert csv_files.whole_records(left) == 0
    if end and data[:end].strip(b"\r\n") and left.strip(b"\r\n") and not data[:end].endswith(b"\r"):
        assert joined([parsed(data[:end]), parsed(left)]) == parsed(data)


@given(TRICKY)
def test_the_two_ways_to_find_the_last_record_agree(text: str) -> None:
    data = text.encode()
    match = csv_files._forms(",", chr(34))[0].match(data)
    assert csv_files.whole_records(data) == (match.end() if match else 0)


@given(
    st.lists(
        st.tuples(st.text('a,"\n\r\ufeff', max_size=4), st.text("bc", min_size=1, max_size=4)), min_size=1, max_size=9
    )
)
def test_a_file_read_in_small_pieces_is_the_file(cells: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        lines = ["x,y"] + ['"' + x.replace('"', '""') + '",' + y for x, y in cells]
        path.write_text("\n".join(lines), encoding="utf-8", newline="")
        csv_files.check(path, piece=5)
        rows = pa.concat_tables(list(csv_files.stream(path, ["y", "x"], gathered=1, piece=5))).to_pylist()
    assert [(row["x"], row["y"]) for row in rows] == cells


def test_a_fault_names_its_row_in_a_later_piece(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n\na,b\n" + "1,2\n" * 40 + "1,2,3\n" + "1,2\n" * 40)
    with pytest.raises(InputError, match=r"row 42 .the header is row 1. has 3 fields where the header has 2"):
        csv_files.check(tmp_path / "t.csv", piece=64)


@pytest.mark.parametrize("ending", ["", "\n", '\nx,"', "\r\n"])
def test_a_quote_that_is_never_closed_is_found(tmp_path: Path, ending: str) -> None:
    (tmp_path / "t.csv").write_text('a,b\n1,"2' + ending.replace('"', ""), newline="")
    with pytest.raises(InputError, match="opens a quote that is never closed"):
        csv_files.check(tmp_path / "t.csv")


STORM = """
import sys
from pathlib import Path
from synth.errors import InputError
from synth.sources.formats import csv_files as delimited
delimited.BYTES_AT_A_TIME = 1 << 16
paths = [Path(p) for p in sys.argv[1:]]
for turn in range(100):
    path = paths[turn % len(paths)]
    try:
        if turn % 2:
            delimited.check(path)
        else:
            parts = delimited.stream(path, ["a"], gathered=1)
            next(parts), parts.close()
    except InputError:
        pass
print("done")
"""


def test_readers_that_stop_midway_never_wait_for_themselves(tmp_path: Path) -> None:
    """Faults and abandoned streams, again and again in one process: it ends (once it waited for ever)."""
    rows = "".join(f"{i},x{i % 7},{i * 3}\n" for i in range(400_000)).encode()
    half = len(rows) // 2
    files = {
        "ragged.csv": rows[:half] + b",9" + rows[half:],
        "nul.csv": rows[:half] + b"\0" + rows[half:],
        "foreign.csv": rows[:half] + b"\xff\xfe" + rows[half:],
        "fine.csv": rows,
        "short.csv.gz": rows,
        "open.csv": rows[:half] + b'1,"2,3\n' + rows[half:],
    }
    for name, content in files.items():
        whole = b"a,b,c\n" + content
        (tmp_path / name).write_bytes(gzip.compress(whole, 1)[:900_000] if name.endswith("gz") else whole)
    paths = [str(tmp_path / name) for name in files]
    done = subprocess.run([sys.executable, "-c", STORM, *paths], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr


@pytest.mark.parametrize("size", [9, 10, 11, 12, 13, 1 << 20])
def test_blank_lines_mean_the_same_wherever_the_file_is_cut(tmp_path: Path, size: int) -> None:
    """Between rows of two columns they are nothing; in one column each is an empty cell."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"\n\na,b\r\n1,2\r\n\r\n\n\n\n3,4")
    assert csv_files.read(path, ["a"], piece=size).column("a").to_pylist() == ["1", "3"]
    path.write_bytes(b"a\r\n1\r\n\r\n\r\n\r\n3")
    assert csv_files.read(path, ["a"], piece=size).column("a").to_pylist() == ["1", "", "", "", "3"]
