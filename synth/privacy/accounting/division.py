"""How a run's budget is divided among its questions: the one table that plan, card and documents print.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class BudgetPart:
    """What one question takes: ``share`` of the budget, 0 to 1, in ``releases``; the least and most of their noise.

    ``noise_least``, ``noise_most``: standard deviations (of picks: scales) in the question's own unit; of counts, rows.

    Privacy: public only.
    """

    question: str
    share: float
    releases: int
    noise_least: float
    noise_most: float


def division(mechanisms: Sequence[Mapping[str, Any]]) -> list[BudgetPart]:
    """The parts by question, in the order asked, of events as JSON data (``Event.plain``, or a card's mechanisms).

    A share is that of sum(count (sensitivity / sigma)^2): what a question adds to mu^2 where all are Gaussian, else the
    same measure of how little noise it has.

    Privacy: public only.

    >>> asked = [{"name": "a", "sensitivity": 1.0, "sigma": 1.0}, {"name": "b", "sensitivity": 1.0, "sigma": 0.5}]
    >>> [(p.question, p.share) for p in division(asked)]
    [('a', 0.2), ('b', 0.8)]
    """
    parts: dict[str, list[tuple[int, float, float]]] = {}
    for m in mechanisms:
        noise, count = float(m.get("sigma") or m["scale"]), int(m.get("count", 1))
        parts.setdefault(m["name"], []).append((count, noise, count * (m["sensitivity"] / noise) ** 2))
    whole = sum(weight for part in parts.values() for _, _, weight in part) or 1.0
    return [
        BudgetPart(
            question=name,
            share=sum(weight for _, _, weight in part) / whole,
            releases=sum(count for count, _, _ in part),
            noise_least=min(noise for _, noise, _ in part),
            noise_most=max(noise for _, noise, _ in part),
        )
        for name, part in parts.items()
    ]
