"""`gs_wgan`: a generator that follows noisy sums of its critics' clipped gradients on its own rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from synth.generators.gradients.taught import Pulled
from synth.generators.method import option
from synth.questions import PullsRelease
from synth.questions.pulls import CLIPPED


@dataclass(frozen=True, kw_only=True, eq=False)
class GSWgan(Pulled):
    """Critics on separate rows say which way generated rows should go; their gradients are summed under noise.

    ``clip``: length to which a critic's gradient on a row is scaled down.
    **Guarantee**: asks within ``setting.mu``, whatever teachers agree on; ``fit`` sees releases only.
    **Source**: Chen, Orekondy, Fritz, arXiv 2006.08265 (GS-WGAN); without amplification by drawing critics (pulls.md).
    """

    name = "gs_wgan"
    barrier = "between the critics and the generator, in the gradients on generated rows"
    summary = "adversarial network; critics on separate rows move generated rows by clipped, noised gradients"
    clip: float = option(0.05, 1e-6, 1e6)

    purpose = "sanitized gradients"

    def asking(self, groups: int) -> dict[str, Any]:  # noqa: ARG002
        """Gradients scaled down to the clip, summed."""
        return {"form": CLIPPED, "unit": self.clip}

    def direction(self, release: PullsRelease) -> np.ndarray:
        """The noisy sums as they are."""
        return release.values
