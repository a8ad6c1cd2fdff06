"""The fit's gradient is the loss's, and noiseless tables are reproduced."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from synth.generators.fit import Block, Options, Problem, _Surface, fit
from tests.unit.generators.helpers import quiet

SIZES = (4, 3, 2)


def problem(rng):
    """Three columns of 4, 3 and 2 groups: the table of the first two, and of the first with both others."""
    truth = rng.dirichlet(np.full(24, 0.5)).reshape(SIZES)
    spans = np.split(np.arange(9), [4, 7])
    member = np.stack([np.arange(9), np.arange(9)])
    joint = np.array([[4, 4, 5, 5, 6, 6], [7, 8, 7, 8, 7, 8]])
    pair = Block(rows=spans[0], cols=spans[1], y=truth.sum(2), precision=np.full((4, 3), 50.0))
    triple = Block(rows=spans[0], cols=np.arange(9, 15), y=truth.reshape(4, 6), precision=np.full((4, 6), 90.0))
    mass = np.concatenate([truth.sum((1, 2)), truth.sum((0, 2)), truth.sum((0, 1))])
    laid = Problem(column=np.repeat([0, 1, 2], SIZES), mass=mass, precision=np.full(9, 30.0), member=member,
                   joint=joint, blocks=[pair, triple])  # fmt: skip
    return laid, truth


def test_the_gradient_by_hand_is_that_of_automatic_differentiation():
    rng = np.random.default_rng(0)
    laid, _ = problem(rng)
    surface = _Surface(laid, "cpu")
    logits = torch.tensor(rng.normal(size=(2, 9, 5)), dtype=torch.float32, requires_grad=True)
    weights = torch.tensor(rng.normal(size=(2, 5)), dtype=torch.float32, requires_grad=True)
    share, probs = surface.probabilities(logits, weights)
    views = surface._views(probs)
    loss = 0.5 * (surface.precision * ((probs * share[:, None]).sum(-1, keepdim=True) - surface.mass) ** 2).sum()
    for rows, cols, y, precision in surface.blocks:
        table = torch.einsum("eb,erb,ecb->erc", share, views[:, rows], views[:, cols])
        loss = loss + 0.5 * (precision * (table - y) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        _, by_logits, by_weights = surface.gradient(logits, weights)
    torch.testing.assert_close(by_logits, logits.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(by_weights, weights.grad, rtol=1e-4, atol=1e-5)


def test_exact_tables_are_reproduced():
    """With enough components the joint table of three columns is met to half a percent."""
    laid, truth = problem(np.random.default_rng(1))
    options = Options(components=24, ensembles=2, steps=400, stop=0.0)
    weights, probs = fit(laid, options, rng=np.random.default_rng(0), device="cpu", progress=quiet)
    assert weights.sum() == pytest.approx(1.0, abs=1e-5)
    parts = np.split(probs, [4, 7], axis=1)
    assert all(np.allclose(p.sum(1), 1.0, atol=1e-5) for p in parts)
    assert np.abs(np.einsum("k,ka,kb,kc->abc", weights, *parts) - truth).max() < 0.005


def test_the_fit_ends_where_it_would_follow_the_noise():
    """The stopping rule leaves steps unused on tables so noisy that independence explains them."""
    laid, _ = problem(np.random.default_rng(2))
    rough = [Block(rows=b.rows, cols=b.cols, y=b.y, precision=b.precision * 1e-3) for b in laid.blocks]
    calls = []
    fit(
        replace(laid, blocks=rough),
        Options(),
        rng=np.random.default_rng(0),
        device="cpu",
        progress=calls.append,
    )
    assert len(calls) <= 2
