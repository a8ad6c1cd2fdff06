"""The generator's bits: even, independent, never met twice, and not shared by threads, forks or forks of forks.

The source is the operating system's and is never repeated. Each limit has a false alarm below 1e-7.
"""

import os
import threading

import numpy as np
import pytest
from scipy import stats

from synth.privacy import owner as module
from synth.privacy.noise import SeededNoise, SystemNoise

WORDS = 1 << 18


@pytest.fixture(scope="module")
def words() -> np.ndarray:
    return SystemNoise()._generator().integers(0, 2**64, size=WORDS, dtype=np.uint64)


def test_every_bit_is_even_and_independent_of_its_neighbours(words):
    bits = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1).astype(np.int8) * 2 - 1
    limit = 6.5 / np.sqrt(len(bits))
    assert np.abs(bits.mean(0)).max() < limit
    flat = bits.ravel()
    for lag in (1, 7, 8, 31, 32, 63, 64, 128):
        assert abs(np.mean(flat[:-lag] * flat[lag:], dtype=np.float64)) < 6 / np.sqrt(len(flat) - lag)


def test_bytes_and_runs_have_their_laws(words):
    bytes_ = words.view(np.uint8)
    assert stats.chisquare(np.bincount(bytes_, minlength=256)).pvalue > 1e-7
    pairs = bytes_[:-1:2].astype(np.int64) * 256 + bytes_[1::2]
    assert stats.chisquare(np.bincount(pairs, minlength=1 << 16)).pvalue > 1e-7
    flat = np.unpackbits(bytes_)
    changes = np.count_nonzero(flat[1:] != flat[:-1])
    assert abs(changes - (len(flat) - 1) / 2) < 6 * np.sqrt(len(flat)) / 2


def test_a_counter_is_not_taken_for_random():
    """The evil twin: consecutive numbers fail the test of bytes."""
    assert stats.chisquare(np.bincount(np.arange(WORDS).view(np.uint8), minlength=256)).pvalue < 1e-7


def test_no_word_comes_twice_in_any_stream(words):
    """2^19 words of 64 bits from two keys: two alike have a chance of 2^-27."""
    other = SystemNoise()._generator().integers(0, 2**64, size=WORDS, dtype=np.uint64)
    assert len(np.unique(np.concatenate([words, other]))) == 2 * WORDS


def test_threads_of_one_source_do_not_repeat_each_other():
    """Calls of many threads, one between another's: rows of 25 draws are all different, by either way of drawing."""
    for sigma in (1e6, 1e12):
        source, results = SystemNoise(), []

        def draw(source=source, results=results, sigma=sigma) -> None:
            results.extend(tuple(source.gaussian_counts((25,), sigma=sigma).tolist()) for _ in range(200))

        crowd = [threading.Thread(target=draw) for _ in range(8)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        assert len(set(results)) == 1600
        if sigma == 1e12:
            assert len({x for row in results for x in row}) == 40_000


def forked(deed) -> list[int]:
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reader)
        os.write(writer, repr(deed()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as reported:
        words = reported.read().decode()
    os.waitpid(child, 0)
    return eval(words)  # our own child's list of numbers


def draws(source: SystemNoise, sigma: float = 1e15) -> list[int]:
    return source.gaussian_counts((16,), sigma=sigma).tolist()


@pytest.mark.parametrize("sigma", [1e6, 1e15])
def test_forked_workers_do_not_share_a_stream(sigma):
    """Neither with each other nor with their parent, whose stream has begun."""
    source = SystemNoise()
    draws(source, sigma)
    workers = [forked(lambda: draws(source, sigma)) for _ in range(3)]
    assert len({tuple(s) for s in (*workers, draws(source, sigma))}) == 4


def test_a_forks_fork_that_bears_the_first_ones_number_shares_no_stream(monkeypatch):
    """Process numbers are given again: the number of forks tells such a process from its forebear."""
    source = SystemNoise()
    draws(source)
    mine = os.getpid()
    monkeypatch.setattr(module.os, "getpid", lambda: mine)  # as if the system had given the number again
    child = forked(lambda: draws(source))
    grandchild = forked(lambda: forked(lambda: draws(source)))
    assert len({tuple(child), tuple(grandchild), tuple(draws(source))}) == 3


def test_the_twin_that_looks_at_process_numbers_alone_would_share_it(monkeypatch):
    source = SystemNoise()
    draws(source)
    mine = os.getpid()
    monkeypatch.setattr(module.os, "getpid", lambda: mine)

    def unnoticed() -> list[int]:
        module._Forks.count = 0
        return draws(source)

    monkeypatch.setattr(module._Forks, "count", 0)
    source._process = (mine, 0)
    assert forked(unnoticed) == draws(source)


def test_numpys_global_seed_has_no_hold_on_it():
    draws = []
    for _ in range(2):
        np.random.seed(0)
        draws.append(SystemNoise().gaussian_counts((64,), sigma=1e6))
    assert not np.array_equal(*draws)


def test_seeded_noise_repeats_and_says_so():
    one, two = (SeededNoise(3).gaussian_counts((8,), sigma=9.0) for _ in range(2))
    assert np.array_equal(one, two)
    assert not SeededNoise.exportable
    assert SystemNoise.exportable
