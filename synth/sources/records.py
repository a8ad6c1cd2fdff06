"""The bytes of a CSV file, some whole records at a time.

The parser is handed bytes in memory, never a file of Python's: its own threads would call back into Python while the
reader is closed, and pyarrow (26) then waits for itself for ever.
"""

import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from synth.errors import InputError

BLOCK = 1 << 22  # bytes parsed at a time; also the longest row
GATHERED = 1 << 23  # bytes read at a time
FOREIGN = {
    b"\xff\xfe": "it is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "it is UTF-16 text; save it as UTF-8",
    b"\x1f\x8b": "it is gzipped; name it .csv.gz",
    b"PAR1": "it is a Parquet file; name it .parquet",
    b"PK\x03\x04": "it is a spreadsheet or an archive; save it as CSV",
}
FIELD = rb'(?:"(?:[^"]++|"")*+"[^,\r\n]*+|(?!")[^,\r\n]*+)'
RECORDS = re.compile(rb"(?:(?:" + FIELD + rb",)*+" + FIELD + rb"(?:\r\n|\r|\n))*+")
NEAR = 1 << 16  # bytes looked through first for the last record's end
MAY_OPEN = np.isin(np.arange(256), list(b',\r\n"'))  # what stands before a quote that opens a quoted part


class Bytes(io.RawIOBase):
    """The file's bytes, unpacked, watched as they pass: other formats and NUL bytes are refused."""

    def __init__(self, path: Path) -> None:
        raw = open_bytes(path)
        self._source: IO[bytes] = gzip.GzipFile(fileobj=raw) if path.name.lower().endswith(".gz") else raw  # type: ignore[assignment]
        self._raw, self._path, self._begun = raw, path, False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        if not self._begun:
            self._refuse_foreign(data)  # also refuses an empty file
        self._begun = True
        if b"\0" in data:
            raise InputError(f"{self._path}: it contains NUL bytes, so it is no UTF-8 text; save it as UTF-8 CSV")
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


def blocks(path: Path) -> Iterator[bytes]:
    """The file's bytes, header included, cut where records end; the last record gets a line end where it has none.

    Errors: InputError when a record is longer than ``BLOCK`` bytes or opens a quote that is never closed.
    """
    left = b""
    with Bytes(path) as source:
        while data := source.read(GATHERED):
            while data.endswith(b"\r") and (more := source.read(1)):  # it may be half a line end
                data += more
            data = left + data
            end = whole_records(data)
            if len(data) - end > BLOCK:
                raise InputError(f"{path}: a row is longer than {BLOCK >> 20} MiB; is a closing quote missing?")
            if end:
                yield data[:end]
            left = data[end:]
    if left:
        left += b"\n"
        if whole_records(left) < len(left):
            raise InputError(f"{path}: its last row opens a quote that is never closed; close it")
        yield left


def whole_records(data: bytes) -> int:
    """How many bytes of ``data`` whole records take, line ends within quotes not counted as ends.

    A quote opens a quoted part only at the start of a field, as in the parser.
    """
    if b'"' not in data:
        return max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    read = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(read == ord('"'))
    opening = quotes[::2]
    if not MAY_OPEN[read[opening[opening > 0] - 1]].all():
        found = RECORDS.match(data)
        return found.end() if found else 0
    for start in dict.fromkeys((max(0, len(data) - NEAR), 0)):  # every second quote closes one; look near the end first
        ends = start + np.flatnonzero((read[start:] == ord("\n")) | (read[start:] == ord("\r")))
        outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
        if outside.size:
            return int(outside[-1]) + 1
    return 0
