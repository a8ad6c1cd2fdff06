"""`pearl`: the rows' characteristic function at public random frequencies, released once; an adversary weighs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.generators.base import Setting
from synth.generators.embeddings import embedding
from synth.generators.embeddings.fit import Distance, Loss, Parts
from synth.generators.embeddings.fourier import bins, fourier, loss
from synth.generators.embeddings.loss import FourierLoss
from synth.generators.embeddings.one_embedding import COMPONENTS, ENSEMBLES, FREQUENCIES, ORDER, OneEmbedding
from synth.generators.marginals.histogram import Histogram
from synth.generators.method import SHARE, STEPS, option
from synth.lazy import Lazy
from synth.questions import Bins, CountsRelease, EmbeddingRelease, Fourier

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

BIN_NOISE = 25.0  # a bin holds at least this many deviations of the embedding's noise
MAX_WEIGHT = 4.0  # no frequency weighs more than this many times the mean


@dataclass(frozen=True, kw_only=True)
class Pearl(OneEmbedding):
    """PEARL (arXiv 2106.04590): characteristic function distance with adversarially weighted frequencies.

    ``frequencies``: their number; ``order``: how many columns each one joins, the target in every second.
    ``adversary``: how fast the adversary shifts weight to frequencies that the model misses by more than noise does;
    0 leaves all alike. ``oneway_share``: part of mu**2 for one-way counts.
    **Guarantee**: asks within ``setting.mu``; the adversary sees released values only, as ``fit`` does.
    """

    name = "pearl"
    summary = "characteristic function at random frequencies, noised once, weighed by an adversary"
    reads = (CountsRelease, EmbeddingRelease)
    frequencies: int = option(3000, *FREQUENCIES)
    order: int = option(3, *ORDER)
    adversary: float = option(0.1, 0, 1)
    oneway_share: float = option(0.3, *SHARE)
    components: int = option(100, *COMPONENTS)
    ensembles: int = option(2, *ENSEMBLES)
    steps: int = option(300, *STEPS)
    back_end: str = option("mixture", *embedding.BACK_ENDS)

    def asked(self, total: float, histograms: Mapping[str, Histogram], setting: Setting, left: float) -> Fourier | None:
        """The characteristic function at random frequencies."""
        made = embedding.columns(total, histograms, setting, least=BIN_NOISE * setting.sigma(left, signed=True))
        if len(made.names) < 2:
            return None
        return fourier(made, made.names, count=self.frequencies, order=self.order, label=None, favoured=made.label)

    def bins_of(self, release: EmbeddingRelease) -> Sequence[Bins]:
        """Those of a Fourier embedding."""
        return bins(release)

    def distance(self, made: embedding.ColumnEstimates, release: EmbeddingRelease, *, device: str) -> Loss:
        """The distance at the frequencies that an adversary chooses."""
        return Game(loss(made, release, device=device), speed=self.adversary)


class Game(Distance):
    """A Fourier distance whose weights an adversary moves, step by step, to where the misfit exceeds the noise.

    Multiplicative weights over frequencies: the adversary's best answers in the long run, within ``MAX_WEIGHT`` times
    the mean so that no frequency's noise is fitted. A misfit is a chi-squared of two degrees for the truth: twice its
    mean, four its variance.
    **Source**: min over models of max over weights, PEARL eq. 8; Freund and Schapire 1999 for the weights.
    """

    def __init__(self, distance: FourierLoss, *, speed: float):
        self.distance, self.speed = distance, speed
        self.score = torch.zeros_like(distance.weight)

    @property
    def goal(self) -> float:
        """Twice the sum of the weights: what noise alone makes."""
        return self.distance.goal

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """Those of the Fourier distance."""
        return self.distance.means(share, parts)

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """The weighted distance, after the adversary's move: called once a step."""
        misfits = self.distance.misfits(means)
        if self.speed > 0:
            with torch.no_grad():
                self.score += self.speed * ((misfits.mean(0) - 2.0) / 2.0).clamp(-1.0, MAX_WEIGHT)
                self.score.mul_(1 - self.speed)
                grown = torch.exp(self.score.clamp(-MAX_WEIGHT, MAX_WEIGHT))
                self.distance.weight = (grown * (len(grown) / grown.sum())).clamp_max(MAX_WEIGHT)
        return (misfits * self.distance.weight).sum() / len(means[0])
