"""What the paper of capacity-bounded privacy states, where the product needs none of it: bounds, solvers, curves.

Suprema over a class of attackers on laws on finitely many points, solved exactly: the class is the span of ``features``
(points, k) and a constant; of polynomials on one number's noise they are the paper's curves. **Source**: Chaudhuri,
Imola and Machanavajjhala, Capacity Bounded Differential Privacy, arXiv 1907.02159; the constants of Theorems 6 and 7,
and all proofs, are those of synth/capacity/properties.md.
"""

from collections.abc import Sequence
from math import log, log1p, pi, sqrt

import numpy as np
from scipy import optimize, special, stats

from synth.capacity.closed_form import LAPLACE

ORDERS = (*(1.25 + 0.25 * i for i in range(12)), 4.5, 5.0, 5.5, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0)  # of the figures
POINTS, FAR = 801, 30.0  # of the grid, and how far it goes on either side, in scales of the noise


def laplace_renyi_at_least(epsilon: float, order: float) -> float:
    """The lower bound that the table gives for it."""
    return epsilon - log(2) / (order - 1)


def gaussian_linear_kl(shift: float, *, of_second: float) -> float:
    """What a linear attacker sees of two Gaussians whose means differ by ``shift``: exact, for any two variances.

    ``of_second``: the deviation of the law that stands second; the first one's does not matter. **Source**: the paper's
    Theorem 10.

    >>> gaussian_linear_kl(1.0, of_second=2.0)
    0.125
    """
    return shift**2 / (2 * of_second**2)


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

    >>> round(published_linear_renyi_of("laplace", 5.0, [1.0], 4.0), 4)
    0.0042
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


def restricted_kl(p: np.ndarray, q: np.ndarray, features: np.ndarray) -> float:
    """sup over h in the class of E_P[h] - log E_Q[exp h]; ``p`` and ``q`` (points,), q positive.

    The constant's part of sup E_P[h] - E_Q[exp(h - 1)] is taken in closed form. The rest is concave.

    >>> everything = np.eye(3)
    >>> p, q = np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.4, 0.2])
    >>> round(restricted_kl(p, q, everything) - float(p @ np.log(p / q)), 6)
    0.0
    """

    def lost(w: np.ndarray) -> tuple[float, np.ndarray]:
        h = features @ w
        tilted = q * np.exp(h - h.max())
        whole = tilted.sum()
        return float(np.log(whole) + h.max() - p @ h), features.T @ (tilted / whole - p)

    solution = optimize.minimize(lost, np.zeros(features.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-10})
    return max(-float(solution.fun), 0.0)


def restricted_renyi(p: np.ndarray, q: np.ndarray, features: np.ndarray, order: float) -> float:
    """The same for the Renyi divergence of this order: a / (a - 1) * sup of log E_P[g] - log |g|_{L^b(Q)}.

    a is the order and b = a / (a - 1): the form that the divergence for f(x) = (|x|^a - 1) / (a (a - 1)) takes once the
    best multiple of g is chosen, logarithm taken. The start is g = 1.
    """
    power = order / (order - 1)
    wide = np.column_stack([np.ones(len(p)), features])

    def lost(w: np.ndarray) -> float:
        g = wide @ w
        mean = p @ g
        return float(np.log(q @ np.abs(g) ** power) / power - np.log(mean)) if mean > 0 else 1e9

    start = np.zeros(wide.shape[1])
    start[0] = 1.0
    solution = optimize.minimize(lost, start, method="BFGS", options={"gtol": 1e-9})
    return max(-float(solution.fun), 0.0) * power


def restricted_tv(p: np.ndarray, q: np.ndarray, features: np.ndarray) -> float:
    """The same for the total variation, f(t) = abs(t - 1) / 2: the class's functions with values in [-1/2, 1/2].

    f*(s) is s there and infinite beyond. A linear program.

    >>> p, q = np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.4, 0.2])
    >>> round(restricted_tv(p, q, np.eye(3)) - 0.3, 9)
    0.0
    """
    wide = np.column_stack([np.ones(len(p)), features])
    bounds = [(None, None)] * wide.shape[1]
    solution = optimize.linprog(
        -((p - q) @ wide), A_ub=np.vstack([wide, -wide]), b_ub=np.full(2 * len(p), 0.5), bounds=bounds
    )
    return max(-float(solution.fun), 0.0)


def restricted_alpha(p: np.ndarray, q: np.ndarray, features: np.ndarray, order: float) -> float:
    """The same for f(t) = (abs(t)^a - 1) / (a^2 - a): the Renyi divergence's source (equation 3 of the paper)."""
    renyi = restricted_renyi(p, q, features, order)
    return float(np.expm1((order - 1) * renyi)) / (order**2 - order)


def polynomial_renyi(noise: str, scale: float, order: float, degree: int) -> float:
    """What polynomials of this degree see of the Renyi divergence of noise moved by one: exact up to the grid.

    ``scale``: b of Laplace noise, sigma of Gaussian. Only for orders above 1: by KL a polynomial's exponential has no
    mean under Laplace noise from degree 2 on.

    >>> round(polynomial_renyi("laplace", 1.0, 2.0, 1), 3), round(polynomial_renyi("laplace", 1.0, 2.0, 3), 3)
    (0.405, 0.475)
    """
    law = (stats.laplace if noise == LAPLACE else stats.norm)(scale=scale)
    points = np.linspace(-FAR * scale, FAR * scale + 1, POINTS)
    p, q = law.pdf(points - 1), law.pdf(points)
    p, q = p / p.sum(), np.maximum(q / q.sum(), 1e-300)
    powers = np.vander(points / scale, degree + 1)[:, :-1]
    return restricted_renyi(p, q, powers / np.sqrt(q @ powers**2), order)
