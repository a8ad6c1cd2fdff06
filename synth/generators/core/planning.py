"""Which tables to ask for, on which bins, and with how much noise each: pairs, finer ones of those that hide most,
named tables of more columns, and all pairs of a table of hundreds of columns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, pi, prod, sqrt

import numpy as np

from synth.generators.base import NamedTable, Setting
from synth.generators.core.columns import Histogram, OneWays, merge, merge_bins, nearest, split
from synth.generators.core.oneways import AREA_FINE, Levels, area_levels, merge_areas
from synth.questions import Bins, Counts, CountsRelease, Marginal

TABLES = "tables"
DEEPER = 12  # groupings that are coarser than those of pairs
POWER = 2 / 3
FINE = 6  # most bins of a column in a table of three and more that is sought
STEP = 0.2  # by which all bins grow at once, in logarithms of rows, until they are few enough
FEW = 32  # leaves of a column that a finer table shows one by one
FEW_NAMES = 400  # the same of categories: neighbours tell each other's value where one column fixes the other

Pair = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PairPlan:
    """How the tables' budget is spread and how fine their bins are; nothing depends on a particular table.

    ``target``: weight of the tables that hold the target, against 1, ``beside`` where uses are named and no target is
    among them; ``named``: of those without a number or date,
    since what neighbouring bins tell each other makes up for some of the noise in the others; ``areas``: of those by
    areas of a declared tree. ``least``: a bin
    holds this many times the noise of the cells it adds to a table. ``ratio``, ``levels``: step and number of the
    nested groupings tried for each column; ``rounds``: of the search for bins that fit the noise. ``spare``: share
    kept for a finer table of a pair that hides more than the part ``hidden`` of the rows and depends by ``sure`` of
    the most that is possible, and by ``plain`` at least. ``wide``: with more
    pairs than this the share ``second`` is kept for finer tables of the ``chosen`` pairs that depend most,
    with groupings ``finer`` levels below and bins that hold ``closer`` times as much, if these pairs hold at
    least the part ``worth`` of all that hides; else all tables are asked again. Where no table hides more than the part
    ``hides`` of its rows in merged bins, nothing is kept back. A wide table's columns have one grouping each, of at
    most ``most`` bins a column on average and ``widest`` in all, so that the fit's steps are products of one matrix.
    ``finest``: most bins of a column of categories in any table, which keeps a fit to millions of rows within memory.
    ``ordered``: the same of a number or date, beside values that are as heavy: inside a bin its distribution is smooth,
    so that finer ones cost noise and time and tell nothing. ``together``: with more pairs than this all are asked once,
    in one question that takes the tables' whole budget (``wide_question``).
    """

    target: float = 8.0
    beside: float = 4.0
    named: float = 2.0
    areas: float = 4.0
    least: float = 1.5
    ratio: float = 1.6
    levels: int = 9
    rounds: int = 12
    spare: float = 0.03
    hidden: float = 0.02
    determined: int = 3
    sure: float = 0.72
    plain: float = 0.1
    wide: int = 400
    second: float = 0.4
    chosen: int = 4
    finer: int = 8
    closer: float = 0.1
    worth: float = 0.02
    hides: float = 0.02
    most: int = 16
    widest: int = 3000
    finest: int = 256
    ordered: int = 32
    together: int = 10_000

    def fewest_rows(self, mass: np.ndarray) -> float:
        """The fewest rows of a bin of a column of categories, of ``mass`` (L,): its bins are at most ``finest`` then.

        >>> [PairPlan(finest=n).fewest_rows(np.array([90.0, 1.0, 5.0, 4.0])) for n in (4, 3, 2)]
        [0.0, 5.0, 10.0]
        """
        if len(mass) <= self.finest:
            return 0.0
        heaviest = np.sort(mass)[::-1][: self.finest]
        light = mass.sum() - np.cumsum(heaviest) + heaviest  # rows of the others where so many heavier ones stand alone
        return float(np.maximum(heaviest, light / np.arange(self.finest, 0, -1)).min())


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """Nested groupings of one column's leaves, finest first: ``groups[i]`` with bins of ``least[i]`` rows.

    ``tree``: of areas, whose bins follow it and are finer.
    """

    least: np.ndarray
    groups: Sequence[np.ndarray]
    tree: Levels = ()

    @property
    def sizes(self) -> np.ndarray:
        """Bins of each grouping."""
        return np.array([g.max() + 1.0 for g in self.groups])

    @classmethod
    def of(cls, mass: np.ndarray, least: np.ndarray, *, middle: int, tree: Levels) -> "Ladder":
        """From the ``middle`` on a grouping's bins are merged of those before; the earlier ones split those after."""
        each, held = np.arange(len(mass)), least * (AREA_FINE if tree else 1.0)
        groups = [merge_areas(mass, each, least=held[middle], levels=tree)]
        for bound in held[middle + 1 :]:
            groups.append(merge_areas(mass, groups[-1], least=bound, levels=tree))
        for bound in held[:middle][::-1]:
            groups.insert(0, split(groups[0], merge_areas(mass, each, least=bound, levels=tree)))
        return cls(least=least, groups=groups, tree=tree)

    def coarser(self, mass: np.ndarray, ratio: float) -> "Ladder":
        """With ``DEEPER`` groupings more, down to two bins: for tables of more columns than noise is small for."""
        groups = list(self.groups)
        more = np.minimum(self.least[-1] * ratio ** np.arange(2.0, 2 * DEEPER + 1, 2), mass.sum() / 3)
        for bound in more:
            groups.append(merge_areas(mass, groups[-1], least=bound, levels=self.tree))
        return replace(self, least=np.append(self.least, more), groups=groups)

    def single(self, leaves: int, few: int) -> "Ladder":
        """With single leaves below where these are few: what a column fixes is fixed value by value."""
        finest = np.arange(leaves) if leaves <= few else self.groups[0]
        return replace(self, least=np.append(self.least[0] / 10, self.least), groups=[finest, *self.groups])

    def by_leverage(self, histogram: Histogram, size: int) -> "Ladder":
        """Of about equal rows and squared distance from the mean together: what decides a slope lies far out.

        ``size``: of the positions that are values.
        """
        middle, inside = histogram.starts + histogram.widths / 2, histogram.starts < size
        mass = np.where(inside, histogram.mass, 0.0)
        far = mass * (middle - np.average(middle, weights=np.maximum(mass, 1e-9))) ** 2
        weight = histogram.mass / 2 + far / max(far.sum(), 1e-9) * mass.sum() / 2
        groups = [merge(weight, least=self.least[0])]
        for least in self.least[1:]:
            groups.append(merge_bins(weight, groups[-1], least=least))
        return replace(self, groups=groups, tree=())

    def fixed(self, histogram: Histogram, bins: Bins | None) -> "Ladder":
        """Where a use has groups of its own for the column, these at every level."""
        if bins is None:
            return self
        groups = bins.groups[np.searchsorted(bins.starts, histogram.starts, side="right") - 1]
        groups = np.unique(groups, return_inverse=True)[1].reshape(-1)
        return replace(self, groups=[groups] * len(self.groups), tree=())


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned:
    """The groupings of columns in tables of ``pairs``, chosen by a ``share`` of the budget; those of later tables fit.

    ``ladders``: of each column that occurs, around the noise of a cell were all tables alike: as many for each.
    """

    columns: OneWays
    plan: PairPlan
    pairs: Sequence[Pair]
    share: float
    ladders: Mapping[str, Ladder]

    @classmethod
    def of(
        cls, columns: OneWays, plan: PairPlan, pairs: Sequence[Pair], share: float, names: Collection[str] = ()
    ) -> "Planned":
        """``names``: of the columns, by default those of the pairs."""
        setting, total, wide = columns.setting, columns.total, len(pairs) > plan.wide
        base = setting.sigma(share) * np.sqrt(len(pairs))
        steps = np.arange(-1.0 - plan.finer, plan.levels - 1 + (plan.finer if wide else 0))
        by_noise = base * plan.least * plan.ratio**steps
        by_halves = np.minimum(total / plan.ordered * 2.0 ** np.arange(len(steps)), total / 2)
        ladders, trees = {}, area_levels(setting.schema)
        for name in names or [n for n in columns.histograms if any(n in p for p in pairs)]:
            mass = columns.histograms[name].mass
            least, middle = by_halves, 0
            if not columns.is_number(name):
                least, middle = np.clip(by_noise, plan.fewest_rows(mass), total), plan.finer
            ladders[name] = Ladder.of(mass, least, middle=middle, tree=trees.get(name, ()))
        return cls(columns=columns, plan=plan, pairs=pairs, share=share, ladders=ladders)

    @property
    def wide(self) -> bool:
        """Whether pairs are many."""
        return len(self.pairs) > self.plan.wide

    def coarser(self, names: Collection[str] = ()) -> "Planned":
        """With coarser groupings too; ``names``: of these columns, by default of all."""
        ladders = {
            n: ladder.coarser(self.columns.histograms[n].mass, self.plan.ratio)
            for n, ladder in self.ladders.items()
            if not names or n in names
        }
        return replace(self, ladders=ladders)

    def spread(
        self,
        tables: Sequence[Pair],
        boost: np.ndarray,
        share: float,
        *,
        shared: bool = False,
        least: float = 1.0,
        most: float = inf,
    ) -> list[Marginal]:
        """The tables with their noise, each column's grouping chosen for the table it stands in.

        A bin adds as many cells as the other columns have bins together; it must hold the plan's ``least`` times their
        noise, so many times over. Bins and noise depend on each other: a damped fixed point.
        Noise proportional to cells^(-1/3) makes the tables' mean L1 error least for a given budget.
        ``shared``: one grouping a column for all its tables, which tell of its bins together: the more tables, the
        finer bins they bear, by the root of their number. ``most``: cells of all tables; with more, bins are merged
        further than noise asks for.
        """
        plan, ladders = self.plan, self.ladders
        place = {n: i for i, n in enumerate(ladders)}
        axes = np.array([[place[n] for n in t] for t in tables])
        bins_of = {n: ladder.sizes for n, ladder in ladders.items()}
        sizes = np.stack([[bins_of[n] for n in t] for t in tables])  # (tables, axes, levels)
        bounds = np.log([[ladders[n].least for n in t] for t in tables])
        level = np.full(sizes.shape[:2], sizes.shape[2] // 2)
        side = min(plan.most * len(place), plan.widest) if shared else inf
        first, bound = np.unique(axes, return_index=True)[1], np.zeros(0)

        def bins() -> np.ndarray:
            return np.take_along_axis(sizes, level[..., None], -1)[..., 0]

        def sigma() -> np.ndarray:
            weight = boost * bins().prod(1) ** POWER
            return np.array([self.columns.setting.sigma(p) for p in share * weight / weight.sum()])

        for _ in range(plan.rounds):
            want = np.log(plan.least * least * sigma()[:, None] * bins().prod(1, keepdims=True) / bins())
            if shared:  # all tables of a column tell of its bins together
                seen = np.bincount(axes.ravel())
                want = (np.bincount(axes.ravel(), weights=want.ravel()) / seen - np.log(seen) / 2)[axes]
            bound = want if len(bound) == 0 else (bound + want) / 2
            level = np.abs(bound[..., None] - bounds).argmin(-1)
        while (bound < bounds[..., -1]).any() and (
            bins().ravel()[first].sum() > side or bins().prod(1, dtype=float).sum() > most
        ):
            bound = bound + STEP
            level = np.abs(bound[..., None] - bounds).argmin(-1)
        used = {axis for t, at in zip(tables, level.tolist(), strict=True) for axis in zip(t, at, strict=True)}
        grouping = {(n, i): self.columns.grouping(n, ladders[n].groups[i]) for n, i in used}
        return [
            Marginal(bins=tuple(grouping[axis] for axis in zip(t, at, strict=True)), sigma=float(s))
            for t, at, s in zip(tables, level.tolist(), sigma(), strict=True)
        ]

    def finer(self, asked: CountsRelease, share: float) -> Counts | None:
        """The question for what ``pairs_question`` kept back; None where that was nothing.

        Of a wide table the pairs that most hides in; of others the one of two columns that nearly determine each other,
        whose merged bins leave rows that contradict themselves. Where there is none, the same tables once more: they
        are averaged with the first, and nothing is lost.
        """
        if share <= 1e-6:
            return None
        columns, plan = self.columns, self.plan
        chosen = _hiding(asked, columns, plan) if self.wide else _determined(asked, columns, plan)
        if not chosen:
            return asked_again(asked.question, columns.setting, share)
        ladders = {n: self.ladders[n] for n in sorted({n for p in chosen for n in p})}
        if not self.wide:
            leaves = {n: len(columns.histograms[n].mass) for n in ladders}
            few = {n: FEW if columns.is_number(n) else FEW_NAMES for n in ladders}
            ladders = {n: ladder.single(leaves[n], few[n]) for n, ladder in ladders.items()}
        sharper = replace(self, ladders=ladders)
        marginals = sharper.spread(chosen, np.ones(len(chosen)), share, least=plan.closer)
        return Counts(purpose=TABLES, marginals=tuple(marginals))


def pairs_question(
    columns: OneWays, share: float, plan: PairPlan, only: Sequence[Pair] = ()
) -> tuple[Counts, Planned] | None:
    """The tables to ask for within ``share`` of the budget, and their groupings; None where there is only one column to
    learn.

    ``only``: these pairs, of a table of so many columns that the others would hide them.
    """
    names, setting = columns.varying, columns.setting
    if len(names) < 2 or share <= 0:
        return None
    pairs = list(only or combinations(names, 2))
    numeric = {n for n in names if columns.is_number(n)}
    workload, placed = setting.workload, area_levels(setting.schema).keys()
    predicted = {*workload.targets} if workload.targets else {setting.schema.target}
    most = plan.beside if workload.tables and not workload.targets else plan.target
    boost = np.array(
        [
            max(most if predicted & set(p) else 1.0, workload.pair_weight(p))
            * (1.0 if numeric & set(p) else plan.named)
            * (plan.areas if placed & set(p) else 1.0)
            for p in pairs
        ]
    )
    planned = Planned.of(columns, plan, pairs, share, [n for n in names if any(n in p for p in pairs)])
    kept, hides = (plan.second, plan.hides) if planned.wide else (plan.spare, plan.hidden)
    marginals = planned.spread(pairs, boost, share * (1 - kept), shared=planned.wide)
    if not any(merged_share(m, columns) > hides for m in marginals):
        marginals = planned.spread(pairs, boost, share, shared=planned.wide)
    return Counts(purpose=TABLES, marginals=tuple(marginals)), planned


def merged_share(marginal: Marginal, columns: OneWays) -> float:
    """Share of the rows for which a table tells less than single leaves would: what finer bins could still show."""
    alone = 1.0
    for bins in marginal.bins:
        mass = columns.histograms[bins.column].mass
        single = np.bincount(bins.groups, minlength=bins.size)[bins.groups] == 1
        alone *= mass[single].sum() / mass.sum()
    return 1 - alone


def made_by_noise(cells: float, sigma: float, total: float) -> float:
    """Total variation between a table and its counts under noise."""
    return cells * sigma / (sqrt(2 * pi) * max(total, 1.0))


def many_pairs(columns: OneWays, plan: PairPlan) -> bool:
    """Whether a table has so many columns that its pairs are asked together."""
    count = len(columns.varying)
    return count * (count - 1) // 2 > plan.together


def named_pairs(columns: OneWays, plan: PairPlan) -> list[tuple[str, str]]:
    """The pairs that uses need, where there are so many columns that all pairs would hide them: no others are asked for
    then. None where pairs are few, no use needs one, or uses need too many."""
    pairs = columns.setting.workload.pairs(columns.varying) if many_pairs(columns, plan) else []
    return pairs if len(pairs) <= plan.together else []


def wide_question(columns: OneWays, share: float, plan: PairPlan, names: Sequence[str] = ()) -> Counts:
    """Every pair of columns, of all or of these, within ``share`` of the budget: one grouping a column, the same noise
    for each table.

    A pair's cells drown in noise when half a million pairs share a budget; what all tables of a column tell together
    does not: a hidden cause of a hundred columns shows in five thousand tables. So no pair is left out, none is told
    better than the others but the target's, and the fit finds what they have in common.
    """
    names, setting = names or columns.varying, columns.setting
    pairs = list(combinations(names, 2))
    groups = _groupings(columns, names, setting.sigma(share) * np.sqrt(len(pairs)), plan)
    bins = {n: columns.grouping(n, own) for n, own in zip(names, groups, strict=True)}
    target = setting.schema.target
    weights = {False: 1.0, True: plan.target}
    whole = sum(weights[target in p] for p in pairs)
    sigma = {held: setting.sigma(share * weight / whole) for held, weight in weights.items()}
    tables = tuple(Marginal(bins=(bins[a], bins[b]), sigma=sigma[target in (a, b)]) for a, b in pairs)
    return Counts(purpose=TABLES, marginals=tables)


def _groupings(columns: OneWays, names: Sequence[str], noise: float, plan: PairPlan) -> list[np.ndarray]:
    """Each column's bins, the bin of each leaf: a bin holds ``least`` times the noise of its cells in all tables, or
    more where the bins of all columns would be more than ``widest``; never more than half of the rows, if leaves allow.
    """
    masses, numeric = [columns.histograms[n].mass for n in names], [columns.is_number(n) for n in names]
    total = np.array([max(m.sum(), 1.0) for m in masses])
    most = np.log(total / 2)
    fewest = [t / plan.ordered if n else plan.fewest_rows(m) for t, n, m in zip(total, numeric, masses, strict=True)]
    bound = np.full(len(names), np.log(plan.least * noise))

    def merged() -> tuple[list[np.ndarray], np.ndarray]:
        least = np.clip(np.exp(bound), fewest, total / 2)
        groups = [merge(m, least=float(rows)) for m, rows in zip(masses, least, strict=True)]
        return groups, np.array([g.max() + 1.0 for g in groups])

    for _ in range(plan.rounds):
        bins = np.log(merged()[1])
        others = (bins.sum() - bins) / (len(bins) - 1)
        bound = (bound + np.log(plan.least * noise) + others - np.log(len(bins) - 1) / 2) / 2
    groups, sizes = merged()
    while sizes.sum() > min(plan.most * len(names), plan.widest) and (bound < most).any():
        bound = bound + STEP
        groups, sizes = merged()
    return groups


def _hiding(asked: CountsRelease, columns: OneWays, plan: PairPlan) -> Sequence[Pair]:
    """The pairs that hide most; none if it hides evenly, single values everywhere, or nothing but noise."""
    pairs = [m.columns for m in asked.question.marginals]
    scores = np.zeros(len(pairs))
    for i, (marginal, values) in enumerate(asked.items()):  # total variation to independence beyond what noise makes
        table = values / columns.total
        alone = np.outer(table.sum(1), table.sum(0)) / max(table.sum(), 1e-9)
        noise = marginal.sigma / columns.total * np.sqrt(2 / np.pi) * table.size
        scores[i] = float(0.5 * (np.abs(table - alone).sum() - noise)) * merged_share(marginal, columns)
    best = np.argsort(-scores)[: plan.chosen]
    if scores[best].sum() < plan.worth * np.maximum(scores, 0).sum():
        return []
    return [pairs[i] for i in best if scores[i] > 0]


def _determined(asked: CountsRelease, columns: OneWays, plan: PairPlan) -> Sequence[Pair]:
    """The pairs that nearly determine each other and hide much, those that hide most; each column once."""
    scores: dict[Pair, float] = {}
    for marginal, values in asked.items():
        hidden = merged_share(marginal, columns)
        if len(marginal.bins) != 2 or hidden <= plan.hidden:
            continue
        depends = denoised_dependence(values)
        if depends >= max(plan.sure * most_dependence(values), plan.plain) and depends * hidden > plan.hidden:
            scores[marginal.columns] = depends * hidden
    chosen: list[Pair] = []
    for pair in sorted(scores, key=lambda p: -scores[p]):
        if len(chosen) < plan.determined and not any(set(pair) & set(p) for p in chosen):
            chosen.append(pair)
    return chosen


def asked_again(question: Counts, setting: Setting, share: float) -> Counts:
    """The same tables with noise that costs ``share`` in all."""
    cost = sum(setting.share(m.sigma) for m in question.marginals)
    return noisier(question, np.sqrt(cost / share) * (1 + 1e-12))


def noisier(question: Counts, factor: float) -> Counts:
    """The same tables with so many times the noise."""
    return replace(question, marginals=tuple(replace(m, sigma=m.sigma * factor) for m in question.marginals))


def denoised_dependence(values: np.ndarray) -> float:
    """Total variation to independence of the non-negative table that is nearest to a noisy one and has its margins.

    Of rows alone and of columns alone, the less: of two columns that determine each other hardly any noise is left.

    >>> denoised_dependence(np.array([[50, 1, -2], [-1, 30, 1], [2, -1, 20]]))
    0.59755
    """
    depends = []
    for table in (values, values.T):
        table = nearest(table, np.maximum(table.sum(1), 0.0))
        table = table / max(table.sum(), 1e-9)
        depends.append(0.5 * np.abs(table - np.outer(table.sum(1), table.sum(0))).sum())
    return float(round(min(depends), 12))


def most_dependence(values: np.ndarray) -> float:
    """The greatest total variation to independence that a table's margins allow: one column a function of the other.

    >>> most_dependence(np.array([[5, 1], [3, 1]]))
    0.32
    """
    margins = [np.maximum(values.sum(1), 0.0), np.maximum(values.sum(0), 0.0)]
    even = [((m / max(m.sum(), 1e-9)) ** 2).sum() for m in margins]
    return float(round(1 - max(even), 12))


@dataclass(frozen=True, kw_only=True)
class NamedPlan:
    """What named tables get; nothing depends on a particular table.

    ``share``: part of the tables' budget that they take together, by the root of how many they are, from ``least`` for
    one on. ``bears``: total variation that noise may make of such a table; where it makes more, they are too many to be
    counted for certain, and are what the search chooses from. ``cells``: of all of them together at most.
    ``coarse``: times as many rows as in a table of two columns are in a bin, whose finer ones pairs tell of.
    ``others``: of hundreds of columns the part of the tables' budget that counts single ones again.
    """

    share: float = 0.2
    least: float = 0.07
    bears: float = 0.2
    cells: int = 1 << 16
    coarse: float = 2.0
    others: float = 0.5

    def taken(self, columns: OneWays, share: float) -> float:
        """The part of ``share`` that named tables take for certain; 0 where there are none, or too many."""
        named = columns.setting.workload.larger
        if not named:
            return 0.0
        part = share * min(self.share, self.least * sqrt(len(named)))
        cells = [min(FINE**3, prod(len(columns.histograms[n].mass) for n in t.columns)) for t in named]
        noise = made_by_noise(float(np.mean(cells)), columns.setting.sigma(part / len(named)), columns.total)
        return part if noise <= self.bears else 0.0

    def question(self, planned: Planned, share: float) -> Counts | None:
        """The named tables, within ``share`` of the budget, by their weights; None where nothing is left of them.

        Their bins are parts of those of pairs, or they of these. Where a use has groups of its own, those are counted.
        """
        columns, setting = planned.columns, planned.columns.setting
        tables = [t for t in setting.workload.larger if {*columns.varying}.issuperset(t.columns)]
        if not tables or share <= 0:
            return None
        names = dict.fromkeys(n for t in tables for n in t.columns)
        planned = Planned.of(columns, planned.plan, planned.pairs, planned.share, names).coarser()
        whole = sum(t.weight for t in tables)
        marginals: list[Marginal] = []
        weights: list[float] = []
        for alike in _alike(tables):
            part = sum(t.weight for t in alike) / whole
            ladders = dict(planned.ladders)
            for n, histogram in ((n, columns.histograms[n]) for n in ladders):
                if n in alike[0].numbers:
                    ladders[n] = ladders[n].by_leverage(histogram, setting.schema.columns[n].size)
                ladders[n] = ladders[n].fixed(histogram, alike[0].bins.get(n))
            sorts, own = [t.columns for t in alike], [t.weight for t in alike]
            with_own = replace(planned, ladders=ladders)
            marginals += with_own.spread(sorts, np.array(own), share * part, least=self.coarse, most=self.cells * part)
            weights += own
        cost = np.array(weights) * np.array([m.cells for m in marginals], dtype=float) ** POWER
        parts = share * cost / cost.sum()
        shared = (replace(m, sigma=setting.sigma(p)) for m, p in zip(marginals, parts.tolist(), strict=True))
        return Counts(purpose=TABLES, marginals=tuple(shared))


def _alike(tables: Sequence[NamedTable]) -> list[list[NamedTable]]:
    """Tables of as many columns, on the same groups of uses, together."""
    sorts: dict[tuple, list[NamedTable]] = {}
    for table in tables:
        groups = tuple(sorted((n, b.starts.tobytes(), b.groups.tobytes()) for n, b in table.bins.items()))
        sorts.setdefault((len(table.columns), groups, tuple(sorted(table.numbers))), []).append(table)
    return list(sorts.values())
