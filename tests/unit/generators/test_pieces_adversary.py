"""An adversary moves once a step, though memory runs out on the way."""

import numpy as np
import pytest
import torch

from synth.generators.micro_batches import Pieces
from synth.generators.papers.descent import slopes
from tests.unit.generators.embedding_helpers import waves


def test_an_adversary_moves_once_a_step_though_memory_runs_out():
    """PEARL's weights change with each look at the misfit: a refused way back does not make it look again."""
    rng = np.random.default_rng(0)
    game = waves(rng.normal(size=(4, 50)), rng.normal(size=100), sigma=0.1, speed=0.1)
    looks, pieces = [], Pieces()
    misfit, grad, calls = game.misfit, torch.autograd.grad, []

    def counted(means):
        looks.append(1)
        return misfit(means)

    def full(*args, **kwargs):
        calls.append(1)
        if len(calls) == 2:  # the first is the misfit's
            raise torch.OutOfMemoryError
        return grad(*args, **kwargs)

    share = torch.full((1, 8), 1 / 8)
    parts = [torch.softmax(torch.as_tensor(rng.normal(size=(1, 8, 4)), dtype=torch.float32), -1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(game, "misfit", counted)
        patch.setattr(torch.autograd, "grad", full)
        _, pulls = slopes(game, share, parts, pieces)
    assert len(looks) == 1
    assert pieces.size == 4
    game.speed = 0.0  # with the weights that the step ended with
    for got, want in zip(pulls, slopes(game, share, parts, Pieces())[1], strict=True):
        torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-5)
