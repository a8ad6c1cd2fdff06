"""From noisy sums to estimates with intervals: noise, sampling, and what clipping leaves to the synthetic rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synth.questions import Score
from synth.questions.scores import COUNT, LINEAR, QUANTILE, SURVIVAL
from synth.verified.law import FAREST, WHOLE, Law
from synth.verified.survival import SurvivalLaw

# How far the synthetic rows may misjudge what clipping cuts off (docs/verified.md): a part of its sum, and so many
# deviations of a sum of as many independent rows.
MISFIT, SPREAD = 0.1, 1.2
ROUGH = 30.0  # rows by which the number of those that tell of a coefficient may be off, in a release at epsilon 1
AnyLaw = Law | SurvivalLaw
ROUNDS, HALVINGS, CLOSE = 25, 6, 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """Sums of ``score`` over the private rows, in units of the clip, (dim,), each with Gaussian noise of ``sigma``."""

    score: Score
    values: np.ndarray
    sigma: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """Coefficients (p,), and the parts of their variance: ``noise``, ``sampling``, ``clipping``, (p,) each.

    ``clipping`` is all for which synthetic rows stand in: what is cut off, and how many rows tell of a coefficient.

    ``within``: the variance about the private table's own value, sampling left out but for what clipping adds.
    ``converged``: whether the sums settled the coefficients; where they did not, an interval is everything.
    """

    values: np.ndarray
    shift: np.ndarray
    noise: np.ndarray
    sampling: np.ndarray
    clipping: np.ndarray
    within: np.ndarray
    converged: bool = True

    @property
    def variance(self) -> np.ndarray:
        """Of the estimate about the value in the population."""
        return self.noise + self.sampling + self.clipping


def solved(law: AnyLaw, measured: Sequence[Measured]) -> Estimate:
    """The bent law whose predicted sums are closest to the measured ones, and how sure that is."""
    shift, moves, converged = _nearest(law, measured)
    last = Moments.of(law, measured[-1].score, shift)
    asked = [(replace(last, move=m), own.sigma) for m, own in zip(moves, measured, strict=True)]
    estimate = expected(law, asked, shift, slope=law.slope(shift), converged=converged)
    if law.template.link in (COUNT, SURVIVAL):
        return estimate
    last_move = estimate.values - measured[-1].score.coefficients
    off = np.minimum(ROUGH / np.maximum(last.telling, 1.0), 1.0) * last_move
    return replace(estimate, clipping=estimate.clipping + off**2, within=estimate.within + off**2)


def pointed(law: AnyLaw, measured: Sequence[Measured]) -> np.ndarray:
    """The coefficients of the bent law whose predicted sums are closest to the measured ones, (p,)."""
    return law.coefficients(_nearest(law, measured)[0])


def _nearest(law: AnyLaw, measured: Sequence[Measured]) -> tuple[np.ndarray, tuple[np.ndarray, ...], bool]:
    """The shift, how each score's sums move with it there, and whether the search came to an end.

    Steps of Gauss and Newton, each halved until the distance falls.
    """
    shift, prior, converged = np.zeros_like(law.beta), law.prior(), False
    here = _Fit.at(law, measured, shift, prior)
    for _ in range(ROUNDS):
        move, scale = _inverse(here.left) @ here.right, np.sqrt(np.maximum(np.diag(_inverse(here.left)), 1e-300))
        for _ in range(HALVINGS):
            there = _Fit.at(law, measured, _held(law, shift + move), prior)
            if there.distance <= here.distance:
                break
            move = move / 2
        converged = bool(np.all(np.abs(move) <= CLOSE * scale))
        if there.distance > here.distance:
            break
        shift, here = _held(law, shift + move), there
        if converged:
            break
    return shift, here.moves, converged


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fit:
    """How far a bent law's sums are from the measured ones, and the equations of the next step."""

    distance: float
    left: np.ndarray
    right: np.ndarray
    moves: tuple[np.ndarray, ...]

    @classmethod
    def at(cls, law: AnyLaw, measured: Sequence[Measured], shift: np.ndarray, prior: np.ndarray) -> "_Fit":
        distance, left, right, moves = float(shift @ prior @ shift), prior, -prior @ shift, []
        for m in measured:
            released, move = law.predicted(m.score, shift)
            off = (m.values - released) / m.sigma
            distance += float(off @ off)
            left = left + move.T @ move / m.sigma**2
            right = right + move.T @ off / m.sigma
            moves.append(move)
        return cls(distance=distance, left=left, right=right, moves=tuple(moves))


@dataclass(frozen=True, kw_only=True, eq=False)
class Moments:
    """What the law says of one score's contributions: all that variances need, whatever the noise.

    ``move`` (q, p): how the sums move with the shift; ``spread`` (q, q), ``mean`` (q,): of the contributions, summed;
    ``cross`` (q, p): with the plain analysis' influences, whose own are ``plain``, ``plain_mean`` (p,); ``cut`` (q,),
    ``cut_spread`` (q, q): of what clipping cuts off; ``telling`` (p,): how many rows tell of each coefficient.
    """

    move: np.ndarray
    spread: np.ndarray
    mean: np.ndarray
    cross: np.ndarray
    plain: np.ndarray
    plain_mean: np.ndarray
    cut: np.ndarray
    cut_spread: np.ndarray
    telling: np.ndarray

    @classmethod
    def of(cls, law: AnyLaw, score: Score, shift: np.ndarray) -> "Moments":
        """Over the law's rows."""
        released, w = law.contributions(score, shift)
        plain = law.influences(shift)
        gone = np.zeros_like(released)
        if law.template.link not in (COUNT, QUANTILE):
            gone = law.contributions(replace(score, clip=WHOLE), shift)[0] * (WHOLE / score.clip) - released
        return cls(
            move=law.predicted(score, shift)[1],
            spread=(released * w) @ released.T,
            mean=released @ w,
            cross=(released * w) @ plain.T,
            plain=(plain**2) @ w,
            plain_mean=plain @ w,
            cut=gone @ w,
            cut_spread=(gone * w) @ gone.T,
            telling=((plain**2) @ w) ** 2 / np.maximum((plain**4) @ w, 1e-300),
        )


def expected(
    law: AnyLaw,
    asked: Sequence[tuple[Moments, float]],
    shift: np.ndarray,
    *,
    slope: np.ndarray,
    converged: bool = True,
    spread: float = SPREAD,
) -> Estimate:
    """The estimate of a law bent by ``shift``, with the variances that such questions, each with its noise, give it."""
    left, gain = law.prior(), np.zeros((len(law.beta), len(asked[0][0].mean)))
    for moments, sigma in asked:
        left = left + moments.move.T @ moments.move / sigma**2
        gain = gain + moments.move.T / sigma**2
    inverse = _inverse(left)
    to = slope @ inverse @ gain  # of a row's contribution to the coefficients
    last, total = asked[-1][0], law.total
    if law.template.link == COUNT:
        to = np.ones((1, 1))
    mean = to @ last.mean
    sampling = np.einsum("ij,jk,ik->i", to, last.spread, to) - mean**2 / total
    both = np.einsum("ij,ji->i", to, last.cross) - mean * last.plain_mean / total
    apart = sampling - 2 * both + last.plain - last.plain_mean**2 / total
    loose = np.einsum("ij,jk,ik->i", to, last.cut_spread, to)
    clipping = spread**2 * np.maximum(loose, 0.0) + (MISFIT * (to @ last.cut)) ** 2
    noise = np.einsum("ij,jk,ik->i", slope, inverse, slope)
    return Estimate(
        values=law.coefficients(shift),
        shift=shift,
        noise=noise,
        sampling=np.maximum(sampling, 0.0),
        clipping=clipping,
        within=noise + clipping + np.maximum(apart, 0.0),
        converged=converged and bool(np.isfinite(noise).all()),
    )


def _held(law: AnyLaw, shift: np.ndarray) -> np.ndarray:
    if law.template.link in (LINEAR, COUNT):
        return shift
    return np.clip(shift, -FAREST, FAREST)


def _inverse(matrix: np.ndarray) -> np.ndarray:
    lifted = matrix + (1e-12 * np.trace(matrix) / len(matrix) + 1e-300) * np.eye(len(matrix))
    return np.asarray(np.linalg.inv(lifted))
