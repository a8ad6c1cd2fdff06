"""Parts of the slicing generators: moments, divergences, the network."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from synth.generators.base import Fit
from synth.generators.micro_batches import Pieces
from synth.generators.papers import mlp
from synth.generators.papers import slice_moments as slicing_moments
from synth.generators.papers import slice_training as training
from synth.generators.papers.slice_training import DIVERGENCES, divergence, ratio, wasserstein
from synth.generators.papers.slicing import Slicing
from tests.evil_twins import z_of_squares
from tests.unit.generators.simulated_slices import simulated


@pytest.mark.parametrize("records", [True, False])
def test_covariances_are_unbiased_and_their_noise_is_as_stated(records):
    """Over 60 releases the mean error of whitened cells is near 0 and their variance near 1 / groups."""
    errors = []
    for seed in range(60):
        release, masses, truth = simulated(records=records, rows=2000, groups=200, seed=seed)
        result = slicing_moments.moments(release, masses, total=2000)
        seen = result.matrix[result.spans[0], result.spans[1]]
        left, right = (np.linalg.pinv(b) for b in result.back)
        errors.append((seen - left @ truth @ right.T) * np.sqrt(result.groups))
    stacked = np.stack(errors)
    assert np.abs(stacked.mean(0)).max() < 4 / np.sqrt(60)
    assert 0.75 < stacked.var() < 1.35


@pytest.mark.parametrize("records", [True, False])
def test_covariances_lead_back_to_tables(records):
    release, masses, truth = simulated(records=records)
    result = slicing_moments.moments(release, masses, total=20_000)
    seen = result.back[0] @ result.matrix[result.spans[0], result.spans[1]] @ result.back[1].T
    assert np.corrcoef(seen.ravel(), truth.ravel())[0, 1] > 0.9


def test_one_ways_that_are_off_make_no_relation_of_records():
    """Independent columns, even shares given for uneven ones: whitened covariances stay within their noise."""
    release, masses, _ = simulated(records=True, rho=0.0)
    result = slicing_moments.moments(release, [np.full(3, 1 / 3) for _ in masses], total=20_000)
    assert np.abs(result.matrix).max() * np.sqrt(result.groups) < 5


def test_noise_alone_is_drawn_to_independence():
    """Independent columns: in most releases nothing is left, in none much."""
    left = []
    for seed in range(20):
        release, masses, _ = simulated(records=False, rho=0.0, rows=2000, groups=200, seed=seed)
        result = slicing_moments.moments(release, masses, total=2000)
        left.append((slicing_moments.shrunk(result, np.ones((2, 2))) ** 2).sum() / (result.matrix**2).sum())
    assert np.mean(np.array(left) == 0) > 0.6
    assert max(left) < 0.6


def transcribed(real, made, f, *, ridge):
    """arXiv 2410.19941, Equation 5, slice by slice and width by width: D_f(made || real) by ratios at real points."""
    values = []
    for x, y in zip(real, made, strict=True):
        n, half = len(x), len(x) // 2
        median = torch.stack([((x[i] - x[half + i]) ** 2).sum() for i in range(half)]).sort().values[(half - 1) // 2]
        ratios = []
        for width in (0.5, 1.0, 2.0):

            def gram(a, b, length=width**2 * median):
                return torch.stack(
                    [torch.stack([torch.exp(-((p - q) ** 2).sum() / (2 * length)) for q in b]) for p in a]
                )

            weights = gram(x, y).sum(1) * (n / len(y))
            ratios.append(torch.linalg.inv(gram(x, x) + ridge * torch.eye(n, dtype=x.dtype)) @ weights)
        values.append(f(torch.stack(ratios).mean(0).clamp_min(0)).mean())
    return torch.stack(values).mean()


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_the_published_estimator_is_its_transcription(kind):
    """Values and gradients within 1e-6, batches of unlike sizes included."""
    rng = np.random.default_rng(0)
    real = torch.as_tensor(rng.normal(0, 1, (2, 8, 2)))
    made = torch.as_tensor(rng.normal(0.5, 1, (2, 6, 2))).requires_grad_(True)
    naive, ours = transcribed(real, made, DIVERGENCES[kind], ridge=0.3), divergence(real, made, kind=kind, ridge=0.3)
    assert float((naive - ours).detach()) == pytest.approx(0, abs=1e-6)
    slopes = [torch.autograd.grad(v, made)[0] for v in (naive, ours)]
    assert slopes[0].abs().max() > 1e-3
    assert torch.allclose(*slopes, atol=1e-6)


def test_a_step_of_algorithm_1_is_its_transcription(monkeypatch):
    """Released rows, the same along all slices; the network's, each of noise of its own, on fixed U, noise of sigma
    drawn anew; Equation 5 of both.

    So does a training of form=published step, from a random start, at a constant rate.
    """
    rng, batch = np.random.default_rng(0), 4000
    values, turn = rng.normal(size=(30, 4)), torch.as_tensor(rng.normal(size=(3, 4)))
    rows = torch.as_tensor(rng.normal(size=(batch, 3)))
    made = mlp.network([3], rng=np.random.default_rng(0))
    facts = {"values": training.SliceValues(values, device="cpu"), "directions": turn, "table": torch.eye(3)}
    goal = training.SliceTarget(sigma=0.5, size=0.0, rate=1.0, rng=np.random.default_rng(1), **facts)
    made.source.manual_seed(2)
    fed = training.summed_rows(made, goal, 500)
    made.source.manual_seed(2)
    z = made.hidden(500)
    assert torch.equal(fed, made.drawn(z, hard=True))
    assert len(z.unique(dim=0)) == 500
    monkeypatch.setattr(training, "summed_rows", lambda _, __, size: rows[:size])
    steps = [training.sliced(made, goal, batch=batch, k=2, num_slices=0, shuffled=False) for _ in range(2)]
    noises = []
    for real, fake in steps:
        taken, on_slices = (x.transpose(0, 1).reshape(batch, 4) for x in (real, fake))
        assert {tuple(v) for v in taken.numpy()} == {tuple(v) for v in values.astype(np.float32)}
        noises.append(((on_slices - rows @ turn) / 0.5).numpy())
        assert abs(z_of_squares(noises[-1])) < 4.9
    assert np.abs(np.mean(noises[0] * noises[1])) < 4.9 / np.sqrt(noises[0].size)
    pair = [x[:, :8].double() for x in steps[0]]
    loss = training.apart(lambda x, y: divergence(x, y, kind="kl", ridge=1.0), Pieces(), *pair)
    assert float(loss) == pytest.approx(float(transcribed(*pair, DIVERGENCES["kl"], ridge=1.0)), abs=1e-6)
    facts = {"loss": "kl", "directions": "gaussian", "form": "published", "epochs": 3, "learning_rate": 2e-5}
    by = Slicing(**facts, batch=8)._training(SimpleNamespace(question=SimpleNamespace(rate=1.0), values=values))
    sliced, asked, start = training.sliced, {}, {}
    monkeypatch.setattr(training, "target", lambda *_, **__: goal)
    monkeypatch.setattr(
        training, "sliced", lambda *a, **k: asked.update(k, both=[x.double() for x in sliced(*a, **k)]) or asked["both"]
    )
    monkeypatch.setattr(mlp, "network", lambda *_, **k: start.update(k) or made)
    monkeypatch.setattr(mlp, "train", lambda _, step, **k: asked.update(k, loss=float(step())))
    training.network(None, [np.ones(3)], 30, by, Fit(np.random.default_rng(0)))
    assert (asked["shuffled"], asked["steps"], start["start"]) == (False, 3 * 4, None)
    assert asked["rate"] == asked["last_rate"] == 2e-5
    wanted = transcribed(*asked["both"], DIVERGENCES["kl"], ridge=1.0)
    assert asked["loss"] == pytest.approx(float(wanted), abs=1e-6)


def test_a_ratio_is_high_at_real_points_where_made_ones_are():
    """Synthetic to real, at real points: against the ratio of the laws that the points were drawn from."""
    rng = np.random.default_rng(0)
    real, made = (torch.as_tensor(rng.normal(m, 1, (1, 400, 1))) for m in (0, 1))
    results, x = ratio(real, made, ridge=1.0)[0], real[0, :, 0]
    inside = (x - 0.5).abs() < 1.0
    assert np.corrcoef(results[inside], torch.exp(x - 0.5)[inside])[0, 1] > 0.8


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_every_divergence_is_least_where_densities_agree(kind):
    """f >= 0 with f(1) = f'(1) = 0: else the mean of estimated ratios, which is not quite one, would be lowered.

    Convex where no ratio is cut, and its mean under Q at the ratios P / Q is the divergence of that name.
    """
    at = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    value = DIVERGENCES[kind](at)
    assert float(value.detach()) == pytest.approx(0, abs=1e-5)
    assert float(torch.autograd.grad(value.sum(), at)[0]) == pytest.approx(0, abs=1e-5)
    values = DIVERGENCES[kind](torch.linspace(training.LEAST_LOG, 5, 1000, dtype=torch.float64))
    assert (values >= -1e-6).all()
    assert (values.diff(n=2) >= -1e-9).all(), "convex"
    least = torch.zeros(1, requires_grad=True)
    least_value = DIVERGENCES[kind](least).sum()
    assert least_value.isfinite()
    assert torch.autograd.grad(least_value, least)[0].isfinite().all(), "small ratios are cut"
    p, q = np.random.default_rng(0).dirichlet(np.full(6, 4.0), 2)
    middle = (p + q) / 2
    named = {
        "kl": p @ np.log(p / q),
        "reverse_kl": q @ np.log(q / p),
        "js": p @ np.log(p / middle) + q @ np.log(q / middle),
        "chi2": ((p - q) ** 2 / q).sum(),
        "hellinger": ((np.sqrt(p) - np.sqrt(q)) ** 2).sum(),
    }
    assert q @ DIVERGENCES[kind](torch.as_tensor(p / q)).numpy() == pytest.approx(named[kind], abs=1e-5)


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_every_divergence_pulls_points_towards_the_real_ones(kind):
    """Its gradient moves a shifted cloud back, on the average."""
    rng = np.random.default_rng(0)
    real = torch.as_tensor(rng.normal(1.0, 1, (4, 100, 2)))
    made = torch.as_tensor(rng.normal(0.0, 1, (4, 100, 2))).requires_grad_(True)
    pull = torch.autograd.grad(divergence(real, made, kind=kind, ridge=0.5), made)[0]
    assert torch.isfinite(pull).all()
    assert -pull.mean() > 0


def test_wasserstein_is_the_mean_square_of_sorted_gaps():
    real, made = torch.tensor([[[0.0], [3.0]]]), torch.tensor([[[5.0], [1.0]]])
    assert float(wasserstein(real, made)) == pytest.approx((1 + 4) / 2)


@pytest.mark.parametrize("size", [8.0, 1e-12])
def test_groups_of_made_rows_have_sizes_of_poisson(size):
    """Mean and variance of 4,000 groups' sizes, within six deviations (less than once in 10^6); all may be empty."""
    made = mlp.network([2, 3], rng=np.random.default_rng(0))
    goal = training.SliceTarget(
        values=None, directions=None, table=torch.eye(5), sigma=1.0, size=size, rate=1.0, rng=np.random.default_rng(1)
    )
    sums = training.summed_rows(made, goal, 4000).detach().numpy()
    assert np.allclose(sums, sums.round(), atol=1e-4)
    assert np.allclose(sums[:, :2].sum(1), sums[:, 2:].sum(1), atol=1e-4)
    sizes, spread = sums[:, :2].sum(1), np.sqrt((size + 2 * size**2) / 4000)
    assert abs(sizes.mean() - size) < 6 * np.sqrt(size / 4000)
    assert abs(sizes.var() - size) < 6 * spread


def test_network_repeats_with_the_same_generator_and_leaves_torch_s_own_alone():
    before = torch.get_rng_state()
    made = [mlp.network([2, 3], rng=np.random.default_rng(s)) for s in (1, 1, 2)]
    drawn = [m.drawn(m.hidden(5)) for m in made]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert torch.equal(before, torch.get_rng_state())


def test_hard_rows_are_one_hot_and_follow_the_heads():
    """Shares of 20,000 hard rows are the heads' (soft rows' are not, by more than the test allows)."""
    made = mlp.network([2, 3], rng=np.random.default_rng(0), start=np.array([0.9, 0.1, 0.8, 0.1, 0.1]), spread=1e-6)
    z = made.hidden(20_000)
    rows, soft, heads = made.drawn(z, hard=True), made.drawn(z), made.forward(z).mean(0)
    assert set(rows.detach().round(decimals=5).unique().tolist()) == {0.0, 1.0}
    assert torch.allclose(rows.mean(0), heads, atol=0.015)
    assert not torch.allclose(soft.mean(0), heads, atol=0.015)


def test_heads_sum_to_one_even_for_wild_scores():
    made = mlp.network([2, 3], rng=np.random.default_rng(0))
    with torch.no_grad():
        made.layers[-1][1].copy_(torch.tensor([0.0, 0.0, 500.0, -500.0, 0.0]))
    probs = made.forward(made.hidden(7))
    assert torch.allclose(probs[:, :2].sum(1), torch.ones(7), atol=1e-5)
    assert torch.allclose(probs[:, 2:].sum(1), torch.ones(7), atol=1e-5)


def test_network_starts_near_what_it_is_given_and_learns():
    start = np.array([0.9, 0.1, 0.2, 0.3, 0.5])
    made = mlp.network([2, 3], rng=np.random.default_rng(0), start=start)
    assert np.abs(mlp.components(made, 2000, rng=np.random.default_rng(1)).mean(0) - start).max() < 0.2
    goal = torch.tensor([0.2, 0.8, 0.6, 0.2, 0.2])

    def loss():
        return ((made.drawn(made.hidden(64), hard=True).mean(0) - goal) ** 2).sum()

    mlp.train(made.parameters, loss, steps=500, rate=3e-3, progress=lambda _: None)
    after = mlp.components(made, 2000, rng=np.random.default_rng(1)).mean(0)
    assert np.abs(after - goal.numpy()).max() < 0.12
