"""What can be said of a run of related tables before any row is read: questions, noise, expected error, a rehearsal.

The questions are asked of made-up roots, each value and number of children as likely as another, and scaled to the
number of roots expected. Questions that adapt to answers (merged bins) may differ in the real run; noise and costs are
close. With priors the roots are drawn from the public ones, and what noise leaves beside a prior is said too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import pi, sqrt
from typing import Any

import numpy as np

from synth.generators.base import Run, Setting
from synth.generators.core.related_tables import Place
from synth.generators.method import Method
from synth.mechanisms import linked
from synth.pipeline.budget import setting
from synth.pipeline.plan_result import LearningForecast, UseForecast, lines_of, table
from synth.pipeline.priors import PriorTrees
from synth.pipeline.rehearsal import made_up, most_roots
from synth.pipeline.uses import tables_of
from synth.privacy.accounting.division import BudgetPart, division
from synth.privacy.accounting.events import Event
from synth.privacy.curator import Grant
from synth.privacy.noise import SeededNoise
from synth.questions import Linked, LinkedRelease, Marginal
from synth.questions.linked import placed
from synth.release.card.card import meaning
from synth.schema import related_uses
from synth.schema.dataset import Dataset
from synth.sources.rows.forest import Forest

VIEWS = {
    "siblings": "siblings",
    "steps": "from one event to the next",
    "far": "half a history later",
    "first": "first events",
    "last": "last events",
}


@dataclass(frozen=True, kw_only=True)
class AskedTables:
    """Tables asked about one table's rows: ``about`` what, how many, cells, noise (roots a cell), expected error.

    ``error``: mean total variation from noise alone, 0 to 1, at most; ``beside``: of tables of two columns, what is
    left of it with the priors, were the private tables like one of them.
    """

    table: str
    about: str
    tables: int
    cells: int
    sigma_least: float
    sigma_most: float
    error: float
    beside: float | None = None


@dataclass(frozen=True, kw_only=True)
class RelatedForecast:
    """The forecast of a run on about ``roots`` roots. ``like``: the prior from which rehearsed roots are drawn;
    ``uses``: what each named use gets at several epsilons; ``least_epsilon``: as of ``Plan``."""

    method: str
    relation: str
    unit: str
    epsilon: float
    delta: float
    roots: int
    mu: float
    sensitivity: float
    meaning: str
    asked: list[AskedTables]
    budget: list[BudgetPart]
    like: str | None = None
    uses: list[UseForecast] = field(default_factory=list)
    least_epsilon: dict[str, float | None] = field(default_factory=dict)
    learning: LearningForecast | None = None

    def plain(self) -> dict[str, Any]:
        """The forecast as JSON data."""
        return asdict(self)

    def in_words(self) -> str:
        """The forecast as a few lines."""
        lines = [
            f"{self.method} on {self.roots} roots, epsilon {self.epsilon:g}, delta {self.delta:g}, "
            f"{self.relation}; the unit is {self.unit}",
            f"meaning: {self.meaning}",
        ]
        lines += [
            f"  {a.table}, {a.about}: {a.tables} tables, {a.cells} cells, noise of {a.sigma_least:.3g} to "
            f"{a.sigma_most:.3g} roots a cell, expected error {a.error:.3f}"
            + ("" if a.beside is None else f", with the prior {a.beside:.3f}")
            for a in self.asked
        ]
        lines += lines_of(self.uses, self.least_epsilon, epsilon=self.epsilon)
        lines += [self.learning.in_words()] if self.learning is not None else []
        lines += table(self.budget)
        even = f"units are like those of {self.like}" if self.like else "numbers of children are even"
        lines.append(f"errors are total variation from noise alone, at most, if {even}; nothing was read or spent")
        return "\n".join(lines)


def forecast(
    schema: Dataset,
    questions: Method,
    grant: Grant,
    *,
    roots: int,
    priors: Sequence[PriorTrees] = (),
    before: Sequence[Event] = (),
) -> RelatedForecast:
    """The forecast of a run on about ``roots`` roots of a ``schema``. Touches no data. Errors: UsageError.

    ``before``: what the run's learning takes of the budget.

    Privacy: public only.
    """
    adjacency = grant.adjacency
    rng = np.random.default_rng(0)
    twin = max(priors, key=lambda p: (len(p.columns), p.num_rows)) if priors else None
    stand_in = _StandIn(schema, roots, twin, rng)
    beside = tuple(p.drawn_again(p.num_rows, rng=rng) if p is twin else p for p in priors)
    asked = replace(setting(schema, grant, public_rows=None), priors=beside)
    released = questions.measure(Run(stand_in.ask, asked))
    releases = [r for r in released if isinstance(r, LinkedRelease)]
    measured = [e for r in releases for e in linked.events(r.question, adjacency)]
    return RelatedForecast(
        method=questions.name,
        relation=str(adjacency.relation),
        unit=schema.unit_in_words,
        epsilon=grant.epsilon,
        delta=grant.delta,
        roots=roots,
        mu=grant.mu,
        sensitivity=linked.sensitivity(adjacency),
        meaning=meaning(grant.epsilon, about=schema.unit_in_words, relation=str(adjacency.relation)),
        asked=_asked(releases, _left(questions, released, asked) if priors else {}),
        budget=division([e.plain() for e in [*before, *measured]]),
        like=twin.name if twin else None,
        uses=_by_use(schema, releases, grant.epsilon),
    )


def _by_use(schema: Dataset, releases: Sequence[LinkedRelease], epsilon: float) -> list[UseForecast]:
    """What each named use gets: the mean over its tables of two columns, larger ones by their pairs."""
    known: dict[frozenset[str], tuple[Marginal, float]] = {}
    for release in (r for r in releases if r.question.view == "rows"):
        for marginal, values in zip(release.question.marginals, release.values, strict=True):
            names = frozenset(f"{t}.{c}" for t, c, _ in map(placed, marginal.columns))
            asked = (marginal, float(max(values.sum(), 1.0)))
            if names not in known or _error(*asked) < _error(*known[names]):
                known[names] = asked
    out = []
    for words, tables in tables_of(schema):
        needed = related_uses.pairs(tables)
        counted = [known[frozenset(p)] for p in needed if frozenset(p) in known]
        cells = float(np.mean([m.cells for m, _ in counted])) if counted else 0.0
        total = float(np.mean([t for _, t in counted])) if counted else 1.0
        out.append(
            UseForecast(
                use=words,
                epsilon=epsilon,
                error=float(np.mean([_error(*c) for c in counted])) if len(counted) == len(needed) else None,
                second=min(1.0, 0.5 * sqrt(4 / pi / total * max(cells - 1, 0.0))),
                tables=len(needed),
                cells=cells,
                faint=len(counted) < len(needed),
            )
        )
    return out


class _StandIn:
    """Answers of made-up roots, or of a public table's, scaled to as many as are expected, with noise of the asked
    scale."""

    def __init__(self, schema: Dataset, roots: int, twin: PriorTrees | None, rng: np.random.Generator) -> None:
        made = most_roots(schema, roots)
        self.forest = made_up(schema, made) if twin is None else _complete(twin.drawn_again(made, rng=rng), schema, rng)
        self.scale, self.noise = roots / made, SeededNoise(0)

    def ask(self, question: Linked) -> LinkedRelease:
        """As a curator's."""
        exact = linked.exact(question, self.forest)
        values = [
            np.rint(self.scale * e.reshape(m.shape) / linked.UNIT)
            + self.noise.gaussian_counts(m.shape, sigma=max(m.sigma, 1.0))
            for m, e in zip(question.marginals, exact, strict=True)
        ]
        return LinkedRelease(question=question, values=tuple(values))


def _complete(twin: PriorTrees, schema: Dataset, rng: np.random.Generator) -> Forest:
    """The public trees with columns that they lack drawn evenly."""
    forest = twin.trees
    for name in schema.tables:
        branch, every = forest[name], schema.as_asked(name).columns
        lacking = {n: rng.integers(0, c.cells, len(branch.parts)) for n, c in every.items() if n not in branch.columns}
        forest = forest.with_branch(name, replace(branch, columns={**branch.columns, **lacking}))
    return forest


def _left(questions: Method, released: Sequence[Any], asked: Setting) -> dict[Place, np.ndarray | float]:
    """The part of noise's deviation that is left in a cell of each table of two columns beside the priors."""
    parts = getattr(questions, "noise_left", None)
    return {} if parts is None else parts(released, asked)


def _asked(releases: Sequence[LinkedRelease], left: Mapping[Place, np.ndarray | float]) -> list[AskedTables]:
    """The questions by what they are about, in the order in which they are asked."""
    result: dict[tuple[str, str], list[tuple[Marginal, float]]] = {}
    views: dict[tuple[str, str], str] = {}
    for release in releases:
        for marginal, values in zip(release.question.marginals, release.values, strict=True):
            about = _about(release.question, marginal)
            views[release.question.table, about] = release.question.view
            result.setdefault((release.question.table, about), []).append((marginal, float(max(values.sum(), 1.0))))
    return [
        AskedTables(
            table=table,
            about=about,
            tables=len({m.columns for m, _ in parts}),  # answers decide which of them are asked twice
            cells=sum({m.columns: m.cells for m, _ in parts}.values()),
            sigma_least=min(m.sigma for m, _ in parts),
            sigma_most=max(m.sigma for m, _ in parts),
            error=float(np.mean([_error(m, total) for m, total in parts])),
            beside=_beside(parts, [left.get((table, views[table, about], m.columns)) for m, _ in parts]),
        )
        for (table, about), parts in result.items()
    ]


def _beside(parts: Sequence[tuple[Marginal, float]], left: Sequence[np.ndarray | float | None]) -> float | None:
    """The mean error with priors; None of tables of which they say nothing."""
    known = [(m, total, part) for (m, total), part in zip(parts, left, strict=True) if part is not None]
    if not known:
        return None
    return float(np.mean([_error(m, total) * float(np.mean(part)) for m, total, part in known]))


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
