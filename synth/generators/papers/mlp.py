"""A neural generator of rows: hidden draws through layers into a distribution for each column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import cos, pi, sqrt

import numpy as np

from synth.generators.base import Progress, Share
from synth.generators.core import solver
from synth.lazy import torch

HIDDEN = 64  # length of the hidden draw z
WIDTHS = (256, 256)  # of the layers between
STEEPEST = 40.0  # logits beyond are cut off: exp() stays finite
CHUNK = 4096  # hidden draws evaluated at a time
RETAINED = 2000  # hidden draws that make the final mixture
PUBLIC_SEED = 20180714  # initial weights and generated rows while training: anybody can draw them again


def generator(rng: np.random.Generator, device: str) -> torch.Generator:
    """Torch's source of random numbers on a device, seeded by ``rng``: torch's global one is never touched."""
    return torch.Generator(device=device).manual_seed(int(rng.integers(2**62)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """Layers of rectified units from z (batch, ``HIDDEN``) to one softmax head for each column.

    ``sizes``: groups of each column, G in all. ``layers``: weights (in, out) and biases (out,) in turn, leaves of
    the gradient. Given z columns are independent: many z's make a mixture of product distributions.
    """

    sizes: tuple[int, ...]
    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]
    column: torch.Tensor
    source: torch.Generator

    @classmethod
    def of(cls, weights: Sequence[np.ndarray], sizes: Sequence[int], *, rng: np.random.Generator) -> Network:
        """A trained network, of its layers' weights and biases in turn."""
        pairs = zip(weights[0::2], weights[1::2], strict=True)
        layers = tuple((torch.from_numpy(np.array(w)), torch.from_numpy(np.array(b))) for w, b in pairs)
        column = torch.as_tensor(np.repeat(np.arange(len(sizes)), sizes))
        return cls(sizes=tuple(sizes), layers=layers, column=column, source=generator(rng, "cpu"))

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All weights and biases."""
        return [x for layer in self.layers for x in layer]

    @property
    def device(self) -> torch.device:
        """Where it lives."""
        return self.column.device

    def hidden(self, batch: int) -> torch.Tensor:
        """Standard normal draws (batch, ``HIDDEN``)."""
        return torch.empty((batch, HIDDEN), device=self.device).normal_(generator=self.source)

    def logits(self, z: torch.Tensor) -> torch.Tensor:
        """Scores (batch, G) before the softmax of each head."""
        for weight, bias in self.layers[:-1]:
            z = torch.relu(torch.addmm(bias, z, weight))
        weight, bias = self.layers[-1]
        return torch.addmm(bias, z, weight)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Probabilities (batch, G); they sum to one over each column's groups."""
        return self._heads(self.logits(z))

    def drawn(self, z: torch.Tensor, *, temperature: float = 0.7, hard: bool = False) -> torch.Tensor:
        """Rows nearly one-hot (batch, G), differentiable: a Gumbel-softmax draw from each head.

        Their mean lies nearer to even shares than the heads do (.75 for .8 at the usual temperature). With ``hard``
        rows are one-hot and follow the heads exactly; the gradient is that of the soft ones (straight through).
        **Source**: Jang, Gu, Poole, arXiv 1611.01144, equation 2 and section 2.2.
        """
        logits = self.logits(z).clamp(-STEEPEST, STEEPEST)
        spread = torch.empty_like(logits).exponential_(generator=self.source).clamp_min(1e-20)
        scores = logits - torch.log(spread)
        soft = self._heads(scores / temperature)
        if not hard:
            return soft
        best = self._highest(scores).index_select(1, self.column)
        return (scores == best).to(soft.dtype) + soft - soft.detach()

    def _heads(self, logits: torch.Tensor) -> torch.Tensor:
        """Softmax over the groups of each column. Columns that lie far below the highest score get its share."""
        lifted = logits - self._highest(logits).index_select(1, self.column)
        grown = torch.exp(lifted.clamp_min(-2 * STEEPEST))
        sums = grown.new_zeros((len(grown), len(self.sizes))).index_add(1, self.column, grown)
        return grown / sums.index_select(1, self.column)

    def _highest(self, logits: torch.Tensor) -> torch.Tensor:
        """Highest score of each head (batch, columns), without a gradient."""
        flat = logits.detach()
        at = self.column.expand_as(flat)
        low = flat.new_full((len(flat), len(self.sizes)), -torch.inf)
        return low.scatter_reduce(1, at, flat, "amax")


def network(
    sizes: Sequence[int],
    *,
    rng: np.random.Generator,
    device: str = "cpu",
    start: np.ndarray | None = None,
    widths: Sequence[int] = WIDTHS,
    spread: float = 0.5,
) -> Network:
    """A network with fresh weights (He's normal initialisation), all drawn from ``rng``.

    ``start`` (G,): probabilities that the heads begin around, such as the noisy one-ways; ``spread``: deviation of
    the first logits around them, about.

    >>> made = network([2, 3], rng=np.random.default_rng(0))
    >>> made.forward(made.hidden(4)).shape
    torch.Size([4, 5])
    """
    groups = int(sum(sizes))
    ends = [HIDDEN, *widths, groups]
    layers = []
    for i, (wide, out) in enumerate(pairwise(ends)):
        weight = rng.standard_normal((wide, out)) * sqrt((2.0 if i < len(widths) else spread**2) / wide)
        last = start is not None and i == len(widths)
        bias = np.log(np.maximum(np.asarray(start), 1e-6)) if last else np.zeros(out)
        layers.append((_leaf(weight, device), _leaf(bias, device)))
    column = torch.as_tensor(np.repeat(np.arange(len(sizes)), sizes), device=device)
    source = generator(rng, device)
    return Network(sizes=tuple(int(s) for s in sizes), layers=tuple(layers), column=column, source=source)


def _leaf(x: np.ndarray, device: str) -> torch.Tensor:
    return torch.as_tensor(x, dtype=torch.float32, device=device).requires_grad_(True)


class Adam(solver.Adam):
    """With the averages of the text, for many steps."""

    beta_square, least = 0.999, 1e-8


def train(
    parameters: Sequence[torch.Tensor],
    loss: Callable[[], torch.Tensor],
    *,
    steps: int,
    rate: float = 1e-3,
    last_rate: float = 1e-4,
    progress: Progress,
) -> None:
    """Moves the parameters down ``loss``, called afresh each step; the rate falls along a cosine."""
    adam = Adam(parameters)
    for step in range(steps):
        fall = 0.5 * (1 + cos(pi * step / steps))
        value = loss()
        if step % 10 == 0:
            progress(Share(step / steps, loss=float(value.detach())))
        gradients = torch.autograd.grad(value, adam.parameters)
        adam.move(gradients, rate=last_rate + (rate - last_rate) * fall)


def components(made: Network, count: int, *, rng: np.random.Generator) -> np.ndarray:
    """The network's distributions at ``count`` fresh z's, (count, G) float64: components of equal weight."""
    parts = []
    with torch.no_grad():
        for start in range(0, count, CHUNK):
            z = rng.standard_normal((min(CHUNK, count - start), HIDDEN))
            parts.append(made.forward(torch.as_tensor(z, dtype=torch.float32, device=made.device)).double().cpu())
    return torch.cat(parts).numpy()


class Average:
    """A running mean of weights: the last steps of a noisy training, averaged."""

    def __init__(self, parameters: Sequence[torch.Tensor], *, keep: float = 0.98) -> None:
        self.parameters, self.keep = list(parameters), keep
        self.means = [torch.zeros_like(p) for p in self.parameters]
        self.weight = 0.0

    def note(self) -> None:
        """Adds the weights as they stand."""
        self.weight = self.keep * self.weight + 1 - self.keep
        with torch.no_grad():
            for mean, p in zip(self.means, self.parameters, strict=True):
                mean.mul_(self.keep).add_(p, alpha=1 - self.keep)

    def arrays(self) -> tuple[np.ndarray, ...]:
        """The mean, float32; the weights as they stand where nothing was noted."""
        if self.weight == 0:
            return tuple(p.detach().numpy().copy() for p in self.parameters)
        return tuple((m / self.weight).numpy().copy() for m in self.means)
