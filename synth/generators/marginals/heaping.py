"""Round numbers of a wide range: how often thousands, hundreds and so on occur, to which its numbers are scaled."""

from itertools import pairwise
from math import floor, log10

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals.histogram import Histogram
from synth.questions import Bins, Marginal
from synth.schema.table import Column

SHARE = 0.1  # of the column's one-way share
ZONES = 4  # parts of a range, of about equal mass, in which round numbers are counted apart
STEPS = (1.0, 0.5, 0.1, 0.05, 0.01)  # of a zone's greatest power of ten: numbers are as round as the first that fits
DOUBT = 2.0  # noise deviations from which on a kind of round numbers is heard
FEWEST = 1000  # numbers that a range must have


def has_heaping(column: Column) -> bool:
    """Whether a column holds whole numbers over a range that is wide enough for round ones to stand out."""
    if column.type != "integer" or column.size < FEWEST:
        return False
    return float(column.step).is_integer() and float(column.bounds[0]).is_integer()


def question(histogram: Histogram, column: Column, setting: Setting, *, share: float) -> Marginal | None:
    """Counts of numbers by how round they are, zone by zone; single values that stand out already are left out.

    Zones follow from the noisy counts asked before; a row counts in one cell at most.
    """
    starts, groups = np.zeros(1, dtype=np.int64), np.full(1, -1)
    size = 0
    for low, high in _zones(histogram, column):
        values, kinds = _round(low, high, column)
        if len(values) == 0:
            continue
        first = np.stack([values, values + 1], axis=1).ravel()
        rest = np.full(len(values), len(STEPS))
        places = np.append(low, first)
        marks = np.append(len(STEPS), np.stack([kinds, rest], axis=1).ravel()) + size
        last = np.append(places[1:] > places[:-1], places[-1] < high)  # neighbours and ends leave nothing between
        starts, groups = np.append(starts, places[last]), np.append(groups, marks[last])
        size += len(STEPS) + 1
    if size == 0:
        return None
    starts, groups = np.append(starts, column.size), np.append(groups, -1)
    last = np.append(starts[1:] > starts[:-1], starts[-1] < column.cells)
    starts, groups = starts[last], groups[last]
    alone = histogram.starts[histogram.widths == 1]
    cut = np.union1d(starts, np.concatenate([alone, alone + 1]))
    cut = cut[cut < column.cells]
    groups = groups[np.searchsorted(starts, cut, side="right") - 1]
    groups[np.isin(cut, alone)] = -1
    named = np.unique(groups[groups >= 0])
    if len(named) < 2:
        return None
    groups = np.where(groups < 0, -1, np.searchsorted(named, groups))
    return Marginal(
        bins=(Bins(column=histogram.column, cells=column.cells, starts=cut, groups=groups),), sigma=setting.sigma(share)
    )


def _zones(histogram: Histogram, column: Column) -> list[tuple[int, int]]:
    """Ranges of positions of about equal mass, single values aside; above and below zero apart."""
    wide = (histogram.widths > 1) & (histogram.starts < column.size)
    mass = np.where(wide, histogram.mass, 0.0)
    if mass.sum() <= 0:
        return []
    whole = np.cumsum(mass) / mass.sum()
    inner = [int(histogram.starts[np.searchsorted(whole, q / ZONES)]) for q in range(1, ZONES)]
    zero = round(-column.bounds[0] / column.step)
    edges = sorted({0, *inner, *([zero] if 0 < zero < column.size else []), column.size})
    return list(pairwise(edges))


def _round(low: int, high: int, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Positions in a zone of numbers that are round there, and how round: the number of the first step that fits."""
    first, step = int(column.bounds[0]), int(column.step)
    ends = first + low * step, first + (high - 1) * step
    most = max(abs(ends[0]), abs(ends[1]))
    if most < 10 / STEPS[-1] / 10 or high <= low:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    units = [max(round(10 ** floor(log10(most)) * s), 1) for s in STEPS]
    finest = units[-1]
    values = np.arange(-(-ends[0] // finest), ends[1] // finest + 1, dtype=np.int64) * finest
    values = values[(values - first) % step == 0]
    fits = np.stack([values % u == 0 for u in units])
    return (values - first) // step, fits.argmax(0)
