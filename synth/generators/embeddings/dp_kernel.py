"""`dp_kernel`: the mean of a kernel's features over the rows, noised once; a model fitted in the kernel's distance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Ask, Progress, Setting
from synth.generators.embeddings import anova, embedding, path
from synth.generators.embeddings.fit import Loss, Options
from synth.generators.embeddings.one_embedding import OneEmbedding
from synth.generators.embeddings.tensor import TensorLoss
from synth.generators.marginals.fit_mixture import Options as TableOptions
from synth.generators.marginals.histogram import Histogram, estimate
from synth.generators.product_mixture.model import Product
from synth.generators.ranges import COMPONENTS, ENSEMBLES, SHARE, STEPS, Between, OneOf, Range
from synth.questions import Bins, CountsRelease, EmbeddingRelease, FunctionalRelease, Release, Tensors

MOST_ANCHORS = 8000  # one path tells so many values
FORMS = ("anova", "path")
VARIANTS = ("joint", "conditional", "parallel")
BIN_NOISE = 25.0  # a bin of the path's kernel holds this many deviations of its noise
LABEL_RHO = 0.3  # the label takes part in most of what the joint kernel of a path compares


@dataclass(frozen=True, kw_only=True)
class DPKernel(OneEmbedding):
    """DP-kernel (NeurIPS 2023, functional Renyi differential privacy), in the two forms that keep what they promise.

    ``form``: ``anova``, finite features of a sum of delta kernels over pairs, or ``path``, one sample path of the
    functional mechanism under a product kernel, told at ``anchors`` points. ``variant``: ``joint``, the label a column
    like others; ``conditional``, kernel times 1[same label]; ``parallel`` (of anova), a model for each class.
    ``compared``: how many columns, about, the path's kernel compares at a time. ``back_end``: mixture or network (not
    for parallel). ``oneway_share``: part of mu**2 for one-way counts.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name: str = "dp_kernel"
    barrier: str = "before the fit"
    summary: str = "mean embedding under a kernel (ANOVA features, or a functional release), noised once"
    relations: tuple[str, ...] = ("add_remove", "replace_one", "zero_out")
    reads: tuple[type, ...] = (CountsRelease, EmbeddingRelease, FunctionalRelease)
    form: str = "anova"
    variant: str = "joint"
    back_end: str = "mixture"
    oneway_share: float = 0.33
    compared: float = 2.5
    anchors: int = 4000
    components: int = 100
    ensembles: int = 1
    steps: int = 300
    ranges: ClassVar[Mapping[str, Range]] = {
        "form": OneOf(FORMS), "variant": OneOf(VARIANTS), "back_end": OneOf(embedding.BACK_ENDS),
        "oneway_share": SHARE, "compared": Between(0.01, 100_000), "anchors": Between(1, MOST_ANCHORS),
        "components": COMPONENTS, "ensembles": ENSEMBLES, "steps": STEPS,
    }  # fmt: skip

    def measure(self, ask: Ask, setting: Setting, *, progress: Progress) -> list[Release]:
        """One-way counts; then the embedding, or the path in rounds, with the rest of the budget."""
        if self.form != "path":
            return super().measure(ask, setting, progress=progress)
        self.check_options()
        return self._measure_path(ask, setting, progress)

    def asked(self, total: float, found: Mapping[str, Histogram], setting: Setting, left: float) -> Tensors | None:
        """Features of the sum of delta kernels over pairs."""
        return (anova.joint if self.variant == "joint" else anova.conditional)(total, found, setting, left)

    def bins_of(self, release: EmbeddingRelease) -> Sequence[Bins]:
        """Those of all terms."""
        return [b.bins for t in embedding.features_of(release, Tensors).terms for b in t.blocks]

    def distance(self, made: embedding.Columns, release: EmbeddingRelease, *, device: str) -> Loss:
        """Squares over the noise's variance, term by term."""
        return TensorLoss(made, release, device=device)

    def check_together(self) -> None:
        """Errors: UsageError for options that do not fit each other."""
        if self.variant == "parallel" and (self.form, self.back_end) != ("anova", "mixture"):
            raise UsageError("option variant=parallel: goes with form=anova and back_end=mixture only")

    def _measure_path(self, ask: Ask, setting: Setting, progress: Progress) -> list[Release]:
        counts, left = embedding.begin(ask, setting, share=self.oneway_share)
        releases: list[Release] = [*counts]
        if left > 0:
            sigma = setting.sigma(left)
            made = embedding.columns(*estimate(counts, setting), setting, least=BIN_NOISE * sigma)
            if made.names:
                options = Options(components=self.components, ensembles=self.ensembles, steps=path.ROUND_STEPS)
                rho = max(1 - self.compared / len(made.names), LABEL_RHO)
                asks = path.kernel(made, rho=rho, label_rho=LABEL_RHO if self.variant == "joint" else 0.0)
                releases += path.measure(ask, made, sigma=sigma, asks=asks, anchors=self.anchors, options=options,
                                         progress=progress)  # fmt: skip
        progress(1.0)
        return releases

    def fit(
        self,
        releases: Sequence[Release],
        setting: Setting,
        *,
        rng: np.random.Generator,
        device: str,
        progress: Progress,
    ) -> Product:
        """The model nearest in the kernel's distance, whitened by the noise, up to the noise."""
        counts, asked = embedding.split(releases)
        paths = [r for r in releases if isinstance(r, FunctionalRelease)]
        how: dict[str, Any] = {"rng": rng, "device": device, "progress": progress}
        if paths:
            made = embedding.regrouped(*estimate(counts, setting), setting, path.kernel_of(paths).bins)
            distance = path.FunctionalLoss(made, paths, device=device)
            return embedding.fitted(made, distance, self.fitting, back_end=self.back_end, **how)
        label = _label(embedding.features_of(asked[0], Tensors), setting) if asked else None
        if self.variant == "parallel" and label is not None:
            tables = anova.tables(asked[0])
            return anova.fit_parallel(*estimate(counts, setting), tables, label, TableOptions(), **how)
        if asked and self.back_end == "mixture":
            return anova.fit_tables(*estimate(counts, setting), [anova.tables(asked[0])], TableOptions(), **how)
        return super().fit(releases, setting, **how)


def _label(features: Tensors, setting: Setting) -> str | None:
    """The target, where it stands last in every term; None where the embedding is not conditional."""
    last = {t.blocks[-1].bins.column for t in features.terms}
    return setting.schema.target if last == {setting.schema.target} else None
