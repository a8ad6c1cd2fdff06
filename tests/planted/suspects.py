"""Ten faults, each planted into the real component, and the sound run that it replaces.

A suspect is two neighbouring tables, a claim, and a way to draw what is told of either; the fault lies where such
faults were found in published code.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np

from synth.evaluate.audit.methods import claim_of
from synth.evaluate.audit.neighbours import Pair, Positions, frame, worst_pair
from synth.evaluate.audit.runs import RunParts, Seen, measure, observed, outputs
from synth.evaluate.audit.statistics import Claim
from synth.generators import GENERATORS
from synth.generators.base import Run
from synth.mechanisms import counts, slices
from synth.pipeline.methods import granted
from synth.privacy.accounting.events import Event, GaussianDpEvent
from synth.privacy.accounting.slice_profile import slice_sigma
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Relation
from synth.questions import Bins, Block, Counts, Encoding, Marginal, Slices
from synth.schema.codec import encode
from synth.sources.draft_schema import draft
from synth.sources.formats.text_table import from_frame
from tests.laws import detached

EPSILON, DELTA = 5.0, 1e-5
INDEPENDENT = GENERATORS["independent"]


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """``fault``: held while drawing; puts the faulty part in the place of ours, and ours back."""

    pair: Pair
    claim: Claim
    draw: Callable[[Positions], Seen]
    draws: int = 2000
    fault: Callable[[], Any] = field(default=lambda: swapped())


@contextmanager
def swapped(module: Any = None, name: str = "", part: Any = None) -> Iterator[None]:
    """A part of a module replaced for a while; nothing without one."""
    if module is None:
        yield
        return
    ours = getattr(module, name)
    setattr(module, name, part)
    try:
        yield
    finally:
        setattr(module, name, ours)


def _grant(pair: Pair) -> Grant:
    return granted(EPSILON, DELTA, pair.adjacency, learning=False)


def _claim(grant: Grant) -> Claim:
    return claim_of([GaussianDpEvent(name="all", sensitivity=grant.mu, sigma=1.0)], grant)


class HalfNoise(SystemNoise):
    """Noise of half the scale asked for."""

    def gaussian_counts(self, shape: tuple[int, ...], *, sigma: float) -> np.ndarray:
        return super().gaussian_counts(shape, sigma=sigma / 2)


def noise_halved(faulty: bool) -> Suspect:
    """Half the noise that the ledger and the card state."""
    pair = worst_pair("add_remove")
    grant = _grant(pair)
    noise = HalfNoise() if faulty else SystemNoise()
    parts = RunParts(generator=INDEPENDENT, grant=grant, noise=noise)
    return Suspect(pair=pair, claim=_claim(grant), draw=outputs(pair, parts))


def rows_of_a_person(faulty: bool) -> Suspect:
    """A person's rows counted by their root: right only if no two of them were equal."""
    pair = worst_pair("add_remove", max_rows=4)
    grant = _grant(pair)
    parts = RunParts(generator=INDEPENDENT, grant=grant)

    def fault() -> Any:
        return swapped(counts, "sensitivity", lambda adjacency: sqrt(adjacency.max_rows)) if faulty else swapped()

    return Suspect(pair=pair, claim=_claim(grant), draw=outputs(pair, parts), fault=fault)


class Counting(Curator):
    """Tells how many rows there are, whatever the relation protects."""

    def public_rows(self) -> int | None:
        self.open()
        assert self._rows is not None
        return len(next(iter(self._rows.values())))


def row_count(faulty: bool) -> Suspect:
    """The exact row count used as if it were public."""
    pair = worst_pair("add_remove")
    grant = _grant(pair)
    parts = RunParts(generator=INDEPENDENT, grant=grant, curator=Counting if faulty else Curator)
    return Suspect(pair=pair, claim=_claim(grant), draw=outputs(pair, parts), draws=400)


def _drafted(faulty: bool, fact: str, column: str) -> Suspect:
    """A schema whose facts of one column were read off the rows, and confirmed unseen."""
    pair = worst_pair("add_remove")
    grant, noise = _grant(pair), SystemNoise()
    parts = RunParts(generator=INDEPENDENT, grant=grant, noise=noise)

    def draw(rows: Positions) -> Seen:
        cells = from_frame(frame(pair.schema, rows))
        schema = pair.schema
        if faulty:
            read = draft(cells, categorical=["kind"]).schema.columns[column].model_copy(update={"source": "declared"})
            schema = schema.model_copy(update={"columns": {**schema.columns, column: read}})
        seen = replace(pair, schema=schema, one=rows, other=rows)  # its columns differ: no likelihood is computed
        run = measure(seen, encode(cells, schema, noise).positions, parts)
        stated = schema.columns[column]
        known = float(len(stated.categories)) if stated.categories is not None else float(stated.max or 0)
        return {fact: known, **observed(run, seen)}

    return Suspect(pair=pair, claim=_claim(grant), draw=draw, draws=200)


def bounds_from_data(faulty: bool) -> Suspect:
    """The largest number of the table stands in the schema."""
    return _drafted(faulty, "stated maximum", "amount")


def categories_from_data(faulty: bool) -> Suspect:
    """The categories are those that the table holds."""
    return _drafted(faulty, "stated categories", "kind")


@dataclass(frozen=True, kw_only=True)
class Asks:
    """A stand-in for a generator that asks what it is given; all else of the run is ours."""

    question: Any

    def measure(self, run: Run) -> list[Any]:
        return [run.ask(self.question)]


def _sliced(pair: Pair, question: Slices, **more: Any) -> tuple[Claim, Callable[[Positions], Seen]]:
    """Draws of one question of slices, and the claim of its events."""
    grant = _grant(pair)
    claim = claim_of(slices.events(question, pair.adjacency), grant)
    return claim, outputs(pair, RunParts(generator=Asks(question=question), grant=grant, **more))  # type: ignore[arg-type]


def _encoding() -> Encoding:
    return Encoding(blocks=(Block.one_hot(Bins.each("kind", 4), weight=1.0),))


def by_position(question: Slices, part: slice, noise: SystemNoise) -> tuple[np.ndarray, int, int]:
    """Groups filled in turn."""
    assert question.groups is not None
    assert noise is not None  # not asked: that is the fault
    return np.arange(part.start, part.stop) % question.groups, 0, question.groups


def groups_by_position(faulty: bool) -> Suspect:
    """Groups filled by the rows' order: a row in front moves every other row to another group."""
    pair = worst_pair("add_remove", rows=40)
    grant = _grant(pair)
    question = Slices(purpose="slices", encoding=_encoding(), sigma=1.001 / grant.mu, groups=2)
    claim, draw = _sliced(pair, question)

    def fault() -> Any:
        return swapped(slices, "_groups", by_position) if faulty else swapped()

    return Suspect(pair=pair, claim=claim, draw=draw, fault=fault)


class Forgetful(Curator):
    """Checks each question against the whole budget, as if it were the first."""

    def _check_budget(self, asked: list[Event]) -> None:
        before, self._events = self._events, []
        try:
            super()._check_budget(asked)
        finally:
            self._events = before


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Asks a table of each column, each with a share of the budget: the whole, or what adds up to the whole."""

    share: float

    def measure(self, run: Run) -> list[Any]:
        sigma = run.setting.sigma(self.share)
        return [
            run.ask(Counts(purpose=n, marginals=(Marginal(bins=(Bins.each(n, c.cells),), sigma=sigma),)))
            for n, c in run.setting.schema.measured().items()
        ]


def budget_not_composed(faulty: bool) -> Suspect:
    """Every question is charged alone; nobody adds them up."""
    pair = worst_pair("add_remove")
    grant = _grant(pair)
    asking = Greedy(share=1 - 1e-9 if faulty else (1 - 1e-9) / 3)
    parts = RunParts(generator=asking, grant=grant, curator=Forgetful if faulty else Curator)  # type: ignore[arg-type]
    return Suspect(pair=pair, claim=_claim(grant), draw=outputs(pair, parts))


def unsampled(question: Slices, part: slice, noise: SystemNoise) -> tuple[np.ndarray, int, int]:
    """Groups drawn as they should be, and every record in."""
    assert question.groups is not None
    return noise.uniform_codes(part.stop - part.start, high=question.groups), 0, question.groups


def no_subsampling(faulty: bool) -> Suspect:
    """Each record enters, where the accountant counts on one in ten."""
    pair = worst_pair("add_remove")
    sigma = slice_sigma(
        epsilon=EPSILON, delta=DELTA, sensitivity=1.0, dim=4, num_slices=4, directions="rotation", rate=0.1
    )
    question = Slices(purpose="slices", encoding=_encoding(), sigma=1.001 * sigma, groups=1, rate=0.1)
    claim, draw = _sliced(pair, question)

    def fault() -> Any:
        return swapped(slices, "_groups", unsampled) if faulty else swapped()

    return Suspect(pair=pair, claim=claim, draw=draw, draws=400, fault=fault)


def detached_noise(faulty: bool) -> Suspect:
    """The published kernel method: a noisy loss whose noise no gradient sees. Sound: a path told with its gradients."""
    mu = sqrt(2) / detached.SIGMA * (sqrt(detached.STEPS) if faulty else 1.0)  # a charge for each step, or for the path
    train = detached.published if faulty else detached.ours
    rng = np.random.default_rng()  # the published algorithm's noise; a path draws from our own source
    adjacency = replace(worst_pair("replace_one").adjacency, relation=Relation.REPLACE_ONE)
    grant = replace(granted(EPSILON, DELTA, adjacency, learning=False), mu=mu)
    one, other = ({"x": np.array(t)} for t in (detached.ONE, detached.OTHER))

    def draw(rows: Positions) -> Seen:
        point = train(tuple(rows["x"]), rng)
        return {f"parameter {j}": float(v) for j, v in enumerate(point)}

    pair = Pair(schema=worst_pair("replace_one").schema, adjacency=adjacency, one=one, other=other)
    return Suspect(pair=pair, claim=_claim(grant), draw=draw, draws=1000)


CANDIDATES = 20


def selected_by_the_steward(faulty: bool) -> Suspect:
    """Of twenty releases, each sound, the one that comes nearest to the rows in what the steward cares about."""
    pair = worst_pair("add_remove")
    grant = _grant(pair)
    parts = RunParts(generator=INDEPENDENT, grant=grant)

    def error(run: Any, rows: Positions) -> float:
        released = {m.columns[0]: v for r in run.releases for m, v in zip(r.question.marginals, r.values, strict=True)}
        return abs(float(released["flag"][1]) - float(np.sum(rows["flag"] == 1)))

    def draw(rows: Positions) -> Seen:
        made = [measure(pair, rows, parts) for _ in range(CANDIDATES if faulty else 1)]
        return observed(min(made, key=lambda run: error(run, rows)), pair)

    return Suspect(pair=pair, claim=_claim(grant), draw=draw, draws=200)


SUSPECTS: dict[str, Callable[[bool], Suspect]] = {
    "noise halved": noise_halved,
    "sensitivity without its factor for several rows a person": rows_of_a_person,
    "un-noised row count": row_count,
    "bounds from data": bounds_from_data,
    "categories from data": categories_from_data,
    "groups filled by row position": groups_by_position,
    "budget not composed": budget_not_composed,
    "subsampling claimed but not done": no_subsampling,
    "detached noise": detached_noise,
    "release picked by the steward's score": selected_by_the_steward,
}


def findings(name: str, *, faulty: bool, confidence: float, draws: int | None = None) -> Any:
    """The audit of one suspect."""
    from synth.evaluate.audit.methods import compared

    suspect = SUSPECTS[name](faulty)
    with suspect.fault():
        return compared(
            suspect.draw,
            suspect.pair,
            suspect.claim,
            draws=draws or suspect.draws,
            confidence=confidence,
            tick=lambda: None,
        )


def listed() -> Sequence[str]:  # by name
    return list(SUSPECTS)
