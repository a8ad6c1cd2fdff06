"""Columns that nothing was asked about: even histograms, which say no more than the schema does."""

from math import inf

import numpy as np

from synth.generators.marginals.histogram import Histogram
from synth.schema.table import Column

LEAVES = 256  # most leaves of a number


def even(name: str, column: Column, total: float) -> Histogram:
    """``total`` rows spread over a column: over its categories, or over equal parts of its range; ``sigma`` infinite.

    Missing codes of a number are leaves of their own, and hold together what one part holds.

    Privacy: public only.
    """
    if not column.is_numeric:
        starts = np.arange(column.cells)
        return _histogram(name, column, starts, np.ones(len(starts)), total)
    parts = np.unique(np.arange(LEAVES) * column.size // LEAVES)
    others = np.arange(column.size, column.cells)
    weights = np.append(np.diff(np.append(parts, column.size)), np.full(len(others), 1 / max(len(others), 1)))
    weights[len(parts) :] *= column.size / len(parts)
    return _histogram(name, column, np.append(parts, others), weights, total)


def is_even(histogram: Histogram) -> bool:
    """Whether a histogram was made here."""
    return histogram.sigma == inf


def _histogram(name: str, column: Column, starts: np.ndarray, weights: np.ndarray, total: float) -> Histogram:
    mass = total * weights / weights.sum()
    return Histogram(column=name, cells=column.cells, starts=starts.astype(np.int64), mass=mass, sigma=inf)
