"""What an answer would cost: widths of its intervals at several epsilons, from the synthetic rows alone."""

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np

from synth.lazy import Lazy
from synth.privacy.accounting.composition import calibrate
from synth.privacy.relation import Adjacency
from synth.questions.scores import COUNT
from synth.verified.asking import LEVEL
from synth.verified.inference import Estimate, interval
from synth.verified.plan import Planned

special = Lazy("scipy.special")

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0)
RANGE = (1e-3, 100.0)  # epsilons between which the least is sought
HALVINGS = 16


def noise_of(planned: Planned, *, epsilon: float, delta: float, adjacency: Adjacency, questions: int) -> float:
    """Noise of one sum that takes the question's whole share, as a multiple of its clip."""
    non_negative = planned.law.template.link == COUNT
    shifted = adjacency.moves(replaced=2.0**0.5 if non_negative else 2.0)
    return shifted / (calibrate(epsilon, delta) * questions**-0.5)


def widths(planned: Planned, *, epsilon: float, delta: float, adjacency: Adjacency, questions: int) -> dict[str, float]:
    """By term the expected width of the interval, noise and sampling and clipping together."""
    sigma = noise_of(planned, epsilon=epsilon, delta=delta, adjacency=adjacency, questions=questions)
    estimate = planned.expected(sigma)
    return _widths(planned, estimate, estimate.variance)


def _widths(planned: Planned, estimate: Estimate, variance: np.ndarray) -> dict[str, float]:
    low, high = interval(planned.small, estimate, variance, float(special.ndtri((1 + LEVEL) / 2)))
    by = dict(zip(planned.names, high - low, strict=True))
    return {shown: float(by[name]) for shown, name in planned.question.shown.items() if name in by}


def priced(
    planned: Planned,
    synthetic: dict[str, float],
    *,
    delta: float,
    adjacency: Adjacency,
    questions: int = 1,
    epsilons: Sequence[float] = EPSILONS,
) -> dict[str, Any]:
    """By term the synthetic value, and the expected widths by epsilon beside sampling's own."""
    asked = {"delta": delta, "adjacency": adjacency, "questions": questions}
    by = {f"{e:g}": widths(planned, epsilon=e, **asked) for e in epsilons}  # type: ignore[arg-type]
    own = _widths(planned, planned.expected(1.0), planned.sampling)
    terms = {
        shown: {
            "synthetic": synthetic.get(name),
            "sampling_width": own.get(shown),
            "widths": {e: item.get(shown) for e, item in by.items()},
        }
        for shown, name in planned.question.shown.items()
    }
    return {"question": dict(planned.question.plain), "terms": terms}


def least_epsilon(
    planned: Planned, *, width: float, term: str, delta: float, adjacency: Adjacency, questions: int = 1
) -> float | None:
    """The least epsilon at which the term's interval is expected to be no wider; None where none does."""
    asked = {"delta": delta, "adjacency": adjacency, "questions": questions}

    def wide(epsilon: float) -> float:
        return widths(planned, epsilon=epsilon, **asked).get(term, np.inf)  # type: ignore[arg-type]

    low, high = RANGE
    if wide(high) > width:
        return None
    for _ in range(HALVINGS):
        middle = float(np.exp((log(low) + log(high)) / 2))
        low, high = (low, middle) if wide(middle) <= width else (middle, high)
    return high
