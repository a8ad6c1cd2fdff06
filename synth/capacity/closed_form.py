"""Closed forms for one number of sensitivity one with Laplace or Gaussian noise, unrestricted and to linear attackers.

**Source**: Chaudhuri, Imola and Machanavajjhala, Capacity Bounded Differential Privacy, arXiv 1907.02159, Table 1. The
linear Renyi entries, bounded there, are computed exactly here (``linear_renyi``). What a restricted KL divergence
bounds, an attacker's advantage and how far a chosen query strays from new rows, is of Theorems 6 and 7; the constants,
and the proofs, are properties.md's.
"""

from collections.abc import Callable, Sequence
from math import expm1, log, log1p, pi, sqrt

import numpy as np

from synth.lazy import Lazy

integrate = Lazy("scipy.integrate")
optimize = Lazy("scipy.optimize")
special = Lazy("scipy.special")
stats = Lazy("scipy.stats")

LAPLACE, GAUSSIAN = "laplace", "gaussian"
NOISES = (LAPLACE, GAUSSIAN)


def unrestricted(noise: str, scale: float, order: float | None = None) -> float:
    """The mechanism's own divergence. ``scale``: b of Laplace noise, sigma of Gaussian; ``order``: None for KL."""
    if noise == LAPLACE:
        return laplace_kl(1 / scale) if order is None else laplace_renyi(1 / scale, order)
    return gaussian_kl(scale) if order is None else gaussian_renyi(scale, order)


def linear(noise: str, scale: float, order: float | None = None) -> float:
    """What a linear attacker sees of it: exact."""
    if noise == LAPLACE:
        return laplace_linear_kl(1 / scale) if order is None else laplace_linear_renyi(1 / scale, order)
    return gaussian_kl(scale) if order is None else gaussian_linear_renyi(scale, order)


def laplace_kl(epsilon: float) -> float:
    """KL divergence of Laplace noise of scale 1 / epsilon: exact.

    >>> round(laplace_kl(1.0), 4)
    0.3679
    """
    return epsilon + expm1(-epsilon)


def laplace_linear_kl(epsilon: float) -> float:
    """What of it a linear attacker can see: exact, and less for every epsilon.

    >>> round(laplace_linear_kl(1.0), 4)
    0.226
    """
    best = epsilon**2 / (sqrt(1 + epsilon**2) + 1)  # sqrt(1 + epsilon^2) - 1, without cancellation
    return best + log1p(-((best / epsilon) ** 2))


def laplace_renyi(epsilon: float, order: float) -> float:
    """Renyi divergence of the given order (> 1): exact.

    **Source**: Mironov, arXiv 1702.07476, Proposition 6.
    """
    up, down = log(order / (2 * order - 1)), log((order - 1) / (2 * order - 1))
    return float(np.logaddexp(up + (order - 1) * epsilon, down - order * epsilon)) / (order - 1)


def laplace_renyi_at_least(epsilon: float, order: float) -> float:
    """The lower bound that the table gives for it.

    >>> laplace_renyi_at_least(1.0, 2.0) <= laplace_renyi(1.0, 2.0)
    True
    """
    return epsilon - log(2) / (order - 1)


def gaussian_kl(sigma: float) -> float:
    """KL divergence of Gaussian noise, to every attacker that is linear or more: the best one is linear.

    >>> gaussian_kl(2.0)
    0.125
    """
    return 1 / (2 * sigma**2)


def gaussian_linear_kl(shift: float, *, of_second: float) -> float:
    """What a linear attacker sees of two Gaussians whose means differ by ``shift``: exact, for any two variances.

    ``of_second``: the deviation of the law that stands second; the first one's does not matter. **Source**: the paper's
    Theorem 10.

    >>> gaussian_linear_kl(1.0, of_second=2.0) == gaussian_kl(2.0)
    True
    """
    return shift**2 / (2 * of_second**2)


def gaussian_renyi(sigma: float, order: float) -> float:
    """Renyi divergence of the given order: exact."""
    return order / (2 * sigma**2)


def linear_renyi(density: Callable[[float], float], order: float, *, width: float) -> float:
    """What a linear attacker sees of noise with this symmetric density, shifted by one: exact up to quadrature.

    sup over c of (E_P g)^a / (E_Q |g|^b)^(a - 1), g = x + c, a the order, b = a / (a - 1): the best multiple of g is
    taken in closed form. ``width``: of the noise; c is looked for up to 40 of its squares. At order 2 it is
    log(1 + 1 / variance).

    >>> round(linear_renyi(stats.norm(scale=2.0).pdf, 2.0, width=2.0), 6) == round(log(1.25), 6)
    True
    """
    power = order / (order - 1)

    def lost(c: float) -> float:
        parts = [(-60 * width, -c), (-c, 60 * width)]
        moment = sum(integrate.quad(lambda x: abs(x + c) ** power * density(x), *p, limit=200)[0] for p in parts)
        return -(order * log(1 + c) - (order - 1) * log(moment))

    most, close = 40 * max(width, width**2), {"xatol": 1e-9}
    solution = optimize.minimize_scalar(lost, bounds=(0.0, most), method="bounded", options=close)
    return max(-float(solution.fun), 0.0) / (order - 1)


def laplace_linear_renyi(epsilon: float, order: float) -> float:
    """The linear attacker's Renyi divergence of Laplace noise: exact."""
    return linear_renyi(stats.laplace(scale=1 / epsilon).pdf, order, width=1 / epsilon)


def gaussian_linear_renyi(sigma: float, order: float) -> float:
    """The linear attacker's Renyi divergence of Gaussian noise: exact, and below the unrestricted one."""
    return linear_renyi(stats.norm(scale=sigma).pdf, order, width=sigma)


def published_linear_renyi(noise: str, scale: float, order: float) -> float:
    """What the paper bounds a linear attacker's Renyi divergence by (its Table 1): see docs/audit.md.

    log(1 + 2^(a - 1) / b^a) / (a - 1) of Laplace noise, log(1 + (2 pi)^((a - 1) / 2) / sigma^a) / (a - 1) of Gaussian.
    They are bounds at scale 1, and not at every scale: a linear attacker sees a / (4 b^2) of wide Laplace noise, about.

    >>> round(published_linear_renyi("laplace", 1.0, 2.0), 4), round(published_linear_renyi("gaussian", 1.0, 2.0), 4)
    (1.0986, 1.2547)
    """
    grown = 2 ** (order - 1) if noise == LAPLACE else (2 * pi) ** ((order - 1) / 2)
    return log1p(grown / scale**order) / (order - 1)


def published_linear_renyi_of(noise: str, scale: float, moves: Sequence[float], order: float) -> float:
    """The same of several numbers, each with its own noise and moved by one of ``moves`` (Table 1, d dimensions).

    As published, and not a bound where noise is wide: of Laplace noise of scale 5 at order 4 it is 0.0042, and a linear
    attacker sees 0.0335 (Theorem 13 loses a factor 2^-d on the constant; properties.md).

    >>> round(published_linear_renyi_of("laplace", 5.0, [1.0], 4.0), 4), round(laplace_linear_renyi(0.2, 4.0), 4)
    (0.0042, 0.0335)
    """
    shifts = np.abs(np.asarray(moves, dtype=float)) / scale
    constant = 1.0 if noise == LAPLACE else sqrt(pi / 2)
    grown = (len(shifts) * log(2) + log(constant)) * (order - 1)
    return float(np.logaddexp(0.0, grown + log(float((shifts**order).sum())))) / (order - 1)


def published_matrix_renyi(queries: int, epsilon: float, order: float) -> float:
    """The paper's Theorem 5, for a strategy of so many queries: as published, and not a bound for small epsilon.

    >>> round(published_matrix_renyi(1, 0.2, 4.0), 4)
    0.0042
    """
    return log1p(2.0 ** (queries * (order - 1)) * epsilon**order) / (order - 1)


def bounded_linear_renyi_of(noise: str, scale: float, moves: Sequence[float], order: float) -> float:
    """A bound that holds in the place of the published one: d log 2 + log(1 + |v|_a^a / K^(a - 1)) / (a - 1).

    K is the noise's absolute moment of order a / (a - 1). **Source**: the proof of Theorem 13 with its lost factor.

    >>> bounded_linear_renyi_of("laplace", 5.0, [1.0], 4.0) > laplace_linear_renyi(0.2, 4.0)
    True
    """
    power = order / (order - 1)
    if noise == LAPLACE:
        moment = special.gammaln(power + 1)
    else:
        moment = power * log(2) / 2 + special.gammaln((power + 1) / 2) - log(pi) / 2
    shifts = np.abs(np.asarray(moves, dtype=float)) / scale
    grown = log(float((shifts**order).sum())) - (order - 1) * float(moment)
    return len(shifts) * log(2) + float(np.logaddexp(0.0, grown)) / (order - 1)


def advantage_at_most(divergence: float, *, multiples: bool = True) -> float:
    """The most by which E_P h and E_Q h differ: h within [-1, 1], D the KL divergence restricted to its class.

    ``multiples``: whether the class has all multiples of h (linear spaces); else those of factor 1 at most, with
    constants. The paper has 8 sqrt(D).

    >>> round(advantage_at_most(0.08), 3), round(advantage_at_most(0.08, multiples=False), 3)
    (0.4, 0.462)
    """
    return min(sqrt((2.0 if multiples else 8 / 3) * max(divergence, 0.0)), 2.0)


def gap_at_most(divergence: float, *, multiples: bool = True) -> float:
    """The most by which a query that was chosen in sight of a sample has another mean there than on new rows.

    In expectation over samples and choice; queries have values in [0, 1]; D bounds the KL divergence of the choice on
    any two samples that differ in a row, restricted to q -> q(x) for all x, with constants. The paper has 8 sqrt(D).

    >>> round(gap_at_most(0.08), 3), round(gap_at_most(0.08, multiples=False), 3)
    (0.2, 0.302)
    """
    return min(sqrt((0.5 if multiples else 8 / 7) * max(divergence, 0.0)), 1.0)
