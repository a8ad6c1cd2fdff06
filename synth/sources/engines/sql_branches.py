"""Decisions on whole numbers, written in SQL: few branches one after the other, more nested in halves.

Positions stand for cells, or one of three marks below zero that ``codec`` gives a position afterwards.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from synth.schema.table import Column

LOST, BELOW, ABOVE = -1, -2, -3  # not readable; clamped at the minimum, at the maximum
FEW = 8  # branches written one after the other
MOST_RUNS = 5_000


def piecewise(cell: str, places: Mapping[int, int]) -> str | None:
    """The place of a whole number, or ``LOST``: runs of neighbouring numbers with neighbouring places are one branch.

    >>> piecewise("x", {1: 0, 2: 1})
    'CASE WHEN x BETWEEN 1 AND 2 THEN CAST(x AS BIGINT) - 1 ELSE -1 END'
    """
    runs: list[tuple[int, int, int]] = []
    for value in sorted(places):
        shift = value - places[value]
        if runs and runs[-1][1] == value - 1 and runs[-1][2] == shift:
            runs[-1] = (runs[-1][0], value, shift)
        else:
            runs.append((value, value, shift))
    return None if len(runs) > MOST_RUNS else _halved(cell, runs)


def _halved(cell: str, runs: Sequence[tuple[int, int, int]]) -> str:
    def listed(few: Sequence[tuple[int, int, int]]) -> str:
        reported = [f"WHEN {cell} BETWEEN {a} AND {b} THEN {_shifted(cell, -s)}" for a, b, s in few]
        return f"CASE {' '.join(reported)} ELSE {LOST} END" if reported else str(LOST)

    return _nested(cell, runs, listed, few=FEW)


def _nested(cell: str, pieces: Sequence[Any], leaf: Callable[[Sequence[Any]], str], *, few: int) -> str:
    """``leaf`` of the pieces where they are few, else of the half to which the cell belongs."""
    if len(pieces) <= few:
        return leaf(pieces)
    half = len(pieces) // 2
    low, high = (_nested(cell, part, leaf, few=few) for part in (pieces[:half], pieces[half:]))
    return f"CASE WHEN {cell} < {pieces[half][0]} THEN {low} ELSE {high} END"


def _shifted(cell: str, shift: int) -> str:
    """Widened first: a sum of narrow whole numbers could overflow."""
    return f"CAST({cell} AS BIGINT) {'-' if shift <= 0 else '+'} {abs(shift)}"


def settled(cell: str, column: Column) -> str:
    """The position without marks; ``LOST`` stays where the column is never missing."""
    last, absent = column.size - 1, column.size if column.missing_codes else LOST
    return f"CASE {cell} WHEN {BELOW} THEN 0 WHEN {ABOVE} THEN {last} WHEN {LOST} THEN {absent} ELSE {cell} END"


def binned(cell: str, cells: int, starts: np.ndarray, groups: np.ndarray, *, lost: int) -> str:
    """The group of a position among ``cells``, ``lost`` below zero; neighbouring leaves of one group are one branch.

    >>> binned("p", 9, np.array([0, 5, 7]), np.array([0, 0, 1]), lost=9)
    'CASE WHEN p < 0 THEN 9 ELSE CASE WHEN p < 7 THEN 0 ELSE 1 END END'
    """
    if len(starts) == cells and np.array_equal(groups, starts):
        return f"CASE WHEN {cell} < 0 THEN {lost} ELSE {cell} END"
    first = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    pieces = list(zip(starts[first].tolist(), groups[first].tolist(), strict=True))
    inner = _nested(cell, pieces, lambda one: str(one[0][1]), few=1)
    return f"CASE WHEN {cell} < 0 THEN {lost} ELSE {inner} END"
