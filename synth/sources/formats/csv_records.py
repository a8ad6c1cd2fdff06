"""The bytes of a CSV file, some whole records at a time.

The parser is handed bytes in memory, never a file of Python's: its own threads would call back into Python while the
reader is closed, and pyarrow (26) then waits for itself for ever.
"""

import codecs
import errno
import gzip
import io
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO

import numpy as np

from synth.errors import InputError
from synth.files.regular_files import opened
from synth.schema.dialect import Dialect

BYTES_AT_A_TIME = 1 << 22  # bytes parsed at a time
LONGEST_ROW = 1 << 26  # bytes
GATHERED = 1 << 23  # bytes read at a time
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
        raw = open_bytes(path)
        self._source = unpacked(raw, path)
        self._raw, self._path, self._begun, self._ready = raw, path, False, b""
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
        if not self._ready:
            self._end()
        if size < 0 or len(self._ready) <= size:
            data, self._ready = self._ready, b""
        else:
            data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _checked(self, data: bytes) -> bytes:
        if not self._begun:
            self._refuse_foreign(data)
        if self._decoder is not None:
            try:
                data = self._decoder.decode(data).encode()
            except UnicodeError:  # all else is replaced
                raise InputError(f"{self._path}: it lacks the mark of UTF-16; say utf-16-le or utf-16-be") from None
        return data.replace(b"\0", LOST) if b"\0" in data else data

    def _end(self) -> None:
        """An unfinished unit at the end of the file is no cell's fault."""
        if self._decoder is not None and self._decoder.getstate()[0]:
            raise InputError(f"{self._path}: its last character is cut short; copy the file again")
        if not self._begun:
            self._refuse_empty()

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._source.close()
        self._raw.close()
        super().close()

    def _refuse_empty(self) -> None:
        if not self._ready.strip(b"\xef\xbb\xbf\r\n \t"):
            raise InputError(f"{self._path}: the file is empty; it needs a header line and at least one row")

    def _refuse_foreign(self, data: bytes) -> None:
        for magic, fault in FOREIGN.items():
            if data.startswith(magic) and not (self._wide and len(magic) == 2 and magic != b"\x1f\x8b"):
                raise InputError(f"{self._path}: {fault}")


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
                f"{self._path}: it unpacks to more than {UNPACKED >> 20} MiB and {MOST_TIMES} times its own size; "
                "unpack it, and name the .csv file"
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
        raise InputError(f"{path}: no such file; check the name and the folder") from None
    except IsADirectoryError:
        raise InputError(f"{path}: it is a folder; name a file in it") from None
    except OSError as error:
        remedy = "save it as a file" if error.errno == errno.EINVAL else "check its permissions"
        raise InputError(f"{path}: it cannot be opened ({error.strerror}); {remedy}") from None


def blocks(
    path: Path, dialect: Dialect = PLAIN, *, gathered: int = GATHERED, longest: int = LONGEST_ROW
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
                raise InputError(f"{path}: a row is longer than {longest >> 20} MiB; is a closing quote missing?")
            if end:
                yield data[:end]
            left = data[end:]
    if left:
        left += b"\n"
        if whole_records(left, dialect) < len(left):
            raise InputError(f"{path}: its last row opens a quote that is never closed; close it")
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
