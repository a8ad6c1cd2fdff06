"""Can a classifier tell synthetic rows from real ones, and are any of them copies? For the steward alone."""

from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from synth.evaluate.features import boosted, coordinates, for_trees
from synth.evaluate.read_sample import Sample

FOLDS = 5
WORK = 200_000  # synthetic rows times columns whose nearest record is looked for, in thousands of records
CHUNK = 200  # synthetic rows compared at a time


@dataclass(frozen=True, kw_only=True)
class TwoSample:
    """``auc``: of telling the tables apart on unseen folds; 0.5 is not at all. ``rows``: of each table."""

    auc: float = field(repr=False)
    rows: int = field(repr=False)


def two_sample(real: Sample, synthetic: Sample, *, rows: int, rng: np.random.Generator) -> TwoSample:
    """Boosted trees, five folds, equally many rows of each table, at most ``rows``."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    size = min(real.used, synthetic.used, rows)
    if size < 2 * FOLDS:
        return TwoSample(auc=0.5, rows=size)
    both = [s.at_most(size, rng) for s in (real, synthetic)]
    (x, z), marks = for_trees(both, list(real.columns), base=_joined(*both))
    label = np.repeat([0, 1], size)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    model = boosted("classifier", marks)
    whole = np.concatenate([x, z])
    whole[:, np.isnan(whole).all(axis=0)] = 0.0  # of a column without a value no tree can be made
    guess = cross_val_predict(model, whole, label, cv=folds, method="predict_proba")
    return TwoSample(auc=float(roc_auc_score(label, guess[:, 1])), rows=size)


def _joined(a: Sample, b: Sample) -> Sample:
    positions = {n: np.concatenate([p, b.positions[n]]) for n, p in a.positions.items()}
    return Sample(columns=a.columns, positions=positions, rows=a.used + b.used)


@dataclass(frozen=True, kw_only=True)
class Nearness:
    """Copies, and to which real rows synthetic ones are nearest. No test of privacy: a small share proves nothing.

    ``copies``: share of synthetic rows equal in every column to a real row; ``copies_floor``: share of real rows equal
    to another real row. With held-out rows ``copies_train`` and ``copies_test`` compare with equally many rows of
    each, and ``nearer_train`` is the share of synthetic rows nearer to a row that the generator saw than to one it did
    not (ties count half): 0.5 by chance, give or take ``nearer_error``.
    """

    copies: float = field(repr=False)
    copies_floor: float = field(repr=False)
    copies_train: float | None = field(repr=False)
    copies_test: float | None = field(repr=False)
    nearer_train: float | None = field(repr=False)
    nearer_error: float | None = field(repr=False)
    distances: dict[str, tuple[float, ...]] = field(repr=False)
    rows: int = field(repr=False)
    references: int = field(repr=False)


QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75)


def nearness(real: Sample, synthetic: Sample, *, test: Sample | None, rows: int, rng: np.random.Generator) -> Nearness:
    """Distance of two rows: the mean over columns of 1 for unlike categories, and of the difference of ranks.

    At most ``rows`` real rows, and as many held-out ones, are looked through.
    """
    size = min(real.used, rows) if test is None else min(real.used, test.used, rows)
    train = real.at_most(size, rng)
    held = None if test is None else test.at_most(size, rng)
    asked = synthetic.at_most(max(50, WORK * 1000 // (size * len(real.columns))), rng)
    near = _nearest(asked, train, base=real)
    keys = _keys(real)
    reported = {"synthetic rows to real rows": near}
    closer = share_train = share_test = None
    if held is not None:
        other = _nearest(asked, held, base=real)
        reported["synthetic rows to held-out rows"] = other
        closer = float(np.mean(near < other) + 0.5 * np.mean(near == other))
        share_train, share_test = (float(np.isin(_keys(synthetic), _keys(s)).mean()) for s in (train, held))
        reported["held-out rows to real rows"] = _nearest(held.at_most(asked.used, rng), train, base=real)
    _, index, count = np.unique(keys, return_inverse=True, return_counts=True)
    return Nearness(
        copies=float(np.isin(_keys(synthetic), keys).mean()),
        copies_floor=float((count[index] > 1).mean()),
        copies_train=share_train,
        copies_test=share_test,
        nearer_train=closer,
        nearer_error=None if closer is None else 1 / sqrt(asked.used),
        distances={n: tuple(map(float, np.quantile(d, QUANTILES))) for n, d in reported.items()},
        rows=asked.used,
        references=size,
    )


def _keys(sample: Sample) -> np.ndarray:
    """A 64-bit number for each row, equal for equal rows."""
    mixed = np.zeros(sample.used, dtype=np.uint64)
    for position in sample.positions.values():
        mixed ^= position.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) + (mixed << np.uint64(6))
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _nearest(asked: Sample, among: Sample, *, base: Sample) -> np.ndarray:
    """Distance (asked.used,) of each row to the nearest of the others."""
    sides = [coordinates(s, base) for s in (asked, among)]
    out = np.empty(asked.used)
    for start in range(0, asked.used, CHUNK):
        part = slice(start, start + CHUNK)
        total = np.zeros((len(range(*part.indices(asked.used))), among.used), dtype=np.float32)
        for name, (ours, theirs) in zip(base.columns, zip(*sides, strict=True), strict=True):
            if base.columns[name].is_numeric:
                total += np.minimum(np.abs(ours[part, None] - theirs[None, :]), 1)
            else:
                total += ours[part, None] != theirs[None, :]
        out[part] = total.min(axis=1) / len(base.columns)
    return out
