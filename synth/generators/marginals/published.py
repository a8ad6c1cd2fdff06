"""Published totals in a fit: single columns as printed, tables of more columns as answers that are nearly exact.

Totals are public facts of the schema. Where they count other rows than the private ones (a population, say, of which
these are a sample), what they say of proportions is what a fit takes; the rows drawn have their numbers.

Privacy: public facts and released answers only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.prior import PriorTable
from synth.questions import Bins, CountsRelease, Marginal
from synth.schema.totals_places import Parts, PublishedTotals, TotalsTable

SURE = (
    0.25  # deviation of a published cell for the fit, of the noise of a table that was asked: less hinders the descent
)
LEAST = 0.5  # rows


def stated(
    totals: PublishedTotals,
    histograms: Mapping[str, Histogram],
    tables: Sequence[CountsRelease],
    targets: Sequence[PriorTable],
    total: float,
) -> tuple[dict[str, Histogram], list[CountsRelease], list[PriorTable]]:
    """Histograms, tables and targets on leaves that totals tell apart; the columns' masses and further targets by them.

    ``total``: rows of the private table.
    """
    cuts = {
        name: np.unique(np.concatenate([p.starts for t in totals.tables for p in t.parts if p.column == name]))
        for name in totals.columns
        if name in histograms
    }
    fine = {n: _cut(h, cuts[n]) if n in cuts else h for n, h in histograms.items()}
    made = [_cut_tables(r, fine) for r in tables]
    known = [replace(t, marginal=_cut_marginal(t.marginal, fine)) for t in targets]
    usual = _usual(tables, fine)
    for table in totals.tables:
        for part in table.parts:
            if table.is_whole and part.column in fine:
                fine[part.column] = _fitted(fine[part.column], part, _margin(table, part), total)
    for table in totals.tables:
        if table.is_whole and len(table.parts) > 1 and all(p.column in fine for p in table.parts):
            known.append(_target(table, fine, usual, total))
    return fine, made, known


def _cut(histogram: Histogram, cuts: np.ndarray) -> Histogram:
    """The leaves cut where totals begin another part, their masses divided by width."""
    starts = np.union1d(histogram.starts, cuts)
    if len(starts) == len(histogram.starts):
        return histogram
    leaf = np.searchsorted(histogram.starts, starts, side="right") - 1
    widths = np.diff(np.append(starts, histogram.cells))
    mass = histogram.mass[leaf] * widths / histogram.widths[leaf]
    return replace(histogram, starts=starts, mass=mass, counts=None)


def _cut_tables(release: CountsRelease, histograms: Mapping[str, Histogram]) -> CountsRelease:
    marginals = tuple(_cut_marginal(m, histograms) for m in release.question.marginals)
    return CountsRelease(question=replace(release.question, marginals=marginals), values=release.values)


def _cut_marginal(marginal: Marginal, histograms: Mapping[str, Histogram]) -> Marginal:
    bins = tuple(_cut_bins(b, histograms[b.column]) for b in marginal.bins)
    return marginal if all(a is b for a, b in zip(bins, marginal.bins, strict=True)) else replace(marginal, bins=bins)


def _cut_bins(bins: Bins, histogram: Histogram) -> Bins:
    if len(bins.starts) == len(histogram.starts):
        return bins
    leaf = np.searchsorted(bins.starts, histogram.starts, side="right") - 1
    return Bins(column=bins.column, cells=bins.cells, starts=histogram.starts, groups=bins.groups[leaf])


def _margin(table: TotalsTable, part: Parts) -> np.ndarray:
    at = table.columns.index(part.column)
    return table.counts.sum(axis=tuple(i for i in range(table.counts.ndim) if i != at)).astype(float)


def _fitted(histogram: Histogram, part: Parts, counts: np.ndarray, total: float) -> Histogram:
    """The masses scaled, part by part, to what is printed."""
    group = part.of(histogram.starts)
    wanted = counts * (total / max(counts.sum(), 1.0))
    whole = np.bincount(group, weights=histogram.mass, minlength=part.size)
    spread = np.where(whole[group] > 0, histogram.mass, histogram.widths.astype(float))
    whole = np.bincount(group, weights=spread, minlength=part.size)
    return replace(histogram, mass=spread * (wanted / np.maximum(whole, 1e-12))[group], counts=None)


def _usual(tables: Sequence[CountsRelease], histograms: Mapping[str, Histogram]) -> float:
    """The noise of the tables that were asked, else of single columns, in rows."""
    noise = [m.sigma for r in tables for m in r.question.marginals] or [h.sigma for h in histograms.values()]
    return max(float(np.median(noise)), LEAST / SURE)


def _target(table: TotalsTable, histograms: Mapping[str, Histogram], usual: float, total: float) -> PriorTable:
    bins = []
    for part in table.parts:
        histogram = histograms[part.column]
        groups = part.of(histogram.starts)
        bins.append(Bins(column=part.column, cells=histogram.cells, starts=histogram.starts, groups=groups))
    counts = table.counts.astype(float)
    values = counts * (total / max(counts.sum(), 1.0))
    unsure = (SURE * usual) ** 2 + (table.base / 4) ** 2 * (table.base > 1)
    return PriorTable(
        marginal=Marginal(bins=tuple(bins), sigma=usual), values=values, variance=np.full(values.shape, unsure)
    )
