"""Whether a person may have several rows: what a draft's keys say, and the unit of privacy that they suggest.

The figures are exact counts of private rows, for the steward; how many rows are kept of each person is a proposal until
somebody confirms it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np

from synth.schema.table import Column
from synth.sources.draft_risks import names_person
from synth.sources.formats.text_table import Table

RETAINED = 0.95  # part of the rows that a proposed max_rows keeps


@dataclass(frozen=True, kw_only=True)
class ProposedUnit:
    """The proposal: the key that names a person, or ``row``, and how many rows of each to keep.

    ``keys``: of each key that repeats, how many values it has, and how many rows have one.
    """

    unit: str
    max_rows: int | None
    keys: Mapping[str, tuple[int, int]]

    def sentences(self) -> list[str]:
        """What the draft says of keys that repeat; nothing where none does."""
        if not self.keys:
            return []
        message = ", ".join(f"{name} has {size} values in {rows} rows" for name, (size, rows) in self.keys.items())
        return [
            f"{','.join(self.keys)}: keys that repeat ({message}). Can a person appear in more than one row? "
            f"Proposed: `unit={self.unit}` `max_rows={self.max_rows}`, which keeps {RETAINED:.0%} of the rows; or "
            "answer `unit=row`: each row is one person"
        ]


def persons(table: Table, columns: Mapping[str, Column]) -> ProposedUnit:
    """The unit that the identifiers of a draft suggest: the coarsest key that repeats, one of persons before others."""
    counts = {n: _counts(table, n) for n, c in columns.items() if c.type == "identifier"}
    keys = {n: c for n, c in counts.items() if len(c) and c.max() > 1}
    reported = {n: (len(c), int(c.sum())) for n, c in keys.items()}
    if not keys:
        return ProposedUnit(unit="row", max_rows=None, keys={})
    unit = min(keys, key=lambda n: (not names_person(n), len(keys[n])))
    return ProposedUnit(unit=unit, max_rows=rows_retained(keys[unit]), keys=reported)


def _counts(table: Table, name: str) -> np.ndarray:
    """Rows with each value that is not empty, (values,)."""
    text = table.column(name)
    counts = np.bincount(text.codes, minlength=len(text.values))
    filled = np.array([bool(str(v).strip()) for v in text.values], dtype=bool)
    return counts[filled & (counts > 0)]


def rows_retained(counts: np.ndarray, *, part: float = RETAINED) -> int:
    """The smallest number of rows of each person that keeps this part of all rows.

    >>> rows_retained(np.array([1, 1, 1, 7])), rows_retained(np.array([2] * 50 + [30]))
    (7, 24)
    """
    wanted = ceil(part * int(counts.sum()))
    low, high = 1, int(counts.max())
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if int(np.minimum(counts, middle).sum()) >= wanted else (middle + 1, high)
    return low
