"""Estimates from weighted rows, each with its score: by how much a row's weight moves it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from synth.pipeline.inference.asked import Question, Term
from synth.pipeline.inference.weighted_rows import WeightedRows
from synth.schema.table import NUMERIC, Schema

STEPS, CORRECTIONS = 50, 3  # of Newton's method on the model's rows; with the weights, whose own curvature is noisy
LIFT = 1e-9  # of the curvature's size, so that a column without a row does no harm


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimated:
    """Estimates (k,), their names, and scores (N, k): an estimate's error is the weighted sum of its scores."""

    names: tuple[str, ...]
    values: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Link:
    """The mean by a linear predictor held within ``far``, its slope by the mean, and the longest step towards it."""

    mean: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    far: float = 30.0
    step: float = 2.0


LINKS: Mapping[str, Link] = {
    "linear": Link(mean=lambda t: t, slope=np.ones_like, far=np.inf, step=np.inf),
    "logistic": Link(mean=lambda t: 1 / (1 + np.exp(-t)), slope=lambda m: m * (1 - m)),
    "poisson": Link(mean=np.exp, slope=lambda m: m),
}


def means(rows: WeightedRows, terms: Mapping[str, Term], schema: Schema) -> Estimated:
    """The mean of each term over the rows in which it is not missing."""
    values, scores = [], []
    for term in terms.values():
        numbers = term.numbers(rows.positions, schema)
        there = np.isfinite(numbers)
        numbers = np.where(there, numbers, 0.0)
        values.append(float(rows.weights @ numbers) / max(float(rows.weights @ there), 1.0))
        scores.append(np.where(there, numbers - values[-1], 0.0) / max(float(rows.start @ there), 1.0))
    return Estimated(names=tuple(terms), values=np.array(values), scores=np.stack(scores, axis=1))


def regression(rows: WeightedRows, asked: Question, schema: Schema) -> Estimated:
    """Coefficients of a linear, logistic or Poisson regression over complete rows, without a category's first value.

    The model's own rows, whose weights are positive, give a start and the curvature; a few steps with the other weights
    then bring the weighted sum of scores to zero, as far as noise lets it matter.
    """
    y = asked.outcome.numbers(rows.positions, schema)
    names, x = _design(rows, asked, schema)
    there = np.isfinite(y) & np.isfinite(x).all(axis=1)
    x, y, size = np.where(there[:, None], x, 0.0), np.where(there, y, 0.0), max(float(rows.start @ there), 1.0)
    middle = rows.start @ x / size
    middle[0] = 0.0
    scale = np.sqrt(rows.start @ (there[:, None] * (x - middle) ** 2) / size)
    scale = np.where(scale > 0, scale, 1.0)
    beta, scores = _solved(np.where(there[:, None], (x - middle) / scale, 0.0), y, rows, LINKS[asked.kind])
    back = np.diag(1 / scale)  # of coefficients on centred and scaled columns to plain ones
    back[0, 1:] = -middle[1:] / scale[1:]
    return Estimated(names=names, values=back @ beta, scores=scores @ back.T)


def _solved(x: np.ndarray, y: np.ndarray, rows: WeightedRows, link: Link) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients, and their scores (N, k)."""

    def fitted(beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = link.mean(np.clip(x @ beta, -link.far, link.far))
        bend = (x * (rows.start * link.slope(mean))[:, None]).T @ x
        return x * (y - mean)[:, None], np.linalg.inv(bend + LIFT * np.trace(bend) * np.eye(len(bend)))

    beta = np.zeros(x.shape[1])
    for step in range(STEPS + CORRECTIONS):
        scores, inverse = fitted(beta)
        move = inverse @ ((rows.start if step < STEPS else rows.weights) @ scores)
        beta = beta + np.clip(move, -link.step, link.step)
    scores, inverse = fitted(beta)
    return beta, scores @ inverse


def _design(rows: WeightedRows, asked: Question, schema: Schema) -> tuple[tuple[str, ...], np.ndarray]:
    names, columns = ["1"], [np.ones(len(rows.start))]
    for name in asked.by:
        column = schema.columns[name]
        numeric = column.type in NUMERIC
        values = [None] if numeric else (column.categories or ())[1:]
        for term in (Term(column=name, value=v) for v in values):
            names.append(name if term.value is None else f"{name}={term.value}")
            columns.append(term.numbers(rows.positions, schema))
    return tuple(names), np.stack(columns, axis=1)
