"""One generator fitted to several tables that stay where they are: each site's rows behind its own curator.

A method whose noise stands between critics and generator (B3 of arXiv 2309.15696) asks only for sums: of counts, and of
critics' gradients on generated rows. Each site answers them from its rows, under noise of its own, within a budget of
its own, charged to its own ledger; the generator follows the sums over the sites.

Proof note: synth/mechanisms/pulls.md.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any

import pandas as pd

from synth.errors import UsageError
from synth.generators import GENERATORS
from synth.generators.base import Ask, Run, Setting
from synth.generators.papers.teachers import Pulled
from synth.pipeline import same_rows
from synth.pipeline.charge import ChargedRun, charge
from synth.pipeline.prepare import requested
from synth.pipeline.private_rows import Source
from synth.pipeline.run import finish
from synth.privacy.ledger.ledger import Spend
from synth.privacy.ledger.policy import exact
from synth.questions import Counts, CountsRelease, Marginal, Pulls, PullsRelease, Teachers
from synth.release.card.card import Card
from synth.release.card.given import of_sites
from synth.schema import names
from synth.schema.dataset import ONE
from synth.schema.table import Schema

METHODS = tuple(n for n, g in GENERATORS.items() if isinstance(g, Pulled))


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where one part of the rows is: ``table`` as of ``synth.run``, charged to ``dataset`` in ``ledger``.

    Privacy: public only: names and places.
    """

    table: Source
    dataset: str
    ledger: str | Path


@dataclass(frozen=True, kw_only=True)
class Federated:
    """A table from one generator of several sites. ``spent``: by site its ledger's number of the charge.

    ``epsilon_derived``: by site the accountant's epsilon of all that it answered. ``card``: of the release, with a line
    for each site; ``paths``: its files by role, where a folder ``out`` was named.

    Privacy: released answers only.
    """

    table: pd.DataFrame
    model: Any
    spent: Mapping[str, int]
    epsilon_derived: Mapping[str, float]
    card: Mapping[str, Any]
    paths: Mapping[str, str]


def federated(
    sites: Mapping[str, Site],
    *,
    schema: Schema,
    epsilon: float,
    delta: float = 1e-5,
    method: str = "gs_wgan",
    **options: Any,
) -> Federated:
    """Fits one generator of the method to all sites' rows; each site spends (epsilon, delta) on its own.

    ``schema`` and ``options``: as of ``synth.run`` (``relation``, ``unit``, ``options``, ``out``, ``assume_public``,
    ``reporter`` and others), the same for every site. A person should be in one site: who is in two is in two runs.

    **Guarantee**: for each site all that leaves it is (epsilon, delta)-DP for the relation on its rows, whatever the
    other sites do; no site's rows or exact sums reach another, or the generator. Errors: UsageError, InputError,
    BudgetError before a site spends; SpentError afterwards, with the spend recorded at each site that spent.

    Privacy: reads rows, under noise, each site's by its own curator.
    """
    if len(sites) < 2 or method not in METHODS:
        raise UsageError(
            "a federated fit: takes two sites or more, and a method whose noise stands between critics and "
            "generator: {}",
            ", ".join(METHODS),
        )
    with ExitStack() as stack:
        runs: dict[str, ChargedRun] = {}
        for name, site in sites.items():
            own = {"dataset": site.dataset, "ledger": site.ledger, "method": method}
            request, context = requested(site.table, epsilon=epsilon, delta=delta, **own, **options)
            runs[name] = stack.enter_context(charge(request, schema, context))  # not charged yet
        spends: dict[tuple[str, str], Spend] = {}  # what no site's own check finds: budgets and rows that they share
        for run in runs.values():
            budget = run.plan.book.store.shown, names.canonical(run.plan.dataset)
            before, spend = spends.get(budget), run.spend
            sums = {n: float(exact([getattr(spend, n), getattr(before, n, 0)])) for n in ("epsilon", "delta")}
            spends[budget] = replace(spend, epsilon=sums["epsilon"], delta=sums["delta"])
            run.plan.book.check(spends[budget])
        any_run = next(iter(runs.values()))
        key = any_run.plan.book.row_key()
        for (one, first), (other, second) in combinations(runs.items(), 2):
            if same_rows.alike(first.plan.rows[ONE], second.plan.rows[ONE], key):
                raise UsageError("sites {!r} and {!r} hold the same rows, or nearly all; leave one out", one, other)
        doors = [run.door() for run in runs.values()]  # charged
        setting = together([s for _, s in doors])
        generator, reporter = any_run.plan.questions, any_run.context.reporter
        releases = generator.measure(Run(summed([ask for ask, _ in doors]), setting, reporter.progress))
        for run in runs.values():
            run.shut()
        most = max(runs.values(), key=lambda run: run.epsilon_derived)
        lines: list[dict[str, Any]] = [
            {
                "site": name,
                "dataset": run.plan.request.dataset,
                "epsilon_derived": run.epsilon_derived,
                "ledger_entry": {"number": run.line.number, "hash": run.line.hash},
            }
            for name, run in runs.items()
            if run.line is not None
        ]
        made = finish(
            most.plan.request,
            generator,
            releases,
            setting,
            reporter,
            lambda: Card(of_sites(most.card(), lines)),
            started=0.0,
            device="cpu",
            held=True,
        )
    return Federated(
        table=pd.DataFrame({n: a.to_pandas() for n, a in made["tables"][ONE].items()}),
        model=made["model"],
        spent={one["site"]: one["ledger_entry"]["number"] for one in lines},
        epsilon_derived={one["site"]: one["epsilon_derived"] for one in lines},
        card=made["card"],
        paths=made["paths"],
    )


def together(settings: Sequence[Setting]) -> Setting:
    """What the method is told: the sites' budget, and noise that is the root of their number as much as one's.

    The sum of k answers of noise sigma has noise sqrt(k) sigma, while a unit moves one of them: so for the method a
    unit's sensitivity is sqrt(k) times what it is, and the noise that it asks for is that of the sum.

    Privacy: public only.
    """
    first, grown = settings[0], sqrt(len(settings))
    rows = [s.public_rows for s in settings]
    return replace(
        first,
        sensitivity=first.sensitivity * grown,
        signed=first.signed * grown,
        public_rows=None if any(r is None for r in rows) else sum(r or 0 for r in rows),
    )


def summed(doors: Sequence[Ask]) -> Ask:
    """A question put to every site, with its part of the noise; the answers' sum as one answer. Errors: UsageError.

    Privacy: released answers only.
    """
    part, plans = 1 / sqrt(len(doors)), dict[int, tuple[Teachers, Teachers]]()  # sites know a plan by its object

    def ask(question: Any) -> Any:
        if isinstance(question, Counts):
            own = Counts(
                purpose=question.purpose,
                marginals=tuple(Marginal(bins=m.bins, sigma=m.sigma * part * UP) for m in question.marginals),
            )
            answers = [door(own).values for door in doors]
            return CountsRelease(question=question, values=tuple(sum(t) for t in zip(*answers, strict=True)))
        if isinstance(question, Pulls):
            whole = question.teachers
            own_plan = plans.setdefault(id(whole), (whole, replace(whole, sigma=whole.sigma * part * UP)))[1]
            asked = replace(question, teachers=own_plan)
            return PullsRelease(question=question, values=sum(door(asked).values for door in doors))
        raise UsageError("a federated fit: sites cannot add up answers of the kind {}", type(question).__name__)

    return ask


UP = 1 + 1e-12  # rounding must not make a site's noise too small
