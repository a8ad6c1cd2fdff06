"""The noise source is the operating system's, is never repeated, and is not shared by forked workers."""

import multiprocessing

import numpy as np

from synth.privacy.noise import SeededNoise, SystemNoise


def test_two_sources_never_agree():
    one, two = (SystemNoise().gaussian_counts((64,), sigma=1e6) for _ in range(2))
    assert not np.array_equal(one, two)


def test_numpys_global_seed_has_no_hold_on_it():
    draws = []
    for _ in range(2):
        np.random.seed(0)
        draws.append(SystemNoise().gaussian_counts((64,), sigma=1e6))
    assert not np.array_equal(*draws)


def _draw(noise, queue):
    queue.put(noise.gaussian_counts((16,), sigma=1e6).tolist())


def test_forked_workers_do_not_share_a_stream():
    noise = SystemNoise()
    noise.gaussian_counts((1,), sigma=1.0)  # the parent's stream has begun
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    workers = [context.Process(target=_draw, args=(noise, queue)) for _ in range(3)]
    for worker in workers:
        worker.start()
    seen = [queue.get(timeout=30) for _ in workers] + [noise.gaussian_counts((16,), sigma=1e6).tolist()]
    for worker in workers:
        worker.join()
    assert len({tuple(s) for s in seen}) == 4


def test_seeded_noise_repeats_and_says_so():
    one, two = (SeededNoise(3).gaussian_counts((8,), sigma=9.0) for _ in range(2))
    assert np.array_equal(one, two)
    assert not SeededNoise.exportable
    assert SystemNoise.exportable
