"""One-way estimates sharpened by the margins of the tables that were released after them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synth.generators.marginals.denoise import project
from synth.generators.marginals.histogram import Histogram
from synth.questions import CountsRelease


@dataclass(frozen=True, kw_only=True, eq=False)
class Margin:
    """What all tables on the same bins of a column say of them: mean ``counts`` (K,) and variance."""

    groups: np.ndarray
    counts: np.ndarray
    variance: float


def sharpen(histograms: Mapping[str, Histogram], tables: Sequence[CountsRelease], total: float) -> dict[str, Histogram]:
    """The histograms, each bin averaged by precision with what the tables' margins say of it.

    Bins of a column that cut through finer ones are passed over. Leaves keep their proportions inside the finest bins.
    **Source**: generalised least squares on a tree, Hay et al., arXiv 0904.0942, section 4.
    """
    margins = _margins(tables)
    return {n: _sharpened(h, margins[n], total) if n in margins else h for n, h in histograms.items()}


def _sharpened(histogram: Histogram, margins: Sequence[Margin], total: float) -> Histogram:
    """Upwards, means of a bin's own margin and the sum of its parts; downwards, parts fitted to it."""
    groups = np.arange(len(histogram.mass))
    estimate, variance = histogram.mass, np.full(len(groups), histogram.sigma**2)
    steps = []
    for margin in sorted(margins, key=lambda m: -len(m.counts)):
        parent = np.zeros(len(estimate), dtype=np.int64)
        parent[groups] = margin.groups
        if not np.array_equal(parent[groups], margin.groups):  # a use's own groups, that cut through finer ones
            continue
        below, noise = np.bincount(parent, weights=estimate), np.bincount(parent, weights=variance)
        steps.append((parent, estimate, variance))
        estimate = below + noise / (noise + margin.variance) * (margin.counts - below)
        variance, groups = noise * margin.variance / (noise + margin.variance), margin.groups
    if not steps:
        return histogram
    value = project(estimate, total=total)
    for parent, estimate, variance in reversed(steps[1:]):
        value = _share_out(value, parent, _shifted(value, parent, estimate, variance), np.ones(len(parent)))
    value = _share_out(value, steps[0][0], histogram.mass, histogram.widths)
    return replace(histogram, mass=value)


def _shifted(value: np.ndarray, parent: np.ndarray, estimate: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Parts moved, in proportion to their variance, to sum to ``value``; negative ones set to zero."""
    gap = value - np.bincount(parent, weights=estimate)
    noise = np.bincount(parent, weights=variance)
    return np.maximum(estimate + (gap / np.maximum(noise, 1e-12))[parent] * variance, 0.0)


def _share_out(value: np.ndarray, parent: np.ndarray, parts: np.ndarray, spare: np.ndarray) -> np.ndarray:
    """``value`` divided over parts in their proportions, or those of ``spare`` where all parts are zero."""
    empty = np.bincount(parent, weights=parts)[parent] <= 0
    parts = np.where(empty, spare, parts)
    whole = np.bincount(parent, weights=parts)
    return parts * (value / np.where(whole > 0, whole, 1.0))[parent]


def _margins(tables: Sequence[CountsRelease]) -> dict[str, list[Margin]]:
    """For each column and each of its binnings the precision-weighted mean margin."""
    seen: dict[str, dict[bytes, tuple[np.ndarray, list, list]]] = {}
    slots: dict[int, tuple[np.ndarray, list, list]] = {}  # by the grouping's identity, of which pairs share a few
    for marginal, values in [a for r in tables for a in zip(r.question.marginals, r.values, strict=True)]:
        for axis, bins in enumerate(marginal.bins):
            counts = values.sum(axis=tuple(i for i in range(values.ndim) if i != axis))
            slot = slots.get(id(bins))
            if slot is None:
                slot = seen.setdefault(bins.column, {}).setdefault(bins.groups.tobytes(), (bins.groups, [], []))
                slots[id(bins)] = slot
            slot[1].append(counts)
            slot[2].append(1 / (marginal.sigma**2 * (marginal.cells / bins.size)))
    return {n: [_mean(*slot) for slot in slots.values()] for n, slots in seen.items()}


def _mean(groups: np.ndarray, counts: list[np.ndarray], precision: list[float]) -> Margin:
    whole = sum(precision)
    return Margin(groups=groups, counts=np.array(precision) @ np.stack(counts) / whole, variance=1 / whole)
