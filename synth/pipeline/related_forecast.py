"""What can be said of a run of related tables before any row is read: questions, noise, expected error, a rehearsal.

The questions are asked of made-up roots, each value and number of children as likely as another, and scaled to the
number of roots expected. Questions that adapt to answers (merged bins) may differ in the real run; noise and costs are
close.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import pi, sqrt
from typing import Any

import numpy as np

from synth.errors import SynthError, UsageError
from synth.generators.nested_mixture.generator import Nested
from synth.mechanisms import linked
from synth.pipeline.budget import setting
from synth.pipeline.methods import granted
from synth.pipeline.related_draw import DrawnTables
from synth.pipeline.related_plan import made_up
from synth.pipeline.request import check_num_rows
from synth.privacy.accounting import composition
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import Adjacency, relation_named
from synth.questions import Linked, LinkedRelease, Marginal
from synth.questions.linked import placed
from synth.release.card.card import meaning
from synth.schema.given import check_schema
from synth.schema.related import Related

MOST_ROWS = 100_000  # made up of one table
STEPS, DRAWN = 3, 20  # of the fit that is rehearsed, and roots drawn from it
VIEWS = {"siblings": "siblings", "steps": "from one event to the next", "first": "first events"}


@dataclass(frozen=True, kw_only=True)
class Asked:
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
    """The forecast of a run on about ``roots`` roots; ``rehearsed``: what was carried out on made-up roots."""

    method: str
    relation: str
    unit: str
    epsilon: float
    delta: float
    roots: int
    mu: float
    sensitivity: float
    meaning: str
    asked: list[Asked]
    rehearsed: list[str]

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
        lines.append("errors are total variation from noise alone, at most, if numbers of children are even")
        lines.append(f"rehearsed on made-up roots: {', '.join(self.rehearsed) or 'nothing'}; nothing was read or spent")
        return "\n".join(lines)


def plan_related(
    schema: Related,
    *,
    roots: int,
    epsilon: float,
    delta: float,
    relation: str = "add_remove",
    seconds: float = 30.0,
) -> RelatedForecast:
    """The forecast of a run on about ``roots`` roots of a ``schema``. Touches no data. Errors: UsageError.

    ``epsilon``, ``delta``, ``relation``: as of ``run``.

    ``seconds``: for a rehearsal of fit and drawing, which is left out at 0.

    Privacy: public only.
    """
    check_schema(schema, related=True)
    composition.check(epsilon, delta)
    check_num_rows(roots)
    adjacency = Adjacency(relation=relation_named(relation), unit=schema.root)
    grant = granted(epsilon, delta, adjacency, learning=False)
    told = setting(schema.learnt(schema.root), grant, public_rows=None)
    stand_in = _StandIn(schema, roots)
    releases = Nested().measure(stand_in.ask, schema, told, progress=lambda _: None)
    rehearsed = ["questions"]
    if seconds > 0:
        rehearsed += _rehearsed(schema, releases, told)
    return RelatedForecast(
        method=Nested.name,
        relation=str(adjacency.relation),
        unit=schema.unit_in_words,
        epsilon=epsilon,
        delta=delta,
        roots=roots,
        mu=grant.mu,
        sensitivity=linked.sensitivity(adjacency),
        meaning=meaning(epsilon, about=schema.unit_in_words, relation=str(adjacency.relation)),
        asked=_asked(releases),
        rehearsed=rehearsed,
    )


class _StandIn:
    """Answers of made-up roots, scaled to as many as are expected, with noise of the asked scale."""

    def __init__(self, schema: Related, roots: int) -> None:
        below = max(schema.most_rows(t) for t in schema.tables)
        made = max(2, min(roots, MOST_ROWS // below))
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


def _rehearsed(schema: Related, releases: Sequence[LinkedRelease], told: Any) -> list[str]:
    """Fit and drawing, as after a spend but short. Errors: UsageError for what would strike there."""
    nested = Nested(options=replace(Nested().options, fits=2, steps=STEPS))
    rng = np.random.default_rng(0)
    try:
        model = nested.fit(releases, schema, told, rng=rng, device="cpu", progress=lambda _: None)
        drawn = DrawnTables(model, DRAWN, rng=rng)
        for table in schema.tables:
            drawn.whole(table)
    except Exception as error:  # whatever it is would strike after the spend
        reason = str(error) if isinstance(error, SynthError) else type(error).__name__
        raise UsageError(
            f"a run of this schema would fail after the spend, as it does on made-up roots ({reason}); "
            "report it, and leave out tables or keys meanwhile"
        ) from None
    return [f"two fits of {STEPS} steps", f"{DRAWN} roots drawn"]


def _asked(releases: Sequence[LinkedRelease]) -> list[Asked]:
    """The questions by what they are about, in the order in which they are asked."""
    found: dict[tuple[str, str], list[tuple[Marginal, float]]] = {}
    for release in releases:
        for marginal, values in zip(release.question.marginals, release.values, strict=True):
            about = _about(release.question, marginal)
            found.setdefault((release.question.table, about), []).append((marginal, float(max(values.sum(), 1.0))))
    return [
        Asked(
            table=table,
            about=about,
            tables=len(parts),
            cells=sum(m.cells for m, _ in parts),
            sigma_least=min(m.sigma for m, _ in parts),
            sigma_most=max(m.sigma for m, _ in parts),
            error=float(np.mean([_error(m, total) for m, total in parts])),
        )
        for (table, about), parts in found.items()
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
