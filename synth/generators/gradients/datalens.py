"""`datalens`: a generator that follows noisy votes of teachers on the signs of few gradients."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from synth.generators.gradients.taught import Pulled
from synth.generators.method import option
from synth.questions import PullsRelease
from synth.questions.pulls import SIGNS


@dataclass(frozen=True, kw_only=True, eq=False)
class DataLens(Pulled):
    """Teachers on separate rows vote for where generated rows should go, each for its ``kept`` largest moves.

    ``kept``: numbers of a gradient that a teacher tells the signs of, at most all; ``agreed``: of teachers, the part
    that must agree for a direction to be followed.
    **Guarantee**: asks within ``setting.mu``, whatever teachers agree on; ``fit`` sees releases only.
    **Source**: Wang et al., arXiv 2103.11109 (DataLens: top-k signs, aggregation by threshold), without its
    data-dependent accounting.
    """

    name = "datalens"
    barrier = "between the critics and the generator, in the gradients on generated rows"
    summary = "adversarial network; teachers on separate rows vote on the signs of few gradients of generated rows"
    kept: int = option(8, 1, 4096)
    agreed: float = option(0.1, 0, 1)

    purpose = "compressed gradient votes"

    def asking(self, groups: int) -> dict[str, Any]:
        """Signs of the largest numbers."""
        return {"form": SIGNS, "kept": min(self.kept, groups)}

    def direction(self, release: PullsRelease) -> np.ndarray:
        """The sign of each sum that is larger than agreement asks for, zero elsewhere."""
        least = self.agreed * release.question.teachers.teachers
        return np.sign(release.values) * (np.abs(release.values) > least) * release.question.teachers.teachers
