"""What is set aside because the noise is drawn in floating point, and what of it each release takes.

Proof note: synth/mechanisms/counts.md.
"""

from math import exp, inf, isfinite

DELTA_SLACK = 0.02  # shares of delta and of epsilon kept for the noise generator's distance
EPSILON_SLACK = 1e-4  # from an ideal Gaussian (mechanisms/counts.md, step 4)
SAFETY = 1e-9  # relative step towards privacy on every inverted function


def with_float_slack(epsilon: float) -> float:
    """An epsilon that was computed without the reserve, with it, rounded up.

    Privacy: public only.

    >>> 1.0001 < with_float_slack(1.0) < 1.00011
    True
    """
    return epsilon / (1 - EPSILON_SLACK) * (1 + SAFETY / 10) if isfinite(epsilon) else inf


def sampler_cost(epsilon: float, delta: float, *, sigma: float, draws: int) -> tuple[float, float]:
    """(epsilon, delta) that the floating-point sampler adds when ``draws`` changed cells carry ``sigma``.

    ``sigma`` in units of the lattice that values are told on. Of the two bounds of mechanisms/counts.md, step 4, the
    one that takes less of its reserve: total variation at small epsilon, the likelihood ratio at large.

    Privacy: public only.
    """
    grown = 1 + exp(min(epsilon, 700.0))
    variation = 0.0, draws * (4 * sigma + 256) * 2.0**-52 * grown
    ratio = draws * (sigma + 16) * 2.0**-36, draws * (sigma + 16) * 2.0**-64 * grown
    return min(variation, ratio, key=lambda cost: slack_taken(cost, epsilon, delta))


def slack_taken(cost: tuple[float, float], epsilon: float, delta: float) -> float:
    """How much of the sampler's reserves a cost takes; above 1 it is more than was set aside.

    Privacy: public only.
    """
    if delta == 0:  # a pure run has no reserve for what is off in delta
        return inf if cost[1] > 0 else cost[0] / (epsilon * EPSILON_SLACK)
    return max(cost[0] / (epsilon * EPSILON_SLACK), cost[1] / (delta * DELTA_SLACK))
