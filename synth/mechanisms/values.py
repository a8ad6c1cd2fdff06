"""Texts that many rows share, by a stability threshold. Proof note: values.md beside this file."""

from collections.abc import Mapping
from math import nextafter
from typing import Any

import numpy as np

from synth.lazy import special
from synth.mechanisms.counts import changed, sensitivity
from synth.privacy.accounting.events import Event, GaussianDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import Values, ValuesRelease

__all__ = ["answer", "changed_cells", "events", "failure", "threshold"]


def threshold(adjacency: Adjacency, *, sigma: float, failure_delta: float) -> float:
    """The smallest threshold whose failure probability is at most ``failure_delta``, rounded up.

    Privacy: public only.

    >>> from synth.privacy.relation import Relation
    >>> round(threshold(Adjacency(relation=Relation.ADD_REMOVE), sigma=10.0, failure_delta=1e-6), 1)
    49.0
    """
    worst = adjacency.max_rows
    bound = worst + 0.5 - sigma * float(special.ndtri(failure_delta / worst))
    while failure(adjacency, sigma=sigma, threshold=bound) > failure_delta:
        bound = nextafter(bound * (1 + 1e-9), np.inf)
    return bound


def failure(adjacency: Adjacency, *, sigma: float, threshold: float) -> float:
    """Probability that one unit alone makes a text appear: its rows on texts that no other row has.

    Privacy: public only.
    """
    from scipy.special import ndtr

    worst = adjacency.max_rows
    return float(worst * ndtr(-(threshold - 0.5 - worst) / sigma))


def events(question: Values, adjacency: Adjacency) -> list[Event]:
    """A Gaussian over the texts both tables hold, and the threshold's failure for those that only one holds.

    Privacy: public only.
    """
    lost = failure(adjacency, sigma=question.sigma, threshold=question.threshold)
    return [
        GaussianDpEvent(
            name=question.purpose, sensitivity=sensitivity(adjacency), sigma=question.sigma, failure_delta=lost
        )
    ]


def changed_cells(question: Values, adjacency: Adjacency) -> int:  # noqa: ARG001
    """In how many counts neighbouring tables can differ.

    Privacy: public only.
    """
    return changed(adjacency)


def answer(question: Values, rows: Mapping[str, Any], noise: SystemNoise) -> ValuesRelease:
    """The column's frequent texts. ``rows`` holds, for the column, distinct ``values`` and ``codes`` (num_rows,).

    **Guarantee**: (epsilon, delta + failure)-DP where the Gaussian of mu = sensitivity / sigma is (epsilon, delta)-DP.

    Privacy: reads rows, under noise.
    """
    column = rows[question.column]
    texts = np.asarray(column.values, dtype=object)
    exact = np.bincount(column.codes, minlength=len(texts))
    held = np.flatnonzero(exact)
    noisy = exact[held] + noise.gaussian_counts((len(held),), sigma=question.sigma)
    released = noisy > question.threshold
    result = sorted(zip(texts[held[released]], noisy[released], strict=True))
    counts = np.array([count for _, count in result], dtype=np.int64)
    return ValuesRelease(question=question, texts=tuple(str(text) for text, _ in result), counts=counts)
