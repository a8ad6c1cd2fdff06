"""The only place where privacy noise is drawn.

Noise comes from AES-128 in counter mode, keyed by the operating system, never from a seed. A process that
forks draws a new key before its next number, so no two workers share a stream.
"""

import os
import secrets

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
