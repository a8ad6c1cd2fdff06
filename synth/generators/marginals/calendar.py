"""Days of the week and months of the year of a date column: two small tables, to which its days are scaled."""

from collections.abc import Sequence

import numpy as np

from synth.generators.base import Setting
from synth.questions import Bins, Marginal
from synth.schema.table import SECONDS, Column

STRICT = 2.0  # times what noise alone makes: so far a margin must be from what the leaves expect to be heard
FEWEST_DAYS, MOST_DAYS = 60, 2**16  # days a range must have for a calendar to say something, and to be listed
SHARE = 0.05  # of the column's one-way share
ROUNDS = 30
WEEK, YEAR = 7, 12


def has_calendar(column: Column) -> bool:
    """Whether a column holds dates over a range of days for which weekdays and months are asked."""
    if column.type != "datetime":
        return False
    low, high = column.bounds
    return FEWEST_DAYS <= (high - low) / SECONDS["day"] <= MOST_DAYS


def questions(name: str, column: Column, setting: Setting, *, share: float) -> list[Marginal]:
    """Counts by day of the week and by month of the year, within ``share`` of the budget."""
    starts, kinds = _days(column)
    more = np.arange(column.size, column.cells)
    places = np.append(starts, more)
    return [
        Marginal(
            bins=(Bins(column=name, cells=column.cells, starts=places, groups=np.append(k, np.full(len(more), -1))),),
            sigma=setting.sigma(share / len(kinds)),
        )
        for k in kinds
    ]


def spread(
    starts: np.ndarray,
    mass: np.ndarray,
    cells: int,
    margins: Sequence[tuple[Marginal, np.ndarray]],
    *,
    doubt: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leaves cut at days: their starts (M,), the leaf that each is part of (M,), and their masses (M,).

    Weekdays and months are scaled to the margins in turn. Leaves give way: the finest hold a day or two, and their
    noise would put rows on days that have none. ``doubt``: noise deviations off what leaves expect, from which on a
    cell is heard at all: the rarest kinds of round numbers are the largest ones, to which noise would add.
    **Source**: iterative proportional fitting, Deming and Stephan 1940.
    """
    cut = np.union1d(starts, margins[0][0].bins[0].starts)
    leaf = np.searchsorted(starts, cut, side="right") - 1
    parts = np.diff(np.append(cut, cells)) * (mass / np.diff(np.append(starts, cells)))[leaf]
    goals = []
    for marginal, counts in margins:
        kind = marginal.bins[0].groups[np.searchsorted(marginal.bins[0].starts, cut, side="right") - 1]
        goals.append((kind, _goal(_sums(parts, kind, marginal.cells), counts.astype(float), marginal.sigma, doubt)))
    for _ in range(ROUNDS):
        for kind, goal in goals:
            factor = goal / np.maximum(_sums(parts, kind, len(goal)), 1e-9)
            parts = parts * np.where(kind < 0, 1.0, factor[kind])
    return cut, leaf, parts


def _goal(expected: np.ndarray, counts: np.ndarray, sigma: float, doubt: float) -> np.ndarray:
    """Counts drawn towards what the leaves expect, as far as their distance may be noise.

    **Source**: positive-part estimator of James and Stein 1961.
    """
    away = counts - expected
    weight = max(0.0, 1 - STRICT * len(away) * sigma**2 / max(float(away @ away), 1e-9))
    weight *= np.maximum(0.0, 1 - (doubt * sigma) ** 2 / np.maximum(away**2, 1e-9))
    goal = np.maximum(expected + weight * away, 0.0)
    return goal * (expected.sum() / max(goal.sum(), 1e-9)) if goal.sum() > 0 else expected


def _sums(parts: np.ndarray, kind: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(kind[kind >= 0], weights=parts[kind >= 0], minlength=size)


def _days(column: Column) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """First position of each day of the range, and each day's weekday (Monday 0) and month (January 0)."""
    low, step = int(column.bounds[0]), int(column.step)
    first, last = low // SECONDS["day"], (low + (column.size - 1) * step) // SECONDS["day"]
    days = np.arange(first, last + 1)
    starts = np.maximum(-(-(days * SECONDS["day"] - low) // step), 0)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    retained = np.append(starts[1:] > starts[:-1], True)
    return starts[retained], ((days[retained] + 3) % WEEK, months[retained] % YEAR)
