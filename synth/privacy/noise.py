"""The only place where privacy noise is drawn.

Noise comes from AES-128 in counter mode, keyed by the operating system, never from a seed. A process that
forks draws a new key before its next number, so no two workers share a stream.
"""

import os
import secrets
from bisect import bisect_right
from itertools import accumulate

import numpy as np
from randomgen import AESCounter


class SystemNoise:
    """Secret random numbers from the operating system through a cipher."""

    name = "aes128-ctr keyed by the operating system"
    exportable = True

    def __init__(self) -> None:
        self._pid = -1

    def _generator(self) -> np.random.Generator:
        if self._pid != os.getpid():
            self._rng = np.random.Generator(AESCounter(key=secrets.randbits(128)))
            self._pid = os.getpid()
        return self._rng

    def gaussian_counts(self, shape: tuple[int, ...], *, sigma: float) -> np.ndarray:
        """Independent Gaussians of standard deviation ``sigma``, rounded to whole numbers, int64 (shape)."""
        return np.rint(self._generator().standard_normal(shape) * sigma).astype(np.int64)

    def choice(self, weights: np.ndarray) -> int:
        """An index, drawn with odds that are exactly these floats' (n,), all of them positive and normal.

        Floats are whole multiples of a power of two: their sums are exact in whole numbers of any size, and a uniform
        whole number below the sum falls into each weight's part as often as the part is long.
        """
        parts = [int(m) for m in np.ldexp(np.frexp(weights)[0], 53)]
        steps = np.frexp(weights)[1].tolist()
        least = min(steps)
        ends = list(accumulate(p << (s - least) for p, s in zip(parts, steps, strict=True)))
        return bisect_right(ends, self._below(ends[-1]))

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


class SeededNoise(SystemNoise):
    """Repeatable noise for tests. It protects nothing: the ledger marks it and export refuses it."""

    name = "SEEDED, for tests only"
    exportable = False

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng = np.random.default_rng(seed)

    def _generator(self) -> np.random.Generator:
        return self._rng
