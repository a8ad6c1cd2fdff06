"""`mixture`: noisy tables of one, two and more columns on merged bins, fitted by a mixture of product distributions;
`independent`: noisy one-way counts, nothing else: the floor that every other method must beat on pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np

from synth.generators.base import Fit, Run, Setting
from synth.generators.core import oneways, planning, public_rows, search, solver
from synth.generators.core import tables as noisy
from synth.generators.core.columns import Histogram, OneWays, answers_of, estimate_columns
from synth.generators.core.logits import Limits, with_conditionals
from synth.generators.core.problem import lay_out, misfit, refine
from synth.generators.core.product import Axis, Product, within_groups
from synth.generators.core.votes import Votes
from synth.generators.method import SHARE, Method, option
from synth.questions import Counts, CountsRelease, NearestRelease, PublicCounts, SearchRelease
from synth.schema.published_totals import stated as stated_totals

SAFE = 1 - 1e-9  # keeps sums of rounded shares below the whole
NOISY = 1 / 1800  # noise of a single count, part of the rows, from which on one-ways take all of their share:
SURER = 0.25  # below, this part of it serves tables better, which tell of single columns too
SCOUT = 0.15  # of the tables' budget, where noise is much: finds out whether columns can be seen to depend at all
LEFT = 1e-4  # of the tables' budget: less is not worth another question
MIXTURES = 16  # fitted to the same tables, whose errors from noise and from the start are averaged
RICHER = 8000  # cells of all tables above which components are twice as many, and tables are drawn in before the fit
FEWER = 4  # mixtures of the ensemble, where pairs are so many that their steps take minutes
RAKES = 20  # rounds of scaling to the one-ways; they converge by a factor of about three a round


@dataclass(frozen=True, kw_only=True)
class Mixture(Method):
    """The flagship: all pairs of columns at once, then the tables of more columns that a private search finds missed.

    ``oneway_share``: part of mu**2 for one-way counts, a quarter of it only where rows are few beside the noise; what
    that and trees leave of it goes to the tables.
    ``order``: most columns of a table; ``rounds``: of searches for tables of more than two, at most. ``votes``: rounds
    in which rows vote for the nearest of the model's, at most, after a first look. ``plan``, ``beyond``, ``voting``:
    which tables and votes are asked for. ``strongest``: of a table of hundreds of columns the pairs that are sought.
    ``options``: the fit. ``limits``: of columns drawn again.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name = "mixture"
    summary = "noisy tables of one, two and more columns, fitted by a mixture of product distributions"
    reads = (CountsRelease, SearchRelease, NearestRelease, PublicCounts)
    oneway_share: float = option(0.33, *SHARE)
    order: int = option(4, 2, 4)
    rounds: int = option(12, 0, 20)
    votes: int = option(3, 0, 20)
    plan: planning.PairPlan = field(default_factory=planning.PairPlan)
    beyond: search.Rounds = field(default_factory=search.Rounds)
    named: planning.NamedPlan = field(default_factory=planning.NamedPlan)
    strongest: search.Strongest = field(default_factory=search.Strongest)
    voting: Votes = field(default_factory=Votes)
    options: solver.Options = field(default_factory=lambda: solver.Options(cells=RICHER, ensembles=MIXTURES))
    limits: Limits = field(default_factory=Limits)
    takes_priors = True
    takes_uses = True
    gives_rows = True

    def measure(self, run: Run) -> list[Any]:
        """One-way counts of every column, tables of pairs on bins merged by these counts, then what these miss."""
        return _Measured(self, run, fitted=True).releases

    def check(self, run: Run) -> None:
        """As every method's, without fits between the questions: they decide what is asked, not its price."""
        self.check_options()
        self.check_schema(run.setting.schema)
        _Measured(self, replace(run, progress=lambda _: None), fitted=False)

    def fit(self, releases: Sequence[Any], setting: Setting, how: Fit) -> Product:
        """The mixture that agrees with all tables within their noise; its one-ways are the best estimates."""
        columns, everything, targets = said(releases, setting)
        rows = public_rows.weighed_rows(releases, columns, everything)
        if rows is not None:
            axes = tuple(axis(h, rows.groups[n], rows.probs[n]) for n, h in columns.histograms.items())
            how.progress(1.0)
            return self._voted(Product(total=columns.total, weights=rows.weights, axes=axes), releases, columns, how)
        target = setting.workload.target(setting.schema.target)
        tables, strongest = search.parted(releases, everything, self.plan, target)
        unseen = not targets and (bool(strongest and not tables) or noisy.nothing_seen(tables, columns))
        if not targets and not search.asked_together(tables, self.plan):  # half a million variances would fill memory
            targets = noisy.independence_targets(tables, columns)
        groups = refine(columns, [*tables, *targets])
        weights, apart = np.ones(1), None
        if unseen:  # a fit would follow noise
            mass = {n: np.bincount(groups[n], weights=h.mass)[None, :] for n, h in columns.histograms.items()}
            probs = {n: m / columns.total for n, m in mass.items()}
        else:
            weights, probs, apart = self._fitted(columns, groups, tables, targets, how)
        how.progress(1.0)
        limits = self.limits
        if strongest:
            parts = refine(columns, [*tables, *strongest, *targets])
            probs, groups = search.in_finer_groups(probs, groups, parts, columns), parts
            limits = replace(limits, children=self.strongest.pairs)
        axes = tuple(axis(h, groups[n], probs[n]) for n, h in columns.histograms.items())
        made = Product(total=columns.total, weights=weights, axes=axes, misfit=apart)
        if unseen and not strongest:
            return made
        believed = strongest or (noisy.believed_tables(tables, targets) if tables else tables)
        first, named = oneways.area_levels(setting.schema), setting.workload.named_together
        made = with_conditionals(made, groups, believed, target, rng=how.rng, limits=limits, first=first, named=named)
        return self._voted(made, releases, columns, how)

    def _voted(self, made: Product, releases: Sequence[Any], columns: OneWays, how: Fit) -> Product:
        """The model, areas drawn by themselves, and tilted by votes where they saw something."""
        made = replace(made, strata=oneways.area_strata(columns))
        told = [r for r in releases if isinstance(r, NearestRelease)]
        if len(told) < 2:  # none, or a look that saw nothing
            return made
        return replace(made, tilt=self.voting.tilt(told, columns, made.pool(self.voting.pool, rng=how.rng)))

    def _fitted(
        self,
        columns: OneWays,
        groups: Mapping[str, np.ndarray],
        tables: Sequence[noisy.NoisyTable],
        targets: Sequence[noisy.NoisyTable],
        how: Fit,
    ) -> tuple[np.ndarray, dict[str, np.ndarray], Mapping[str, float]]:
        """Component weights (B,), each column's group probabilities (B, G), and how far they are from the answers."""
        many, few = planning.many_pairs(columns, self.plan), sum(t.marginal.cells for t in tables) <= RICHER
        calmer, shrunk_by, loss_reduction = tables, 0.0, 0.0
        if not (many or few):
            calmer, shrunk_by, loss_reduction = noisy.shrink_singular_values(tables, columns)
        problem, spans = lay_out(columns, groups, calmer, targets)
        sizes = {n: c.size for n, c in columns.setting.schema.measured().items() if columns.is_number(n)}
        problem = replace(
            problem,
            shrunk_by=shrunk_by,
            loss_reduction=problem.loss_reduction + loss_reduction,
            neighbours=solver.neighbours(columns.histograms, groups, spans, sizes),
        )
        ensembles = min(FEWER, self.options.ensembles) if many else self.options.ensembles
        options = replace(self.options, ensembles=ensembles)
        weights, probs = solver.fit_mixture(problem, options, rng=how.rng, device=how.device, progress=how.progress)
        for span in spans.values():
            probs[:, span] = rake(weights, probs[:, span], problem.mass[span])
        own = problem if calmer is tables and not targets else lay_out(columns, groups, tables)[0]
        return weights, {n: probs[:, s] for n, s in spans.items()}, misfit(own, weights, probs)


class _Measured:
    """The questions of one run, in turn; ``releases``: their answers, with what public tables say beside them.

    ``fitted``: whether models follow the answers on the way, by which tables of more columns are chosen.
    """

    def __init__(self, method: Mixture, run: Run, *, fitted: bool) -> None:
        self.method, self.ask, self.setting, self.progress = method, run.ask, run.setting, run.progress
        self.fitted, plan, setting = fitted, method.plan, run.setting
        run.progress(0.0)
        alone = sum(c.cells > 1 for c in setting.schema.measured().values()) < 2
        share = SAFE if alone else SAFE * method.oneway_share * (1 - SURER)
        self.releases: list[Any] = [*oneways.ask_columns(run.ask, setting, share=share, whole=alone)]
        run.progress(0.3)
        if not alone and setting.sigma(1.0) > NOISY * self.columns.total:
            self.releases += oneways.ask_flat_again(run.ask, setting, share=SAFE * method.oneway_share * SURER)
        if setting.priors:
            self.releases += [*noisy.columns_of_priors(setting.priors, self.columns)]
        columns, left = self.columns, self.rest
        only = planning.named_pairs(columns, plan)
        if planning.many_pairs(columns, plan) and not only:
            self.wide(columns, left)
            run.progress(1.0)
            return
        if only:  # hundreds of columns that stand alone
            self.again(left * method.named.others)
            columns, left = self.columns, self.rest
        pairs = None if alone else planning.pairs_question(columns, left, plan, only)
        noise = (
            0.0 if pairs is None or setting.priors else noisy.pair_noise(len(pairs[1].pairs), columns.total, setting)
        )
        if pairs is not None and noise > noisy.HIDDEN:
            self.again(left * SAFE)
        elif pairs is not None and noise > noisy.FAINT:
            self.as_seen(*pairs)
        elif pairs is not None:
            self.releases += self.tables(*pairs, left)
        run.progress(1.0)

    @property
    def columns(self) -> OneWays:
        """What the answers say of single columns."""
        return oneways.estimated(self.releases, self.setting)

    @property
    def rest(self) -> float:
        """What is left of the budget."""
        return SAFE * (1 - oneways.spent_share(self.releases, self.setting))

    def left(self, share: float, made: Sequence[Any]) -> float:
        """What these releases leave of a share."""
        return share - oneways.spent_share(made, self.setting)

    def again(self, share: float) -> None:
        """Single columns again, on the leaves that the answers made."""
        self.releases += oneways.ask_again(self.ask, self.setting, self.releases, share)

    def wide(self, columns: OneWays, share: float) -> None:
        """Of a table of so many columns the pairs that depend most by themselves, then all pairs together, or where
        these are not seen to depend single columns again."""
        plan, strongest = self.method.plan, self.method.strongest
        made = strongest.ask(self.ask, columns, plan, share)
        chosen = [m.columns for r in made if isinstance(r, CountsRelease) for m in r.question.marginals]
        look, seen = strongest.look_at_pairs(self.ask, columns, plan, share, chosen)
        left = self.left(SAFE * share, [*made, *look])
        self.releases += [*made, *look]
        if seen:
            self.releases.append(self.ask(planning.wide_question(columns, left, plan)))
        else:
            self.again(left)

    def as_seen(self, question: Counts, planned: planning.Planned) -> None:
        """A first look at faint tables of pairs; then tables and single columns, by what was seen."""
        share = planned.share
        look = self.ask(planning.asked_again(question, self.setting, share * SCOUT))
        part, rest = noisy.worth_of_tables(look, planned.columns, SCOUT), share * (1 - SCOUT)
        made = [look]
        if left := rest * part * SAFE:
            made += self.tables(planning.noisier(question, sqrt(share / left)), planned, left)
        self.releases += made
        if part < 1:  # last, for all tables have groupings by the same histograms
            self.again(self.left(SAFE * share, made))

    def tables(self, question: Counts, planned: planning.Planned, share: float) -> list[Any]:
        """Tables of pairs and of more columns; what the search for these leaves goes to the pairs again."""
        method, columns = self.method, planned.columns
        voting = replace(method.voting, rounds=method.votes)
        publics: list[PublicCounts] = []
        ask = noisy.beside_priors(self.ask, columns, publics)
        beyond = replace(method.beyond, order=method.order, rounds=method.rounds if method.order > 2 else 0)
        certain = method.named.taken(columns, share)
        voted = voting.retained(columns, share - certain)
        kept = beyond.retained(columns, share - certain)
        paired = share - certain - kept - voted
        pairs = ask(planning.noisier(question, sqrt(share / paired)))
        made: list[Any] = [pairs]
        more = planned.finer(pairs, self.left(paired, made))
        made += [] if more is None else [ask(more)]
        named = method.named.question(planned, certain * SAFE)
        made += [] if named is None else [ask(named)]
        if kept:
            self.progress(0.5)
            made += search.ask_beyond(ask, made, planned, publics, beyond, share=kept, fitted=self.fitted)
        if voted:
            now = search.quick_fit(columns, made, publics, fitted=self.fitted)
            rows = _product(columns, now).pool(voting.pool, rng=np.random.default_rng(0))
            made += voting.ask(ask, rows, columns, voted * SAFE, fitted=self.fitted)
        if kept or voted:
            left = self.left(share * SAFE, made)
            made += [ask(planning.asked_again(pairs.question, self.setting, left))] if left > LEFT * share else []
        return [*made, *publics]


def _product(columns: OneWays, model: search.Interim) -> Product:
    axes = tuple(axis(h, model.groups[n], model.probs[n]) for n, h in columns.histograms.items())
    return Product(total=columns.total, weights=model.weights, axes=axes)


def said(releases: Sequence[Any], setting: Setting) -> tuple[OneWays, list[noisy.NoisyTable], list[noisy.NoisyTable]]:
    """What a fit is made of: the columns, the tables of more columns, what public tables and totals add."""
    asked = [r for r in releases if isinstance(r, CountsRelease) and r.question.purpose == planning.TABLES]
    columns = estimate_columns(releases, setting)
    columns = columns.sharpened(answers_of([*asked, *oneways.area_releases(releases)]))
    publics = [r for r in releases if isinstance(r, PublicCounts)]
    tables = noisy.tables_of(asked)
    tables, targets = noisy.pooled_targets(tables, noisy.prior_targets(tables, publics, columns))
    totals = stated_totals(setting.schema, rules=False)
    return (columns, tables, targets) if totals is None else noisy.with_totals(totals, columns, tables, targets)


def axis(histogram: Histogram, groups: np.ndarray, probs: np.ndarray) -> Axis:
    """A model's column: group probabilities (B, G), expanded to leaves, to days and round numbers, by the histogram."""
    empty = np.bincount(groups, weights=histogram.mass)[groups] <= 0
    starts, mass = histogram.starts, np.where(empty, histogram.widths * 1e-12, histogram.mass)  # where nothing is known
    if histogram.density is not None:
        cut = histogram.density.cut(starts)
        leaf = np.searchsorted(starts, cut, side="right") - 1
        rows = histogram.density.rows(np.append(cut, histogram.cells).astype(float))
        mass = rows * (mass / np.bincount(leaf, weights=rows))[leaf]
        starts, groups = cut, groups[leaf]
    if histogram.heaping:  # within groups, which are better known than how round their numbers are
        starts, leaf, mass = oneways.scale_to_margins(
            starts, mass, histogram.cells, histogram.heaping, doubt=oneways.DOUBT
        )
        groups = groups[leaf]
    if histogram.calendar:
        before = np.bincount(groups, weights=mass)
        starts, leaf, mass = oneways.scale_to_margins(starts, mass, histogram.cells, histogram.calendar)
        groups = groups[leaf]
        probs = probs * (np.bincount(groups, weights=mass) / before)
        probs = probs / np.maximum(probs.sum(1, keepdims=True), 1e-9)
    return Axis(
        column=histogram.column,
        cells=histogram.cells,
        starts=starts,
        groups=groups,
        within=within_groups(mass, groups)[1].astype(np.float32),
        probs=probs.astype(np.float32),
    )


def rake(weights: np.ndarray, probs: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Component distributions (B, G) scaled until the mixture's one-way is ``mass`` (G,), up to its sum.

    >>> raked = rake(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([1.0, 1.0]))
    >>> raked.mean(0).round(6).tolist()
    [0.5, 0.5]
    """
    goal = mass / mass.sum()
    for _ in range(RAKES):
        probs = probs * (goal / np.maximum(weights @ probs, 1e-30))
        whole = probs.sum(1, keepdims=True)
        probs = np.where(whole > 1e-30, probs / np.maximum(whole, 1e-30), goal)
    return probs


@dataclass(frozen=True, kw_only=True)
class Independent(Method):
    """Columns drawn independently from their noisy one-way counts: a mixture with one component.

    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name = "independent"
    summary = "noisy counts of each column alone; no relations between columns"
    reads = (CountsRelease,)
    by_torch = False
    gives_rows = True

    def measure(self, run: Run) -> list[CountsRelease]:
        """One-way counts of every column, with the whole budget."""
        run.progress(0.0)
        releases = oneways.ask_columns(run.ask, run.setting, share=SAFE, whole=True)
        run.progress(1.0)
        return releases

    def fit(self, releases: Sequence[CountsRelease], setting: Setting, how: Fit) -> Product:
        """The product of the columns' estimated distributions; ``rng`` and ``device`` are not needed."""
        columns = oneways.estimated(releases, setting)
        parts = [(h, np.arange(len(h.mass)), h.mass[None, :] / columns.total) for h in columns.histograms.values()]
        how.progress(1.0)
        return Product(total=columns.total, weights=np.ones(1), axes=tuple(axis(*p) for p in parts))
