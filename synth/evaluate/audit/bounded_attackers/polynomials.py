"""Polynomial attackers on one number's noise, and linear ones on several numbers: exact curves and sums.

**Source**: Chaudhuri, Imola and Machanavajjhala, Capacity Bounded Differential Privacy, arXiv 1907.02159.
"""

import numpy as np

from synth.evaluate.audit.bounded_attackers.closed_form import (
    LAPLACE,
    gaussian_kl,
    gaussian_linear_renyi,
    gaussian_renyi,
    laplace_kl,
    laplace_linear_kl,
    laplace_linear_renyi,
    laplace_renyi,
)
from synth.evaluate.audit.bounded_attackers.exact import restricted_renyi
from synth.lazy import Lazy

stats = Lazy("scipy.stats")

DEGREES = (1, 2, 3)
POINTS, FAR = 801, 30.0  # of the grid, and how far it goes on either side, in scales of the noise


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
    if noise == LAPLACE:
        return {
            "linear": max(float(sum(laplace_linear_kl(s) for s in c)) for c in columns),
            "unrestricted": max(float(sum(laplace_kl(s) for s in c)) for c in columns),
        }
    whole = max(float(sum(gaussian_kl(1 / s) for s in c)) for c in columns)
    return {"linear": whole, "unrestricted": whole}


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
    laplace = noise == LAPLACE
    lengths = [float(np.linalg.norm(c)) for c in columns]
    if order == 2:
        linear = [float(np.log1p(m**2 / (2 if laplace else 1))) for m in lengths]
    elif laplace:
        seen = {float(s): laplace_linear_renyi(float(s), order) for c in columns for s in c}
        linear = [sum(seen[float(s)] for s in c) for c in columns]
    else:
        linear = [gaussian_linear_renyi(1 / m, order) if m else 0.0 for m in lengths]
    whole = [
        float(sum(laplace_renyi(s, order) if laplace else gaussian_renyi(1 / s, order) for s in c)) for c in columns
    ]
    return {"linear": max(linear), "unrestricted": max(whole)}


def _moves(strategy: np.ndarray, scale: float) -> list[np.ndarray]:
    """By how many scales of the noise each count moves the answers, without zeros. Errors: ValueError for no matrix."""
    strategy = np.atleast_2d(np.asarray(strategy, dtype=float))
    if strategy.ndim != 2 or not np.isfinite(strategy).all():
        raise ValueError("a strategy is a matrix of finite numbers")
    return [np.abs(c[c != 0]) / scale for c in strategy.T]
