"""`dp_flow`: a normalizing flow trained by DP-SGD on rows that are spread over their groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.generators.gradients import common
from synth.generators.gradients.trained import TrainedModel
from synth.generators.method import NONE_OR_SHARE, RATE, STEPS, option
from synth.generators.product_mixture.model import Product
from synth.lazy import Lazy
from synth.questions import CountsRelease, Descent, DescentRelease, TaughtRelease
from synth.questions.gradients import FLOW

if TYPE_CHECKING:
    import torch

    from synth.numeric import networks
else:
    torch, networks = Lazy("torch"), Lazy("synth.numeric.networks")

PURPOSE = "flow"
DRAWN = 10_000  # rows of the flow that make the final mixture
BLUR = 0.05  # part of a column in them that is drawn from the single column
FARTHEST = 4.0  # standard normal draws beyond are cut off


@dataclass(frozen=True, kw_only=True, eq=False)
class DPFlow(TrainedModel):
    """A neural spline flow between normal draws and rows, each group spread over its share of a normal law.

    ``steps``: each over a Poisson sample of ``rate`` of the rows, gradients clipped to ``clip``. ``oneway_share``: part
    of mu**2 for one-way counts, which give the row count, groups (at most about ``groups`` a column) and the law on
    which each column is spread, so that training begins at independent columns; with 0 groups are even. ``hidden``:
    units of the conditioners' layer; ``knots``: of each spline; ``learning_rate``: of Adam.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Waites and Cummings, arXiv 2103.14068; Durkan et al., arXiv 1906.04032 (the flow, by zuko); DP-SGD:
    Abadi et al., arXiv 1607.00133, Algorithm 1.
    """

    name = "dp_flow"
    barrier = "at the generator, in its gradients"
    summary = "normalizing flow between noise and rows, trained by DP-SGD"
    reads = (CountsRelease, DescentRelease)
    steps: int = option(400, *STEPS)
    rate: float = option(0.03, 1e-6, 1)
    clip: float = option(1.0, 1e-6, 1e6)
    oneway_share: float = option(0.3, *NONE_OR_SHARE)
    groups: int = option(12, 2, 1000)
    hidden: int = option(48, 1, 4096)
    knots: int = option(6, 2, 64)
    learning_rate: float = option(5e-3, *RATE)

    network = FLOW
    purpose = PURPOSE

    def shape(self, ground: common.Ground) -> dict[str, Any]:
        """Groups without a share of their own have little, not nothing: rows may be in them all the same."""
        return {
            "hidden": self.hidden,
            "latent": len(ground.bins),
            "depth": self.knots,
            "shares": np.maximum(ground.shares, 1e-4),
        }

    def begun(self, plan: Descent, ground: common.Ground) -> torch.nn.Module:  # noqa: ARG002
        """The identity: conditioners whose last layers are zero."""
        made = networks.of(plan)
        networks.start(made, rng=np.random.default_rng(common.PUBLIC_SEED))
        networks.straighten(made.transform)  # type: ignore[arg-type]
        return made

    def mixture(
        self, trained: DescentRelease | TaughtRelease, made: common.embedding.ColumnEstimates, rng: np.random.Generator
    ) -> Product:
        """As many rows as make a table of any length. Errors: UsageError for the release of another training."""
        flow, plan = self.loaded(trained), self.own(trained)
        draws = rng.standard_normal((DRAWN, len(plan.bins))).clip(-FARTHEST, FARTHEST).astype(np.float32)
        codes = flow.codes(torch.from_numpy(draws))
        rows = networks.one_hot(codes, plan.sizes).double().numpy()
        return common.product(made, plan.bins, common.blurred(made, plan.bins, rows, blur=BLUR))
