"""What can be said of a run before any row is read: noise, expected error, time, memory.

The generator's questions are asked of a stand-in: a table of the given size in which every column is uniform and
independent. Questions that adapt to answers (merged bins) may therefore differ in the real run; noise scales
and costs are close, and exact where nothing adapts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import prod, sqrt
from os import PathLike
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.generators.core.planning import FINE, made_by_noise
from synth.generators.core.search import BASE, SEARCH, Rounds
from synth.mechanisms import counts
from synth.pipeline.learning_forecast import rehearsed, to_be_learnt
from synth.pipeline.methods import check_pure, generator_named, granted
from synth.pipeline.plan_result import LearningForecast, Plan, PlannedQuestion
from synth.pipeline.prior_worth import worth
from synth.pipeline.priors import encoded, stated
from synth.pipeline.rehearsal import rehearse
from synth.pipeline.related_forecast import RelatedForecast, forecast
from synth.pipeline.request import check_num_rows
from synth.pipeline.schema_approval import adjacency_of, with_target
from synth.pipeline.uses import with_uses
from synth.pipeline.uses_forecast import Forecaster, averaged, least, noise_error
from synth.pipeline.uses_forecast import forecast as forecast_of
from synth.privacy.accounting import composition
from synth.privacy.accounting.division import division
from synth.privacy.accounting.events import Event
from synth.privacy.curator import Grant
from synth.privacy.relation import relation_named
from synth.questions import Counts, Marginal, Search
from synth.questions import Step as DescentStep
from synth.release.card.card import meaning
from synth.schema.dataset import Dataset
from synth.schema.given import check_schema
from synth.schema.persons import taken
from synth.schema.table import Schema

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
ROWS_A_CHUNK, SECONDS_PER_CHUNK, SECONDS_PER_WEIGHT = 128, 0.01, 1.5e-6  # of descents, by eye
BYTES_START = 450e6
BYTES_PER_CELL_READ = 60


def plan(
    schema: Schema | Dataset,
    *,
    rows: int,
    epsilon: float,
    delta: float,
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
) -> Any:
    """The forecast of a run on about ``rows`` rows of a ``schema``. Touches no data.

    ``rows``: of related tables, of the root; of a table whose persons keep their rows, persons.

    A ``Plan``, or a ``RelatedForecast``. ``epsilons``: at which uses are forecast as well. ``error``: a share
    of rows in the wrong place, or of means so many standard deviations, for which the least epsilon of each use is
    looked for. ``prior``, ``prior_reason``: as
    of ``run``; the run is rehearsed on the priors' own rows, with and without them (``Plan.prior``). ``ledger``: as of
    ``run``; it tells what the choice of an earlier release costs that is a prior. ``learn_share``:
    as of ``run``, below 1; the rest is forecast with made-up facts in place of those to be learnt, without priors.
    Errors: UsageError; InputError for an unusable prior.

    ``epsilon``, ``delta``, ``method``, ``relation``, ``target``, ``options``, ``uses``: as of ``run``. Errors of the
    forecast are shares of rows, 0 to 1; noise is in rows; time in seconds, memory in MiB.

    Privacy: public only.
    """
    check_schema(schema, tree=True)
    composition.check(epsilon, delta, pure=True)
    check_num_rows(rows)
    bare, share = to_be_learnt(with_target(schema, target), learn_share)
    facts, link = taken(bare), relation_named(relation)
    generator = generator_named(method, link, options, tree=facts.tree is not None)
    if delta == 0:
        check_pure(generator)
    adjacency = adjacency_of(facts, link)
    grant, learning = granted(epsilon, delta, adjacency, learning=share > 0), None
    before: tuple[Event, ...] = ()
    facts = with_uses(facts, uses)
    _check_error(facts, error)
    if share:
        stated([str(p) for p in prior], prior_reason, facts, generator, ledger=ledger)
        prior = ()  # what it is worth shows under a complete schema alone
        facts, learning, before, grant = rehearsed(generator, facts, grant, share)
    tree, table = facts.tree, facts.tables[facts.root]
    if tree is not None:
        priors: Any = encoded(stated([str(p) for p in prior], prior_reason, tree, generator, ledger=ledger), tree)
        return _of_tree(
            partial(forecast, tree, generator, roots=rows, priors=priors, before=before),
            lambda e: granted(e, delta, adjacency, learning=False),
            grant,
            delta=delta,
            learning=learning,
            epsilons=epsilons if facts.uses else (),
            error=error,
        )
    if not table.measured():
        raise UsageError("every column is an identifier; there is nothing to plan")
    named = Forecaster(generator=generator, schema=table, adjacency=adjacency, rows=rows, delta=delta)
    alone = _of_one(
        named, grant, before, method=method, relation=str(link), epsilons=epsilons, learning=learning, error=error
    )
    if not prior:
        return alone
    how: dict[str, Any] = {
        "method": method,
        "relation": relation,
        "options": options,
        "prior_reason": prior_reason,
        "ledger": ledger,
    }
    return replace(alone, prior=worth(table, prior, epsilons=(epsilon,), rows=rows, delta=delta, **how)[0])


def _of_tree(
    forecast_of: Callable[[Grant], RelatedForecast],
    at: Callable[[float], Grant],
    grant: Grant,
    *,
    delta: float,
    learning: LearningForecast | None,
    epsilons: Sequence[float],
    error: float | None,
) -> RelatedForecast:
    """The forecast of related tables, and what their uses get at other epsilons."""
    result = forecast_of(grant)
    others = [one for e in {*epsilons} - {grant.epsilon} for one in forecast_of(at(e)).uses]
    return replace(
        result,
        delta=delta,
        learning=learning,
        uses=sorted([*result.uses, *others], key=lambda u: u.epsilon),
        least_epsilon={} if error is None else least(lambda e: forecast_of(at(e)).uses, error),
    )


def _of_one(
    named: Forecaster,
    grant: Grant,
    before: tuple[Event, ...],
    *,
    method: str,
    relation: str,
    epsilons: Sequence[float],
    learning: LearningForecast | None,
    error: float | None,
) -> Plan:
    """The forecast of a single table, rehearsed once. ``before``: what learning takes of the budget."""
    facts, rows, epsilon, adjacency = named.schema, named.rows, grant.epsilon, named.adjacency
    questions, events = rehearse(named.generator, facts, grant, rows=rows)
    asked = averaged(questions)
    tables = [q for q, _ in asked if isinstance(q, Counts)]
    marginals = list({_bins(m): m for q in tables for m in q.marginals}.values())
    return Plan(
        method=method,
        relation=relation,
        epsilon=epsilon,
        delta=named.delta,
        rows=rows,
        mu=grant.mu,
        sensitivity=counts.sensitivity(adjacency),
        meaning=meaning(epsilon, about="row" if adjacency.by_row else "person", relation=str(adjacency.relation)),
        steps=[_step(q, cells) for q, cells in asked],
        budget=division([e.plain() for e in (*before, *events)]),
        learning=learning,
        **_errors(tables, marginals, rows),
        seconds=_time(asked, marginals, facts, rows, int(getattr(named.generator, "rounds", 0))),
        peak_mib=(BYTES_START + BYTES_PER_CELL_READ * rows * len(facts.measured())) / 2**20,
        uses=_by_use(named, asked, epsilon, epsilons),
        least_epsilon={} if error is None else least(named.at, error),
    )


def _by_use(
    named: Forecaster, asked: Sequence[tuple[Any, int]], epsilon: float, epsilons: Sequence[float]
) -> list[Any]:
    """What each use gets at ``epsilon``, of which ``asked`` was rehearsed, and at the others, in rising order."""
    at = sorted({epsilon, *(epsilons if named.schema.uses else ())})
    rehearsed = forecast_of(named.schema, asked, rows=named.rows, epsilon=epsilon)
    return [one for e in at for one in (rehearsed if e == epsilon else named.at(e))]


def _check_error(facts: Schema | Dataset, error: float | None) -> None:
    if error is not None and not facts.uses:
        raise UsageError("`error=`: the least epsilon is looked for use by use; name what the table is for (`uses=`)")


def _time(
    asked: Sequence[tuple[Any, int]], marginals: Sequence[Marginal], facts: Schema, rows: int, most: int
) -> float:
    """Seconds of a run; ``most``: rounds of a search."""
    fitted = _seconds(marginals, rows, len(facts.measured()), *_searched(asked, rows, most))
    return fitted + _training([q for q, _ in asked], rows)


def _errors(tables: Sequence[Counts], marginals: Sequence[Marginal], rows: int) -> dict[str, Any]:
    """What noise alone puts into tables of one and of two columns, and how many cells the latter have.

    Later one-way tables only refine parts of a wide range, whose error the first ones already hold.
    """
    pairs = [m for m in marginals if len(m.bins) == 2]
    one = noise_error([m for m in tables[0].marginals if len(m.bins) == 1], rows) if tables else None
    two = noise_error(pairs, rows)
    cells = float(np.mean([m.cells for m in pairs])) if two is not None else None
    return {"error_one_way": one or 0.0, "error_two_way": two, "cells_two_way": cells}


def _bins(marginal: Marginal) -> tuple[int, ...]:
    return tuple(id(b) for b in marginal.bins)


def _step(question: Any, cells: int) -> PlannedQuestion:
    if not isinstance(question, Counts):
        noise = float(getattr(question, "sigma", None) or question.scale)
        return PlannedQuestion(purpose=question.purpose, tables=1, cells=cells, sigma_least=noise, sigma_most=noise)
    sigmas = [m.sigma for m in question.marginals]
    return PlannedQuestion(
        purpose=question.purpose, tables=len(sigmas), cells=cells, sigma_least=min(sigmas), sigma_most=max(sigmas)
    )


def _training(asked: Sequence[Any], rows: int) -> float:
    """Seconds of the descents among the questions: chunks of rows, each dearer the more weights a network has."""
    plans = {id(q.descent): q.descent for q in asked if isinstance(q, DescentStep)}
    chunks = [d.steps * (d.rate * rows / ROWS_A_CHUNK + 1) for d in plans.values()]
    each = [SECONDS_PER_CHUNK + SECONDS_PER_WEIGHT * d.weights for d in plans.values()]
    return float(np.dot(chunks, each))


def _searched(asked: Sequence[tuple[Any, int]], rows: int, most: int) -> tuple[int, int]:
    """Rounds of search, ``most`` at most, that the rehearsal has not seen, and the cells of the tables they will count.

    A rehearsal's first round finds nothing. Where noise bears more rounds than the usual two (``Rounds.grown``), a real
    table's search goes on, with tables that their larger share makes finer.
    """
    paired = max((cells for question, cells in asked if isinstance(question, Counts)), default=1)
    for (search, _), (reported, cells) in pairwise(asked):
        if isinstance(search, Search) and search.purpose == SEARCH and isinstance(reported, Counts):
            usual = Rounds(rounds=most)
            alone = reported.marginals[0].sigma * sqrt(usual.first / search.picks)  # were this table the only one
            noise = made_by_noise(FINE**3, alone, rows)
            rounds = max(0, usual.grown(noise, len(search.tables) * rows, paired).rounds - BASE)
            return rounds, int(rounds * GROWN * cells)
    return 0, 0


def _seconds(marginals: Sequence[Marginal], rows: int, columns: int, rounds: int, result: int) -> float:
    cells = sum(prod(m.shape) for m in marginals) + result
    start = SECONDS_START + SECONDS_PER_CELL_READ * rows * columns
    if len(marginals) > TOGETHER:  # all as one product of matrices, fitted as one matrix
        side = sum({b.column: b.size for m in marginals for b in m.bins if len(m.bins) == 2}.values())  # the last ones
        return (
            start + SECONDS_PER_TABLE * len(marginals) + (SECONDS_PER_ROW_AND_BIN2 * rows + SECONDS_PER_BIN2) * side**2
        )
    counting = SECONDS_PER_ROW_AND_TABLE * rows * len(marginals)
    fitted = SECONDS_OF_FIT if any(len(m.bins) > 1 for m in marginals) else 0.0
    fitted += min(SECONDS_PER_CELL_FITTED * cells, LONGEST_FIT)
    fitted += rounds * ROUND * min(SECONDS_PER_CELL_FITTED * (cells - result), LONGEST_FIT)
    return start + counting + fitted + SECONDS_PER_CELL_LAID * cells
