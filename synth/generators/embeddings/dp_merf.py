"""`dp_merf`: random Fourier features of the rows, noised once; a model is fitted to their mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from synth.generators.base import Setting
from synth.generators.embeddings import embedding
from synth.generators.embeddings.fit import Loss
from synth.generators.embeddings.fourier import bins, fourier, loss
from synth.generators.embeddings.one_embedding import OneEmbedding
from synth.generators.marginals.histogram import Histogram
from synth.generators.ranges import COMPONENTS, ENSEMBLES, FREQUENCIES, ORDER, SHARE, STEPS, OneOf, Range
from synth.questions import Bins, CountsRelease, EmbeddingRelease, Fourier

BIN_NOISE = 25.0  # a bin holds at least this many deviations of the embedding's noise


@dataclass(frozen=True, kw_only=True)
class DPMerf(OneEmbedding):
    """DP-MERF (arXiv 2002.11603): class-conditional random Fourier embedding, released once.

    ``frequencies``: their number; ``order``: how many columns each one joins, besides the label. ``oneway_share``:
    part of mu**2 for one-way counts, which also give class weights and bins. ``components``, ``ensembles``,
    ``steps``: of the fit. ``back_end``: mixture or network.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only; features are public or follow releases.
    """

    name: str = "dp_merf"
    barrier: str = "before the fit"
    summary: str = "random Fourier features of rows, class by class, noised once"
    relations: tuple[str, ...] = ("add_remove", "replace_one", "zero_out")
    reads: tuple[type, ...] = (CountsRelease, EmbeddingRelease)
    frequencies: int = 2000
    order: int = 3
    oneway_share: float = 0.3
    components: int = 100
    ensembles: int = 2
    steps: int = 300
    back_end: str = "mixture"
    ranges: ClassVar[Mapping[str, Range]] = {
        "frequencies": FREQUENCIES,
        "order": ORDER,
        "oneway_share": SHARE,
        "components": COMPONENTS,
        "ensembles": ENSEMBLES,
        "steps": STEPS,
        "back_end": OneOf(embedding.BACK_ENDS),
    }

    def asked(self, total: float, histograms: Mapping[str, Histogram], setting: Setting, left: float) -> Fourier | None:
        """Random Fourier features of the columns, class by class."""
        made = embedding.columns(total, histograms, setting, least=BIN_NOISE * setting.sigma(left, signed=True))
        if len(made.names) < 2:
            return None
        return fourier(made, made.others, count=self.frequencies, order=self.order, label=made.label)

    def bins_of(self, release: EmbeddingRelease) -> Sequence[Bins]:
        """Those of a Fourier embedding."""
        return bins(release)

    def distance(self, made: embedding.ColumnEstimates, release: EmbeddingRelease, *, device: str) -> Loss:
        """Squares over the noise's variance."""
        return loss(made, release, device=device)
