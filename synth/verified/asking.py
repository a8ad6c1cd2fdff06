"""The questions of one request as a run asks them, and their answers as JSON data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from synth.generators.base import Run, Setting
from synth.generators.method import Method
from synth.lazy import Lazy
from synth.questions import EmbeddingRelease
from synth.questions.scores import COUNT
from synth.verified.inference import Estimate, interval, per_value, solved
from synth.verified.law import Law
from synth.verified.plan import Planned, measured

special = Lazy("scipy.special")

SAFE = 1 - 1e-9  # keeps sums of rounded shares below the whole
LEVEL = 0.95


@dataclass(frozen=True, kw_only=True, eq=False)
class VerifiedQuestions(Method):
    """Sums at public coefficients, for each question in two steps; questions share the budget evenly.

    Of related tables it is asked before how alike a root's rows are.

    **Guarantee**: asks within ``setting.mu``; between the steps it sees releases only.

    Privacy: released answers only.
    """

    name = "verified"
    reads = (EmbeddingRelease,)
    by_torch = False
    planned: tuple[Planned, ...]

    def measure(self, run: Run) -> list[EmbeddingRelease]:
        """All steps of the first question, then those of the next."""
        releases: list[EmbeddingRelease] = []
        for i, planned in enumerate(self.planned):
            own: list[EmbeddingRelease] = []
            sigma = self._sigma(planned, run.setting)
            first = planned.alikeness(sigma, f"question {i + 1}, likeness")
            if first is not None:
                releases.append(run.ask(first))
                planned = planned.likened(releases[-1])
            for step in range(len(planned.shares())):
                done = [measured(r) for r in own]
                own.append(run.ask(planned.next_question(done, sigma, step, f"question {i + 1}, step {step + 1}")))
            releases += own
            run.progress((i + 1) / len(self.planned))
        return releases

    def check(self, run: Run) -> None:
        """All questions as often as they will be asked, at the synthetic rows' coefficients. Errors: BudgetError."""
        for i, planned in enumerate(self.planned):
            sigma = self._sigma(planned, run.setting)
            first = planned.alikeness(sigma, f"question {i + 1}, likeness")
            if first is not None:
                run.ask(first)
            for step in range(len(planned.shares())):
                run.ask(planned.next_question([], sigma, step, f"question {i + 1}, step {step + 1}"))

    def _sigma(self, planned: Planned, setting: Setting) -> float:
        """Noise of one sum that takes the whole of a question's share."""
        return setting.sigma(SAFE / len(self.planned), signed=planned.law.template.link != COUNT)

    def parted(self, releases: Sequence[EmbeddingRelease]) -> list[list[EmbeddingRelease]]:
        """The releases of each question."""
        rest = list(releases)
        return [[rest.pop(0) for _ in range(planned.asks())] for planned in self.planned]


def answer(planned: Planned, releases: Sequence[EmbeddingRelease], synthetic: Mapping[str, float]) -> dict[str, Any]:
    """The answer to one question: estimates with intervals, beside what the synthetic table says.

    An interval counts noise, sampling and clipping, and is for the population that the rows are a sample of;
    ``table_low`` and ``table_high`` are for the value that the private table itself has.
    """
    if planned.rebuilt is not None:
        planned, releases = planned.likened(releases[0]), releases[1:]
    result = solved(planned.law, [measured(r) for r in releases])
    score = releases[0].question.features
    terms = described(planned, result, synthetic)
    released: dict[str, Any] = {"question": dict(planned.question.plain), "level": LEVEL, "terms": terms}
    released |= {"settled": result.converged, "steps": len(releases), "clip": float(getattr(score, "clip", 0.0))}
    if planned.question.mine:
        released["within"] = _within(planned, result)
    return released


def described(planned: Planned, estimate: Estimate, synthetic: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """By term the estimate, its intervals and the deviations they are made of; nothing where it is not settled."""
    z = float(special.ndtri((1 + LEVEL) / 2))
    terms: dict[str, dict[str, Any]] = {}
    for shown, name in planned.question.shown.items():
        own = _number(synthetic.get(name, np.nan))
        if name not in planned.names or not estimate.converged:
            empty = dict.fromkeys(("estimate", "low", "high", "table_low", "table_high"))
            terms[shown] = {**empty, "synthetic": own}
            continue
        j = planned.names.index(name)
        numbers = {"estimate": float(estimate.values[j])}
        for of, variance in (("", estimate.variance), ("table_", estimate.within)):
            low, high = interval(planned.law, estimate, variance, z)
            numbers |= {f"{of}low": float(low[j]), f"{of}high": float(high[j])}
        scale, ends = per_value(planned.law, estimate.shift), planned.question.ends
        parts = {n: float(scale * getattr(estimate, n)[j]) ** 0.5 for n in ("noise", "sampling", "clipping")}
        terms[shown] = {n: _number(float(np.clip(v, *ends))) for n, v in numbers.items()} | {"synthetic": own} | parts
    return terms


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _within(planned: Planned, estimate: Estimate) -> dict[str, dict[str, Any]]:
    """Whether a number is near the table's own, and how probably that is wrong."""
    released: dict[str, dict[str, Any]] = {}
    for name, mine in planned.question.mine.items():
        if name not in planned.names or not estimate.converged:
            released[name] = {"within": None, "error": None}
            continue
        j, by = planned.names.index(planned.question.shown[name]), planned.question.by[name]
        spread = max(float(per_value(planned.law, estimate.shift) * estimate.within[j]) ** 0.5, 1e-300)
        ends = [(mine + side * by - float(estimate.values[j])) / spread for side in (-1, 1)]
        chance = float(special.ndtr(ends[1]) - special.ndtr(ends[0]))
        released[name] = {"within": chance >= 0.5, "error": min(chance, 1 - chance)}
    return released


def synthetic_values(planned: Planned, rows: Mapping[str, np.ndarray]) -> dict[str, float]:
    """What an analyst finds in the released table (positions by column)."""
    score = planned.law.template
    if not len(next(iter(rows.values()))):
        return {}
    law, total = planned.law, float(len(next(iter(rows.values()))))
    law = Law.of(score, rows, total, bent=False) if isinstance(law, Law) else type(law).of(score, rows, total)
    values = law.coefficients(np.zeros_like(law.beta))
    return dict(zip(planned.names, values.tolist(), strict=True))


def alike(planned: Planned, most: int) -> Planned:
    """The same plan where each person has up to ``most`` rows: they may all be alike, which no synthetic row tells.

    A sum of k rows' contributions has a square of at most k times the sum of theirs: intervals are never too narrow.
    """
    laws = [replace(law, alike=float(most)) for law in (planned.law, planned.small)]
    return replace(planned, law=laws[0], small=laws[1], clips={}, looked={})


def scaled(planned: Planned, total: float) -> Planned:
    """The same plan for a table whose number of rows is public."""
    laws = [
        replace(law, total=total, w=law.w * (total / law.total), beta=law.beta) for law in (planned.law, planned.small)
    ]
    return replace(planned, law=laws[0], small=laws[1], clips={}, looked={})
