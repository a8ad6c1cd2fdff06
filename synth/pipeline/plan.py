"""What can be said of a run before any row is read: noise, expected error, time, memory; what priors are worth.

The method's questions are asked of a stand-in (rehearsal.py): a table of the given size, or related ones, in which
every value is as likely as another and columns are independent; with priors the trees are drawn from the public ones.
Questions that adapt to answers (merged bins) may therefore differ in the real run; noise scales and costs are close,
and exact where nothing adapts.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, pairwise
from math import exp, inf, log, pi, prod, sqrt
from os import PathLike
from statistics import fmean
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Run
from synth.generators.core.planning import FINE, made_by_noise
from synth.generators.core.search import BASE, SEARCH, Rounds
from synth.generators.method import Method
from synth.mechanisms import counts, linked
from synth.mechanisms import values as stability
from synth.pipeline import rehearsal
from synth.pipeline.budget import mechanisms, setting
from synth.pipeline.learn_schema import CLEAR, lacking, noise_of
from synth.pipeline.methods import check_pure, generator_named, granted
from synth.pipeline.plan_result import Errors, LearningForecast, Plan, PlannedQuestion, PriorWorth, UseForecast
from synth.pipeline.priors import encoded, stated
from synth.pipeline.rehearsal import Pretend, rehearse
from synth.pipeline.reporting import Quiet
from synth.pipeline.request import RefitRequest, RunRequest, check_num_rows
from synth.pipeline.run import fit_and_sample
from synth.pipeline.schema_approval import adjacency_of, check_left, learning_share, to_learn, with_target
from synth.pipeline.uses import tables_of, with_uses
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import Event, division
from synth.privacy.accounting.guarantee import check
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import relation_named
from synth.questions import Counts, Linked, LinkedRelease, Marginal, Nearest, Search
from synth.questions import Step as DescentStep
from synth.questions.linked import placed
from synth.release.card.card import meaning
from synth.schema import uses as named
from synth.schema.dataset import Dataset, check_schema, taken
from synth.schema.grouping import coarse
from synth.schema.table import CATEGORICAL, Schema
from synth.schema.uses import MeansUse

# Seconds and bytes, set by runs on two idle cores (`make bench-plan`); those of the fit between simulated tables and
# real ones (benchmarks/repeated_runs.py), whose columns depend so much that a fit goes on longer. No promise.
SECONDS_START = 0.8
SECONDS_PER_CELL_READ = 4e-7
SECONDS_PER_ROW_AND_TABLE = 8e-9
SECONDS_OF_FIT, SECONDS_PER_CELL_FITTED, LONGEST_FIT = 2.2, 1.6e-4, 14.0  # a fit of more cells takes fewer steps
SECONDS_PER_CELL_LAID = 1e-5  # counted, laid out, looked at for columns that are drawn again
GROWN, ROUND = 0.5, 0.25  # of a search that little noise lets find more (`_searched`): a quick fit's part of a fit
TOGETHER = 10_000  # pairs, beyond which they are counted and fitted together; for two of their bins and a table:
SECONDS_PER_ROW_AND_BIN2, SECONDS_PER_BIN2, SECONDS_PER_TABLE = 1.2e-11, 1e-5, 1.2e-4
SECONDS_PER_DISTANCE = 1.2e-9  # of a row to a candidate, in a column
ROWS_A_CHUNK, SECONDS_PER_CHUNK, SECONDS_PER_WEIGHT = 128, 0.01, 1.5e-6  # of descents, by eye
BYTES_START = 450e6
BYTES_PER_CELL_READ = 60


LADDER = (0.1, 0.3, 1.0, 3.0, 10.0)  # at which a forecast is shown beside the one asked for
LEAST, MOST, HALVINGS = 0.01, 20.0, 10  # of an epsilon that is looked for
MOST_STAND_IN = 20_000  # rows of a stand-in that priors are tried on; noise is in proportion to the rows there would be
FITS = 4  # mixtures of an ensemble in a rehearsal; more and tables of three columns move its figures little
MOST_PAIRS = 200  # of columns that are compared; of more a seeded choice
NEEDED = "it is rehearsed on public rows: name a public table or an earlier release with `prior=`"
VIEWS = {
    "siblings": "siblings",
    "steps": "from one event to the next",
    "far": "half a history later",
    "first": "first events",
    "last": "last events",
}


@dataclass(frozen=True, kw_only=True)
class _Forecast:
    """What a method asks within one grant: its questions, what they cost, tables of columns by the columns' names with
    the rows that each counts, and what else is said of such a run."""

    steps: list[PlannedQuestion]
    events: Sequence[Event]
    tables: list[tuple[frozenset[str], Marginal, float]]
    more: dict[str, Any] = field(default_factory=dict)


def plan(
    schema: Schema | Dataset,
    *,
    rows: int,
    epsilon: float,
    delta: float = 1e-5,
    method: str = "mixture",
    relation: str = "add_remove",
    target: str | None = None,
    options: Mapping[str, Any] | None = None,
    uses: str | Sequence[str | Mapping[str, Any]] = (),
    epsilons: Sequence[float] = (),
    error: float | None = None,
    prior: Sequence[str | PathLike[str]] = (),
    prior_reason: str | Sequence[str] | None = None,
    learn_share: float | None = None,
    ledger: Any = None,
) -> Plan:
    """The forecast of a run on about ``rows`` rows of a ``schema``. Touches no data.

    ``rows``: of related tables, of the root; of a table whose persons keep their rows, persons. ``epsilons``: at which
    uses are forecast as well. ``error``: a share of rows that would have to change, or of means so many standard
    deviations, for which the least epsilon of each use is looked for. ``prior``, ``prior_reason``: as of ``run``; the
    run is rehearsed on the priors' own rows, with and without them (``Plan.prior``). ``ledger``: as of ``run``; it
    tells what the choice of an earlier release costs that is a prior. ``learn_share``: as of ``run``, below 1; the rest
    is forecast with made-up facts in place of those to be learnt, without priors. ``epsilon``, ``delta``, ``method``,
    ``relation``, ``target``, ``options``, ``uses``: as of ``run``. Errors of the forecast are shares of rows, 0 to 1;
    noise is in rows; time in seconds, memory in MiB. Errors: UsageError; InputError for an unusable prior.

    Privacy: public only.
    """
    check_schema(schema, tree=True)
    check(epsilon, delta, pure=True)
    check_num_rows(rows)
    bare, share = _to_be_learnt(with_target(schema, target), learn_share)
    facts, link = taken(bare), relation_named(relation)
    generator = generator_named(method, link, options, tree=facts.tree is not None)
    if delta == 0:
        check_pure(generator)
    adjacency = adjacency_of(facts, link)
    grant, learning = granted(epsilon, delta, adjacency, learning=share > 0), None
    before: tuple[Event, ...] = ()
    facts = with_uses(facts, uses)
    if error is not None and not facts.uses:
        raise UsageError("`error=`: the least epsilon is looked for use by use; name what the table is for (`uses=`)")
    named = stated([str(p) for p in prior], prior_reason, facts, generator, ledger=ledger)
    if share:
        named = ()  # what they are worth shows under a complete schema alone
        facts, learning, before, grant = _learnt(generator, facts, grant, share)
    table, priors = facts.tables[facts.root], encoded(named, facts)
    if facts.tree is not None:
        of: Callable[..., _Forecast] = partial(_of_tree, generator, Pretend.of(facts, rows, priors=priors), roots=rows)
    elif table.measured():
        of = partial(_of_one, generator, table, rows=rows)
    else:
        raise UsageError("every column is an identifier; there is nothing to plan")

    def at(other: float) -> list[UseForecast]:
        return _by_use(facts, of(granted(other, delta, adjacency, learning=False)).tables, other)

    first, each = of(grant), sorted({epsilon, *(epsilons if facts.uses else ())})
    unit = None if facts.tree is None else facts.tree.unit_in_words
    return Plan(
        method=generator.name,
        relation=str(link),
        unit=unit,
        epsilon=epsilon,
        delta=delta,
        rows=rows,
        mu=grant.mu,
        sensitivity=counts.sensitivity(adjacency) if unit is None else linked.sensitivity(adjacency),
        meaning=meaning(epsilon, about=unit or adjacency.whose, relation=str(adjacency.relation)),
        steps=first.steps,
        budget=division([e.plain() for e in (*before, *first.events)]),
        learning=learning,
        uses=[one for e in each for one in (_by_use(facts, first.tables, e) if e == epsilon else at(e))],
        least_epsilon={} if error is None else least(at, error),
        prior=_worth(table, priors, generator, (grant,), rows)[0] if named and facts.tree is None else None,
        **first.more,
    )


def _of_one(generator: Method, schema: Schema, grant: Grant, rows: int) -> _Forecast:
    """Of a single table, rehearsed once."""
    questions, events = rehearse(generator, schema, grant, rows=rows)
    asked = averaged(questions)
    tables = [q for q, _ in asked if isinstance(q, Counts)]
    each = [m for q in tables for m in q.marginals]
    marginals = list({tuple(id(b) for b in m.bins): m for m in each}.values())
    pairs = [m for m in marginals if len(m.bins) == 2]
    # Later one-way tables only refine parts of a wide range, whose error the first ones already hold.
    one = [_error(m, rows) for m in tables[0].marginals if len(m.bins) == 1] if tables else []
    searched = _searched(asked, rows, int(getattr(generator, "rounds", 0)))
    seconds = _seconds(marginals, rows, len(schema.measured()), *searched)
    return _Forecast(
        steps=[_step(q, cells) for q, cells in asked],
        events=events,
        tables=[(frozenset(m.columns), m, float(rows)) for m in each],
        more={
            "error_one_way": fmean(one) if one else 0.0,
            "error_two_way": fmean(_error(m, rows) for m in pairs) if pairs else None,
            "cells_two_way": float(np.mean([m.cells for m in pairs])) if pairs else None,
            "seconds": seconds + sum(f([q for q, _ in asked], rows) for f in (_training, _voting)),
            "peak_mib": (BYTES_START + BYTES_PER_CELL_READ * rows * len(schema.measured())) / 2**20,
        },
    )


def _of_tree(generator: Method, pretend: Pretend, grant: Grant, roots: int) -> _Forecast:
    """Of related tables: answers of the stand-in's trees, scaled to as many as are expected, with noise of the asked
    scale; with priors, what is left beside them is said too."""
    noise, asked = SeededNoise(0), replace(setting(pretend.schema, grant, public_rows=None), priors=pretend.priors)
    scale = roots / pretend.rows.num_roots

    def ask(question: Linked) -> LinkedRelease:
        exact = linked.exact(question, pretend.rows)
        values = [
            np.rint(scale * e.reshape(m.shape) / linked.UNIT) + noise.gaussian_counts(m.shape, sigma=max(m.sigma, 1.0))
            for m, e in zip(question.marginals, exact, strict=True)
        ]
        return LinkedRelease(question=question, values=tuple(values))

    answers = generator.measure(Run(ask, asked))
    releases = [r for r in answers if isinstance(r, LinkedRelease)]
    parts = getattr(generator, "noise_left", None) if pretend.priors else None
    left = {} if parts is None else parts(answers, asked)
    steps: dict[tuple[str, str], list[tuple[Marginal, float, Any]]] = {}
    tables = []
    for question, marginal, values in ((r.question, *a) for r in releases for a in r.items()):
        total = float(max(values.sum(), 1.0))  # the roots that it counts
        part = left.get((question.table, question.view, marginal.columns))
        steps.setdefault((question.table, _about(question, marginal)), []).append((marginal, total, part))
        if question.view == "rows":
            tables.append((frozenset(f"{t}.{c}" for t, c, _ in map(placed, marginal.columns)), marginal, total))
    return _Forecast(
        steps=[_step_of_table(table, about, own) for (table, about), own in steps.items()],
        events=[e for r in releases for e in linked.events(r.question, grant.adjacency)],
        tables=tables,
        more={"like": pretend.twin.name if pretend.twin else None},
    )


def _step(question: Any, cells: int) -> PlannedQuestion:
    noise = getattr(question, "sigma", None) or getattr(question, "scale", None)
    sigmas = [m.sigma for m in question.marginals] if isinstance(question, Counts) else [float(noise)]  # type: ignore[arg-type]
    return PlannedQuestion(
        purpose=question.purpose, tables=len(sigmas), cells=cells, sigma_least=min(sigmas), sigma_most=max(sigmas)
    )


def _step_of_table(table: str, about: str, asked: Sequence[tuple[Marginal, float, Any]]) -> PlannedQuestion:
    beside = [_error(m, total) * float(np.mean(part)) for m, total, part in asked if part is not None]
    return PlannedQuestion(
        table=table,
        purpose=about,
        tables=len({m.columns for m, _, _ in asked}),  # answers decide which of them are asked twice
        cells=sum({m.columns: m.cells for m, _, _ in asked}.values()),
        sigma_least=min(m.sigma for m, _, _ in asked),
        sigma_most=max(m.sigma for m, _, _ in asked),
        error=float(np.mean([_error(m, total) for m, total, _ in asked])),
        beside=float(np.mean(beside)) if beside else None,
    )


def averaged(asked: Sequence[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """The questions, a table that was asked before on the same bins with the noise of the average that it completes."""
    known: dict[tuple[int, ...], float] = {}
    out = []
    for question, cells in asked:
        if isinstance(question, Counts):
            marginals = []
            for m in question.marginals:
                bins = tuple(id(b) for b in m.bins)
                known[bins] = sqrt(1 / (m.sigma**-2 + known.get(bins, inf) ** -2))
                marginals.append(replace(m, sigma=known[bins]))
            question = replace(question, marginals=tuple(marginals))
        out.append((question, cells))
    return out


def _about(question: Linked, marginal: Marginal) -> str:
    """What a table is about, in words."""
    if question.view in VIEWS:
        return VIEWS[question.view]
    if len(marginal.bins) == 1:
        return "single columns"
    owners = {placed(b.column)[0] for b in marginal.bins}
    above = ", ".join(sorted(owners - {question.table}))
    return f"with {above}" if above else "pairs of columns"


def _error(marginal: Marginal, total: float) -> float:
    """Total variation that noise alone puts into a table: no cell loses more than it holds."""
    each = min(marginal.sigma * sqrt(2 / pi), 2 * total / marginal.cells)
    return min(0.5 * marginal.cells * each / total, 1.0)


def _means_off(marginals: Sequence[tuple[Marginal, float]], numbers: Collection[str]) -> float:
    """How far noise alone puts a group's mean off, in deviations of the number, whose bins and groups have equal rows:
    then the squared distances of bins from the mean are 1 on average."""
    bins = [next(b.size for b in m.bins if b.column in numbers) for m, _ in marginals]
    each = [sqrt(2 / pi / k) * m.cells * m.sigma / rows for (m, rows), k in zip(marginals, bins, strict=True)]
    return float(np.mean(each))


def _by_use(
    schema: Schema | Dataset, tables: Sequence[tuple[frozenset[str], Marginal, float]], epsilon: float
) -> list[UseForecast]:
    """What each use gets of these tables: the mean over its own; of related ones over their tables of two columns."""
    known: dict[frozenset[str], tuple[Marginal, float]] = {}
    for names, marginal, total in tables:
        if names not in known or _error(marginal, total) < _error(*known[names]):
            known[names] = (marginal, total)
    out = []
    for use, (words, wanted) in zip(schema.uses or (), tables_of(schema), strict=True):
        needed = wanted if schema.tree is None else named.pairs(wanted)
        counted = [known[frozenset(t)] for t in needed if frozenset(t) in known]
        cells = float(np.mean([m.cells for m, _ in counted])) if counted else 0.0
        total = float(np.mean([t for _, t in counted])) if counted else 1.0
        every = len(counted) == len(needed)
        out.append(
            UseForecast(
                use=words,
                epsilon=epsilon,
                error=float(np.mean([_error(*c) for c in counted])) if counted and every else None,
                second=min(1.0, 0.5 * sqrt(4 / pi / total * max(cells - 1, 0.0))),
                tables=len(needed),
                cells=cells,
                faint=schema.tree is not None and not every,
                means=_means_off(counted, use.of)
                if counted and schema.tree is None and isinstance(use, MeansUse)
                else None,
            )
        )
    return out


def least(at: Callable[[float], Sequence[UseForecast]], error: float) -> dict[str, float | None]:
    """For each use the least epsilon at which for noise no more than ``error`` of the rows would have to change, or
    means are no more than so many standard deviations off.

    ``at``: what each use gets at an epsilon. None where none up to ``MOST`` does. Errors: UsageError for an error
    outside 0 to 1.

    Privacy: public only.
    """
    if not 0 < error < 1:
        raise UsageError("`error={}`: must lie between 0 and 1, a share of the rows; 0.05 is usual", error)
    known: dict[float, Sequence[UseForecast]] = {}

    def enough(epsilon: float, use: int) -> bool:
        if epsilon not in known:
            known[epsilon] = at(epsilon)
        one = known[epsilon][use]
        return one.error is not None and (one.error if one.means is None else one.means) <= error

    epsilons: dict[str, float | None] = {}
    known[MOST] = at(MOST)
    for i, one in enumerate(known[MOST]):
        low, high = log(LEAST), log(MOST)
        if not enough(MOST, i):
            epsilons[one.use] = None
            continue
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if enough(round(exp(middle), 3), i) else (middle, high)
        epsilons[one.use] = round(exp(high), 3)
    return epsilons


def _to_be_learnt(schema: Any, asked: float | None) -> tuple[Any, float]:
    """The schema without what nobody confirms, and the share of the budget for it.

    Errors: UsageError, InputError.
    """
    if asked is None:
        return schema, 0.0
    check_left(asked)
    bare = to_learn(schema, False, lambda _: None)
    return bare, learning_share(bare, asked)


def _learnt(
    questions: Method, schema: Schema | Dataset, grant: Grant, share: float
) -> tuple[Schema | Dataset, LearningForecast, tuple[Event, ...], Grant]:
    """A schema with made-up facts, what is said of learning them, its price, and the grant that is left.

    Errors: UsageError for what the run would be refused for. Privacy: public only.
    """
    own, mu = rehearsal.share(grant, share, failures=True, alone=False), grant.mu * sqrt(share)
    complete, events = rehearsal.learning(questions, schema, own, mu)
    names = lacking(schema)
    words = sum(schema.all_columns[n].type in CATEGORICAL for n in names)
    sigma = noise_of(len(names), grant.adjacency, mu=mu)
    part = {"sigma": sigma, "failure_delta": grant.failure_delta / max(words, 1)}
    said = LearningForecast(
        share=share,
        epsilon=epsilon_of(events, own.left_delta),
        columns=names,
        category=stability.threshold(grant.adjacency, **part) if words else None,
        bound=CLEAR * sigma,
        seen=grant.adjacency.max_rows,
    )
    return complete, said, events, rehearsal.share(grant, 1 - share, failures=False, alone=False)


def worth(
    schema: Schema, prior: Sequence[Any], *, rows: int, epsilons: Sequence[float], delta: float, **options: Any
) -> list[PriorWorth]:
    """What the priors are worth on about ``rows`` rows, for each epsilon. Opens no private table.

    ``schema``: complete; ``epsilons``: each above 0; ``prior``, ``delta``, ``options``: as of ``run``. Errors:
    UsageError, InputError as of a run with these priors.

    Privacy: public only: its rows are drawn from the priors.
    """
    asked = RunRequest(**{"epsilon": max(epsilons, default=1.0), "delta": delta, "prior": prior, **options})
    link = relation_named(asked.relation)
    generator, adjacency = generator_named(asked.method, link, asked.options), adjacency_of(schema, link)
    known = encoded(stated(asked.prior, asked.prior_reason, schema, generator, ledger=asked.ledger), schema)
    grants = [granted(e, delta, adjacency, learning=False) for e in epsilons]
    return _worth(schema, known, generator, grants, rows)


def _worth(
    schema: Schema, priors: Sequence[Any], generator: Method, grants: Sequence[Grant], rows: int
) -> list[PriorWorth]:
    """The run rehearsed on the priors' own rows, with and without them, for each grant.

    The private table is taken for another sample of the people of whom the prior is one. Where it is, the figures are
    what a run reaches; where it is not, the method sees that in its noisy answers and uses less of the prior, down to
    the figure without.
    """
    if not priors:
        raise UsageError(NEEDED)
    rng, size, quick = np.random.default_rng(0), min(rows, MOST_STAND_IN), _quick(generator)
    pretend = Pretend.of(schema, size, priors=priors, rng=rng)
    twin = pretend.twin
    names = [n for n in schema.measured() if n in twin.columns]
    alone = apart(pretend.rows, twin.drawn_again(rng=rng).rows, schema, names)
    out = []
    for grant in grants:
        scaled = replace(grant, mu=grant.mu * rows / size)  # the same noise in parts of the rows
        without, beside = (
            apart(pretend.rows, _made(quick, replace(pretend, priors=p), scaled), schema, names)
            for p in ((), pretend.priors)
        )
        facts: dict[str, Any] = {"like": twin.name, "columns": len(names), "alone": alone}
        out.append(PriorWorth(epsilon=grant.epsilon, without=without, beside=beside, **facts))
    return out


def _quick(generator: Any) -> Any:
    """The method with a smaller ensemble, and without searches for larger tables: seconds instead of minutes."""
    fit = getattr(generator, "options", None)
    if fit is None or not hasattr(fit, "ensembles"):
        return generator
    return replace(generator, rounds=0, options=replace(fit, ensembles=min(fit.ensembles, FITS)))


def _made(generator: Any, pretend: Pretend, grant: Grant) -> dict[str, np.ndarray]:
    """Rows of one rehearsed run, as positions; its noise is seeded, for it protects nobody."""
    rows = len(next(iter(pretend.rows.values())))
    session = Curator(
        grant=grant, commit=lambda: None, read=lambda: pretend.rows, mechanisms=mechanisms(), noise=SeededNoise(0)
    )
    told = setting(pretend.schema, grant, public_rows=rows if grant.adjacency.rows_are_public else None)
    releases = generator.measure(Run(session.ask, replace(told, priors=pretend.priors), Quiet().progress))
    session.close()
    made = fit_and_sample(generator, releases, told, Quiet(), RefitRequest(release="", seed=0, num_rows=1))
    drawn: dict[str, np.ndarray] = made.model.sample(rows, rng=np.random.default_rng(1))
    return drawn


def apart(
    real: Mapping[str, np.ndarray], made: Mapping[str, np.ndarray], schema: Schema, names: Sequence[str]
) -> Errors:
    """Mean share of rows that would have to change, of single columns and of pairs, as Review shows it.

    ``real``, ``made``: positions by column; columns are gathered into groups by the first.
    """
    groups = {n: coarse(schema.columns[n], real[n]) for n in names}
    codes = [{n: g.take(rows[n]) for n, g in groups.items()} for rows in (real, made)]
    sizes = {n: len(g.labels) for n, g in groups.items()}
    one = fmean(_distance([c[n] for c in codes], sizes[n]) for n in names)
    pairs = list(combinations(names, 2))
    if len(pairs) > MOST_PAIRS:
        rng = np.random.default_rng(0)
        pairs = [pairs[i] for i in rng.choice(len(pairs), MOST_PAIRS, replace=False)]
    two = [_distance([c[a] * sizes[b] + c[b] for c in codes], sizes[a] * sizes[b]) for a, b in pairs]
    return Errors(columns=one, pairs=fmean(two) if two else None)


def _distance(codes: Sequence[np.ndarray], cells: int) -> float:
    first, second = (np.bincount(c, minlength=cells) / max(len(c), 1) for c in codes)
    return float(0.5 * np.abs(first - second).sum())


def _training(asked: Sequence[Any], rows: int) -> float:
    """Seconds of the descents among the questions: chunks of rows, each dearer the more weights a network has."""
    plans = {id(q.descent): q.descent for q in asked if isinstance(q, DescentStep)}
    chunks = [d.steps * (d.rate * rows / ROWS_A_CHUNK + 1) for d in plans.values()]
    each = [SECONDS_PER_CHUNK + SECONDS_PER_WEIGHT * d.weights for d in plans.values()]
    return float(np.dot(chunks, each))


def _voting(asked: Sequence[Any], rows: int) -> float:
    """Seconds in which rows look for the nearest of the questions' candidates."""
    return SECONDS_PER_DISTANCE * rows * sum(q.candidates.size for q in asked if isinstance(q, Nearest))


def _searched(asked: Sequence[tuple[Any, int]], rows: int, most: int) -> tuple[int, int]:
    """Rounds of search, ``most`` at most, that the rehearsal has not seen, and the cells of the tables they will count.

    A rehearsal's first round finds nothing. Where noise bears more rounds than the usual two (``Rounds.grown``), a real
    table's search goes on, with tables that their larger share makes finer.
    """
    paired = max((cells for question, cells in asked if isinstance(question, Counts)), default=1)
    for (search, _), (counted, cells) in pairwise(asked):
        if isinstance(search, Search) and search.purpose == SEARCH and isinstance(counted, Counts):
            usual = Rounds(rounds=most)
            alone = counted.marginals[0].sigma * sqrt(usual.first / search.picks)  # were this table the only one
            noise = made_by_noise(FINE**3, alone, rows)
            rounds = max(0, usual.grown(noise, len(search.tables) * rows, paired).rounds - BASE)
            return rounds, int(rounds * GROWN * cells)
    return 0, 0


def _seconds(marginals: Sequence[Marginal], rows: int, columns: int, rounds: int, found: int) -> float:
    cells = sum(prod(m.shape) for m in marginals) + found
    start = SECONDS_START + SECONDS_PER_CELL_READ * rows * columns
    if len(marginals) > TOGETHER:  # all as one product of matrices, fitted as one matrix
        side = sum({b.column: b.size for m in marginals for b in m.bins if len(m.bins) == 2}.values())  # the last ones
        return (
            start + SECONDS_PER_TABLE * len(marginals) + (SECONDS_PER_ROW_AND_BIN2 * rows + SECONDS_PER_BIN2) * side**2
        )
    counting = SECONDS_PER_ROW_AND_TABLE * rows * len(marginals)
    fitted = SECONDS_OF_FIT if any(len(m.bins) > 1 for m in marginals) else 0.0
    fitted += min(SECONDS_PER_CELL_FITTED * cells, LONGEST_FIT)
    fitted += rounds * ROUND * min(SECONDS_PER_CELL_FITTED * (cells - found), LONGEST_FIT)
    return start + counting + fitted + SECONDS_PER_CELL_LAID * cells
