"""Rearranged rows keep what they must and come closer to the expected pairs."""

import numpy as np

from synth.generators.core.sampling import even_out


def sample(rows=3000, seed=0):
    """Codes, component and expected pairs of three columns, independent inside two components."""
    rng = np.random.default_rng(seed)
    component = np.sort(rng.integers(0, 2, rows))
    sizes, codes, probs = (6, 5, 4), [], []
    for at, size in zip((0, 6, 11), sizes, strict=True):
        law = rng.dirichlet(np.ones(size), 2)
        codes.append(at + np.array([rng.choice(size, p=law[c]) for c in component]))
        counts = np.stack([np.bincount(codes[-1][component == c] - at, minlength=size) for c in (0, 1)])
        probs.append(counts / counts.sum(1, keepdims=True))
    joined = np.concatenate(probs, axis=1)
    weight = np.bincount(component)[:, None]
    return np.stack(codes, axis=1), component, (joined * weight).T @ joined


def gap(codes, expected):
    counts = np.zeros_like(expected)
    for i in range(3):
        for j in range(3):
            if i != j:
                np.add.at(counts, (codes[:, i], codes[:, j]), 1)
    apart = np.ones(expected.shape, dtype=bool)
    for low, high in ((0, 6), (6, 11), (11, 15)):
        apart[low:high, low:high] = False
    return np.abs(counts - expected)[apart].sum()


def test_pair_counts_come_much_closer_to_the_expected_ones():
    codes, component, expected = sample()
    before = gap(codes, expected)
    even_out(codes, component, expected, rng=np.random.default_rng(1))
    assert gap(codes, expected) < 0.4 * before


def test_every_column_keeps_its_counts_in_every_component():
    codes, component, expected = sample()
    old = codes.copy()
    even_out(codes, component, expected, rng=np.random.default_rng(1))
    assert not np.array_equal(codes, old)
    for part in (0, 1):
        for j in range(3):
            assert np.array_equal(np.sort(codes[component == part, j]), np.sort(old[component == part, j]))


def test_the_running_counts_are_those_of_the_rows():
    """A wrong update of the counts would let later sweeps undo earlier ones: more sweeps are never worse."""
    codes, component, expected = sample(seed=3)
    even_out(codes, component, expected, rng=np.random.default_rng(1))
    once = gap(codes, expected)
    even_out(codes, component, expected, rng=np.random.default_rng(2))
    assert gap(codes, expected) <= 1.1 * once


def test_nothing_happens_where_rows_are_too_few_or_groups_too_many():
    one = np.array([[0, 1]])
    even_out(one, np.zeros(1, dtype=np.int64), np.ones((2, 2)), rng=np.random.default_rng(0))
    assert one.tolist() == [[0, 1]]
