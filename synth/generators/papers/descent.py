"""Fit of a mixture of product distributions to noisy answers: any distance that torch can differentiate.

A feature map of these methods has a closed-form expectation under a product distribution, hence under a mixture
of them: the distance and its gradient are exact, no row is ever drawn for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi

import numpy as np

from synth.generators.base import Fit, Progress, Share
from synth.generators.core.product import Product
from synth.generators.core.solver import Adam
from synth.generators.micro_batches import BOUNDLESS, Pieces, enough
from synth.generators.papers.columns import Columns
from synth.lazy import torch

CHECK = 10  # steps between looks at the stopping rule
FLOOR = 1e-6  # least starting probability of a group
FIRST_RATE, LAST_RATE = 0.1, 0.01  # of Adam
SPREAD = 0.5  # deviation of the starting logits around the one-ways
STOP = 0.9  # of a distance's goal: there a fit begins to follow the noise

Parts = list["torch.Tensor"]  # for each column the group probabilities of every component, (E, B, G_j)


class Distance(ABC):
    """Between a model's features and the released ones, in units of the noise. ``count``: numbers that were released,
    and so the distance of the truth, about."""

    count: int

    @property
    def goal(self) -> float:
        """The distance of the truth, about: each error over its deviation has unit variance."""
        return float(self.count)

    @abstractmethod
    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """The model's features, (E, ...) each, of mixtures with component weights ``share`` (E, B).

        A sum over components: those of some of them add up to that of all.
        """

    def errors(self, means: list[torch.Tensor]) -> list[torch.Tensor]:
        """Of these ``means``, over the noise's deviation."""
        raise NotImplementedError

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """The distance, mean over the ensemble, of these ``means``."""
        total = means[0].new_zeros(())
        for error in self.errors(means):
            total = total + error.square().sum()
        return total / len(means[0])

    def __call__(self, share: torch.Tensor, parts: Parts) -> torch.Tensor:
        """Mean over the ensemble, of mixtures with component weights ``share`` (E, B)."""
        return self.misfit(self.means(share, parts))


@dataclass(frozen=True, kw_only=True)
class Options:
    """``ensembles`` mixtures of ``components``; Adam for at most ``steps``, at a rate that falls along a cosine."""

    components: int = 100
    ensembles: int = 1
    steps: int = 300


class State:
    """Parameters of an ensemble of mixtures around the columns' one-ways."""

    def __init__(self, columns: Columns, options: Options, how: Fit):
        shape = (options.ensembles, options.components)
        self.logits = []
        for one_way in columns.mass:
            noise = SPREAD * how.rng.standard_normal((*shape, len(one_way)))
            start = np.log(np.maximum(one_way, FLOOR)) + noise
            self.logits.append(torch.as_tensor(start, dtype=torch.float32, device=how.device).requires_grad_())
        self.weights = torch.zeros(shape, dtype=torch.float32, device=how.device).requires_grad_()

    def __call__(self) -> tuple[torch.Tensor, Parts]:
        """Component weights (E, B) and each column's group probabilities (E, B, G_j)."""
        return torch.softmax(self.weights, -1), [torch.softmax(x, -1) for x in self.logits]

    def arrays(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """All mixtures as one: weights (E*B,) and group probabilities (E*B, G_j), float64."""
        with torch.no_grad():
            share, parts = self()
        flat = [p.flatten(0, 1).double().cpu().numpy() for p in parts]
        return (share / len(share)).flatten().double().cpu().numpy(), flat

    def descend(self, distance: Distance, *, steps: int, progress: Progress) -> None:
        """Moves the parameters in place until the distance falls to its goal.

        Where the device's memory runs out, components are worked on in pieces (``slopes``).
        """
        variables = [self.weights, *self.logits]
        adam = Adam(variables)
        pieces = Pieces()
        for step in range(steps):
            share, parts = self()
            gradients: Sequence[torch.Tensor | None]
            if share.device.type in BOUNDLESS:
                value = distance(share, parts)
                gradients = torch.autograd.grad(value, variables, allow_unused=True)
            else:
                value, pulls = slopes(distance, share, parts, pieces)
                gradients = torch.autograd.grad([share, *parts], variables, pulls)
            if step % CHECK == 0:
                progress(Share(step / steps, loss=float(value.detach())))
                if float(value.detach()) < STOP * distance.goal:
                    break
            rate = LAST_RATE + (FIRST_RATE - LAST_RATE) * (0.5 * (1 + cos(pi * step / steps)))
            adam.move(gradients, rate=rate)


def slopes(
    distance: Distance, share: torch.Tensor, parts: Parts, pieces: Pieces
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The distance, and its gradients by ``share`` (E, B) and each of ``parts`` (E, B, G_j).

    All components together where memory suffices. Where it does not, the features are summed over pieces of them, the
    misfit taken of the sum, and its gradient carried back through each piece, computed again.
    """
    leaves = [x.detach().requires_grad_() for x in (share, *parts)]
    whole: list[list[torch.Tensor]] = []  # the features with their graph, if they were made in one piece

    def forth(part: slice) -> list[torch.Tensor]:
        if part.stop - part.start == share.shape[1]:
            whole.append(distance.means(leaves[0], leaves[1:]))
            return [x.detach() for x in whole[-1]]
        with torch.no_grad():
            return distance.means(leaves[0][:, part], [x[:, part] for x in leaves[1:]])

    done = pieces.run(share.shape[1], forth)
    means = next(done)
    for more in done:
        means = [a + b for a, b in zip(means, more, strict=True)]
    tops = [x.requires_grad_() for x in means]
    value = distance.misfit(tops)
    slope = torch.autograd.grad(value, tops)

    def back(part: slice) -> list[torch.Tensor]:
        own = leaves if whole else [x.detach()[:, part].requires_grad_() for x in leaves]
        made = whole.pop() if whole else distance.means(own[0], own[1:])
        results = torch.autograd.grad(made, own, slope, allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for x, g in zip(own, results, strict=True)]

    result = list(pieces.run(share.shape[1], back))
    return value.detach(), result[0] if len(result) == 1 else [torch.cat(x, 1) for x in zip(*result, strict=True)]


class WithOneWays(Distance):
    """A distance and the misfit of one-ways, squared errors by precision. The goal is the first one's: one-ways have
    fewer cells by far."""

    def __init__(self, distance: Distance, columns: Columns, *, device: str):
        self.distance = distance
        self.one_ways = [
            (real(m, device), real(p, device)) for m, p in zip(columns.mass, columns.precision, strict=True)
        ]

    @property
    def goal(self) -> float:
        """The distance's own."""
        return self.distance.goal

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """Each column's one-way, (E, G_j), then the distance's own."""
        return [*(torch.einsum("eb,ebg->eg", share, p) for p in parts), *self.distance.means(share, parts)]

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """The sum of both."""
        total, columns = means[0].new_zeros(()), len(self.one_ways)
        for mean, (mass, precision) in zip(means, self.one_ways, strict=False):
            total = total + ((mean - mass).square() * precision).sum() / len(mean)
        return self.distance.misfit(means[columns:]) + total


@enough("the fit to a mean embedding", fewer="frequencies, points or components (options of the method)")
def fitted(columns: Columns, distance: Distance, options: Options, how: Fit) -> Product:
    """The mixture that comes closest by ``distance`` and the one-ways.

    Errors: UsageError where the device's memory does not hold a single component's step.
    """
    state = State(columns, options, how)
    state.descend(WithOneWays(distance, columns, device=how.device), steps=options.steps, progress=how.progress)
    how.progress(1.0)
    return columns.model(*state.arrays())


def real(x: np.ndarray, device: str) -> torch.Tensor:
    """The array as float32 on the device."""
    return torch.as_tensor(np.array(x, dtype=np.float32), device=device)
