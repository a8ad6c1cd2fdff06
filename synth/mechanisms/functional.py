"""Sample paths of a noised sum of kernel functions, told lazily. Proof note: functional.md beside this file."""

from collections.abc import Mapping
from math import sqrt

import numpy as np

from synth.errors import UsageError
from synth.lazy import Lazy, linalg
from synth.mechanisms.embeddings import coarsened
from synth.privacy.accounting.events import Event, GaussianDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import FunctionalQuery, FunctionalRelease
from synth.questions.kernels import INVERSE, MAX_POINTS, PITCH, TRUNCATED
from synth.sources.rows.encoded import parts

lapack = Lazy("scipy.linalg.lapack")

ROWS, POINTS = 1 << 9, 1 << 9  # rows and points evaluated at a time
LIMBS, LIMB = 6, 12  # a sum of 63 bits as six numbers of 12
HALF = 2.0**20


def sensitivity(adjacency: Adjacency) -> float:
    """How far one unit can move the whitened sum, whatever is asked: the distance of two sums in the kernel's space.

    **Guarantee**: for each of its at most ``max_rows`` rows 1 where it comes or goes, sqrt(2) where it is replaced,
    kernels having k(x, x) <= 1 and k >= 0.

    Errors: ValueError for a relation without a proof.
    Privacy: public only.
    """
    return adjacency.moves(replaced=sqrt(2.0))


class Functional:
    """The paths of one run. The first question of a path pays for all that is ever told of it.

    State: for each path the points told, their values, the whitening, and the exact sums, which are as private as rows:
    an object of this class stays with the run's curator and goes with it.

    Errors: UsageError beyond ``MAX_POINTS`` numbers of a path.
    Privacy: reads rows, under noise.
    """

    def __init__(self) -> None:
        self._paths: dict[tuple, _Path] = {}

    def events(self, question: FunctionalQuery, adjacency: Adjacency) -> list[Event]:
        """One Gaussian for a path that is new, nothing for one that is open. Errors: UsageError for too many points."""
        released = self._paths.get(question.key)
        fresh = len(_fresh(question, released)) * question.each
        if fresh + (len(released.noisy) if released else 0) > MAX_POINTS:
            raise UsageError(
                "path {!r} would release more than {} numbers; ask fewer points", question.name, MAX_POINTS
            )
        if released:
            return []
        size = sensitivity(adjacency)
        return [GaussianDpEvent(name=question.purpose, sensitivity=size, sigma=question.sigma, pitch=question.grain)]

    def changed_cells(self, question: FunctionalQuery, adjacency: Adjacency) -> int:  # noqa: ARG002
        """In how many numbers neighbouring tables can differ, by the end of the path."""
        return MAX_POINTS

    def answer(
        self, question: FunctionalQuery, rows: Mapping[str, np.ndarray], noise: SystemNoise
    ) -> FunctionalRelease:
        """The path's values at the question's points over ``rows`` (by column the positions, (n,)).

        **Guarantee**: all answers about one path together are post-processing of one Gaussian mechanism of
        mu = sensitivity / sigma (functional.md). Time: rows * new points * columns, then the cube of all points.
        """
        released = self._paths.setdefault(question.key, _Path(question.each))
        fresh = _fresh(question, released)
        if len(fresh):
            released.extend(question, fresh, sums(question, fresh, rows), noise)
        values = released.values[[released.index[p.tobytes()] for p in question.points]].reshape(-1, question.each)
        if not question.gradients:
            return FunctionalRelease(question=question, values=values[:, 0].copy())
        values[:, 1:] /= question.kernel.unit  # type: ignore[union-attr]
        return FunctionalRelease(question=question, values=values)


class _Path:
    """What is known of one path: W (m, m), the whitening, in units of ``INVERSE``, and L, its inverse."""

    def __init__(self, each: int) -> None:
        self.index: dict[bytes, int] = {}
        self.points: np.ndarray | None = None
        self.factor = self.whiten = np.zeros((0, 0))
        self.exact = np.zeros(0, dtype=np.int64)
        self.noisy = np.zeros(0)
        self.values = np.zeros((0, each))

    def extend(self, question: FunctionalQuery, fresh: np.ndarray, exact: np.ndarray, noise: SystemNoise) -> None:
        """Draws the path at points that were never asked, given all that was told before."""
        old = len(self.noisy)
        factor, whiten = self._factors(question, fresh)
        seen = np.concatenate([self.exact, exact])
        steps = round(question.grain / PITCH)
        total = whitened(whiten[old:], seen)
        more = coarsened(total, sigma=question.deviation / PITCH, steps=steps, noise=noise) * question.grain
        self.factor, self.whiten, self.exact = factor, whiten, seen
        self.noisy = np.concatenate([self.noisy, more])
        self.values = np.vstack([self.values, (factor[old:] @ self.noisy).reshape(-1, question.each)])
        for point in fresh:
            self.index[point.tobytes()] = len(self.index)
        self.points = fresh if self.points is None else np.vstack([self.points, fresh])

    def _factors(self, question: FunctionalQuery, fresh: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """L and W with the rows of new points: L L^T the covariance of all points, W L the identity."""
        kernel, gradients = question.kernel, question.gradients
        corner = kernel.gram(fresh, fresh, gradients=gradients)
        corner[np.diag_indices_from(corner)] += question.nugget
        old, new = len(self.noisy), len(corner)
        side = np.zeros((new, 0))
        if self.points is not None:
            side = kernel.gram(fresh, self.points, gradients=gradients) @ (self.whiten * INVERSE).T
        corner = linalg.cholesky(corner - side @ side.T, lower=True, overwrite_a=True, check_finite=False)
        inverse = np.tril(lapack.dtrtri(corner, lower=1)[0])
        factor, whiten = np.zeros((old + new, old + new)), np.zeros((old + new, old + new))
        factor[:old, :old], whiten[:old, :old] = self.factor, self.whiten
        factor[old:, :old], factor[old:, old:] = side, corner
        whiten[old:, :old] = np.rint(-inverse @ (side @ self.whiten))
        whiten[old:, old:] = np.rint(inverse / INVERSE)
        return factor, whiten


def _fresh(question: FunctionalQuery, released: "_Path | None") -> np.ndarray:
    """The question's points that the path has not told yet, each once, in order."""
    known = released.index if released else {}
    new = {p.tobytes(): i for i, p in reversed(list(enumerate(question.points))) if p.tobytes() not in known}
    return question.points[sorted(new.values())]


def sums(
    question: FunctionalQuery,
    points: np.ndarray,
    rows: Mapping[str, np.ndarray],
    *,
    chunk: tuple[int, int] = (ROWS, POINTS),
) -> np.ndarray:
    """The exact sum over rows of what each adds at the points, int64 (numbers,), in units of ``TRUNCATED``.

    Each row's numbers are truncated towards zero onto the lattice; sums of whole numbers below 2**53 are exact in
    float64, so neither the order of rows nor the ``chunk`` of rows and points evaluated at a time matters.

    Privacy: reads rows, exact: they stay with the curator.
    """
    kernel, each, (some, few) = question.kernel, question.each, chunk
    total = np.zeros(len(points) * each, dtype=np.int64)
    starts = range(0, len(points), few)
    released = [kernel.observed(points[at : at + few], gradients=question.gradients) for at in starts]
    for part in parts(rows, kernel.columns, some):
        x = kernel.coded(part)
        for at, see in zip(starts, released, strict=True):
            seen = see(x)
            seen *= 1 / TRUNCATED
            np.trunc(seen, out=seen)
            total[at * each : (at + few) * each] += seen.sum(0).astype(np.int64)
    return total


def whitened(whiten: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """whiten (r, m) @ exact (m,), computed exactly, in units of ``PITCH``, rounded down, int64 (r,).

    Both are whole numbers of more bits than a float holds. They are split so that every partial sum stays below 2**53.

    Privacy: reads rows, exact: it stays with the curator.
    """
    high = np.floor(whiten / HALF)
    low = whiten - high * HALF
    limbs = np.empty((len(exact), LIMBS))
    rest = exact
    for k in range(LIMBS):
        limbs[:, k] = rest if k == LIMBS - 1 else rest & (2**LIMB - 1)
        rest = rest >> LIMB
    whole = np.zeros(len(whiten), dtype=object)
    for part, unit in ((high, int(HALF)), (low, 1)):
        products = part @ limbs
        for k in range(LIMBS):
            whole += np.array([int(v) for v in products[:, k]], dtype=object) * (unit << (LIMB * k))
    shift = round(PITCH / (TRUNCATED * INVERSE)).bit_length() - 1
    return np.array([int(v) >> shift for v in whole], dtype=np.int64)
