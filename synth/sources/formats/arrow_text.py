"""Cells of any type as text: the one place that decides how a cell is written, and that its text is well formed.

No byte stands in a text that is not UTF-8, and no half of a surrogate pair. **Guarantee**: what becomes of a cell
follows from that cell alone. So Python's objects are written one by one: an object column has no type of its own, and
one that is inferred from all of its cells would let one row change how every other is written: Decimal("1.10") as
"1.100" beside Decimal("7.125"), a date as a time beside a time."""

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from synth.errors import InputError


def well_formed(text: str) -> str:
    """The text, halves of a surrogate pair joined where they meet, and written out where they stand alone.

    >>> well_formed("a\\ud83d\\ude00") == "a\\U0001f600", well_formed("b\\ud800") == "b" + chr(92) + "ud800"
    (True, True)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return joined.encode("utf-8", "backslashreplace").decode()
    return text


def strings(texts: list[str]) -> pa.Array:
    """Python's texts (n,) as an Arrow array of large strings, each well formed."""
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeError:
        return pa.array([well_formed(t) for t in texts], pa.large_string())


def valid_cells(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of any type, with U+FFFD for bytes of a text that are not UTF-8; other columns as they are."""
    if not is_text(array.type):
        return array
    return pa.chunked_array([_repaired(c) for c in array.chunks], type=array.type)


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are texts, listed in a dictionary or not."""
    if pt.is_dictionary(kind):
        return is_text(kind.value_type)
    return pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)


def one_text(kind: pa.DataType) -> pa.DataType:
    """The type of a column, one for all in which Arrow may hold plain texts: files of one table may differ in that.

    >>> one_text(pa.string_view()), one_text(pa.int8())
    (DataType(large_string), DataType(int8))
    """
    return pa.large_string() if is_text(kind) and not pt.is_dictionary(kind) else kind


def as_bytes(array: pa.Array) -> pa.Array:
    """A column of text seen as bytes, whose validity says nothing of characters; others as they are."""
    if not is_text(array.type):
        return array
    if pt.is_dictionary(array.type):
        array.indices.validate(full=True)
        return pa.DictionaryArray.from_arrays(array.indices, as_bytes(array.dictionary))
    return array.cast(pa.large_binary(), safe=False)


def _repaired(chunk: pa.Array) -> pa.Array:
    if pt.is_dictionary(chunk.type):
        texts = _repaired(chunk.dictionary)
        return chunk if texts is chunk.dictionary else pa.DictionaryArray.from_arrays(chunk.indices, texts)
    try:
        chunk.validate(full=True)
    except pa.ArrowInvalid:
        read = [None if b is None else b.decode(errors="replace") for b in as_bytes(chunk).to_pylist()]
        return pa.array(read, pa.large_string()).cast(chunk.type)
    return chunk


BEYOND = "out of range"  # what is written for a date before the year 0 or after 9999, and for an infinite one
FIRST_DAY, LAST_DAY = -719_528, 2_932_896  # of the years 0 and 9999, since 1970
A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
A_DAY = {"ms": 86_400_000}


def readable(kind: pa.DataType) -> bool:
    """Whether cells of this type have a text: text, numbers, truth values, dates and times without a zone."""
    if pt.is_dictionary(kind):
        return readable(kind.value_type)
    if pt.is_timestamp(kind):
        return kind.tz is None
    tests = (is_text, pt.is_null, pt.is_integer, pt.is_decimal, pt.is_date, pt.is_floating, pt.is_boolean)
    return any(test(kind) for test in tests)


def check_type(kind: pa.DataType, *, name: str) -> None:
    """Errors: InputError naming the column, the reason and the remedy when its cells have no text."""
    if readable(kind):
        return
    if pt.is_timestamp(kind):
        raise InputError("column {}: its times carry a time zone; convert them to plain local times first", name)
    plain = str(kind).split("<")[0].split("[")[0]  # a struct's type names its fields, which may be private keys
    raise InputError("column {}: cells of type {} are not supported; use numbers, text or dates", name, plain)


def encode(array: pa.Array | pa.ChunkedArray, *, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Distinct texts (m,) object that occur, and codes (num_rows,) int32 into them.

    Errors: InputError when the type has no text. What stands in a cell is never at fault.
    """
    check_type(array.type, name=name)
    chunked = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    if pt.is_dictionary(chunked.type):
        whole = chunked.unify_dictionaries().combine_chunks()
    else:
        whole = pc.dictionary_encode(chunked, null_encoding="mask").combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # combine_chunks keeps the wrapper for zero chunks
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], chunked.type).dictionary_encode()
    texts = np.append(_texts(whole.dictionary), "")
    codes = whole.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
    # Equal texts are merged, those that no row has left out. Arrow compares whole texts; pandas.factorize would stop at
    # a NUL and let the first of two such texts stand for both, so that one row could change how all others are read.
    used = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    merged = pa.array(texts[used], type=pa.large_string()).dictionary_encode()
    lookup = np.zeros(len(texts), dtype=np.int32)
    lookup[used] = merged.indices.to_numpy()
    return merged.dictionary.to_numpy(zero_copy_only=False), lookup[codes]


def _texts(values: pa.Array) -> np.ndarray:
    """The text of each value, (m,) object; null is the empty text."""
    kind = values.type
    if pt.is_floating(kind):  # the shortest that read back as the same number, as Python writes them ("19.0")
        numbers = values.to_numpy(zero_copy_only=False)
        return np.where(np.isnan(numbers), "", numbers.astype(str)).astype(object)
    if pt.is_timestamp(kind) or pt.is_date(kind):
        return _time_texts(values)
    plain = pc.if_else(values, "True", "False") if pt.is_boolean(kind) else values.cast(pa.large_string(), safe=False)
    whole = valid_cells(pa.chunked_array([plain])).chunk(0)
    return whole.fill_null("").to_numpy(zero_copy_only=False)


def _time_texts(values: pa.Array) -> np.ndarray:
    """Dates, or times to whole seconds, rounded down; one that four digits of a year cannot write is ``BEYOND``."""
    unit = "D" if pt.is_date32(values.type) else "ms" if pt.is_date64(values.type) else values.type.unit
    whole = values.view(pa.int32() if unit == "D" else pa.int64()).fill_null(0).to_numpy().astype(np.int64)
    by_day = pt.is_date(values.type)
    steps = whole // (A_DAY.get(unit, 1) if by_day else A_SECOND[unit])
    first, last = (FIRST_DAY, LAST_DAY) if by_day else (FIRST_DAY * 86_400, LAST_DAY * 86_400 + 86_399)
    inside = (steps >= first) & (steps <= last)
    moments = np.where(inside, steps, 0).astype("datetime64[D]" if by_day else "datetime64[s]")
    texts = np.datetime_as_string(moments).astype(object)
    texts[~inside] = BEYOND
    texts[values.is_null().to_numpy(zero_copy_only=False)] = ""
    return texts


MOST_BITS = 4096  # of a whole number that is written out; a larger one is larger than any double
MOST_ZEROS = 400  # of a Decimal that is written out


def object_texts(cells: Iterable[object]) -> pa.Array:
    """The text of each cell; missing ones, and those that are no number, text or date (lists, bytes), are empty.

    >>> object_texts([Decimal("1.10"), 2.0, np.float32(0.1), None, dt.date(2020, 1, 31), True]).to_pylist()
    ['1.10', '2.0', '0.1', '', '2020-01-31', 'True']
    """
    plain = [cell if type(cell) is str else object_text(cell) for cell in cells]
    return strings(plain)


def object_text(cell: object) -> str:
    """The text of one cell, whatever it is. Errors: none."""
    try:
        return _object_text(cell)
    except Exception:  # an object may fail to be written in any way, and must not decide how a run ends
        return ""


def _object_text(cell: object) -> str:
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return ""
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, bool | np.bool_):
        return "True" if cell else "False"
    if isinstance(cell, int | np.integer):
        return _whole(int(cell))
    if isinstance(cell, float):
        return "" if cell != cell else repr(float(cell))
    if isinstance(cell, np.floating):
        return "" if np.isnan(cell) else str(cell)
    if isinstance(cell, Decimal):
        return _decimal(cell)
    if isinstance(cell, dt.datetime):
        return _moment(cell)
    if isinstance(cell, dt.date):
        return cell.isoformat()
    if isinstance(cell, np.datetime64):
        return _numpy_moment(cell)
    if isinstance(cell, bytes | bytearray | memoryview) or pd.api.types.is_list_like(cell):
        return ""
    return str(cell)


def _whole(number: int) -> str:
    if number.bit_length() > MOST_BITS:  # Python refuses to write some thousand digits
        return "-1e9999" if number < 0 else "1e9999"
    return str(number)


def _decimal(number: Decimal) -> str:
    if number.is_nan():
        return ""
    plain = number.is_finite() and max(abs(number.adjusted()), abs(int(number.as_tuple().exponent))) < MOST_ZEROS
    return format(number, "f") if plain else str(number)


def _moment(moment: dt.datetime) -> str:
    """To whole seconds, rounded down; a time zone, which tables of text have no room for, stays and is not readable."""
    day = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    zone = "" if moment.tzinfo is None else " with a time zone"
    return f"{day}T{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}{zone}"


def _numpy_moment(moment: np.datetime64) -> str:
    if np.isnat(moment):
        return ""
    coarse = np.datetime_data(moment.dtype)[0] in ("Y", "M", "W", "D")
    return str(moment.astype("datetime64[D]" if coarse else "datetime64[s]"))
