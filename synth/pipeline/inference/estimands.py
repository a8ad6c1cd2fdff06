"""Estimates from weighted rows, each with its score: by how much a row's weight moves it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from synth.pipeline.inference.asked import ColumnTerm, EstimateQuestion
from synth.pipeline.inference.weighted_rows import WeightedRows
from synth.schema.table import NUMERIC, Schema

STEPS, CORRECTIONS = 50, 3  # of Newton's method on the model's rows; with the weights, whose own curvature is noisy
LIFT = 1e-9  # of the curvature's size, so that a column without a row does no harm
ALIKE = 1e6  # as often the variance of a coefficient as if its column stood alone: the others determine the column


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimated:
    """Coefficients (k,), their names, and scores (N, k): an estimate's error is the weighted sum of its scores.

    ``limits`` (k,): half the width at which an interval says nothing any more; ``there`` (N,): complete rows.
    """

    names: tuple[str, ...]
    values: np.ndarray
    scores: np.ndarray
    limits: np.ndarray
    there: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Link:
    """The mean by a linear predictor held within ``far``, its slope by the mean, and the longest step towards it, up to
    which a straight line may stand for the curve."""

    mean: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    far: float = 30.0
    step: float = 2.0


LINKS: Mapping[str, Link] = {
    "linear": Link(mean=lambda t: t, slope=np.ones_like, far=np.inf, step=np.inf),
    "logistic": Link(mean=lambda t: 1 / (1 + np.exp(-t)), slope=lambda m: m * (1 - m)),
    "poisson": Link(mean=np.exp, slope=lambda m: m),
}


def regression(rows: WeightedRows, asked: EstimateQuestion, schema: Schema) -> Estimated:
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
    link = LINKS[asked.kind]
    x = np.where(there[:, None], (x - middle) / scale, 0.0)
    beta, scores, bend = _solved(x, y, rows, link)
    back = np.diag(1 / scale)  # of coefficients on centred and scaled columns to plain ones
    back[0, 1:] = -middle[1:] / scale[1:]
    return Estimated(
        names=names,
        values=back @ beta,
        scores=scores @ back.T,
        there=there,
        limits=_limits(bend, link, asked.outcome.ends(schema)) / scale,
    )


def _limits(bend: np.ndarray, link: Link, ends: tuple[float, float]) -> np.ndarray:
    """Of coefficients on scaled columns: a step of the link, up to which scores change evenly, or the greatest
    deviation of an outcome within ``ends``; 0 for a column that the others determine; the constant has none."""
    limit = link.step if np.isfinite(link.step) else (ends[1] - ends[0]) / 2
    alone = np.diag(bend)
    own = (alone > 0) & (alone * np.diag(_inverse(bend)) < ALIKE)
    return np.append(np.inf, np.where(own, limit, 0.0)[1:])


def _solved(x: np.ndarray, y: np.ndarray, rows: WeightedRows, link: Link) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients, their scores (N, k), and the curvature (k, k)."""

    def fitted(beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = link.mean(np.clip(x @ beta, -link.far, link.far))
        bend = (x * (rows.start * rows.survey * link.slope(mean))[:, None]).T @ x
        return x * (rows.survey * (y - mean))[:, None], bend

    beta = np.zeros(x.shape[1])
    for step in range(STEPS + CORRECTIONS):
        scores, bend = fitted(beta)
        move = _inverse(bend) @ ((rows.start if step < STEPS else rows.weights) @ scores)
        beta = beta + np.clip(move, -link.step, link.step)
    scores, bend = fitted(beta)
    return beta, scores @ _inverse(bend), bend


def _inverse(bend: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.inv(bend + LIFT * (np.trace(bend) or 1.0) * np.eye(len(bend))))


def _design(rows: WeightedRows, asked: EstimateQuestion, schema: Schema) -> tuple[tuple[str, ...], np.ndarray]:
    names, columns = ["1"], [np.ones(len(rows.start))]
    for name in asked.by:
        column = schema.columns[name]
        numeric = column.type in NUMERIC
        values = [None] if numeric else (column.categories or ())[1:]
        for term in (ColumnTerm(column=name, value=v) for v in values):
            names.append(name if term.value is None else f"{name}={term.value}")
            columns.append(term.numbers(rows.positions, schema))
    return tuple(names), np.stack(columns, axis=1)
