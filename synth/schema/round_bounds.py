"""Bounds of a draft that are no person's own value: the smallest and the largest are moved outwards to a public grid.

The grid follows from how far the values reach, to a power of ten and one of 1, 2 or 5: an income of up to 727,310 is
drafted as 0 to 800,000, a height of 136.6 to 202.7 as 120 to 220. What a bound still tells is the step of the grid in
which the extreme lies, a fifth to a half of the range, and of dates the year (of births the decade).
Small whole numbers that many rows have (a scale from 1 to 5) stay as they are. Where a column's name says what it
holds (an age, an hour), no bound passes what such a thing can be: hours up to 23 are drafted as 0 to 24, not to 25.
It is not widened to that: an age of 0 to 120 in place of 17 to 100 would be a coarser model for the same noise.
"""

import re
from collections.abc import Collection
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

from synth.schema.literals import Span, decades

SMALL = 20  # whole numbers up to which a scale may end where it ends
PARTS = 5  # steps of the grid that a range takes at least
COMMON = 10  # rows that have a value which is then nobody's own
FIRST, LAST = r"[0-9]{4}-01-01(T00(:00(:00)?)?)?", r"[0-9]{4}-12-31(T23(:(00|59)(:(00|59))?)?)?"
NATURAL = {  # by a word of the name
    "age": (0, 120),
    "alter": (0, 120),
    "percent": (0, 100),
    "percentage": (0, 100),
    "pct": (0, 100),
    "prozent": (0, 100),
    "hour": (0, 24),
    "stunde": (0, 24),
    "minute": (0, 60),
    "month": (1, 12),
    "monat": (1, 12),
    "weekday": (0, 7),
    "latitude": (-90, 90),
    "longitude": (-180, 180),
}
STEPS = (Decimal(1), Decimal(2), Decimal(5), Decimal(10))


def unit(low: float, high: float) -> Decimal:
    """The grid's step for values that reach from ``low`` to ``high``: 1, 2 or 5 times a power of ten.

    >>> [float(unit(*b)) for b in ((0, 727_310), (136.6, 202.7), (0.02, 0.31), (0, 5e-324))]
    [200000.0, 20.0, 0.1, 0.0]
    """
    span = Decimal(repr(high)) - Decimal(repr(low)) or abs(Decimal(repr(high))) or Decimal(1)
    least = span / PARTS
    power = Decimal(1).scaleb(least.adjusted() - 1)
    while True:
        for step in STEPS:
            if step * power >= least:
                return step * power
        power *= 10


def within(words: Collection[str], values: tuple[float, float], bounds: tuple[float, float]) -> tuple[float, float]:
    """Bounds cut to the range of what a column of these words holds, unless its values lie beyond themselves.

    >>> within(["hour"], (0, 23), (0, 25)), within(["age"], (17, 90), (0, 100)), within(["age"], (0, 130), (0, 150))
    ((0, 24), (0, 100), (0, 150))
    """
    least, most = next((r for kind, r in NATURAL.items() if kind in words), bounds)
    return (max(bounds[0], least), min(bounds[1], most)) if least <= values[0] <= values[1] <= most else bounds


def widened(low: float, high: float, *, whole: bool, common: tuple[bool, bool], step: float) -> tuple[float, float]:
    """The bounds out to the grid, and to multiples of ``step``. ``common``: whether ``COMMON`` rows have each end.

    >>> widened(3, 727_310, whole=True, common=(False, False), step=1)
    (0, 800000)
    >>> widened(1, 5, whole=True, common=(True, True), step=1), widened(0, 13, whole=True, common=(True, False), step=1)
    ((1, 5), (0, 15))
    """
    size = unit(low, high)
    if whole:
        size = max(size, Decimal(1) if abs(high) <= 1 else Decimal(5))
    near = low >= 0 and Decimal(repr(low)) <= 2 * size  # zero is where such quantities begin
    ends = Decimal(0) if near else _on(low, size, ROUND_FLOOR), _on(high, size, ROUND_CEILING)
    if high <= 0 and -Decimal(repr(high)) <= 2 * size:
        ends = ends[0], Decimal(0)
    stays = [whole and c and abs(v) <= SMALL for v, c in zip((low, high), common, strict=True)]
    ends = tuple(Decimal(repr(v)) if k else e for v, k, e in zip((low, high), stays, ends, strict=True))  # type: ignore[assignment]
    grid = Decimal(repr(step))
    bottom, top = _on(float(ends[0]), grid, ROUND_FLOOR), _on(float(ends[1]), grid, ROUND_CEILING)
    return (int(bottom), int(top)) if whole else (float(bottom), float(top))


def is_round(bound: float, low: float, high: float, *, step: float) -> bool:
    """Whether a bound of a column from ``low`` to ``high`` could be a draft's: on the grid, or a small whole number.

    >>> [is_round(b, 0, 800_000, step=1) for b in (0, 800_000, 727_310)], is_round(17, 0, 95, step=1)
    ([True, True, False], True)
    """
    value, size = Decimal(repr(bound)), unit(low, high)
    if (value == value.to_integral_value() and abs(value) <= SMALL) or any(bound in ends for ends in NATURAL.values()):
        return True
    steps = (size, size / 2, size * 2 / 5)  # a widened range may reach so far that its own grid is the next coarser
    return any(
        abs(value - _on(float(value), s, ROUND_HALF_EVEN)) < Decimal(repr(step)) for s in steps if s > step
    ) or any(value % s == 0 for s in steps)


def years(span: Span, *, births: bool) -> Span:
    """Dates out to the ends of their years, or decades where they are ``births``: a single day is somebody's.

    >>> years(Span(first="2019-03-07", last="2021-11-02", resolution="day"), births=False)
    Span(first='2019-01-01', last='2021-12-31', resolution='day')
    """
    if births:
        return decades(span)
    times = ("", "") if span.resolution == "day" else ("T00:00:00", "T23:59:59")
    return replace(span, first=f"{span.first[:4]}-01-01{times[0]}", last=f"{span.last[:4]}-12-31{times[1]}")


def are_years(first: str, last: str) -> bool:
    """Whether dates or times begin and end a year, as those of ``years`` do; the last minute or hour will do.

    >>> are_years("2019-01-01", "2021-12-31"), are_years("2019-03-07", "2021-12-31")
    (True, False)
    """
    begins, ends = re.fullmatch(FIRST, first.replace(" ", "T")), re.fullmatch(LAST, last.replace(" ", "T"))
    return begins is not None and ends is not None


def _on(value: float, step: Decimal, rounding: str) -> Decimal:
    """The next multiple of the step."""
    return (Decimal(repr(value)) / step).to_integral_value(rounding=rounding) * step
