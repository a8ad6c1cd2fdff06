"""Single columns read off a release of fewer slices than bins."""

import numpy as np
import pytest

from synth.generators.papers import slice_moments as oneway
from synth.questions import Bins, Block, Encoding, Slices, SlicesRelease

WIDE = 200
WEIGHT = np.sqrt(0.5) * (1 - 1e-9)
TRUE = [0.95 ** np.arange(WIDE) / (0.95 ** np.arange(WIDE)).sum(), np.array([0.7, 0.3])]


def released(slices, *, sigma=0.3, rows=5000, seed=0):
    """Noisy Gaussian slices of rows over a column of 200 bins, few of them frequent, and one of two bins."""
    rng = np.random.default_rng(seed)
    dim = WIDE + 2
    encoded = np.zeros((rows, dim))
    encoded[np.arange(rows), rng.choice(WIDE, rows, p=TRUE[0])] = WEIGHT
    encoded[np.arange(rows), WIDE + rng.choice(2, rows, p=TRUE[1])] = WEIGHT
    directions = rng.normal(0, 1 / np.sqrt(dim), (dim, slices))
    blocks = (Block.one_hot(Bins.each("a", WIDE), weight=WEIGHT), Block.one_hot(Bins.each("b", 2), weight=WEIGHT))
    question = Slices(
        purpose="s",
        encoding=Encoding(blocks=blocks),
        sigma=sigma,
        groups=None,
        directions="gaussian",
        num_slices=slices,
    )
    values = encoded @ directions + rng.normal(0, sigma, (rows, slices))
    return SlicesRelease(question=question, values=values, directions=directions)


def shares(release):
    rows = max(len(release.values), 1)
    return oneway._shares(release, release.values.sum(0) / rows, rows)


def apart(result, true):
    return 0.5 * np.abs(result - true).sum()


def test_shares_are_found_where_slices_are_many_and_noise_is_small():
    result = shares(released(WIDE + 2, sigma=0.01, rows=20_000))
    assert [bool(apart(f, t) < 0.1) for f, t in zip(result, TRUE, strict=True)] == [True, True]


@pytest.mark.parametrize("seed", range(3))
def test_fewer_slices_than_bins_tell_more_than_even_shares_do(seed):
    """Of 60 slices: the wide column at most 90 % as far off as even shares, the narrow one within 0.05."""
    wide, narrow = shares(released(60, seed=seed))
    assert apart(wide, TRUE[0]) < 0.9 * apart(np.full(WIDE, 1 / WIDE), TRUE[0])
    assert apart(narrow, TRUE[1]) < 0.05


def test_what_noise_hides_stays_even():
    """Under a hundred times the noise no bin is made frequent: nothing is fitted to noise alone."""
    wide, _ = shares(released(60, sigma=100.0))
    assert wide.max() < 5 / WIDE


def test_a_release_of_no_rows_says_nothing():
    for item in shares(released(60, rows=0)):
        assert item == pytest.approx(np.full(len(item), 1 / len(item)), rel=0.1)
