"""What is asked of long histories beside their columns: how long after the row before, and in which month of the year.

Both follow row by row from one parent's rows alone, in their order: whatever a root's rows do to them, no other root's
do. Times as such tell neither, since a table of two columns has a few dozen bins for all years together.
"""

import numpy as np

from synth.schema.column import Column
from synth.schema.table import Key

LONG = 8  # rows of one parent in order; of more the one before and the time between tell more than the place
GAP, MONTH = "gap in ", "month of "  # names of what is derived begin so
YEAR = 366 * 86400  # seconds


def is_long(key: Key) -> bool:
    """Whether the rows under a key are a long history.

    >>> is_long(Key(parent="p", child="c", columns=("id",), most_children=9, order="day"))
    True
    """
    return key.order is not None and key.most_children > LONG


def gap_of(order: str) -> str:
    """The column of the steps since the row before: 0 for a first row and where either is missing, else one more."""
    return GAP + order


def month_of(order: str) -> str:
    """The column of the month of the year."""
    return MONTH + order


def derived(columns: dict[str, Column], key: Key | None) -> dict[str, Column]:
    """The columns derived from the one by which long histories under the key are ordered; of a number only the gap.

    Privacy: public only.
    """
    time = columns.get(str(key.order)) if key is not None and is_long(key) else None
    if time is None or key is None or key.order is None or not time.is_numeric or time.size < 2:
        return {}
    out = {gap_of(key.order): Column(type="integer", min=0, max=time.size, source="public")}
    low, high = time.bounds
    if time.type == "datetime" and high - low >= YEAR:
        names = tuple(str(m) for m in range(1, 13))
        out[month_of(key.order)] = Column(type="categorical", categories=names, nullable=True, source="public")
    return out


def named(columns: dict[str, Column], key: Key | None) -> set[str]:
    """What the derived columns are called, or may be once the bounds of the time are learnt.

    Privacy: public only.
    """
    time = columns.get(str(key.order)) if key is not None and is_long(key) else None
    if key is None or key.order is None or time is None or not time.is_numeric:
        return set()
    if time.min is None or time.max is None:
        return {gap_of(key.order), month_of(key.order)}
    return set(derived(columns, key))


def gaps(time: Column, positions: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Gaps (n,) of rows whose ``positions`` (n,) of the time rise within a parent; ``rank`` (n,): places among those.

    Privacy: reads rows, exact.
    """
    here = np.asarray(positions).astype(np.int64)
    before = np.append(here[:1], here[:-1])
    known = (rank > 0) & (here < time.size) & (before < time.size)
    return np.where(known, np.clip(here - before, 0, time.size - 1) + 1, 0)


def months(time: Column, positions: np.ndarray) -> np.ndarray:
    """Months (n,) from 0; 12 where the time is missing.

    Privacy: as the positions.
    """
    low, step = (int(x) for x in (time.bounds[0], time.step))
    here = np.asarray(positions).astype(np.int64)
    moments = (low + np.minimum(here, time.size - 1) * step).astype("datetime64[s]")
    return np.where(here < time.size, moments.astype("datetime64[M]").astype(np.int64) % 12, 12)
