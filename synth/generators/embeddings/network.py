"""The neural back end of the embedding family: hidden draws through a network are a mixture's components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.embeddings.fit import Options, Parts
from synth.generators.mlp import components, network
from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

BATCH = 200  # hidden draws a step: the components of the moment
RETAINED = 2000  # hidden draws that make the final mixture
MORE_STEPS = 3  # times as many steps as a mixture's parameters need
RATE = 2e-3


class NetworkState:
    """Weights of a network, moved by ``descend`` like a mixture's own parameters.

    Given the hidden draw the columns are independent, so that the expectation of an embedding is in closed form
    for every draw, and only the mean over draws is an estimate.
    """

    def __init__(self, mass: Sequence[np.ndarray], options: Options, *, rng: np.random.Generator, device: str):
        self.sizes = [len(m) for m in mass]
        self.made = network(self.sizes, rng=rng, device=device, start=np.concatenate(mass), spread=options.spread)
        self.rng = rng
        self.options = replace(options, steps=MORE_STEPS * options.steps, rate=RATE, last_rate=RATE / 10)

    def __call__(self) -> tuple[torch.Tensor, Parts]:
        """A batch of fresh components of equal weight: (1, BATCH) and for each column (1, BATCH, G_j)."""
        probs = self.made.forward(self.made.hidden(BATCH))
        share = probs.new_full((1, BATCH), 1 / BATCH)
        return share, [p[None] for p in probs.split(self.sizes, 1)]

    @property
    def variables(self) -> list[torch.Tensor]:
        """What moves."""
        return self.made.parameters

    def arrays(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """The final mixture: weights (KEPT,) and group probabilities (KEPT, G_j)."""
        probs = components(self.made, RETAINED, rng=self.rng)
        return np.full(RETAINED, 1 / RETAINED), np.split(probs, np.cumsum(self.sizes)[:-1], axis=1)
