"""What a synthetic table is good for, as far as its release can tell: the rule of ``verdict``, without a real row.

A released count has noise, so how far the synthetic table is from the real one is known between two ends only: at least
what noise cannot explain, at most what noise may hide. Good is what is good at the far end, and bad what is bad at the
near one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from synth.evaluate.verdict import (
    CARE,
    NOT,
    USES,
    Measured,
    Use,
    Verdict,
    mean,
    rate_average,
    use_by_parts,
    use_of,
)
from synth.generators.core.problem import misfit_in_words
from synth.pipeline import retention

NO_COUNTS = "no noisy counts of them were released to compare with"
INDEPENDENT = "the method makes columns independent of each other"
NONE_LEFT = "the method was measured to keep no relations between columns at such an epsilon"
FILLED_IN = "no counts of them were released, the model fills them in"
MORE = "relations of three and more columns"
JOINT = ("pairs", "triples")  # which a method that keeps no relations is not for


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a release tells of one use. ``name``: a key of ``MEASURES``; ``use``: in words; ``tables``: of its released
    tables, how far the synthetic one is off; ``averages``: in place of them, of each number how far its mean and its
    spread are; ``missing``: why there are none, where there are none."""

    name: str
    use: str = ""
    tables: Sequence[Measured] = field(default=(), repr=False)
    averages: Mapping[str, tuple[Measured, Measured]] = field(default_factory=dict, repr=False)
    missing: str = NO_COUNTS


def from_release(evidence: Iterable[Evidence], card: Mapping[str, Any]) -> Verdict:
    """The verdict on a release by what it tells. ``card``: whose ``fit`` and method take part.

    **Guarantee**: that of the release: it rests on releases and the synthetic table alone.

    Privacy: released answers only.
    """
    lost = _lost(card)
    return Verdict.of((_use(e, lost) for e in evidence), unsure=misfit_in_words(card.get("fit")) or "")


def _use(told: Evidence, lost: str) -> Use | None:
    if told.averages:
        rated = {
            n: (
                *rate_average(*both),
                f"its mean is off by {both[0].low:.2f} to {both[0].value:.2f} standard deviations",
            )
            for n, both in told.averages.items()
        }
        farthest = max((m for m, _ in told.averages.values()), key=lambda m: m.value)
        return use_by_parts(told.name, rated, farthest)
    if (of := mean(told.tables)) is not None:
        return use_of(told.name, of, told.use)
    lost = lost if told.name in JOINT else ""
    level, use = NOT if lost else CARE, told.use or USES[told.name]
    return Use(name=told.name, use=use, level=level, why=lost or told.missing, value=None)


def _lost(card: Mapping[str, Any]) -> str:
    """Why relations between columns are lost, where the method keeps none; empty elsewhere."""
    method = str(card.get("method", ""))
    if method == "independent":
        return INDEPENDENT
    return NONE_LEFT if retention.warning(method, epsilon=float(card.get("epsilon") or 1.0)) else ""
