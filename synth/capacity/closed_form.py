"""Closed forms for noisy numbers, Laplace or Gaussian: their divergences, unrestricted and to linear attackers.

**Source**: Chaudhuri, Imola and Machanavajjhala, Capacity Bounded Differential Privacy, arXiv 1907.02159, Table 1. The
linear Renyi entries, bounded there, are computed exactly here (``linear_renyi``); the proofs are properties.md's.
"""

from collections.abc import Callable
from math import expm1, log, log1p, sqrt

import numpy as np

from synth.lazy import Lazy

integrate = Lazy("scipy.integrate")
optimize = Lazy("scipy.optimize")
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


def gaussian_kl(sigma: float) -> float:
    """KL divergence of Gaussian noise, to every attacker that is linear or more: the best one is linear.

    >>> gaussian_kl(2.0)
    0.125
    """
    return 1 / (2 * sigma**2)


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


def of_strategy(strategy: np.ndarray, noise: str, scale: float, order: float | None = None) -> dict[str, float]:
    """Divergences that the matrix mechanism lets out of one count that changes by one, at the worst count.

    ``strategy``: A (m, n), the queries that are answered as A x + noise, each number with its own noise of ``scale``;
    what is asked for is computed from these answers. ``order``: of Renyi's divergence (> 1), None for KL.
    ``unrestricted``: what there is, a sum over the changed count's column of A, since the noise is independent.
    ``linear``: what linear attackers see. By KL it is such a sum too, a linear attacker's function being one over
    numbers (arXiv 1907.02159 has a bound). By Renyi it is exact for Gaussian noise, which looks alike from all sides:
    one number that moves by the column's length; and at order 2 for either: ln(1 + squared length / variance), the
    noise being uncorrelated. For Laplace noise at other orders it is the bound by composition, the sum.

    Errors: ValueError for a strategy that is no matrix.

    >>> told = of_strategy(np.eye(2), "laplace", 1.0)
    >>> round(told["linear"], 4), round(told["unrestricted"], 4)
    (0.226, 0.3679)
    >>> told = of_strategy([[1, 0], [0, 1], [1, 1]], "gaussian", 1.0, 2.0)
    >>> round(told["linear"], 4), told["unrestricted"]
    (1.0986, 2.0)
    """
    strategy = np.atleast_2d(np.asarray(strategy, dtype=float))
    if strategy.ndim != 2 or not np.isfinite(strategy).all():
        raise ValueError("a strategy is a matrix of finite numbers")
    moves = [[float(abs(v)) / scale for v in c if v] for c in strategy.T]
    lengths = [float(np.linalg.norm(c)) for c in moves]
    if order == 2:
        seen = [float(np.log1p(m**2 / (2 if noise == LAPLACE else 1))) for m in lengths]
    elif noise == LAPLACE or order is None:
        known = {s: linear(noise, 1 / s, order) for s in {s for c in moves for s in c}}
        seen = [sum(known[s] for s in c) for c in moves]
    else:
        seen = [linear(noise, 1 / m, order) if m else 0.0 for m in lengths]
    whole = [sum(unrestricted(noise, 1 / s, order) for s in c) for c in moves]
    return {"linear": max(seen), "unrestricted": max(whole)}
