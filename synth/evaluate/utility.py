"""How well a model trained on synthetic rows predicts real ones (TSTR), beside one trained on real rows (TRTR)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synth.errors import UsageError, meant
from synth.evaluate.features import boosted, for_linear, for_trees, plainly
from synth.evaluate.read_sample import Sample
from synth.schema.table import Schema, canonical

MOST_CLASSES = 12  # of a target; rarer ones are pooled into the last
HELD_OUT = 0.2  # share of the real rows set aside where no rows were held out before


@dataclass(frozen=True, kw_only=True)
class UtilityScore:
    """One score of three models on the same real test rows: trained on synthetic, on real, on resampled real rows."""

    name: str
    label: str
    higher_is_better: bool
    synthetic: float | None
    real: float | None
    floor: float | None


@dataclass(frozen=True, kw_only=True)
class Utility:
    """``task``: binary, classes or regression. ``held_out``: whether the generator never saw the test rows."""

    target: str
    task: str
    held_out: bool
    test_rows: int
    scores: tuple[UtilityScore, ...] = field(repr=False)


def utility(
    real: Sample, synthetic: Sample, schema: Schema, *, target: str, test: Sample | None, rng: np.random.Generator
) -> Utility:
    """The scores for a target. Without ``test`` a fifth of the real rows is set aside: the generator has seen them.

    Errors: UsageError for a target that is not measured or does not vary.
    """
    if target not in real.columns:
        raise UsageError("`target={}` is not a measured column; {}", target, meant(target, real.columns))
    train, held = real, test
    if held is None:
        order, cut = rng.permutation(real.used), max(1, int(HELD_OUT * real.used))
        train, held = real.take(np.sort(order[cut:])), real.take(np.sort(order[:cut]))
    if min(train.used, held.used) < 1:
        raise UsageError("`target={}`: too few real rows to train a model and test it; leave the target out", target)
    trained = (synthetic, train, train.resampled(synthetic.used, rng))
    names = [n for n in real.columns if n != target]
    if real.columns[target].is_numeric:
        task, scores = "regression", _regression(trained, held, names, target)
    else:
        task, scores = _classification(trained, held, names, target, schema)
    return Utility(target=target, task=task, held_out=test is not None, test_rows=held.used, scores=tuple(scores))


def _guesses(
    trained: Sequence[Sample], held: Sample, names: list[str], goals: Sequence[np.ndarray], kind: str, **how: Any
) -> list[Any]:
    """Fitted boosted trees and the features of the test rows; None where the goal does not vary, or is not known.

    ``goals``: of each the values or classes (used,), NaN where there is none.
    """
    out = []
    for train, goal in zip(trained, goals, strict=False):
        known = np.flatnonzero(~np.isnan(goal))
        (x, z), marks = for_trees([train.take(known), held], names, base=trained[1])
        x[:, np.isnan(x).all(axis=0)] = 0.0  # of a column without a value no tree can be made, nor anything learnt
        several = len(known) > 1 and (kind == "regressor" or len(np.unique(goal)) > 1)
        out.append((boosted(kind, marks, **how).fit(x, goal[known]), z) if several else None)
    return out


def _regression(trained: Sequence[Sample], held: Sample, names: list[str], target: str) -> list[UtilityScore]:
    from sklearn.metrics import mean_absolute_error, r2_score

    truth = held.values(target)
    rows = ~np.isnan(truth)
    if not rows.any() or len(np.unique(trained[1].positions[target])) < 2:
        raise UsageError("`target={}`: does not vary in the real rows; choose another column", target)
    models = _guesses(trained, held, names, [t.values(target) for t in trained], "regressor")
    guesses = [None if m is None else m[0].predict(m[1])[rows] for m in models]
    kinds = (("r2", "R², boosted trees", True, r2_score), ("mae", "mean absolute error", False, mean_absolute_error))
    return [
        _score(name, label, better, [g if g is None else measure(truth[rows], g) for g in guesses])
        for name, label, better, measure in kinds
    ]


def _classification(
    trained: Sequence[Sample], held: Sample, names: list[str], target: str, schema: Schema
) -> tuple[str, list[UtilityScore]]:
    codes = _classes(trained[1], target, schema)
    labels = [codes[s.positions[target]] for s in (*trained, held)]
    if len(np.unique(labels[1])) < 2:
        raise UsageError("`target={}`: does not vary in the real rows; choose another column", target)
    if len(np.unique(labels[1])) == 2 and set(np.unique(labels[3])) <= {0, 1}:
        return "binary", _binary(trained, held, names, labels)
    return "classes", _many(trained, held, names, labels)


def _classes(base: Sample, target: str, schema: Schema) -> np.ndarray:
    """The class of each position: 0 and 1 (the positive one) of a binary target, else by frequency."""
    column = base.columns[target]
    counts = np.bincount(base.positions[target], minlength=column.cells)
    present = np.flatnonzero(counts)
    if len(present) == 2:
        wanted = [i for i, c in enumerate(column.categories or ()) if canonical(c) == canonical(schema.positive or "")]
        positive = wanted[0] if target == schema.target and wanted and wanted[0] in present else present[-1]
        return (np.arange(column.cells) == positive).astype(int)
    codes = np.full(column.cells, MOST_CLASSES - 1)
    common = np.argsort(-counts, kind="stable")[: MOST_CLASSES - 1]
    codes[common] = np.arange(len(common))
    return codes


def _binary(trained: Sequence[Sample], held: Sample, names: list[str], labels: list[np.ndarray]) -> list[UtilityScore]:
    from sklearn.metrics import f1_score, roc_auc_score

    areas: list[float | None] = []
    f1: list[float] = []
    both = len(np.unique(labels[3])) == 2  # without both classes among the test rows there is no area
    for train, label, model in zip(trained, labels, _guesses(trained, held, names, labels, "classifier"), strict=False):
        guess = np.full(held.used, label[0]) if model is None else _logistic(train, held, names, label)
        chance = np.zeros(held.used) if model is None else model[0].predict_proba(model[1])[:, 1]
        areas.append(roc_auc_score(labels[3], chance) if both else None)
        f1.append(float(f1_score(labels[3], guess, zero_division=0)))
    return [
        _score("auc", "area under ROC, boosted trees", True, areas),
        _score("logreg_f1", "F1, logistic regression", True, f1),
    ]


def _logistic(train: Sample, held: Sample, names: list[str], label: np.ndarray) -> np.ndarray:
    """Predictions of SDMetrics' BinaryLogisticRegression: balanced classes, fifty steps."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(for_linear(names, base=train), LogisticRegression(class_weight="balanced", max_iter=50))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(plainly(train, names), label).predict(plainly(held, names))


def _many(trained: Sequence[Sample], held: Sample, names: list[str], labels: list[np.ndarray]) -> list[UtilityScore]:
    from sklearn.metrics import accuracy_score, f1_score

    models = _guesses(trained, held, names, labels, "classifier", iterations=30)
    guesses = [
        np.full(held.used, g[0]) if m is None else m[0].predict(m[1]) for m, g in zip(models, labels, strict=False)
    ]
    return [
        _score("accuracy", "accuracy, boosted trees", True, [accuracy_score(labels[3], g) for g in guesses]),
        _score("macro_f1", "F1, mean over classes", True, [f1_score(labels[3], g, average="macro") for g in guesses]),
    ]


def _score(name: str, label: str, better: bool, result: Sequence[Any]) -> UtilityScore:
    synthetic, real, floor = (None if v is None or not np.isfinite(v) else float(v) for v in result)
    return UtilityScore(name=name, label=label, higher_is_better=better, synthetic=synthetic, real=real, floor=floor)
