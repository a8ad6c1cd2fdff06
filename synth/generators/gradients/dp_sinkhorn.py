"""`dp_sinkhorn`: a generator that follows noisy gradients of an optimal transport cost with respect to its own rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.generators.base import Ask, Progress
from synth.generators.gradients import common
from synth.generators.gradients.trained import Descending, mean_gradient
from synth.generators.method import NONE_OR_SHARE, RATE, STEPS, option
from synth.generators.mlp import Adam
from synth.generators.mlp import network as generator_of
from synth.lazy import Lazy
from synth.questions import CountsRelease, Descent, DescentRelease
from synth.questions.gradients import TRANSPORT

if TYPE_CHECKING:
    import torch

    from synth.numeric import networks
else:
    torch, networks = Lazy("torch"), Lazy("synth.numeric.networks")

PURPOSE = "transport"
WIDTHS = (128, 128)
AVERAGED = 0.98  # of the running mean of the generator's weights


@dataclass(frozen=True, kw_only=True, eq=False)
class DPSinkhorn(Descending):
    """A generator whose rows are moved to where a blurred transport plan takes the table's rows.

    ``steps``: each over a Poisson sample of ``rate`` of the rows; what each row pulls at generated rows and at their
    prices is clipped to ``clip``. ``rows``: generated, alike in number at every step. ``blur``: of the plan, in half
    squared distances of one-hot rows. ``oneway_share``: part of mu**2 for one-way counts, which give the row count,
    groups (at most about ``groups`` a column) and starting point; with 0 groups are even. ``generator_rate``: of Adam;
    ``price_rate``: of the prices, in parts of the blur.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Cao et al., arXiv 2111.01177; semi-dual: Genevay et al., arXiv 1605.08527.
    """

    name = "dp_sinkhorn"
    barrier = "between the loss and the generator, in the gradients on generated rows"
    summary = "generator moved by noisy gradients of an optimal transport cost on its own rows"
    reads = (CountsRelease, DescentRelease)
    steps: int = option(400, *STEPS)
    rate: float = option(0.03, 1e-6, 1)
    clip: float = option(1.0, 1e-6, 1e6)
    rows: int = option(64, 1, 4096)
    blur: float = option(0.3, 1e-3, 1e3)
    oneway_share: float = option(0.3, *NONE_OR_SHARE)
    groups: int = option(12, 2, 1000)
    generator_rate: float = option(2e-3, *RATE)
    price_rate: float = option(0.5, 0, 10)

    network = TRANSPORT
    purpose = PURPOSE

    def shape(self, ground: common.Ground) -> dict[str, Any]:  # noqa: ARG002
        """Weights are the generated rows and their prices."""
        return {"hidden": self.rows, "latent": 0, "scale": self.blur}

    def descend(self, ask: Ask, plan: Descent, ground: common.Ground, progress: Progress) -> tuple[np.ndarray, ...]:
        """Weights of the generator, averaged over the last steps. Randomness here is public (``PUBLIC_SEED``).

        The hidden draws stay the same, so that prices belong to rows that move little from step to step.
        """
        rng = np.random.default_rng(common.PUBLIC_SEED)
        made = generator_of(ground.sizes, rng=rng, start=ground.shares, widths=WIDTHS)
        maker, mean = Adam(made.parameters), common.Average(made.parameters, keep=AVERAGED)
        target: Any = networks.of(plan)
        z, even = made.hidden(self.rows), 1 / self.rows
        for number in range(plan.steps):
            progress(number / plan.steps)
            soft = made.forward(z)
            with torch.no_grad():
                target.rows.copy_(soft)
            pull, owed = mean_gradient(ask, plan, number, target, rows=ground.rows)
            maker.move(torch.autograd.grad(soft, maker.parameters, grad_outputs=pull), rate=self.generator_rate)
            with torch.no_grad():  # a price falls where more than its part of the table comes: owed is less the mass
                target.prices.add_(owed + even, alpha=self.price_rate * self.blur / even)
            mean.note()
        return mean.arrays()
