"""Figures of tables of counts: how far two are apart, and how strongly the columns of one go together."""

from math import sqrt

import numpy as np


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
