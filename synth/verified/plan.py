"""How a question is asked for a given noise: clip, whitening and steps, chosen on the synthetic rows alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from synth.errors import UsageError
from synth.questions import Embedding, EmbeddingRelease, Score, TreeScore
from synth.questions.scores import COUNT, QUANTILE, SURVIVAL
from synth.verified.inference import (
    AnyLaw,
    Estimate,
    Measured,
    Moments,
    Plain,
    expected,
    pointed,
    roughly,
    slope_of,
)
from synth.verified.language import Question
from synth.verified.law import Law, free
from synth.verified.survival import SurvivalLaw

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
    law: AnyLaw
    small: AnyLaw
    rebuilt: Callable[[float], tuple[Law, Law]] | None = None
    clips: dict[float, Cut] = field(default_factory=dict)
    looked: dict[Cut, Moments] = field(default_factory=dict)

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
            return cls._of_survival(question, rows, total)
        remaining = tuple(free(question.score, rows))
        here = question.score.design(rows)[2]
        if question.score.link != COUNT and (not remaining or here.sum() < FEWEST):
            raise UsageError(
                "question: hardly any synthetic row takes part, so that nothing can be said of those that do; "
                "ask of more rows, or count them"
            )
        score = _reduced(question.score, remaining)
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

    @classmethod
    def _of_survival(cls, question: Question, rows: Mapping[str, np.ndarray], total: float) -> "Planned":
        law = SurvivalLaw.of(question.score, rows, total)
        if law.fewest_at_risk() < FEWEST:
            raise UsageError(
                "question: hardly any synthetic row is left before the last time; ask of earlier times, or of more rows"
            )
        return cls(question=question, retained=tuple(range(len(question.names))), law=law, small=law)

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

    def alikeness(self, sigma: float, purpose: str) -> Embedding | None:
        """What is asked first where roots have several rows; ``sigma`` as of a step."""
        if self.rebuilt is None:
            return None
        score = replace(self._telling, squared=True)
        return Embedding(purpose=purpose, features=score, sigma=sigma / ALIKE**0.5)

    def likened(self, release: EmbeddingRelease) -> "Planned":
        """The plan where roots' rows are as alike as the answer says, and by ``SURE`` deviations of its noise more."""
        assert self.rebuilt is not None
        apart, equal = (law.squared(self._telling) for law in self._ends)
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
    def _telling(self) -> TreeScore:
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
            errors = [self._error(c, key) for c in cuts]
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

    def _error(self, cut: Cut, sigma: float) -> float:
        """The mean squared error about the table's own coefficients, each in its own sampling deviation."""
        own = np.maximum(self._moments(cut).plain, 1e-300)
        return float(np.mean(self._expected(cut, sigma).within / own))

    def _moments(self, cut: Cut) -> Moments:
        if cut not in self.looked:
            none = np.zeros_like(self.small.beta)
            self.looked[cut] = Moments.of(self.small, cut.of(self._asked), none, self._plain)
        return self.looked[cut]

    @cached_property
    def _asked(self) -> Score:
        """The first sum, of any clip."""
        none = np.zeros_like(self.small.beta)
        return self.law.score(self.small.coefficients(none), 1.0, self.whitening)

    @cached_property
    def _plain(self) -> Plain:
        return Plain.of(self.small, self._asked, np.zeros_like(self.small.beta))

    def _expected(self, cut: Cut, sigma: float) -> Estimate:
        asked = [(self._moments(cut), sigma / part**0.5) for part in self.shares()]
        none = np.zeros_like(self.small.beta)
        return expected(self.small, asked, none, slope=self.slope)

    @cached_property
    def slope(self) -> np.ndarray:
        """How the coefficients move with the shift, at the synthetic rows' own."""
        return slope_of(self.small, np.zeros_like(self.small.beta))

    @cached_property
    def whitening(self) -> np.ndarray:
        """Of all steps."""
        return self.law.whitening()

    @property
    def sampling(self) -> np.ndarray:
        """Variance of the plain analysis of a table of that size, (p,)."""
        return self.law.alike * (self._plain.squares - self._plain.mean**2 / self.small.units)

    def expected(self, sigma: float) -> Estimate:
        """What an answer is expected to look like, were the synthetic rows' law the truth."""
        cut = self.cut(sigma)
        estimate = self._expected(cut, sigma)
        if self.law.template.link in (COUNT, SURVIVAL):
            return estimate
        last_move = estimate.noise * (1 / self.shares()[0] - 1)  # of the first sum's estimate from that of both
        return roughly(estimate, self._moments(cut), last_move)

    def next_question(self, measured: list[Measured], sigma: float, step: int, purpose: str) -> Embedding:
        """What is asked after so many steps; ``sigma``: noise of one question that took the whole share."""
        none = np.zeros_like(self.law.beta)
        result = pointed(self.law, measured) if measured else self.law.coefficients(none)
        at = result if np.isfinite(result).all() else self.law.coefficients(none)
        score = self.cut(sigma).of(self.law.score(at, 1.0, self.whitening))
        return Embedding(purpose=purpose, features=score, sigma=sigma / self.shares()[step] ** 0.5)


def measured(release: EmbeddingRelease) -> Measured:
    """A released sum as the inference takes it."""
    score = release.question.features
    assert isinstance(score, Score)
    return Measured(score=score, values=release.values, sigma=release.question.sigma)


def _reduced(score: Score, retained: tuple[int, ...]) -> Score:
    """The score without the coefficients that cannot be told apart."""
    if len(retained) == len(score.terms) or not retained:
        return score
    wide = len(retained)
    return replace(
        score, terms=tuple(score.terms[j] for j in retained), coefficients=np.zeros(wide), whitening=np.eye(wide)
    )
