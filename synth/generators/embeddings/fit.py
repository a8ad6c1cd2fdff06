"""Fit of a mixture of product distributions to a noisy embedding: any loss that torch can differentiate.

A feature map of these methods has a closed-form expectation under a product distribution, hence under a mixture
of them: the loss and its gradient are exact, no row is ever drawn for them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, pi
from typing import Protocol

import numpy as np
import torch

from synth.generators.base import Progress, Share

BETA_MEAN, BETA_SQUARE = 0.9, 0.99  # Adam's averages; the steps are few, hence the short second one
CHECK = 10  # steps between looks at the stopping rule
FLOOR = 1e-6  # least starting probability of a group

Parts = list[torch.Tensor]  # for each column the group probabilities of every component, (E, B, G_j)


class Loss(Protocol):
    """A distance between a model's embedding and the released one; ``goal``: its value for the truth, about."""

    @property
    def goal(self) -> float: ...

    def __call__(self, share: torch.Tensor, parts: Parts) -> torch.Tensor:
        """Mean over the ensemble, of mixtures with component weights ``share`` (E, B)."""
        ...


@dataclass(frozen=True, kw_only=True)
class Options:
    """``ensembles`` mixtures of ``components``; Adam for at most ``steps``, its ``rate`` falling to a tenth.

    ``spread``: deviation of the starting logits around the one-ways. ``stop``: the fit ends when its loss falls to
    this share of the loss's goal, where it begins to follow the noise.
    """

    components: int = 100
    ensembles: int = 1
    steps: int = 300
    rate: float = 0.1
    last_rate: float = 0.01
    spread: float = 0.5
    stop: float = 0.9


class State:
    """Parameters of an ensemble of mixtures, moved by ``descend``."""

    def __init__(self, mass: Sequence[np.ndarray], options: Options, *, rng: np.random.Generator, device: str):
        shape = (options.ensembles, options.components)
        self.logits = []
        for one_way in mass:
            noise = options.spread * rng.standard_normal((*shape, len(one_way)))
            start = np.log(np.maximum(one_way, FLOOR)) + noise
            self.logits.append(torch.as_tensor(start, dtype=torch.float32, device=device).requires_grad_())
        self.weights = torch.zeros(shape, dtype=torch.float32, device=device).requires_grad_()
        self.options = options

    def __call__(self) -> tuple[torch.Tensor, Parts]:
        """Component weights (E, B) and each column's group probabilities (E, B, G_j)."""
        return torch.softmax(self.weights, -1), [torch.softmax(x, -1) for x in self.logits]

    @property
    def variables(self) -> list[torch.Tensor]:
        """What moves."""
        return [self.weights, *self.logits]

    def arrays(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """All mixtures as one: weights (E*B,) and group probabilities (E*B, G_j), float64."""
        with torch.no_grad():
            share, parts = self()
        flat = [p.flatten(0, 1).double().cpu().numpy() for p in parts]
        return (share / len(share)).flatten().double().cpu().numpy(), flat


class Movable(Protocol):
    """Parameters of a model: a mixture's own, or a network's."""

    def __call__(self) -> tuple[torch.Tensor, Parts]: ...

    @property
    def variables(self) -> list[torch.Tensor]: ...


def descend(
    state: Movable, loss: Loss, options: Options, *, progress: Progress, after: Callable[[int], None] | None = None
) -> float:
    """Moves the parameters in place until the loss falls to its goal; the loss when last looked at.

    ``after``: called with each step's number, for losses that change as the fit goes on.
    """
    adam = [_Adam(v) for v in state.variables]
    seen = 0.0
    for step in range(options.steps):
        value = loss(*state())
        if step % CHECK == 0:
            seen = float(value.detach())
            progress(Share(step / options.steps, loss=seen))
            if seen < options.stop * loss.goal:
                break
        gradients = torch.autograd.grad(value, state.variables, allow_unused=True)
        fall = 0.5 * (1 + cos(pi * step / options.steps))
        rate = options.last_rate + (options.rate - options.last_rate) * fall
        with torch.no_grad():
            for variable, gradient in zip(adam, gradients, strict=True):
                if gradient is not None:
                    variable.move(gradient, step=step + 1, rate=rate)
        if after is not None:
            after(step)
    return seen


class _Adam:
    """Kingma and Ba, arXiv 1412.6980, Algorithm 1; written out, since building torch.optim takes seconds."""

    def __init__(self, x: torch.Tensor):
        self.x, self.mean, self.square = x, torch.zeros_like(x), torch.zeros_like(x)

    def move(self, gradient: torch.Tensor, *, step: int, rate: float) -> None:
        self.mean.mul_(BETA_MEAN).add_(gradient, alpha=1 - BETA_MEAN)
        self.square.mul_(BETA_SQUARE).addcmul_(gradient, gradient, value=1 - BETA_SQUARE)
        scale = rate * (1 - BETA_SQUARE**step) ** 0.5 / (1 - BETA_MEAN**step)
        self.x.addcdiv_(self.mean, self.square.sqrt().add_(1e-12), value=-scale)


class OneWays:
    """Misfit of the mixture's one-ways: squared errors by precision; added to every other loss."""

    def __init__(self, mass: Sequence[np.ndarray], precision: Sequence[np.ndarray], *, device: str):
        self.mass = [real(m, device) for m in mass]
        self.precision = [real(p, device) for p in precision]

    def __call__(self, share: torch.Tensor, parts: Parts) -> torch.Tensor:
        total = share.new_zeros(())
        for p, mass, precision in zip(parts, self.mass, self.precision, strict=True):
            off = torch.einsum("eb,ebg->eg", share, p) - mass
            total = total + (off.square() * precision).sum() / len(share)
        return total


class Sum:
    """A loss and the one-ways' misfit. The goal is the first one's: one-ways have fewer cells by far."""

    def __init__(self, loss: Loss, one_ways: OneWays):
        self.loss, self.one_ways = loss, one_ways

    @property
    def goal(self) -> float:
        return self.loss.goal

    def __call__(self, share: torch.Tensor, parts: Parts) -> torch.Tensor:
        return self.loss(share, parts) + self.one_ways(share, parts)


def real(x: np.ndarray, device: str) -> torch.Tensor:
    """The array as float32 on the device."""
    return torch.as_tensor(np.array(x, dtype=np.float32), device=device)
