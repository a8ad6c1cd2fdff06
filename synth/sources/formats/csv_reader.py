"""CSV files in their stated dialect: header line, LF or CRLF or CR, quotes where needed; plain or gzipped."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from synth.errors import EmptyTableError, InputError
from synth.schema import csv_injection
from synth.schema.dialect import DELIMITERS, ENCODINGS, Dialect
from synth.sources.formats.csv_records import BYTES_AT_A_TIME, LONGEST_ROW, LOST, PLAIN, STATED, Bytes, blocks, repaired
from synth.sources.formats.csv_records import GATHERED as PIECE
from synth.sources.formats.text_table import check_names

GATHERED = 1 << 25  # bytes of cells handed on at a time
HEADER = 1 << 20  # characters that a header may take
BOM = b"\xef\xbb\xbf"
READ_FAULTS = (EOFError, gzip.BadGzipFile, zlib.error)


@dataclass(frozen=True, kw_only=True)
class Header:
    """Column names and how many blank lines stand above them."""

    names: list[str]
    blank_lines: int


def header(path: Path, dialect: Dialect | None = None) -> Header:
    """The checked header. Errors: InputError."""
    form = dialect or PLAIN
    with (
        Bytes(path, form) as source,
        io.TextIOWrapper(io.BufferedReader(source), "utf-8-sig", errors="replace", newline="") as lines,
    ):
        try:
            result = _first_record(lines, form)
        except READ_FAULTS:
            raise _damaged(path) from None
        except csv.Error:
            raise InputError(f"{path}: its first line is no header; it needs one line of column names") from None
    if any(LOST.decode() in name for name in result.names):
        raise InputError(f"{path}: its column names are not {ENCODINGS[form.encoding]}; {STATED}")
    result = Header(names=csv_injection.names(result.names), blank_lines=result.blank_lines)
    check_names(result.names, thing=str(path))
    _check_delimiter(path, result.names, form)
    return result


def _check_delimiter(path: Path, names: list[str], form: Dialect) -> None:
    """One name that holds another separator is no header of one column."""
    for mark, said in DELIMITERS.items():
        if len(names) == 1 and mark != form.delimiter and mark not in ",|" and mark in names[0]:
            raise InputError(
                f"{path}: its columns are separated by {said}; state its delimiter in the schema's dialect "
                f"(`synth.draft` finds it), or save it with {DELIMITERS[form.delimiter]}"
            )


def _first_record(lines: io.TextIOWrapper, form: Dialect) -> Header:
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

    return Header(
        names=next(csv.reader(more(), delimiter=form.delimiter, quotechar=form.quote, strict=True), []),
        blank_lines=blank,
    )


def check(path: Path, dialect: Dialect | None = None, *, piece: int = PIECE) -> None:
    """One pass over all rows, so many bytes at a time; keeps none. Errors: InputError for every fault of form."""
    result = header(path, dialect)
    if not sum(table.num_rows for table in _tables(path, result, result.names, pa.string(), dialect, piece)):
        raise EmptyTableError(f"{path}: it has a header and no rows; at least one row is needed")


def read(path: Path, wanted: list[str], dialect: Dialect | None = None, *, piece: int = PIECE) -> pa.Table:
    """The wanted columns, each a dictionary of texts. Errors: InputError."""
    kind = pa.dictionary(pa.int32(), pa.string())
    return pa.concat_tables(list(_tables(path, header(path, dialect), wanted, kind, dialect, piece)))


def stream(
    path: Path,
    wanted: list[str],
    dialect: Dialect | None = None,
    *,
    gathered: int = GATHERED,
    piece: int = PIECE,
) -> Iterator[pa.Table]:
    """The wanted columns as text, some rows at a time, in bounded memory. Errors: InputError."""
    waiting: list[pa.Table] = []
    for table in _tables(path, header(path, dialect), wanted, pa.string(), dialect, piece):
        waiting.append(table)
        if sum(t.nbytes for t in waiting) >= gathered:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _tables(
    path: Path, result: Header, wanted: list[str], kind: pa.DataType, dialect: Dialect | None, piece: int
) -> Iterator[pa.Table]:
    """The wanted columns of each block of records."""
    form = dialect or PLAIN
    with _Faults(path, result) as faults:
        for number, data in enumerate(blocks(path, form, gathered=piece)):
            if number and len(result.names) > 1 and not data.strip(b"\r\n"):
                continue  # blank lines alone are no rows, and nothing to parse
            if number and data.startswith(BOM):
                data = BOM + data  # the parser takes one off

            def parsed(data: bytes = data, *, first: bool = number == 0, threads: bool = True) -> pa.Table:
                ragged = None if threads else faults.ragged  # no thread of the parser's calls back into Python
                options = _options(result, kind, wanted, form, ragged, threads=threads, first=first)
                return pa_csv.read_csv(pa.BufferReader(data), **options)

            try:
                table = parsed()
            except pa.ArrowException:
                data = repaired(data)  # bytes that are no text are their cell's fault alone
                table = parsed(data, threads=False)  # one thread names the row of the fault
            faults.rows += table.num_rows
            yield table


class _Faults:
    """Turns what the parser raises into one line without a cell: its own messages quote the row."""

    def __init__(self, path: Path, result: Header) -> None:
        self._path, self._header, self.rows = path, result, 0
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
        above = self.rows + 1 if self.rows else -self._header.blank_lines  # the parser counts from its block
        row = int(number[1]) + above if number else 0
        where = f"row {row} (the header is row 1)" if number else "a row"
        if self._invalid is not None:
            expected, actual = self._invalid.expected_columns, self._invalid.actual_columns
            return f"{where} has {actual} fields where the header has {expected}; quote cells that hold the separator"
        if "straddling" in text:
            return f"a row is longer than {LONGEST_ROW >> 20} MiB; is a closing quote missing?"
        return "not a readable CSV file; save it again as UTF-8 CSV with commas"


def _options(
    result: Header, kind: pa.DataType, wanted: list[str], form: Dialect, ragged: object, *, threads: bool, first: bool
) -> dict:
    return {
        "read_options": pa_csv.ReadOptions(
            use_threads=threads,
            block_size=BYTES_AT_A_TIME if threads else LONGEST_ROW + GATHERED,  # a row must lie within a block
            column_names=result.names,
            skip_rows=result.blank_lines if first else 0,
            skip_rows_after_names=1 if first else 0,
        ),
        "parse_options": pa_csv.ParseOptions(
            delimiter=form.delimiter,
            quote_char=form.quote,
            newlines_in_values=True,
            ignore_empty_lines=len(result.names) > 1,  # a blank line is a cell where there is one column
            invalid_row_handler=ragged,
        ),
        "convert_options": pa_csv.ConvertOptions(
            column_types=dict.fromkeys(result.names, kind),
            include_columns=wanted,
            strings_can_be_null=False,
        ),
    }


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: its gzip data are damaged or cut short; copy or compress it again")
