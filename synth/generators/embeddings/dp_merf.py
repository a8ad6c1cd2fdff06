"""`dp_merf`: random Fourier features of the rows, noised once; a model is fitted to their mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synth.generators.base import Setting
from synth.generators.embeddings import embedding
from synth.generators.embeddings.fit import Loss
from synth.generators.embeddings.fourier import bins, fourier, loss
from synth.generators.embeddings.one_embedding import COMPONENTS, ENSEMBLES, FREQUENCIES, ORDER, OneEmbedding
from synth.generators.marginals.histogram import Histogram
from synth.generators.method import SHARE, STEPS, option
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

    name = "dp_merf"
    summary = "random Fourier features of rows, class by class, noised once"
    reads = (CountsRelease, EmbeddingRelease)
    frequencies: int = option(2000, *FREQUENCIES)
    order: int = option(3, *ORDER)
    oneway_share: float = option(0.3, *SHARE)
    components: int = option(100, *COMPONENTS)
    ensembles: int = option(2, *ENSEMBLES)
    steps: int = option(300, *STEPS)
    back_end: str = option("mixture", *embedding.BACK_ENDS)

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
