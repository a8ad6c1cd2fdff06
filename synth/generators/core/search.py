"""Private searches: for tables of three and more columns that a quick model misses, and for the pairs of a wide table
that depend most.

Half a million pairs that share a budget are told too faintly to say what two columns have in common that no third one
shares. A search costs by how many pairs it picks, hardly by how many there are; and tables of a few hundred pairs bear
fine bins. A mixture has too few components for as many separate pairs: the fit draws their columns by logits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from math import comb, log, pi, sqrt
from typing import Any

import numpy as np

from synth.generators.base import Ask
from synth.generators.core import planning
from synth.generators.core.columns import Histogram, OneWays, answers_of, merge_bins
from synth.generators.core.problem import lay_out, refine
from synth.generators.core.solver import Options, fit_mixture
from synth.generators.core.tables import SEEN, NoisyTable, excess, pooled_targets, prior_targets, tables_of
from synth.numeric import networks
from synth.questions import Bins, Counts, CountsRelease, Marginal, PublicCounts, Search, SearchRelease
from synth.questions.choices import MAX_COUNT, NONE

CELLS = 1 << 19  # most cells of all candidates of one order together
COUNTED = 1e10  # most tables times rows; some tens of tables are counted in the time of one
COARSE = 3  # fewest bins of a column in a candidate
# No pull: what it misses must be the tables' own. With fifteen times the work a round's picks tell no more; with two
# fifths of it, tables of 10^6 rows and 50 values a column get worse picks, and their fit ends 1.3 times above noise.
QUICK = Options(ensembles=4, steps=150, pull=0.0, smooth=0.0, work=2e10, many_steps=300)
SEARCH, STRONGEST, LOOK = "tables missed", "strongest pairs", "a look at pairs"
ROUNDING = 1 - 1e-9
BASE = 2  # rounds, the first to find out whether there is anything to be told


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """Tables of three and more columns that may be asked for: ``bins``, groupings, one a column and order; ``tables``
    (m, k): axes of each candidate, -1 behind the last."""

    bins: tuple[Bins, ...]
    tables: np.ndarray

    @classmethod
    def of(cls, planned: planning.Planned, asked: CountsRelease, *, order: int) -> "Candidates | None":
        """All tables of three to ``order`` columns; of orders with too many those with the target; None if none.

        Their bins are merged from the finest that a column has in an ``asked`` table of pairs: the groups of every
        model are parts of them.
        """
        finest: dict[str, Bins] = {}
        for b in (b for m in asked.question.marginals for b in m.bins):
            if b.column not in finest or b.size > finest[b.column].size:
                finest[b.column] = b
        columns, names = planned.columns, list(finest)
        target = columns.setting.workload.target(columns.setting.schema.target)
        bins: list[Bins] = []
        lines: list[np.ndarray] = []
        for k in range(3, min(order, len(names)) + 1):
            place = {n: i for i, n in enumerate(names)}
            few, others = comb(len(names), k) * COARSE**k <= CELLS, [n for n in names if n != target]
            held = target in place and comb(len(others), k - 1) * COARSE**k <= CELLS
            sets = (sorted((*o, str(target)), key=place.__getitem__) for o in combinations(others, k - 1) if held)
            for tables in (list(combinations(names, k)) if few else [], list(map(tuple, sets))):
                groups = next(
                    (g for g in range(planning.FINE, COARSE - 1, -1) if 0 < len(tables) * g**k <= CELLS), None
                )
                if groups is None or len(tables) * columns.total > COUNTED:
                    continue
                at = {n: len(bins) + i for i, n in enumerate(names)}
                bins += [coarse(columns.histograms[n], finest[n].groups, groups) for n in names]
                line = np.full((len(tables), order), NONE, dtype=np.int64)
                line[:, :k] = [[at[n] for n in t] for t in tables]
                lines.append(line)
                break
        return cls(bins=tuple(bins), tables=np.concatenate(lines)) if lines else None

    def columns(self, index: int) -> planning.Pair:
        """The columns of a candidate."""
        return tuple(self.bins[i].column for i in self.tables[index].tolist() if i != NONE)

    def where(self, wanted: Callable[[planning.Pair], bool]) -> "Candidates | None":
        """The candidates of wanted columns; None if there are none."""
        left = np.array([wanted(self.columns(i)) for i in range(len(self.tables))], dtype=bool)
        return replace(self, tables=self.tables[left]) if left.any() else None

    def without(self, chosen: Iterable[planning.Pair]) -> "Candidates | None":
        """The candidates but those of the chosen columns; None if none are left."""
        gone = {frozenset(c) for c in chosen}
        return self.where(lambda columns: frozenset(columns) not in gone)

    def without_pairs(self, pairs: Iterable[planning.Pair]) -> "Candidates | None":
        """The candidates that hold none of these pairs of columns; None if none are left."""
        gone = {frozenset(p) for p in pairs}
        return self.where(lambda columns: gone.isdisjoint(map(frozenset, combinations(columns, 2))))

    @property
    def sizes(self) -> np.ndarray:
        """Cells of each candidate, (m,)."""
        return np.append([b.size for b in self.bins], 1)[self.tables].prod(1)

    def expected(self, views: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
        """A mixture's probabilities of all candidates' cells, flat, one after the other.

        ``views``: (B, bins) of each grouping; ``weights`` (B,).
        """
        out: list[np.ndarray] = []
        views = [v.astype(np.float32) for v in views]
        scaled = [(weights[:, None] * v).astype(np.float32) for v in views]
        for pair, tables in groupby(self.tables.tolist(), key=lambda t: t[:2]):
            left = (scaled[pair[0]][:, :, None] * views[pair[1]][:, None, :]).reshape(len(weights), -1)
            joint = [_joint([views[i] for i in t[2:] if i != NONE]) for t in tables]
            made = left.T.copy() @ np.concatenate(joint, axis=1)
            out += [t.ravel() for t in np.split(made, np.cumsum([j.shape[1] for j in joint])[:-1], axis=1)]
        return np.concatenate(out)


def _joint(views: Sequence[np.ndarray]) -> np.ndarray:
    """Products (B, cells) of views (B, bins) of different columns."""
    whole = views[0]
    for view in views[1:]:
        whole = (whole[:, :, None] * view[:, None, :]).reshape(len(view), -1)
    return whole


def coarse(histogram: Histogram, groups: np.ndarray, most: int) -> Bins:
    """About equal bins, ``most`` at most, of the bins ``groups``."""
    mass = np.bincount(groups, weights=histogram.mass)
    share, many = mass.sum() / most, most
    merged = merge_bins(histogram.mass, groups, least=share)
    while merged.max() >= most and many > 1:
        many -= 1
        merged = merge_bins(histogram.mass, groups, least=mass.sum() / many)
    return histogram.bins(merged)


@dataclass(frozen=True, kw_only=True, eq=False)
class Interim:
    """A quick mixture of what was told so far, by which the next tables are chosen.

    ``groups`` (L,) of each column's leaves; ``weights`` (B,); ``probs`` (B, G) of each column's groups.
    """

    groups: Mapping[str, np.ndarray]
    weights: np.ndarray
    probs: Mapping[str, np.ndarray]

    def view(self, bins: Bins) -> np.ndarray:
        """Probabilities (B, bins) of bins that whole groups make up."""
        groups, probs = self.groups[bins.column], self.probs[bins.column]
        of = np.zeros(int(groups.max()) + 1, dtype=np.int64)
        of[groups] = bins.groups
        out = np.zeros((probs.shape[0], bins.size))
        for group, at in enumerate(of.tolist()):
            out[:, at] += probs[:, group]
        return out

    def table(self, axes: Sequence[Bins]) -> np.ndarray:
        """Probabilities of a table's cells."""
        views = [self.view(b) for b in axes]
        whole = _joint([self.weights[:, None] * views[0], *views[1:-1]])
        return (whole.T @ views[-1]).reshape([b.size for b in axes])

    def gap(self, marginal: Marginal, values: np.ndarray, total: float, rounds: "Rounds") -> float:
        """Total variation between a noisy table and the model's, beyond what noise and chance make; 0 if little."""
        made = self.table(marginal.bins) * total
        chance = marginal.sigma**2 + np.maximum(made, 0.0)
        error = values - made
        deviations = ((error**2 / chance).sum() - values.size) / sqrt(2 * values.size)
        apart = float((np.abs(error) - sqrt(2 / pi) * np.sqrt(chance)).sum()) / (2 * total)
        return apart if deviations > rounds.sure and apart > rounds.worth else 0.0


def quick_fit(columns: OneWays, releases: Sequence[Any], publics: Sequence[PublicCounts], *, fitted: bool) -> Interim:
    """The mixture; with ``fitted`` false that of independent columns, on the same groups.

    Its start is drawn from a fixed seed: it decides what is asked, and nothing of it is private.
    """
    counts = [r for r in releases if isinstance(r, CountsRelease)]
    columns, tables = columns.sharpened(answers_of(counts)), tables_of(counts)
    tables, targets = pooled_targets(tables, prior_targets(tables, publics, columns) if fitted else [])
    groups = refine(columns, [*tables, *targets])
    problem, spans = lay_out(columns, groups, tables, targets)
    if not fitted:
        weights, probs = np.ones(1), np.maximum(problem.mass, 0.0)[None, :]
    else:
        rng = np.random.default_rng(0)
        with networks.one_thread():  # what is asked next then depends on no machine's number of cores
            weights, probs = fit_mixture(problem, QUICK, rng=rng, device="cpu", progress=lambda _: None)
    return Interim(groups=groups, weights=weights, probs={n: probs[:, s] for n, s in spans.items()})


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """How far to go beyond pairs; nothing depends on a particular table.

    ``order``: most columns of a table. ``rounds``: of search, count and fit, at most; 0 for none. ``share``: part of
    the tables' budget that is kept for them, up to ``larger`` of it where counting a table makes a total variation less
    than ``small`` (``retained``); ``first``: part of it that the first round takes, which finds out whether
    there is anything to be told. ``picks``: tables a round; ``search``: part of a round's share that choosing takes.
    Two rounds, unless more than two rounds of ``picks`` tables can be counted with a noise of the total variation
    ``bears`` each: then as many rounds as that, for a pick that holds an earlier one tells nothing new, and beyond
    these ``most`` picks a round (``grown``). ``work``: candidates times rows of all searches together at most, and
    ``fits``: cells of all quick fits to pairs; four rounds may be more.
    A table departs from the model by ``sure`` standard deviations and the total variation ``worth``, at least, or by
    ``clear`` times the noise's where that is less, but never by less than ``least``: where none does there is no
    other round. The next one takes the more of what is kept, the farther the worst departs; all of it from ``far``
    on, or as much nearer as ``worth`` is. What is not taken goes to the tables of pairs. ``cells``: of a round's tables
    together at most, which keeps the fit within seconds where rows are millions.
    """

    order: int = 4
    rounds: int = 12
    share: float = 0.3
    larger: float = 0.45
    small: float = 0.015
    first: float = 0.08
    picks: int = 4
    most: int = 16
    bears: float = 0.05
    work: float = 1e10
    fits: float = 1.6e6
    search: float = 0.25
    sure: float = 5.0
    worth: float = 0.15
    clear: float = 9.0
    least: float = 0.02
    far: float = 0.4
    cells: int = 1 << 17

    def retained(self, columns: OneWays, share: float) -> float:
        """The part of ``share`` that is kept for these tables; what they leave goes to pairs again."""
        if not self.rounds:
            return 0.0
        noise = planning.made_by_noise(planning.FINE**3, columns.setting.sigma(share * self.share), columns.total)
        return share * min(self.larger, self.share * max(1.0, self.small / noise))

    def grown(self, noise: float, work: float = 1.0, cells: int = 1) -> "Rounds":
        """As many rounds and picks as the noise bears. ``work``: candidates times rows; ``cells``: of all pairs.

        ``noise``: the total variation that counting makes of one table, were it the only one; of m tables each has
        root m times that.

        >>> [(r.rounds, r.picks, round(r.worth, 3)) for r in map(Rounds().grown, (0.05, 0.01, 0.006, 0.001))]
        [(2, 4, 0.15), (6, 4, 0.09), (12, 5, 0.054), (12, 16, 0.02)]
        """
        many = (self.bears / max(noise, 1e-9)) ** 2
        most = min(self.rounds, max(2 * BASE, int(min(self.work / work, self.fits / cells))))
        rounds = min(most, max(BASE, int(many / self.picks)))
        picks = min(self.most, max(self.picks, int(many / max(rounds, 1))))
        worth = min(self.worth, max(self.least, self.clear * noise))
        return replace(self, rounds=rounds, picks=picks, worth=worth)


def ask_beyond(
    ask: Ask,
    tables: Sequence[CountsRelease],
    planned: planning.Planned,
    publics: Sequence[PublicCounts],
    rounds: Rounds,
    *,
    share: float,
    fitted: bool,
) -> list[Any]:
    """The releases of all rounds, within ``share`` of the budget.

    ``planned``: groupings that these tables' bins fit. ``fitted``: whether the model follows the answers; without, it
    is that of independent columns. ``publics``: what public tables say of all that was asked so far.
    """
    columns, setting, total = planned.columns, planned.columns.setting, planned.columns.total
    listed = Candidates.of(planned, tables[0], order=rounds.order)
    wanted = [t.columns for t in setting.workload.larger]
    certain = {m.columns for t in tables for m in t.question.marginals}
    if listed is not None and wanted:  # those that are counted are not sought; if they are too many, no others are
        sets = {frozenset(w) for w in wanted}
        among = listed.where(lambda names: frozenset(names) in sets) or listed
        listed = listed.without(certain) if certain.issuperset(wanted) else among
    determined = _determined(tables, planned)
    made: list[Any] = []
    left, plain = share * ROUNDING, rounds
    if listed is not None:
        # at least that of three columns in ``FINE`` bins: candidates of many columns are coarser than what is counted
        cells = max(float(np.median(listed.sizes)), float(planning.FINE**3))
        noise = planning.made_by_noise(cells, setting.sigma(left * (1 - rounds.search)), total)
        rounds = rounds.grown(noise, len(listed.tables) * total, sum(m.cells for m in tables[0].question.marginals))
    part, again = left * rounds.first, list[planning.Pair]()
    for turn in range(rounds.rounds):
        if listed is None:
            break
        model = quick_fit(columns, [*tables, *made], publics, fitted=fitted)
        missed = [m.columns for m, v in tables[0].items() if model.gap(m, v, total, plain) > 0]
        listed = listed.without_pairs([*determined, *missed])  # larger ones would show the same once more
        if listed is None:
            break
        answer = ask(_search(listed, model, columns, share=part, rounds=rounds))
        chosen = _apart([*again, *(listed.columns(i) for i in answer.chosen)])
        bins = _spread(chosen, planned, part * (1 - rounds.search), most=rounds.cells)
        counted = ask(Counts(purpose=planning.TABLES, marginals=tuple(bins)))
        made += [answer, counted]
        left -= part
        listed = listed.without(chosen)
        gaps = {m.columns: model.gap(m, v, total, rounds) for m, v in counted.items()}
        again = [t for t, gap in gaps.items() if gap > plain.far / 2]  # once more, with less noise
        far = rounds.far * rounds.worth / plain.worth
        part = left / max(rounds.rounds - turn - 1, 1) * min(1.0, max(gaps.values()) / far)
        if part <= 0:
            break
    return made


def _search(listed: Candidates, model: Interim, columns: OneWays, *, share: float, rounds: Rounds) -> Search:
    """The question which candidates the model misses most, beyond what chance and the noise of a count explain."""
    setting, picks = columns.setting, min(rounds.picks, len(listed.tables))
    made = listed.expected([model.view(b) for b in listed.bins], model.weights) * columns.total
    starts = np.append(0, np.cumsum(listed.sizes)[:-1])
    chance = np.add.reduceat(np.sqrt(np.maximum(made, 0.0)), starts)
    noise = setting.sigma(share * (1 - rounds.search) / picks) * listed.sizes
    scale = setting.pick / (setting.mu * sqrt(share * rounds.search / picks)) * (1 + 1e-9)
    return Search(
        purpose=SEARCH,
        bins=listed.bins,
        tables=listed.tables,
        expected=_whole(made),
        handicap=_whole(sqrt(2 / pi) * (chance + noise)),
        scale=scale,
        picks=picks,
    )


def _whole(rows: np.ndarray) -> np.ndarray:
    return np.rint(np.clip(rows, 0, MAX_COUNT)).astype(np.int32)


def _apart(chosen: Sequence[planning.Pair]) -> list[planning.Pair]:
    """Picks but those that hold an earlier one or lie in it: what one misses the other misses too.

    >>> _apart([("a", "b", "c"), ("a", "b", "c", "d"), ("b", "c", "d")])
    [('a', 'b', 'c'), ('b', 'c', 'd')]
    """
    kept: list[planning.Pair] = []
    for table in chosen:
        if not any(set(k) <= set(table) or set(table) <= set(k) for k in kept):
            kept.append(table)
    return kept


def _spread(
    chosen: Sequence[planning.Pair], planned: planning.Planned, share: float, *, most: int
) -> Iterator[Marginal]:
    """The tables on bins that their noise bears, each order with its part of the budget and of ``most`` cells: where
    there would be more, on coarser bins than pairs ever have."""
    for k in sorted({len(t) for t in chosen}):
        alike = [t for t in chosen if len(t) == k]
        part = len(alike) / len(chosen)
        tables = planned.spread(alike, np.ones(len(alike)), share * part)
        if sum(m.cells for m in tables) > most * part:
            tables = planned.coarser().spread(alike, np.ones(len(alike)), share * part, most=most * part)
        yield from tables


def _determined(tables: Sequence[CountsRelease], planned: planning.Planned) -> list[planning.Pair]:
    """Pairs that were counted again since they nearly determine each other: a quick fit misses them, and their rules
    are drawn by themselves (``logits.py``)."""
    if planned.wide:
        return []
    many = len(planned.pairs)
    again = ([m.columns for m in t.question.marginals] for t in tables[1:] if len(t.question.marginals) < many)
    return [c for columns in again if max(map(len, columns)) == 2 for c in columns]


@dataclass(frozen=True, kw_only=True)
class Strongest:
    """How many pairs are sought, and for which parts of the tables' budget; nothing depends on a particular table.

    ``pairs``: as many; ``search``, ``share``: of the budget for finding and for counting them. ``bins``: most of a
    column in the search. ``most``: pairs among which is sought at most (``mechanisms/search.md``). Where the search
    would tell only pairs that are off independence by more than the part ``seen`` of the rows, nothing is sought.
    ``look``: part of the budget for all pairs of ``looked`` columns, which say whether the others depend at all; where
    they do not, half a million tables would say nothing, and the rest counts single columns again. Of a table of
    hardly more columns all pairs are asked at once.
    """

    pairs: int = 300
    search: float = 0.05
    share: float = 0.2
    bins: int = 4
    most: int = 1_000_000
    seen: float = 0.25
    look: float = 0.07
    looked: int = 250

    def question(self, columns: OneWays, share: float) -> Search | None:
        """Which pairs are farthest off independence, beyond what chance explains; None where noise would decide."""
        if not self.pairs:
            return None
        names, setting, total = columns.varying, columns.setting, columns.total
        left, right = np.triu_indices(len(names), 1)
        picks = min(self.pairs, len(left))
        scale = setting.pick / (setting.mu * sqrt(share * self.search / picks)) * (1 + 1e-9)
        if len(left) > self.most or scale * log(len(left)) > 2 * self.seen * total:
            return None
        histograms = [columns.histograms[n] for n in names]
        bins = tuple(coarse(h, np.arange(len(h.mass)), self.bins) for h in histograms)
        views = [np.bincount(b.groups, weights=h.mass) for b, h in zip(bins, histograms, strict=True)]
        expected, chance = _independent([v / max(v.sum(), 1e-9) for v in views], total)
        return Search(
            purpose=STRONGEST,
            bins=bins,
            tables=np.stack([left, right], axis=1),
            expected=expected,
            handicap=_whole(sqrt(2 / pi) * chance),
            scale=scale,
            picks=picks,
        )

    def ask(self, ask: Ask, columns: OneWays, plan: planning.PairPlan, share: float) -> list[Any]:
        """The search and the tables of what it picked, within ``share`` of the budget; nothing where noise would
        decide."""
        search = self.question(columns, share)
        if search is None:
            return []
        picked = ask(search)
        chosen = [(a.column, b.column) for a, b in map(search.table, picked.chosen)]
        counted = planning.pairs_question(
            columns, ROUNDING * share * self.share, replace(plan, spare=0.0, second=0.0), chosen
        )
        return [picked, *([ask(counted[0])] if counted else [])]

    def look_at_pairs(
        self, ask: Ask, columns: OneWays, plan: planning.PairPlan, share: float, chosen: Sequence[planning.Pair]
    ) -> tuple[list[CountsRelease], bool]:
        """What a look at some columns' pairs said, and whether columns depend beside the ``chosen`` pairs, beyond what
        noise and the rows' own chance make."""
        step = len(columns.varying) // self.looked
        if not chosen or step < 2:
            return [], True
        asked = planning.wide_question(columns, share * self.look, plan, columns.varying[::step])
        look = ask(replace(asked, purpose=LOOK))
        gone = {frozenset(c) for c in chosen}
        others = [a for a in look.items() if frozenset(a[0].columns) not in gone]
        off, cells = excess(others, columns)
        chance = sum(columns.total / m.sigma**2 for m, _ in others)
        return [look], off >= chance + SEEN * sqrt(2 * cells)


def _independent(shares: Sequence[np.ndarray], total: float) -> tuple[np.ndarray, np.ndarray]:
    """Whole rows expected in the cells of all pairs of independent columns, flat, one pair after the other; and of each
    pair the sum of their roots."""
    cells: list[np.ndarray] = []
    chance: list[np.ndarray] = []
    roots = np.array([np.sqrt(s).sum() for s in shares])
    ends = np.cumsum([len(s) for s in shares])
    flat = np.concatenate(shares)
    for i, own in enumerate(shares[:-1]):
        table = _whole(total * np.outer(own, flat[ends[i] :]))
        cells += [t.ravel() for t in np.split(table, ends[i + 1 : -1] - ends[i], axis=1)]
        chance.append(sqrt(total) * roots[i] * roots[i + 1 :])
    return np.concatenate(cells), np.concatenate(chance)


def parted(
    releases: Sequence[Any], tables: Sequence[NoisyTable], plan: planning.PairPlan, target: str | None
) -> tuple[Sequence[NoisyTable], list[NoisyTable]]:
    """Of a wide table's answers those of all pairs, and those of the strongest pairs with all that hold the target.

    None of the second kind where no pairs were sought; none of the first where columns were not seen to depend else.
    """
    if not any(isinstance(r, SearchRelease) and r.question.purpose == STRONGEST for r in releases):
        return tables, []
    every = [t for t in tables if asked_together([t], plan)]
    few = [t for t in tables if not asked_together([t], plan)]
    return every, [*few, *(t for t in every if target is not None and target in t.marginal.columns)]


def asked_together(tables: Sequence[NoisyTable], plan: planning.PairPlan) -> bool:
    """Whether all pairs of hundreds of columns were asked in one question."""
    return any(t.asked > plan.together for t in tables)


def in_finer_groups(
    probs: Mapping[str, np.ndarray],
    groups: Mapping[str, np.ndarray],
    parts: Mapping[str, np.ndarray],
    columns: OneWays,
) -> dict[str, np.ndarray]:
    """Group probabilities (B, G) of each column as those of the ``parts`` of its groups, by the column's own counts."""
    made = {}
    for name, table in probs.items():
        part, mass = parts[name], np.maximum(columns.histograms[name].mass, 0.0) + 1e-9
        of = np.zeros(int(part.max()) + 1, dtype=np.int64)
        of[part] = groups[name]
        share = np.bincount(part, weights=mass) / np.bincount(groups[name], weights=mass)[of]
        made[name] = table[:, of] * share
    return made
