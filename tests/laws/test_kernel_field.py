"""Gradients of a kernel's sum, step by step: their noise is a path's, a row moves them by at most what is charged."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from synth.errors import UsageError
from synth.mechanisms import gradients as mechanism
from synth.numeric.kernel_field import NUGGET, KernelField
from synth.privacy.accounting.events import PoissonSampledDpEvent, PoissonSampledReplacedDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Block, GaussianKernel, Step
from tests.evil_twins import Counted
from tests.laws.kernel_points import EVERY, LABEL, PLACES, A, B, at, descent, field_at

LAYOUTS = [(False, 1), (False, 3), (True, 2)]


def as_kernel(plan):
    blocks = (Block(bins=A, table=PLACES[0]), Block(bins=B, table=PLACES[1]))
    label = LABEL if plan.label is not None else None
    return GaussianKernel(blocks=blocks, lengthscale=0.7, widths=len(plan.scales), label=label)


def gradients_only(table, kernel):
    """Rows and columns (or columns alone) of a path's numbers that are gradients, in plain units."""
    each = 1 + kernel.smooth
    held = np.arange(table.shape[1]) % each > 0
    out = table[:, held] / kernel.unit
    return out[held] / kernel.unit if len(table) == table.shape[1] else out


@pytest.mark.parametrize(("labelled", "widths"), LAYOUTS)
@pytest.mark.parametrize("points", [1, 4, 7, 12])
def test_noise_has_the_covariance_of_a_paths_gradients(labelled, widths, points):
    """The cheap factorisation, in and outside the span of differences, against the kernel's dense covariance."""
    plan = descent(labelled, widths, points=points)
    weights, kernel = at(plan), as_kernel(plan)
    field = field_at(plan, weights)
    factor = np.stack([field.gradients(e).ravel() for e in np.eye(plan.weights)], axis=1)
    places = weights[0].astype(float)
    whole = np.hstack([places, field.labels()[:, None]]) if labelled else places
    wanted = gradients_only(kernel.gram(whole, whole, gradients=True), kernel)
    nugget = NUGGET * field.variance * np.eye(len(wanted))
    assert np.allclose(factor @ factor.T, wanted + nugget, atol=1e-10)


@pytest.mark.parametrize(("labelled", "widths"), LAYOUTS)
def test_without_noise_the_answer_is_the_sum_of_the_rows_gradients(labelled, widths):
    plan = descent(labelled, widths, sigma=2.0**-8)
    weights, kernel = at(plan), as_kernel(plan)
    rows = {n: EVERY[:, i] for i, n in enumerate("abc")}
    released = mechanism.Descents().answer(Step(descent=plan, number=0, weights=weights), rows, Counted())
    result = field_at(plan, weights).gradients(released.values)
    field = field_at(plan, weights)
    places = weights[0].astype(float)
    whole = np.hstack([places, field.labels()[:, None]]) if labelled else places
    codes = EVERY if labelled else EVERY[:, :2]
    wanted = gradients_only(kernel.seen(codes, whole, gradients=True), kernel).sum(0).reshape(result.shape)
    assert np.allclose(result, wanted, rtol=0.002, atol=0.002)


@pytest.mark.parametrize(("labelled", "widths"), LAYOUTS)
@pytest.mark.parametrize("spread", [0.02, 0.3, 2.0])
def test_a_rows_whitened_gradient_is_no_longer_than_one_before_any_clip(labelled, widths, spread):
    """The kernel's own bound: what is clipped is rounding. Where points surround the rows it is nearly reached."""
    longest = 0.0
    for seed in range(10):
        plan = descent(labelled, widths, points=12)
        weights = at(plan, spread=spread, seed=seed)
        many = mechanism.PerExampleGradients(plan)
        many.at(weights)
        for rows, _ in many.shares(EVERY if labelled else EVERY[:, :2]):  # each label's at its own points
            lengths = np.linalg.norm(many.of(rows, np.zeros((128, 0))).numpy(), axis=1)
            assert lengths.max() <= 1 + 1e-9
            longest = max(longest, lengths.max())
    assert longest > (0.8 if (widths, spread) == (1, 0.3) else 0)


@pytest.mark.parametrize(("labelled", "widths"), LAYOUTS)
@pytest.mark.parametrize("sigma", [0.5, 40.0])
def test_all_neighbours_move_the_sum_by_at_most_the_charge(labelled, widths, sigma):
    plan = descent(labelled, widths, sigma=sigma)
    weights = at(plan)

    def reported(codes):
        rows = {n: np.array([c[i] for c in codes], dtype=np.int64) for i, n in enumerate("abc")}
        return mechanism.Descents().answer(Step(descent=plan, number=0, weights=weights), rows, Counted()).values

    before = reported(EVERY)
    alone = [reported([row]) for row in EVERY]
    moves = [np.linalg.norm(reported([*EVERY, row]) - before) for row in EVERY]
    swaps = [np.linalg.norm(one - other) for one in alone for other in alone]
    step = Step(descent=plan, number=0, weights=weights)
    charged = {r: mechanism.Descents().events(step, Adjacency(relation=r))[0] for r in Relation}
    assert max(moves) <= charged[Relation.ADD_REMOVE].sensitivity == 1.0
    assert max(swaps) <= 2.0
    assert isinstance(charged[Relation.ZERO_OUT], PoissonSampledDpEvent)
    assert isinstance(charged[Relation.REPLACE_ONE], PoissonSampledReplacedDpEvent)
    assert charged[Relation.ADD_REMOVE].count == 3
    assert charged[Relation.ADD_REMOVE].sigma == sigma


@pytest.mark.parametrize("label", [None, 0, 1])
def test_a_machine_on_which_a_rows_place_counts_is_refused_whatever_its_label(monkeypatch, label):
    """The last bit of one label's rows depends on where they stand: no first step is answered."""
    exact = KernelField.numbers

    def numbers(field, rows):
        own = 1.0 if label is None else rows[0, field.start + label]
        return exact(field, rows) * (1 + 2.0**-52 * own * torch.arange(len(rows), dtype=torch.float64)[:, None])

    plan = descent(label is not None)
    step, codes = Step(descent=plan, number=0, weights=at(plan)), {n: EVERY[:, i] for i, n in enumerate("abc")}
    mechanism.check_places(step)
    monkeypatch.setattr(KernelField, "numbers", numbers)
    with pytest.raises(UsageError, match="where a row stands"):
        mechanism.Descents().answer(step, codes, Counted())


@pytest.mark.parametrize("factor", [0.93, 1.0, 1.07])
def test_noise_is_the_stated_one_no_less_and_no_more(factor):
    """Whitened numbers of an empty table: 20,000 squares at |z| < 4.9 (one false alarm in a million), and the shape."""
    plan = descent(True, 2, points=400, sigma=3.0 * factor)
    assert plan.weights == 2000
    step, empty = Step(descent=plan, number=0, weights=at(plan)), {n: np.zeros(0, np.int64) for n in "abc"}
    draws = np.concatenate([mechanism.Descents().answer(step, empty, SystemNoise()).values for _ in range(10)]) / 3.0
    z = (np.sum(draws**2) - draws.size) / np.sqrt(2 * draws.size)
    assert (abs(z) < 4.9) == (factor == 1.0)


@pytest.mark.parametrize(
    "change",
    [
        {"coordinates": np.zeros((3, 2))},
        {"scales": ()},
        {"scales": (0.0,)},
        {"label": 5},
        {"coordinates": np.full((7, 5), np.inf)},
    ],
)
def test_a_kernel_without_sense_is_no_question(change):
    with pytest.raises(ValueError, match="kernel"):
        replace(descent(True), **change)
