"""The rounded Gaussian as a table: the chances of its sizes to 126 binary places, for drawing by inversion.

A draw is rint(FINE * g), g standard normal. Its size is k with probability F(k) - F(k - 1), where F(k) = erf((k + 1/2)
/ (FINE sqrt 2)). The table is computed in whole numbers: the density by a recurrence, the integral over each step by
Taylor's series, checked against erf in the tests.
"""

from functools import lru_cache
from math import isqrt

import numpy as np

from synth.questions.gradients import FINE

FARTHEST = 14  # deviations listed; what is beyond (2**-145) counts as the last size
PLACES = 126  # binary places of a threshold
GUARD = 320  # binary places of the computation
TERMS = 14  # of the series: each is at least FINE / 14 times smaller than the one before


@lru_cache(maxsize=1)
def thresholds() -> list[int]:
    """F(0), F(1), ... in units of 2**-PLACES, rounded down; a uniform U in [0, 1) has the size #{k: F(k) <= U}.

    Privacy: public only.

    >>> round(thresholds()[FINE] / 2**PLACES, 4)
    0.6827
    """
    one = 1 << GUARD
    density = isqrt((2 * one**3 << 20) // _pi(GUARD + 20))  # 2 phi(0) = sqrt(2 / pi)
    total = _area(density, 0, halves=1)  # from 0 to 1/2
    half = one // (2 * FINE)
    density = density * _exp(-(half * half >> GUARD) // 2) >> GUARD  # at 1/2
    ratio = _exp(-(one // (FINE * FINE)))  # at k + 1/2 the density falls by exp(-(k + 1) / FINE**2)
    fall = ratio
    results = [total >> (GUARD - PLACES)]
    for k in range(FARTHEST * FINE):
        total += _area(density, 2 * k + 1, halves=2)
        density = density * fall >> GUARD
        fall = fall * ratio >> GUARD
        results.append(min(total, one) >> (GUARD - PLACES))
    return results


def _area(density: int, start: int, *, halves: int) -> int:
    """Integral of 2 phi over a step of ``halves`` half lattice units from start / (2 FINE), given 2 phi there.

    Derivatives of phi are (-1)**n He_n phi, He_(n+1) = x He_n - n He_(n-1), in exact fractions of 2 FINE.
    """
    unit = 2 * FINE
    before, now = 0, 1  # He_n(x) unit**n, whole numbers
    power, total, sign = halves, 0, 1
    factorial, scale = 1, unit
    for n in range(TERMS):
        total += sign * density * now * power // (factorial * scale)
        before, now = now, start * now - n * unit * unit * before
        power, factorial, sign, scale = power * halves, factorial * (n + 2), -sign, scale * unit * unit
    return total


def _exp(x: int) -> int:
    """exp of a number from -1 to 0, both in units of 2**-GUARD."""
    term = total = 1 << GUARD
    n = 0
    while term:
        n += 1
        term = term * -x // (n << GUARD)
        total += -term if n % 2 else term
    return total


def _pi(places: int) -> int:
    """pi in units of 2**-places, by Machin's formula."""
    guard = places + 16

    def inverse(m: int) -> int:
        term = total = (1 << guard) // m
        n, sign = 1, 1
        while term:
            term //= m * m
            n, sign = n + 2, -sign
            total += sign * (term // n)
        return total

    return 4 * (4 * inverse(5) - inverse(239)) >> 16


@lru_cache(maxsize=1)
def leading() -> np.ndarray:
    """The thresholds' first 63 bits, uint64 (thresholds,).

    They decide unless a draw's first 63 bits are among them.

    Privacy: public only.
    """
    most = (1 << 63) - 1
    return np.array([min(f >> 63, most) for f in thresholds()], dtype=np.uint64)
