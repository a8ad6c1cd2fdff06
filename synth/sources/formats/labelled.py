"""Files of Stata (.dta), SPSS (.sav) and SAS (.xpt) read and written by ReadStat, with the labels of codes.

A code is read as what it is, a number or a text; what it means stands in the header, as a label. What the program
itself calls missing is an empty cell, codes that a study declared missing among it. **Guarantee**: what becomes of a
cell follows from that cell and the header alone: the types of columns are the header's, bytes that are no text of the
file's encoding become U+FFFD, and days beyond four digits of a year ``out of range``. So texts are read as bytes, and
dates as numbers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.types as pt

from synth.errors import InputError, UsageError, need
from synth.lazy import Lazy
from synth.schema.names import is_text
from synth.schema.table import canonical
from synth.sources.formats import arrow_text
from synth.sources.formats.csv_files import open_bytes
from synth.sources.formats.text_table import check_names

pyreadstat: Any = Lazy("pyreadstat")
Labels = Mapping[str, str]  # by code, as its text is written

READERS = {".dta": "read_dta", ".sav": "read_sav", ".xpt": "read_xport"}
WRITERS = {".dta": "write_dta", ".sav": "write_sav", ".xpt": "write_xport"}
CELLS = 1 << 22  # read at a time
AS_BYTES = "LATIN1"  # an encoding in which every byte is a character of its own
BLANK = 16.0**-32 * float(0x20202020202020) / 2**56  # the number that eight spaces of a .xpt spell
MEMBER = re.compile(rb"HEADER RECORD\*{7}MEMB(?:ER |V8 )")  # begins each table of a .xpt, on a line of 80 bytes
DAYS = {"DATE", "ADATE", "EDATE", "JDATE", "SDATE", "MOYR", "QYR", "WKYR", "MMDDYY", "DDMMYY", "YYMMDD", "E8601DA"}
MOMENTS = {"DATETIME", "YMDHMS", "E8601DT"}
DAY = 86_400
SINCE_1960, SINCE_1582 = -315_619_200, -12_219_379_200  # seconds of 1970's first day
FAR = 2.0**60  # seconds that no four digits of a year can write


class Header(NamedTuple):
    """``kinds``: by column ``text``, ``number``, ``day`` or ``moment``; ``labels``: by column and code, without those
    declared missing; ``titles``: by column its own label, where it has one."""

    kinds: dict[str, str]
    labels: dict[str, Labels]
    titles: dict[str, str]
    encoding: str


def header(path: Path) -> Header:
    """What stands before the rows. Errors: InputError; UsageError without the extra `labelled`."""
    with _named(path):
        declared = {"user_missing": True} if path.suffix.lower() == ".sav" else {}
        about = _read(path, metadataonly=True, **declared)[1]
        stored, forms = about.readstat_variable_types, about.original_variable_types
        kinds = {n: "text" if stored[n] == "string" else _kind(forms[n] or "") for n in about.column_names}
        labels: dict[str, Labels] = {
            n: {
                canonical(str(c)): t
                for c, t in codes.items()
                if isinstance(c, str) == (kinds[n] == "text") and t
                if not any(part["lo"] <= c <= part["hi"] for part in about.missing_ranges.get(n, ()))
            }
            for n, codes in about.variable_value_labels.items()
        }
        titles = {n: t for n, t in about.column_names_to_labels.items() if t and is_text(t)}
        encoding = about.file_encoding or "UTF-8"
        b"".decode(encoding)
        if path.suffix.lower() == ".xpt" and _members(path) > 1:
            raise InputError("{}: it holds several tables; write each to a file of its own", path)
    check_names(about.column_names, thing=str(path))
    return Header(kinds, labels, titles, encoding)


def stream(path: Path, wanted: Sequence[str]) -> Iterator[pa.Table]:
    """The wanted columns, some rows at a time. Errors: InputError.

    A row of a .xpt whose bytes are spaces throughout is none: where such rows end a file, SAS writes them too.
    """
    head = header(path)
    kinds, encoding = head.kinds, head.encoding
    size = max(1, CELLS // len(kinds))
    for first in count(0, size):
        with _named(path):
            given = {"encoding": AS_BYTES, "disable_datetime_conversion": True}
            frame = _read(path, row_offset=first, row_limit=size, **given)[0]
            frame.columns = pd.Index(list(kinds))
            number = len(frame)
            if path.suffix.lower() == ".xpt":
                frame = frame[~np.all([frame[n].isin(["", BLANK]) for n in kinds], axis=0)]
            yield pa.table({n: _cells(frame[n], kinds[n], encoding, path.suffix.lower()) for n in wanted})
        if number < size:
            return


def _read(path: Path, **how: object) -> tuple[pd.DataFrame, Any]:
    need(f"{path}: to read and write such files", "labelled", "pyreadstat")
    open_bytes(path).close()
    return getattr(pyreadstat, READERS[path.suffix.lower()])(str(path), **how)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except (InputError, UsageError):
        raise
    except Exception:  # of many kinds, whose texts may quote the file
        raise InputError("{}: not a readable {} file; save it again, or as CSV", path, path.suffix.lower()) from None


def _kind(form: str) -> str:
    """What a number is, by its format: ``%td`` of Stata, ``DATETIME20`` of SPSS and SAS."""
    word = re.sub(r"[\d.]+$", "", form.upper())
    if word in DAYS or re.match(r"%-?T?D", word):
        return "day"
    return "moment" if word in MOMENTS or re.match("%-?TC", word) else "number"


def _members(path: Path) -> int:
    with open_bytes(path) as file:
        lines = iter(lambda: file.read(80 << 13), b"")
        return sum(1 for part in lines for found in MEMBER.finditer(part) if found.start() % 80 == 0)


def _cells(column: pd.Series, kind: str, encoding: str, ending: str) -> pa.Array:
    if kind == "text":
        texts = (t if isinstance(t, str) else "" for t in column)  # no text is a code that was declared missing
        return arrow_text.strings([t.encode("latin-1").decode(encoding, "replace") for t in texts])
    numbers = column.to_numpy(np.float64)
    if kind == "number":
        return pa.array(numbers)
    unit = 1 if ending == ".sav" else DAY if kind == "day" else 1e-3 if ending == ".dta" else 1
    with np.errstate(all="ignore"):
        seconds = np.clip(np.floor(numbers * unit), -FAR, FAR) + (SINCE_1582 if ending == ".sav" else SINCE_1960)
        absent = np.isnan(seconds)
        whole = np.where(absent, 0, seconds).astype(np.int64)
    if kind == "moment":
        return pa.array(whole, mask=absent).cast(pa.timestamp("s"))
    days = np.clip(whole // DAY, -(2**31), 2**31 - 1).astype(np.int32)
    return pa.array(days, mask=absent).cast(pa.date32())


def write(
    path: Path, table: pa.Table, *, ending: str, label: str, labels: Mapping[str, Labels], titles: Mapping[str, str]
) -> None:
    """Writes a table of readable types, in memory.

    ``label``: of the whole file; ``labels``: by column and code; ``titles``: of columns, cut after 80 letters in .dta.

    Columns of ``labels`` are numbers where all their codes are whole numbers. Labels of other codes are written to
    .sav alone, and none to .xpt, which has no room for them. The bytes hold the time at which they were written.
    Errors: UsageError for what such a file has no room for.
    """
    need(f"{path}: to read and write such files", "labelled", "pyreadstat")
    frame: dict[str, Any] = {}
    named: dict[str, dict[Any, str]] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        coded = labels.get(name)
        if coded is not None and all(re.fullmatch(r"0|-?[1-9]\d{0,8}", code) for code in coded):
            column = pa.array(pd.to_numeric(pd.Series(column.to_pandas()), errors="coerce"), from_pandas=True)
            named[name] = {int(code): text for code, text in coded.items() if text}
        elif coded and ending == ".sav":
            named[name] = {code: text for code, text in coded.items() if text}
        frame[name] = _series(column)
        if pt.is_integer(column.type) and frame[name].abs().max() > 2**53:
            raise UsageError("column {}: whole numbers beyond 2**53 have no room in {}; write .csv", name, ending)
    shown: dict[str, Any] = (
        {} if ending == ".xpt" else {"variable_value_labels": {n: held for n, held in named.items() if held}}
    )
    shown["column_labels"] = {n: t[:80] if ending == ".dta" else t for n, t in titles.items() if n in frame}
    try:
        getattr(pyreadstat, WRITERS[ending])(pd.DataFrame(frame), str(path), file_label=label, **shown)
    except (pyreadstat.PyreadstatError, pyreadstat.ReadstatError) as error:
        raise UsageError("{}: {}; write .csv, .xlsx or .parquet", ending, error) from None


def _series(column: pa.Array) -> pd.Series:
    """Numbers as doubles, moments at midnight throughout as days, what is missing as such."""
    if not pt.is_timestamp(column.type):
        return column.to_pandas()
    moments = column.to_pandas()
    midnight = moments.dropna().dt.normalize().eq(moments.dropna()).all()
    return moments.dt.date if midnight else moments
