"""Where noise is much: what part of the budget tables of two columns are worth, and how far they are believed.

They are asked first with a small part of it (`mixture.SCOUT`). By how far these answers are off independence, all of
the rest goes to single columns, all of it to tables, or some to both. Then independence is a prior like a public table:
how far each table is from it is estimated from the released answers, and the fit follows each as far as that.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals.combine import sharpen
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.prior import PriorTable, averaged_by_bins, independent
from synth.generators.marginals.prior_variance import variances
from synth.questions import CountsRelease

FAINT = 0.015  # noise of a pair's count, part of the rows, from which on it is asked first whether columns depend
HIDDEN = 0.1  # from which on noise hides whatever they do: all of the budget is for single columns
LEAST = 0.5  # excess a cell, at the noise of all pairs, up to which all of the rest is for single columns
SEEN = 1.0  # standard deviations of the excess of independent columns, below which no dependence is seen
CHANCE = 1.0  # variance of a count around independence that the rows' own chance makes, a row expected


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
            error = values - independent(marginal, sharper, total)
            off += float((error**2).sum()) / marginal.sigma**2 - values.size
            cells += values.size
    return off, cells


def worth(scout: CountsRelease, histograms: Mapping[str, Histogram], total: float, part: float) -> float:
    """The part of what is left that goes to tables, by a first look that took ``part`` of their budget.

    The excess at the noise of all of the budget: none up to ``LEAST`` a cell, all from one more on.
    """
    off, cells = excess([scout], histograms, total)
    return float(np.clip(off / (part * cells) - LEAST, 0.0, 1.0))


def unseen(
    tables: Sequence[CountsRelease], histograms: Mapping[str, Histogram], total: float, setting: Setting
) -> bool:
    """Whether faint tables are no further off independence than noise makes them."""
    off, cells = excess(tables, histograms, total)
    return _are_faint(tables, total, setting) and off < SEEN * sqrt(2 * cells)


def targets(
    tables: Sequence[CountsRelease], histograms: Mapping[str, Histogram], total: float, setting: Setting
) -> list[PriorTable]:
    """Independence as what a prior says of each faint table of two columns, its variance learnt from all of them."""
    if not _are_faint(tables, total, setting):
        return []
    answers = averaged_by_bins(
        a for r in tables for a in zip(r.question.marginals, r.values, strict=True) if len(a[0].bins) == 2
    )
    known = [(m, v, independent(m, histograms, total)) for m, v in answers.values()]
    spread = variances([(v, t, m.sigma**2) for m, v, t in known], least=CHANCE)
    return [PriorTable(marginal=m, values=t, variance=s) for (m, _, t), s in zip(known, spread, strict=True)]


def _are_faint(tables: Sequence[CountsRelease], total: float, setting: Setting) -> bool:
    pairs = len({m.columns for r in tables for m in r.question.marginals if len(m.bins) == 2})
    return pairs > 0 and faint(pairs, total, setting) > FAINT
