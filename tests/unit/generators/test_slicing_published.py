"""The slicing text to the letter: its divergence's two statements, its form of training, its accounting."""

from dataclasses import replace
from itertools import product
from math import sqrt

import numpy as np
import pytest
import torch
from scipy import stats

from synth.errors import UsageError
from synth.generators import GENERATORS, load_model
from synth.generators.base import Fit
from synth.generators.papers import mlp
from synth.generators.papers import slice_training as training
from synth.generators.papers.slice_training import divergence
from synth.generators.papers.slicing import Slicing
from synth.mechanisms import slices
from synth.privacy.noise import SeededNoise
from tests.conftest import SMALL, small_frame
from tests.evil_twins import Silent, z_of_squares
from tests.made import ran
from tests.unit.generators.slicing_runs import measured

BITS = np.array(list(product((0.0, 1.0), repeat=3)))
EVEN = BITS[BITS.sum(1) % 2 == 0]  # the third bit is the parity of the others


def sliced_kl(p, q, theta, sigma):
    """KL(P || Q) of points' slices along theta under Gaussian noise, by quadrature."""
    x = np.linspace(-3, 3, 4001)
    dense = [
        np.exp(-((x[:, None] - at @ theta) ** 2) / (2 * sigma**2)).mean(1) / (sigma * sqrt(2 * np.pi)) for at in (p, q)
    ]
    return float(np.trapezoid(dense[0] * np.log(dense[0] / dense[1]), x))


def test_proposition_1_single_slices_see_a_parity_that_no_pair_of_columns_shows():
    for i, j in ((0, 1), (0, 2), (1, 2)):
        tables = [np.histogram2d(rows[:, i], rows[:, j], bins=2)[0] / len(rows) for rows in (BITS, EVEN)]
        assert np.array_equal(*tables)
    rng = np.random.default_rng(0)
    turns = [t / np.linalg.norm(t) for t in rng.standard_normal((30, 3))]
    apart = np.mean([sliced_kl(EVEN, BITS, t, 0.2) for t in turns])
    assert apart > 0.01
    assert abs(np.mean([sliced_kl(BITS, BITS, t, 0.2) for t in turns])) < 1e-12
    assert min(sliced_kl(EVEN, BITS, t, 0.2) for t in turns) > -1e-9
    drawn = [torch.as_tensor(rows[rng.integers(0, len(rows), 800)]) for rows in (BITS, BITS, EVEN)]
    turn = training.frames(3, 1, 40, torch.Generator().manual_seed(0)).double()
    noisy = [(x @ turn + 0.1 * torch.as_tensor(rng.standard_normal((800, 40)))).T[:, :, None] for x in drawn]
    same, parity = (float(divergence(noisy[0], made, kind="kl", ridge=1.0)) for made in noisy[1:])
    assert parity > 2 * same


def around(turns):
    """Evenly spaced directions of the plane, (turns, 2)."""
    angles = np.arange(turns) * np.pi / turns
    return np.column_stack([np.cos(angles), np.sin(angles)])


def sliced_chi2(p, q, sigma, along):
    """SD_{chi2,1,sigma^2}(P || Q) of laws (weights, points (m, d)), a mean over directions ``along`` (turns, d)."""
    x, total = np.linspace(-1 - 6 * sigma, 1 + 6 * sigma, 1501), 0.0
    for theta in along:
        dense = [np.exp(-((x[:, None] - at @ theta) ** 2) / (2 * sigma**2)) @ w for w, at in (p, q)]
        total += np.trapezoid(dense[0] ** 2 / dense[1], x) / (sigma * sqrt(2 * np.pi)) - 1
    return total / len(along)


def test_section_5_maps_that_keep_or_lower_sd_and_a_rate_of_one_over_n_whatever_the_number_of_columns():
    """Turning and moving keep it, shrinking and noise lower it; stretching raises it, and so does dropping a column.

    The mean over tables of n rows is a single row's divergence over n, and below the bound by rows' distances.
    """
    rng, plane = np.random.default_rng(1), around(400)
    at, (p, q) = rng.uniform(-0.5, 0.5, (6, 2)), rng.dirichlet(np.ones(6), 2)

    def of(x):
        return sliced_chi2(
            (np.tile(p, len(x) // 6) * 6 / len(x), x), (np.tile(q, len(x) // 6) * 6 / len(x), x), 0.3, plane
        )

    plain, turn = of(at), np.linalg.qr(rng.standard_normal((2, 2)))[0]
    assert of(at @ turn) == pytest.approx(plain, rel=1e-3)
    assert of(at @ turn + [0.2, -0.1]) == pytest.approx(plain, rel=1e-3)
    assert of(at / 2) < plain < of(at * 1.5)
    step = np.array([0.2, 0.1])
    assert of(np.vstack([at + step, at - step])) < plain, "noise of two values, alike for all"
    both = np.array(list(product((-0.4, 0.4), (-0.7, 0.7))))  # the second column is the same for both, and hides much
    laws = [np.repeat(w, 2) / 2 for w in ((0.5, 0.5), (0.2, 0.8))]
    whole, dropped = (sliced_chi2((laws[0], x), (laws[1], x), 0.3, plane) for x in (both, both * [1, 0]))
    assert dropped > 1.2 * whole
    for columns, count in ((2, 40), (2, 5), (30, 40)):
        table_nears_its_law(columns, count)


def table_nears_its_law(columns, count, *, sigma=0.5):
    """Over 60 tables of ``count`` rows of a law in so many columns, along 24 directions."""
    rng = np.random.default_rng(0)
    along = around(24) if columns == 2 else rng.standard_normal((24, columns))
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    at = rng.uniform(-0.7, 0.7, (5, columns))
    at /= np.maximum(np.linalg.norm(at, axis=1, keepdims=True), 1)
    law = rng.dirichlet(np.ones(5))
    tables = [rng.multinomial(count, law) / count for _ in range(60)]
    reached = np.array([sliced_chi2((t, at), (law, at), sigma, along) for t in tables])
    apart = ((at[:, None] - at) @ along.T) ** 2
    bound = (law @ np.exp(apart / sigma**2).mean(2) @ law - 1) / count
    single = sum(w * sliced_chi2((one, at), (law, at), sigma, along) for w, one in zip(law, np.eye(5), strict=True))
    assert abs(reached.mean() - single / count) < 4.9 * reached.std() / sqrt(len(tables))
    assert single / count < bound < np.expm1(4 / sigma**2) / count


def estimates(batch, *, ridge=1.0):
    """KL of N(1/2, I) from N(0, I) in two dimensions, 0.25, and of N(0, I) from itself, estimated at this batch."""
    draws = torch.Generator().manual_seed(3)
    repeats = max(8192 // batch, 2)
    real, same, shifted = (
        torch.empty((repeats, batch, 2), dtype=torch.float64).normal_(generator=draws) for _ in range(3)
    )
    return [float(divergence(real, made, kind="kl", ridge=ridge)) for made in (shifted + 0.5, same)]


def test_corollary_1_the_estimate_nears_the_divergence_as_the_batch_grows():
    few, many = estimates(128), estimates(2048)
    assert many[0] == pytest.approx(0.25, abs=0.03)
    assert many[1] < 0.006 < 0.02 < few[1]
    assert abs(many[0] - 0.25) + many[1] < abs(few[0] - 0.25) + few[1]


def test_a_small_ridge_takes_noise_for_a_divergence():
    """Why the ridge is 1: at 128 rows .001 puts equal laws as far apart as these laws are."""
    (apart, null), (_, wild) = estimates(128), estimates(128, ridge=1e-3)
    assert null < 0.06 < 0.15 < apart < 0.35
    assert wild > 0.25


@pytest.mark.parametrize("k", [1, 2, 5])
def test_definition_4_frames_are_uniform_on_the_stiefel_manifold(k):
    """Orthonormal; means, covariances and the first coordinate's Beta law are those of the uniform one; what is made is
    smoothed, and seen along the frames that the release is seen along."""
    dim, count = 7, 4000
    result = training.frames(dim, k, count, torch.Generator().manual_seed(1)).reshape(dim, count, k).permute(1, 0, 2)
    assert torch.allclose(result.transpose(1, 2) @ result, torch.eye(k).expand(count, k, k), atol=1e-5)
    square = (result[:, 0] ** 2).sum(1).numpy()
    variance = 2 * k * (dim - k) / (dim**2 * (dim + 2))
    assert abs(square.mean() - k / dim) < 4.9 * sqrt(variance / count)
    assert square.var() == pytest.approx(variance, rel=0.2)
    entries = result.reshape(count, -1).numpy()
    assert np.abs(entries.mean(0)).max() < 6 / sqrt(dim * count)
    assert np.abs(entries.T @ entries / count - np.eye(dim * k) / dim).max() < 6 * sqrt(3 / count) / dim
    rows, sigma = torch.linspace(0.1, 0.5, dim)[None], 0.5  # one row over and over: what differs is the smoothing
    made = mlp.network([1], rng=np.random.default_rng(0), device="cpu", start=None, widths=[2])
    values = training.SliceValues(rows.numpy(), device="cpu")
    facts = {"values": values, "directions": None, "table": rows, "sigma": sigma, "size": 0.0, "rate": 1.0}
    goal = training.SliceTarget(**facts, rng=np.random.default_rng(0))
    real, smooth = (x.detach() for x in training.sliced(made, goal, batch=count, k=k, num_slices=k))
    assert smooth.shape == (1, count, k)
    noise = (smooth - real)[0].numpy() / sigma
    assert np.abs(noise.T @ noise / count - np.eye(k)).max() < 6 * sqrt(2 / count), "N of Definition 4"
    assert np.abs(noise.mean(0)).max() < 6 / sqrt(count), "along the same frames"
    real, plain = training.sliced(made, replace(goal, sigma=0.0), batch=2, k=k, num_slices=8 * k)
    assert real.shape == (8, 2, k)
    assert torch.allclose(real, plain, atol=1e-6)
    assert len(real.unique(dim=0)) == 8, "frames of their own"


FACTS = {"loss": "kl", "directions": "gaussian", "num_slices": 21, "batch": 40}
PUBLISHED = Slicing(**FACTS, form="published", k=4, hidden=16, layers=3, steps=4)


def test_definition_5_groups_of_k_directions_stay_as_they_are_and_u_and_v_are_gaussian():
    """In the published form slice s is columns (s - 1) k + 1 to s k of U, in every step; else they are dealt anew.

    U is N(0, 1 / d), what is released U and X U + V, V of N(0, sigma^2): on equal rows; others stand in secret order.
    """
    releases, _, _ = measured(PUBLISHED)
    release = releases[0]
    masses = [np.full(b.bins.size, 1 / b.bins.size) for b in release.question.encoding.blocks]
    made = mlp.network([len(m) for m in masses], rng=np.random.default_rng(0))
    goal = training.target(release, total=2000, how=Fit(np.random.default_rng(1)))
    values = {tuple(np.float32(v)) for row in release.values for v in row[:20].reshape(5, 4)}
    real = training.sliced(made, goal, batch=30, k=4, num_slices=0, shuffled=False)[0].numpy()
    assert real.shape == (5, 30, 4)
    assert {tuple(v) for v in real.reshape(-1, 4)} <= values
    dealt = training.sliced(made, goal, batch=30, k=4, num_slices=0)[0].numpy()
    assert not {tuple(v) for v in dealt.reshape(-1, 4)} <= values
    asked, rows = replace(release.question, num_slices=2000), {n: np.zeros(20, dtype=np.int64) for n in "tax"}
    told, same = slices.answer(asked, rows, SeededNoise(1)), slices.sums(asked, rows, Silent()) * asked.pitch
    drawn, noise = told.directions.ravel() * sqrt(asked.encoding.dim), (told.values - same @ told.directions).ravel()
    for numbers in (drawn, noise / asked.sigma):  # U and V, as equation 3 has them
        assert abs(z_of_squares(numbers)) < 4.9
        assert stats.kstest(numbers, "norm").pvalue > 1e-6
    assert np.linalg.norm(same, axis=1).max() <= 1
    assert np.array_equal(told.values, np.rint(told.values / asked.grain) * asked.grain), "on a lattice"
    fine, kinds = replace(asked, sigma=2.0**-10), {n: np.arange(20) % 2 for n in rows}
    exact, orders = slices.sums(fine, kinds, Silent()) * fine.pitch, set()
    for seed in range(20):
        told = slices.answer(fine, kinds, SeededNoise(seed))
        near = np.linalg.norm(told.values[:, None] - exact[:2] @ told.directions, axis=2).argmin(1)
        assert sum(near) == 10
        orders.add(tuple(near))
    assert len(orders) > 10, "the rows' own, in a secret order"


def fitted(generator, seed=0):
    releases, setting, _ = measured(generator)
    return generator.fit(releases, setting, Fit(np.random.default_rng(seed)))


def test_rows_of_the_published_form_come_from_the_network_itself():
    model = fitted(PUBLISHED)
    assert [w.shape for w, _ in model.layers] == [(64, 16), (16, 16), (16, 16), (16, model.layers[-1][1].size)]
    means = [model.fresh(500, np.random.default_rng(s)).axes[1].probs for s in (1, 2)]
    assert not np.array_equal(*means)
    about, arrays = model.state()
    again = load_model(about, arrays)
    rows = [m.sample(5000, rng=np.random.default_rng(7)) for m in (model, again)]
    assert all(np.array_equal(rows[0][n], rows[1][n]) for n in rows[0])
    held = model.sample(6000, rng=np.random.default_rng(7), where={"a": np.array([3, 4])})
    assert set(held["a"]) == {3, 4}
    assert len(model.sample(0, rng=np.random.default_rng(7))["a"]) == 0
    share = model.probability({"t": np.array([1])})
    assert np.mean(rows[0]["t"] == 1) == pytest.approx(share, abs=0.05)


def test_the_published_form_starts_anywhere_and_keeps_its_rate(monkeypatch):
    seen = []
    real = mlp.train
    monkeypatch.setattr(mlp, "train", lambda *a, **k: seen.append((k["rate"], k["last_rate"])) or real(*a, **k))
    fitted(PUBLISHED)
    fitted(Slicing(**FACTS, steps=4))
    assert seen[0][0] == seen[0][1]
    assert seen[1][1] == pytest.approx(seen[1][0] / 10)


def test_theorem_1s_noise_is_more_and_is_charged_for_what_it_is():
    exact, published = (measured(Slicing(**FACTS, accounting=a)) for a in ("exact", "theorem_1"))
    assert published[0][0].question.sigma > 1.1 * exact[0][0].question.sigma
    assert published[2].epsilon_derived < 0.9 * exact[2].epsilon_derived


def test_a_run_draws_its_part_of_more_rows_than_a_rehearsal_makes_up():
    """The rehearsal answers as of 20,000 rows from 500 made-up ones, the run from its own: both in the same words."""
    options = {"loss": "kl", "rate": 0.25, "sample": "fixed", "steps": 1, "directions": "gaussian", "num_slices": 8}
    result = ran(small_frame(1200), SMALL, relation="zero_out", method="slicing", options=options, seed=0)
    assert 0.99 < result.epsilon_derived <= 1.0
    assert result.num_rows == 1200


@pytest.mark.parametrize(
    "options",
    [
        {"form": "published"},
        {"form": "published", "loss": "kl"},
        {"form": "published", "loss": "moments", "directions": "gaussian"},
        {"form": "published", "loss": "kl", "directions": "gaussian", "oneway_share": 0.3},
        {"accounting": "theorem_1", "loss": "kl"},
        {"loss": "kl", "directions": "fixed", "rate": 0.5},
        {"loss": "kl", "sample": "some"},
    ],
)
def test_what_does_not_go_together_is_refused(options):
    with pytest.raises(UsageError, match="option"):
        Slicing(**options).check_options()


def test_both_methods_take_the_published_form():
    assert {"form", "sample", "accounting", "hidden", "layers"} <= set(GENERATORS["slice_wasserstein"].ranges)
