"""Where a function passes zero: Brent's method (1973), without loading scipy.optimize, which takes a command's time.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Callable
from math import inf

import numpy as np

LADDER = 1e-12  # relative width at which a bisection stops; its safe end is returned
MOST_STEPS = 100
NEAREST = 4 * 2.0**-52  # of the root itself


def root(f: Callable[[float], float], low: float, high: float, *, near: float) -> float:
    """A zero of ``f`` between two numbers at which it has different signs, to within ``near`` and rounding.

    As ``scipy.optimize.brentq``, to the last bit. Errors: ValueError for equal signs.

    Privacy: public only.

    >>> round(root(lambda x: x * x - 2, 0.0, 2.0, near=1e-12), 9)
    1.414213562
    """
    before, here, across = low, high, 0.0
    f_before, f_here, f_across = f(before), f(here), 0.0
    if f_before == 0 or f_here == 0:
        return before if f_before == 0 else here
    if (f_before < 0) == (f_here < 0):
        raise ValueError("no zero lies between numbers at which a function has one sign")
    last = step = 0.0
    for _ in range(MOST_STEPS):
        if f_before != 0 and f_here != 0 and (f_before < 0) != (f_here < 0):
            across, f_across = before, f_before
            last = step = here - before
        if abs(f_across) < abs(f_here):
            before, here, across = here, across, here
            f_before, f_here, f_across = f_here, f_across, f_here
        close = (near + NEAREST * abs(here)) / 2
        half = (across - here) / 2
        if f_here == 0 or abs(half) < close:
            return here
        if abs(last) > close and abs(f_here) < abs(f_before):
            with np.errstate(all="ignore"):  # an infinite value makes no number of it, which is not good
                tried = _interpolated(before, here, across, f_before, f_here, f_across)
            good = 2 * abs(tried) < min(abs(last), 3 * abs(half) - close)
            last, step = (step, tried) if good else (half, half)
        else:
            last = step = half
        before, f_before = here, f_here
        here += step if abs(step) > close else close if half > 0 else -close
        f_here = f(here)
    return here


def _interpolated(before: float, here: float, across: float, f_before: float, f_here: float, f_across: float) -> float:
    """The step to the zero of a line through two points, or of an inverse parabola through three."""
    if before == across:
        return -f_here * (here - before) / (f_here - f_before)
    first, second = (f_before - f_here) / (before - here), (f_across - f_here) / (across - here)
    return -f_here * (f_across * second - f_before * first) / (second * first * (f_across - f_before))


def least(above: Callable[[float], bool], *, floor: float, ceiling: float) -> float:
    """The safe end of the point from which on ``above`` is false; inf where it still holds at the ceiling.

    Privacy: public only.
    """
    if not above(floor):
        return floor
    low, high = floor, 1.0
    while above(high):
        low, high = high, high * 4
        if high > ceiling:
            return inf
    while high - low > LADDER * high:
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) else (low, middle)
    return high
