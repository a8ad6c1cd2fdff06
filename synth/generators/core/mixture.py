"""`mixture`: noisy tables of one, two and more columns on merged bins, fitted by a mixture of product distributions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np

from synth.generators.base import Ask, Fit, Progress, Run, Setting
from synth.generators.core.columns import Histogram, estimate_columns, sharpen
from synth.generators.core.logits import Limits, with_conditionals
from synth.generators.core.oneways import (
    DOUBT,
    area_levels,
    area_releases,
    area_strata,
    ask_again,
    ask_columns,
    ask_flat_again,
    estimated,
    scale_to_margins,
    spent_share,
)
from synth.generators.core.planning import (
    TABLES,
    NamedPlan,
    PairPlan,
    asked_again,
    finer_tables,
    many_pairs,
    named_pairs,
    named_question,
    noisier,
    pairs_question,
    wide_question,
)
from synth.generators.core.problem import lay_out, misfit, refine
from synth.generators.core.product import Axis, Product, within_groups
from synth.generators.core.search import (
    Rounds,
    Strongest,
    ask_beyond,
    ask_strongest,
    asked_together,
    in_finer_groups,
    look_at_pairs,
    parted,
)
from synth.generators.core.solver import Options, fit_mixture, neighbours
from synth.generators.core.tables import (
    FAINT,
    HIDDEN,
    PriorTable,
    believed_tables,
    beside_priors,
    columns_of_priors,
    independence_targets,
    nothing_seen,
    pair_noise,
    pooled_targets,
    prior_targets,
    shrink_singular_values,
    with_totals,
    worth_of_tables,
)
from synth.generators.method import SHARE, Method, option
from synth.questions import Counts, CountsRelease, PublicCounts, SearchRelease
from synth.schema.totals_checks import stated as stated_totals

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
    ``order``: most columns of a table; ``rounds``: of searches for tables of more than two, at most. ``plan``,
    ``beyond``: which tables are asked for. ``strongest``: of a table of hundreds of columns the pairs that are sought.
    ``options``: the fit. ``limits``: of columns drawn again.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name = "mixture"
    summary = "noisy tables of one, two and more columns, fitted by a mixture of product distributions"
    reads = (CountsRelease, SearchRelease, PublicCounts)
    oneway_share: float = option(0.33, *SHARE)
    order: int = option(4, 2, 4)
    rounds: int = option(12, 0, 20)
    plan: PairPlan = field(default_factory=PairPlan)
    beyond: Rounds = field(default_factory=Rounds)
    named: NamedPlan = field(default_factory=NamedPlan)
    strongest: Strongest = field(default_factory=Strongest)
    options: Options = field(default_factory=lambda: Options(cells=RICHER, ensembles=MIXTURES))
    limits: Limits = field(default_factory=Limits)
    takes_priors = True
    takes_uses = True
    gives_rows = True

    def measure(self, run: Run) -> list[Any]:
        """One-way counts of every column, tables of pairs on bins merged by these counts, then what these miss."""
        ask, setting, progress = run.ask, run.setting, run.progress
        return self._measure(ask, setting, progress, fitted=True)

    def check(self, run: Run) -> None:
        """As every method's, without fits between the questions: they decide what is asked, not its price."""
        ask, setting = run.ask, run.setting
        self.check_options()
        self.check_schema(setting.schema)
        self._measure(ask, setting, lambda _: None, fitted=False)

    def _measure(self, ask: Ask, setting: Setting, progress: Progress, *, fitted: bool) -> list[Any]:
        progress(0.0)
        alone = sum(c.cells > 1 for c in setting.schema.measured().values()) < 2
        share = SAFE if alone else SAFE * self.oneway_share * (1 - SURER)
        releases: list[Any] = ask_columns(ask, setting, share=share, whole=alone)
        progress(0.3)
        total, histograms = estimated(releases, setting)
        if not alone and setting.sigma(1.0) > NOISY * total:
            releases += ask_flat_again(ask, setting, share=SAFE * self.oneway_share * SURER)
            total, histograms = estimated(releases, setting)
        releases += columns_of_priors(setting.priors, histograms)
        total, histograms = estimated(releases, setting)
        left = SAFE * (1 - spent_share(releases, setting))
        only = named_pairs(histograms, setting, self.plan)
        if many_pairs(histograms, self.plan) and not only:
            releases += self._wide(ask, releases, histograms, total, setting, share=left)
            progress(1.0)
            return releases
        if only:  # hundreds of columns that stand alone
            releases += ask_again(ask, setting, releases, left * self.named.others)
            total, histograms = estimated(releases, setting)
            left = SAFE * (1 - spent_share(releases, setting))
        question = None if alone else pairs_question(histograms, total, setting, share=left, plan=self.plan, only=only)
        faint = 0.0 if question is None or setting.priors else pair_noise(len(question.marginals), total, setting)
        if question is not None and faint > HIDDEN:
            releases += ask_again(ask, setting, releases, left * SAFE)
            question = None
        elif question is not None and faint > FAINT:
            releases += self._as_seen(ask, question, releases, setting, progress, share=left, fitted=fitted)
            question = None
        if question is not None:
            releases += self._tables(ask, question, releases, setting, progress, first=left, share=left, fitted=fitted)
        progress(1.0)
        return releases

    def _wide(
        self,
        ask: Ask,
        releases: list[Any],
        histograms: Mapping[str, Histogram],
        total: float,
        setting: Setting,
        *,
        share: float,
    ) -> list[Any]:
        """Of a table of so many columns the pairs that depend most by themselves, then all pairs together, or where
        these are not seen to depend single columns again."""
        how: dict[str, Any] = {"plan": self.plan, "strongest": self.strongest}
        made = ask_strongest(ask, histograms, total, setting, share=share, **how)
        chosen = [m.columns for r in made if isinstance(r, CountsRelease) for m in r.question.marginals]
        look, seen = look_at_pairs(ask, histograms, total, setting, share=share, chosen=chosen, **how)
        made += look
        left = SAFE * share - spent_share(made, setting)
        if not seen:
            return [*made, *ask_again(ask, setting, releases, left)]
        return [*made, ask(wide_question(histograms, setting, share=left, plan=self.plan))]

    def _as_seen(
        self,
        ask: Ask,
        question: Counts,
        releases: list[Any],
        setting: Setting,
        progress: Progress,
        *,
        share: float,
        fitted: bool,
    ) -> list[Any]:
        """A first look at faint tables of pairs; then tables and single columns, by what was seen."""
        total, histograms = estimated(releases, setting)
        look = ask(asked_again(question, setting, share * SCOUT))
        part, rest = worth_of_tables(look, histograms, total, SCOUT), share * (1 - SCOUT)
        made = [look]
        if left := rest * part * SAFE:
            fainter = noisier(question, sqrt(share / left))
            made += self._tables(ask, fainter, releases, setting, progress, first=share, share=left, fitted=fitted)
        if part < 1:  # last, for all tables have groupings by the same histograms
            left = SAFE * share - spent_share(made, setting)
            made += ask_again(ask, setting, [*releases, *made], left)
        return made

    def _tables(
        self,
        ask: Ask,
        question: Counts,
        releases: Sequence[Any],
        setting: Setting,
        progress: Progress,
        *,
        first: float,
        share: float,
        fitted: bool,
    ) -> list[Any]:
        """Tables of pairs and of more columns; what the search for these leaves goes to the pairs again. ``first``: the
        share by which the question's groupings were chosen, which those of later tables fit."""
        total, histograms = estimated(releases, setting)
        publics: list[PublicCounts] = []
        ask = beside_priors(ask, setting.priors, publics, histograms)
        beyond = replace(self.beyond, order=self.order, rounds=self.rounds if self.order > 2 else 0)
        certain = self.named.taken(histograms, setting, total, share)
        retained = beyond.retained(setting, total, share - certain)
        pairs = ask(noisier(question, sqrt(share / (share - certain - retained))))
        made = [pairs]
        left = share - certain - retained - spent_share(made, setting)
        more = finer_tables(histograms, pairs, total, setting, first=first, share=left, plan=self.plan)
        made += [] if more is None else [ask(more)]
        named = named_question(
            histograms,
            total,
            setting,
            first=first,
            share=certain * SAFE,
            pairs=len(pairs.question.marginals),
            plan=self.plan,
            named=self.named,
        )
        made += [] if named is None else [ask(named)]
        if retained:
            progress(0.5)
            made += ask_beyond(
                ask,
                made,
                histograms,
                total,
                setting,
                publics,
                first=first,
                share=retained,
                plan=self.plan,
                rounds=beyond,
                fitted=fitted,
            )
            left = share * SAFE - spent_share(made, setting)
            made += [ask(asked_again(pairs.question, setting, left))] if left > LEFT * share else []
        return [*made, *publics]

    def fit(self, releases: Sequence[Any], setting: Setting, how: Fit) -> Product:
        """The mixture that agrees with all tables within their noise; its one-ways are the best estimates."""
        rng, device, progress = how.rng, how.device, how.progress
        total, histograms, tables, targets = said(releases, setting)
        target = setting.workload.target(setting.schema.target)
        tables, strongest = parted(releases, tables, self.plan, target)
        unseen = not targets and (bool(strongest and not tables) or nothing_seen(tables, histograms, total, setting))
        if not targets and not asked_together(tables, self.plan):  # half a million variances would fill memory
            targets = independence_targets(tables, histograms, total, setting)
        groups = refine(histograms, tables, targets)
        weights, probs, apart = np.ones(1), {}, None
        if unseen:  # a fit would follow noise
            probs = {n: np.bincount(groups[n], weights=h.mass)[None, :] / total for n, h in histograms.items()}
        else:
            weights, probs, apart = self._fitted(
                histograms, groups, tables, total, setting, targets, rng=rng, device=device, progress=progress
            )
        progress(1.0)
        limits = self.limits
        if strongest:
            parts = refine(histograms, [*tables, *strongest], targets)
            probs, groups = in_finer_groups(probs, groups, parts, histograms), parts
            limits = replace(limits, children=self.strongest.pairs)
        axes = tuple(axis(h, groups[n], probs[n]) for n, h in histograms.items())
        made = Product(total=total, weights=weights, axes=axes, misfit=apart)
        if unseen and not strongest:
            return made
        believed = strongest or (believed_tables(tables, targets) if tables else tables)
        first = area_levels(setting.schema)
        named = setting.workload.named_together
        made = with_conditionals(made, groups, believed, target, rng=rng, limits=limits, first=first, named=named)
        return replace(made, strata=area_strata(histograms, setting.schema, total))

    def _fitted(
        self,
        histograms: Mapping[str, Histogram],
        groups: Mapping[str, np.ndarray],
        tables: Sequence[CountsRelease],
        total: float,
        setting: Setting,
        targets: Sequence[PriorTable],
        *,
        rng: np.random.Generator,
        device: str,
        progress: Progress,
    ) -> tuple[np.ndarray, dict[str, np.ndarray], Mapping[str, float]]:
        """Component weights (B,), each column's group probabilities (B, G), and how far they are from the answers."""
        many = many_pairs(histograms, self.plan)
        few = sum(m.cells for r in tables for m in r.question.marginals) <= RICHER
        calmer, shrunk_by, loss_reduction = (
            (tables, 0.0, 0.0) if many or few else shrink_singular_values(tables, histograms, total)
        )
        problem, spans = lay_out(histograms, groups, calmer, total, targets)
        sizes = {n: c.size for n, c in setting.schema.measured().items() if setting.schema.columns[n].is_numeric}
        three = neighbours(histograms, groups, spans, sizes)
        problem = replace(
            problem, shrunk_by=shrunk_by, loss_reduction=problem.loss_reduction + loss_reduction, neighbours=three
        )
        ensembles = min(FEWER, self.options.ensembles) if many else self.options.ensembles
        options = replace(self.options, ensembles=ensembles)
        weights, probs = fit_mixture(problem, options, rng=rng, device=device, progress=progress)
        for span in spans.values():
            probs[:, span] = rake(weights, probs[:, span], problem.mass[span])
        own = problem if calmer is tables and not targets else lay_out(histograms, groups, tables, total)[0]
        return weights, {n: probs[:, s] for n, s in spans.items()}, misfit(own, weights, probs)


def said(
    releases: Sequence[Any], setting: Setting
) -> tuple[float, dict[str, Histogram], list[CountsRelease], list[PriorTable]]:
    """What a fit is made of: rows, the columns' histograms, the tables of more columns, what public tables add."""
    total, histograms = estimate_columns(releases, setting)
    tables = [r for r in releases if isinstance(r, CountsRelease) and r.question.purpose == TABLES]
    histograms = sharpen(histograms, [*tables, *area_releases(releases)], total)
    publics = [r for r in releases if isinstance(r, PublicCounts)]
    tables, targets = pooled_targets(tables, prior_targets(tables, publics, histograms, total))
    totals = stated_totals(setting.schema, rules=False)
    if totals is not None:
        histograms, tables, targets = with_totals(totals, histograms, tables, targets, total)
    return total, histograms, tables, targets


def axis(histogram: Histogram, groups: np.ndarray, probs: np.ndarray) -> Axis:
    """A model's column: group probabilities (B, G), expanded to leaves, to days and round numbers, by the histogram."""
    empty = np.bincount(groups, weights=histogram.mass)[groups] <= 0
    starts, mass = (
        histogram.starts,
        np.where(empty, histogram.widths * 1e-12, histogram.mass),
    )  # widths where nothing is known
    if histogram.density is not None:
        cut = histogram.density.cut(starts)
        leaf = np.searchsorted(starts, cut, side="right") - 1
        rows = histogram.density.rows(np.append(cut, histogram.cells).astype(float))
        mass = rows * (mass / np.bincount(leaf, weights=rows))[leaf]
        starts, groups = cut, groups[leaf]
    if histogram.heaping:  # within groups, which are better known than how round their numbers are
        starts, leaf, mass = scale_to_margins(starts, mass, histogram.cells, histogram.heaping, doubt=DOUBT)
        groups = groups[leaf]
    if histogram.calendar:
        before = np.bincount(groups, weights=mass)
        starts, leaf, mass = scale_to_margins(starts, mass, histogram.cells, histogram.calendar)
        groups = groups[leaf]
        probs = probs * (np.bincount(groups, weights=mass) / before)
        probs = probs / np.maximum(probs.sum(1, keepdims=True), 1e-9)
    within = within_groups(mass, groups)[1]
    return Axis(
        column=histogram.column,
        cells=histogram.cells,
        starts=starts,
        groups=groups,
        within=within.astype(np.float32),
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
        ask, setting, progress = run.ask, run.setting, run.progress
        progress(0.0)
        releases = ask_columns(ask, setting, share=SAFE, whole=True)
        progress(1.0)
        return releases

    def fit(self, releases: Sequence[CountsRelease], setting: Setting, how: Fit) -> Product:
        """The product of the columns' estimated distributions; ``rng`` and ``device`` are not needed."""
        progress = how.progress
        total, histograms = estimated(releases, setting)
        axes = []
        for histogram in histograms.values():
            leaves = np.arange(len(histogram.mass))
            axes.append(axis(histogram, leaves, histogram.mass[None, :] / total))
        progress(1.0)
        return Product(total=total, weights=np.ones(1), axes=tuple(axes))
