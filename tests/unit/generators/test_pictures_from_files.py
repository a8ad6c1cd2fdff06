"""Pictures in MNIST's files run the published network from end to end, and are read as they were written."""

import gzip

import numpy as np
import pytest

from tests.benchmark_modules import benchmark

ROWS, POINTS = 200, 20


def write(folder, part, pixels, labels):
    """The two files of a part, one of them packed: a magic number, sizes, then bytes."""
    for name, values in ((f"{part}-images-idx3-ubyte", pixels), (f"{part}-labels-idx1-ubyte", labels)):
        head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">i4").tobytes()
        raw = head + values.astype(np.uint8).tobytes()
        if values.ndim == 1:
            (folder / name).write_bytes(raw)
        else:
            (folder / f"{name}.gz").write_bytes(gzip.compress(raw))


@pytest.mark.slow
def test_a_folder_of_its_files_trains_the_published_network(tmp_path):
    """Handwritten digits of 8 x 8, three times as large in a frame of 28 x 28, two steps of either variant."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    big = np.kron(pixels.reshape(-1, 8, 8), np.ones((3, 3)))
    big = np.pad(np.minimum(big * 16, 255), ((0, 0), (2, 2), (2, 2)))
    write(tmp_path, "train", big[:ROWS], labels[:ROWS])
    write(tmp_path, "t10k", big[ROWS : 2 * ROWS], labels[ROWS : 2 * ROWS])
    mnist = benchmark("mnist")
    read, known = mnist.pictures(tmp_path, "train")
    assert read.shape == (ROWS, 32 * 32)
    assert np.array_equal(known, labels[:ROWS])
    assert np.array_equal(read.reshape(-1, 32, 32)[:, 2:30, 2:30], big[:ROWS].astype(np.uint8) // 16)
    for variant in ("conditional", "parallel"):
        cell = {"variant": variant, "epsilon": 1.0, "steps": 2, "points": POINTS, "seed": 0}
        result = mnist.trained(tmp_path, cell)
        assert 0.99 < result["epsilon_spent"] <= 1.0
        assert 0.0 <= result["accuracy"] <= 1.0
