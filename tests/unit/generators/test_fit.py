"""The fit's gradient is the loss's, and noiseless tables are reproduced."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch

from synth.generators.core import search
from synth.generators.core.columns import OneWays
from synth.generators.core.mixture import Mixture
from synth.generators.core.problem import Problem, TableMatrix
from synth.generators.core.search import quick_fit
from synth.generators.core.solver import Options, Surface, _joined, fit_mixture
from tests.unit.generators.helpers import counted_pairs, identity, problem, quiet


@pytest.mark.parametrize(("pull", "smooth"), [(0.0, 0.0), (7.0, 0.0), (0.0, 5.0), (7.0, 5.0)])
def test_the_gradient_by_hand_is_that_of_automatic_differentiation(pull, smooth):
    rng = np.random.default_rng(0)
    laid, _ = problem(rng)
    three = np.array([[0, 1, 4], [1, 2, 5], [2, 3, 6]])
    surface = Surface(replace(laid, neighbours=three), "cpu", pull=pull, half=0.3, smooth=smooth)
    logits = torch.tensor(rng.normal(size=(2, 9, 5)), dtype=torch.float32, requires_grad=True)
    weights = torch.tensor(rng.normal(size=(2, 5)), dtype=torch.float32, requires_grad=True)
    share, probs = surface.probabilities(logits, weights)
    views = surface._views(probs)
    views = torch.cat([views, views[:, laid.joint[0]] * views[:, laid.joint[1]]], 1)
    loss = 0.5 * (surface.precision * ((probs * share[:, None]).sum(-1, keepdim=True) - surface.mass) ** 2).sum()
    for b in laid.blocks:
        table = torch.einsum("eb,erb,ecb->erc", share, views[:, b.rows], views[:, b.cols])
        y, precision = (torch.as_tensor(x, dtype=torch.float32) for x in (b.y, b.precision))
        loss = loss + 0.5 * (precision * (table - y) ** 2).sum()
    apart = probs * (probs / surface.mass).log()
    reported = torch.stack([(apart[:, at].sum(1) * share).sum(-1) for at in np.split(np.arange(9), [4, 7])])
    loss = loss + pull * 0.3 * torch.log1p(reported / 0.3).sum()
    ratio = (probs / surface.mass).log()
    bend = ratio[:, three[0]] - 2 * ratio[:, three[1]] + ratio[:, three[2]]
    heavy = torch.as_tensor(laid.mass[three].prod(0) ** (1 / 3), dtype=torch.float32)[:, None]
    loss = loss + smooth / 2 * (share[:, None] * heavy * bend**2).sum()
    loss.backward()
    with torch.no_grad():
        _, by_logits, by_weights = surface.gradient(logits, weights)
    torch.testing.assert_close(by_logits, logits.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(by_weights, weights.grad, rtol=1e-4, atol=1e-5)


def test_mixtures_worked_on_one_by_one_on_all_cores_are_those_of_one_batch(monkeypatch):
    laid, _ = problem(np.random.default_rng(3))
    logits, weights = (
        torch.tensor(np.random.default_rng(1).normal(size=s), dtype=torch.float32) for s in ((7, 9, 5), (7, 5))
    )
    monkeypatch.setattr("synth.generators.core.solver.CORES", 3)
    together = Surface(laid, "cpu", pull=7.0).gradient(logits, weights)
    for held in (1, 2 * 24 * 5):  # one mixture at a time, and two
        monkeypatch.setattr("synth.generators.core.solver.CACHED", held)
        for a, b in zip(together, Surface(laid, "cpu", pull=7.0).gradient(logits, weights), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_a_mirrored_block_counts_each_cell_once():
    """Loss, gradients and cells are those of the same table laid out once."""
    rng = np.random.default_rng(3)
    laid, _ = problem(rng)
    pair = laid.blocks[0]
    y, precision = np.zeros((7, 7)), np.zeros((7, 7))
    y[:4, 4:], precision[:4, 4:] = pair.y, pair.precision / 2
    views = np.concatenate([pair.rows, pair.cols])
    square = TableMatrix(rows=views, cols=views, y=y + y.T, precision=precision + precision.T, mirrored=True)
    assert square.cells == pair.cells
    logits, weights = (torch.tensor(rng.normal(size=s), dtype=torch.float32) for s in ((2, 9, 5), (2, 5)))
    once, twice = (Surface(replace(laid, blocks=[b]), "cpu").gradient(logits, weights) for b in (pair, square))
    for a, b in zip(once, twice, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_the_goal_nears_the_number_of_cells_where_parameters_are_few():
    """Six parameters a component (9 groups, 3 columns), 36 cells: one component follows a sixth of the noise."""
    laid, _ = problem(np.random.default_rng(4))
    assert laid.goal(0.8, components=64) == pytest.approx(0.8 * laid.cells)
    assert laid.goal(0.8, components=1) == pytest.approx(laid.cells - 0.2 * 6)


def test_exact_tables_are_reproduced():
    """With enough components the joint table of three columns is met to half a percent."""
    laid, truth = problem(np.random.default_rng(1))
    options = Options(components=24, ensembles=2, steps=400, stop=0.0)
    weights, probs = fit_mixture(laid, options, rng=np.random.default_rng(0), device="cpu", progress=quiet)
    assert weights.sum() == pytest.approx(1.0, abs=1e-5)
    parts = np.split(probs, [4, 7], axis=1)
    assert all(np.allclose(p.sum(1), 1.0, atol=1e-5) for p in parts)
    assert np.abs(np.einsum("k,ka,kb,kc->abc", weights, *parts) - truth).max() < 0.005


def test_the_fit_ends_where_it_would_follow_the_noise():
    """The stopping rule leaves steps unused on tables so noisy that independence explains them."""
    laid, _ = problem(np.random.default_rng(2))
    rough = [TableMatrix(rows=b.rows, cols=b.cols, y=b.y, precision=b.precision * 1e-3) for b in laid.blocks]
    calls = []
    fit_mixture(
        replace(laid, blocks=rough), Options(), rng=np.random.default_rng(0), device="cpu", progress=calls.append
    )
    assert len(calls) <= 2


def test_components_are_as_many_as_asked_for_unless_a_method_wants_more():
    """By default also where 9,801 cells tell of them; `mixture` itself wants twice as many above 8,000."""
    plain, rich = (
        fit_mixture(
            identity(99),
            replace(options, components=3, ensembles=1, steps=1),
            rng=np.random.default_rng(0),
            device="cpu",
            progress=quiet,
        )[0]
        for options in (Options(), Mixture().options)
    )
    assert (len(plain), len(rich)) == (3, 6)


def test_joined_mixtures_are_the_mean_of_their_parts():
    """Every component keeps its distribution; its weight becomes a share of its mixture's part."""
    rng = np.random.default_rng(3)
    laid, _ = problem(rng)
    surface = Surface(laid, "cpu")
    logits = torch.tensor(rng.normal(size=(8, 9, 3)), dtype=torch.float32)
    weights = torch.tensor(rng.normal(size=(8, 3)), dtype=torch.float32)
    share, probs = surface.probabilities(logits, weights)
    joint = torch.einsum("eb,eib,ejb->eij", share, probs, probs).reshape(2, 4, 9, 9).mean(1)
    joined_share, joined_probs = surface.probabilities(*_joined(logits, weights, many=4))
    assert joined_share.shape == (2, 12)
    torch.testing.assert_close(torch.einsum("eb,eib,ejb->eij", joined_share, joined_probs, joined_probs), joint)


@pytest.mark.parametrize(("ensembles", "richer"), [(4, True), (1, False)])
def test_mixtures_too_poor_for_a_table_are_joined_and_meet_it(ensembles, richer):
    """Four mixtures of six components are at 0.6 or more from an identity of 16; as one of 24 they come near."""
    options = Options(components=6, ensembles=ensembles, steps=300)
    weights, probs = fit_mixture(identity(16), options, rng=np.random.default_rng(0), device="cpu", progress=quiet)
    table = np.einsum("k,ka,kb->ab", weights, probs[:, :16], probs[:, 16:])
    assert (0.5 * np.abs(table - np.eye(16) / 16).sum() < 0.3) == richer


@pytest.mark.parametrize(("stop", "joined"), [(0.98, False), (1.05, True)])
def test_mixtures_are_joined_above_the_noises_own_misfit_and_not_below(stop, joined):
    """The first part ends less than .05 below ``stop`` of the noise. A bound lower or higher by .06 fails."""
    laid, _ = noisy_pair(np.random.default_rng(6), dependent=True)
    calls = []
    options = Options(components=24, ensembles=4, stop=stop, steps=500, rate=0.025, last_rate=0.025)
    fit_mixture(laid, options, rng=np.random.default_rng(0), device="cpu", progress=calls.append)
    below = [c.loss / laid.cells for c in calls if c < 0.5][-1]
    assert stop - 0.05 < below < stop
    assert (max(calls) >= 0.5) == joined


def test_mixtures_that_are_too_poor_end_their_own_descent_early_and_are_joined_into_one_where_they_are_far_off():
    """An identity of 16 is too much for eight mixtures of two components; the whole descent was 300 steps."""
    calls = []
    options = Options(components=2, ensembles=8, steps=300)
    weights, _ = fit_mixture(identity(16), options, rng=np.random.default_rng(0), device="cpu", progress=calls.append)
    own = [c for c in calls if c < 0.5]
    assert len(own) < 20, "thirty looks at its whole descent"
    assert len(weights) == 16
    assert abs(weights[:8].sum() - 0.5) > 1e-6, "two mixtures of four would have a half each"


def test_progress_never_falls_and_ends_within_one():
    calls = []
    options = Options(components=6, ensembles=4, steps=50)
    fit_mixture(identity(8), options, rng=np.random.default_rng(0), device="cpu", progress=calls.append)
    assert calls == sorted(calls)
    assert calls[-1] <= 1.0


def noisy_pair(rng, *, dependent: bool) -> tuple[Problem, np.ndarray]:
    """Two columns of twelve even groups, 20,000 rows, noise of 60 rows a cell: independent, or nearly equal."""
    truth = np.full((12, 12), 1 / 144)
    if dependent:
        truth = 0.9 * np.eye(12) / 12 + 0.1 * truth
    at, noise = np.arange(24), 60 / 20_000
    table = TableMatrix(
        rows=at[:12],
        cols=at[12:],
        y=truth + rng.normal(0, noise, truth.shape),
        precision=np.full(truth.shape, noise**-2),
    )
    laid = Problem(
        column=np.repeat([0, 1], 12),
        mass=np.full(24, 1 / 12),
        precision=np.full(24, 1e6),
        blocks=[table],
        member=np.stack([at, at]),
        joint=np.zeros((2, 0), dtype=np.int64),
        total=20_000,
    )
    return laid, truth


def apart(laid: Problem, truth: np.ndarray, pull: float) -> float:
    """Total variation between a fitted table and the true one."""
    weights, probs = fit_mixture(laid, Options(pull=pull), rng=np.random.default_rng(0), device="cpu", progress=quiet)
    return 0.5 * float(np.abs(np.einsum("k,ka,kb->ab", weights, probs[:, :12], probs[:, 12:]) - truth).sum())


def test_noise_that_looks_like_weak_dependence_is_left_out():
    """Of the noise's .17 the fit follows .022 without the pull to independence and less than .001 with four times the
    default's, with which it follows .020: on real tables, where weak dependence is not noise alone, less is better."""
    laid, truth = noisy_pair(np.random.default_rng(6), dependent=False)
    assert apart(laid, truth, 4 * Options().pull) < 0.005 < apart(laid, truth, Options().pull) < 0.021
    assert apart(laid, truth, 0.0) > 0.021


def test_strong_dependence_is_kept_all_the_same():
    """Of a table of which .83 depends; the noise is .17."""
    laid, truth = noisy_pair(np.random.default_rng(6), dependent=True)
    assert apart(laid, truth, Options().pull) < 0.12


def test_where_noise_is_little_tables_that_nobody_counted_stay_near_what_the_counted_ones_tell():
    """Noise of two rows of 100,000: .0055 on average of three columns, where rows have .003 to .006 by their own
    chance; followed to the last digit from the start, pairs left .0109. Pairs are met to less than that chance."""
    laid = counted_pairs(np.random.default_rng(0), rows=100_000, sigma=2.0)
    options = Options(components=32, ensembles=1)
    weights, probs = fit_mixture(laid, options, rng=np.random.default_rng(0), device="cpu", progress=quiet)
    parts = np.split(probs, 6, axis=1)
    law = np.full((4, 4), 0.1 / 16) + 0.9 * np.eye(4) / 4
    apart = []
    for i, j, k in combinations(range(6), 3):
        pair = law if (i, j) == (0, 1) else np.full((4, 4), 1 / 16)
        made = np.einsum("b,bi,bj,bk->ijk", weights, parts[i], parts[j], parts[k])
        apart.append(0.5 * np.abs(made - pair[:, :, None] / 4).sum())
    assert np.mean(apart) < 0.008
    pairs = [np.einsum("b,bi,bj->ij", weights, *(probs[:, at] for at in (b.rows, b.cols))) - b.y for b in laid.blocks]
    assert np.mean([0.5 * np.abs(p).sum() for p in pairs]) < 0.003


def test_the_fit_between_questions_has_torch_on_one_thread_as_the_last_one_has(monkeypatch):
    """Cores share the ensemble; torch's own threads beside would wait for each other, sevenfold on a busy machine."""
    threads = []

    def seen(problem, *_, **__):
        threads.append(torch.get_num_threads())
        return np.ones(1), problem.mass[None, :]

    monkeypatch.setattr(search, "fit_mixture", seen)
    monkeypatch.setattr(search, "lay_out", lambda *_: (problem(np.random.default_rng(0))[0], {}))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        quick_fit(OneWays(total=1.0, histograms={}, setting=None), [], [], fitted=True)
        assert threads == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
