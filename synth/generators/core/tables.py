"""What is known of cells that were counted under noise: by answers, public tables, published totals, independence.

A prior is never trusted by itself: how far a table's target is off the truth is estimated from the released answers,
table by table, and the target enters the fit as one more answer with that variance. Of pairs and larger tables only the
dependence is borrowed: the target has the single columns that the private answers say. Where noise is much independence
is such a prior too. Totals are public facts of the schema; where they count other rows than the private ones (a
population, say, of which these are a sample), what they say of proportions is what a fit takes.

Privacy: public tables, public facts and released answers only; nothing here asks private rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from synth.generators.base import Ask, PublicRows, Setting
from synth.generators.core.columns import PRIOR_LEAVES, Answer, Histogram, OneWays, answers_of, merge, split
from synth.generators.core.prior_variance import TINY, variance_shape, variances
from synth.questions import Bins, Counts, CountsRelease, Marginal, PublicCounts
from synth.schema.published_totals import PublishedTotals

FINER = "prior, finer pairs"  # purpose of the public counts of pairs on finer bins than private rows are asked on
FINE_CELLS, FINEST = 240_000, 64  # most cells of these together, and bins of a column
FEW = 4096  # private rows up to which public ones are held with a release, and how many of these at most
WIDEST = 50  # columns of such tables
SMOOTH = 20.0  # rows of a public table of more columns that are spread as independent columns would be
WEAK = 0.2  # mean weight up to which a target is left out
SURER = 0.5  # mean weight of a target's cells from which on it says more than the counts
FAR = 1e6  # times the noise's variance, of a cell of which the target says nothing
RAKES = 30  # rounds of proportional fitting of a public table to the private single columns
SURE = 0.25  # deviation of a published cell for the fit, of an asked table's noise: less hinders the descent
LEAST_ROWS = 0.5  # of that deviation
FAINT = 0.015  # noise of a pair's count, part of the rows, from which on it is asked first whether columns depend
HIDDEN = 0.1  # from which on noise hides whatever they do: all of the budget is for single columns
LEAST_EXCESS = 0.5  # a cell, at the noise of all pairs, up to which all of the rest is for single columns
SEEN = 1.0  # standard deviations of the excess of independent columns, below which no dependence is seen
CHANCE = 1.0  # variance of a count around independence that the rows' own chance makes, a row expected
HALFWAY = 0.5  # of the way, for a table of which noise hides all
CLEAR, STEEP = 0.5, 4  # dependence, squared and in units of the noise's, at which it is half of that; how fast it falls
LEAST_WAY = 0.01  # less is not worth a decomposition


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTable:
    """What is said of a marginal's cells: ``values``, in rows, each with ``variance`` around the truth.

    Both of the marginal's shape; an infinite variance says nothing of its cell, and of an answer it is None: that of
    the marginal's noise. Of a prior the marginal has the noise of counts beside it. ``noisy``: of an earlier release's
    answer, which errs in each cell by itself, as the private answer on the same cells does. ``asked``: how many tables
    the question had in which it was asked.
    """

    marginal: Marginal
    values: np.ndarray
    variance: Any = None
    noisy: bool = False
    asked: int = 1

    @property
    def weight(self) -> float:
        """A prior's cells' mean weight beside the noise of counts."""
        noise = self.marginal.sigma**2
        return float(np.mean(noise / (noise + self.variance)))

    @property
    def deviation(self) -> np.ndarray:
        """Of each cell."""
        if self.variance is None:
            return np.broadcast_to(np.array(self.marginal.sigma), self.marginal.shape)
        return np.sqrt(self.variance)

    @property
    def key(self) -> tuple:
        """Which cells these are."""
        return tuple((b.column, b.starts.tobytes(), b.groups.tobytes()) for b in self.marginal.bins)

    def on(self, columns: OneWays) -> "NoisyTable":
        """The same on leaves that were cut since."""
        bins = []
        for b in self.marginal.bins:
            starts = columns.histograms[b.column].starts
            leaf = np.searchsorted(b.starts, starts, side="right") - 1
            same = len(b.starts) == len(starts)
            bins.append(b if same else Bins(column=b.column, cells=b.cells, starts=starts, groups=b.groups[leaf]))
        return replace(self, marginal=replace(self.marginal, bins=tuple(bins)))


def tables_of(releases: Iterable[CountsRelease]) -> list[NoisyTable]:
    """All tables of these answers."""
    return [NoisyTable(marginal=m, values=v, asked=len(r.values)) for r in releases for m, v in r.items()]


def averaged(tables: Iterable[NoisyTable]) -> dict[tuple, NoisyTable]:
    """Answers about each table's cells as one: the precision-weighted mean where it was asked more than once."""
    out: dict[tuple, NoisyTable] = {}
    for table in tables:
        if (before := out.get(key := table.key)) is not None:
            one, two = before.marginal, table.marginal
            weight = one.sigma**2 / (one.sigma**2 + two.sigma**2)
            values = before.values + weight * (table.values - before.values)
            table = replace(before, marginal=replace(one, sigma=two.sigma * sqrt(weight)), values=values)
        out[key] = table
    return out


def columns_of_priors(priors: Sequence[PublicRows], columns: OneWays) -> list[PublicCounts]:
    """What public tables say of every column's leaves; where private rows are ``FEW``, also rows of those with all
    columns."""
    bins = [columns.grouping(n, np.arange(len(h.starts))) for n, h in columns.histograms.items()]
    question = Counts(purpose=PRIOR_LEAVES, marginals=tuple(Marginal(bins=(b,), sigma=1.0) for b in bins))
    made = [public_counts(p, question) for p in priors]
    if not 2 <= len(bins) <= WIDEST or columns.total > FEW:
        return made
    return [p if p.missing else replace(p, rows=rows.sample(bins, FEW)) for p, rows in zip(made, priors, strict=True)]


def beside_priors(ask: Ask, columns: OneWays, publics: list[PublicCounts]) -> Ask:
    """An ``ask`` that puts into ``publics`` what public tables say of the cells of each question of counts.

    Beside the first question of pairs they say what they have of the same pairs on finer bins.
    """
    priors = columns.setting.priors

    def both(question: Any) -> Any:
        release = ask(question)
        if isinstance(question, Counts):
            more = [] if publics else [finer_pairs(question, columns)]
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


def prior_targets(tables: Sequence[NoisyTable], publics: Sequence[PublicCounts], columns: OneWays) -> list[NoisyTable]:
    """What each public table says of two and more columns, its variance estimated from the tables that were asked.

    Of two columns it tells more than was asked: the cells of its own finer bins, spread as the asked ones are.
    """
    counted = averaged(t for t in tables if len(t.marginal.bins) > 1) if publics else {}
    out = []
    for name in dict.fromkeys(p.sha256 for p in publics):
        own = [p for p in publics if p.sha256 == name and p.question.purpose != PRIOR_LEAVES]
        asked = [p for p in own if p.question.purpose != FINER]
        out += _of_table(counted, asked, [p for p in own if p.question.purpose == FINER], columns)
    return out


def _of_table(
    counted: Mapping[tuple, NoisyTable], asked: Sequence[PublicCounts], finer: Sequence[PublicCounts], columns: OneWays
) -> list[NoisyTable]:
    """One public table's targets."""
    again = _answered(counted, asked, columns)
    answered = {t.marginal.columns for t in again}
    said = {t.key: t for t in _said(asked) if t.marginal.columns not in answered}
    held = [
        (counted[k], _fitted(_smooth(t.values, t.marginal, columns), t.marginal, columns))
        for k, t in said.items()
        if k in counted
    ]
    again = [t for t in again if t.weight > WEAK]
    if not held:
        return again
    alone = [columns.alone(t.marginal) for t, _ in held]
    noisy = [(t.values, goal, t.marginal.sigma**2) for t, goal in held]
    spread = variances(noisy, least=columns.total / asked[0].num_rows, rivals=alone)
    out = [replace(t, values=goal, variance=s) for (t, goal), s in zip(held, spread, strict=True)]
    pairs = {t.marginal.columns: t for t in out if len(t.marginal.bins) == 2}
    fine = [_on_finer(t, pairs[t.marginal.columns], columns) for t in _said(finer) if t.marginal.columns in pairs]
    done = {t.marginal.columns for t in fine}
    made = again + fine + [t for t in out if t.marginal.columns not in done]
    return [t for t in made if t.weight > WEAK]  # others would hide from the fit how far it has followed the counts


def _answered(
    counted: Mapping[tuple, NoisyTable], publics: Sequence[PublicCounts], columns: OneWays
) -> list[NoisyTable]:
    """An earlier release's noisy answers about pairs, with the private single columns.

    Their variance is that of their own noise and that of what changed since, which is estimated from all of them.
    """
    made: dict[tuple[str, ...], NoisyTable] = {}
    known = []
    for public in (p for p in publics if p.answers):
        for i, (marginal, counts) in enumerate(public.items()):
            now = counted.get(NoisyTable(marginal=marginal, values=counts).key)
            if now is None or not public.variance[i].any() or marginal.columns in made:
                continue
            smooth = _smooth(counts, marginal, columns)
            target = _fitted(smooth, marginal, columns)
            scale = target / np.maximum(smooth, TINY) * (columns.total / max(public.num_rows, 1))
            there = public.variance[i] > 0
            values = np.where(there, public.answers[i] * scale, target)
            noise = np.where(there, public.variance[i] * scale**2, np.square(target) + marginal.sigma**2)
            made[marginal.columns] = replace(now, values=values, variance=noise, noisy=True)
            known.append((now.values - values + target, target, noise.ravel() + now.marginal.sigma**2))
    spread = variances(known, least=columns.total / max(publics[0].num_rows, 1)) if made else []
    return [replace(t, variance=t.variance + s) for t, s in zip(made.values(), spread, strict=True)]


def pooled_targets(
    tables: Sequence[NoisyTable], targets: Sequence[NoisyTable]
) -> tuple[list[NoisyTable], list[NoisyTable]]:
    """The tables, each averaged by precision with noisy targets of its cells as if it had been asked once more, and the
    other targets. What one fit follows is then one answer, whose noise is known to it."""
    noisy: dict[tuple, list[NoisyTable]] = {}
    for target in (t for t in targets if t.noisy):
        noisy.setdefault(target.key, []).append(target)
    if not noisy:
        return list(tables), list(targets)
    made = [t for t in tables if t.key not in noisy]
    for key, table in averaged(t for t in tables if t.key in noisy).items():
        marginal = table.marginal
        precision, whole = np.full(marginal.shape, marginal.sigma**-2), table.values / marginal.sigma**2
        for target in noisy[key]:
            known = np.isfinite(target.variance)
            weight = np.divide(1.0, target.variance, out=np.zeros(marginal.shape), where=known)
            precision, whole = precision + weight, whole + weight * target.values
        sigma = sqrt(float((1 / precision).mean()))
        made.append(replace(table, marginal=replace(marginal, sigma=sigma), values=whole / precision))
    return made, [t for t in targets if not t.noisy]


def believed_tables(tables: Sequence[NoisyTable], targets: Sequence[NoisyTable]) -> list[NoisyTable]:
    """The tables, those of two columns replaced by what they and a target together say where the target says more.

    Of several targets of a pair the surest. What has no target stays as it was counted.
    """
    surest: dict[tuple[str, ...], NoisyTable] = {}
    for target in (t for t in targets if len(t.marginal.bins) == 2 and t.weight > SURER):
        before = surest.get(target.marginal.columns)
        if before is None or target.weight > before.weight:
            surest[target.marginal.columns] = target
    counted = averaged(t for t in tables if t.marginal.columns in surest).values()
    made = [_posterior(s, [t for t in counted if t.marginal.columns == n]) for n, s in surest.items()]
    return [*(t for t in tables if t.marginal.columns not in surest), *made]


def _posterior(target: NoisyTable, tables: Sequence[NoisyTable]) -> NoisyTable:
    """The target's cells, moved to agree with the counts of what they make up, each as far as it is unsure."""
    wild = target.marginal.sigma**2 * FAR * variance_shape(target.values) / variance_shape(target.values).max()
    values, variance = target.values, np.where(np.isfinite(target.variance), target.variance, wild)
    for marginal, counts in ((t.marginal, t.values) for t in tables):
        inside = np.ix_(*(_parents(f, c) for f, c in zip(target.marginal.bins, marginal.bins, strict=True)))
        cells = np.arange(marginal.cells).reshape(marginal.shape)[inside].ravel()
        whole, unsure = (np.bincount(cells, weights=x.ravel(), minlength=marginal.cells) for x in (values, variance))
        shifted = variance / (unsure + marginal.sigma**2)[cells].reshape(values.shape)
        values = values + shifted * (counts.ravel() - whole)[cells].reshape(values.shape)
        variance = variance * (1 - shifted)
    return NoisyTable(marginal=replace(target.marginal, sigma=sqrt(float(variance.mean()))), values=values)


def _said(publics: Sequence[PublicCounts]) -> list[NoisyTable]:
    """Their tables of more columns, but for those of columns that they lack."""
    return [
        NoisyTable(marginal=m, values=v)
        for p in publics
        for m, v in p.items()
        if len(m.bins) > 1 and not set(m.columns) & set(p.missing)
    ]


def _on_finer(said: NoisyTable, asked: NoisyTable, columns: OneWays) -> NoisyTable:
    """A target on finer bins than the table ``asked`` that tells of its variance."""
    values = _fitted(_smooth(said.values, said.marginal, columns), said.marginal, columns)
    inside = [_parents(f, c) for f, c in zip(said.marginal.bins, asked.marginal.bins, strict=True)]
    variance = variance_shape(values) * (asked.variance / variance_shape(asked.values))[np.ix_(*inside)]
    return NoisyTable(marginal=replace(said.marginal, sigma=asked.marginal.sigma), values=values, variance=variance)


def _parents(finer: Bins, coarser: Bins) -> np.ndarray:
    """The coarser bin of each finer one; both are groupings of the same leaves."""
    out = np.zeros(finer.size, dtype=np.int64)
    out[finer.groups] = coarser.groups
    return out


def finer_pairs(asked: Counts, columns: OneWays) -> Counts:
    """All pairs asked, on bins as fine as a public table may tell of: ``FINE_CELLS`` cells together at most, about."""
    pairs = [m for m in asked.marginals if len(m.bins) == 2]
    most = min(FINEST, int(sqrt(FINE_CELLS / max(len(pairs), 1))))
    bins = {}
    for name in dict.fromkeys(c for m in pairs for c in m.columns):
        mass = columns.histograms[name].mass  # the heavier leaves alone
        merged = (merge(mass, least=mass.sum() / (most * parts)) for parts in 2.0 ** np.arange(12, 0, -1))
        groups = next((g for g in merged if g.max() < most), np.zeros(len(mass), dtype=np.int64))
        for other in (b for m in pairs for b in m.bins if b.column == name):
            groups = split(groups, other.groups)
        bins[name] = columns.grouping(name, groups)
    fine = tuple(Marginal(bins=tuple(bins[c] for c in m.columns), sigma=1.0) for m in pairs)
    return Counts(purpose=FINER, marginals=fine)


def _smooth(public: np.ndarray, marginal: Marginal, columns: OneWays) -> np.ndarray:
    """The public table smoothed by independence."""
    alone = columns.alone(marginal) / columns.total
    out: np.ndarray = (public + SMOOTH * alone) / (public.sum() + SMOOTH) * columns.total
    return out


def _fitted(table: np.ndarray, marginal: Marginal, columns: OneWays) -> np.ndarray:
    """The table fitted in proportion to the private single columns."""
    margins = [columns.margin(b) for b in marginal.bins]
    for _ in range(RAKES):
        for axis, margin in enumerate(margins):
            others = tuple(i for i in range(table.ndim) if i != axis)
            scale = margin / np.maximum(table.sum(axis=others), TINY)
            table = table * scale.reshape([-1 if i == axis else 1 for i in range(table.ndim)])
    return table


def with_totals(
    totals: PublishedTotals, columns: OneWays, tables: Sequence[NoisyTable], targets: Sequence[NoisyTable]
) -> tuple[OneWays, list[NoisyTable], list[NoisyTable]]:
    """All on leaves that totals tell apart; the columns' masses by them, and further targets."""
    fine = dict(columns.histograms)
    for name in (n for n in totals.columns if n in fine):
        fine[name] = _cut_leaves(fine[name], [p.starts for t in totals.tables for p in t.parts if p.column == name])
    cut = replace(columns, histograms=fine)
    made, known = ([t.on(cut) for t in some] for some in (tables, targets))
    noise = [t.marginal.sigma for t in tables] or [h.sigma for h in fine.values()]
    usual = max(float(np.median(noise)), LEAST_ROWS / SURE)
    stated = [t for t in totals.tables if t.is_whole]
    for table in stated:
        for at, part in enumerate(table.parts):
            if part.column in fine:
                margin = table.counts.sum(axis=tuple(i for i in range(table.counts.ndim) if i != at)).astype(float)
                wanted = margin * (columns.total / max(margin.sum(), 1.0))
                own, group = fine[part.column], part.of(fine[part.column].starts)
                whole = np.bincount(group, weights=own.mass, minlength=len(wanted))
                spread = np.where(whole[group] > 0, own.mass, own.widths.astype(float))
                whole = np.bincount(group, weights=spread, minlength=len(wanted))
                mass = spread * (wanted / np.maximum(whole, 1e-12))[group]
                fine[part.column] = replace(own, mass=mass, counts=None)
    for table in (t for t in stated if len(t.parts) > 1 and fine.keys() >= {*t.columns}):  # answers nearly exact
        bins = tuple(cut.grouping(p.column, p.of(fine[p.column].starts)) for p in table.parts)
        counts, unsure = table.counts.astype(float), (SURE * usual) ** 2 + (table.base / 4) ** 2 * (table.base > 1)
        values = counts * (columns.total / max(counts.sum(), 1.0))
        marginal = Marginal(bins=bins, sigma=usual)
        known.append(NoisyTable(marginal=marginal, values=values, variance=np.full(values.shape, unsure)))
    return cut, made, known


def _cut_leaves(histogram: Histogram, cuts: Sequence[np.ndarray]) -> Histogram:
    """The leaves cut where totals begin another part, their masses divided by width."""
    starts = np.union1d(histogram.starts, np.unique(np.concatenate(cuts)))
    if len(starts) == len(histogram.starts):
        return histogram
    leaf = np.searchsorted(histogram.starts, starts, side="right") - 1
    widths = np.diff(np.append(starts, histogram.cells))
    mass = histogram.mass[leaf] * widths / histogram.widths[leaf]
    return replace(histogram, starts=starts, mass=mass, counts=None)


def pair_noise(pairs: int, total: float, setting: Setting) -> float:
    """The noise of one count in tables of so many pairs, as a part of the rows."""
    return setting.sigma(1.0) * sqrt(pairs) / total


def excess(answers: Sequence[Answer], columns: OneWays) -> tuple[float, int]:
    """By how much the tables of two columns are off independence, in squared deviations of their noise, beyond the one
    that noise makes in each cell; and the number of cells.

    Privacy: released answers only.
    """
    sharper = columns.sharpened(answers)
    off, cells = 0.0, 0
    for marginal, values in (a for a in answers if len(a[0].bins) == 2):
        error = values - sharper.alone(marginal)
        off += float((error**2).sum()) / marginal.sigma**2 - values.size
        cells += values.size
    return off, cells


def worth_of_tables(look: CountsRelease, columns: OneWays, part: float) -> float:
    """The part of what is left that goes to tables, by a first look that took ``part`` of their budget.

    By how far these answers are off independence, all of the rest goes to single columns, all of it to tables, or some
    to both. The excess at the noise of all of the budget: none up to ``LEAST_EXCESS`` a cell, all from one more on.
    """
    off, cells = excess(answers_of([look]), columns)
    return float(np.clip(off / (part * cells) - LEAST_EXCESS, 0.0, 1.0))


def nothing_seen(tables: Sequence[NoisyTable], columns: OneWays) -> bool:
    """Whether faint tables are no further off independence than noise makes them."""
    if not _are_faint(tables, columns):
        return False
    off, cells = excess([(t.marginal, t.values) for t in tables], columns)
    return off < SEEN * sqrt(2 * cells)


def independence_targets(tables: Sequence[NoisyTable], columns: OneWays) -> list[NoisyTable]:
    """Independence as what a prior says of each faint table of two columns, its variance learnt from all of them."""
    if not _are_faint(tables, columns):
        return []
    known = averaged(t for t in tables if len(t.marginal.bins) == 2).values()
    alone = [columns.alone(t.marginal) for t in known]
    noisy = [(t.values, a, t.marginal.sigma**2) for t, a in zip(known, alone, strict=True)]
    spread = variances(noisy, least=CHANCE)
    return [replace(t, values=a, variance=s) for t, a, s in zip(known, alone, spread, strict=True)]


def _are_faint(tables: Sequence[NoisyTable], columns: OneWays) -> bool:
    pairs = len({t.marginal.columns for t in tables if len(t.marginal.bins) == 2})
    return pairs > 0 and pair_noise(pairs, columns.total, columns.setting) > FAINT


def shrink_singular_values(tables: Sequence[NoisyTable], columns: OneWays) -> tuple[list[NoisyTable], float, float]:
    """The tables, those of two columns drawn part of the way to what a few directions of dependence explain of them;
    how far they were moved; and by how much less the truth is off them, were it what they are drawn to: both in squared
    deviations of their noise, over all cells.

    A fit to noisy tables follows noise most where two columns hardly depend on each other. Half-way between a table
    and its denoised form there is as much noise to follow as half of it; tables that stand out of the noise are as
    counted, for theirs is seldom the dependence of a few directions. Tables of more than two columns stay as they are.

    Privacy: released answers only.
    """
    drawn, shrunk_by, loss_reduction = [], 0.0, 0.0
    for table in averaged(t for t in tables if len(t.marginal.bins) == 2).values():
        marginal = table.marginal
        rows, cols = (np.bincount(b.groups, weights=columns.histograms[b.column].mass) for b in marginal.bins)
        alone = np.outer(rows, cols) / columns.total
        apart, way = shrink_table(table.values - alone, marginal.sigma)
        drawn.append(replace(table, values=alone + apart) if way else table)
        far = float(((table.values - drawn[-1].values) ** 2).sum()) / marginal.sigma**2
        shrunk_by += far
        loss_reduction += far * (2 / way - 1) if way > 0 else 0.0  # from 1 to (1 - way) ** 2 of the distance
    return [*drawn, *(t for t in tables if len(t.marginal.bins) != 2)], shrunk_by, loss_reduction


def shrink_table(apart: np.ndarray, sigma: float) -> tuple[np.ndarray, float]:
    """What a noisy table (R, C) is off independence, drawn in by as much as its noise suggests; how much that is:
    ``HALFWAY`` where noise hides it, 0 where it is clear.

    >>> strong = 100.0 * np.outer([1, -1], [1, -1])
    >>> bool((shrink_table(strong, 1.0)[0] == strong).all()), shrink_table(np.ones((2, 2)), 1.0)[0].tolist()
    (True, [[0.5, 0.5], [0.5, 0.5]])
    """
    ratio = max(float((apart**2).mean()) / sigma**2 - 1, 0.0)
    way = HALFWAY / (1 + (ratio / CLEAR) ** STEEP)
    return (apart + way * (few_directions(apart, sigma) - apart), way) if way >= LEAST_WAY else (apart, 0.0)


def few_directions(noisy: np.ndarray, sigma: float) -> np.ndarray:
    """The matrix whose expected squared distance to what lies under white noise is least, of those with its directions.

    Singular values that noise alone could make become zero, greater ones lose what noise adds.
    **Source**: Gavish and Donoho, arXiv 1405.7511, section on the Frobenius norm.
    """
    left, size, right = np.linalg.svd(noisy, full_matrices=False)
    short, long = sorted(noisy.shape)
    aspect, unit = short / long, sigma * np.sqrt(long)
    y = np.maximum(size / unit, 1e-12)
    kept = np.sqrt(np.maximum((y**2 - aspect - 1) ** 2 - 4 * aspect, 0.0)) / y
    out: np.ndarray = (left * np.where(y > 1 + np.sqrt(aspect), kept * unit, 0.0)) @ right
    return out
