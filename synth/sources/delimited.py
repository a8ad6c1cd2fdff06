"""CSV files: comma, header line, UTF-8, LF or CRLF or CR, quotes where needed; plain or gzipped."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from synth import formulas
from synth.errors import InputError
from synth.sources import texts
from synth.sources.frames import check_names

BLOCK = 1 << 22  # bytes parsed at a time; also the longest row
GATHERED = 1 << 25  # bytes of cells handed on at a time
HEADER = 1 << 20  # characters that a header may take
BATCH = 1 << 16  # rows written at a time
MUST_QUOTE = '[",\r\n\ufeff]'
FOREIGN = {
    b"\xff\xfe": "it is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "it is UTF-16 text; save it as UTF-8",
    b"\x1f\x8b": "it is gzipped; name it .csv.gz",
    b"PAR1": "it is a Parquet file; name it .parquet",
    b"PK\x03\x04": "it is a spreadsheet or an archive; save it as CSV",
}
NOT_UTF8 = "its text is not UTF-8; save it as UTF-8 CSV"
READ_FAULTS = (EOFError, gzip.BadGzipFile, zlib.error)


@dataclass(frozen=True, kw_only=True)
class Header:
    """Column names and how many blank lines stand above them."""

    names: list[str]
    blank_lines: int


class _Bytes(io.RawIOBase):
    """The file's bytes, watched as they pass: NUL bytes are refused, a last line end is added where missing."""

    def __init__(self, path: Path) -> None:
        raw = open_bytes(path)
        self._source: IO[bytes] = gzip.GzipFile(fileobj=raw) if path.name.lower().endswith(".gz") else raw  # type: ignore[assignment]
        self._raw, self._path, self.last, self._ended = raw, path, b"", False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        if not self.last:
            self._refuse_foreign(data)  # also refuses an empty file
        if b"\0" in data:
            raise InputError(f"{self._path}: it contains NUL bytes, so it is no UTF-8 text; save it as UTF-8 CSV")
        self.last = data[-3:] or self.last
        if len(data) < size and not self._ended:
            self._ended = True
            return data if self.last[-1:] in (b"\n", b"\r") else data + b"\n"
        return data

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._source.close()
        self._raw.close()
        super().close()

    def _refuse_foreign(self, data: bytes) -> None:
        if not data.strip(b"\xef\xbb\xbf\r\n \t"):
            raise InputError(f"{self._path}: the file is empty; it needs a header line and at least one row")
        for magic, fault in FOREIGN.items():
            if data.startswith(magic):
                raise InputError(f"{self._path}: {fault}")


def open_bytes(path: Path) -> IO[bytes]:
    """The file, opened. Errors: InputError when it is missing, a folder or not permitted."""
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the name and the folder") from None
    except IsADirectoryError:
        raise InputError(f"{path}: it is a folder; name a file in it") from None
    except OSError as error:
        raise InputError(f"{path}: it cannot be opened ({error.strerror}); check its permissions") from None


def header(path: Path) -> Header:
    """The checked header. Errors: InputError."""
    with (
        _Bytes(path) as source,
        io.TextIOWrapper(io.BufferedReader(source), "utf-8-sig", newline="") as lines,
    ):
        try:
            found = _first_record(lines)
        except UnicodeDecodeError:
            raise InputError(f"{path}: {NOT_UTF8}") from None
        except READ_FAULTS:
            raise _damaged(path) from None
        except csv.Error:
            raise InputError(f"{path}: its first line is no header; it needs one line of column names") from None
    found = Header(names=formulas.names(found.names), blank_lines=found.blank_lines)
    check_names(found.names, thing=str(path))
    if len(found.names) == 1 and re.search("[;\t]", found.names[0]):
        mark = "semicolons" if ";" in found.names[0] else "tabs"
        raise InputError(f"{path}: its columns are separated by {mark}; save it with commas")
    return found


def _first_record(lines: io.TextIOWrapper) -> Header:
    blank, left = 0, HEADER
    line = lines.readline(left)
    while line and not line.strip("\r\n"):
        blank, line = blank + 1, lines.readline(left)

    def more() -> Iterator[str]:
        nonlocal left
        part = line
        while part:
            left -= len(part)
            if left <= 0:
                raise csv.Error("too long")
            yield part
            part = lines.readline(left)

    return Header(names=next(csv.reader(more(), strict=True), []), blank_lines=blank)


def check(path: Path) -> None:
    """One pass over all rows; keeps none. Errors: InputError for every fault of form."""
    found = header(path)
    rows, last = 0, ""
    with _Bytes(path) as source, _Faults(path, source, found) as faults:
        options = _options(found, pa.string(), found.names, faults.ragged, threads=False)
        with pa_csv.open_csv(source, **options) as reader:  # closed before its source, which it may read ahead
            for batch in reader:
                if batch.num_rows:
                    rows, last = rows + batch.num_rows, str(batch.column(batch.num_columns - 1)[-1].as_py())
        if last.endswith(("\n", "\r")) and not source.last.rstrip(b"\r\n").endswith(b'"'):
            raise InputError(f"{path}: its last row opens a quote that is never closed; close it")
    if rows == 0:
        raise InputError(f"{path}: it has a header and no rows; at least one row is needed")


def read(path: Path, wanted: list[str]) -> pa.Table:
    """The wanted columns, each a dictionary of texts. Errors: InputError."""
    found = header(path)
    kind = pa.dictionary(pa.int32(), pa.string())
    with _Bytes(path) as source, _Faults(path, source, found) as faults:
        return pa_csv.read_csv(source, **_options(found, kind, wanted, faults.ragged, threads=True))


def stream(path: Path, wanted: list[str], *, gathered: int = GATHERED) -> Iterator[pa.Table]:
    """The wanted columns as text, some rows at a time, in bounded memory. Errors: InputError."""
    found = header(path)
    with _Bytes(path) as source, _Faults(path, source, found) as faults:
        options = _options(found, pa.string(), wanted, faults.ragged, threads=False)
        waiting: list[pa.RecordBatch] = []
        with pa_csv.open_csv(source, **options) as reader:
            for batch in reader:
                waiting.append(batch)
                if sum(b.nbytes for b in waiting) >= gathered:
                    yield pa.Table.from_batches(waiting)
                    waiting = []
        if waiting:
            yield pa.Table.from_batches(waiting)


class _Faults:
    """Turns what the parser raises into one line without a cell: its own messages quote the row."""

    def __init__(self, path: Path, source: _Bytes, found: Header) -> None:
        self._path, self._source, self._found = path, source, found
        self._invalid: pa_csv.InvalidRow | None = None

    def __enter__(self) -> "_Faults":
        return self

    def ragged(self, row: pa_csv.InvalidRow) -> str:
        self._invalid = row
        return "error"

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, READ_FAULTS):
            raise _damaged(self._path) from None
        if isinstance(error, pa.ArrowException):
            raise InputError(f"{self._path}: {self._fault(str(error))}") from None

    def _fault(self, text: str) -> str:
        number = re.search(r"Row #(\d+):", text)
        row = int(number[1]) - self._found.blank_lines if number else 0
        where = f"row {row} (the header is row 1)" if number else "a row"
        if self._invalid is not None:
            expected, actual = self._invalid.expected_columns, self._invalid.actual_columns
            return f"{where} has {actual} fields where the header has {expected}; quote cells that hold commas"
        if "UTF8" in text:
            return NOT_UTF8
        if "straddling" in text:
            return f"a row is longer than {BLOCK >> 20} MiB; is a closing quote missing?"
        return "not a readable CSV file; save it again as UTF-8 CSV with commas"


def _options(found: Header, kind: pa.DataType, wanted: list[str], ragged: object, *, threads: bool) -> dict:
    return {
        "read_options": pa_csv.ReadOptions(
            use_threads=threads,
            block_size=BLOCK,
            column_names=found.names,
            skip_rows=found.blank_lines,
            skip_rows_after_names=1,
        ),
        "parse_options": pa_csv.ParseOptions(
            newlines_in_values=True,
            ignore_empty_lines=len(found.names) > 1,  # a blank line is a cell where there is one column
            invalid_row_handler=ragged,
        ),
        "convert_options": pa_csv.ConvertOptions(
            column_types=dict.fromkeys(found.names, kind),
            include_columns=wanted,
            strings_can_be_null=False,
        ),
    }


def write(path: Path, tables: Iterable[pa.Table], *, packed: bool) -> None:
    """Writes tables one below the other as CSV, gzipped without name and time so that equal rows give equal bytes."""
    with open(path, "wb") as raw:
        out: IO[bytes] = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw  # type: ignore[assignment]
        for number, table in enumerate(tables):
            single = table.num_columns == 1
            if number == 0:
                names = _quote(pa.array(table.column_names), single=single).to_pylist()
                out.write((",".join(names) + "\n").encode())
            columns = [_quoted(table.column(n), name=n, single=single) for n in table.column_names]
            for start in range(0, table.num_rows, BATCH):
                out.write(_lines([values.take(codes.slice(start, BATCH)) for values, codes in columns]))
        out.close()


def _quoted(column: pa.ChunkedArray, *, name: str, single: bool) -> tuple[pa.Array, pa.Array]:
    values, codes = texts.encode(column, name=name)
    return _quote(pa.array(values, pa.string()), single=single), pa.array(codes)


def _quote(values: pa.Array, *, single: bool) -> pa.Array:
    """The texts as CSV fields; the empty text of a single column is quoted, lest its line look blank."""
    marked = pc.match_substring_regex(values, MUST_QUOTE)
    if single:
        marked = pc.or_(marked, pc.equal(values, ""))
    doubled = pc.replace_substring(values, '"', '""')
    return pc.if_else(marked, pc.binary_join_element_wise('"', doubled, '"', ""), values)


def _lines(fields: list[pa.Array]) -> memoryview:
    ended = [*fields[:-1], pc.binary_join_element_wise(fields[-1], "\n", "")]
    rows = pc.binary_join_element_wise(*ended, ",") if len(ended) > 1 else ended[0]
    size = pc.sum(pc.binary_length(rows)).as_py()
    return memoryview(rows.buffers()[2])[:size]  # the texts of an arrow array lie one after another


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: its gzip data are damaged or cut short; copy or compress it again")
