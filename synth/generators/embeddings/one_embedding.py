"""What the methods of one noisy embedding have in common: how they ask, and how a model is fitted."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from synth.generators.base import Fit, Run, Setting
from synth.generators.embeddings import embedding
from synth.generators.embeddings.fit import Loss, Options
from synth.generators.marginals.histogram import Histogram, estimate
from synth.generators.method import Method
from synth.generators.product_mixture.model import Product
from synth.questions import Bins, EmbeddingRelease, Release

COMPONENTS, ENSEMBLES = (1, 2000), (1, 32)
FREQUENCIES, ORDER = (1, 100_000), (1, 16)


class OneEmbedding(Method):
    """One-way counts within ``oneway_share`` of mu**2, then one embedding of the rows with all the rest.

    ``components``, ``ensembles``, ``steps``: of the fit; ``back_end``: mixture or network.
    """

    oneway_share: float
    components: int
    ensembles: int
    steps: int
    back_end: str

    @abstractmethod
    def asked(
        self, total: float, histograms: Mapping[str, Histogram], setting: Setting, left: float
    ) -> embedding.Made | None:
        """The public feature map, from released one-ways and the share ``left``; None where nothing is to be learnt."""

    @abstractmethod
    def bins_of(self, release: EmbeddingRelease) -> Sequence[Bins]:
        """The bins that the released features are of. Errors: UsageError where another method asked for them."""

    @abstractmethod
    def distance(self, made: embedding.ColumnEstimates, release: EmbeddingRelease, *, device: str) -> Loss:
        """How far a model's mean features are from the released ones."""

    def measure(self, run: Run) -> list[Release]:
        """One-way counts, then the embedding with the rest of the budget. Errors: UsageError for a bad option."""
        ask, setting, progress = run.ask, run.setting, run.progress
        self.check_options()

        def features(total: float, histograms: Mapping[str, Histogram], left: float) -> embedding.Made | None:
            return self.asked(total, histograms, setting, left)

        return embedding.measure(ask, setting, share=self.oneway_share, features=features, progress=progress)

    def fit(self, releases: Sequence[Release], setting: Setting, how: Fit) -> Product:
        """The model whose mean features come closest to the released ones, up to their noise."""
        rng, device, progress = how.rng, how.device, how.progress
        counts, asked = embedding.split(releases)
        total, histograms = estimate(counts, setting)
        if not asked:
            return embedding.alone(embedding.columns(total, histograms, setting, least=total))
        made = embedding.regrouped(total, histograms, setting, self.bins_of(asked[0]))
        distance = self.distance(made, asked[0], device=device)
        return embedding.fitted(
            made, distance, self.fitting, back_end=self.back_end, rng=rng, device=device, progress=progress
        )

    @property
    def fitting(self) -> Options:
        """The options of the fit."""
        return Options(components=self.components, ensembles=self.ensembles, steps=self.steps)
