"""What attackers of limited capacity could learn from a release: a view beside epsilon, never in its place."""

from synth.evaluate.audit.bounded_attackers.attackers import ATTACKERS, LearntBound, certain, leakage
from synth.evaluate.audit.bounded_attackers.closed_form import (
    gaussian_kl,
    gaussian_linear_renyi,
    gaussian_renyi,
    laplace_kl,
    laplace_linear_kl,
    laplace_linear_renyi,
    laplace_renyi,
    laplace_renyi_at_least,
    published_linear_renyi,
)
from synth.evaluate.audit.bounded_attackers.exact import restricted_kl, restricted_renyi
from synth.evaluate.audit.bounded_attackers.polynomials import matrix_kl, matrix_renyi, polynomial_renyi

__all__ = [
    "ATTACKERS",
    "LearntBound",
    "certain",
    "gaussian_kl",
    "gaussian_linear_renyi",
    "gaussian_renyi",
    "laplace_kl",
    "laplace_linear_kl",
    "laplace_linear_renyi",
    "laplace_renyi",
    "laplace_renyi_at_least",
    "leakage",
    "matrix_kl",
    "matrix_renyi",
    "polynomial_renyi",
    "published_linear_renyi",
    "restricted_kl",
    "restricted_renyi",
]
