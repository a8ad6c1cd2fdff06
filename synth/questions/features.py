"""Public feature maps: a row as a vector phi(row) of at most unit norm, whose inner product is a kernel on rows.

Each map has ``dim``; ``norm``, an upper bound; ``non_negative_inner``, true only where no two rows' product can be
negative, truncation towards zero included; ``nonzero``, in how many features a row can differ from none at all;
``columns``; and ``of(rows)``, the features (n, dim).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod, sqrt

import numpy as np

from synth.questions.tables import Bins, freeze

ROUNDING = 1e-9  # by how much float sums may lift a norm above one; mechanisms check it again in integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """The coordinates of one column: a row of ``table`` (bins.size, width) float64 for each bin.

    A position that belongs to no bin (-1) has coordinates zero.

    Errors: ValueError for a table without a finite row for each bin.
    Privacy: public only.
    """

    bins: Bins
    table: np.ndarray

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.table, dtype=np.float64)
        if table.ndim != 2 or len(table) != self.bins.size or not np.isfinite(table).all():
            raise ValueError("a row of finite coordinates for each bin is needed")
        freeze(self, table=table)

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return self.table.shape[1]

    @property
    def square(self) -> float:
        """The largest squared norm of a row."""
        return float((self.table**2).sum(1).max(initial=0.0))

    @staticmethod
    def one_hot(bins: Bins, *, weight: float) -> "Block":
        """One coordinate for each bin, of height ``weight``."""
        return Block(bins=bins, table=weight * np.eye(bins.size))


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoding:
    """A row's vector: its columns' coordinates side by side. Its norm is at most one. Errors: ValueError if not.

    Privacy: public only.

    >>> sex = Bins.each("SEX", 2)
    >>> Encoding(blocks=(Block.one_hot(sex, weight=1.0),)).norm
    1.0
    """

    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        _check_norm(self.norm)

    @cached_property
    def norm(self) -> float:
        """The largest norm of a row."""
        return sqrt(sum(b.square for b in self.blocks))

    @property
    def dim(self) -> int:
        """Number of coordinates, d."""
        return sum(b.width for b in self.blocks)

    @property
    def non_negative(self) -> bool:
        """Whether no coordinate is negative: then two rows are at most sqrt(2) apart, not 2."""
        return all(map(_no_sign, self.blocks))


Rows = Mapping[str, np.ndarray]  # positions by column
MAX_FACTORS = 3


def codes(bins: Bins, positions: np.ndarray) -> np.ndarray:
    """The bin of each position, int64 of the shape of ``positions``; -1 for none. Beyond the last cell: the last one's.

    Privacy: public only, or as private as the positions it is given.

    >>> codes(Bins(column="b", cells=3, starts=[0, 1, 2], groups=[0, -1, 1]), np.array([2, 1, 0]))
    array([ 1, -1,  0])
    >>> codes(Bins(column="b", cells=2, starts=[0, 1], groups=[0, 1]), np.array([7, 0]))
    array([1, 0])
    """
    if bins.cells <= len(positions):
        return np.repeat(bins.groups, np.diff(bins.starts, append=bins.cells))[np.minimum(positions, bins.cells - 1)]
    return bins.groups[np.searchsorted(bins.starts, positions, side="right") - 1]


def looked_up(block: Block, positions: np.ndarray) -> np.ndarray:
    """The coordinates of each position, (n, width); zero where it belongs to no bin.

    Privacy: public only, or as private as the positions it is given.
    """
    at = codes(block.bins, positions)
    result = block.table[at]
    result[at < 0] = 0.0
    return result


def _spread(block: Block) -> int:
    """The largest number of coordinates of one bin that are not zero."""
    return int(np.count_nonzero(block.table, axis=1).max(initial=0))


def _no_sign(block: Block) -> bool:
    return float(block.table.min(initial=0.0)) >= 0


def _check_norm(norm: float) -> None:
    if not norm <= 1 + ROUNDING:
        raise ValueError(f"features reach norm {norm}, above 1")


class FeatureMap:
    """What features are computed from: the coordinates of the blocks that it ``read``s. Privacy: public only."""

    read: tuple[Block, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns read."""
        return tuple(dict.fromkeys(b.bins.column for b in self.read))


@dataclass(frozen=True, kw_only=True, eq=False)
class Term:
    """The tensor product of one to three columns' coordinates, times ``weight``; the last block varies fastest.

    Errors: ValueError for more columns than ``MAX_FACTORS``, or a weight that is not positive.
    Privacy: public only.
    """

    blocks: tuple[Block, ...]
    weight: float

    def __post_init__(self) -> None:
        if not 1 <= len(self.blocks) <= MAX_FACTORS:
            raise ValueError(f"a term has one to {MAX_FACTORS} columns")
        if not (self.weight > 0 and np.isfinite(self.weight)):
            raise ValueError("a positive weight is needed")

    @property
    def dim(self) -> int:
        """Number of features."""
        return prod(b.width for b in self.blocks)

    @property
    def square(self) -> float:
        """The largest squared norm of the term."""
        return self.weight**2 * prod(b.square for b in self.blocks)

    @property
    def nonzero(self) -> int:
        """The largest number of features of one row that are not zero."""
        return prod(_spread(b) for b in self.blocks)

    def of(self, parts: list[np.ndarray]) -> np.ndarray:
        """The term's features (n, dim) from its blocks' coordinates, each (n, width)."""
        out = parts[0]
        for part in parts[1:]:
            out = (out[:, :, None] * part[:, None, :]).reshape(len(out), -1)
        return self.weight * out


@dataclass(frozen=True, kw_only=True, eq=False)
class Tensors(FeatureMap):
    """Terms side by side: a sum of product kernels. Errors: ValueError where a row's norm could exceed one.

    One-hot blocks make tables of counts, others truncated series of a smooth kernel; a one-hot label as one more factor
    makes any of them class-conditional.

    Privacy: public only.

    >>> sex = Block.one_hot(Bins.each("SEX", 2), weight=1.0)
    >>> Tensors(terms=(Term(blocks=(sex,), weight=0.6), Term(blocks=(sex, sex), weight=0.8))).dim
    6
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        if not self.terms:
            raise ValueError("at least one term is needed")
        _check_norm(self.norm)

    @property
    def dim(self) -> int:
        """Number of features."""
        return sum(t.dim for t in self.terms)

    @cached_property
    def norm(self) -> float:
        """The largest norm of a row's features."""
        return sqrt(sum(t.square for t in self.terms))

    @cached_property
    def non_negative_inner(self) -> bool:
        """Whether no coordinate is negative."""
        return all(map(_no_sign, self.read))

    @cached_property
    def nonzero(self) -> int:
        """The largest number of features of one row that are not zero."""
        return sum(t.nonzero for t in self.terms)

    @property
    def read(self) -> tuple[Block, ...]:  # type: ignore[override]
        """All blocks, term by term."""
        return tuple(b for t in self.terms for b in t.blocks)

    @property
    def parts(self) -> tuple[slice, ...]:
        """Where each term's features stand."""
        ends = np.cumsum([0] + [t.dim for t in self.terms])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    def of(self, rows: Rows) -> np.ndarray:
        """The features of rows, (n, dim) float64."""
        return np.hstack([t.of([looked_up(b, rows[b.bins.column]) for b in t.blocks]) for t in self.terms])


class Labelled(FeatureMap):
    """Features of the rows' ``blocks``, times the coordinates of a ``label``, if there is one. Privacy: public only."""

    blocks: tuple[Block, ...]
    label: Block | None

    @property
    def labels(self) -> int:
        """By how many the features are multiplied."""
        return self.label.width if self.label else 1

    @property
    def norm(self) -> float:
        """The largest norm of a row's features, which is 1 but for the label's."""
        return sqrt(self.label.square) if self.label else 1.0

    @property
    def read(self) -> tuple[Block, ...]:  # type: ignore[override]
        """All blocks, the label's last."""
        return (*self.blocks, *([self.label] if self.label else []))

    def labelled(self, features: np.ndarray, rows: Rows) -> np.ndarray:
        """Features times the label's coordinates: (n, label width * dim), the features varying fastest."""
        if self.label is None:
            return features
        label = looked_up(self.label, rows[self.label.bins.column])
        return (label[:, :, None] * features[:, None, :]).reshape(len(features), -1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fourier(Labelled):
    """[cos(t), sin(t)] / sqrt(D), t (D,) the sum of the columns' phases; times a label's coordinates, if any.

    Each block of ``blocks`` holds the phases (radians) of its bins at D public frequencies; no bin, no phase.
    Features: label coordinate by label coordinate, in each D cosines, then D sines. The kernel is
    mean_j cos(t_j - t'_j), which tends to a product of the columns' characteristic kernels.

    **Source**: Rahimi and Recht, NeurIPS 2007; DP-MERF, arXiv 2002.11603.

    Errors: ValueError where columns have unlike frequencies.
    Privacy: public only.
    """

    blocks: tuple[Block, ...]
    label: Block | None = None

    def __post_init__(self) -> None:
        if not self.blocks or len({b.width for b in self.blocks}) != 1 or self.blocks[0].width < 1:
            raise ValueError("phases at the same frequencies are needed for each column")
        _check_norm(self.norm)

    @property
    def dim(self) -> int:
        """Number of features."""
        return 2 * self.blocks[0].width * self.labels

    @property
    def non_negative_inner(self) -> bool:
        """Never: a mean of cosines has either sign."""
        return False

    @property
    def nonzero(self) -> int:
        """The largest number of features of one row that are not zero."""
        return 2 * self.blocks[0].width * (_spread(self.label) if self.label else 1)

    def of(self, rows: Rows) -> np.ndarray:
        """The features of rows, (n, dim) float64."""
        phase = sum(looked_up(b, rows[b.bins.column]) for b in self.blocks)
        waves = np.hstack([np.cos(phase), np.sin(phase)]) / sqrt(self.blocks[0].width)
        return self.labelled(waves, rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class Gradients(Labelled):
    """Gradient of a public two-layer ReLU network at its random start, scaled to unit norm for each row.

    f(x) = sum_i signs_i relu(weights_i . x), ``weights`` (h, d) and ``signs`` (h,) of +-1 public, x (d,) the blocks'
    coordinates side by side. Features: (d f / d weights, h * d numbers, then d f / d signs, h numbers), divided by
    their own norm; zero where that is zero; times a label's coordinates, if any.

    **Source**: DP-NTK, arXiv 2303.01687.

    Errors: ValueError for weights that are not finite or do not fit the coordinates.
    Privacy: public only.
    """

    blocks: tuple[Block, ...]
    weights: np.ndarray
    signs: np.ndarray
    label: Block | None = None

    def __post_init__(self) -> None:
        weights, signs = (np.ascontiguousarray(a, dtype=np.float64) for a in (self.weights, self.signs))
        wide = sum(b.width for b in self.blocks)
        if not self.blocks or weights.ndim != 2 or weights.shape[1] != wide or signs.shape != weights.shape[:1]:
            raise ValueError("a weight for each coordinate and a sign for each hidden unit are needed")
        if not (np.isfinite(weights).all() and np.all(np.abs(signs) == 1)):
            raise ValueError("finite weights and signs of -1 or 1 are needed")
        freeze(self, weights=weights, signs=signs)
        _check_norm(self.norm)

    @property
    def dim(self) -> int:
        """Number of features."""
        return (self.weights.size + len(self.signs)) * self.labels

    @cached_property
    def non_negative_inner(self) -> bool:
        """Whether no coordinate is negative: then each feature has one sign, whatever the row."""
        return all(map(_no_sign, self.read))

    @property
    def nonzero(self) -> int:
        """The largest number of features of one row that are not zero."""
        each = len(self.signs) * (1 + sum(_spread(b) for b in self.blocks))
        return each * (_spread(self.label) if self.label else 1)

    def of(self, rows: Rows) -> np.ndarray:
        """The features of rows, (n, dim) float64."""
        x = np.hstack([looked_up(b, rows[b.bins.column]) for b in self.blocks])
        return self.labelled(self.gradients(x), rows)

    def gradients(self, x: np.ndarray) -> np.ndarray:
        """The scaled gradients at inputs x (n, d): (n, h * d + h) float64."""
        inner = x @ self.weights.T
        first = ((inner > 0) * self.signs)[:, :, None] * x[:, None, :]
        raw = np.hstack([first.reshape(len(x), -1), np.maximum(inner, 0)])
        size = np.linalg.norm(raw, axis=1, keepdims=True)
        return np.divide(raw, size, out=np.zeros_like(raw), where=size > 0)
