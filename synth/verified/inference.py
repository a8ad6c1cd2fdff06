"""From noisy sums to estimates with intervals: noise, sampling, and what clipping leaves to the synthetic rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synth.questions import Score, TreeScore
from synth.questions.embeddings import COUNT, LINEAR, QUANTILE, SURVIVAL
from synth.verified.law import FAREST, WHOLE, Law, SurvivalLaw

# How far the synthetic rows may misjudge what clipping cuts off (docs/verified.md): a part of its sum, and so many
# deviations of a sum of as many independent rows.
MISFIT, SPREAD = 0.2, 1.8
MISFIT_OF_ROOTS = 0.5  # of what shortening a root's sum cuts off too, whose rows may be less alike than by chance
ROUGH = 30.0  # rows by which the number of those that tell of a coefficient may be off, in a release at epsilon 1
AnyLaw = Law | SurvivalLaw
ROUNDS, HALVINGS, CLOSE = 25, 6, 1e-3
NONE = 1e-9  # clips: what rounding makes of a contribution that is not cut


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
    Of a quantile all variances are of the shift, the logit of its level.
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
    last = Moments.of(law, measured[-1].score, shift, Plain.of(law, measured[-1].score, shift))
    asked = [(replace(last, move=m), own.sigma) for m, own in zip(moves, measured, strict=True)]
    estimate = expected(law, asked, shift, slope=slope_of(law, shift), converged=converged)
    if law.template.link in (COUNT, SURVIVAL):
        return estimate
    if isinstance(law, Law) and law.template.link == QUANTILE:
        last_move = shift - law.asked_at(measured[-1].score)
    else:
        last_move = estimate.values - measured[-1].score.coefficients
    return roughly(estimate, last, last_move**2)


def slope_of(law: AnyLaw, shift: np.ndarray) -> np.ndarray:
    """How what variances are of moves with the shift: the coefficients, or of a quantile the shift itself."""
    return np.eye(1) if law.template.link == QUANTILE else law.slope(shift)


def roughly(estimate: Estimate, last: "Moments", squared: np.ndarray) -> Estimate:
    """The estimate with what the last step, ``squared``, may be off by: rows that tell are estimated."""
    off = np.minimum(ROUGH / np.maximum(last.telling, 1.0), 1.0) ** 2 * squared
    return replace(estimate, clipping=estimate.clipping + off, within=estimate.within + off)


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
class Plain:
    """What the law says of the analysis without clip and noise, whatever the clip: the plain analysis' ``influences``
    (p, N) with their sums, and the ``whole`` contributions (q, N) to the sums, in no unit; of roots' rows together."""

    influences: np.ndarray
    squares: np.ndarray
    mean: np.ndarray
    telling: np.ndarray
    whole: np.ndarray

    @classmethod
    def of(cls, law: AnyLaw, score: Score, shift: np.ndarray) -> "Plain":
        """Over the law's rows, of a score of any clip."""
        everything = replace(score, most=WHOLE) if isinstance(score, TreeScore) else score
        size = score.clip if law.template.link in (COUNT, QUANTILE) else WHOLE
        uncut, w = law.contributions(replace(everything, clip=size), shift)
        influences, each = law.together(law.influences(shift), w), law.apart(w)
        squares = influences**2
        return cls(
            influences=influences,
            squares=squares @ each,
            mean=influences @ each,
            telling=(squares @ each) ** 2 / np.maximum((squares * squares) @ each, 1e-300),
            whole=law.together(uncut, w) * (size * (WHOLE if everything is not score else 1.0)),
        )


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
    def of(cls, law: AnyLaw, score: Score, shift: np.ndarray, plain: Plain) -> "Moments":
        """Over the law's rows, or of related tables over its roots."""
        by_row, w = law.contributions(score, shift)
        released, each = law.together(by_row, w), law.apart(w)
        weighted = released * each
        unit = score.clip * (score.most if isinstance(score, TreeScore) else 1.0)
        gone = plain.whole / unit - released
        some = np.abs(gone).max(axis=0, initial=0.0) > NONE
        gone, left = gone[:, some], each[some]
        cut, cut_spread = gone @ left, (gone * left) @ gone.T
        return cls(
            move=law.derivative(score, shift, by_row),
            spread=weighted @ released.T,
            mean=weighted.sum(axis=1),
            cross=weighted @ plain.influences.T,
            plain=plain.squares,
            plain_mean=plain.mean,
            cut=cut,
            cut_spread=cut_spread,
            telling=plain.telling,
        )


def expected(
    law: AnyLaw, asked: Sequence[tuple[Moments, float]], shift: np.ndarray, *, slope: np.ndarray, converged: bool = True
) -> Estimate:
    """The estimate of a law bent by ``shift``, with the variances that such questions, each with its noise, give it."""
    left, gain = law.prior(), np.zeros((len(law.beta), len(asked[0][0].mean)))
    for moments, sigma in asked:
        left = left + moments.move.T @ moments.move / sigma**2
        gain = gain + moments.move.T / sigma**2
    inverse = _inverse(left)
    to = slope @ inverse @ gain  # of a row's contribution to the coefficients
    last, total = asked[-1][0], law.units
    mean = to @ last.mean
    sampling = np.einsum("ij,jk,ik->i", to, last.spread, to) - mean**2 / total
    both = np.einsum("ij,ji->i", to, last.cross) - mean * last.plain_mean / total
    apart = sampling - 2 * both + last.plain - last.plain_mean**2 / total
    loose = np.einsum("ij,jk,ik->i", to, last.cut_spread, to)
    several = isinstance(law, Law) and law.unit is not None
    spread, misfit = SPREAD, MISFIT_OF_ROOTS if several else MISFIT
    if law.exact:
        spread, misfit = 0.0, min(ROUGH / max(law.mass, 1.0), 1.0)
    clipping = law.alike * spread**2 * np.maximum(loose, 0.0) + (misfit * (to @ last.cut)) ** 2
    noise = np.einsum("ij,jk,ik->i", slope, inverse, slope)
    return Estimate(
        values=law.coefficients(shift),
        shift=shift,
        noise=noise,
        sampling=law.alike * np.maximum(sampling, 0.0),
        clipping=clipping,
        within=noise + clipping + law.alike * np.maximum(apart, 0.0),
        converged=converged and bool(np.isfinite(noise).all()),
    )


def interval(law: AnyLaw, estimate: Estimate, variance: np.ndarray, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals of ``z`` deviations, (p,) each; of a quantile the values at both ends of its level's."""
    half = z * np.sqrt(np.maximum(variance, 0.0))
    if law.template.link == QUANTILE:
        return law.coefficients(estimate.shift + half), law.coefficients(estimate.shift - half)
    return estimate.values - half, estimate.values + half


def per_value(law: AnyLaw, shift: np.ndarray) -> float:
    """How many units of the coefficients' scale one of a variance's own is, squared: of a quantile its rise."""
    return float(law.slope(shift)[0, 0]) ** 2 if law.template.link == QUANTILE else 1.0


def _held(law: AnyLaw, shift: np.ndarray) -> np.ndarray:
    if law.template.link == COUNT or (law.template.link == LINEAR and not law.exact):
        return shift
    return np.clip(shift, -FAREST, FAREST)


def _inverse(matrix: np.ndarray) -> np.ndarray:
    lifted = matrix + (1e-12 * np.trace(matrix) / len(matrix) + 1e-300) * np.eye(len(matrix))
    return np.asarray(np.linalg.inv(lifted))
