"""The audit that goes the whole way: from neighbouring files to release folders, and all that is seen of them."""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.evaluate.audit import canaries as planting
from synth.evaluate.audit import runs
from synth.evaluate.audit.methods import claim_of
from synth.evaluate.audit.neighbours import worst_pair
from synth.evaluate.audit.observed_runs import Observation, observed_run
from synth.evaluate.audit.statistics import (
    AnswerMoments,
    Claim,
    Finding,
    Guesses,
    Rates,
    at_least,
    at_most,
    examine,
    moments,
)
from synth.evaluate.audit.whole_canaries import Canary, standard
from synth.evaluate.audit.whole_tables import placed
from synth.generators.core.related import Nested
from synth.pipeline.methods import generator_named, granted
from synth.pipeline.request import RunRequest
from synth.privacy.accounting.events import GaussianDpEvent
from synth.privacy.relation import Adjacency, Relation, relation_named

DRAWS = 60  # of each table: a leak that shows in every run is certain by then, and noise that is a fifth too small
FEWEST_DRAWS = 24  # a quarter of which can tell a score that is always right from chance
TESTS = 3  # of a canary: an event, the distance of the answers, their noise
MOST_NUMBERS, MOST_TEXTS = 300, 12  # that are listened to; of one place
LEFT_OUT = (
    "seconds and memory",
    "the ledger and the steward's own log",
    "an empty table, which is refused as a file without rows",
)
ENGINES = ("postgres", "spark")  # which are tried where `source` names them


@dataclass(frozen=True)
class CanaryResult:
    """What was found with one canary. ``finding``: of everything that is seen; ``moments``: of the first counts."""

    name: str
    shows: str
    kind: str
    finding: Finding
    moments: AnswerMoments | None

    @property
    def violated(self) -> bool:
        """Whether the claim is contradicted."""
        return self.seen_by != "-"

    @property
    def seen_by(self) -> str:
        """The strongest evidence against the claim, in words."""
        mu = self.finding.claim.mu
        if self.finding.violated:
            return self.finding.attack
        if self.moments is not None and mu is not None and self.moments.denies(mu):
            return "distance of the answers" if self.moments.mu > mu else "spread of the answers"
        return "-"

    def plain(self) -> dict[str, Any]:
        """The result as JSON data."""
        found = {"violated": self.violated, "seen_by": self.seen_by, "finding": self.finding.plain() | {"curve": []}}
        return asdict(self) | found


@dataclass(frozen=True, kw_only=True)
class WholeAudit:
    """What was found on the whole way at one epsilon; ``confidence``: of all of it together.

    ``planted``: guesses about units that coins put into one more run, None without any.
    """

    method: str
    epsilon: float
    delta: float
    relation: str
    draws: int
    confidence: float
    results: tuple[CanaryResult, ...]
    seconds: float
    planted: Guesses | None = None

    @property
    def violated(self) -> bool:
        """Whether any canary contradicts the claim."""
        guessed = self.planted is not None and self.planted.epsilon > self.epsilon
        return guessed or any(s.violated for s in self.results)

    @property
    def left_out(self) -> list[str]:
        """What no canary of this audit goes through."""
        untried = [e for e in ENGINES if e not in {s.kind for s in self.results}]
        return [*LEFT_OUT, *(f"{e} (it takes a database)" for e in untried)]

    def plain(self) -> dict[str, Any]:
        """The audit as JSON data."""
        found = {"canaries": [s.plain() for s in self.results], "violated": self.violated, "left_out": self.left_out}
        own = {n: v for n, v in asdict(self).items() if n != "results"}
        return {**own, "whole": True, **found}

    def in_words(self) -> list[str]:
        """The audit as a few lines."""
        lines = [
            f"{self.method} at epsilon {self.epsilon:g}, delta {self.delta:g}, {self.relation}, from file to "
            f"release: {'VIOLATED' if self.violated else 'not contradicted'}"
        ]
        for s in self.results:
            m = s.moments
            drawn = "" if m is None else f", noise {m.noise_estimate:.2f} of the claimed"
            verdict = f"VIOLATED by {s.seen_by}" if s.violated else "not contradicted"
            lines.append(f"  {s.name} ({s.kind}): {verdict}{drawn}")
        if (g := self.planted) is not None:
            lines.append(f"  planted in one run: {g.right} of {g.made} guesses right, epsilon at least {g.epsilon:.3f}")
        return [
            *lines,
            f"{self.draws} draws of each table, {100 * self.confidence:.4g} % sure of all together; "
            f"left out: {'; '.join(self.left_out)}",
        ]


def audit_whole(
    method: str = "independent",
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    relation: str = "add_remove",
    max_rows: int = 1,
    draws: int = DRAWS,
    confidence: float = 0.999,
    options: Mapping[str, Any] | None = None,
    canaries: Sequence[Canary] | None = None,
    planted: int = 0,
    first: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> WholeAudit:
    """Runs ``draws`` times from either file of every canary to the release folder, and tells the outcomes apart.

    Seen are the exit code, messages, what is printed, names and sizes of files, and all that stands in the release
    folder and the job's folder but the steward's log. ``max_rows``: rows of a person that are kept, where the tables
    have persons. ``canaries``: default the standard ones. ``planted``: so many units, rows or roots with all their
    children, are put by coin tosses into one run more (0: none). ``first``: stops at the first that contradicts the
    claim.

    **Guarantee**: a true claim is called violated with probability at most 1 - confidence, all canaries together.
    Errors: UsageError, also for so few draws that even a leak in every run could not contradict the claim.
    """
    started, link = time.perf_counter(), relation_named(relation)
    listed = list(standard(max_rows) if canaries is None else canaries)
    tests = TESTS * len(listed) + bool(planted)
    failure = (1 - confidence) / tests if 0 < confidence < 1 else 0.0
    _check(link, draws, failure)
    if planted:
        planting.check(planted, relation)
    run: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "relation": relation, "options": options or {}}
    request = RunRequest(method=method, **run)
    claims = [_claim(request, link, c) for c in listed]
    _check_draws(draws, failure, claims)
    results: list[CanaryResult] = []
    for canary, claim in zip(listed, claims, strict=True):
        one, other = (_drawn(side, canary, request, draws) for side in canary.tables(link))
        a, b, names = numbered(one, other)
        finding = examine(a, b, claim=claim, confidence=1 - failure, names=names)
        about, known = (canary.name, canary.shows, canary.kind), _moments(one, other, failure)
        results.append(CanaryResult(*about, finding=finding, moments=known))
        progress(len(results) / len(listed))
        if first and results[-1].violated:
            break
    guesses = None
    if planted and not (first and results[-1].violated):
        related = any(c.tree for c in listed)
        guesses = planting.one_run(method, canaries=planted, confidence=1 - failure, related=related, **run)
    return WholeAudit(
        method=method,
        epsilon=epsilon,
        delta=delta,
        relation=str(link),
        draws=draws,
        confidence=confidence,
        results=tuple(results),
        seconds=time.perf_counter() - started,
        planted=guesses,
    )


def _check(link: Relation, draws: int, failure: float) -> None:
    if link is Relation.ZERO_OUT:
        raise UsageError(
            "an audit of whole runs needs `relation=add_remove` or replace_one: a file cannot hold an absent row"
        )
    if draws < FEWEST_DRAWS or not failure:
        raise UsageError(f"an audit of whole runs needs {FEWEST_DRAWS} draws or more, and a confidence between 0 and 1")


def _claim(request: RunRequest, link: Relation, canary: Canary) -> Claim:
    """What a run on such tables claims; related ones are asked by Gaussians alone, which the grant's mu bounds.

    Errors: UsageError.
    """
    adjacency = Adjacency(relation=link, unit=canary.unit, max_rows=canary.max_rows)
    grant = granted(request.epsilon, request.delta, adjacency, learning=False)
    if canary.tree:
        if request.method != Nested.name or request.options:
            raise UsageError(
                f"`related=`: related tables are made by {Nested.name} without options; leave the others out"
            )
        return claim_of([GaussianDpEvent(name="all", sensitivity=grant.mu, sigma=1.0)], grant)
    generator = generator_named(request.method, link, request.options)
    generator.check_schema(canary.schema)
    if generator.needs_public_rows and not adjacency.rows_are_public:
        raise UsageError(
            f"method {request.method} with these options needs a public row count; `whole=` uses tables of persons"
        )
    pair = worst_pair(link, max_rows=canary.max_rows)
    events = runs.measure(pair, pair.one, runs.RunParts(generator=generator, grant=grant)).events
    gaussian = all(isinstance(e, GaussianDpEvent) for e in events)
    return claim_of(events, grant) if gaussian else Claim(epsilon=request.epsilon, delta=request.delta)


def _check_draws(draws: int, failure: float, claims: Sequence[Claim]) -> None:
    """Errors: UsageError where nothing that these draws could show would contradict a claim."""
    for size in (draws, *range(draws + 1, 100_000)):
        held_out, bound = size - size // 2, failure / 4  # as examine and rates share them
        most = Rates(p=float(at_least(held_out, held_out, failure=bound)), q=float(at_most(0, held_out, failure=bound)))
        if all(c.denies(most) for c in claims):
            break
    if size > draws:
        raise UsageError(
            f"`draws={draws}`: too few to contradict such an epsilon whatever happens; {size} at least, or a smaller "
            "epsilon"
        )


def _drawn(table: Any, canary: Canary, request: RunRequest, draws: int) -> list[Observation]:
    """Draws from one table, in a folder of its own that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        with placed(canary, table, place) as (written, source):
            return [observed_run(written, source, request, canary.schema, place) for _ in range(draws)]


def _moments(one: Sequence[Observation], other: Sequence[Observation], failure: float) -> AnswerMoments | None:
    """Of the first counts, where every run told them."""
    answers = [[s.answers for s in side if s.answers is not None] for side in (one, other)]
    sizes = {len(a) for side in answers for a in side}
    if len(sizes) != 1 or min(len(side) for side in answers) < 8:
        return None
    return moments(np.stack(answers[0]), np.stack(answers[1]), failure=failure)


def numbered(one: Sequence[Observation], other: Sequence[Observation]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """What was seen as (n, k) numbers, and their names: a text counts as 1 where it was seen.

    Which numbers are listened to is decided by the first quarter of the draws, which only teaches (``examine``).
    """
    quarter = min(len(one), len(other)) // 4
    taught = [*one[:quarter], *other[:quarter]]
    said = [
        (place, text)
        for place in dict.fromkeys(p for s in taught for p in s.texts)
        for text in _repeated([s.texts.get(place) for s in taught])
    ]
    named = list(dict.fromkeys(n for s in taught for n in s.numbers))
    sides = [
        np.array([[float(s.texts.get(p) == t) for p, t in said] + [s.numbers.get(n, 0.0) for n in named] for s in side])
        for side in (one, other)
    ]
    listed = [*(f"{p}: {' '.join(t.split())[:60]!r}" for p, t in said), *named]
    apart = np.abs(sides[0][:quarter].mean(0) - sides[1][:quarter].mean(0))
    spread = np.concatenate([s[:quarter] for s in sides]).std(0)
    with np.errstate(all="ignore"):
        heard = np.where(spread > 0, apart / np.where(spread > 0, spread, 1), -1.0)
    best = np.sort(np.argsort(-heard, kind="stable")[: min(MOST_NUMBERS, max(int((heard >= 0).sum()), 1))])
    return sides[0][:, best], sides[1][:, best], [listed[i] for i in best]


def _repeated(texts: Sequence[str | None]) -> list[str]:
    """Texts that stood there in some runs, though not in all: at most so many, the most frequent first."""
    known = [t for t in texts if t is not None]
    times = {t: known.count(t) for t in dict.fromkeys(known)}
    some = sorted((t for t, n in times.items() if 1 < n < len(texts)), key=lambda t: -times[t])
    return some[:MOST_TEXTS]
