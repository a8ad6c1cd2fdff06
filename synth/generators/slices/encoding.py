"""What is sliced: rows as vectors, on bins chosen from public facts or from earlier releases."""

from collections.abc import Mapping
from math import sqrt

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.merging import merge
from synth.questions import Bins, Block, Encoding
from synth.schema.table import Column, Schema

TARGET = 2.0  # weight of the target's coordinates, against 1
COARSE, COARSEST = 1.4, 0.45  # a bin's least share of the rows grows with the root of the noise, up to a half
FEW = 4  # a column of so many bins is encoded by the corners of a simplex, which lie further apart than axes do
MOST_BINS = 24  # public bins of a column where nothing has been measured yet
MOST_STEPS = 100  # public bins of a number that has one coordinate
EMPTY = 1e-9


def weights(names: list[str], target: str | None, *, boost: float = TARGET) -> dict[str, float]:
    """Norm of each column's coordinates; their squares sum to one, but for rounding downwards."""
    plain = np.array([boost if n == target else 1.0 for n in names])
    return dict(zip(names, (plain / sqrt(float(plain @ plain)) * (1 - EMPTY)).tolist(), strict=True))


def merged(histograms: Mapping[str, Histogram], total: float, setting: Setting, *, sigma: float) -> Encoding:
    """Bins merged by the noisy one-ways until they stand out of noise of ``sigma``: the encoding of two stages."""
    names = [n for n, h in histograms.items() if len(h.mass) > 1]
    weight = weights(names, setting.schema.target)
    noise = sigma * sqrt(len(names)) / sqrt(total)
    least = min(COARSE * sqrt(noise), COARSEST) * total
    simplex = 0 < setting.signed <= setting.sensitivity
    blocks = []
    for name in names:
        groups = _halved(histograms[name].mass, merge(histograms[name].mass, least=least))
        bins = Bins(column=name, cells=histograms[name].cells, starts=histograms[name].starts, groups=groups)
        corners = simplex and bins.size <= FEW
        blocks.append(Block(bins=bins, table=weight[name] * (_simplex(bins.size) if corners else np.eye(bins.size))))
    return Encoding(blocks=tuple(blocks))


def _halved(mass: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The groups, or two halves where all leaves had fallen into one."""
    if groups.max() > 0:
        return groups
    below = np.cumsum(mass) <= mass.sum() / 2
    return (~below).astype(np.int64) if 0 < below.sum() < len(mass) else (np.arange(len(mass)) > 0).astype(np.int64)


def _simplex(corners: int) -> np.ndarray:
    """Corners of a regular simplex around zero, (b, b - 1), each of norm one: sqrt(b/(b-1)) times further apart than
    the ends of unit axes.

    >>> _simplex(2).round(6).ravel().tolist() in ([1.0, -1.0], [-1.0, 1.0])
    True
    """
    centred = np.eye(corners) - 1 / corners
    basis = np.linalg.svd(centred)[0][:, : corners - 1]
    return centred @ basis / sqrt(1 - 1 / corners) * (1 - EMPTY)


def binned(schema: Schema) -> Encoding:
    """One-hot on public bins: values in order, cut into at most ``MOST_BINS`` equal parts; missing codes alone."""
    columns = _columns(schema)
    weight = weights(list(columns), schema.target)
    blocks = [Block.one_hot(_parts(n, c, MOST_BINS), weight=weight[n]) for n, c in columns.items()]
    return Encoding(blocks=tuple(blocks))


def scaled(schema: Schema, histograms: Mapping[str, Histogram] | None = None) -> Encoding:
    """As the published algorithm has it: categories one-hot, a number one coordinate in [0, 1], equal weights.

    ``histograms``: one-ways that were asked before; bins are then their leaves.
    """
    columns = _columns(schema)
    weight = weights(list(columns), None)
    blocks = []
    for name, column in columns.items():
        if histograms is not None:
            starts = histograms[name].starts
            bins = Bins(column=name, cells=column.cells, starts=starts, groups=np.arange(len(starts)))
        else:
            bins = _parts(name, column, MOST_STEPS if column.is_numeric else column.cells)
        table = _line(bins, column) if column.is_numeric else np.eye(bins.size)
        blocks.append(Block(bins=bins, table=weight[name] * table))
    return Encoding(blocks=tuple(blocks))


def _columns(schema: Schema) -> dict[str, Column]:
    """Columns that have something to learn; the first one where none has."""
    known = schema.measured()
    return {n: c for n, c in known.items() if c.cells > 1} or dict(list(known.items())[:1])


def _parts(name: str, column: Column, most: int) -> Bins:
    starts = np.arange(min(most, column.size)) * column.size // min(most, column.size)
    starts = np.concatenate([starts, np.arange(column.size, column.cells)])
    return Bins(column=name, cells=column.cells, starts=starts, groups=np.arange(len(starts)))


def _line(bins: Bins, column: Column) -> np.ndarray:
    """The bins' places on [0, 1], and a coordinate for each missing code."""
    inner = int((bins.starts < column.size).sum())
    codes = bins.size - inner
    table = np.zeros((bins.size, 1 + codes))
    middle = bins.starts[:inner] + (bins.widths[:inner] - 1) / 2
    table[:inner, 0] = middle / max(column.size - 1, 1)
    table[inner:, 1:] = np.eye(codes)
    return table
