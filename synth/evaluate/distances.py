"""How far tables of counts are apart, weighted or not, as pictures, scores and verdicts take it.

For the steward alone. Rows with an empty cell among them say little of a relation and agree by themselves, so they are
left out of a verdict's tables where enough rows remain.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from math import pi, sqrt

import numpy as np

from synth.evaluate.read_sample import Sample
from synth.evaluate.verdict import Measured
from synth.schema.grouping import Groups

THIN = 0.35  # a second sample's distance, above which the rows with every cell are too few to be scored by themselves
Codes = Mapping[str, np.ndarray]  # by column the group (rows,) of every row


def shares_of(codes: np.ndarray, size: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Shares (size,) of rows, or of their weight, by code."""
    counts = np.bincount(codes, weights=weights, minlength=size)
    return counts / max(float(counts.sum()), 1e-300)


def tv(real: np.ndarray, synthetic: np.ndarray) -> float:
    """Total variation distance of two tables of shares of one shape, 0 to 1."""
    return round(float(0.5 * np.abs(real - synthetic).sum()), 12)


def cramers_v(joint: np.ndarray, rows: int) -> float:
    """Cramer's V of a joint table of shares (r, c) of ``rows`` rows, corrected for its bias; 0 to 1.

    0 where a column has one group only. Source: Bergsma, J. Korean Stat. Soc. 42 (2013), section 2: what independent
    columns show by chance is taken off.

    >>> cramers_v(np.array([[0.5, 0.0], [0.0, 0.5]]), 10_000) > 0.99
    True
    >>> cramers_v(np.full((3, 2), 1 / 6), 10_000)
    0.0
    """
    joint = joint[joint.sum(axis=1) > 0][:, joint.sum(axis=0) > 0]
    tall, wide = joint.shape
    if min(tall, wide) < 2 or rows < 2:
        return 0.0
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    phi = float((joint**2 / expected).sum()) - 1
    phi = max(0.0, phi - (tall - 1) * (wide - 1) / (rows - 1))
    least = min(k - (k - 1) ** 2 / (rows - 1) for k in (tall, wide)) - 1
    return min(1.0, sqrt(phi / least)) if least > 0 else 0.0


def joint(
    codes: Codes,
    names: Sequence[str],
    sizes: Sequence[int],
    *,
    rows: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Counts of columns ``names`` of ``sizes`` groups together, of that shape; ``rows``: which of them alone."""
    flat = codes[names[0]].astype(np.int64)
    for name, size in zip(names[1:], sizes[1:], strict=True):
        flat = flat * size + codes[name]
    counted = np.bincount(flat if rows is None else flat[rows], weights, int(np.prod(sizes)))
    return counted.reshape(tuple(sizes))


def apart(real: np.ndarray, synthetic: np.ndarray) -> tuple[float, float]:
    """Total variation of two tables of counts of one shape, and what a second sample would show; 1 if one is empty.

    The mean absolute difference of two independent draws' shares, cell by cell, normal approximation.

    >>> apart(np.array([50, 50]), np.array([60, 40]))[0]
    0.1
    """
    sizes = [int(c.sum()) for c in (real, synthetic)]
    if not all(sizes):
        return (0.0, 0.0) if not any(sizes) else (1.0, 1.0)
    p, q = real / sizes[0], synthetic / sizes[1]
    chance = 0.5 * sqrt(2 / pi * sum(1 / n for n in sizes)) * float(np.sqrt(p * (1 - p)).sum())
    return tv(p, q), min(1.0, chance)


def scored(
    names: Sequence[str], sizes: Sequence[int], codes: tuple[Codes, Codes], filled: tuple[Codes, Codes]
) -> Measured:
    """The joint table of columns ``names`` of ``sizes`` groups, among the rows that hold a value in each of them.

    ``codes``, ``filled``: of the real and of the synthetic rows the group (rows,), and whether there is a value.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    retained = [np.logical_and.reduce([f[n] for n in names]) for f in filled]
    whole = compared(*(joint(c, names, sizes) for c in codes))
    if all(k.all() for k in retained):
        return whole
    few = compared(*(joint(c, names, sizes, rows=k) for c, k in zip(codes, retained, strict=True)))
    return whole if few.second > max(THIN, whole.second) else few


def compared(real: np.ndarray, synthetic: np.ndarray) -> Measured:
    """Two tables of counts of one shape.

    >>> compared(np.array([[50, 0], [0, 50]]), np.array([[25, 25], [25, 25]])).independent
    0.5
    """
    distance, chance = apart(real, synthetic)
    shares = real / max(int(real.sum()), 1)
    axes = range(real.ndim)
    sides = [shares.sum(axis=tuple(a for a in axes if a != k)) for k in axes]
    alone = reduce(np.multiply.outer, sides)
    return Measured(value=distance, second=chance, independent=tv(shares, alone))


@dataclass(frozen=True, kw_only=True)
class Weighted:
    """Distances of weighted shares, in at most 12 groups a column (and missing codes).

    ``by``: the weight's column. ``columns``: by column the total variation between the real and the synthetic table's
    shares of all weight. ``pairs``: the mean over pairs of columns, None where there are none. ``means``: the mean
    weight of a real and of a synthetic row. **Guarantee**: none; from real rows.
    """

    by: str
    columns: Mapping[str, float] = field(repr=False)
    pairs: float | None = field(repr=False)
    means: tuple[float, float] = field(repr=False)

    @property
    def mean(self) -> float:
        """Mean distance over the columns."""
        return float(np.mean(list(self.columns.values())))


def weighted(
    real: Sample, synthetic: Sample, groups: Mapping[str, Groups], codes: tuple[Codes, Codes], by: str
) -> Weighted | None:
    """Weighted distances of all columns but the weight itself; None where it is the only one, or weighs nothing.

    ``codes``: of each table the group (num_rows,) of every row. A missing weight is 0.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    names = [n for n in groups if n != by]
    weights = [np.nan_to_num(s.values(by)) for s in (real, synthetic)]
    if not names or min(w.sum() for w in weights) <= 0:
        return None
    sizes = {n: len(groups[n].labels) for n in names}

    def off(*columns: str) -> float:
        tables = (
            joint(c, columns, [sizes[n] for n in columns], weights=w) for c, w in zip(codes, weights, strict=True)
        )
        return tv(*(t / t.sum() for t in tables))

    pairs = [off(*pair) for pair in combinations(names, 2)]
    return Weighted(
        by=by,
        columns={n: off(n) for n in names},
        pairs=float(np.mean(pairs)) if pairs else None,
        means=(float(weights[0].mean()), float(weights[1].mean())),
    )
