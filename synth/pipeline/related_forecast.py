"""What can be said of a run of related tables before any row is read: questions, noise, expected error, a rehearsal.

The questions are asked of made-up roots, each value and number of children as likely as another, and scaled to the
number of roots expected. Questions that adapt to answers (merged bins) may differ in the real run; noise and costs are
close.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import pi, sqrt
from typing import Any

import numpy as np

from synth.generators.base import Questions
from synth.mechanisms import linked
from synth.pipeline.budget import setting
from synth.pipeline.plan_result import table
from synth.pipeline.rehearsal import made_up, most_roots
from synth.privacy.accounting.division import BudgetPart, division
from synth.privacy.curator import Grant
from synth.privacy.noise import SeededNoise
from synth.questions import Linked, LinkedRelease, Marginal
from synth.questions.linked import placed
from synth.release.card.card import meaning
from synth.schema.dataset import Dataset

VIEWS = {"siblings": "siblings", "steps": "from one event to the next", "first": "first events"}


@dataclass(frozen=True, kw_only=True)
class AskedTables:
    """Tables asked about one table's rows: ``about`` what, how many, cells, noise (roots a cell), expected error.

    ``error``: mean total variation from noise alone, 0 to 1, at most.
    """

    table: str
    about: str
    tables: int
    cells: int
    sigma_least: float
    sigma_most: float
    error: float


@dataclass(frozen=True, kw_only=True)
class RelatedForecast:
    """The forecast of a run on about ``roots`` roots."""

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
            for a in self.asked
        ]
        lines += table(self.budget)
        lines.append(
            "errors are total variation from noise alone, at most, if numbers of children are even; nothing was read "
            "or spent"
        )
        return "\n".join(lines)


def forecast(schema: Dataset, questions: Questions, grant: Grant, *, roots: int) -> RelatedForecast:
    """The forecast of a run on about ``roots`` roots of a ``schema``. Touches no data. Errors: UsageError.

    Privacy: public only.
    """
    adjacency = grant.adjacency
    stand_in, asked = _StandIn(schema, roots), setting(schema, grant, public_rows=None)
    releases = questions.measure(stand_in.ask, asked, progress=lambda _: None)
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
        asked=_asked(releases),
        budget=division([e.plain() for r in releases for e in linked.events(r.question, adjacency)]),
    )


class _StandIn:
    """Answers of made-up roots, scaled to as many as are expected, with noise of the asked scale."""

    def __init__(self, schema: Dataset, roots: int) -> None:
        made = most_roots(schema, roots)
        self.forest, self.scale, self.noise = made_up(schema, made), roots / made, SeededNoise(0)

    def ask(self, question: Linked) -> LinkedRelease:
        """As a curator's."""
        exact = linked.exact(question, self.forest)
        values = [
            np.rint(self.scale * e.reshape(m.shape) / linked.UNIT)
            + self.noise.gaussian_counts(m.shape, sigma=max(m.sigma, 1.0))
            for m, e in zip(question.marginals, exact, strict=True)
        ]
        return LinkedRelease(question=question, values=tuple(values))


def _asked(releases: Sequence[LinkedRelease]) -> list[AskedTables]:
    """The questions by what they are about, in the order in which they are asked."""
    result: dict[tuple[str, str], list[tuple[Marginal, float]]] = {}
    for release in releases:
        for marginal, values in zip(release.question.marginals, release.values, strict=True):
            about = _about(release.question, marginal)
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
        )
        for (table, about), parts in result.items()
    ]


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
