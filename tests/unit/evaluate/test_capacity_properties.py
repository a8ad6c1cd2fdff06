"""What holds of restricted divergences, letter by letter as the proof note beside the code has it (properties.md).

On laws on a few points, where suprema are solved exactly: no test of chance. Each statement stands beside what breaks
it where one of its conditions is left out.
"""

from itertools import product

import numpy as np
import pytest
from scipy import optimize

from synth.capacity.closed_form import laplace_linear_renyi, laplace_renyi, linear, of_strategy, unrestricted
from tests.unit.evaluate.capacity_bounds import (
    advantage_at_most,
    bounded_linear_renyi_of,
    gap_at_most,
    gaussian_linear_kl,
    polynomial_renyi,
    published_linear_renyi,
    published_linear_renyi_of,
    published_matrix_renyi,
    restricted_alpha,
    restricted_kl,
    restricted_renyi,
    restricted_tv,
)

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


def assert_a_second_release_adds_up(seen):
    """E: a coin whose chance is linear in the first release, and differs between the tables as well."""
    (p, q), x = laws(6, 2), RNG.normal(size=(6, 2))
    up = 0.2 + 0.5 * (x[:, 0] - x[:, 0].min()) / np.ptp(x[:, 0])
    one, other = np.column_stack([0.9 - up, 0.1 + up]), np.column_stack([1 - up, up])
    y = np.array([[0.0], [1.0]])
    most, both = max(map(seen, one, other, [y] * 6)), seen(drawn(p, one), drawn(q, other), joined(x, y))
    assert seen(p, q, x) - NEAR <= both <= seen(p, q, x) + most + NEAR


@pytest.mark.parametrize("trial", range(3))
@pytest.mark.parametrize("seen", SEEN)
def test_e_a_second_release_made_from_the_first_adds_up_where_its_mean_stays_in_the_class(seen, trial):  # noqa: ARG001
    assert_a_second_release_adds_up(seen)


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
        reported = of_strategy(np.array([[3.0, 0.0], [4.0, 0.0]]), "laplace", 5 / epsilon, 2.0)
        assert reported["linear"] == pytest.approx(np.log(1 + epsilon**2 / 2))
        assert reported["unrestricted"] == pytest.approx(sum(laplace_renyi(s * epsilon / 5, 2.0) for s in (3, 4)))
    assert reported["linear"] < 9 < 100 < reported["unrestricted"]


def test_h_advantage_is_bounded_by_the_restricted_divergence():
    """The integral probability metric of a linear class within [-1, 1] (Definition 4), as Pinsker's: a coin that is
    nearly fair reaches it, and without multiples in the class it says nothing."""
    for _ in range(20):
        (p, q), x = laws(8, 2), RNG.normal(size=(8, 3))
        h = x @ RNG.normal(size=3)
        metric = 2 * restricted_tv(p, q, x)
        assert metric == pytest.approx(2 * restricted_tv(q, p, x)), "Lemma 6: either sign gives the same"
        assert abs((p - q) @ h) / np.abs(h).max() <= metric + 1e-9
        one = 2 * abs((p - q) @ x[:, 0]) / np.ptp(x[:, 0])  # of a x + b: the line that spans [-1, 1]
        assert 2 * restricted_tv(p, q, x[:, :1]) == pytest.approx(one)
        assert metric <= np.sqrt(2 * restricted_kl(p, q, x)) + 1e-6
        assert 2 * restricted_tv(p, q, np.eye(8)) == pytest.approx(np.abs(p - q).sum()), "all functions"
        assert np.abs(p - q).sum() <= np.sqrt(2 * p @ np.log(p / q)), "Pinsker, as the lecture has it"
    p, q, h = np.array([0.51, 0.49]), np.array([0.49, 0.51]), np.array([1.0, -1.0])
    assert (p - q) @ h == pytest.approx(np.sqrt(2 * restricted_kl(p, q, h[:, None])), rel=1e-3)
    assert p @ h - np.log(q @ np.exp(h)) < 0 < (p - q) @ h


def conjugate(f):
    """f* of the text's three divergences, for h (points,)."""
    if f == "kl":
        return lambda h: np.exp(h - 1)
    if f == "tv":
        return lambda h: np.where(np.abs(h) <= 0.5 + 1e-12, h, np.inf)
    a = float(f)
    return lambda h: (a - 1) ** (a / (a - 1)) / a * np.abs(h) ** (a / (a - 1)) + 1 / (a**2 - a)


def seen_by(p, q, some, f):
    """sup of E_P h - E_Q f*(h) over a finite class, each with its best constant where the class has them."""
    return max(float(p @ h - q @ conjugate(f)(h)) for h in some)


DIVERGENCES = ["kl", "tv", "2", "3.5"]
SOLVED = {
    "kl": restricted_kl,
    "tv": restricted_tv,
    "2": lambda p, q, x: restricted_alpha(p, q, x, 2.0),
    "3.5": lambda p, q, x: restricted_alpha(p, q, x, 3.5),
}
EXACT = {
    "kl": lambda t: t * np.log(t),
    "tv": lambda t: np.abs(t - 1) / 2,
    "2": lambda t: (t**2 - 1) / 2,
    "3.5": lambda t: (t**3.5 - 1) / (3.5**2 - 3.5),
}


@pytest.mark.parametrize("f", DIVERGENCES)
def test_definitions_2_and_3_all_functions_see_the_divergence_itself(f):
    p, q = laws(5, 2)
    assert SOLVED[f](p, q, np.eye(5)) == pytest.approx(float(q @ EXACT[f](p / q)), abs=1e-4)
    some = [RNG.uniform(-0.5, 0.5, 5) for _ in range(200)]
    assert seen_by(p, q, some, f) <= SOLVED[f](p, q, np.eye(5)) + NEAR
    p, q, x = (
        np.array([0.3, 0.1, 0.2, 0.1, 0.3]),
        np.array([0.1, 0.3, 0.2, 0.2, 0.2]),
        np.array([-1.0, -0.5, 0, 0.5, 1]),
    )
    lines = [a * x + b for a in np.linspace(-1, 1, 101) for b in np.linspace(-0.5, 1.5, 201)]  # H, one by one
    seen = SOLVED[f](p, q, x[:, None])
    assert 0.97 * seen < seen_by(p, q, lines, f) <= seen + NEAR
    assert seen < 0.9 * SOLVED[f](p, q, np.eye(5)), "H sees less"


@pytest.mark.parametrize("f", DIVERGENCES)
def test_theorem_1_any_classes_that_follow_a_map_see_no_more(f):
    """A map of six points to three, and any finite class of functions there: each stands for one before the map."""
    p, q = laws(6, 2)
    g = np.array([0, 1, 2, 2, 1, 0])
    after = [RNG.uniform(-0.5, 0.5, 3) for _ in range(40)]
    before = [i[g] for i in after] + [RNG.uniform(-0.5, 0.5, 6)]
    shown = [np.bincount(g, law) for law in (p, q)]
    assert seen_by(*shown, after, f) <= seen_by(p, q, before, f) + 1e-12
    if f not in ("kl", "tv"):  # and by Renyi's of that order
        seen = restricted_renyi(p, q, np.column_stack([after[0][g], before[-1]]), float(f))
        assert restricted_renyi(*shown, after[0][:, None], float(f)) <= seen + NEAR


@pytest.mark.parametrize("f", DIVERGENCES)
def test_theorem_2_a_coin_between_mechanisms_shows_no_more_than_the_worse(f):
    (p, q, r, s), x = laws(7, 4), RNG.normal(size=(7, 2))
    one, other = SOLVED[f](p, q, x), SOLVED[f](r, s, x)
    for t in (0.2, 0.5, 0.9):
        mixed = SOLVED[f](t * p + (1 - t) * r, t * q + (1 - t) * s, x)
        assert mixed <= t * one + (1 - t) * other + 1e-4 <= max(one, other) + 2e-4
    some = [RNG.uniform(-0.5, 0.5, 7) for _ in range(5)]  # any class
    mixed = seen_by(0.3 * p + 0.7 * r, 0.3 * q + 0.7 * s, some, f)
    assert mixed <= max(seen_by(p, q, some, f), seen_by(r, s, some, f)) + 1e-12
    if f in ("kl", "tv"):
        return
    order = float(f)  # Renyi's grows with it: the worse bounds the coin, also where their mean does not (B's example)
    for p, q, r, s in (laws(7, 4) for _ in range(5)):
        worse = max(restricted_renyi(p, q, x, order), restricted_renyi(r, s, x, order))
        assert restricted_renyi((p + r) / 2, (q + s) / 2, x, order) <= worse + 1e-4
    p, r, s, side = np.array([1e-3, 0.999]), np.array([0.999, 1e-3]), np.array([0.01, 0.99]), np.eye(2)[:, :1]
    worse = restricted_renyi(r, s, side, order)  # of p and p nothing: the mean is half of it
    assert worse / 2 < restricted_renyi((p + r) / 2, (p + s) / 2, side, order) <= worse


def ball(p, q, f, *parts):
    """D_f over h1 + h2 + c, each of norm at most 1/2 in its features: convex and translation-invariant."""

    def h(w):
        return w[0] + sum(f @ v for f, v in zip(parts, np.split(w[1:], ends), strict=True))

    sizes = [f.shape[1] for f in parts]
    ends = np.cumsum(sizes)[:-1]
    star = conjugate(f)
    bounds = [
        {"type": "ineq", "fun": lambda w, i=i: 0.25 - np.sum(np.split(w[1:], ends)[i] ** 2)} for i in range(len(parts))
    ]
    start = np.concatenate([[1.0 if f == "kl" else 1 / (float(f) - 1)], np.full(sum(sizes), 1e-3)])
    solution = optimize.minimize(
        lambda w: float(q @ star(h(w)) - p @ h(w)),
        start,
        constraints=bounds,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return -float(solution.fun)


@pytest.mark.parametrize(("f", "a"), [("kl", 0.0), ("2", 2.0), ("3", 6.0)])
def test_theorems_3_and_4_for_convex_classes_that_are_no_linear_spaces(f, a):
    """KL divergences add, and so do Renyi's, log(1 + a D) / (order - 1), a = order^2 - order; for linear spaces that
    hold their means, also where the first release makes the second."""
    (p, q), (r, s) = laws(4, 2), laws(4, 2)
    x, y = RNG.normal(size=(4, 2)), RNG.normal(size=(4, 1))
    one, other = ball(p, q, f, x), ball(r, s, f, y)
    wide = np.repeat(x, 4, axis=0), np.tile(y, (4, 1))
    alone = ball(np.outer(p, r).ravel(), np.outer(q, r).ravel(), f, *wide)
    assert alone == pytest.approx(one, abs=1e-4)  # the second part's laws are the same
    alone = ball(np.outer(p, r).ravel(), np.outer(p, s).ravel(), f, *wide)
    assert alone == pytest.approx(other, abs=1e-4)  # and the first's
    both = ball(np.outer(p, r).ravel(), np.outer(q, s).ravel(), f, *wide)
    assert both <= one + other + a * one * other + 1e-4
    assert both >= max(one, other) - 1e-4
    assert_a_second_release_adds_up(restricted_kl if f == "kl" else lambda p, q, x: restricted_renyi(p, q, x, float(f)))


def test_theorem_4_needs_a_constant_that_adds_nothing():
    """Without one a part may see less than nothing, and the other part's leak would be lost in the sum."""
    h = np.array([1.0, -1.0])
    p, q = np.array([0.51, 0.49]), np.array([0.49, 0.51])
    assert p @ h - np.log(q @ np.exp(h)) < 0 < restricted_kl(p, q, h[:, None])


def test_theorems_5_and_13_as_published_are_passed_at_small_epsilon():
    assert published_matrix_renyi(1, 0.2, 4.0) == pytest.approx(published_linear_renyi_of("laplace", 5.0, [1.0], 4.0))
    ours, seen = of_strategy(np.eye(1), "laplace", 5.0, 4.0)["linear"], polynomial_renyi("laplace", 5.0, 4.0, 1)
    assert published_matrix_renyi(1, 0.2, 4.0) < 0.0043 < 0.033 < ours == pytest.approx(seen, rel=2e-3)
    assert published_matrix_renyi(3, 0.2, 4.0) == pytest.approx(np.log(1 + 2 ** (3 * 3) * 0.2**4) / 3)
    worst = of_strategy(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]), "laplace", 5.0, 4.0)["linear"]
    assert worst == pytest.approx(2 * seen, rel=2e-3), "of the worst count the sum over its answers"
    for noise in ("laplace", "gaussian"):  # at order 2 its length, whatever the noise
        two = of_strategy(np.array([[0.6], [0.8]]), noise, 5.0, 2.0)["linear"]
        assert two == pytest.approx(polynomial_renyi(noise, 5.0, 2.0, 1), rel=2e-3)
    assert published_linear_renyi_of("gaussian", 5.0, [1.0], 4.0) < polynomial_renyi("gaussian", 5.0, 4.0, 1)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_theorem_13_with_its_lost_factor_holds(noise, scale):
    for order in (2.5, 4.0, 8.0):
        assert bounded_linear_renyi_of(noise, scale, [1.0], order) >= polynomial_renyi(noise, scale, order, 1) - 1e-6
    moves = [0.7, 0.4]
    two = bounded_linear_renyi_of(noise, scale, moves, 2.0)
    assert two >= of_strategy(np.array([moves]).T, noise, scale, 2.0)["linear"]
    for order in (2.5, 4.0, 8.0):  # Corollary 2's; Gaussian noise looks alike from all sides, else at most the sum
        of = [np.hypot(*moves)] if noise == "gaussian" else moves
        seen = sum(polynomial_renyi(noise, scale / m, order, 1) for m in of)
        assert bounded_linear_renyi_of(noise, scale, moves, order) >= seen
        points = np.linspace(0, 60 * scale, 20_001)
        law = np.exp(-points / scale if noise == "laplace" else -((points / scale) ** 2) / 2)
        moment = law @ points ** (order / (order - 1)) / (law.sum() - 0.5)  # K
        stated = np.log(1 + sum(m**order for m in moves) / moment ** (order - 1)) / (order - 1)
        assert bounded_linear_renyi_of(noise, scale, moves, order) == pytest.approx(2 * np.log(2) + stated, rel=1e-3)
    for printed in (published_linear_renyi_of(noise, 50.0, some, 4.0) for some in ([0.7], moves)):
        assert printed < polynomial_renyi(noise, 50.0 / 0.7, 4.0, 1), "as printed no bound"


def test_theorem_10_the_first_variance_does_not_matter():
    points = np.linspace(-30, 31, 4001)
    q = np.exp(-((points - 0.4) ** 2) / (2 * 1.5**2))
    for deviation in (0.5, 1.0, 3.0):
        p = np.exp(-((points - 1.0) ** 2) / (2 * deviation**2))
        ours = restricted_kl(p / p.sum(), q / q.sum(), points[:, None])
        assert ours == pytest.approx(gaussian_linear_kl(0.6, of_second=1.5), rel=1e-4)


@pytest.mark.parametrize("f", ["kl", "2", "3.5"])
def test_lemmas_1_3_and_5_the_best_constant_and_the_best_multiple_are_the_closed_forms(f):
    """The supremum with f* itself, over slopes and constant at once; and Lemma 5's greatest value of a - X a^b."""
    rng = np.random.default_rng(9)
    p, q, wide = *rng.dirichlet(np.full(6, 3.0), 2), np.column_stack([np.ones(6), rng.normal(size=(6, 2))])
    found = optimize.minimize(lambda w: float(q @ conjugate(f)(wide @ w) - p @ (wide @ w)), [1.0, 0.0, 0.0], tol=1e-10)
    assert SOLVED[f](p, q, wide[:, 1:]) == pytest.approx(-found.fun, abs=1e-6)
    if f == "kl":  # as printed, without the -1, it is 1 less
        printed = optimize.minimize(lambda w: float(q @ np.exp(wide @ w) - p @ (wide @ w)), np.zeros(3), tol=1e-10)
        assert -printed.fun == pytest.approx(-found.fun - 1, abs=1e-6)
    else:
        a, x = float(f), 0.7
        top = optimize.minimize_scalar(lambda m: x * m ** (a / (a - 1)) - m, bounds=(0, 50), method="bounded")
        assert -top.fun == pytest.approx((a - 1) ** (a - 1) / (a**a * x ** (a - 1)))
        points = np.linspace(-30, 31, 4001)
        p, q = (w / w.sum() for w in (np.exp(-np.abs(points - 1)), np.exp(-np.abs(points))))
        lines = np.column_stack([np.ones(4001), points])  # multiples and all, of Laplace noise of scale 1
        found = optimize.minimize(lambda w: float(q @ conjugate(f)(lines @ w) - p @ (lines @ w)), [1.0, 0.1], tol=1e-10)
        printed = np.log1p((a**2 - a) * -found.fun) / (a - 1)
        assert laplace_linear_renyi(1.0, a) == pytest.approx(printed, rel=1e-3)


def test_lemma_2_without_noise_there_is_no_bound():
    seen = [by_renyi(np.array([1 - t, t]), np.array([t, 1 - t]), np.array([[0.0], [1.0]])) for t in (1e-2, 1e-4, 1e-6)]
    assert seen == sorted(seen)
    assert seen[-1] > 10
    p, q, line = np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.array([0.0, 1.0])  # two points: h = t (x - q)
    for f in ("2", "3.5"):
        assert all(seen_by(p, q, [t * line], f) > t - 1 for t in (1.0, 1e3, 1e9))


def mechanism(samples, queries, strength):
    """A choice of a query with odds exp(strength * its mean on the sample), by sample (samples, queries)."""
    means = np.array([[np.mean([q[x] for x in s]) for q in queries] for s in samples])
    odds = np.exp(strength * means)
    return odds / odds.sum(1, keepdims=True)


@pytest.mark.parametrize("strength", [0.5, 3.0, 30.0])
def test_theorem_6_a_query_chosen_on_a_sample_strays_no_farther_than_the_divergence_says(strength):
    """All samples of three rows of four kinds, and six queries: gap and divergence are exact sums."""
    law, kinds, size = np.array([0.4, 0.3, 0.2, 0.1]), 4, 3
    queries = RNG.random((6, kinds))
    samples = list(product(range(kinds), repeat=size))
    chosen = mechanism(samples, queries, strength)
    weight = np.array([np.prod(law[list(s)]) for s in samples])
    on_sample = np.array([[np.mean(q[list(s)]) for q in queries] for s in samples])
    gap = float(weight @ ((on_sample - queries @ law) * chosen).sum(1))
    at = {s: i for i, s in enumerate(samples)}
    pairs = {(at[s], at[(*s[:i], x, *s[i + 1 :])]) for s in samples for i in range(size) for x in range(kinds)}
    most = max(restricted_kl(chosen[i], chosen[j], queries) for i, j in pairs if i != j)
    assert abs(gap) <= gap_at_most(most) + 1e-9 <= gap_at_most(most, multiples=False) + 1e-9
    assert gap_at_most(most, multiples=False) <= max(8 * np.sqrt(most), 0) + 1e-9
    assert gap_at_most(0.08) == pytest.approx(np.sqrt(0.08 / 2))
    if strength == 3.0:
        assert abs(gap) > 0.1 * gap_at_most(most)  # and not by much less
    hears = np.eye(2)  # "any class": {h_x} alone, of samples of one row of two kinds; two queries that each know one
    chosen = np.array([[0.55, 0.45], [0.45, 0.55]])  # the query's law by the sample
    gap = float(np.mean([chosen[x] @ hears[x] - chosen[x] @ hears.mean(0) for x in (0, 1)]))
    assert all(seen_by(p, q, hears, "kl") < -0.1 for p, q in product(chosen, repeat=2)), "below 0 on any two samples"
    assert 0.049 < gap <= gap_at_most(restricted_kl(*chosen, hears)), "with constants and multiples above the gap"


def test_theorem_7_with_multiples_up_to_one():
    worst = 0.0
    for _ in range(300):
        p, q = (RNG.dirichlet(np.full(5, 0.5)) + 1e-9 for _ in range(2))
        h = RNG.uniform(-1, 1, 5)
        h = h if (p - q) @ h > 0 else -h
        t = np.linspace(0, 1, 401)[:, None]
        seen = float((t[:, 0] * (p @ h) - np.log(np.exp(t * h) @ (q / q.sum()))).max())
        worst = max(worst, ((p - q) @ h) / max(advantage_at_most(seen, multiples=False), 1e-9))
        assert np.abs(h + 3).max() > 1, "all translations of any h: no class within [-1, 1]"
    assert 0.5 < worst <= 1 + 1e-6
    assert advantage_at_most(0.06, multiples=False) == pytest.approx(np.sqrt(8 * 0.06 / 3))


def test_figures_1_and_2_which_curves_fall():
    """Before order 20, and the Gaussian cubic after order 24; a larger degree sees more, and none all there is; where
    the printed bound on linear ones begins to say something."""
    for noise, from_order in (("laplace", 3.31), ("gaussian", 2.27)):
        for order in (1.5, 2.0, 3.0, 5.0, 10.0, 20.0):
            curves = [polynomial_renyi(noise, 1.0, order, degree) for degree in (1, 2, 3)]
            assert curves == sorted(curves)
            assert curves[-1] < unrestricted(noise, 1.0, order)
            assert curves[0] == pytest.approx(linear(noise, 1.0, order), rel=5e-3)
            assert (published_linear_renyi(noise, 1.0, order) < unrestricted(noise, 1.0, order)) == (order > from_order)
    falls = {
        (noise, degree): polynomial_renyi(noise, 1.0, 20.0, degree) < polynomial_renyi(noise, 1.0, 12.0, degree)
        for noise in ("laplace", "gaussian")
        for degree in (1, 2, 3)
    }
    assert [k for k, v in falls.items() if v] == [("laplace", 1), ("gaussian", 1), ("gaussian", 2)]
    top, later, last = (polynomial_renyi("gaussian", 1.0, order, 3) for order in (24.0, 50.0, 200.0))
    assert polynomial_renyi("gaussian", 1.0, 22.0, 3) < top > polynomial_renyi("gaussian", 1.0, 26.0, 3) > later > last
    for degree in (2, 3):
        assert polynomial_renyi("laplace", 1.0, 50.0, degree) < polynomial_renyi("laplace", 1.0, 200.0, degree)
