"""Tables as features for scikit-learn: integers for trees, one-hot columns for linear models."""

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


def for_linear(names: Sequence[str], *, base: Sample) -> Any:
    """A step that makes features: one column for each category that it was fitted on, of others zeros only; numbers
    scaled by median and quartiles, a missing one their mean."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, RobustScaler

    numbers = [j for j, n in enumerate(names) if base.columns[n].is_numeric]
    others = [j for j in range(len(names)) if j not in numbers]
    scaled = make_pipeline(SimpleImputer(keep_empty_features=True), RobustScaler())
    return make_column_transformer((scaled, numbers), (OneHotEncoder(handle_unknown="ignore"), others))


def plainly(sample: Sample, names: Sequence[str]) -> np.ndarray:
    """Columns (used, k): numbers as such, categories as positions."""
    return np.column_stack([sample.values(n) if sample.columns[n].is_numeric else sample.positions[n] for n in names])


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
