"""Numbers and dates written as text: what kind they are, and between which bounds they lie.

Everything works on the distinct texts of a column; bounds are exact, never rounded through a float.
"""

import datetime as dt
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WHOLE = r"^[+-]?(0|[1-9][0-9]*)(\.0+)?$"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
CODE = r"^[+-]?0[0-9]"  # a leading zero means something: a code, not a quantity
INFINITE = r"^[+-]?[iI]nf(inity)?$"
DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?$"
MAX_DECIMALS = 9
MAX_WHOLE = 2**52  # of positions on either side of 0, so that a column has at most 2**53
LARGEST = Decimal("1e300")  # above, a bound moved outwards could leave the range of a float
EXACT = Context(prec=400)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Bounds of decimal numbers, both multiples of the resolution where there is one, else of 10**-decimals."""

    low: float
    high: float
    decimals: int
    resolution: float | None = None


@dataclass(frozen=True, kw_only=True)
class Span:
    """First and last moment as ISO text, and the steps between."""

    first: str
    last: str
    resolution: str


def whole(values: list[str]) -> tuple[int, int] | None:
    """Smallest and largest of whole numbers, or None when a text is no whole number.

    >>> whole(["3", "-1", "+20.0", "1.5e1"]), whole(["007"]), whole(["1.5"])
    ((-1, 20), None, None)
    """
    if not _all(values, WHOLE) and (not _all(values, NUMBER) or _any(values, CODE) or _decimals(values)):
        return None
    low, high = (int(Decimal(text)) for text in _extremes(values))
    return low, high


def decimal(values: list[str]) -> Grid | None:
    """Bounds and number of decimals of numbers, or None when a text is no number.

    Decimals are the most that were written, at most 9, and as few as leave at most 2**53 steps; beyond that the
    resolution is a power of ten. Bounds are moved outwards to a multiple of the step. Infinities are out of any
    bounds and do not count.

    >>> decimal(["1.25", "-3", "1e-3"])
    Grid(low=-3.0, high=1.25, decimals=3, resolution=None)
    """
    array = pa.array(values, pa.string())
    finite = array.filter(pc.invert(pc.match_substring_regex(array, INFINITE))).to_pylist()
    if not finite or not _all(finite, NUMBER) or _any(finite, CODE):
        return None
    ends = [Decimal(text) for text in _extremes(finite)]
    decimals = min(_decimals(finite), MAX_DECIMALS)
    largest = max(abs(end) for end in ends)
    if largest > LARGEST:
        return None
    while largest.scaleb(decimals) >= MAX_WHOLE:
        decimals -= 1
    step = Decimal(1).scaleb(-decimals)
    low = ends[0].quantize(step, ROUND_FLOOR, EXACT)
    high = ends[1].quantize(step, ROUND_CEILING, EXACT)
    coarse = float(step) if decimals < 0 else None
    return Grid(low=float(low), high=float(high), decimals=max(decimals, 0), resolution=coarse)


def dates(values: list[str]) -> Span | None:
    """First and last of ISO dates or date-times, or None when a text is none. Days unless one carries a time.

    >>> dates(["2020-01-31", "2019-12-01"])
    Span(first='2019-12-01', last='2020-01-31', resolution='day')
    """
    if not _all(values, MOMENT):
        return None
    try:
        moments = np.array([v[:19] for v in values], dtype="datetime64[s]")
        ends = [moments.min().item(), moments.max().item()]
    except ValueError:  # a 31st of February
        return None
    if not all(isinstance(end, dt.datetime) for end in ends):
        return None
    days = _all(values, DAY)
    texts = [end.date().isoformat() if days else end.isoformat(timespec="seconds") for end in ends]
    return Span(first=texts[0], last=texts[1], resolution="day" if days else "second")


def decades(span: Span) -> Span:
    """The same span out to the ends of its decades.

    >>> decades(Span(first="1931-05-06", last="2019-01-31", resolution="day"))
    Span(first='1930-01-01', last='2019-12-31', resolution='day')
    """
    first, last = f"{span.first[:3]}0-01-01", f"{span.last[:3]}9-12-31"
    if span.resolution != "day":
        first, last = f"{first}T00:00:00", f"{last}T23:59:59"
    return Span(first=first, last=last, resolution=span.resolution)


def sorted_numbers(values: list[str]) -> list[str] | None:
    """The texts in numerical order, or None when one is no number.

    >>> sorted_numbers(["10", "9", "-1"]), sorted_numbers(["10", "N"])
    (['-1', '9', '10'], None)
    """
    return sorted(values, key=lambda text: (Decimal(text), text)) if _all(values, NUMBER) else None


def mostly_numbers(values: list[str]) -> bool:
    """Whether there are words among the texts, few of them, and many more numbers.

    >>> mostly_numbers(["1", "2", "3", "4", "N"]), mostly_numbers(["1", "a", "b", "c"])
    (True, False)
    """
    words = len(values) - pc.sum(_matches(values, NUMBER)).as_py()
    return 1 <= words <= 3 and words * 4 <= len(values) - words


def _matches(values: list[str], pattern: str) -> pa.Array:
    return pc.match_substring_regex(pa.array(values, pa.string()), pattern)


def _all(values: list[str], pattern: str) -> bool:
    return bool(pc.all(_matches(values, pattern)).as_py())


def _any(values: list[str], pattern: str) -> bool:
    return bool(pc.any(_matches(values, pattern)).as_py())


def _extremes(values: list[str]) -> list[str]:
    """The smallest and largest number, compared exactly where floats tie."""
    numbers = np.array(values, dtype=np.float64)
    lowest = [values[i] for i in np.flatnonzero(numbers == numbers.min())]
    highest = [values[i] for i in np.flatnonzero(numbers == numbers.max())]
    return [min(lowest, key=Decimal), max(highest, key=Decimal)]


def _decimals(values: list[str]) -> int:
    """The largest number of decimals written, exponents reckoned in."""
    parts = pc.extract_regex(pa.array(values, pa.string()), r"^[^.eE]*\.?(?P<f>[0-9]*)(?:[eE](?P<e>.*))?$")
    digits = pc.utf8_length(pc.struct_field(parts, "f")).to_numpy(zero_copy_only=False)
    digits = np.where(np.asarray(pc.struct_field(parts, "f")) == "0", 0, digits)  # "19.0" is written whole
    powers = [int(e) if e else 0 for e in pc.struct_field(parts, "e").to_pylist()]
    return int(max(0, (digits - np.array(powers)).max()))
