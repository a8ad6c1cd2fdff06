"""Sample paths: a sum of kernel functions, noised by one Gaussian process, told at points that may be chosen later."""

from dataclasses import dataclass
from math import floor, log2, sqrt

import numpy as np

from synth.questions.kernels import FLOAT, GaussianKernel, ProductKernel

MAX_POINTS = 1 << 13  # most numbers told of one path: the price of a path covers so many
GRAIN = 5  # whitened values are told to 2**-GRAIN of the noise's deviation, to the next power of two
PITCH = 2.0**-32  # the lattice on which whitened sums are noised
LEAST_NUGGET = 1e-4
WIDEST = 2.0**20  # sigmas lie between one over this and this
TRUNCATED = 2.0**-36  # a record's kernel values are truncated towards zero to multiples of this
INVERSE = 2.0**-40  # the inverse factor's entries are whole multiples of this
MOST_EXCESS = 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionalQuery:
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
        points.setflags(write=False)
        object.__setattr__(self, "points", points)

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
class FunctionalRelease:
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
