"""dp_kernel step by step: the budget is spent and no more, every variant learns, and only what is sound is allowed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from synth.errors import UsageError
from synth.generators.base import Fit
from synth.generators.papers import stepwise
from synth.generators.papers.dp_kernel import DPKernel
from synth.numeric import networks
from synth.privacy.relation import Relation
from synth.questions import DescentRelease
from tests.laws.kernel_points import at, descent, field_at
from tests.unit.generators import helpers
from tests.unit.generators.embedding_helpers import CHAIN, chain, pair_error

METHOD = DPKernel(form="stepwise", steps=60, rate=0.1, points=24, lengthscale=1.0, widths=2)


def measured(method, *, rows=3000, epsilon=8.0, **more):
    return helpers.measured(method, chain(rows), CHAIN, epsilon=epsilon, **more)


def model_of(method, releases, setting):
    return method.fit(releases, setting, Fit(np.random.default_rng(0)))


@pytest.mark.parametrize("relation", Relation)
def test_the_whole_budget_is_spent_and_no_more(relation):
    releases, _, curator = measured(replace(METHOD, steps=5), relation=relation, epsilon=2.0)
    assert 0.97 * 2.0 < curator.epsilon_derived <= 2.0
    assert isinstance(releases[-1], DescentRelease)


@pytest.mark.parametrize("variant", ["joint", "conditional", "parallel"])
def test_a_generator_for_all_labels_or_for_each_learns_how_columns_go_together(variant):
    """Of b and d, which agree in the table nine times in ten and half the time in independent columns; where the label
    is a column like others it takes more steps."""
    method = replace(METHOD, variant=variant, steps=200 if variant == "joint" else 60)
    releases, setting, _ = measured(method, rows=30_000)
    weights = releases[-1].weights
    assert len(weights) == (12 if variant == "parallel" else 6)
    rows = model_of(method, releases, setting).sample(4000, rng=np.random.default_rng(1))
    real = chain(30_000)
    assert abs(np.mean(rows["d"]) - np.mean(real["d"])) < 0.06
    assert 0.6 < np.mean((rows["b"] >= 15) == (rows["d"] == 1)) < 0.9
    permuted = {n: np.random.default_rng(i).permutation(codes) for i, (n, codes) in enumerate(rows.items())}
    assert pair_error(real, rows) < 0.8 * pair_error(real, permuted)


def test_the_steps_of_another_training_are_refused():
    releases, setting, _ = measured(replace(METHOD, steps=2))
    other = replace(releases[-1], question=replace(releases[-1].question, network="critic"))
    with pytest.raises(UsageError, match="another training"):
        model_of(METHOD, [*releases[:-1], other], setting)


@pytest.mark.parametrize("options", [{"gradients": "joint"}, {"points": 0}, {"rate": 0.0}])
def test_what_does_not_go_together_is_refused(options):
    with pytest.raises(UsageError, match="option"):
        replace(METHOD, **options).check_options()


@pytest.mark.parametrize("labelled", [False, True])
def test_generated_points_push_each_other_apart_as_their_kernel_says(labelled):
    """Half the gradient of sum a_i a_j k(w_i, w_j), by automatic differentiation; weights taken out."""
    plan = descent(labelled, 2)
    field = field_at(plan, at(plan))
    weight = torch.linspace(0.1, 0.4, plan.hidden, dtype=torch.float64)
    points = field.points.detach().double().requires_grad_()
    square = (points[:, None] - points).square().sum(2)
    same = torch.from_numpy(field.labels()[:, None] == field.labels())
    kernel = sum(torch.exp(-square / (2 * s**2)) for s in plan.scales) / len(plan.scales) * same
    (slope,) = torch.autograd.grad((weight[:, None] * weight * kernel).sum() / 2, points)
    assert torch.allclose(weight[:, None] * stepwise.repulsion(field, weight), slope, atol=1e-9)
    assert networks.arrays(field)[0].shape == (plan.hidden, 5)
