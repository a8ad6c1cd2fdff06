"""What attackers of limited capacity could learn from a release: a view beside epsilon, never in its place."""

from synth.evaluate.audit.bounded_attackers.advantage import advantage_at_most, gap_at_most
from synth.evaluate.audit.bounded_attackers.attackers import ATTACKERS, LearntBound, certain, leakage
from synth.evaluate.audit.bounded_attackers.closed_form import (
    bounded_linear_renyi_of,
    gaussian_kl,
    gaussian_linear_kl,
    gaussian_linear_renyi,
    gaussian_renyi,
    laplace_kl,
    laplace_linear_kl,
    laplace_linear_renyi,
    laplace_renyi,
    laplace_renyi_at_least,
    published_linear_renyi,
    published_linear_renyi_of,
    published_matrix_renyi,
)
from synth.evaluate.audit.bounded_attackers.exact import (
    restricted_alpha,
    restricted_kl,
    restricted_renyi,
    restricted_tv,
)
from synth.evaluate.audit.bounded_attackers.polynomials import matrix_kl, matrix_renyi, polynomial_renyi

__all__ = [
    "ATTACKERS",
    "LearntBound",
    "advantage_at_most",
    "bounded_linear_renyi_of",
    "certain",
    "gap_at_most",
    "gaussian_kl",
    "gaussian_linear_kl",
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
    "published_linear_renyi_of",
    "published_matrix_renyi",
    "restricted_alpha",
    "restricted_kl",
    "restricted_renyi",
    "restricted_tv",
]
