"""Slices: projections of rows, or of sums of random groups of rows, on random directions."""

from dataclasses import dataclass
from math import floor, log2

import numpy as np

from synth.questions.encoding import Encoding

DIRECTIONS = ("rotation", "gaussian")
FINENESS = 10  # values are told to 2**-10 of the noise, to the next power of two
DIRECTION_BITS = 26  # directions are whole multiples of 2**-26
PITCH = 2.0**-20  # rows' coordinates are whole multiples of it
SIGMAS = 2.0**-10, 2.0**20  # between which sums of 2**30 rows stay whole numbers of 63 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class Slices:
    """Question: (U, SU + V) with S (K, d) the sums of ``groups`` random groups of rows (arXiv 2410.19941, eq. 3).

    ``groups``: K, public; None for the paper's form, a sum for each record, where the row count is public.
    ``sigma``: deviation of V, in the encoding's units. ``directions``: ``gaussian``, U (d, num_slices) with entries
    N(0, 1/d); ``rotation``, orthonormal columns of a random rotation; with num_slices >= d (or None) they tell as much
    as the noisy sums themselves, which are then what is released. ``rate``: each record enters with this probability,
    else as a zero row.

    Errors: ValueError for directions, sigma, rate or a number of groups out of range.
    Privacy: public only.
    """

    purpose: str
    encoding: Encoding
    sigma: float
    groups: int | None
    directions: str = "rotation"
    num_slices: int | None = None
    rate: float = 1.0

    def __post_init__(self) -> None:
        if self.directions not in DIRECTIONS:
            raise ValueError(f"directions are one of {', '.join(DIRECTIONS)}")
        if not (SIGMAS[0] <= self.sigma <= SIGMAS[1] and 0 < self.rate <= 1):
            raise ValueError("a sigma between 2**-10 and 2**20 and a rate in (0, 1] are needed")
        if (self.groups is not None and self.groups < 1) or (self.num_slices is not None and self.num_slices < 1):
            raise ValueError("at least one group and one slice are needed")
        if self.directions == "gaussian" and self.num_slices is None:
            raise ValueError("Gaussian directions need their number")

    @property
    def whole(self) -> bool:
        """Whether the directions are a full rotation: the noisy sums themselves are released."""
        return self.directions == "rotation" and (self.num_slices is None or self.num_slices >= self.encoding.dim)

    @property
    def grain(self) -> float:
        """What released values are multiples of: a power of two, between sigma / 2048 and sigma / 1024."""
        return 2.0 ** (floor(log2(self.sigma)) - FINENESS)

    @property
    def pitch(self) -> float:
        """The lattice on which rows are summed: a power of two, never coarser than the grain."""
        return PITCH

    @property
    def tables(self) -> tuple[np.ndarray, ...]:
        """Each block's coordinates, truncated towards zero onto the lattice: what rows are really encoded as."""
        return tuple(np.trunc(b.table / self.pitch) * self.pitch for b in self.encoding.blocks)


@dataclass(frozen=True, kw_only=True, eq=False)
class SlicesRelease:
    """Answer: ``values`` (K, m) float64, multiples of the grain, and ``directions`` (d, m), None where ``whole``.

    Where the question is ``whole`` the values are the noisy sums themselves, (K, d); any rotation of them is free.

    Errors: ValueError where values or directions have another shape than the question says.
    Privacy: released answers only.
    """

    question: Slices
    values: np.ndarray
    directions: np.ndarray | None = None

    def __post_init__(self) -> None:
        wide = self.question.encoding.dim if self.question.whole else self.question.num_slices
        tall = self.question.groups
        if self.values.ndim != 2 or self.values.shape[1] != wide or tall not in (None, len(self.values)):
            raise ValueError("a row for each group and a column for each slice are needed")
        if (self.directions is None) != self.question.whole:
            raise ValueError("directions belong to slices that are no full rotation")
        if self.directions is not None and self.directions.shape != (self.question.encoding.dim, wide):
            raise ValueError("a direction for each slice is needed")
