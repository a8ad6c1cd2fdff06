"""`dp_vae`: a variational autoencoder trained by DP-SGD, encoder and decoder alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.generators.gradients import common
from synth.generators.gradients.trained import TrainedModel
from synth.generators.method import NONE_OR_SHARE, RATE, STEPS, Between, option
from synth.generators.product_mixture.model import Product
from synth.lazy import Lazy
from synth.questions import CountsRelease, Descent, DescentRelease, TaughtRelease
from synth.questions.gradients import AUTOENCODER

if TYPE_CHECKING:
    import torch

    from synth.numeric import networks
else:
    torch, networks = Lazy("torch"), Lazy("synth.numeric.networks")

PURPOSE = "autoencoder"


@dataclass(frozen=True, kw_only=True)
class DPVae(TrainedModel):
    """An autoencoder on public groups; synthetic rows come from its decoder at fresh latent draws.

    ``steps``: each over a Poisson sample of ``rate`` of the rows, gradients clipped to ``clip``. ``oneway_share``: part
    of mu**2 for one-way counts, which give the row count, groups (at most about ``groups`` a column) and starting
    point. ``hidden``: units of each layer; ``latent``: numbers of a latent draw; ``splines``: between normal draws and
    latent ones, a flow trained with all else; ``learning_rate``: of Adam.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Kingma and Welling, arXiv 1312.6114; DP-SGD: Abadi et al., arXiv 1607.00133, Algorithm 1; a flow of
    latent draws: Jiang and Sun, DP-LFlow (2023), whose encoder is trained first.
    """

    name = "dp_vae"
    barrier = "at the generator, in its gradients"
    summary = "variational autoencoder; encoder and decoder are trained by DP-SGD"
    reads = (CountsRelease, DescentRelease)
    steps: int = option(600, *STEPS)
    rate: float = option(0.02, 1e-6, 1)
    clip: float = option(1.0, 1e-6, 1e6)
    oneway_share: float = option(0.3, *NONE_OR_SHARE)
    groups: int = option(20, 2, 1000)
    hidden: int = option(64, 1, 4096)
    latent: int = option(4, 1, 256)
    splines: int = option(0, 0, 8)
    learning_rate: float = option(6e-3, *RATE)

    network = AUTOENCODER
    purpose = PURPOSE

    def check_together(self) -> None:
        """Errors: UsageError for splines of a single number, which a flow cannot turn."""
        super().check_together()
        if self.splines:
            self.check_option("latent", Between(2, 256), where=" with splines")

    def shape(self, ground: common.Ground) -> dict[str, Any]:
        """The autoencoder, and the splines of its latent law."""
        return {**super().shape(ground), "depth": self.splines}

    def begun(self, plan: Descent, ground: common.Ground) -> torch.nn.Module:
        """As every network, latent draws normal."""
        made = super().begun(plan, ground)
        if self.splines:
            networks.straighten(made.splines)  # type: ignore[arg-type]
        return made

    def mixture(
        self, trained: DescentRelease | TaughtRelease, made: common.embedding.ColumnEstimates, rng: np.random.Generator
    ) -> Product:
        """The decoder at many latent draws. Errors: UsageError for the release of another training."""
        decoder, plan = self.loaded(trained), self.own(trained)
        draws = torch.from_numpy(rng.standard_normal((common.RETAINED, plan.latent)).astype(np.float32))
        with torch.no_grad():
            probs = decoder.distributions(draws).double().numpy()
        return common.product(made, plan.bins, probs)
