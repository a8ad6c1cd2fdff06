"""Restricted divergences of laws on finitely many points, solved exactly: the definition, for tests of its properties.

An attacker's class is the span of ``features`` (points, k) and a constant.
"""

import numpy as np

from synth.lazy import Lazy

optimize = Lazy("scipy.optimize")


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
