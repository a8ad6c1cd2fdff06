"""Kernels on rows, a product of tables on codes or a mean of Gaussians on vectors; and sample paths: a sum of kernel
functions, noised by one Gaussian process, told at points that may be chosen later."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import floor, log2, sqrt

import numpy as np

from synth.lazy import Lazy
from synth.questions.features import Block, codes, looked_up
from synth.questions.tables import Bins, Question, Release, freeze

distance = Lazy("scipy.spatial.distance")

FLOAT = 2.0**-53
MOST_WIDTHS = 8

Seen = Callable[[np.ndarray], np.ndarray]  # records' codes -> what each adds at points fixed before


class OfBins(ABC):
    """A kernel on rows by the ``bins`` of their columns. Privacy: public only."""

    bins: tuple[Bins, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns read."""
        return tuple(dict.fromkeys(b.column for b in self.bins))

    def seen(self, x: np.ndarray, w: np.ndarray, *, gradients: bool = False) -> np.ndarray:
        """What records of codes x (n, columns) add to the numbers told at points w, (n, m * each)."""
        return self.observed(w, gradients=gradients)(x)

    @abstractmethod
    def observed(self, w: np.ndarray, *, gradients: bool = False) -> Seen:
        """What records add at points w, for many of them: k(x, w), then gradients in ``unit``s, if they are told; zero
        for a record that is in no bin, a code of -1. Each record's numbers follow from its own codes alone."""

    def coded(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """Rows as ``seen`` takes them: their bin codes, int64 (n, columns)."""
        return np.column_stack([codes(b, rows[b.column]) for b in self.bins])

    def digest(self, tables: Iterable[np.ndarray], *names: str) -> bytes:
        """Tells kernels apart, by their bins, ``tables`` of any shape and further ``names``."""
        parts = [*(a for b in self.bins for a in (b.starts, b.groups)), *tables]
        named = [*(f"{b.column}\0{b.cells}" for b in self.bins), *names]
        return sha256("\0".join(named).encode() + b"".join(p.tobytes() for p in parts)).digest()


@dataclass(frozen=True, kw_only=True, eq=False)
class ProductKernel(OfBins):
    """``k(x, w) = prod_j tables[j][x_j, w_j]`` on bin codes; a table (size, size) for each of ``bins``.

    Tables are symmetric, positive semi-definite, with unit diagonal and no negative entry, so that k(x, x) = 1 and
    k >= 0. One more column with the identity as its table makes the kernel conditional. A row that belongs to no bin of
    some column adds nothing. Errors: ValueError where a table is none of this.

    Privacy: public only.

    >>> sex = Bins.each("SEX", 2)
    >>> k = ProductKernel(bins=(sex,), tables=(np.array([[1, 0.3], [0.3, 1]]),))
    >>> k.gram(np.array([[0], [1]]), np.array([[0]]))
    array([[1. ],
           [0.3]])
    """

    bins: tuple[Bins, ...]
    tables: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        tables = tuple(np.array(t, dtype=np.float64) for t in self.tables)
        if not tables or len(tables) != len(self.bins):
            raise ValueError("a table for each column is needed")
        for b, t in zip(self.bins, tables, strict=True):
            if t.shape != (b.size, b.size) or not np.isfinite(t).all():
                raise ValueError("a kernel's table has a finite entry for each pair of bins")
            if not (np.array_equal(t, t.T) and np.all(np.diag(t) == 1) and t.min() >= 0):
                raise ValueError("a kernel's table is symmetric, with unit diagonal and no negative entry")
        freeze(self, tables=tables)
        if self.defect > 1e-9:
            raise ValueError("a kernel's table is not positive semi-definite")

    @cached_property
    def defect(self) -> float:
        """How far rounding may have pushed the tables' eigenvalues below zero, in all."""
        return sum(max(0.0, -float(np.linalg.eigvalsh(t)[0])) + len(t) ** 2 * FLOAT for t in self.tables)

    @property
    def dim(self) -> int:
        """Length of a point, J."""
        return len(self.bins)

    @property
    def rounding(self) -> float:
        """How far rounding may put an entry of ``gram``."""
        return self.dim * FLOAT

    @property
    def smooth(self) -> int:
        """Number of coordinates that the kernel can be differentiated by: codes have none."""
        return 0

    @cached_property
    def key(self) -> bytes:
        """Tells kernels apart."""
        return self.digest(self.tables)

    def points(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """Rows as points: their bin codes, int64 (n, J)."""
        return self.coded(rows)

    def checked(self, points: np.ndarray, gradients: bool) -> np.ndarray:
        """Points as int64 (m, J). Errors: ValueError where a code is out of range, or gradients are wanted."""
        points = np.ascontiguousarray(points, dtype=np.int64)
        if gradients:
            raise ValueError("codes have no gradients")
        if points.ndim != 2 or points.shape[1] != self.dim:
            raise ValueError("a code for each column is needed")
        if np.any(points < 0) or np.any(points >= [b.size for b in self.bins]):
            raise ValueError("a point's codes must name bins")
        return points

    def gram(self, x: np.ndarray, w: np.ndarray, *, gradients: bool = False) -> np.ndarray:
        """k(x, w), float64 (n, m), for points x (n, J) and w (m, J)."""
        return self.seen(x, w, gradients=gradients)

    def observed(self, w: np.ndarray, *, gradients: bool = False) -> Seen:  # noqa: ARG002
        """Values alone: codes have no gradients."""

        def seen(x: np.ndarray) -> np.ndarray:
            out = np.ones((len(x), len(w)))
            for j, table in enumerate(self.tables):
                padded = np.vstack([table, np.zeros(len(table))])  # a code of -1 finds the row of zeros
                out *= padded[:, w[:, j]][x[:, j]]
            return out

        return seen


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianKernel(OfBins):
    """k(x, w): the mean over ``scales`` of exp(-|x - w|^2 / 2 scale^2), times 1[same label] where a ``label`` is named.

    Rows are their blocks' coordinates side by side; a row in no bin of a block has zeros there, a row in no bin of the
    label adds nothing. A point is such a vector, and then the label's code. ``scales``: ``lengthscale``, its half, and
    so on, ``widths`` in all. A smooth kernel: values and gradients of a path can be told jointly.

    Errors: ValueError for a bad lengthscale, or number of widths.
    Privacy: public only.

    >>> kernel = GaussianKernel(blocks=(Block.one_hot(Bins.each("SEX", 2), weight=0.5),), lengthscale=0.5)
    >>> kernel.seen(np.array([[0], [1]]), np.array([[0.5, 0.0]])).round(3)
    array([[1.   ],
           [0.368]])
    """

    blocks: tuple[Block, ...]
    lengthscale: float
    widths: int = 1
    label: Bins | None = None

    def __post_init__(self) -> None:
        if not self.blocks or not 0 < self.lengthscale < np.inf or not 1 <= self.widths <= MOST_WIDTHS:
            raise ValueError(f"a column, a positive lengthscale and 1 to {MOST_WIDTHS} widths are needed")

    @cached_property
    def scales(self) -> tuple[float, ...]:
        """Width of each Gaussian, the largest first."""
        return tuple(self.lengthscale / 2**i for i in range(self.widths))

    @cached_property
    def unit(self) -> float:
        """What gradients are told in units of: their covariance at a point is then the identity, as a value's is 1."""
        return 1 / sqrt(sum(1 / s**2 for s in self.scales) / self.widths)

    @property
    def defect(self) -> float:
        """The kernel is positive definite: rounding aside, nothing is below zero."""
        return 16 * FLOAT

    @property
    def rounding(self) -> float:
        """How far rounding may put a number of ``gram`` or ``seen``: distances are sums of squared differences."""
        return 4 * (self.smooth + 8) * FLOAT

    @property
    def smooth(self) -> int:
        """Number of coordinates that the kernel can be differentiated by, d."""
        return sum(b.width for b in self.blocks)

    @property
    def dim(self) -> int:
        """Length of a point."""
        return self.smooth + (self.label is not None)

    @property
    def bins(self) -> tuple[Bins, ...]:  # type: ignore[override]  # they follow from the blocks
        """Bins of all columns, the label's last."""
        return (*(b.bins for b in self.blocks), *([self.label] if self.label else []))

    @cached_property
    def key(self) -> bytes:
        """Tells kernels apart."""
        return self.digest((b.table for b in self.blocks), repr((self.lengthscale, self.widths, self.label is None)))

    def points(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """Rows as points, float64 (n, dim)."""
        results = [looked_up(b, rows[b.bins.column]) for b in self.blocks]
        return np.hstack([*results, *([codes(self.label, rows[self.label.column])[:, None]] if self.label else [])])

    def checked(self, points: np.ndarray, gradients: bool) -> np.ndarray:  # noqa: ARG002
        """Points as float64 (m, dim). Errors: ValueError where they are none."""
        points = np.ascontiguousarray(points, dtype=np.float64) + 0.0  # one zero, not two
        if points.ndim != 2 or points.shape[1] != self.dim or not np.isfinite(points).all():
            raise ValueError("a finite vector for each point is needed")
        if self.label is not None and not np.isin(points[:, -1], np.arange(self.label.size)).all():
            raise ValueError("a point's label must name a bin")
        return points

    def observed(self, w: np.ndarray, *, gradients: bool = False) -> Seen:
        """A Gaussian is a product over blocks: of each block what its bins add is looked up."""
        places, far, at = [], [], 0
        for block in self.blocks:
            places.append(np.vstack([block.table, np.zeros(block.width)]))  # a code of -1 finds the row of zeros
            far.append(_apart(places[-1], w[:, at : at + block.width]))
            at += block.width
        near = [[np.exp(f * (-0.5 / s**2)) for f in far] for s in self.scales]

        def seen(x: np.ndarray) -> np.ndarray:
            each = [tables[0][x[:, 0]] for tables in near]
            for value, tables in zip(each, near, strict=True):
                for j, table in enumerate(tables[1:], 1):
                    value *= table[x[:, j]]
            value, slope, _ = self._values(each, None if self.label is None else x[:, -1, None] == w[:, -1])
            if not gradients:
                return value
            vectors = np.hstack([p[x[:, j]] for j, p in enumerate(places)])
            shifted = vectors[:, None, :] - w[None, :, : self.smooth]
            shifted *= slope[:, :, None] * self.unit
            return np.concatenate([value[:, :, None], shifted], axis=2).reshape(len(x), -1)

        return seen

    def gram(self, x: np.ndarray, w: np.ndarray, *, gradients: bool = False) -> np.ndarray:
        """Covariance of the path's numbers at points x with those at w, in the order of ``seen``."""
        d = self.smooth
        a, b = x[:, :d], w[:, :d]
        apart = _apart(a, b)
        each = [np.exp(apart * (-0.5 / s**2)) for s in self.scales]
        value, slope, bend = self._values(each, None if self.label is None else x[:, -1, None] == w[:, -1])
        if not gradients:
            return value
        shifted = a[:, None, :] - b[None, :, :]
        block = np.empty((len(x), 1 + d, len(w), 1 + d))
        block[:, 0, :, 0] = value
        block[:, 0, :, 1:] = self.unit * slope[:, :, None] * shifted
        block[:, 1:, :, 0] = -block[:, 0, :, 1:].transpose(0, 2, 1)
        turned = shifted.transpose(0, 2, 1)[..., None] * (-bend[:, :, None] * shifted)[:, None, :, :]
        block[:, 1:, :, 1:] = self.unit**2 * (np.eye(d)[None, :, None, :] * slope[:, None, :, None] + turned)
        return block.reshape(len(x) * (1 + d), len(w) * (1 + d))

    def _values(self, each: list[np.ndarray], same: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """From the Gaussian of each scale: the kernel; its mean over scale^2; its mean over scale^4."""
        share = (1.0 if same is None else same) / self.widths
        each = [share * e for e in each]
        powers = [[e / s**k for e, s in zip(each, self.scales, strict=True)] for k in (0, 2, 4)]
        value, slope, bend = (sum(p[1:], start=p[0]) for p in powers)
        return value, slope, bend


def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared distances (n, m) as sums of squared differences, each pair's from its own numbers alone."""
    return distance.cdist(a, b, "sqeuclidean")


MAX_POINTS = 1 << 13  # most numbers told of one path: the price of a path covers so many
GRAIN = 5  # whitened values are told to 2**-GRAIN of the noise's deviation, to the next power of two
PITCH = 2.0**-32  # the lattice on which whitened sums are noised
LEAST_NUGGET = 1e-4
WIDEST = 2.0**20  # sigmas lie between one over this and this
TRUNCATED = 2.0**-36  # a record's kernel values are truncated towards zero to multiples of this
INVERSE = 2.0**-40  # the inverse factor's entries are whole multiples of this
MOST_EXCESS = 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionalQuery(Question):
    """Question: f(w) + sigma G(w) at ``points``, f = sum over rows of k(row, .), G one Gaussian process for the path.

    G has covariance k + nugget * 1[same point]. Asking again with the same name, kernel, sigma, nugget and
    ``gradients`` continues the same path, at no further cost, up to ``MAX_POINTS`` numbers in all; a point that was
    told keeps its value. ``gradients`` (vectors only): the path's gradient is told too, with a nugget of its own.

    Errors: ValueError for a sigma, nugget or number of points out of range.
    Privacy: public only: points are public, or follow from released answers.
    """

    name: str
    purpose: str
    kernel: ProductKernel | GaussianKernel
    sigma: float
    nugget: float
    points: np.ndarray
    gradients: bool = False

    def __post_init__(self) -> None:
        if not (1 / WIDEST <= self.sigma <= WIDEST and LEAST_NUGGET <= self.nugget <= 1):
            raise ValueError(f"a sigma within 2**-20 and 2**20 and a nugget within {LEAST_NUGGET:g} and 1 are needed")
        points = self.kernel.checked(self.points, self.gradients)
        if len(points) * self.each > MAX_POINTS:
            raise ValueError(f"a path tells at most {MAX_POINTS} numbers")
        if self.excess > MOST_EXCESS:
            raise ValueError("the nugget is too small for this kernel's precision; raise it")
        freeze(self, points=points)

    @property
    def each(self) -> int:
        """How many numbers are told of a point."""
        return 1 + self.kernel.smooth if self.gradients else 1

    @property
    def key(self) -> tuple[str, bytes, float, float, bool]:
        """Which path this is."""
        return self.name, self.kernel.key, self.sigma, self.nugget, self.gradients

    @property
    def excess(self) -> float:
        """By what share arithmetic could raise the sensitivity; all values carry that much more noise (proof note)."""
        m, root = MAX_POINTS, sqrt(self.nugget)
        factor = (8 * m * m * FLOAT + m * (self.kernel.defect + self.kernel.rounding)) / self.nugget
        record = sqrt(m) * (TRUNCATED + 64 * self.kernel.rounding) / root
        return factor + record + m**1.5 * INVERSE + sqrt(m) * PITCH

    @property
    def grain(self) -> float:
        """What whitened values are multiples of: a power of two, between sigma / 64 and sigma / 32."""
        return 2.0 ** (floor(log2(self.sigma)) - GRAIN)

    @property
    def deviation(self) -> float:
        """The noise really on the values: sigma, and the excess."""
        return self.sigma * (1 + self.excess)


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionalRelease(Release):
    """Answer: ``values`` (m,) float64 at the question's points; with gradients (m, 1 + d), value first.

    The noise of all of a path's releases together is Gaussian with covariance deviation^2 (k + nugget 1[same point]).

    Errors: ValueError where a point lacks its numbers.
    Privacy: released answers only.
    """

    question: FunctionalQuery
    values: np.ndarray

    def __post_init__(self) -> None:
        m = len(self.question.points)
        wanted = (m, self.question.each) if self.question.gradients else (m,)
        if self.values.shape != wanted:
            raise ValueError("the path's numbers at each point are needed")
