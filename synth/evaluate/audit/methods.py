"""The audit of a method: its releases with many draws, its final tables with fewer, canaries with one run."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

from synth.errors import UsageError
from synth.evaluate.audit import runs
from synth.evaluate.audit.canaries import one_run
from synth.evaluate.audit.neighbours import Pair, Positions, worst_pair
from synth.evaluate.audit.statistics import DELTA, Claim, Finding, Guesses, examine
from synth.pipeline.methods import generator_named, granted
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import Event, GaussianDpEvent
from synth.privacy.curator import Grant
from synth.privacy.relation import relation_named

DELTAS = (DELTA, 0.05, 0.2)  # at which the accountant's epsilon is compared as well
SKIPPED = (
    "reading of files, cells placed at random, the bound on a person's rows, messages, files",
    "for these: an audit with `whole=True`",
)
FEWEST_DRAWS = 40  # draws, below which nothing can be said
Tick = Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What was found of a method at one epsilon. ``violated``: whether any part contradicts the claim."""

    method: str
    epsilon: float
    delta: float
    relation: str
    max_rows: int
    outputs: Finding
    tables: Finding | None
    canaries: Guesses | None
    seconds: float

    @property
    def violated(self) -> bool:
        """Whether the claim is contradicted."""
        seen = self.canaries is not None and self.canaries.epsilon > self.epsilon
        return self.outputs.violated or (self.tables is not None and self.tables.violated) or seen

    def plain(self) -> dict[str, Any]:
        """The audit as JSON data."""
        parts = {n: None if (f := getattr(self, n)) is None else f.plain() for n in ("outputs", "tables")}
        return {**asdict(self), "violated": self.violated, "skipped": SKIPPED[0], **parts}

    def in_words(self) -> list[str]:
        """The audit as a few lines."""
        lines = [
            f"{self.method} at epsilon {self.epsilon:g}, delta {self.delta:g}, {self.relation}: "
            f"{'VIOLATED' if self.violated else 'not contradicted'}"
        ]
        for name, item in (("releases", self.outputs), ("synthetic tables", self.tables)):
            if item is None:
                continue
            mu = "" if item.claim.mu is None else f"mu at least {item.mu:.3f} (claimed {item.claim.mu:.3f}), "
            lines.append(
                f"  {name}: {mu}epsilon at delta {DELTA:g} at least {item.epsilon:.3f} (claimed "
                f"{item.claim.at_audit:.3f}); {item.draws} draws, {item.attack}"
            )
        if self.canaries:
            c = self.canaries
            lines.append(f"  canaries: {c.right} of {c.made} guesses right, epsilon at least {c.epsilon:.3f}")
        return [*lines, f"  skipped: {'; '.join(SKIPPED)}"]


def claim_of(events: Sequence[Event], grant: Grant) -> Claim:
    """What a run that was charged these events claims: the accountant's whole profile.

    For Gaussian events the grant's mu, which bounds what adaptive questions may come to.
    """
    if all(isinstance(e, GaussianDpEvent) for e in events):
        whole = [GaussianDpEvent(name="all", sensitivity=grant.mu, sigma=1.0)]
        profile = tuple((d, epsilon_of(whole, d)) for d in DELTAS)
        return Claim(epsilon=grant.epsilon, delta=grant.delta, profile=profile, mu=grant.mu)
    profile = tuple((d, min(epsilon_of(events, d), grant.epsilon)) for d in DELTAS)
    return Claim(epsilon=grant.epsilon, delta=grant.delta, profile=profile)


def compared(
    draw: Callable[[Positions], runs.Seen], pair: Pair, claim: Claim, *, draws: int, confidence: float, tick: Tick
) -> Finding:
    """Draws from both tables, then looks for what the claim forbids."""
    one, other = (runs.gathered(draw, rows, draws, tick) for rows in (pair.one, pair.other))
    a, b, names = runs.matrix(one, other)
    return examine(a, b, claim=claim, confidence=confidence, names=names)


def audit(
    method: str,
    *,
    epsilon: float,
    delta: float = 1e-5,
    relation: str = "add_remove",
    max_rows: int = 1,
    draws: int = 10_000,
    table_draws: int = 1_000,
    confidence: float = 0.999,
    canaries: int = 0,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Audit:
    """Lower bounds on what a registered method lets out, from the real components on worst-case neighbouring tables.

    ``draws`` of each table for the mechanisms' outputs, ``table_draws`` for final synthetic tables (0: none),
    ``canaries`` for one whole run (0: none). ``max_rows``: rows of the unit of privacy; more than 1 makes it a person.
    ``confidence``: of each part's bounds. Nothing private is read: the tables are made up.

    **Guarantee**: each part calls a true claim violated with probability at most 1 - confidence. Errors: UsageError.
    """
    if draws < FEWEST_DRAWS or (table_draws and table_draws < FEWEST_DRAWS) or not 0 < confidence < 1 or max_rows < 1:
        raise UsageError(
            f"an audit needs {FEWEST_DRAWS} draws or more, at least one row a unit, and a confidence below 1"
        )
    started = time.perf_counter()
    link = relation_named(relation)
    generator = generator_named(method, link, options)
    pair = worst_pair(link, max_rows=max_rows)
    generator.check_schema(pair.schema)
    if generator.needs_public_rows and not pair.adjacency.rows_are_public:
        raise UsageError(f"method {method} with these options needs `relation=zero_out` or replace_one, a row a unit")
    grant = granted(epsilon, delta, pair.adjacency, learning=False)
    parts = runs.RunParts(generator=generator, grant=grant)
    claim = claim_of(runs.measure(pair, pair.one, parts).events, grant)
    tick = ticker(2 * (draws + table_draws), progress)
    of: dict[str, Any] = {"confidence": confidence, "tick": tick}
    comparison = compared(runs.outputs(pair, parts), pair, claim, draws=draws, **of)
    made = compared(runs.tables(pair, parts), pair, claim, draws=table_draws, **of) if table_draws else None
    run: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    more: dict[str, Any] = {"relation": relation, "confidence": confidence, "options": options}
    guessed = one_run(method, canaries=canaries, **run, **more) if canaries else None
    return Audit(
        method=method,
        **run,
        relation=str(link),
        max_rows=max_rows,
        outputs=comparison,
        tables=made,
        canaries=guessed,
        seconds=time.perf_counter() - started,
    )


def ticker(total: int, progress: Callable[[float], None]) -> Tick:
    """Tells of every hundredth of so many calls."""
    done = count(1)

    def tick() -> None:
        if (now := next(done)) % 100 == 0:
            progress(now / total)

    return tick
