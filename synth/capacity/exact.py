"""Restricted divergences of laws on finitely many points, solved exactly, and of several numbers at once.

An attacker's class is the span of ``features`` (points, k) and a constant. Of polynomials on one number's noise
they are exact curves; of linear attackers on several numbers, sums.

**Source**: Chaudhuri, Imola and Machanavajjhala, Capacity Bounded Differential Privacy, arXiv 1907.02159.
"""

import numpy as np

from synth.capacity.closed_form import LAPLACE, linear, unrestricted
from synth.lazy import Lazy

optimize = Lazy("scipy.optimize")
stats = Lazy("scipy.stats")

DEGREES = (1, 2, 3)
POINTS, FAR = 801, 30.0  # of the grid, and how far it goes on either side, in scales of the noise


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


def matrix_kl(strategy: np.ndarray, noise: str, scale: float) -> dict[str, float]:
    """KL divergences that the matrix mechanism lets out of one count that changes by one, at the worst count.

    ``strategy``: A (m, n), the queries that are answered as A x + noise, each number with its own noise of ``scale``;
    what is asked for is computed from these answers. ``linear``: what linear attackers see, ``unrestricted``: what
    there is. Noise is independent, and a linear attacker's function is a sum over numbers, so both are sums over the
    changed count's column of A (arXiv 1907.02159 has the linear one as a bound).

    Errors: ValueError for a strategy that is no matrix.

    >>> told = matrix_kl(np.eye(2), "laplace", 1.0)
    >>> round(told["linear"], 4), round(told["unrestricted"], 4)
    (0.226, 0.3679)
    """
    columns = _moves(strategy, scale)
    return {
        name: max(sum(of(noise, 1 / s) for s in c) for c in columns)
        for name, of in (("linear", linear), ("unrestricted", unrestricted))
    }


def matrix_renyi(strategy: np.ndarray, noise: str, scale: float, order: float) -> dict[str, float]:
    """The same by Renyi's divergence of this order (> 1): several numbers at once, at the worst count.

    ``unrestricted`` is a sum over the column, exactly. ``linear`` is exact for Gaussian noise, which looks alike from
    all sides: one number that moves by the column's length; and at order 2 for either: ln(1 + squared length /
    variance), the noise being uncorrelated. For Laplace noise at other orders it is the bound by composition, the sum.

    Errors: ValueError for a strategy that is no matrix.

    >>> told = matrix_renyi([[1, 0], [0, 1], [1, 1]], "gaussian", 1.0, 2.0)
    >>> round(told["linear"], 4), told["unrestricted"]
    (1.0986, 2.0)
    """
    columns = _moves(strategy, scale)
    lengths = [float(np.linalg.norm(c)) for c in columns]
    if order == 2:
        seen = [float(np.log1p(m**2 / (2 if noise == LAPLACE else 1))) for m in lengths]
    elif noise == LAPLACE:
        known = {s: linear(noise, 1 / s, order) for s in {s for c in columns for s in c}}
        seen = [sum(known[s] for s in c) for c in columns]
    else:
        seen = [linear(noise, 1 / m, order) if m else 0.0 for m in lengths]
    return {
        "linear": max(seen),
        "unrestricted": max(sum(unrestricted(noise, 1 / s, order) for s in c) for c in columns),
    }


def _moves(strategy: np.ndarray, scale: float) -> list[list[float]]:
    """By how many scales of the noise each count moves the answers, without zeros. Errors: ValueError for no matrix."""
    strategy = np.atleast_2d(np.asarray(strategy, dtype=float))
    if strategy.ndim != 2 or not np.isfinite(strategy).all():
        raise ValueError("a strategy is a matrix of finite numbers")
    return [[float(abs(v)) / scale for v in c if v] for c in strategy.T]
