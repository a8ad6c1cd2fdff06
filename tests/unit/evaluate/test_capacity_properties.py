"""What holds of restricted divergences, letter by letter as the proof note beside the code has it (properties.md).

On laws on a few points, where suprema are solved exactly: no test of chance. Each statement stands beside what breaks
it where one of its conditions is left out.
"""

import numpy as np
import pytest

from synth.evaluate.audit.bounded_attackers import laplace_renyi, matrix_renyi, restricted_kl, restricted_renyi

RNG = np.random.default_rng(0)
NEAR = 1e-5  # of the solver
WIDE, NARROW = np.array([0.4, 0.2, 0.4]), np.array([0.2, 0.6, 0.2])  # two laws of one mean
POINTS = np.array([[-1.0], [0.0], [1.0]])


def by_renyi(p, q, features):
    return restricted_renyi(p, q, features, 2.0)


SEEN = [restricted_kl, by_renyi]


def laws(points: int, count: int) -> list[np.ndarray]:
    """Random probability vectors."""
    return [(w := RNG.random(points) + 0.1) / w.sum() for _ in range(count)]


def joined(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Features of pairs of outcomes: sums of a function of each."""
    return np.hstack([np.repeat(x, len(y), axis=0), np.tile(y, (len(x), 1))])


def drawn(first: np.ndarray, then: np.ndarray) -> np.ndarray:
    """The law of pairs: the first outcome's law (points,), the second one's for each (points, outcomes)."""
    return (first[:, None] * then).ravel()


def test_a_larger_classes_see_more_up_to_everything():
    p, q = laws(8, 2)
    x = np.linspace(-1, 1, 8)
    seen = [restricted_kl(p, q, np.vander(x, d + 1)[:, :-1]) for d in (1, 2, 3, 7)]
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(float(p @ np.log(p / q)), abs=1e-4)


@pytest.mark.parametrize("trial", range(3))
def test_b_kl_is_convex_in_both_laws(trial):
    (p, q, r, s), x = laws(9, 4), RNG.normal(size=(9, 2))
    t = (trial + 1) / 4
    mixed = restricted_kl(t * p + (1 - t) * r, t * q + (1 - t) * s, x)
    assert mixed <= t * restricted_kl(p, q, x) + (1 - t) * restricted_kl(r, s, x) + NEAR


def test_b_renyi_is_not_convex():
    tiny = 1e-3
    p = q = np.array([tiny, 1 - tiny])
    r, s = np.array([1 - tiny, tiny]), np.array([0.01, 0.99])
    mixed = restricted_renyi((p + r) / 2, (q + s) / 2, np.eye(2)[:, :1], 3.0)
    assert mixed > 1.3 * restricted_renyi(r, s, np.eye(2)[:, :1], 3.0) / 2


@pytest.mark.parametrize("seen", SEEN)
def test_c_post_processing_that_the_class_follows_shows_no_more(seen):
    """A linear map; and a random one, whose means are linear."""
    p, q = laws(9, 2)
    x = RNG.normal(size=(9, 3))
    assert seen(p, q, x @ RNG.normal(size=(3, 2))) <= seen(p, q, x) + NEAR
    up = (x[:, 0] - x[:, 0].min()) / np.ptp(x[:, 0])
    coin = np.column_stack([1 - up, up])  # heads with a probability that is linear in x
    assert seen(p @ coin, q @ coin, np.array([[0.0], [1.0]])) <= seen(p, q, x[:, :1]) + NEAR


def test_c_post_processing_beyond_the_class_shows_more():
    assert restricted_kl(WIDE, NARROW, POINTS) < NEAR
    assert restricted_kl(WIDE, NARROW, POINTS**2) > 0.1


@pytest.mark.parametrize("trial", range(3))
def test_d_independent_releases_add_up(trial):  # noqa: ARG001
    """By KL exactly, by Renyi at most."""
    (p, q), (r, s) = laws(5, 2), laws(6, 2)
    x, y = RNG.normal(size=(5, 1)), RNG.normal(size=(6, 2))
    both = np.outer(p, r).ravel(), np.outer(q, s).ravel(), joined(x, y)
    assert restricted_kl(*both) == pytest.approx(restricted_kl(p, q, x) + restricted_kl(r, s, y), abs=NEAR)
    for order in (2.0, 3.0):
        parts = restricted_renyi(p, q, x, order), restricted_renyi(r, s, y, order)
        assert max(parts) - NEAR <= restricted_renyi(*both, order) <= sum(parts) + NEAR


@pytest.mark.parametrize("trial", range(3))
@pytest.mark.parametrize("seen", SEEN)
def test_e_a_second_release_made_from_the_first_adds_up_where_its_mean_stays_in_the_class(seen, trial):  # noqa: ARG001
    """A coin whose chance is linear in the first release, and differs between the tables as well."""
    (p, q), x = laws(6, 2), RNG.normal(size=(6, 2))
    up = 0.2 + 0.5 * (x[:, 0] - x[:, 0].min()) / np.ptp(x[:, 0])
    one, other = np.column_stack([0.9 - up, 0.1 + up]), np.column_stack([1 - up, up])
    y = np.array([[0.0], [1.0]])
    most = max(seen(a, b, y) for a, b in zip(one, other, strict=True))
    assert seen(drawn(p, one), drawn(q, other), joined(x, y)) <= seen(p, q, x) + most + NEAR


@pytest.mark.parametrize("seen", SEEN)
def test_f_releases_of_disjoint_parts_leak_the_largest_alone(seen):
    """A row is in one part: the other's release has one law, or is made from the first as E allows."""
    (p, q), (r,) = laws(5, 2), laws(6, 1)
    x, y = RNG.normal(size=(5, 1)), RNG.normal(size=(6, 2))
    assert seen(np.outer(p, r).ravel(), np.outer(q, r).ravel(), joined(x, y)) == pytest.approx(seen(p, q, x), abs=NEAR)
    up = 0.1 + 0.8 * (x[:, 0] - x.min()) / np.ptp(x)
    coin, sides = np.column_stack([1 - up, up]), np.array([[0.0], [1.0]])
    assert seen(drawn(p, coin), drawn(q, coin), joined(x, sides)) <= seen(p, q, x) + NEAR


def test_f_a_second_part_may_hand_out_what_the_class_could_not_compute():
    """A coin whose chance is the first release's square: it leaks nothing alone, and the first's leak grows."""
    coin, sides = np.column_stack([1 - 0.9 * POINTS**2, 0.9 * POINTS**2]), np.array([[0.0], [1.0]])
    assert restricted_kl(WIDE, NARROW, POINTS) < NEAR
    assert restricted_kl(drawn(WIDE, coin), drawn(NARROW, coin), joined(POINTS, sides)) > 0.1


def test_g_linear_attackers_see_a_logarithm():
    """Of Laplace noise at order 2, and of several numbers by their length."""
    for epsilon in (1.0, 10.0, 100.0):
        reported = matrix_renyi(np.array([[3.0, 0.0], [4.0, 0.0]]), "laplace", 5 / epsilon, 2.0)
        assert reported["linear"] == pytest.approx(np.log(1 + epsilon**2 / 2))
        assert reported["unrestricted"] == pytest.approx(sum(laplace_renyi(s * epsilon / 5, 2.0) for s in (3, 4)))
    assert reported["linear"] < 9 < 100 < reported["unrestricted"]


def test_h_advantage_is_bounded_by_the_restricted_divergence():
    """As Pinsker's; a coin that is nearly fair reaches it, and without multiples in the class it says nothing."""
    for _ in range(20):
        (p, q), x = laws(8, 2), RNG.normal(size=(8, 3))
        h = x @ RNG.normal(size=3)
        assert abs((p - q) @ h) / np.abs(h).max() <= np.sqrt(2 * restricted_kl(p, q, x)) + 1e-6
    p, q, h = np.array([0.51, 0.49]), np.array([0.49, 0.51]), np.array([1.0, -1.0])
    assert (p - q) @ h == pytest.approx(np.sqrt(2 * restricted_kl(p, q, h[:, None])), rel=1e-3)
    assert p @ h - np.log(q @ np.exp(h)) < 0 < (p - q) @ h
