"""`dp_merf`: random Fourier features of the rows, noised once; a model is fitted to their mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from synth.generators.base import Ask, Progress, Setting
from synth.generators.embeddings import embedding
from synth.generators.embeddings.fit import Options
from synth.generators.embeddings.fourier import bins, fourier, loss
from synth.generators.marginals.histogram import Histogram, estimate
from synth.generators.method import Method
from synth.generators.product_mixture.model import Product
from synth.generators.ranges import COMPONENTS, ENSEMBLES, FREQUENCIES, ORDER, SHARE, STEPS, OneOf, Range
from synth.questions import CountsRelease, EmbeddingRelease, Fourier, Release

LEAST = 25.0  # a bin holds at least this many deviations of the embedding's noise


@dataclass(frozen=True, kw_only=True)
class DPMerf(Method):
    """DP-MERF (arXiv 2002.11603): class-conditional random Fourier embedding, released once.

    ``frequencies``: their number; ``order``: how many columns each one joins, besides the label. ``oneway_share``:
    part of mu**2 for one-way counts, which also give class weights and bins. ``components``, ``ensembles``,
    ``steps``: of the fit. ``back_end``: mixture or network.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only; features are public or follow releases.
    """

    name: str = "dp_merf"
    barrier: str = "B1"
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
        "frequencies": FREQUENCIES, "order": ORDER, "oneway_share": SHARE, "components": COMPONENTS,
        "ensembles": ENSEMBLES, "steps": STEPS, "back_end": OneOf(embedding.BACK_ENDS),
    }  # fmt: skip

    def measure(self, ask: Ask, setting: Setting, *, progress: Progress) -> list[Release]:
        """One-way counts, then the embedding with the rest of the budget."""
        self.check_options()

        def features(total: float, found: Mapping[str, Histogram], left: float) -> Fourier | None:
            made = self._columns(total, found, setting, left)
            if len(made.names) < 2:
                return None
            return fourier(made, made.others, count=self.frequencies, order=self.order, label=made.label)

        return embedding.measure(ask, setting, share=self.oneway_share, features=features, progress=progress)

    def fit(
        self,
        releases: Sequence[Release],
        setting: Setting,
        *,
        rng: np.random.Generator,
        device: str,
        progress: Progress,
    ) -> Product:
        """The model whose mean features come closest to the released ones, up to their noise."""
        counts, asked = embedding.split(releases)
        total, found = estimate(counts, setting)
        if not asked:
            return embedding.alone(embedding.columns(total, found, setting, least=total))
        made = embedding.regrouped(total, found, setting, bins(asked[0]))
        options = Options(components=self.components, ensembles=self.ensembles, steps=self.steps)
        return embedding.fitted(made, loss(made, asked[0], device=device), options, back_end=self.back_end, rng=rng,
                                device=device, progress=progress)  # fmt: skip

    def _columns(
        self, total: float, found: Mapping[str, Histogram], setting: Setting, left: float
    ) -> embedding.Columns:
        return embedding.columns(total, found, setting, least=LEAST * setting.sigma(left, signed=True))
