"""Tables as features for scikit-learn: integers for trees, sparse one-hot columns for linear models."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from synth.evaluate.read_sample import Sample

LEVELS = 254  # categories that a boosted tree can tell apart; rarer ones are pooled


def for_trees(samples: Sequence[Sample], names: Sequence[str], *, base: Sample) -> tuple[list[np.ndarray], list[bool]]:
    """For each sample features (used, k), and which of them are categories: its commonest in ``base``, numbered."""
    out = [np.empty((s.used, len(names))) for s in samples]
    is_category = [not base.columns[n].is_numeric for n in names]
    for j, name in enumerate(names):
        if is_category[j]:
            codes = _pooled(base, name)
        for sample, features in zip(samples, out, strict=True):
            features[:, j] = codes[sample.positions[name]] if is_category[j] else sample.values(name)
    return out, is_category


def _pooled(base: Sample, name: str) -> np.ndarray:
    """The code of each position of a category: by frequency, the rarest together."""
    counts = np.bincount(base.positions[name], minlength=base.columns[name].cells)
    codes = np.full(len(counts), LEVELS)
    common = np.argsort(-counts, kind="stable")[:LEVELS]
    codes[common] = np.arange(len(common))
    return codes


def boosted(kind: str, is_category: Sequence[bool], *, iterations: int = 100) -> Any:
    """Gradient-boosted trees, ``classifier`` or ``regressor``, with a fixed seed."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    made = HistGradientBoostingClassifier if kind == "classifier" else HistGradientBoostingRegressor
    marked = list(is_category) if any(is_category) else None
    return made(categorical_features=marked, random_state=0, max_iter=iterations)


def for_linear(train: Sample, test: Sample, names: Sequence[str]) -> tuple[Any, Any]:
    """Sparse features: one column for each category of the training rows, numbers scaled by median and quartiles.

    A category that the training rows lack has only zeros; a missing number is their mean.
    """
    from scipy import sparse

    parts: tuple[list[Any], list[Any]] = ([], [])
    for name in names:
        if train.columns[name].is_numeric:
            made = _scaled(train.values(name), test.values(name))
            matrices = [sparse.csr_matrix(column.reshape(-1, 1)) for column in made]
        else:
            matrices = _one_hot(train, test, name)
        for retained, matrix in zip(parts, matrices, strict=True):
            retained.append(matrix)
    return sparse.hstack(parts[0], format="csr"), sparse.hstack(parts[1], format="csr")


def _scaled(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known = train[~np.isnan(train)]
    mean = known.mean() if len(known) else 0.0
    filled = [np.where(np.isnan(v), mean, v) for v in (train, test)]
    low, middle, high = np.quantile(filled[0], [0.25, 0.5, 0.75])
    width = high - low or 1.0
    return (filled[0] - middle) / width, (filled[1] - middle) / width


def _one_hot(train: Sample, test: Sample, name: str) -> list[Any]:
    from scipy import sparse

    levels = np.unique(train.positions[name])
    column = np.full(train.columns[name].cells, -1)
    column[levels] = np.arange(len(levels))
    out = []
    for sample in (train, test):
        codes = column[sample.positions[name]]
        rows = np.flatnonzero(codes >= 0)
        ones = np.ones(len(rows))
        out.append(sparse.csr_matrix((ones, (rows, codes[rows])), shape=(sample.used, len(levels))))
    return out


def coordinates(sample: Sample, base: Sample) -> list[np.ndarray]:
    """Categories as codes; numbers as ranks in ``base`` from 0 to 1, a missing one far from all but its like."""
    out = []
    for name, column in base.columns.items():
        if not column.is_numeric:
            out.append(sample.positions[name])
            continue
        known = np.sort(base.positions[name][base.positions[name] < column.size])
        rank = np.searchsorted(known, sample.positions[name], side="left") / max(len(known), 1)
        missing = sample.positions[name] >= column.size
        out.append(np.where(missing, 10.0 + sample.positions[name] - column.size, rank).astype(np.float32))
    return out
