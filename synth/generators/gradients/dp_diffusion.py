"""`dp_diffusion`: a network that fills in blanked columns, trained by DP-SGD; rows come about column by column."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.generators.gradients import common
from synth.generators.gradients.trained import TrainedModel
from synth.generators.method import NONE_OR_SHARE, RATE, STEPS, option
from synth.generators.product_mixture.model import Product
from synth.lazy import Lazy
from synth.questions import CountsRelease, DescentRelease, TaughtRelease
from synth.questions.gradients import DENOISER

if TYPE_CHECKING:
    import torch

    from synth.numeric import networks
else:
    torch, networks = Lazy("torch"), Lazy("synth.numeric.networks")

PURPOSE = "denoiser"
DRAWN = 10_000  # rows that make the final mixture, one column of each left as a distribution
BLUR = 0.02  # part of a column in them that is drawn from the single column


@dataclass(frozen=True, kw_only=True, eq=False)
class DPDiffusion(TrainedModel):
    """Diffusion for tables: columns are blanked at random, a network learns to fill them in, from blank rows at last.

    ``steps``: each over a Poisson sample of ``rate`` of the rows, gradients clipped to ``clip``; ``copies``: of each
    row, blanked differently, over which its gradient is averaged before it is clipped. ``oneway_share``: part of mu**2
    for one-way counts, which give the row count, groups (at most about ``groups`` a column) and starting point; with 0
    groups are even. ``hidden``: units of each layer; ``learning_rate``: of Adam.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Dockhorn et al., arXiv 2210.09929 (noise multiplicity); Austin et al., arXiv 2107.03006 (absorbing
    diffusion, for categories); DP-SGD: Abadi et al., arXiv 1607.00133, Algorithm 1.
    """

    name = "dp_diffusion"
    barrier = "at the generator, in its gradients"
    summary = "diffusion model that fills in blanked columns, trained by DP-SGD"
    reads = (CountsRelease, DescentRelease)
    steps: int = option(400, *STEPS)
    rate: float = option(0.03, 1e-6, 1)
    clip: float = option(1.0, 1e-6, 1e6)
    copies: int = option(8, 1, 256)
    oneway_share: float = option(0.3, *NONE_OR_SHARE)
    groups: int = option(12, 2, 1000)
    hidden: int = option(48, 1, 4096)
    learning_rate: float = option(5e-3, *RATE)

    network = DENOISER
    purpose = PURPOSE

    def shape(self, ground: common.Ground) -> dict[str, Any]:
        """Each copy of a row draws a time and a number for each column."""
        return {"hidden": self.hidden, "depth": self.copies, "latent": self.copies * (len(ground.bins) + 1)}

    def mixture(
        self, trained: DescentRelease | TaughtRelease, made: common.embedding.ColumnEstimates, rng: np.random.Generator
    ) -> Product:
        """Blank rows filled in column by column, in an order of each row's own; its last stays a distribution.

        Errors: UsageError for the release of another training.
        """
        filler, plan = self.loaded(trained), self.own(trained)
        ends = np.cumsum([0, *plan.sizes])
        rows = np.zeros((DRAWN, ends[-1]), dtype=np.float32)
        order = np.argsort(rng.random((DRAWN, len(plan.sizes))), axis=1)
        for turn in range(len(plan.sizes)):
            with torch.no_grad():
                released = filler.filled(torch.from_numpy(rows)).double().numpy()
            for column, (start, end) in enumerate(pairwise(ends)):
                at = np.flatnonzero(order[:, turn] == column)
                chances = released[at, start:end]
                if turn < len(plan.sizes) - 1:
                    chances = np.eye(end - start)[drawn(chances, rng)]
                rows[at, start:end] = chances
        probs = common.blurred(made, plan.bins, rows.astype(float), blur=BLUR)
        return common.product(made, plan.bins, probs)


def drawn(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A group for each line of chances (n, size), int64."""
    run = np.cumsum(chances, axis=1)
    return (rng.random((len(chances), 1)) * run[:, -1:] >= run[:, :-1]).sum(1)
