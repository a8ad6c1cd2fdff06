"""`dp_ntk`: gradients of a public random network at the rows, noised once; a model is fitted to their mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Setting
from synth.generators.embeddings import embedding
from synth.generators.embeddings.embedding import ColumnEstimates, public_rng
from synth.generators.embeddings.fit import Loss
from synth.generators.embeddings.ntk_loss import GradientLoss
from synth.generators.embeddings.one_embedding import COMPONENTS, ENSEMBLES, ORDER, OneEmbedding
from synth.generators.marginals.histogram import Histogram
from synth.generators.method import SHARE, STEPS, option
from synth.questions import Bins, Block, CountsRelease, EmbeddingRelease, Gradients

TINY = 1e-3  # size of the network's weights: its second layer's gradients, of that size, leave a row's norm alone
WAVES = (1.0, 8.0)  # least and greatest number of sign changes over the range of a number


@dataclass(frozen=True, kw_only=True)
class DPNTK(OneEmbedding):
    """DP-NTK (arXiv 2303.01687): features are a network's gradients at its random start, released once.

    The network has two layers; every hidden unit looks at ``order`` columns (odd) through weights of one size, so that
    it is active where most of them vote for it, and has a mirror that is active elsewhere. Then every row's gradient
    has the same norm, and a model's expected gradient is in closed form. ``features``: about how many numbers are
    released. ``least``: a bin holds this many deviations of their noise. ``oneway_share``: part of mu**2 for one-way
    counts.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only; the network is public.
    """

    name = "dp_ntk"
    summary = "gradients of a public random network (neural tangent features), noised once"
    reads = (CountsRelease, EmbeddingRelease)
    features: int = option(20_000, 1, 1_000_000)
    order: int = option(3, *ORDER)
    least: float = option(50.0, 0, 1e6)
    oneway_share: float = option(0.3, *SHARE)
    components: int = option(100, *COMPONENTS)
    ensembles: int = option(1, *ENSEMBLES)
    steps: int = option(300, *STEPS)
    back_end: str = option("mixture", *embedding.BACK_ENDS)

    def check_together(self) -> None:
        """Errors: UsageError where an even number of columns could be undecided."""
        if self.order % 2 == 0:
            raise UsageError(f"`options.order={self.order}`: {self.name} needs an odd number, so that votes cannot tie")

    def asked(
        self, total: float, histograms: Mapping[str, Histogram], setting: Setting, left: float
    ) -> Gradients | None:
        """Gradients of the public network."""
        made = embedding.columns(total, histograms, setting, least=self.least * setting.sigma(left))
        return self._gradients(made) if len(made.names) > 1 else None

    def bins_of(self, release: EmbeddingRelease) -> Sequence[Bins]:
        """Those of the blocks and of the label."""
        question = embedding.features_of(release, Gradients)
        return [b.bins for b in (*question.blocks, *([question.label] if question.label else []))]

    def distance(self, made: ColumnEstimates, release: EmbeddingRelease, *, device: str) -> Loss:
        """Squares over the noise's variance."""
        return GradientLoss(made, release, device=device)

    def _gradients(self, made: ColumnEstimates) -> Gradients:
        """The public network: half of its units, then their mirrors."""
        names = made.others
        rng = public_rng()
        label = None if made.label is None else Block.one_hot(made.bins(made.label), weight=1.0)
        blocks = [Block.one_hot(made.bins(n), weight=1 / sqrt(len(names))) for n in names]
        wide = sum(b.width for b in blocks) * (label.width if label else 1)
        half = max(self.features // (2 * wide), 1)
        order = self.order if len(names) >= self.order else 1
        active = rng.random((len(names), half)).argsort(0) < order
        parts = [used * _votes(made, n, half, rng) for n, used in zip(names, active, strict=True)]
        weights = TINY * np.concatenate(parts)
        return Gradients(
            blocks=tuple(blocks),
            weights=np.concatenate([weights, -weights], axis=1).T,
            signs=np.ones(2 * half),
            label=label,
        )


def _votes(made: ColumnEstimates, name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """A vote of 1 or -1 for each bin and unit, (G_j, count): free for categories, waves over a number's ranks."""
    if not made.is_number(name):
        return rng.choice([-1.0, 1.0], (made.size(name), count))
    waves = rng.uniform(*WAVES, count) * np.pi
    turn = np.cos(made.ranks(name)[:, None] * waves + rng.uniform(0, 2 * np.pi, count))
    return np.where(turn > 0, 1.0, -1.0)
