"""Noise of the wrong kind: none, another size, or drawn by a row's own number. Exists in tests only."""

from math import sqrt

import numpy as np

from synth.privacy.noise import SystemNoise


class Silent(SystemNoise):
    """No noise at all, so that exact answers can be compared."""

    def gaussian_counts(self, shape, *, sigma):  # noqa: ARG002
        return np.zeros(shape, dtype=np.int64)

    exact_gaussian_counts = gaussian_counts

    def laplace_counts(self, shape, *, scale):  # noqa: ARG002
        return np.zeros(shape, dtype=np.int64)


class Counted(Silent):
    """Draws by a row's own number, alike for the rows that neighbouring tables share; and no noise."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def uniform_codes(self, size, *, high):
        self.calls += 1
        return np.array([np.random.default_rng([self.calls, i]).integers(0, high) for i in range(size)], dtype=np.int64)

    def directions(self, shape):
        return np.stack([np.random.default_rng([7, i]).standard_normal(shape[1:]) for i in range(shape[0])])


class Scaled(SystemNoise):
    """Noise of the wrong size."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def gaussian_counts(self, shape, *, sigma):
        return super().gaussian_counts(shape, sigma=sigma * self.factor)

    def laplace_counts(self, shape, *, scale):
        return super().laplace_counts(shape, scale=scale * self.factor)


def z_of_squares(z):
    """How far the sum of squares of standard normal numbers is from what it should be, in its deviations.

    Of 20,000 numbers |z| >= 4.9 is a false alarm once in 10^6; noise 5 % too small or too large gives |z| of 9.8 or
    more, noise 10 % off 19 or more, and is overlooked less than once in 10^6.
    """
    return (np.sum(np.square(z)) - np.size(z)) / sqrt(2 * np.size(z))
