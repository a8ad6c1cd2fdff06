"""What is known of cells that were counted under noise: by public tables, published totals, independence.

A prior is never trusted by itself: how far a table's target is off the truth is estimated from the released answers,
table by table, and the target enters the fit as one more answer with that variance. Of pairs and larger tables only the
dependence is borrowed: the target has the single columns that the private answers say. Where noise is much independence
is such a prior too. Totals are public facts of the schema; where they count other rows than the private ones (a
population, say, of which these are a sample), what they say of proportions is what a fit takes.

Privacy: public tables, public facts and released answers only; nothing here asks private rows.
**Source**: empirical Bayes (Morris 1983) with a variance that grows with the cell, as that of counts does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from synth.generators.base import Ask, PublicRows, Setting
from synth.generators.core.columns import PRIOR_LEAVES, Histogram, merge, sharpen, split
from synth.generators.core.logits import averaged
from synth.generators.core.prior_variance import TINY, variance_shape, variances
from synth.questions import Bins, Counts, CountsRelease, Marginal, PublicCounts
from synth.schema.totals_places import Parts, PublishedTotals, TotalsTable

FINER = "prior, finer pairs"  # purpose of the public counts of pairs on finer bins than private rows are asked on
FINE_CELLS, FINEST = 240_000, 64  # most cells of these together, and bins of a column
SMOOTH = 20.0  # rows of a public table of more columns that are spread as independent columns would be
WEAK = 0.2  # mean weight up to which a target is left out
SURER = 0.5  # mean weight of a target's cells from which on it says more than the counts
FAR = 1e6  # times the noise's variance, of a cell of which the target says nothing
RAKES = 30  # rounds of proportional fitting of a public table to the private single columns

Answer = tuple[Marginal, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class PriorTable:
    """A public table's expectation of a marginal's cells, in rows, each with ``variance`` around the truth.

    ``values``, ``variance``: of the marginal's shape; an infinite variance says nothing of its cell. ``noisy``: of an
    earlier release's answer, which errs in each cell by itself, as the private answer on the same cells does.
    """

    marginal: Marginal
    values: np.ndarray
    variance: np.ndarray
    noisy: bool = False

    @property
    def weight(self) -> float:
        """Its cells' mean weight beside the noise of counts."""
        noise = self.marginal.sigma**2
        return float(np.mean(noise / (noise + self.variance)))

    @property
    def cells(self) -> int:
        """Cells of which it says something."""
        return int(np.isfinite(self.variance).sum())


def columns_of_priors(priors: Sequence[PublicRows], histograms: Mapping[str, Histogram]) -> list[PublicCounts]:
    """What public tables say of every column's leaves."""
    bins = [
        Bins(column=n, cells=h.cells, starts=h.starts, groups=np.arange(len(h.starts))) for n, h in histograms.items()
    ]
    question = Counts(purpose=PRIOR_LEAVES, marginals=tuple(Marginal(bins=(b,), sigma=1.0) for b in bins))
    return [public_counts(p, question) for p in priors]


def beside_priors(
    ask: Ask,
    priors: Sequence[PublicRows],
    publics: list[PublicCounts],
    histograms: Mapping[str, Histogram],
) -> Ask:
    """An ``ask`` that puts into ``publics`` what public tables say of the cells of each question of counts.

    Beside the first question of pairs they say what they have of the same pairs on finer bins.
    """

    def both(question: Any) -> Any:
        release = ask(question)
        if isinstance(question, Counts):
            more = [] if publics else [finer_pairs(question, histograms)]
            publics.extend(public_counts(p, q) for p in priors for q in (*more, question))
        return release

    return both if priors else ask


def public_counts(rows: PublicRows, question: Counts) -> PublicCounts:
    """The public table's counts at a question's cells."""
    missing = tuple(sorted({c for m in question.marginals for c in m.columns} - rows.columns))
    known = [not set(m.columns) & set(missing) for m in question.marginals]
    exact = iter(rows.counts([m.bins for m, there in zip(question.marginals, known, strict=True) if there]))
    values = tuple(
        next(exact).reshape(m.shape) if there else np.zeros(m.shape, dtype=np.int64)
        for m, there in zip(question.marginals, known, strict=True)
    )
    asked = question.purpose not in (PRIOR_LEAVES, FINER)
    said = [rows.answers(m) if asked and there else None for m, there in zip(question.marginals, known, strict=True)]
    none = [(np.zeros(m.shape), np.zeros(m.shape)) for m in question.marginals]
    answers, variance = zip(*(s or n for s, n in zip(said, none, strict=True)), strict=True) if any(said) else ((), ())
    return PublicCounts(
        question=question,
        values=values,
        name=rows.name,
        sha256=rows.sha256,
        num_rows=rows.num_rows,
        missing=missing,
        answers=tuple(answers),
        variance=tuple(variance),
    )


def prior_targets(
    tables: Sequence[CountsRelease], publics: Sequence[PublicCounts], histograms: Mapping[str, Histogram], total: float
) -> list[PriorTable]:
    """What each public table says of two and more columns, its variance estimated from the tables that were asked.

    Of two columns it tells more than was asked: the cells of its own finer bins, spread as the asked ones are.
    """
    released = averaged_by_bins(a for r in tables for a in zip(r.question.marginals, r.values, strict=True))
    out = []
    for name in dict.fromkeys(p.sha256 for p in publics):
        own = [p for p in publics if p.sha256 == name and p.question.purpose != PRIOR_LEAVES]
        out += _of_table(
            released,
            [p for p in own if p.question.purpose != FINER],
            [p for p in own if p.question.purpose == FINER],
            histograms,
            total,
        )
    return out


def _of_table(
    released: Mapping[tuple, Answer],
    asked: Sequence[PublicCounts],
    finer: Sequence[PublicCounts],
    histograms: Mapping[str, Histogram],
    total: float,
) -> list[PriorTable]:
    """One public table's targets."""
    again, answered = _answered(released, asked, histograms, total)
    known = {_key(m): (m, v) for p in asked for m, v in _said(p) if m.columns not in answered}
    held = [(*released[k], _raked(v, m, histograms, total)) for k, (m, v) in known.items() if k in released]
    if not held:
        return again
    least = total / asked[0].num_rows
    alone = [independent_table(m, histograms, total) for m, _, _ in held]
    spread = variances([(y, t, m.sigma**2) for m, y, t in held], least=least, rivals=alone)
    pairs = {
        m.columns: (m, s / variance_shape(t)) for (m, _, t), s in zip(held, spread, strict=True) if len(m.bins) == 2
    }
    fine = [
        _finer(PriorTable(marginal=m, values=_raked(v, m, histograms, total), variance=v), *pairs[m.columns])
        for p in finer
        for m, v in _said(p)
        if m.columns in pairs
    ]
    done = {t.marginal.columns for t in fine}
    made = (
        again
        + fine
        + [
            PriorTable(marginal=m, values=t, variance=s)
            for (m, _, t), s in zip(held, spread, strict=True)
            if m.columns not in done
        ]
    )
    return [t for t in made if t.weight > WEAK]  # others would hide from the fit how far it has followed the counts


def _answered(
    released: Mapping[tuple, Answer],
    publics: Sequence[PublicCounts],
    histograms: Mapping[str, Histogram],
    total: float,
) -> tuple[list[PriorTable], set[tuple[str, ...]]]:
    """An earlier release's noisy answers about pairs, with the private single columns, and the pairs that it has.

    Their variance is that of their own noise and that of what changed since, which is estimated from all of them.
    """
    made: list[tuple[Marginal, np.ndarray, np.ndarray]] = []
    known, done = [], set()
    for public in (p for p in publics if p.answers):
        for i, marginal in enumerate(public.question.marginals):
            if _key(marginal) not in released or not public.variance[i].any() or marginal.columns in done:
                continue
            smooth = _smooth(public.values[i], marginal, histograms, total)
            target = _fitted(smooth, marginal, histograms, total)
            scale = target / np.maximum(smooth, TINY) * (total / max(public.num_rows, 1))
            there = public.variance[i] > 0
            values = np.where(there, public.answers[i] * scale, target)
            noise = np.where(there, public.variance[i] * scale**2, np.square(target) + marginal.sigma**2)
            now, counts = released[_key(marginal)]
            done.add(marginal.columns)
            made.append((now, values, noise))
            known.append((counts - values + target, target, noise.ravel() + now.sigma**2))
    if not made:
        return [], set()
    spread = variances(known, least=total / max(publics[0].num_rows, 1))
    tables = [
        PriorTable(marginal=m, values=v, variance=noise + s, noisy=True)
        for (m, v, noise), s in zip(made, spread, strict=True)
    ]
    return [t for t in tables if t.weight > WEAK], done


def pooled_targets(
    tables: Sequence[CountsRelease], targets: Sequence[PriorTable]
) -> tuple[list[CountsRelease], list[PriorTable]]:
    """The tables, each averaged by precision with noisy targets of its cells as if it had been asked once more, and the
    other targets. What one fit follows is then one answer, whose noise is known to it."""
    noisy: dict[tuple, list[PriorTable]] = {}
    for target in (t for t in targets if t.noisy):
        noisy.setdefault(_key(target.marginal), []).append(target)
    if not noisy:
        return list(tables), list(targets)
    answers = [a for r in tables for a in zip(r.question.marginals, r.values, strict=True)]
    made = [a for a in answers if _key(a[0]) not in noisy]
    for key, (marginal, values) in averaged_by_bins(a for a in answers if _key(a[0]) in noisy).items():
        precision, whole = np.full(marginal.shape, marginal.sigma**-2), values / marginal.sigma**2
        for target in noisy[key]:
            known = np.isfinite(target.variance)
            weight = np.divide(1.0, target.variance, out=np.zeros(marginal.shape), where=known)
            precision, whole = precision + weight, whole + weight * target.values
        made.append((replace(marginal, sigma=sqrt(float((1 / precision).mean()))), whole / precision))
    question = Counts(purpose=tables[0].question.purpose, marginals=tuple(m for m, _ in made))
    rest = [t for t in targets if not t.noisy]
    return [CountsRelease(question=question, values=tuple(v for _, v in made))], rest


def believed_tables(tables: Sequence[CountsRelease], targets: Sequence[PriorTable]) -> list[CountsRelease]:
    """The tables, those of two columns replaced by what they and a target together say where the target says more.

    Of several targets of a pair the surest. What has no target stays as it was counted.
    """
    answers = [a for r in tables for a in zip(r.question.marginals, r.values, strict=True)]
    surest: dict[tuple[str, ...], PriorTable] = {}
    for target in (t for t in targets if len(t.marginal.bins) == 2 and t.weight > SURER):
        before = surest.get(target.marginal.columns)
        if before is None or target.weight > before.weight:
            surest[target.marginal.columns] = target
    if not surest:
        return list(tables)
    counted = averaged_by_bins(a for a in answers if a[0].columns in surest)
    made = [_posterior(t, [a for a in counted.values() if a[0].columns == n]) for n, t in surest.items()]
    whole = [*(a for a in answers if a[0].columns not in surest), *made]
    question = Counts(purpose=tables[0].question.purpose, marginals=tuple(m for m, _ in whole))
    return [CountsRelease(question=question, values=tuple(v for _, v in whole))]


def _posterior(target: PriorTable, answers: Sequence[Answer]) -> Answer:
    """The target's cells, moved to agree with the counts of what they make up, each as far as it is unsure."""
    wild = target.marginal.sigma**2 * FAR * variance_shape(target.values) / variance_shape(target.values).max()
    values, variance = target.values, np.where(np.isfinite(target.variance), target.variance, wild)
    for marginal, counts in answers:
        inside = np.ix_(*(_parents(f, c) for f, c in zip(target.marginal.bins, marginal.bins, strict=True)))
        cells = np.arange(marginal.cells).reshape(marginal.shape)[inside].ravel()
        whole, unsure = (np.bincount(cells, weights=x.ravel(), minlength=marginal.cells) for x in (values, variance))
        shifted = variance / (unsure + marginal.sigma**2)[cells].reshape(values.shape)
        values = values + shifted * (counts.ravel() - whole)[cells].reshape(values.shape)
        variance = variance * (1 - shifted)
    return replace(target.marginal, sigma=sqrt(float(variance.mean()))), values


def independent_table(marginal: Marginal, histograms: Mapping[str, Histogram], total: float) -> np.ndarray:
    """The table of independent columns, in rows."""
    table = np.array(total)
    for bins in marginal.bins:
        table = np.multiply.outer(table, _margin(histograms[bins.column], bins, total) / total)
    return table


def _said(public: PublicCounts) -> Iterator[Answer]:
    """Its tables of more columns, but for those of columns that it lacks."""
    for marginal, values in zip(public.question.marginals, public.values, strict=True):
        if len(marginal.bins) > 1 and not set(marginal.columns) & set(public.missing):
            yield marginal, values


def _finer(target: PriorTable, asked: Marginal, loose: np.ndarray) -> PriorTable:
    """A target on finer bins than the table that tells of its variance."""
    inside = [_parents(f, c) for f, c in zip(target.marginal.bins, asked.bins, strict=True)]
    spread = variance_shape(target.values) * loose[np.ix_(*inside)]
    return replace(target, marginal=replace(target.marginal, sigma=asked.sigma), variance=spread)


def _parents(finer: Bins, coarser: Bins) -> np.ndarray:
    """The coarser bin of each finer one; both are groupings of the same leaves."""
    out = np.zeros(finer.size, dtype=np.int64)
    out[finer.groups] = coarser.groups
    return out


def _as_fine(mass: np.ndarray, most: int) -> np.ndarray:
    """At most so many bins of leaves, the heavier ones alone."""
    for parts in 2.0 ** np.arange(12, 0, -1):
        groups = merge(mass, least=mass.sum() / (most * parts))
        if groups.max() < most:
            return groups
    return np.zeros(len(mass), dtype=np.int64)


def finer_pairs(asked: Counts, histograms: Mapping[str, Histogram]) -> Counts:
    """All pairs asked, on bins as fine as a public table may tell of: ``FINE_CELLS`` cells together at most, about."""
    pairs = [m for m in asked.marginals if len(m.bins) == 2]
    names = dict.fromkeys(c for m in pairs for c in m.columns)
    most = min(FINEST, int(sqrt(FINE_CELLS / max(len(pairs), 1))))
    bins = {}
    for name in names:
        groups = _as_fine(histograms[name].mass, most)
        for other in (b for m in pairs for b in m.bins if b.column == name):
            groups = split(groups, other.groups)
        h = histograms[name]
        bins[name] = Bins(column=name, cells=h.cells, starts=h.starts, groups=groups)
    return Counts(
        purpose=FINER, marginals=tuple(Marginal(bins=tuple(bins[c] for c in m.columns), sigma=1.0) for m in pairs)
    )


def averaged_by_bins(answers: Iterable[Answer]) -> dict[tuple, Answer]:
    """Each table once, on its bins: the precision-weighted mean where it was asked more than once."""
    out: dict[tuple, Answer] = {}
    for marginal, values in (a for a in answers if len(a[0].bins) > 1):
        key = _key(marginal)
        if key in out:
            before, mean = out[key]
            weight = before.sigma**2 / (before.sigma**2 + marginal.sigma**2)
            out[key] = replace(before, sigma=marginal.sigma * sqrt(weight)), mean + weight * (values - mean)
        else:
            out[key] = marginal, values.astype(float)
    return out


def _key(marginal: Marginal) -> tuple:
    return tuple((b.column, b.starts.tobytes(), b.groups.tobytes()) for b in marginal.bins)


def _raked(public: np.ndarray, marginal: Marginal, histograms: Mapping[str, Histogram], total: float) -> np.ndarray:
    """The public table with the private single columns: smoothed by independence, then fitted in proportion."""
    return _fitted(_smooth(public, marginal, histograms, total), marginal, histograms, total)


def _smooth(public: np.ndarray, marginal: Marginal, histograms: Mapping[str, Histogram], total: float) -> np.ndarray:
    alone = independent_table(marginal, histograms, total) / total
    out: np.ndarray = (public + SMOOTH * alone) / (public.sum() + SMOOTH) * total
    return out


def _fitted(table: np.ndarray, marginal: Marginal, histograms: Mapping[str, Histogram], total: float) -> np.ndarray:
    margins = [_margin(histograms[b.column], b, total) for b in marginal.bins]
    for _ in range(RAKES):
        for axis, margin in enumerate(margins):
            others = tuple(i for i in range(table.ndim) if i != axis)
            scale = margin / np.maximum(table.sum(axis=others), TINY)
            table = table * scale.reshape([-1 if i == axis else 1 for i in range(table.ndim)])
    return table


def _margin(histogram: Histogram, bins: Bins, total: float) -> np.ndarray:
    mass = np.bincount(bins.groups, weights=histogram.mass, minlength=bins.size)
    return mass * (total / max(mass.sum(), TINY))


SURE = (
    0.25  # deviation of a published cell for the fit, of the noise of a table that was asked: less hinders the descent
)
LEAST_ROWS = 0.5  # rows


def with_totals(
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
    fine = {n: _cut_leaves(h, cuts[n]) if n in cuts else h for n, h in histograms.items()}
    made = [_cut_tables(r, fine) for r in tables]
    known = [replace(t, marginal=_cut_marginal(t.marginal, fine)) for t in targets]
    usual = _usual(tables, fine)
    for table in totals.tables:
        for part in table.parts:
            if table.is_whole and part.column in fine:
                fine[part.column] = _scaled_to_totals(fine[part.column], part, _totals_margin(table, part), total)
    for table in totals.tables:
        if table.is_whole and len(table.parts) > 1 and all(p.column in fine for p in table.parts):
            known.append(_totals_target(table, fine, usual, total))
    return fine, made, known


def _cut_leaves(histogram: Histogram, cuts: np.ndarray) -> Histogram:
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


def _totals_margin(table: TotalsTable, part: Parts) -> np.ndarray:
    at = table.columns.index(part.column)
    return table.counts.sum(axis=tuple(i for i in range(table.counts.ndim) if i != at)).astype(float)


def _scaled_to_totals(histogram: Histogram, part: Parts, counts: np.ndarray, total: float) -> Histogram:
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
    return max(float(np.median(noise)), LEAST_ROWS / SURE)


def _totals_target(table: TotalsTable, histograms: Mapping[str, Histogram], usual: float, total: float) -> PriorTable:
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


FAINT = 0.015  # noise of a pair's count, part of the rows, from which on it is asked first whether columns depend
HIDDEN = 0.1  # from which on noise hides whatever they do: all of the budget is for single columns
LEAST_EXCESS = 0.5  # excess a cell, at the noise of all pairs, up to which all of the rest is for single columns
SEEN = 1.0  # standard deviations of the excess of independent columns, below which no dependence is seen
CHANCE = 1.0  # variance of a count around independence that the rows' own chance makes, a row expected


def pair_noise(pairs: int, total: float, setting: Setting) -> float:
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
            error = values - independent_table(marginal, sharper, total)
            off += float((error**2).sum()) / marginal.sigma**2 - values.size
            cells += values.size
    return off, cells


def worth_of_tables(scout: CountsRelease, histograms: Mapping[str, Histogram], total: float, part: float) -> float:
    """The part of what is left that goes to tables, by a first look that took ``part`` of their budget.

    The excess at the noise of all of the budget: none up to ``LEAST_EXCESS`` a cell, all from one more on.
    """
    off, cells = excess([scout], histograms, total)
    return float(np.clip(off / (part * cells) - LEAST_EXCESS, 0.0, 1.0))


def nothing_seen(
    tables: Sequence[CountsRelease], histograms: Mapping[str, Histogram], total: float, setting: Setting
) -> bool:
    """Whether faint tables are no further off independence than noise makes them."""
    off, cells = excess(tables, histograms, total)
    return _are_faint(tables, total, setting) and off < SEEN * sqrt(2 * cells)


def independence_targets(
    tables: Sequence[CountsRelease], histograms: Mapping[str, Histogram], total: float, setting: Setting
) -> list[PriorTable]:
    """Independence as what a prior says of each faint table of two columns, its variance learnt from all of them."""
    if not _are_faint(tables, total, setting):
        return []
    answers = averaged_by_bins(
        a for r in tables for a in zip(r.question.marginals, r.values, strict=True) if len(a[0].bins) == 2
    )
    known = [(m, v, independent_table(m, histograms, total)) for m, v in answers.values()]
    spread = variances([(v, t, m.sigma**2) for m, v, t in known], least=CHANCE)
    return [PriorTable(marginal=m, values=t, variance=s) for (m, _, t), s in zip(known, spread, strict=True)]


def _are_faint(tables: Sequence[CountsRelease], total: float, setting: Setting) -> bool:
    pairs = len({m.columns for r in tables for m in r.question.marginals if len(m.bins) == 2})
    return pairs > 0 and pair_noise(pairs, total, setting) > FAINT


HALFWAY = 0.5  # of the way, for a table of which noise hides all
CLEAR, STEEP = 0.5, 4  # dependence, squared and in units of the noise's, at which it is half of that; how fast it falls
LEAST_WAY = 0.01  # of the way: less is not worth a decomposition


def shrink_singular_values(
    tables: Sequence[CountsRelease], histograms: Mapping[str, Histogram], total: float
) -> tuple[list[CountsRelease], float, float]:
    """The tables as one release; how far they were moved; and by how much less the truth is off them, were it what they
    are drawn to: both in squared deviations of their noise, over all cells.

    A fit to noisy tables follows noise most where two columns hardly depend on each other. Half-way between a table
    and its denoised form there is as much noise to follow as half of it; tables that stand out of the noise are as
    counted, for theirs is seldom the dependence of a few directions. Tables of more than two columns stay as they are.

    Privacy: released answers only.
    """
    answers = [a for r in tables for a in zip(r.question.marginals, r.values, strict=True)]
    pairs = averaged(a for a in answers if len(a[0].bins) == 2)
    others = [a for a in answers if len(a[0].bins) != 2]
    if not pairs:
        return list(tables), 0.0, 0.0
    drawn, shrunk_by, loss_reduction = [], 0.0, 0.0
    for marginal, values in pairs:
        table, way = _drawn(marginal, values, histograms, total)
        drawn.append((marginal, table))
        far = float(((values - table) ** 2).sum()) / marginal.sigma**2
        shrunk_by += far
        loss_reduction += far * (2 / way - 1) if way > 0 else 0.0  # from 1 to (1 - way) ** 2 of the distance
    whole = [*drawn, *others]
    question = Counts(purpose=tables[0].question.purpose, marginals=tuple(m for m, _ in whole))
    return [CountsRelease(question=question, values=tuple(v for _, v in whole))], shrunk_by, loss_reduction


def _drawn(
    marginal: Marginal, values: np.ndarray, histograms: Mapping[str, Histogram], total: float
) -> tuple[np.ndarray, float]:
    rows, cols = (np.bincount(b.groups, weights=histograms[b.column].mass) for b in marginal.bins)
    alone = np.outer(rows, cols) / total
    table, way = shrink_table(values - alone, marginal.sigma)
    return (alone + table, way) if way else (values, way)


def shrink_table(apart: np.ndarray, sigma: float) -> tuple[np.ndarray, float]:
    """What a noisy table (R, C) is off independence, drawn in by as much as its noise suggests; how much that is.

    >>> strong = 100.0 * np.outer([1, -1], [1, -1])
    >>> bool((shrink_table(strong, 1.0)[0] == strong).all()), shrink_table(np.ones((2, 2)), 1.0)[0].tolist()
    (True, [[0.5, 0.5], [0.5, 0.5]])
    """
    way = how_far(apart, sigma)
    return apart + way * (few_directions(apart, sigma) - apart) if way else apart, way


def how_far(apart: np.ndarray, sigma: float) -> float:
    """The part of the way from a table to its few directions: ``HALFWAY`` where noise hides it, 0 where it is clear."""
    ratio = max(float((apart**2).mean()) / sigma**2 - 1, 0.0)
    way = HALFWAY / (1 + (ratio / CLEAR) ** STEEP)
    return way if way >= LEAST_WAY else 0.0


def few_directions(noisy: np.ndarray, sigma: float) -> np.ndarray:
    """The matrix whose expected squared distance to what lies under white noise is least, of those with its directions.

    Singular values that noise alone could make become zero, greater ones lose what noise adds.
    **Source**: Gavish and Donoho, arXiv 1405.7511, section on the Frobenius norm.
    """
    left, size, right = np.linalg.svd(noisy, full_matrices=False)
    short, long = sorted(noisy.shape)
    aspect, unit = short / long, sigma * np.sqrt(long)
    y = np.maximum(size / unit, 1e-12)
    retained = np.sqrt(np.maximum((y**2 - aspect - 1) ** 2 - 4 * aspect, 0.0)) / y
    out: np.ndarray = (left * np.where(y > 1 + np.sqrt(aspect), retained * unit, 0.0)) @ right
    return out
