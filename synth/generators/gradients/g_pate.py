"""`g_pate`: a generator that follows teachers' noisy votes on projected, discretised gradients."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from synth.generators.gradients import common
from synth.generators.gradients.taught import Pulled
from synth.generators.method import option
from synth.questions import PullsRelease
from synth.questions.pulls import BALLOTS, LONGEST


@dataclass(frozen=True, kw_only=True, eq=False)
class GPate(Pulled):
    """Teachers on separate rows vote on where the coordinates of their gradients lie, each in one of a few parts.

    ``coordinates``: of a public random projection; ``parts``: of a coordinate's range.
    **Guarantee**: asks within ``setting.mu``, whatever teachers agree on; ``fit`` sees releases only.
    **Source**: Long et al., arXiv 1906.09338 (G-PATE): random projection, discretisation, votes; without its
    data-dependent accounting.
    """

    name = "g_pate"
    barrier = "between the critics and the generator, in the gradients on generated rows"
    summary = "adversarial network; teachers on separate rows vote on projected gradients of generated rows"
    coordinates: int = option(5, 1, 256)
    parts: int = option(5, 2, 64)

    purpose = "gradient ballots"

    def asking(self, groups: int) -> dict[str, Any]:
        """A public projection onto orthogonal directions, as many as there are."""
        rng = np.random.default_rng(common.PUBLIC_SEED)
        drawn = rng.standard_normal((groups, min(self.coordinates, groups)))
        return {"form": BALLOTS, "kept": self.parts, "projection": np.linalg.qr(drawn)[0]}

    def direction(self, release: PullsRelease) -> np.ndarray:
        """Each coordinate at the middle of the part with most votes, taken back from the projection."""
        question = release.question
        edges = question.edges
        step = edges[1] - edges[0] if len(edges) > 1 else 2 * LONGEST / np.sqrt(question.groups) / self.parts
        middles = np.append(edges - step / 2, edges[-1] + step / 2)
        most = middles[release.values.argmax(2)]
        return (most @ question.projection.T) * question.teachers.teachers
