"""`dp_diffusion`: a network that fills in blanked columns, trained by DP-SGD; rows come about column by column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from synth.generators.gradients import common
from synth.generators.gradients.trained import TrainedModel
from synth.generators.product_mixture.model import Product
from synth.generators.ranges import NONE_OR_SHARE, RATE, STEPS, Between, Range
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

    name: str = "dp_diffusion"
    barrier: str = "at the generator, in its gradients"
    summary: str = "diffusion model that fills in blanked columns, trained by DP-SGD"
    relations: tuple[str, ...] = ("add_remove", "replace_one", "zero_out")
    reads: tuple[type, ...] = (CountsRelease, DescentRelease)
    steps: int = 400
    rate: float = 0.03
    clip: float = 1.0
    copies: int = 8
    oneway_share: float = 0.3
    groups: int = 12
    hidden: int = 48
    learning_rate: float = 5e-3
    ranges: ClassVar[Mapping[str, Range]] = {
        "steps": STEPS,
        "rate": Between(1e-6, 1),
        "clip": Between(1e-6, 1e6),
        "copies": Between(1, 256),
        "oneway_share": NONE_OR_SHARE,
        "groups": Between(2, 1000),
        "hidden": Between(1, 4096),
        "learning_rate": RATE,
    }

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
