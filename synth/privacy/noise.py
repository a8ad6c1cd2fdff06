"""The only place where privacy noise is drawn.

Noise comes from AES-128 in counter mode, keyed by the operating system, never from a seed. A process that
forks draws a new key before its next number, so no two workers share a stream.
"""

import secrets
from bisect import bisect_right
from itertools import accumulate
from math import prod

import numpy as np
from randomgen import AESCounter

from synth.languages import Said
from synth.privacy import owner
from synth.privacy.rounded_gaussian import MORE, QUICK, draws

WIDEST = 2.0**58  # a deviation; sixteen of them, which no draw reaches, leave half of 63 bits to what it is added to
HALF = 26  # bits of a float's 53: sums of millions of either half are exact


class SystemNoise:
    """Secret random numbers from the operating system through a cipher.

    Privacy: reads rows, under noise: ``choice`` alone is handed what follows from rows, all else shapes and scales.
    """

    name = "aes128-ctr keyed by the operating system"
    exportable = True
    exact = True

    def __init__(self) -> None:
        self._process = (-1, -1)

    def _generator(self) -> np.random.Generator:
        if self._process != (now := owner.process()):
            self._rng = np.random.Generator(AESCounter(key=secrets.randbits(128)))
            self._process = now
        return self._rng

    def gaussian_counts(self, shape: tuple[int, ...], *, sigma: float) -> np.ndarray:
        """Independent Gaussians of standard deviation ``sigma``, rounded to whole numbers, int64 (shape).

        Up to ``QUICK`` drawn by inversion, their law as good as exact (rounded_gaussian.py); beyond, in floating point,
        at the price that ``accounting/float_slack.py`` tells.
        Errors: ArithmeticError for a sigma of which sixteen deviations are beyond 63 bits: a draw could turn its sign.
        Mechanisms refuse such noise before the spend; this is the last door.
        """
        if not sigma <= WIDEST:
            raise ArithmeticError(Said("noise of deviation {:.3g} does not fit whole numbers of 63 bits", sigma))
        if self.exact and sigma <= QUICK:
            return self._by_inversion(shape, sigma)
        return np.rint(self._generator().standard_normal(shape) * sigma).astype(np.int64)

    def exact_gaussian_counts(self, shape: tuple[int, ...], *, sigma: float) -> np.ndarray:
        """As ``gaussian_counts``, by inversion for every sigma: from 2**35 on each draw is compared to 90 digits.

        Errors: as ``gaussian_counts``.
        """
        return (
            self._by_inversion(shape, sigma)
            if self.exact and QUICK < sigma <= WIDEST
            else self.gaussian_counts(shape, sigma=sigma)
        )

    def _by_inversion(self, shape: tuple[int, ...], sigma: float) -> np.ndarray:
        bits = self._generator().integers(0, 2**64, size=prod(shape), dtype=np.uint64)
        return draws(bits, sigma, lambda: self._below(2**MORE)).reshape(shape)

    def laplace_counts(self, shape: tuple[int, ...], *, scale: float) -> np.ndarray:
        """Independent whole numbers, int64 (shape), k with odds exp(-abs(k) / scale): exactly (mechanisms/laplace.md).

        Errors: ArithmeticError for a scale of which so many are beyond 63 bits that a draw could be.
        """
        if not scale <= WIDEST / 64:
            raise ArithmeticError(Said("noise of scale {:.3g} does not fit whole numbers of 63 bits", scale))
        top, below = float(scale).as_integer_ratio()
        drawn = [self._laplace(top, below) for _ in range(prod(shape))]
        return np.array(drawn, dtype=np.int64).reshape(shape)

    def _laplace(self, top: int, below: int) -> int:
        """One of scale top / below. **Source**: Canonne, Kamath, Steinke, arXiv 2004.00010, Algorithm 2."""
        while True:
            low = self._below(top)
            if not self._happens(low, top):
                continue
            high = 0
            while self._happens(1, 1):
                high += 1
            size, negative = (low + top * high) // below, self._below(2)
            if size or not negative:
                return -size if negative else size

    def _happens(self, top: int, below: int) -> bool:
        """True with probability exp(-top / below), top at most below. **Source**: the same, Algorithm 1."""
        k = 1
        while self._below(below * k) < top:
            k += 1
        return bool(k % 2)

    def choice(self, weights: np.ndarray) -> int:
        """An index, drawn with odds that are exactly these floats' (n,), all of them positive and normal.

        Floats are whole multiples of a power of two: their sums are exact in whole numbers of any size, and a uniform
        whole number below the sum falls into each weight's part as often as the part is long. Weights of one power of
        two lie side by side, so that of hundreds of thousands only these sums are long numbers.
        """
        fractions, steps = np.frexp(weights)
        parts, steps = np.ldexp(fractions, 53).astype(np.int64), steps - steps.min()
        high, low = parts >> HALF, parts & (1 << HALF) - 1  # sums of either are exact, of floats too
        sums = zip(np.bincount(steps, high).tolist(), np.bincount(steps, low).tolist(), strict=True)
        ends = list(accumulate(((int(a) << HALF) + int(b)) << step for step, (a, b) in enumerate(sums)))
        drawn = self._below(ends[-1])
        step = bisect_right(ends, drawn)
        place = (drawn - (ends[step - 1] if step else 0)) >> step
        alike = np.flatnonzero(steps == step)
        low = np.cumsum(low[alike])
        high, low = np.cumsum(high[alike]) + (low >> HALF), low & (1 << HALF) - 1
        above, rest = place >> HALF, place & (1 << HALF) - 1
        return int(alike[np.count_nonzero((high < above) | ((high == above) & (low <= rest)))])

    def _below(self, high: int) -> int:
        """A uniform whole number in range(high), of any size."""
        bits = high.bit_length()
        while True:
            drawn = int.from_bytes(self._generator().bytes((bits + 7) // 8), "little") >> (-bits % 8)
            if drawn < high:
                return drawn

    def directions(self, shape: tuple[int, int]) -> np.ndarray:
        """Independent standard Gaussians, float64 (shape): for directions, which are told; never added to sums."""
        return self._generator().standard_normal(shape)

    def uniform_codes(self, size: int, *, high: int) -> np.ndarray:
        """Independent draws from range(high), int64 (size,)."""
        return self._generator().integers(0, high, size=size)

    def permutation(self, size: int) -> np.ndarray:
        """A uniform order of range(size), int64 (size,): records whose answers are numbered are told in it."""
        return self._generator().permutation(size)


class SeededNoise(SystemNoise):
    """Repeatable noise for tests. It protects nothing: the ledger marks it and export refuses it.

    Privacy: public only.
    """

    name = "SEEDED, for tests only"
    exportable = False
    exact = False  # numbers that tests recorded under a seed are the floating-point draws'

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng = np.random.default_rng(seed)

    def _generator(self) -> np.random.Generator:
        return self._rng
