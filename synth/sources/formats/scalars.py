"""Python objects as text, one by one: what a cell of an object column says never depends on other cells.

An object column has no type of its own. A type inferred from all of its cells would let one row change how every
other is written: Decimal("1.10") as "1.100" beside Decimal("7.125"), a date as a time beside a time.
"""

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa

from synth.sources.formats import valid_text

MOST_BITS = 4096  # of a whole number that is written out; a larger one is larger than any double
MOST_ZEROS = 400  # of a Decimal that is written out


def texts(cells: Iterable[object]) -> pa.Array:
    """The text of each cell; missing ones, and those that are no number, text or date (lists, bytes), are empty.

    >>> texts([Decimal("1.10"), 2.0, np.float32(0.1), None, dt.date(2020, 1, 31), True]).to_pylist()
    ['1.10', '2.0', '0.1', '', '2020-01-31', 'True']
    """
    plain = [cell if type(cell) is str else text(cell) for cell in cells]
    return valid_text.strings(plain)


def text(cell: object) -> str:
    """The text of one cell, whatever it is. Errors: none."""
    try:
        return _text(cell)
    except Exception:  # an object may fail to be written in any way, and must not decide how a run ends
        return ""


def _text(cell: object) -> str:
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
