"""How a question is asked for a given noise: clip, whitening and steps, chosen on the synthetic rows alone; the
questions of one request as a run asks them, their answers as JSON data, and what an answer would cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, log
from typing import Any, NamedTuple

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Run
from synth.generators.method import Method
from synth.lazy import special
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.relation import Adjacency
from synth.questions import Embedding, EmbeddingRelease, Score, TreeScore
from synth.questions.embeddings import COUNT, QUANTILE, SURVIVAL
from synth.verified import inference
from synth.verified.inference import Estimate, interval, per_value, solved
from synth.verified.language import Question
from synth.verified.law import Law, SurvivalLaw, free

STEPS = (0.3, 0.7)  # parts of a question's budget: the second is asked where the first one points
ALIKE = 0.1  # part of the budget of a question about rows of roots that first asks how alike these are
SURE = 2.0  # deviations of noise by which they are taken to be more alike than that says
CLIPS = np.geomspace(1.5, 40.0, 16)  # in deviations of one number of a row's whitened contribution
TRIED = 15_000  # synthetic rows on which clips are compared
LENGTHS = 5  # of a root's sum, from one row's to what all its rows may have, that are compared
FEWEST = 30  # synthetic rows that must take part


class Cut(NamedTuple):
    """Where contributions are cut: a row's at ``clip``, and of related tables a root's sum at ``length`` times that."""

    clip: float
    length: float = 1.0

    def of(self, score: Score) -> Score:
        """The score that is cut so."""
        cut = replace(score, clip=self.clip)
        return replace(cut, most=self.length) if isinstance(cut, TreeScore) else cut


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned:
    """A question with the synthetic rows' law of it. ``retained``: the coefficients that these rows tell apart.

    ``rebuilt``: of related tables both laws where a given part of the roots has equal rows (``Law.of``); None where no
    root has several.
    """

    question: Question
    retained: tuple[int, ...]
    law: inference.AnyLaw
    small: inference.AnyLaw
    rebuilt: Callable[[float], tuple[Law, Law]] | None = None
    clips: dict[float, Cut] = field(default_factory=dict)
    looked: dict[Cut, inference.Moments] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        question: Question,
        rows: Mapping[str, np.ndarray],
        total: float,
        *,
        unit: np.ndarray | None = None,
        units: float | None = None,
    ) -> "Planned":
        """``total``: rows of the real table; ``unit``, ``units``: of related tables, as of ``Law``.

        Errors: UsageError where hardly a synthetic row takes part.
        """
        if question.score.link == SURVIVAL:
            lasting = SurvivalLaw.of(question.score, rows, total)
            last = int(np.flatnonzero(lasting.inside[:, -1]).max(initial=0))
            if lasting.w[lasting.at >= last].sum() < FEWEST:  # left before the last of the times
                raise UsageError(
                    "question: hardly any synthetic row is left before the last time; ask of earlier times, or of more "
                    "rows"
                )
            return cls(question=question, retained=tuple(range(len(question.names))), law=lasting, small=lasting)
        remaining = tuple(free(question.score, rows))
        here = question.score.design(rows)[2]
        if question.score.link != COUNT and (not remaining or here.sum() < FEWEST):
            raise UsageError(
                "question: hardly any synthetic row takes part, so that nothing can be said of those that do; "
                "ask of more rows, or count them"
            )
        score = question.score
        if 0 < len(remaining) < len(score.terms):  # without the coefficients that cannot be told apart
            terms, wide = tuple(score.terms[j] for j in remaining), len(remaining)
            score = replace(score, terms=terms, coefficients=np.zeros(wide), whitening=np.eye(wide))
        step = max(len(here) // TRIED, 1)
        some = slice(None, None, step) if unit is None else unit % step == 0  # whole roots
        few = {n: v[some] for n, v in rows.items() if n in score.columns}
        enough = len(free(score, few)) == len(remaining)

        def laws(likeness: float) -> tuple[Law, Law]:
            law = Law.of(score, rows, total, unit=unit, units=units, likeness=likeness)
            if not enough:
                return law, law
            below = None if unit is None else unit[some]
            return law, Law.of(score, few, total, unit=below, units=units, likeness=likeness)

        law, small = laws(0.0)
        several = isinstance(score, TreeScore) and score.most > 1
        return cls(question=question, retained=remaining, law=law, small=small, rebuilt=laws if several else None)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the coefficients that are asked for."""
        return tuple(self.question.names[j] for j in self.retained)

    def shares(self) -> tuple[float, ...]:
        """The steps' parts of the budget."""
        rest = 1.0 if self.rebuilt is None else 1 - ALIKE
        return tuple(rest * part for part in ((1.0,) if self.law.template.link == COUNT else STEPS))

    def asks(self) -> int:
        """How many sums are asked for in all."""
        return len(self.shares()) + (self.rebuilt is not None)

    def likened(self, release: EmbeddingRelease) -> "Planned":
        """The plan where roots' rows are as alike as the answer says, and by ``SURE`` deviations of its noise more."""
        assert self.rebuilt is not None
        apart, equal = (law.squared(self.telling) for law in self._ends)
        reported = float(release.values[0]) + SURE * release.question.sigma
        likeness = min(max((reported - apart) / max(equal - apart, 1e-9), 0.0), 1.0)
        law, small = self.rebuilt(likeness)
        return replace(self, law=law, small=small, clips={}, looked={})

    @cached_property
    def _ends(self) -> tuple[Law, Law]:
        """The laws of rows as alike as the synthetic ones, and of roots whose rows are equal."""
        assert self.rebuilt is not None
        return self.rebuilt(0.0)[1], self.rebuilt(1.0)[1]

    @cached_property
    def telling(self) -> TreeScore:
        """The sum, so cut that its squared lengths differ most between the synthetic rows and equal ones."""
        apart, equal = self._ends
        scores = [s for s in (cut.of(self._asked) for cut in self._cuts) if isinstance(s, TreeScore)]
        return max(scores, key=lambda s: equal.squared(s) - apart.squared(s))

    def cut(self, sigma: float) -> Cut:
        """Where contributions are cut, where one sum has noise of ``sigma`` times that."""
        cuts, key = self._cuts, float(f"{sigma:.3g}")
        if len(cuts) == 1:
            return cuts[0]
        if key not in self.clips:
            # mean squared errors about the table's own coefficients, each in its own sampling deviation
            own = [np.maximum(self._moments(c).plain, 1e-300) for c in cuts]
            errors = [float(np.mean(self._expected(c, key).within / one)) for c, one in zip(cuts, own, strict=True)]
            self.clips[key] = cuts[int(np.nanargmin(errors))] if np.isfinite(errors).any() else cuts[-1]
        return self.clips[key]

    @cached_property
    def _cuts(self) -> list[Cut]:
        """Those that are compared."""
        link, level, score = self.law.template.link, self.law.template.level, self.law.template
        sizes = CLIPS[::3] if isinstance(score, TreeScore) else CLIPS
        if link in (COUNT, QUANTILE):
            sizes = np.array([1.0 if link == COUNT else max(level, 1 - level)])
        lengths = np.geomspace(1.0, score.most, LENGTHS) if isinstance(score, TreeScore) and score.most > 1 else [1.0]
        return [Cut(float(clip), float(length)) for length in lengths for clip in sizes]

    def _moments(self, cut: Cut) -> inference.Moments:
        if cut not in self.looked:
            none = np.zeros_like(self.small.beta)
            self.looked[cut] = inference.Moments.of(self.small, cut.of(self._asked), none, self._plain)
        return self.looked[cut]

    @cached_property
    def _asked(self) -> Score:
        """The first sum, of any clip."""
        none = np.zeros_like(self.small.beta)
        return self.law.score(self.small.coefficients(none), 1.0, self.whitening)

    @cached_property
    def _plain(self) -> inference.Plain:
        return inference.Plain.of(self.small, self._asked, np.zeros_like(self.small.beta))

    def _expected(self, cut: Cut, sigma: float) -> inference.Estimate:
        asked = [(self._moments(cut), sigma / part**0.5) for part in self.shares()]
        none = np.zeros_like(self.small.beta)
        return inference.expected(self.small, asked, none, slope=self.slope)

    @cached_property
    def slope(self) -> np.ndarray:
        """How the coefficients move with the shift, at the synthetic rows' own."""
        return inference.slope_of(self.small, np.zeros_like(self.small.beta))

    @cached_property
    def whitening(self) -> np.ndarray:
        """Of all steps."""
        return self.law.whitening()

    @property
    def sampling(self) -> np.ndarray:
        """Variance of the plain analysis of a table of that size, (p,)."""
        return self.law.alike * (self._plain.squares - self._plain.mean**2 / self.small.units)

    def expected(self, sigma: float) -> inference.Estimate:
        """What an answer is expected to look like, were the synthetic rows' law the truth."""
        cut = self.cut(sigma)
        estimate = self._expected(cut, sigma)
        if self.law.template.link in (COUNT, SURVIVAL):
            return estimate
        last_move = estimate.noise * (1 / self.shares()[0] - 1)  # of the first sum's estimate from that of both
        return inference.roughly(estimate, self._moments(cut), last_move)

    def next_question(self, measured: list[inference.Measured], sigma: float, step: int, purpose: str) -> Embedding:
        """What is asked after so many steps; ``sigma``: noise of one question that took the whole share."""
        none = np.zeros_like(self.law.beta)
        result = inference.pointed(self.law, measured) if measured else self.law.coefficients(none)
        at = result if np.isfinite(result).all() else self.law.coefficients(none)
        score = self.cut(sigma).of(self.law.score(at, 1.0, self.whitening))
        return Embedding(purpose=purpose, features=score, sigma=sigma / self.shares()[step] ** 0.5)


def measured(release: EmbeddingRelease) -> inference.Measured:
    """A released sum as the inference takes it."""
    score = release.question.features
    assert isinstance(score, Score)
    return inference.Measured(score=score, values=release.values, sigma=release.question.sigma)


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
        return self._asked(run, told=True)

    def check(self, run: Run) -> None:
        """All questions as often as they will be asked, at the synthetic rows' coefficients. Errors: BudgetError."""
        self._asked(run, told=False)

    def _asked(self, run: Run, *, told: bool) -> list[EmbeddingRelease]:
        """``told``: whether what is asked later follows from the answers before."""
        releases: list[EmbeddingRelease] = []
        for i, planned in enumerate(self.planned):
            own: list[EmbeddingRelease] = []
            # noise of one sum that takes the whole of a question's share
            sigma = run.setting.sigma(SAFE / len(self.planned), signed=planned.law.template.link != COUNT)
            if planned.rebuilt is not None:  # roots have several rows: how alike these are is asked first
                telling = replace(planned.telling, squared=True)
                how: dict[str, Any] = {"purpose": f"question {i + 1}, likeness", "sigma": sigma / ALIKE**0.5}
                releases.append(run.ask(Embedding(features=telling, **how)))
                planned = planned.likened(releases[-1]) if told else planned
            for step in range(len(planned.shares())):
                done = [measured(r) for r in own] if told else []
                own.append(run.ask(planned.next_question(done, sigma, step, f"question {i + 1}, step {step + 1}")))
            releases += own
            run.progress((i + 1) / len(self.planned))
        return releases

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
    laws = [replace(law, total=total, w=law.w * (total / law.total)) for law in (planned.law, planned.small)]
    return replace(planned, law=laws[0], small=laws[1], clips={}, looked={})


EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0)
RANGE = (1e-3, 100.0)  # epsilons between which the least is sought
HALVINGS = 16


@dataclass(frozen=True, kw_only=True)
class Price:
    """What answers to a question would cost, one of so many ``questions`` that share epsilon and ``delta``."""

    planned: Planned
    delta: float
    adjacency: Adjacency
    questions: int = 1

    def widths(self, epsilon: float) -> dict[str, float]:
        """By term the expected width of the interval, noise and sampling and clipping together."""
        moved = self.adjacency.moves(replaced=2.0**0.5 if self.planned.law.template.link == COUNT else 2.0)
        mu = calibrate(epsilon, self.delta) * self.questions**-0.5
        estimate = self.planned.expected(moved / mu)  # noise of one sum that takes the question's whole share
        return self._widths(estimate, estimate.variance)

    def _widths(self, estimate: Estimate, variance: np.ndarray) -> dict[str, float]:
        low, high = interval(self.planned.small, estimate, variance, float(special.ndtri((1 + LEVEL) / 2)))
        by = dict(zip(self.planned.names, high - low, strict=True))
        return {shown: float(by[name]) for shown, name in self.planned.question.shown.items() if name in by}

    def by_epsilon(self, synthetic: Mapping[str, float], epsilons: Sequence[float]) -> dict[str, Any]:
        """By term the synthetic value, and the expected widths by epsilon beside sampling's own."""
        by = {f"{e:g}": self.widths(e) for e in epsilons}
        own = self._widths(self.planned.expected(1.0), self.planned.sampling)
        terms = {
            shown: {
                "synthetic": synthetic.get(name),
                "sampling_width": own.get(shown),
                "widths": {e: item.get(shown) for e, item in by.items()},
            }
            for shown, name in self.planned.question.shown.items()
        }
        return {"question": dict(self.planned.question.plain), "terms": terms}

    def least_epsilon(self, width: float, term: str) -> float | None:
        """The least epsilon at which the term's interval is expected to be no wider; None where none does."""
        low, high = RANGE
        if self.widths(high).get(term, np.inf) > width:
            return None
        for _ in range(HALVINGS):
            middle = float(np.exp((log(low) + log(high)) / 2))
            low, high = (low, middle) if self.widths(middle).get(term, np.inf) <= width else (middle, high)
        return high
