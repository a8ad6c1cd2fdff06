"""Memory that runs out: the step is done in pieces, with the whole's result, and the size is found once."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from synth.errors import UsageError
from synth.generators.base import Fit
from synth.generators.core.problem import Problem, TableMatrix
from synth.generators.core.solver import Options, Surface, fit_mixture
from synth.generators.micro_batches import Pieces, enough, summed
from synth.generators.papers import slice_training as training
from synth.generators.papers.embeddings import TensorDistance
from synth.generators.papers.slice_training import divergence, wasserstein
from synth.privacy.noise import SeededNoise
from tests.unit.generators.embedding_helpers import ROWS, SMALL, measured
from tests.unit.generators.helpers import fitted
from tests.unit.generators.simulated_slices import simulated


@pytest.fixture(autouse=True)
def bounded(monkeypatch):
    """This processor counts as a device whose memory can run out."""
    monkeypatch.setattr("synth.generators.micro_batches.BOUNDLESS", set())
    monkeypatch.setattr("synth.generators.papers.descent.BOUNDLESS", set())


class Small(TorchDispatchMode):
    """A device on which no operation, forth or back, may make more than ``most`` numbers."""

    def __init__(self, most: int):
        super().__init__()
        self.most, self.refused, self.largest = most, 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for x in made if isinstance(made, tuple | list) else [made]:
            if isinstance(x, torch.Tensor) and not func.is_view:
                self.largest = max(self.largest, x.numel())
                if x.numel() > self.most:
                    self.refused += 1
                    raise torch.OutOfMemoryError("CUDA out of memory")
        return made


def test_all_are_done_once_in_order_and_the_size_is_kept():
    pieces, calls = Pieces(), []

    def work(part):
        calls.append(part.stop - part.start)
        if calls[-1] > 3:
            raise torch.OutOfMemoryError
        return list(range(part.start, part.stop))

    for _ in range(2):
        assert [i for made in pieces.run(11, work) for i in made] == list(range(11))
    assert calls == [11, 6, 3, 3, 3, 2, 3, 3, 3, 2]
    assert pieces.size == 3


def test_one_that_is_too_large_alone_is_told_with_the_way_out():
    def work(_):
        raise torch.OutOfMemoryError("CUDA out of memory. GPU 0 has ...")

    with (
        pytest.raises(UsageError, match=r"for the fit, even .* `device=cpu`.* fewer slices") as reported,
        enough("the fit", fewer="slices"),
    ):
        list(Pieces().run(4, work))
    assert "CUDA" not in str(reported.value)


def test_an_error_of_another_kind_is_not_taken_for_a_lack_of_memory():
    def work(_):
        raise RuntimeError("shapes")

    pieces = Pieces()
    with pytest.raises(RuntimeError, match="shapes"):
        list(pieces.run(4, work))
    assert pieces.size is None


def tables():
    """Three columns of 12 groups, pairs and a part of all three: 8 mixtures' tables fill most of a step's memory."""
    rng = np.random.default_rng(0)
    spans = np.split(np.arange(36), 3)
    pairs = [(0, 1), (0, 2), (1, 2)]
    truth = rng.dirichlet(np.full(12**3, 0.05)).reshape(12, 12, 12)
    sums = [truth.sum(({0, 1, 2} - set(p)).pop()) for p in pairs]
    blocks = [
        TableMatrix(rows=spans[a], cols=spans[b], y=t, precision=np.full((12, 12), 1e5))
        for (a, b), t in zip(pairs, sums, strict=True)
    ]
    mass = np.concatenate([sums[0].sum(1), sums[0].sum(0), sums[1].sum(0)])
    joint = np.stack([np.repeat(spans[1][:5], 12), np.tile(spans[2], 5)])
    whole = truth[:, :5].reshape(12, 60)
    blocks.append(TableMatrix(rows=spans[0], cols=36 + np.arange(60), y=whole, precision=np.full((12, 60), 1e5)))
    return Problem(
        column=np.repeat([0, 1, 2], 12),
        mass=mass,
        precision=np.full(36, 1e4),
        member=np.stack([np.arange(36)] * 2),
        joint=joint,
        blocks=blocks,
    )


def fitted_mixture(most):
    """Weights and probabilities of a short fit whose mixtures are joined half-way; the device."""
    options = Options(components=16, ensembles=8, steps=20, stop=0.0)
    with Small(most) as device:
        result = fit_mixture(tables(), options, rng=np.random.default_rng(0), device="cpu", progress=lambda _: None)
    return result, device


def test_a_mixture_whose_ensemble_does_not_fit_is_fitted_in_pieces():
    """A table's side is 60 wide, parameters 36: a limit between them refuses a step of all, not what it keeps."""
    whole, roomy = fitted_mixture(10**9)
    assert roomy.refused == 0
    limit = 8 * 16 * 36
    assert roomy.largest > limit
    pieces, device = fitted_mixture(limit)
    assert device.largest > limit
    assert 1 <= device.refused <= 3  # in 40 steps: the size is kept
    for a, b in zip(whole, pieces, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)


def test_a_single_mixture_that_does_not_fit_is_told(monkeypatch):
    refused = []

    def full(_, logits, weights, some):
        assert some is None
        assert len(logits) == len(weights)
        refused.append(len(logits))
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Surface, "_gradient", full)
    with pytest.raises(UsageError, match=r"fit of a mixture.*`device=cpu`"):
        fitted_mixture(10**9)
    assert refused == [8, 4, 2, 1]


def slices(*, k):
    rng = np.random.default_rng(1)
    real, fake = (torch.as_tensor(rng.normal(m, 1, (12, 40, k)), dtype=torch.float32) for m in (0, 0.5))
    return real, fake.requires_grad_()


@pytest.mark.parametrize(("kind", "k"), [("kl", 1), ("chi2", 3)])
def test_a_divergence_of_slices_in_pieces_is_the_whole_one(kind, k):
    """Value and gradient, where the device holds the kernels of four slices of twelve."""

    def distance(x, y):
        return divergence(x, y, kind=kind, ridge=0.5)

    real, fake = slices(k=k)
    want = distance(real, fake)
    slope = torch.autograd.grad(want, fake)[0]
    pieces = Pieces()
    for refused in (2, 0):  # the second step begins with the size that the first one found
        with Small(4 * 40 * 40) as device:
            reported = training.apart(distance, pieces, real, fake)
            result = torch.autograd.grad(reported, fake)[0]
        assert device.refused == refused
        torch.testing.assert_close(reported, want, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(result, slope, rtol=1e-3, atol=1e-6)
    assert pieces.size == 3


def test_memory_that_runs_out_on_the_way_back_is_met_too():
    """A distance that is small forth and large back."""

    class Wide(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.square().sum()

        @staticmethod
        def backward(ctx, slope):
            (x,) = ctx.saved_tensors
            return (x[..., None] * torch.full((100,), 0.02)).sum(-1) * slope

    x = torch.arange(8.0, requires_grad=True)
    pieces = Pieces()
    with Small(400) as device:
        value = summed(pieces, 8, x, lambda y, part: Wide.apply(y[part]))
        slope = torch.autograd.grad(value, x)[0]
    assert device.refused == 1
    assert pieces.size == 4
    assert float(value.detach()) == 140.0
    torch.testing.assert_close(slope, 2 * x.detach())


def test_wassersteins_distance_in_pieces_is_the_whole_one():
    real, fake = slices(k=1)
    want = wasserstein(real, fake)
    pieces = Pieces()
    pieces.size = 5  # parts of 5, 5 and 2 slices: each weighs as many slices as it has
    reported = training.apart(wasserstein, pieces, real, fake)
    torch.testing.assert_close(reported, want)
    torch.testing.assert_close(torch.autograd.grad(reported, fake)[0], torch.autograd.grad(want, fake)[0])


def trained(most, *, batch):
    release, masses, _ = simulated(records=True, rows=2000, groups=200)
    by = training.Training(
        distance=lambda x, y: divergence(x, y, kind="kl", ridge=0.5),
        k=1,
        batch=batch,
        steps=5,
        num_slices=24,
        rate=1e-3,
    )
    with Small(most) as device:
        made = training.network(release, masses, 2000, by, Fit(np.random.default_rng(0)))
        probs = training.shares(made, rng=np.random.default_rng(1))
    return np.concatenate(probs, axis=1), device


def test_a_network_trained_on_slices_in_pieces_is_the_whole_ones(monkeypatch):
    """The limit holds the network and its final evaluation, and half of a step's distances."""
    whole, roomy = trained(10**9, batch=160)
    assert roomy.largest >= 24 * 160**2
    monkeypatch.setattr(training, "MANY", 400)
    whole = trained(10**9, batch=160)[0]
    pieces, device = trained(520_000, batch=160)
    assert device.refused == 1  # in five steps
    np.testing.assert_allclose(whole, pieces, atol=1e-4)


def test_a_network_whose_single_slice_does_not_fit_is_told():
    """The limit holds the network's layers, 256 wide, at 300 points, and no slice's kernel."""
    with pytest.raises(UsageError, match=r"training on slices.*`device=cpu`"):
        trained(80_000, batch=300)


MEASURED: dict = {}


def embedded(most, name):
    """A short fit to a mean embedding; the device."""
    generator = replace(SMALL[name], steps=6)
    releases, setting, _ = MEASURED.setdefault(name, measured(generator, ROWS, epsilon=4.0, noise=SeededNoise(1)))
    with Small(most) as device:
        model = fitted(generator, releases, setting)
    return model, device


def same(one, other):
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-4)
    for a, b in zip(one.axes, other.axes, strict=True):
        np.testing.assert_allclose(a.probs, b.probs, atol=1e-3)


@pytest.mark.parametrize("name", ["merf", "pearl", "ntk", "path"])
def test_a_fit_to_a_mean_embedding_in_pieces_of_its_components_is_the_whole_one(name):
    """The limit is half of the largest part of a step."""
    whole, roomy = embedded(10**9, name)
    pieces, device = embedded(roomy.largest // 2, name)
    assert roomy.refused == 0
    assert 1 <= device.refused <= 3  # in six steps of two passes
    same(whole, pieces)


def test_tensor_features_in_pieces_of_a_mixtures_components_are_the_whole_ones(monkeypatch):
    """Their features are small beside the model here, so that the fault is one of the features' own."""
    whole = embedded(10**9, "hp")[0]
    refused, means = [], TensorDistance.means

    def full(self, share, parts):
        if share.shape[1] > 30:
            refused.append(share.shape[1])
            raise torch.OutOfMemoryError("CUDA out of memory")
        return means(self, share, parts)

    monkeypatch.setattr(TensorDistance, "means", full)
    pieces = embedded(10**9, "hp")[0]
    assert refused == [64, 32]
    same(whole, pieces)


def test_an_embedding_whose_single_component_does_not_fit_is_told():
    with pytest.raises(UsageError, match=r"fit to a mean embedding.*`device=cpu`"):
        embedded(600, "merf")
