"""The exponential mechanism over public candidates. Proof note: selection.md beside this file."""

from collections.abc import Mapping

import numpy as np

from synth.errors import UsageError
from synth.mechanisms import counts
from synth.privacy.accounting.events import Event, ExponentialMechanismDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import Choice, ChoiceRelease

changed_cells = counts.no_cells

FLOAT = 2.0**-20  # by how much arithmetic may raise the sensitivity of log odds (selection.md, steps 4 and 5)
MAX_COUNT = 2.0**25  # expected counts up to which scores are exact
GRAIN = 2.0**-16  # expected counts are rounded to its multiples, so that scores are whole multiples of it
FAR = 600.0  # log odds below the best's by more than this are raised to it (selection.md, step 5)


def sensitivity(question: Choice, adjacency: Adjacency) -> float:
    """By how much one unit can move one candidate's score, in rows.

    **Guarantee**: a row that comes or goes moves one cell of a table by 1, a row that is replaced two; a sum of
    absolute differences moves by as many, the largest absolute difference by 1. A unit's rows add up.

    Privacy: public only.
    """
    return adjacency.moves(replaced=2.0 if question.goal == "worst" else 1.0)


def events(question: Choice, adjacency: Adjacency) -> list[Event]:
    """One choice whose log odds range over an interval of 2 sensitivity / scale.

    Privacy: public only.
    """
    reach = 2 * sensitivity(question, adjacency) * (1 + FLOAT)
    return [ExponentialMechanismDpEvent(name=question.purpose, sensitivity=reach, sigma=question.scale)]


def answer(question: Choice, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> ChoiceRelease:
    """A candidate, drawn with odds exp(score / scale). ``rows``: by column the positions (n,), whole numbers.

    **Guarantee**: (2 sensitivity / scale)-DP, and as a choice of bounded range better in composition (selection.md),
    for any number of rows. Errors: UsageError for expected counts, which are public, above 2^25. Memory: 8 bytes for
    each expected count, twice.

    Privacy: reads rows, under noise, which is the draw itself.
    """
    whole = _whole(question, rows)
    logs = (whole - whole.max()) * (GRAIN / question.scale)
    return ChoiceRelease(question=question, index=noise.choice(np.exp(np.maximum(logs, -FAR))))


def scores(question: Choice, rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Scores (candidates,), in rows, float64 (exact below 2^37 rows): private.

    Privacy: reads rows, exact: they stay with the curator.
    """
    return _whole(question, rows) * GRAIN


def _whole(question: Choice, rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Exact scores in units of ``GRAIN``, int64: private. Errors: UsageError for what is public alone."""
    if max(float(np.abs(e).max()) for e in question.expected) > MAX_COUNT:
        raise UsageError(
            "choices are made among counts up to {:.0f}; sample the table, or choose another method", MAX_COUNT
        )
    exact = [c.astype(np.int64) * round(1 / GRAIN) for c in counts.exact(question.tables, rows)]
    expected = [np.rint(e / GRAIN).astype(np.int64) for e in question.expected]
    if question.goal == "worst":
        return np.array([np.abs(c - e.ravel()).sum() for c, e in zip(exact, expected, strict=True)])
    return -np.abs(expected[0] - np.concatenate(exact)).max(1)
