"""Whether tables of two columns can say more than single columns: where noise hides dependence, they only add noise."""

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals.combine import sharpen
from synth.generators.marginals.histogram import Histogram
from synth.questions import CountsRelease

FAINT = 0.015  # noise of a pair's count, part of the rows, from which on it is asked first whether columns depend
HIDDEN = 0.1  # from which on noise hides whatever they do: all of the budget is for single columns
LEAST = 1.4  # excess a cell, at the noise of all pairs, below which a fit would say less than single columns


def faint(pairs: int, total: float, setting: Setting) -> float:
    """The noise of one count in tables of so many pairs, as a part of the rows."""
    return setting.sigma(1.0) * sqrt(pairs) / total


def excess(tables: Sequence[CountsRelease], histograms: Mapping[str, Histogram], total: float) -> tuple[float, int]:
    """By how much the tables of two columns are off independence, in squared deviations of their noise, beyond the one
    that noise makes in each cell; and the number of cells.

    Privacy: released answers only.
    """
    sharper = sharpen(histograms, tables, total)
    off, cells = 0.0, 0
    for marginal, values in (a for r in tables for a in zip(r.question.marginals, r.values, strict=True)):
        if len(marginal.bins) == 2:
            rows, cols = (np.bincount(b.groups, weights=sharper[b.column].mass) for b in marginal.bins)
            error = values - np.outer(rows, cols) / total
            off += float((error**2).sum()) / marginal.sigma**2 - values.size
            cells += values.size
    return off, cells


def hidden(
    tables: Sequence[CountsRelease], histograms: Mapping[str, Histogram], total: float, setting: Setting
) -> bool:
    """Whether a fit to the tables would follow their noise: they are faint, and hardly off independence."""
    pairs = len({m.columns for r in tables for m in r.question.marginals if len(m.bins) == 2})
    if not pairs or faint(pairs, total, setting) <= FAINT:
        return False
    off, cells = excess(tables, histograms, total)
    return off < LEAST * cells
