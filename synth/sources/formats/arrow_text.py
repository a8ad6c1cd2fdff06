"""Arrow arrays as text: the one place that decides how a cell of any type is written."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from synth.errors import InputError
from synth.sources.formats import valid_text

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
    return _is_text(kind) or _is_plain(kind) or pt.is_floating(kind) or pt.is_boolean(kind)


def check_type(kind: pa.DataType, *, name: str) -> None:
    """Errors: InputError naming the column, the reason and the remedy when its cells have no text."""
    if readable(kind):
        return
    if pt.is_timestamp(kind):
        raise InputError(f"column {name}: its times carry a time zone; convert them to plain local times first")
    plain = str(kind).split("<")[0].split("[")[0]  # a struct's type names its fields, which may be private keys
    raise InputError(f"column {name}: cells of type {plain} are not supported; use numbers, text or dates")


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
    return _compact(texts, codes)


def _compact(texts: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merges equal texts and leaves out those that no row has.

    Arrow compares whole texts. pandas.factorize would stop at a NUL and let the first of two such texts stand for
    both, so that one row could change how all others are read.
    """
    used = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    merged = pa.array(texts[used], type=pa.large_string()).dictionary_encode()
    lookup = np.zeros(len(texts), dtype=np.int32)
    lookup[used] = merged.indices.to_numpy()
    return merged.dictionary.to_numpy(zero_copy_only=False), lookup[codes]


def _texts(values: pa.Array) -> np.ndarray:
    """The text of each value, (m,) object; null is the empty text."""
    kind = values.type
    if pt.is_floating(kind):
        return _float_texts(values)
    if pt.is_timestamp(kind) or pt.is_date(kind):
        return _time_texts(values)
    plain = pc.if_else(values, "True", "False") if pt.is_boolean(kind) else values.cast(pa.large_string(), safe=False)
    whole = valid_text.cells(pa.chunked_array([plain])).chunk(0)
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


def _float_texts(values: pa.Array) -> np.ndarray:
    """Shortest texts that read back as the same number, as Python and pandas write them ("19.0")."""
    numbers = values.to_numpy(zero_copy_only=False)
    texts = numbers.astype(str).astype(object)
    texts[np.isnan(numbers)] = ""
    return texts


def _is_text(kind: pa.DataType) -> bool:
    return pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind) or pt.is_null(kind)


def _is_plain(kind: pa.DataType) -> bool:
    return pt.is_integer(kind) or pt.is_decimal(kind) or pt.is_date(kind)
