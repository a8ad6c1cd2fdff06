"""rint(sigma * g), g standard normal, from uniform bits by inversion: floating point decides where it cannot err.

The first of 64 bits is the sign, the other 63 (and as many more as are wanted) a number V in [0, 1). The size of the
draw is k where V lies between P(|g| > (k + 1/2) / sigma) and P(|g| > (k - 1/2) / sigma). The quantile function in
double precision finds k, unless sigma * |g| is so near to a k + 1/2 that its error could matter: then V gets 128 bits
more and is compared with the probabilities to 90 digits. Proof note: synth/mechanisms/counts.md, step 4.
"""

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import exp, nan, pi, sqrt

import numpy as np

NEAR = 2.0**-36  # in units of sigma: 2**10 times what the quantile and its argument err by together
DEEP = 2**36  # of 2**63: in the tail below, the argument's error counts for more
MORE = 128  # further bits of a draw that lies near a k + 1/2
BLOCK = 1 << 14  # draws at a time, so that their floats stay in the cache
MANY = 1 << 16  # draws of one deviation that are worth a look-up table
LISTED = 4096.0  # a deviation up to which most of the table's entries hold one size
PARTS = 1 << 15  # of [0, 1) in the look-up table
UNSURE = np.iinfo(np.int32).min  # its entry where a part holds two sizes
QUICK = 2.0**20  # a deviation up to which few draws need more digits, and the quantile is at most one size off
NEWTON = 60  # steps at most: three or four, some more in the far tail
EMPTY = 20  # deviations beyond which lies less than 2**-290
DIGITS = 110
PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"
)


def draws(bits: np.ndarray, sigma: float, more: Callable[[], int]) -> np.ndarray:
    """The draw that each of ``bits``, uniform uint64 (n,), stands for, int64 (n,).

    ``more``: a uniform whole number below 2**MORE; asked for each draw that floating point does not decide.
    Each draw's law is that of rint(sigma * g) up to 2**-100 of total variation.

    Privacy: public only.
    """
    out = np.empty(len(bits), dtype=np.int64)
    listed = _listed(sigma) if len(bits) >= MANY and sigma <= LISTED else None
    for start in range(0, len(bits), BLOCK):
        part, into = bits[start : start + BLOCK], out[start : start + BLOCK]
        if listed is None:
            _by_quantile(part, sigma, into, more)
            continue
        np.take(listed, (part >> np.uint64(48)).view(np.int64), out=into, mode="clip")
        open_ = np.flatnonzero(into == UNSURE)
        rest = np.empty(len(open_), dtype=np.int64)
        _by_quantile(part[open_], sigma, rest, more)
        into[open_] = rest
    return out


def _by_quantile(bits: np.ndarray, sigma: float, out: np.ndarray, more: Callable[[], int]) -> None:
    from scipy.special import ndtri

    high = bits & np.uint64(2**63 - 1)
    half = high.astype(np.float64)
    half += 0.5
    half *= 2.0**-64
    far = -ndtri(half) * sigma  # |g| for V = (high + 1/2) / 2**63
    size = np.rint(far)
    out[:] = size
    near = np.abs(far - size) > 0.5 - (sigma + 1) * NEAR
    for at in np.flatnonzero(near | (high < DEEP)):
        out[at] = size_of((int(high[at]) << MORE) | more(), sigma, int(size[at]))
    np.negative(out, out=out, where=bits > np.uint64(2**63 - 1))


@lru_cache(maxsize=4)
def _listed(sigma: float) -> np.ndarray:
    """The draw that the first sixteen bits tell, int64 (2 * PARTS,); UNSURE where it takes more of them."""
    from scipy.special import ndtri

    ends = -ndtri(np.arange(PARTS + 1) / (2.0 * PARTS)) * sigma  # falling; the first is infinite
    most, least = np.rint(ends[:-1] + (sigma + 1) * NEAR), np.rint(ends[1:] - (sigma + 1) * NEAR)
    size = np.where(most == np.maximum(least, 0), most, nan)
    both = np.concatenate([size, -size])
    return np.where(np.isnan(both), UNSURE, np.nan_to_num(both)).astype(np.int64)


def size_of(whole: int, sigma: float, guess: int) -> int:
    """The size that V = whole / 2**(63 + MORE) stands for, sought from ``guess`` on.

    Privacy: public only.
    """
    size = _nearer(whole, sigma, guess) if sigma > QUICK else guess
    while whole < beyond(size, sigma):
        size += 1
    while size > 0 and whole >= beyond(size - 1, sigma):
        size -= 1
    return size


def _nearer(whole: int, sigma: float, guess: int) -> int:
    """By Newton's method a size at most a few off, from ``guess``, which may be many off where sigma is large."""
    size = guess
    for _ in range(NEWTON):
        at = (size + 0.5) / sigma
        density = sqrt(2 / pi) / sigma * exp(-at * at / 2)
        step = int((beyond(size, sigma) - whole) / 2.0 ** (63 + MORE) / density)
        if abs(step) <= 1:
            break
        size = max(size + step, 0)
    return size


def beyond(size: int, sigma: float) -> int:
    """P(|g| > (size + 1/2) / sigma) in units of 2**-(63 + MORE), rounded down; its series to 90 digits and more.

    Privacy: public only.

    >>> round(beyond(0, 0.5) / 2**(63 + MORE), 4)
    0.3173
    """
    at = Fraction(2 * size + 1, 2) / Fraction(sigma)
    if at > EMPTY:
        return 0
    with localcontext(Context(prec=DIGITS)):
        x = Decimal(at.numerator) / Decimal(at.denominator)
        square, term, total, n = x * x, x, Decimal(0), 1
        while term > Decimal(10) ** -DIGITS * total:  # erf's series of positive terms: x**n / (1 * 3 * ... * n)
            total += term
            n += 2
            term = term * square / n
        inside = (2 / PI).sqrt() * (-square / 2).exp() * total
        return max(int((1 - inside) * 2 ** (63 + MORE)), 0)
