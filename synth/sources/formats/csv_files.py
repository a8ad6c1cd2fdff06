"""CSV files in their stated dialect: header line, LF or CRLF or CR, quotes where needed; plain or gzipped.

The parser is handed bytes in memory, some whole records at a time, never a file of Python's: its own threads would call
back into Python while the reader is closed, and pyarrow (26) then waits for itself for ever. For a draft alone it is
guessed from a file's own bytes how it is written (``sniffed``), in one look and bounded memory; what is found waits for
a person to confirm it, and a run guesses nothing."""

import codecs
import csv
import errno
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from synth.errors import EmptyTableError, InputError
from synth.files.regular_files import opened
from synth.languages import Said
from synth.schema import csv_injection
from synth.schema.dialect import DELIMITERS, ENCODINGS, Dialect, Encoding
from synth.sources.formats import arrow_text
from synth.sources.formats.text_table import check_names

BYTES_AT_A_TIME = 1 << 22  # bytes parsed at a time
LONGEST_ROW = 1 << 26  # bytes
PIECE = 1 << 23  # bytes read at a time
UNPACKED, MOST_TIMES = 1 << 30, 200  # bytes, and times its own size, to which a gzipped file may unpack
STATED = "state its encoding in the schema's dialect (`synth.draft` finds it), or save it as UTF-8"
FOREIGN = {
    b"\xff\xfe": f"it is UTF-16 text; {STATED}",
    b"\xfe\xff": f"it is UTF-16 text; {STATED}",
    b"\x1f\x8b": "it is gzipped; name it .csv.gz",
    b"PAR1": "it is a Parquet file; name it .parquet",
    b"PK\x03\x04": "it is a spreadsheet or an archive; save it as CSV",
}
LOST = "\ufffd".encode()  # stands for bytes that are no text, and for NUL
PLAIN = Dialect()
NEAR = 1 << 16  # bytes looked through first for the last record's end


class Bytes(io.RawIOBase):
    """The file as UTF-8 bytes, unpacked and transcoded as they pass; other formats are refused.

    What is no text of a stated encoding becomes ``LOST``, as does NUL, and no byte beside it. Bytes that are not UTF-8
    are handed on as they are: ``repaired`` turns those of a block into the same.
    """

    def __init__(self, path: Path, dialect: Dialect = PLAIN) -> None:
        self._raw = open_bytes(path)
        self._source = unpacked(self._raw, path)
        self._path, self._begun, self._ready = path, False, b""
        self._wide = dialect.encoding.startswith("utf-16")
        same = dialect.encoding in ("utf-8", "utf-8-sig")
        self._decoder = None if same else codecs.getincrementaldecoder(dialect.encoding)("replace")

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._ready and (data := self._source.read(size)):
            self._ready = self._checked(data)
            if not self._begun and self._ready:
                self._refuse_empty()
                self._begun = True
        if not self._ready:  # an unfinished unit at the end of the file is no cell's fault
            if self._decoder is not None and self._decoder.getstate()[0]:
                raise InputError("{}: its last character is cut short; copy the file again", self._path)
            if not self._begun:
                self._refuse_empty()
        if size < 0 or len(self._ready) <= size:
            data, self._ready = self._ready, b""
        else:
            data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _checked(self, data: bytes) -> bytes:
        for magic, fault in FOREIGN.items() if not self._begun else ():
            if data.startswith(magic) and not (self._wide and len(magic) == 2 and magic != b"\x1f\x8b"):
                raise InputError("{}: {}", self._path, fault)
        if self._decoder is not None:
            try:
                data = self._decoder.decode(data).encode()
            except UnicodeError:  # all else is replaced
                raise InputError("{}: it lacks the mark of UTF-16; say utf-16-le or utf-16-be", self._path) from None
        return data.replace(b"\0", LOST) if b"\0" in data else data

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        for part in (vars(self).get(n) for n in ("_source", "_raw")):
            if part is not None:  # a file that could not be opened: Python 3.13 closes what is left of it aloud
                part.close()
        super().close()

    def _refuse_empty(self) -> None:
        if not self._ready.strip(b"\xef\xbb\xbf\r\n \t"):
            raise InputError("{}: the file is empty; it needs a header line and at least one row", self._path)


class Unpacked(gzip.GzipFile):
    """A gzipped file of a sane size once it is unpacked; what is beyond is never unpacked. Errors: InputError."""

    def __init__(self, raw: IO[bytes], path: Path) -> None:
        super().__init__(fileobj=raw)
        self._path, self._left = path, UNPACKED + MOST_TIMES * os.fstat(raw.fileno()).st_size

    def read(self, size: int | None = -1) -> bytes:
        """At most so many bytes."""
        data = super().read(size)
        self._left -= len(data)
        if self._left < 0:
            raise InputError(
                "{}: it unpacks to more than {} MiB and {} times its own size; unpack it, and name the .csv file",
                self._path,
                UNPACKED >> 20,
                MOST_TIMES,
            )
        return data


def unpacked(raw: IO[bytes], path: Path) -> IO[bytes]:
    """The bytes of an open file, unpacked where its name says that they are packed."""
    return Unpacked(raw, path) if path.name.lower().endswith(".gz") else raw  # type: ignore[return-value]


def repaired(data: bytes) -> bytes:
    """The bytes with ``LOST`` where they are not UTF-8; no byte of ASCII goes with them."""
    return data.decode("utf-8", "replace").encode()


def open_bytes(path: Path) -> IO[bytes]:
    """The file, opened. Errors: InputError when it is missing, a folder or not permitted."""
    try:
        return opened(path)
    except FileNotFoundError:
        raise InputError("{}: no such file; check the name and the folder", path) from None
    except IsADirectoryError:
        raise InputError("{}: it is a folder; name a file in it", path) from None
    except OSError as error:
        remedy = "save it as a file" if error.errno == errno.EINVAL else "check its permissions"
        raise InputError("{}: it cannot be opened ({}); {}", path, error, remedy) from None


def blocks(
    path: Path, dialect: Dialect = PLAIN, *, gathered: int = PIECE, longest: int = LONGEST_ROW
) -> Iterator[bytes]:
    """The file's bytes, header included, cut where records end; the last record gets a line end where it has none.

    ``gathered``: bytes read at a time.

    Errors: InputError when a record is longer than ``longest`` bytes or opens a quote that is never closed.
    """
    left = b""
    with Bytes(path, dialect) as source:
        while data := source.read(gathered):
            while data.endswith(b"\r") and (more := source.read(1)):  # it may be half a line end
                data += more
            data = left + data
            end = whole_records(data, dialect)
            # What is left of before begins a record: how long that one may be must not hang on where others end.
            long = len(data) > longest and not whole_records(data[: longest + 1], dialect)
            if long or len(data) - end > longest:
                raise InputError("{}: a row is longer than {} MiB; is a closing quote missing?", path, longest >> 20)
            if end:
                yield data[:end]
            left = data[end:]
    if left:
        left += b"\n"
        if whole_records(left, dialect) < len(left):
            raise InputError("{}: its last row opens a quote that is never closed; close it", path)
        yield left


@lru_cache
def _forms(delimiter: str, quote: str) -> tuple[re.Pattern[bytes], np.ndarray]:
    """Whole records from the beginning; and which bytes may stand before a quote that opens a quoted part."""
    d, q = re.escape(delimiter).encode(), re.escape(quote).encode()
    rest = rb"[^" + d + rb"\r\n]*+"
    fields = rb"(?:" + q + rb"(?:[^" + q + rb"]++|" + q + q + rb")*+" + rest + rb"|(?!" + q + rb")" + rest + rb")"
    records = re.compile(rb"(?:(?:" + fields + d + rb")*+" + fields + rb"(?:\r\n|\r|\n))*+")
    return records, np.isin(np.arange(256), list(f"\r\n{delimiter}{quote}".encode()))


def whole_records(data: bytes, dialect: Dialect = PLAIN) -> int:
    """How many bytes of ``data`` whole records take, line ends within quotes not counted as ends.

    A quote opens a quoted part only at the start of a field, as in the parser.
    """
    if dialect.quote.encode() not in data:
        return max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    records, may_open = _forms(dialect.delimiter, dialect.quote)
    read = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(read == ord(dialect.quote))
    opening = quotes[::2]
    if not may_open[read[opening[opening > 0] - 1]].all():
        match = records.match(data)
        return match.end() if match else 0
    for start in dict.fromkeys((max(0, len(data) - NEAR), 0)):  # every second quote closes one; look near the end first
        ends = start + np.flatnonzero((read[start:] == ord("\n")) | (read[start:] == ord("\r")))
        outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
        if outside.size:
            return int(outside[-1]) + 1
    return 0


GATHERED = 1 << 25  # bytes of cells handed on at a time
HEADER = 1 << 20  # characters that a header may take
BOM = b"\xef\xbb\xbf"
READ_FAULTS = (EOFError, gzip.BadGzipFile, zlib.error)
PACKED = "its gzip data are damaged or cut short; copy or compress it again"


class Header(NamedTuple):
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
            first = _first_record(lines, form)
        except READ_FAULTS:
            raise InputError("{}: {}", path, Said(PACKED)) from None
        except csv.Error:
            raise InputError("{}: its first line is no header; it needs one line of column names", path) from None
    if any(LOST.decode() in name for name in first.names):
        raise InputError("{}: its column names are not {}; {}", path, Said(ENCODINGS[form.encoding]), Said(STATED))
    names = csv_injection.names(first.names)
    check_names(names, thing=str(path))
    for mark, said in DELIMITERS.items():  # one name that holds another separator is no header of one column
        if len(names) == 1 and mark != form.delimiter and mark not in ",|" and mark in names[0]:
            raise InputError(
                "{}: its columns are separated by {}; state its delimiter in the schema's dialect (`synth.draft` "
                "finds it), or save it with {}",
                path,
                said,
                DELIMITERS[form.delimiter],
            )
    return Header(names, first.blank_lines)


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

    return Header(next(csv.reader(more(), delimiter=form.delimiter, quotechar=form.quote, strict=True), []), blank)


def check(path: Path, dialect: Dialect | None = None, *, piece: int = PIECE) -> None:
    """One pass over all rows, so many bytes at a time; keeps none. Errors: InputError for every fault of form."""
    if not sum(table.num_rows for table in _tables(path, None, pa.string(), dialect, piece)):
        raise EmptyTableError("{}: it has a header and no rows; at least one row is needed", path)


def read(path: Path, wanted: list[str], dialect: Dialect | None = None, *, piece: int = PIECE) -> pa.Table:
    """The wanted columns, each a dictionary of texts. Errors: InputError."""
    kind = pa.dictionary(pa.int32(), pa.string())
    return pa.concat_tables(list(_tables(path, wanted, kind, dialect, piece)))


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
    for table in _tables(path, wanted, pa.string(), dialect, piece):
        waiting.append(table)
        if sum(t.nbytes for t in waiting) >= gathered:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _tables(
    path: Path, wanted: list[str] | None, kind: pa.DataType, dialect: Dialect | None, piece: int
) -> Iterator[pa.Table]:
    """The wanted columns (None: all) of each block of records. Errors: InputError without a cell: the parser's own
    messages quote the row."""
    form, (names, blank) = dialect or PLAIN, header(path, dialect)
    converted = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, kind), include_columns=wanted or names, strings_can_be_null=False
    )
    ragged: list[pa_csv.InvalidRow] = []

    def refused(row: pa_csv.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    def parsed(data: bytes, *, first: bool, alone: bool) -> pa.Table:
        """``alone``: by one thread, which names the row of a fault; no other may call back into Python."""
        return pa_csv.read_csv(
            pa.BufferReader(data),
            read_options=pa_csv.ReadOptions(
                use_threads=not alone,
                block_size=LONGEST_ROW + GATHERED if alone else BYTES_AT_A_TIME,  # a row must lie within a block
                column_names=names,
                skip_rows=blank if first else 0,
                skip_rows_after_names=1 if first else 0,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=form.delimiter,
                quote_char=form.quote,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,  # a blank line is a cell where there is one column
                invalid_row_handler=refused if alone else None,
            ),
            convert_options=converted,
        )

    rows = 0
    try:
        for number, data in enumerate(blocks(path, form, gathered=piece)):
            if number and len(names) > 1 and not data.strip(b"\r\n"):
                continue  # blank lines alone are no rows, and nothing to parse
            if number and data.startswith(BOM):
                data = BOM + data  # the parser takes one off
            try:
                table = parsed(data, first=number == 0, alone=False)
            except pa.ArrowException:  # bytes that are no text are their cell's fault alone
                table = parsed(repaired(data), first=number == 0, alone=True)
            rows += table.num_rows
            yield table
    except READ_FAULTS:
        raise InputError("{}: {}", path, Said(PACKED)) from None
    except pa.ArrowException as error:
        above = rows + 1 if rows else -blank  # the parser counts from its block
        found = re.search(r"Row #(\d+):", str(error))
        fault = "not a readable CSV file; save it again as UTF-8 CSV with commas"
        if ragged:
            where = f"row {int(found[1]) + above} (the header is row 1)" if found else "a row"
            fault = (
                f"{where} has {ragged[0].actual_columns} fields where the header has {ragged[0].expected_columns}; "
                "quote cells that hold the separator"
            )
        elif "straddling" in str(error):
            fault = f"a row is longer than {LONGEST_ROW >> 20} MiB; is a closing quote missing?"
        raise InputError("{}: {}", path, fault) from None


BATCH = 1 << 16  # rows written at a time


def write(path: Path, tables: Iterable[pa.Table], *, packed: bool, dialect: Dialect = PLAIN) -> None:
    """Writes tables one below the other as CSV, gzipped without name and time so that equal rows give equal bytes.

    Of the ``dialect``: encoding, separator, quotes and line ends; cells are written as they come.
    Errors: UnicodeError for a text that the encoding lacks.
    """
    encoder = None if dialect.encoding == "utf-8" else codecs.getincrementalencoder(dialect.encoding)()

    def encode(data: memoryview) -> bytes | memoryview:  # its mark comes before the first of them
        return data if encoder is None else encoder.encode(str(data, "utf-8"))

    with open(path, "wb") as raw:
        out: IO[bytes] = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw  # type: ignore[assignment]
        for number, table in enumerate(tables):
            single = table.num_columns == 1
            if number == 0:
                names = _fields(pa.array(table.column_names), dialect, single=single)
                out.write(encode(_lines([names.slice(i, 1) for i in range(len(names))], dialect)))
            columns = []
            for name in table.column_names:
                values, codes = arrow_text.encode(table.column(name), name=name)
                columns.append((_fields(pa.array(values, pa.string()), dialect, single=single), pa.array(codes)))
            for start in range(0, table.num_rows, BATCH):
                fields = [values.take(codes.slice(start, BATCH)) for values, codes in columns]
                out.write(encode(_lines(fields, dialect)))
        out.close()


def _fields(values: pa.Array, dialect: Dialect, *, single: bool) -> pa.Array:
    """The texts as CSV fields; the empty text of a single column is quoted, lest its line look blank."""
    quote = dialect.quote
    marked = pc.match_substring_regex(values, f"[{re.escape(dialect.delimiter + quote)}\r\n\ufeff]")
    if single:
        marked = pc.or_(marked, pc.equal(values, ""))
    doubled = pc.replace_substring(values, quote, quote * 2)
    return pc.if_else(marked, pc.binary_join_element_wise(quote, doubled, quote, ""), values)


def _lines(fields: list[pa.Array], dialect: Dialect) -> memoryview:
    end = "\r\n" if dialect.line_end == "crlf" else "\n"
    ended = [*fields[:-1], pc.binary_join_element_wise(fields[-1], end, "")]
    rows = pc.binary_join_element_wise(*ended, dialect.delimiter) if len(ended) > 1 else ended[0]
    size = pc.sum(pc.binary_length(rows)).as_py()
    return memoryview(rows.buffers()[2])[:size]  # the texts of an arrow array lie one after another


CHUNK = 1 << 20
LOOKED = 1 << 28  # bytes, unpacked, whose encoding is looked at
HEAD = 1 << 16  # characters whose separator is looked at
FEW = 200  # records of them
TOKENS = re.compile("[^\x00-\x7f]")


def sniffed(path: Path, **stated: str | None) -> Dialect:
    """The file's dialect but for its numbers, unconfirmed; ``stated`` facts are taken as they are.

    Errors: InputError for a file that cannot be opened or is empty.
    """
    given = {k: v for k, v in stated.items() if v is not None}
    encoding = given.get("encoding") or _encoding(path)
    with Bytes(path, Dialect.model_validate({"encoding": encoding})) as source:
        try:
            head = io.TextIOWrapper(io.BufferedReader(source), "utf-8-sig", "replace", newline="").read(HEAD)
        except (EOFError, OSError, zlib.error):
            head = ""
    # single quotes where cells begin and end with them, and none with double ones
    single = len(re.findall("(?:^|[,;\t|\n])'[^'\n]*'(?=[,;\t|\r\n])", head)) > 3 and '"' not in head
    quote = given.get("quote") or ("'" if single else '"')
    # the mark that divides most records as often as the header; of several, that which makes most columns
    delimiter = given.get("delimiter") or max(DELIMITERS, key=lambda mark: _fit(head, mark, quote))
    facts = {"encoding": encoding, "delimiter": delimiter, "quote": quote, **given, "source": "unconfirmed"}
    return Dialect.model_validate({"line_end": "crlf" if "\r\n" in head else "lf", **facts})


def _encoding(path: Path) -> Encoding:
    """By the mark, by NUL bytes, else UTF-8 where more of its characters fit than do not."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    words = lost = seen = 0
    with open_bytes(path) as raw:
        source = unpacked(raw, path)
        try:
            while seen < LOOKED and (data := source.read(CHUNK)):
                if seen == 0:
                    if data.startswith(codecs.BOM_UTF8):
                        return "utf-8-sig"
                    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                        return "utf-16"
                    low, high = data[: 1 << 12 : 2].count(0), data[1 : 1 << 12 : 2].count(0)
                    half = min(len(data), 1 << 12) // 4
                    if high > half > low or low > half > high:
                        return "utf-16-le" if high > low else "utf-16-be"
                seen += len(data)
                if data.isascii():
                    continue
                text = decoder.decode(data)
                lost += text.count(LOST.decode()) - data.count(LOST)
                words += len(TOKENS.findall(text)) - text.count(LOST.decode())
        except (EOFError, OSError, zlib.error):  # damaged: the reader says so
            return "utf-8"
    return "windows-1252" if lost > words else "utf-8"


def _fit(head: str, mark: str, quote: str) -> tuple[float, int]:
    records: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(head), delimiter=mark, quotechar=quote):
            if record:
                records.append(record)
            if len(records) > FEW:
                break
    except csv.Error:
        return 0.0, 0
    if len(head) >= HEAD and len(records) > 1:
        records = records[:-1]  # the last may be cut
    width = len(records[0]) if records else 0
    alike = sum(len(r) == width for r in records) / max(len(records), 1)
    return (alike if width > 1 else 0.0), width
