"""Membership by shadow runs: a release's method, run many times with and without one row, beside tables that leak.

The rows are made up (the worst neighbouring tables of the audit), the method, its settings and its whole guarantee are
the release's. Of a leak the attacker guesses nearly always right; of a private method hardly better than by a coin, and
how often he may is what epsilon says.

**Source**: Shokri et al. 2017, arXiv 1610.05820, for the attack; Jagielski, Ullman and Oprea 2020, arXiv 2006.07709,
for what it says of epsilon.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import exp
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.evaluate.audit import runs
from synth.evaluate.audit.methods import FEWEST_DRAWS, claim_of
from synth.evaluate.audit.neighbours import ROWS, Pair, Positions, frame, worst_pair
from synth.evaluate.audit.statistics import DELTA, Claim, Finding, examine
from synth.evaluate.risks import Rate
from synth.generators.core.mixture import Independent
from synth.generators.method import Method
from synth.languages import Said
from synth.lazy import Lazy
from synth.pipeline.methods import generator_named, granted
from synth.privacy.curator import Grant
from synth.privacy.relation import relation_named

special = Lazy("scipy.special")

CONFIDENCE = 0.999  # of each line's bound on epsilon
LEAKS = 1_000  # draws of a table that leaks, which cost nothing
COPIED, HALF, SHUFFLED = "real rows copied", "half copied, half shuffled", "columns shuffled"
ANSWERS, TABLE = "every released answer", "the synthetic table"
Texts = Mapping[str, np.ndarray]
Draw = Callable[[Positions], runs.Seen]
Views = dict[str, runs.Seen]  # of one run, by what the attacker has


@dataclass(frozen=True, kw_only=True)
class Shadow:
    """An attack on membership. ``made``: how the tables were made; ``seen``: what the attacker has.

    ``right``: his guesses with an even chance that were right, on draws held out from what taught him. ``private``:
    whether the tables were made under the guarantee, and not by a leak that stands there for comparison.
    """

    made: str
    seen: str
    private: bool
    right: Rate = field(repr=False)
    finding: Finding = field(repr=False)

    @property
    def allowed(self) -> float:
        """The largest share of right guesses that the guarantee leaves to any attacker.

        **Source**: Kairouz, Oh and Viswanath, arXiv 1311.0776; Dong, Roth and Su, arXiv 1905.02383.
        """
        claim = self.finding.claim
        most = [(exp(e) + d) / (1 + exp(e)) for d, e in claim.pairs]
        return min(1.0, *most, *([] if claim.mu is None else [float(special.ndtr(claim.mu / 2))]))

    @property
    def reading(self) -> str:
        """What it says, in words; never that a method is safe."""
        if self.finding.violated:
            return (
                "more than its guarantee allows: a fault of this installation; let nothing out and report it"
                if self.private
                else "a leak: more than the release's guarantee allows"
            )
        if self.finding.epsilon > 0:
            return "finds something, no more than the guarantee allows"
        return "nothing is certain with so many runs"

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        f = self.finding
        return {
            **{n: getattr(self, n) for n in ("made", "seen", "private", "allowed", "reading")},
            "runs": f.draws,
            "right": self.right.value,
            "interval": self.right.interval,
            "epsilon_at_least": f.epsilon,
            "epsilon_claimed": f.claim.at_audit,
            "delta": DELTA,
            "confidence": f.confidence,
            "violated": f.violated,
        }


def measure(
    method: str,
    *,
    epsilon: float,
    delta: float,
    relation: str,
    max_rows: int = 1,
    options: Mapping[str, Any] | None = None,
    draws: int = 200,
    rng: np.random.Generator,
) -> tuple[Shadow, ...]:
    """``draws`` runs on either of two made-up neighbouring tables; a line for each table and each view of it.

    The noise is the secret one, so that no two calls agree wholly; ``rng`` draws the tables that leak. Errors:
    UsageError below ``FEWEST_DRAWS`` draws, and for a method that cannot make such tables with these options.
    **Guarantee**: none is spent; no line calls a true guarantee broken but with probability 1 - ``CONFIDENCE``.

    Privacy: public only.
    """
    if draws < FEWEST_DRAWS:
        raise UsageError("`shadow_runs={}`: at least {}, or 0 for none", draws, FEWEST_DRAWS)
    link = relation_named(relation)
    pair = worst_pair(link, max_rows=max_rows)
    grant = granted(epsilon, delta, pair.adjacency, learning=False)
    own, claim = _method(generator_named(method, link, options), pair, grant, draws)
    out = [_shadow(own, Said("{}, this release's settings", method), seen, claim) for seen in (ANSWERS, TABLE)]
    if method != Independent.name:
        other, its = _method(generator_named(Independent.name, link, None), pair, grant, draws)
        out.append(_shadow(other, Said("{} at the same epsilon", Independent.name), TABLE, its))
    for name, draw in leaks(pair, rng).items():
        sides = [[{TABLE: draw(rows)} for _ in range(LEAKS)] for rows in (pair.one, pair.other)]
        out.append(_shadow(sides, name, TABLE, claim, private=False))
    return tuple(out)


def _method(generator: Method, pair: Pair, grant: Grant, draws: int) -> tuple[list[list[Views]], Claim]:
    """So many runs on either table: what all answers tell, and what the table made of them tells; what is claimed."""
    generator.check_schema(pair.schema)
    parts = runs.RunParts(generator=generator, grant=grant)
    claim = claim_of(runs.measure(pair, pair.one, parts).events, grant)

    def once(rows: Positions) -> Views:
        transcript = runs.measure(pair, rows, parts)
        return {ANSWERS: runs.observed(transcript, pair), TABLE: runs.drawn(transcript, pair, parts)}

    return [[once(rows) for _ in range(draws)] for rows in (pair.one, pair.other)], claim


def _shadow(sides: list[list[Views]], made: str, seen: str, claim: Claim, *, private: bool = True) -> Shadow:
    one, other, names = runs.matrix(*([views[seen] for views in side] for side in sides))
    finding = examine(one, other, claim=claim, confidence=CONFIDENCE, names=names)
    hits, guesses = finding.guesses
    right = Rate(hits=hits, attacks=guesses)
    return Shadow(made=made, seen=seen, private=private, right=right, finding=finding)


def leaks(pair: Pair, rng: np.random.Generator) -> dict[str, Draw]:
    """What makes a table of ``ROWS`` rows without any noise: by copying, by halves, each column by itself."""

    def copied(texts: Texts, size: int) -> Texts:
        at = rng.permutation(size)[:ROWS]
        return {n: t[at] for n, t in texts.items()}

    def shuffled(texts: Texts, size: int) -> Texts:
        return {n: t[rng.permutation(size)[:ROWS]] for n, t in texts.items()}

    def half(texts: Texts, size: int) -> Texts:
        parts = copied(texts, size), shuffled(texts, size)
        return {n: np.concatenate([part[n][: ROWS // 2] for part in parts]) for n in texts}

    texts_of = {id(rows): _texts(pair, rows) for rows in (pair.one, pair.other)}

    def draw(make: Callable[[Texts, int], Texts], rows: Positions) -> runs.Seen:
        texts = texts_of[id(rows)]
        return runs.looked_at(make(texts, len(next(iter(texts.values())))), pair)

    return {name: partial(draw, make) for name, make in ((COPIED, copied), (HALF, half), (SHUFFLED, shuffled))}


def _texts(pair: Pair, rows: Positions) -> dict[str, np.ndarray]:
    return {n: c.to_numpy(dtype=str) for n, c in frame(pair.schema, rows).items()}
