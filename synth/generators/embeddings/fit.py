"""Fit of a mixture of product distributions to a noisy embedding: any loss that torch can differentiate.

A feature map of these methods has a closed-form expectation under a product distribution, hence under a mixture
of them: the loss and its gradient are exact, no row is ever drawn for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, pi
from typing import TYPE_CHECKING, Protocol

import numpy as np

from synth.generators.base import Progress, Share
from synth.generators.marginals.adam import Adam
from synth.generators.micro_batches import BOUNDLESS, Pieces
from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

CHECK = 10  # steps between looks at the stopping rule
FLOOR = 1e-6  # least starting probability of a group

Parts = list["torch.Tensor"]  # for each column the group probabilities of every component, (E, B, G_j)


class Loss(Protocol):
    """A distance between a model's embedding and the released one; ``goal``: its value for the truth, about."""

    @property
    def goal(self) -> float: ...

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """The model's embedding, (E, ...) each, of mixtures with component weights ``share`` (E, B).

        A sum over components: those of some of them add up to that of all.
        """
        ...

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """The distance, mean over the ensemble, of these ``means``."""
        ...


class Distance(ABC):
    """A ``Loss`` that can be called with a model."""

    @abstractmethod
    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """As ``Loss.means``."""

    @abstractmethod
    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """As ``Loss.misfit``."""

    def __call__(self, share: torch.Tensor, parts: Parts) -> torch.Tensor:
        """Mean over the ensemble, of mixtures with component weights ``share`` (E, B)."""
        return self.misfit(self.means(share, parts))


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

    Where the device's memory runs out, components are worked on in pieces (``slopes``).

    ``after``: called with each step's number, for losses that change as the fit goes on.
    """
    adam = [Adam(v) for v in state.variables]
    seen, pieces = 0.0, Pieces()
    for step in range(options.steps):
        value, gradients = _step(state, loss, pieces)
        if step % CHECK == 0:
            seen = float(value)
            progress(Share(step / options.steps, loss=seen))
            if seen < options.stop * loss.goal:
                break
        fall = 0.5 * (1 + cos(pi * step / options.steps))
        rate = options.last_rate + (options.rate - options.last_rate) * fall
        with torch.no_grad():
            for variable, gradient in zip(adam, gradients, strict=True):
                if gradient is not None:
                    variable.move(gradient, step=step + 1, rate=rate)
        if after is not None:
            after(step)
    return seen


def _step(state: Movable, loss: Loss, pieces: Pieces) -> tuple[torch.Tensor, Sequence[torch.Tensor | None]]:
    """The loss, and its gradients by what moves."""
    share, parts = state()
    if share.device.type in BOUNDLESS:
        value = loss.misfit(loss.means(share, parts))
        return value.detach(), torch.autograd.grad(value, state.variables, allow_unused=True)
    value, pulls = slopes(loss, share, parts, pieces)
    free = [(x, pull) for x, pull in zip((share, *parts), pulls, strict=True) if x.requires_grad]
    made, pulled = zip(*free, strict=True)
    return value, torch.autograd.grad(made, state.variables, pulled)


def slopes(loss: Loss, share: torch.Tensor, parts: Parts, pieces: Pieces) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The loss, and its gradients by ``share`` (E, B) and each of ``parts`` (E, B, G_j).

    All components together where memory suffices. Where it does not, the embedding is summed over pieces of them, the
    misfit taken of the sum, and its gradient carried back through each piece, computed again.
    """
    leaves = [x.detach().requires_grad_() for x in (share, *parts)]
    whole: list[list[torch.Tensor]] = []  # the embedding with its graph, if it was made in one piece

    def forth(part: slice) -> list[torch.Tensor]:
        if part.stop - part.start == share.shape[1]:
            whole.append(loss.means(leaves[0], leaves[1:]))
            return [x.detach() for x in whole[-1]]
        with torch.no_grad():
            return loss.means(leaves[0][:, part], [x[:, part] for x in leaves[1:]])

    done = pieces.run(share.shape[1], forth)
    means = next(done)
    for more in done:
        means = [a + b for a, b in zip(means, more, strict=True)]
    tops = [x.requires_grad_() for x in means]
    value = loss.misfit(tops)
    slope = torch.autograd.grad(value, tops)

    def back(part: slice) -> list[torch.Tensor]:
        own = leaves if whole else [x.detach()[:, part].requires_grad_() for x in leaves]
        made = whole.pop() if whole else loss.means(own[0], own[1:])
        results = torch.autograd.grad(made, own, slope, allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for x, g in zip(own, results, strict=True)]

    result = list(pieces.run(share.shape[1], back))
    return value.detach(), result[0] if len(result) == 1 else [torch.cat(x, 1) for x in zip(*result, strict=True)]


class OneWays(Distance):
    """Misfit of the mixture's one-ways: squared errors by precision; added to every other loss."""

    def __init__(self, mass: Sequence[np.ndarray], precision: Sequence[np.ndarray], *, device: str):
        self.mass = [real(m, device) for m in mass]
        self.precision = [real(p, device) for p in precision]

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """Each column's one-way, (E, G_j)."""
        return [torch.einsum("eb,ebg->eg", share, p) for p in parts]

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """Squared errors by precision."""
        total = means[0].new_zeros(())
        for mean, mass, precision in zip(means, self.mass, self.precision, strict=True):
            total = total + ((mean - mass).square() * precision).sum() / len(mean)
        return total


class Sum(Distance):
    """A loss and the one-ways' misfit. The goal is the first one's: one-ways have fewer cells by far."""

    def __init__(self, loss: Loss, one_ways: OneWays):
        self.loss, self.one_ways = loss, one_ways

    @property
    def goal(self) -> float:
        return self.loss.goal

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """The one-ways', then the loss's own."""
        return [*self.one_ways.means(share, parts), *self.loss.means(share, parts)]

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """The sum of both."""
        columns = len(self.one_ways.mass)
        return self.loss.misfit(means[columns:]) + self.one_ways.misfit(means[:columns])


def real(x: np.ndarray, device: str) -> torch.Tensor:
    """The array as float32 on the device."""
    return torch.as_tensor(np.array(x, dtype=np.float32), device=device)
