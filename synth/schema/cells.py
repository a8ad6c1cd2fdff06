"""What a text says, read alone: whole numbers, other numbers, dates. No text's reading looks at another text.

Everything here works on arrays for speed and decides cell by cell: by patterns, never by what the rest of an array
holds. A parser that takes a whole array as numbers of one type (pandas.to_numeric) would let one blank change how all
others are read.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synth.schema.names import UNSEEN

LONGEST = 1 << 20  # bytes of a cell that is looked at; a longer one says nothing
MOST_WHOLE = 2**63 - 1  # whole numbers beyond are read as this
WHOLE = r"^[+-]?[0-9]+$"
NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf(inity)?)$"
DATE = (
    r"^(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"
    r"(?:[T ](?P<H>[0-9]{2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.][0-9]+)?)?Z?)?$"
)


def canonical(values: np.ndarray | pa.Array) -> pa.Array:
    """``schema.canonical`` of every text, vectorised."""
    texts = values if isinstance(values, pa.Array) else pa.array(values, type=pa.large_string())
    trimmed = pc.utf8_trim_whitespace(texts)
    return pc.replace_substring_regex(trimmed, r"^(-?[0-9]+)\.0+$", r"\1")


def one_spelling(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Every text without characters that are not seen, its other characters composed and compatible ones made plain.

    NFKC of Unicode: accents that stand apart, letters and digits of full width, ligatures. Capitals stay.

    >>> one_spelling(pa.array(["cafe\\u0301 \\uff17", "so\\u00adft"])).to_pylist()
    ['café 7', 'soft']
    """
    return pc.utf8_normalize(pc.replace_substring_regex(texts, UNSEEN, ""), "NFKC")


def key(values: np.ndarray) -> pa.Array:
    """The text by which persons, and keys of rows, are compared: in one spelling, then canonical, vectorised.

    Engines reckon the same (engines/sql.py). **Guarantee**: two texts are one person if and only if these are equal.
    """
    texts = pa.array(values, type=pa.large_string())
    return canonical(texts if pc.all(pc.string_is_ascii(texts)).as_py() else one_spelling(texts))


def looked_up(texts: pa.Array, known: Mapping[str, int]) -> np.ndarray:
    """The number of each known text, int64, -1 for one that is not known.

    >>> looked_up(pa.array(["b", "c", "a"]), {"a": 7, "b": 8}).tolist()
    [8, -1, 7]
    """
    # half characters, which no cell can hold, are written out
    listed = pa.array([t.encode("utf-8", "backslashreplace").decode() for t in known], type=texts.type)
    at = pc.index_in(texts, value_set=listed).fill_null(len(known)).to_numpy(zero_copy_only=False)
    return np.append(np.fromiter(known.values(), np.int64, len(known)), -1)[at]


def legible(texts: pa.Array) -> np.ndarray:
    """Which texts are short enough to be read."""
    return pc.less_equal(pc.binary_length(texts), LONGEST).to_numpy(zero_copy_only=False)


def floats(texts: pa.Array) -> np.ndarray:
    """The double nearest to each numeral, infinite for one too large; what is no numeral is not a number.

    >>> floats(pa.array(["1000000000000000065", "", "1e999", "0.5", "1_0"])).tolist()
    [1.0000000000000001e+18, nan, inf, 0.5, nan]
    """
    numeral = pc.match_substring_regex(texts, NUMBER)
    plain = pc.if_else(numeral, pc.utf8_ltrim(texts, "+"), "nan")
    return plain.cast(pa.float64()).to_numpy(zero_copy_only=False)


def whole(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Exact whole numbers int64, those beyond 64 bits at the end of the range; and which texts are such numerals.

    >>> numbers, found = whole(pa.array(["1000000000000000065", "-9" + "0" * 30, "1.5"]))
    >>> numbers[found].tolist()
    [1000000000000000065, -9223372036854775807]
    """
    fits_whole = pc.match_substring_regex(texts, WHOLE)
    digits = pc.if_else(fits_whole, pc.utf8_ltrim(pc.utf8_ltrim(texts, "+-"), "0"), "")
    size = pc.binary_length(digits)
    fits = pc.or_(pc.less(size, 19), pc.and_(pc.equal(size, 19), pc.less_equal(digits, str(MOST_WHOLE))))
    small = pc.if_else(pc.and_(fits, pc.greater(size, 0)), digits, pc.if_else(fits, "0", str(MOST_WHOLE)))
    numbers = small.cast(pa.int64()).to_numpy(zero_copy_only=False)
    below = pc.starts_with(texts, "-").to_numpy(zero_copy_only=False)
    return np.where(below, -numbers, numbers), fits_whole.to_numpy(zero_copy_only=False)


def seconds(texts: pa.Array) -> np.ndarray:
    """Seconds since 1970 of ISO dates and date-times in any year; what is neither is not a number."""
    found = pc.extract_regex(texts, pattern=DATE)
    part = {name: _digits(found.field(name)) for name in "ymdHMS"}
    months = (part["y"] - 1970) * 12 + part["m"] - 1
    starts = months.astype("datetime64[M]")
    days = starts.astype("datetime64[D]") + (part["d"] - 1)
    exists = (part["m"] >= 1) & (part["m"] <= 12) & (part["d"] >= 1) & (days.astype("datetime64[M]") == starts)
    on_clock = (part["H"] < 24) & (part["M"] < 60) & (part["S"] < 60)
    clock = part["H"] * 3600 + part["M"] * 60 + part["S"]
    since = days.astype("datetime64[s]").astype(np.int64) + clock
    readable = found.is_valid().to_numpy(zero_copy_only=False) & exists & on_clock
    return np.where(readable, since.astype(np.float64), np.nan)


def _digits(texts: pa.Array) -> np.ndarray:
    """At most four digits as numbers; none is zero."""
    given = pc.fill_null(pc.greater(pc.binary_length(texts), 0), fill_value=False)
    return pc.if_else(given, texts, "0").cast(pa.int64()).to_numpy(zero_copy_only=False)
