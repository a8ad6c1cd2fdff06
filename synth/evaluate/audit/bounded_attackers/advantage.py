"""What a restricted KL divergence bounds: an attacker's advantage, and how far a chosen query strays from new rows.

**Source**: arXiv 1907.02159, Theorems 6 and 7; the constants, and the proofs, are properties.md's.
"""

from math import sqrt


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
