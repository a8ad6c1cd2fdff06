"""Slices: projections of rows, or of sums of random groups of rows, on random directions."""

from dataclasses import dataclass
from functools import lru_cache
from math import floor, log2, nextafter, sqrt

import numpy as np

from synth.questions.features import Encoding
from synth.questions.tables import Question, Release

DIRECTIONS = ("rotation", "gaussian", "fixed")
FINENESS = 10  # values are told to 2**-10 of the noise, to the next power of two
DIRECTION_BITS = 26  # directions are whole multiples of 2**-26
PITCH = 2.0**-20  # rows' coordinates are whole multiples of it
SIGMAS = 2.0**-10, 2.0**20  # between which sums of 2**30 rows stay whole numbers of 63 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class Slices(Question):
    """Question: (U, SU + V) with S (K, d) the sums of ``groups`` random groups of rows (arXiv 2410.19941, eq. 3).

    ``groups``: K, public; None for the paper's form, a sum for each record, where the row count is public.
    ``sigma``: deviation of V, in the encoding's units. ``directions``: ``gaussian``, U (d, num_slices) with entries
    N(0, 1/d); ``fixed``, public frames of ``k`` orthonormal columns, the same for everybody; ``rotation``, orthonormal
    columns of a random rotation; with num_slices >= d (or None) they tell as much as the noisy sums themselves, which
    are then what is released. ``rate``: each record enters with this probability, else as a zero row. ``drawn``: (s,
    n), s of the n records, a public number, are drawn without replacement and only they have a sum; not beside groups
    or a rate.

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
    drawn: tuple[int, int] | None = None
    k: int = 1

    def __post_init__(self) -> None:
        if self.directions not in DIRECTIONS:
            raise ValueError(f"directions are one of {', '.join(DIRECTIONS)}")
        if not (SIGMAS[0] <= self.sigma <= SIGMAS[1] and 0 < self.rate <= 1):
            raise ValueError("a sigma between 2**-10 and 2**20 and a rate in (0, 1] are needed")
        if (self.groups is not None and self.groups < 1) or (self.num_slices is not None and self.num_slices < 1):
            raise ValueError("at least one group and one slice are needed")
        if self.drawn and (not 1 <= self.drawn[0] <= self.drawn[1] or self.groups is not None or self.rate < 1):
            raise ValueError("between one and all of the records are drawn, without groups and without a rate")
        if self.directions != "rotation" and self.num_slices is None:
            raise ValueError("Gaussian and fixed directions need their number")
        if self.directions == "fixed" and (self.drawn or self.rate < 1):
            raise ValueError("fixed directions go with all records")

    @property
    def whole(self) -> bool:
        """Whether the directions are a full rotation: the noisy sums themselves are released."""
        return self.directions == "rotation" and (self.num_slices is None or self.num_slices >= self.encoding.dim)

    @property
    def share(self) -> float:
        """The share of all records that are sampled, the expected one where it is left to chance."""
        return self.drawn[0] / self.drawn[1] if self.drawn else self.rate

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


@lru_cache(maxsize=4)
def fixed_frames(dim: int, num_slices: int, k: int) -> np.ndarray:
    """The public directions of ``fixed``: int64 (dim, num_slices) in units of 2**-``DIRECTION_BITS``, read-only.

    Frames of k orthonormal columns (at most dim) one after the other, the last cut short: the same for everybody.

    Privacy: public only.

    >>> u = fixed_frames(4, 5, 2) * 2.0**-DIRECTION_BITS
    >>> bool(np.allclose(u[:, :2].T @ u[:, :2], np.eye(2), atol=1e-6))
    True
    """
    rng, wide = np.random.default_rng(2410_19941), min(k, dim)
    parts = [np.linalg.qr(rng.standard_normal((dim, wide)))[0] for _ in range(-(-num_slices // wide))]
    whole = np.rint(np.concatenate(parts, axis=1)[:, :num_slices] * 2.0**DIRECTION_BITS).astype(np.int64)
    whole.setflags(write=False)
    return whole


def stretch(dim: int, num_slices: int, k: int) -> float:
    """By how much ``fixed`` directions lengthen a row at most, rounded up: their largest singular value.

    It is at most the root of the number of frames. Errors of the float singular value and of rounding slices down
    (slices.md, step 5) are within the slack added.

    Privacy: public only.
    """
    longest = float(np.linalg.norm(fixed_frames(dim, num_slices, k) * 2.0**-DIRECTION_BITS, ord=2))
    return nextafter(longest * (1 + 1e-9) + sqrt(dim * num_slices) * 2.0**-DIRECTION_BITS, np.inf)


def swap(encoding: Encoding) -> float:
    """L2 distance at which two different rows lie at most: what stands in a drawn row's place when it is not drawn.

    Privacy: public only.
    """
    return sqrt(2.0) if encoding.non_negative else 2.0


@dataclass(frozen=True, kw_only=True, eq=False)
class SlicesRelease(Release):
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
        tall = self.question.drawn[0] if self.question.drawn else self.question.groups
        if self.values.ndim != 2 or self.values.shape[1] != wide or tall not in (None, len(self.values)):
            raise ValueError("a row for each group and a column for each slice are needed")
        if (self.directions is None) != self.question.whole:
            raise ValueError("directions belong to slices that are no full rotation")
        if self.directions is not None and self.directions.shape != (self.question.encoding.dim, wide):
            raise ValueError("a direction for each slice is needed")
