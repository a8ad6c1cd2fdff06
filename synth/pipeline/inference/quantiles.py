"""A column's quantiles with intervals."""

import numpy as np

from synth.pipeline.inference.intervals import Errors, Interval, is_informed
from synth.pipeline.inference.weighted_rows import WeightedRows
from synth.schema.table import Schema

MOST_EDGES = 512  # of a column, at which its distribution is estimated


def quantile(rows: WeightedRows, column: str, level: float, schema: Schema, *, z: float, related: float) -> Interval:
    """What a test of the share below a value does not refuse; each value is spread evenly over its unit.

    **Source**: Woodruff 1952.
    """
    known, places = schema.columns[column], rows.positions[column]
    edges = _edges(places, known.size)
    there = places < known.size
    clear = is_informed(rows, there, z=z, related=related)
    scores = np.where(there[:, None], (places[:, None] < edges) - level, 0.0) * rows.survey[:, None]
    size = max(float((rows.weights if clear else rows.start) @ (there * rows.survey)), 1.0)
    share = level + (rows.weights if clear else rows.start) @ scores / size
    errors = Errors.of(rows, scores / size, related=related)
    half = z * np.sqrt(np.maximum(np.diag(errors.all), 0.0))
    values = float(known.bounds[0]) + float(known.step) * (np.concatenate([[0], edges, [known.size]]) - 0.5)
    low, high = _crossed(values, share + half, level), _crossed(values, share - half, level, last=True)
    middle = (_crossed(values, share, level) + _crossed(values, share, level, last=True)) / 2
    near = np.eye(len(edges))[np.abs(share - level).argmin()]
    slope = (high - low) / max(2 * float(near @ half), 1e-12)
    parts = {n: v * slope for n, v in errors.parts(near).items()}
    least, most = (float(b) for b in known.bounds)
    low, high = np.clip([low, high] if clear else [least, most], least, most)
    return Interval(
        name=column,
        estimate=float(np.clip(middle, low, high)),
        low=float(low),
        high=float(high),
        parts=parts,
        bounded=bool(low > least or high < most),
    )


def _edges(places: np.ndarray, size: int) -> np.ndarray:
    """Positions at which to cut: all, or as many of those drawn as ``MOST_EDGES``."""
    if size <= MOST_EDGES:
        return np.arange(1, size)
    drawn = np.unique(places[places < size])
    return np.unique(drawn[np.linspace(0, len(drawn) - 1, MOST_EDGES).astype(int)])


def _crossed(values: np.ndarray, share: np.ndarray, level: float, *, last: bool = False) -> float:
    """Where a noisy distribution function first reaches the level, or last leaves it, straight between the cuts."""
    curve = np.concatenate([[0.0], share, [1.0]])
    curve = np.minimum.accumulate(curve[::-1])[::-1] if last else np.maximum.accumulate(curve)
    at = int(np.clip(np.searchsorted(curve, level, side="right" if last else "left"), 1, len(curve) - 1))
    rise = curve[at] - curve[at - 1]
    way = (level - curve[at - 1]) / rise if rise > 0 else 0.5
    return float(values[at - 1] + (values[at] - values[at - 1]) * np.clip(way, 0.0, 1.0))
