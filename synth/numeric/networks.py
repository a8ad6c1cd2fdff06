"""Small networks that curator and generators know: the curator differentiates them on rows, a generator uses them.

A row is one-hot, (batch, G) with one unit for each column: the groups of all columns side by side. Weights travel as
arrays, in the order in which a network lists its parameters.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import sqrt
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from synth.numeric import kernel_field, row_models
from synth.numeric.row_models import SLOPE
from synth.questions.gradients import (
    AUTOENCODER,
    CLASSIFIER,
    CRITIC,
    DENOISER,
    FLOW,
    KERNEL,
    KNOTS,
    TRANSPORT,
    Descent,
)

Module = TypeVar("Module", bound=nn.Module)
NARROWEST, WIDEST = -6.0, 2.0  # log variance of a latent draw, kept within


class Critic(nn.Module):
    """One score a row, (batch,): high where the row looks real."""

    def __init__(self, sizes: Sequence[int], *, hidden: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(sum(sizes), hidden),
            nn.LeakyReLU(SLOPE),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(SLOPE),
            nn.Linear(hidden, 1),
        )

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Scores of one-hot rows."""
        return self.layers(rows)[:, 0]

    def losses(self, rows: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        """What each real row adds to the critic's loss, (batch,): -log of its chance of being called real."""
        return nn.functional.softplus(-self(rows))


class Autoencoder(nn.Module):
    """A row to the law of a latent draw (``latent`` numbers), and a draw to a distribution for each column.

    Latent draws of synthetic rows are normal, or ``splines`` from normal ones that are trained with all else.
    """

    def __init__(self, sizes: Sequence[int], *, hidden: int, latent: int, splines: int = 0) -> None:
        super().__init__()
        self.sizes, self.latent = list(sizes), latent
        self.splines: Any = None  # the decoder's bias is the last parameter with and without them
        if splines:
            self.splines = row_models.spline(latent, hidden=hidden, knots=KNOTS, transforms=splines)
        self.encoder = nn.Sequential(nn.Linear(sum(sizes), hidden), nn.LeakyReLU(SLOPE), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.LeakyReLU(SLOPE), nn.Linear(hidden, sum(sizes)))

    def forward(self, rows: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
        """Each row's negative evidence bound, (batch,), from one latent draw each.

        **Source**: Kingma and Welling, arXiv 1312.6114, equation 10; with splines equation 6.
        """
        mean, spread = self.encoder(rows).split(self.latent, dim=-1)
        spread = spread.clamp(NARROWEST, WIDEST)
        place = mean + draws * torch.exp(spread / 2)
        heads = zip(self.decoder(place).split(self.sizes, dim=-1), rows.split(self.sizes, dim=-1), strict=True)
        misfit = sum(-(row * nn.functional.log_softmax(head, dim=-1)).sum(-1) for head, row in heads)
        if self.splines is None:
            return misfit + 0.5 * (mean**2 + spread.exp() - spread - 1).sum(-1)
        scores, volume = self.splines().call_and_ladj(place)
        return misfit + 0.5 * (scores**2 - spread - draws**2).sum(-1) - volume

    losses = forward

    def distributions(self, draws: torch.Tensor) -> torch.Tensor:
        """Probabilities (batch, G) at standard normal draws, which sum to one over each column's groups."""
        heads = self.decoder(draws if self.splines is None else self.splines().inv(draws)).split(self.sizes, dim=1)
        return torch.cat([torch.softmax(h, dim=1) for h in heads], dim=1)


def critic(sizes: Sequence[int], *, hidden: int) -> Critic:
    """A critic, its weights all zero until ``load`` sets them.

    >>> len(arrays(critic([2, 3], hidden=4)))
    6
    """
    with row_models.undrawn():
        return zeroed(Critic(sizes, hidden=hidden))


def of(plan: Descent) -> nn.Module:
    """The network whose gradients a descent tells, its weights all zero."""
    sizes, hidden, depth = plan.sizes, plan.hidden, plan.depth
    known: dict[str, Callable[[], nn.Module]] = {
        CRITIC: lambda: Critic(sizes, hidden=hidden),
        AUTOENCODER: lambda: Autoencoder(sizes, hidden=hidden, latent=plan.latent, splines=depth),
        FLOW: lambda: row_models.Flow(sizes, hidden=hidden, knots=depth, shares=plan.shares),
        DENOISER: lambda: row_models.Denoiser(sizes, hidden=hidden, copies=depth),
        TRANSPORT: lambda: row_models.Transport(sum(sizes), count=hidden, blur=plan.scale),
        CLASSIFIER: lambda: row_models.Classifier(sizes, hidden=hidden, target=depth),
        KERNEL: lambda: kernel_field.KernelField(plan),
    }
    with row_models.undrawn():
        return zeroed(known[plan.network]())


def zeroed(made: Module) -> Module:
    """The same network, its weights all zero."""
    with torch.no_grad():
        for p in made.parameters():
            p.zero_()
    return made


def arrays(made: nn.Module) -> tuple[np.ndarray, ...]:
    """Copies of the weights, float32."""
    return tuple(p.detach().numpy().copy() for p in made.parameters())


def load(made: nn.Module, weights: Sequence[np.ndarray]) -> None:
    """Sets the weights, in place."""
    with torch.no_grad():
        for p, w in zip(made.parameters(), weights, strict=True):
            p.copy_(torch.from_numpy(np.asarray(w, dtype=np.float32)))


def start(made: nn.Module, *, rng: np.random.Generator) -> None:
    """Fresh weights by He's normal initialisation from ``rng``, biases zero; the last layer of each part is small."""
    for part in made.children():
        linear = [m for m in part.modules() if isinstance(m, nn.Linear)]
        for layer, scale in zip(linear, [sqrt(2.0)] * (len(linear) - 1) + [0.5], strict=True):
            wide = layer.weight.shape[1]
            drawn = rng.standard_normal(tuple(layer.weight.shape)) * scale / sqrt(wide)
            load_one(layer.weight, drawn)
            load_one(layer.bias, np.zeros(layer.bias.shape))


def straighten(splines: nn.Module) -> None:
    """Sets splines to the identity: the last layer of each conditioner zero."""
    for part in splines.transforms:  # type: ignore[union-attr]
        for parameter in list(part.parameters())[-2:]:
            load_one(parameter, np.zeros(parameter.shape))


def load_one(parameter: torch.Tensor, values: np.ndarray) -> None:
    """Sets one parameter, in place."""
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(values.astype(np.float32)))


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one processor: matrices are so small that more threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_hot(codes: np.ndarray, sizes: Sequence[int]) -> torch.Tensor:
    """Group numbers (n, columns) as float32 (n, G); a number below zero has no unit.

    >>> one_hot(np.array([[1, 0], [0, -1]]), [2, 3]).tolist()
    [[0.0, 1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]]
    """
    made = np.zeros((len(codes), sum(sizes)), dtype=np.float32)
    offsets = np.cumsum([0, *sizes])[:-1]
    row, column = np.nonzero(codes >= 0)
    made[row, (codes + offsets)[row, column]] = 1.0
    return torch.from_numpy(made)
