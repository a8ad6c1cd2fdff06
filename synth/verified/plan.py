"""How a question is asked for a given noise: clip, whitening and steps, chosen on the synthetic rows alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from synth.errors import UsageError
from synth.questions import Embedding, EmbeddingRelease, Score
from synth.questions.scores import COUNT, QUANTILE, SURVIVAL
from synth.verified.inference import SPREAD, AnyLaw, Estimate, Measured, Moments, expected, pointed
from synth.verified.language import Question
from synth.verified.law import Law, free
from synth.verified.survival import SurvivalLaw

STEPS = (0.3, 0.7)  # parts of a question's budget: the second is asked where the first one points
CLIPS = np.geomspace(1.5, 40.0, 16)  # in deviations of one number of a row's whitened contribution
LIKELY = 0.7  # as ``SPREAD``, where clips are compared: the likely misfit, not the one that intervals allow for
TRIED = 15_000  # synthetic rows on which clips are compared
FEWEST = 30  # synthetic rows that must take part


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned:
    """A question with the synthetic rows' law of it. ``retained``: the coefficients that these rows tell apart."""

    question: Question
    retained: tuple[int, ...]
    law: AnyLaw
    small: AnyLaw
    clips: dict[float, float] = field(default_factory=dict)
    looked: dict[float, Moments] = field(default_factory=dict)

    @classmethod
    def of(cls, question: Question, rows: Mapping[str, np.ndarray], total: float) -> "Planned":
        """Errors: UsageError where hardly a synthetic row takes part."""
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
        few = {n: v[::step] for n, v in rows.items() if n in score.columns}
        law = Law.of(score, rows, total)
        small = Law.of(score, few, total) if len(free(score, few)) == len(remaining) else law
        return cls(question=question, retained=remaining, law=law, small=small)

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
        return (1.0,) if self.law.template.link == COUNT else STEPS

    def clip(self, sigma: float) -> float:
        """The length at which contributions are cut, where one sum has noise of ``sigma`` times that."""
        link, level = self.law.template.link, self.law.template.level
        if link == COUNT:
            return 1.0
        if link == QUANTILE:
            return max(level, 1 - level)
        key = float(f"{sigma:.3g}")
        if key not in self.clips:
            errors = [self._error(float(c), key) for c in CLIPS]
            self.clips[key] = float(CLIPS[int(np.nanargmin(errors))]) if np.isfinite(errors).any() else 10.0
        return self.clips[key]

    def _error(self, clip: float, sigma: float) -> float:
        """The mean squared error about the table's own coefficients, each in its own sampling deviation."""
        own = np.maximum(self._moments(clip).plain, 1e-300)
        return float(np.mean(self._expected(clip, sigma, spread=LIKELY).within / own))

    def _moments(self, clip: float) -> Moments:
        if clip not in self.looked:
            law, none = self.small, np.zeros_like(self.small.beta)
            self.looked[clip] = Moments.of(law, self.score(law.coefficients(none), clip, self.whitening), none)
        return self.looked[clip]

    def _expected(self, clip: float, sigma: float, *, spread: float = SPREAD) -> Estimate:
        asked = [(self._moments(clip), sigma / part**0.5) for part in self.shares()]
        none = np.zeros_like(self.small.beta)
        return expected(self.small, asked, none, slope=self.slope, spread=spread)

    @cached_property
    def slope(self) -> np.ndarray:
        """How the coefficients move with the shift, at the synthetic rows' own."""
        return self.small.slope(np.zeros_like(self.small.beta))

    @cached_property
    def whitening(self) -> np.ndarray:
        """Of all steps."""
        return self.law.whitening()

    @property
    def sampling(self) -> np.ndarray:
        """Variance of the plain analysis of a table of that size, (p,)."""
        moments = self._moments(self.clip(1.0))
        return moments.plain - moments.plain_mean**2 / self.small.total

    def expected(self, sigma: float) -> Estimate:
        """What an answer is expected to look like, were the synthetic rows' law the truth."""
        return self._expected(self.clip(sigma), sigma)

    def score(self, coefficients: np.ndarray, clip: float, whitening: np.ndarray) -> Score:
        """The sum that is asked for at these coefficients."""
        return self.law.score(coefficients, clip, whitening)

    def next_question(self, measured: list[Measured], sigma: float, step: int, purpose: str) -> Embedding:
        """What is asked after so many steps; ``sigma``: noise of one question that took the whole share."""
        none = np.zeros_like(self.law.beta)
        result = pointed(self.law, measured) if measured else self.law.coefficients(none)
        at = result if np.isfinite(result).all() else self.law.coefficients(none)
        score = self.score(at, self.clip(sigma), self.whitening)
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
