"""Positions of a column gathered into few groups, for charts and for tables small enough to compare.

Groups may be chosen from the real rows: whatever uses them is for the steward alone.
"""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from synth.schema.table import Column

BARS = 30  # categories shown one by one, and bins of a histogram
COARSE = 12  # groups of a column in a two-way table
TAIL = 0.005  # share of rows at either end that the outermost bins take in
EPOCH = np.datetime64("1970-01-01T00:00:00", "s")


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """A grouping of a column's positions: ``of`` (cells,) the group of each position, ``labels`` in order.

    ``edges`` (m + 1,), for numbers and dates only: where the bins begin and the last ends, as numbers (seconds
    since 1970 for a date); missing codes follow the m bins as groups of their own.
    """

    labels: tuple[str, ...]
    edges: np.ndarray | None
    bounds: np.ndarray  # first position of each group's run, or the sorted positions themselves
    targets: np.ndarray  # the group of each run

    def take(self, positions: np.ndarray) -> np.ndarray:
        """The group of each position, (num_rows,) int64."""
        return self.targets[np.searchsorted(self.bounds, positions, side="right") - 1]


def fine(column: Column, positions: np.ndarray) -> Groups:
    """Groups for a chart: the commonest categories, or bins of equal width between the outermost rows."""
    if not column.is_numeric:
        return _top(column, positions, keep=BARS)
    valid = positions[positions < column.size]
    low, high = (0, column.size - 1) if len(valid) == 0 else np.quantile(valid, [TAIL, 1 - TAIL], method="nearest")
    width = max(1, -(-(int(high) - int(low) + 1) // BARS))
    inner = np.arange(int(low), int(high) + 1, width)
    edges = np.array([number(column, p) for p in [*inner, int(inner[-1]) + width]])
    ends = np.append(inner[1:], inner[-1] + width) - 1
    labels = [_span(column, int(a), int(b)) for a, b in zip(inner, np.minimum(ends, column.size - 1), strict=True)]
    if ends[-1] < column.size - 1:
        labels[-1] = f"{_text(column, int(inner[-1]))} and above"
    if inner[0] > 0:
        labels[0] = f"up to {_text(column, int(ends[0]))}"
    return _numeric(column, np.append(0, inner[1:]), labels, edges=edges)  # the outermost bins take in the tails


def coarse(column: Column, positions: np.ndarray) -> Groups:
    """At most ``COARSE`` groups and the missing codes; bins hold about equal shares of the rows."""
    if not column.is_numeric:
        return _top(column, positions, keep=COARSE)
    valid = positions[positions < column.size]
    cuts = np.quantile(valid, np.linspace(0, 1, COARSE + 1)[:-1], method="lower") if len(valid) else [0]
    starts = np.unique(np.append(0, np.asarray(cuts, dtype=np.int64)[1:]))
    ends = np.append(starts[1:], column.size) - 1
    labels = [_span(column, int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
    return _numeric(column, starts, labels, edges=None)


def _numeric(column: Column, starts: np.ndarray, labels: list[str], *, edges: np.ndarray | None) -> Groups:
    codes = np.arange(column.size, column.cells)
    labels = labels + [missing_label(c) for c in column.missing_codes]
    bounds = np.concatenate([starts, codes])
    return Groups(labels=tuple(labels), edges=edges, bounds=bounds, targets=np.arange(len(bounds)))


def _top(column: Column, positions: np.ndarray, *, keep: int) -> Groups:
    """The ``keep`` commonest categories, an ordinal's in their order, and the rest as one group."""
    counts = np.bincount(positions, minlength=column.cells)
    common = np.argsort(-counts, kind="stable")[:keep]
    if column.type == "ordinal" or column.size <= 2:
        common = np.sort(common)
    targets = np.full(column.cells, len(common))
    targets[common] = np.arange(len(common))
    names = [*(column.categories or ()), *(missing_label(c) for c in column.missing_codes)]
    labels = [names[p] for p in common]
    if column.cells > keep:
        labels.append(f"all {column.cells - keep} others")
    return Groups(labels=tuple(labels), edges=None, bounds=np.arange(column.cells), targets=targets)


def bin_labels(column: Column, starts: np.ndarray, groups: np.ndarray) -> list[str]:
    """What each bin of a public grouping holds, in words; ``starts`` and ``groups`` as in ``questions.Bins``.

    >>> age = Column(type="integer", min=0, max=9)
    >>> bin_labels(age, np.array([0, 5]), np.array([0, 1]))
    ['0 to 4', '5 to 9']
    """
    labels: list[list[str]] = [[] for _ in range(int(groups.max()) + 1)]
    names = column.labels or column.categories or ()
    ends = np.append(starts[1:], column.cells) - 1
    for start, end, group in zip(starts.tolist(), ends.tolist(), groups.tolist(), strict=True):
        if group < 0:
            continue
        end = min(end, column.size - 1)
        if start >= column.size:  # a missing code stands for itself
            labels[group].append(missing_label(column.missing_codes[start - column.size]))
        elif column.is_numeric:
            labels[group].append(_span(column, start, end))
        else:
            labels[group].append(names[start] if start == end else f"{names[start]} to {names[end]}")
    return [h[0] if len(h) == 1 else f"{h[0]} and {len(h) - 1} more" for h in labels]


def missing_label(code: str) -> str:
    """How a missing code is written on an axis.

    >>> missing_label(""), missing_label("N")
    ('(empty)', 'N (missing)')
    """
    return f"{code} (missing)" if code else "(empty)"


def number(column: Column, position: int) -> float:
    """The value at a position of a number or a date (seconds since 1970), as a float."""
    return float(column.bounds[0] + column.step * Decimal(int(position)))


def _span(column: Column, first: int, last: int) -> str:
    a, b = _text(column, first), _text(column, last)
    return a if first == last else f"{a} to {b}"


def _text(column: Column, position: int) -> str:
    value = column.bounds[0] + column.step * position
    if column.type == "datetime":
        moment = EPOCH + np.timedelta64(int(value), "s")
        return str(np.datetime_as_string(moment, unit="D" if column.resolution in (None, "day") else "m")).replace(
            "T", " "
        )
    return f"{value.normalize():f}"
