"""Noised mean embeddings: the sum over rows of a public feature map, released once; among the maps a row's contribution
to an estimating equation at public coefficients, whitened and clipped to unit length."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import floor, isfinite, log2

import numpy as np

from synth.questions.features import Block, FeatureMap, Fourier, Gradients, Rows, Tensors, looked_up
from synth.questions.tables import Question, Release, freeze

LINEAR, LOGISTIC, POISSON, QUANTILE, COUNT = "linear", "logistic", "poisson", "quantile", "count"
SURVIVAL = "survival"
LINKS = (LINEAR, LOGISTIC, POISSON, QUANTILE, COUNT, SURVIVAL)
FAR = {LOGISTIC: (-30.0, 30.0), POISSON: (-30.0, 25.0)}  # the linear predictor is held within these
MOST = 1e140  # of a row's sums, whose squares are finite
FINE = 256  # points to a unit of the linear predictor at which a mean is tabled


@dataclass(frozen=True, kw_only=True, eq=False)
class Score(FeatureMap):
    """whitening @ x * (y - mean(coefficients . x)) / clip, shortened to length one; zero for a row that is left out.

    ``x`` (p,): for each of ``terms`` the product of the numbers (factor, column) that it names in ``factors``, tables
    by position; no number makes a constant 1. ``y``: the product of the tables of width one in ``outcome``.
    ``present``: tables of ones and zeros whose product says whether a row takes part. ``link``: ``linear``,
    ``logistic``, ``poisson``; ``quantile``, where level - (y <= coefficients . x) stands for the difference; ``count``,
    where 1 does; ``survival``, the same, of terms that have either sign. ``whitening``: (q, p).

    All arithmetic is element by element, in operations that IEEE 754 rounds in one way (means are tabled, with straight
    lines between): a row's numbers do not depend on the rows beside it.

    Errors: ValueError for tables, shapes or numbers that do not fit.
    Privacy: public only.
    """

    factors: tuple[Block, ...]
    terms: tuple[tuple[tuple[int, int], ...], ...]
    present: tuple[Block, ...]
    outcome: tuple[Block, ...]
    link: str
    coefficients: np.ndarray
    whitening: np.ndarray
    clip: float
    level: float = 0.5

    def __post_init__(self) -> None:
        for name in ("coefficients", "whitening"):
            freeze(self, **{name: np.ascontiguousarray(getattr(self, name), dtype=np.float64)})
        wide = len(self.terms)
        if self.link not in LINKS or not wide or not (isfinite(self.clip) and self.clip > 0 and 0 < self.level < 1):
            raise ValueError("a score needs a link, a term, a positive clip and a level between 0 and 1")
        if self.coefficients.shape != (wide,) or self.whitening.ndim != 2 or self.whitening.shape[1] != wide:
            raise ValueError("a coefficient and a column of the whitening are needed for each term")
        if not (np.isfinite(self.coefficients).all() and np.isfinite(self.whitening).all()):
            raise ValueError("coefficients and whitening must be finite")
        if any(b.width != 1 for b in (*self.outcome, *self.present)):
            raise ValueError("the outcome and what says who takes part are tables of width one")
        if any(not np.isin(b.table, (0.0, 1.0)).all() for b in self.present):
            raise ValueError("a row takes part, 1, or does not, 0")
        if any(not 0 <= j < self.factors[i].width for term in self.terms for i, j in term):
            raise ValueError("a term names numbers that its factors do not have")
        # no number of a row overflows on its way: squares of what is summed stay finite, whatever the row
        tops = [np.abs(b.table).max(axis=0, initial=0.0) for b in self.factors]
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.array([np.prod([tops[i][j] for i, j in term]) for term in self.terms])
            outcome = np.prod([np.abs(b.table).max(initial=0.0) for b in self.outcome])
            sums = [np.abs(self.whitening) @ x, np.abs(self.coefficients) @ x, outcome]
        if not all(np.all(total <= MOST) for total in sums):
            raise ValueError("numbers of a row are too large to be squared and summed")

    @property
    def dim(self) -> int:
        """Number of features, q."""
        return len(self.whitening)

    @property
    def norm(self) -> float:
        """The largest norm of a row's features."""
        return 1.0

    @property
    def non_negative_inner(self) -> bool:
        """Only of counts: they are ones and zeros."""
        return self.link == COUNT

    @property
    def nonzero(self) -> int:
        """In how many features a row can differ from none."""
        return self.dim

    @property
    def read(self) -> tuple[Block, ...]:  # type: ignore[override]
        """All blocks."""
        return (*self.factors, *self.present, *self.outcome)

    def of(self, rows: Rows) -> np.ndarray:
        """The features of rows, (n, dim) float64."""
        x, y, here = self.design(rows)
        return self.clipped(x, y, here).T

    def design(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The numbers x (p, n), the outcome (n,), and whether each row takes part, 1.0 or 0.0 (n,)."""
        looked = [looked_up(b, rows[b.bins.column]) for b in self.factors]
        size = len(rows[self.columns[0]])
        y, here, x = np.ones(size), np.ones(size), np.ones((len(self.terms), size))
        for block in self.outcome:
            y = y * looked_up(block, rows[block.bins.column])[:, 0]
        for block in self.present:
            here = here * looked_up(block, rows[block.bins.column])[:, 0]
        for row, term in zip(x, self.terms, strict=True):
            for factor, column in term:
                row *= looked[factor][:, column]
        return x, y, here

    def residuals(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What stands for y - mean, (n,)."""
        if self.link in (COUNT, SURVIVAL):
            return np.ones_like(y)
        eta = _summed(self.coefficients, x)
        return self.level - (y <= eta) if self.link == QUANTILE else y - mean(self.link, eta)

    def clipped(self, x: np.ndarray, y: np.ndarray, here: np.ndarray) -> np.ndarray:
        """The features of such numbers, (dim, n)."""
        turned = np.stack([_summed(row, x) for row in self.whitening])
        r = self.residuals(x, y)
        length = np.sqrt(_squares(turned))
        most = np.divide(self.clip, length, out=np.zeros_like(length), where=length > 0)
        return turned * (np.clip(r, -most, most) * here / self.clip)


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeScore(Score):
    """Of related tables: the contributions of one root's rows, summed, shortened to length ``most``, divided by it.

    ``squared``: of that vector the squared length, one number from 0 to 1, which tells how alike a root's rows are.
    ``table``: whose rows they are; ``places``: by column of the score where it lies (``questions.place``), there or in
    a table above. Errors: ValueError for a length that is not positive and finite.
    Privacy: public only.
    """

    table: str
    places: Mapping[str, str]
    most: float
    squared: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.most <= MOST:
            raise ValueError("a positive, finite length of a root's sum is needed")

    @property
    def dim(self) -> int:
        """Number of features of a root."""
        return 1 if self.squared else super().dim

    def of_roots(self, sums: np.ndarray) -> np.ndarray:
        """The features of roots with such sums of their rows' numbers, (dim, roots)."""
        shortened = sums * self.factor(sums)
        return _squares(shortened)[None, :] if self.squared else shortened

    def factor(self, sums: np.ndarray) -> np.ndarray:
        """By what each root's sum, of ``sums`` (dim, roots), is multiplied, (roots,)."""
        length = np.sqrt(_squares(sums))
        longer = length > self.most
        return np.divide(self.most, length, out=np.ones_like(length), where=longer) / self.most


def _summed(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The weighted sum of the rows of x (p, n), added in their order, (n,)."""
    total = np.zeros(x.shape[1])
    for w, row in zip(weights.tolist(), x, strict=True):
        if w:
            total += w * row
    return total


def _squares(x: np.ndarray) -> np.ndarray:
    total = np.zeros(x.shape[1])
    for row in x:
        total += row * row
    return total


def mean(link: str, eta: np.ndarray) -> np.ndarray:
    """The mean by its linear predictor, of the shape of ``eta``.

    Privacy: public only, or as private as the predictor.

    >>> mean("logistic", np.array([0.0, 100.0])).round(6)
    array([0.5, 1. ])
    """
    if link == LINEAR:
        return eta
    low, high = FAR[link]
    at = (np.clip(eta, low, high) - low) * FINE
    left = np.minimum(np.floor(at), (high - low) * FINE - 1).astype(np.int64)
    heights = _tabled(link)
    return heights[left] + (at - left) * (heights[left + 1] - heights[left])


@cache
def _tabled(link: str) -> np.ndarray:
    low, high = FAR[link]
    at = low + np.arange(int((high - low) * FINE) + 1) / FINE
    return 1 / (1 + np.exp(-at)) if link == LOGISTIC else np.exp(at)


GRAIN = 5  # a release is told to 2**-GRAIN of the noise's deviation, to the next power of two
FINENESS = 16  # rows are summed on a lattice 2**FINENESS times as fine as that
FINEST = 2.0**-30  # the finest lattice: sums of 2**32 rows stay whole numbers of 63 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class Embedding(Question):
    """Question: sum over rows of phi(row), with Gaussian noise of deviation ``sigma`` on each feature.

    Errors: ValueError where sigma is not positive and finite.
    Privacy: public only.
    """

    purpose: str
    features: Tensors | Fourier | Gradients | Score
    sigma: float

    def __post_init__(self) -> None:
        if not (0 < self.sigma < 2.0**40):
            raise ValueError("a positive, finite sigma is needed")

    @property
    def grain(self) -> float:
        """What released values are multiples of: a power of two, between sigma / 64 and sigma / 32."""
        return max(2.0 ** (floor(log2(self.sigma)) - GRAIN), FINEST)

    @property
    def pitch(self) -> float:
        """The lattice on which each row's features are truncated towards zero and summed: a power of two."""
        return max(self.grain * 2.0**-FINENESS, FINEST)


@dataclass(frozen=True, kw_only=True, eq=False)
class EmbeddingRelease(Release):
    """Answer: ``values`` (dim,) float64, multiples of the question's grain: the noisy sum of the rows' features.

    Truncation shifts a value by less than ``pitch`` for each row, 2**-21 of the noise's deviation or less; telling it
    to the grain adds less than 1e-4 to the noise's variance.

    Errors: ValueError where a feature lacks its value.
    Privacy: released answers only.
    """

    question: Embedding
    values: np.ndarray

    def __post_init__(self) -> None:
        if self.values.shape != (self.question.features.dim,):
            raise ValueError("a value for each feature is needed")
