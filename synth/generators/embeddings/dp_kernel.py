"""`dp_kernel`: the mean of a kernel's features over the rows, noised once; a model fitted in the kernel's distance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.errors import UsageError
from synth.generators.base import Ask, Fit, Progress, Run, Setting
from synth.generators.embeddings import anova, embedding, gaussian, path, stepwise
from synth.generators.embeddings.fit import Loss, Options
from synth.generators.embeddings.one_embedding import COMPONENTS, ENSEMBLES, OneEmbedding
from synth.generators.embeddings.tensor import TensorLoss
from synth.generators.marginals.fit_mixture import Options as TableOptions
from synth.generators.marginals.histogram import Histogram, estimate
from synth.generators.method import RATE, SHARE, STEPS, option
from synth.generators.product_mixture.model import Product
from synth.questions import (
    Bins,
    CountsRelease,
    DescentRelease,
    EmbeddingRelease,
    FunctionalRelease,
    GaussianKernel,
    ProductKernel,
    Release,
    Tensors,
)

MOST_ANCHORS = 8000  # one path tells so many values
FORMS = ("anova", "path", "gaussian", "stepwise")
VARIANTS = ("joint", "conditional", "parallel")
GRADIENTS = ("none", "joint")
BIN_NOISE = 25.0  # a bin of the path's kernel holds this many deviations of its noise
LABEL_RHO = 0.3  # the label takes part in most of what the joint kernel of a path compares


@dataclass(frozen=True, kw_only=True)
class DPKernel(OneEmbedding):
    """DP-kernel (NeurIPS 2023, functional Renyi differential privacy), in four forms that keep what they promise.

    ``form``: ``anova``, finite features of a sum of delta kernels over pairs; ``path``, one sample path of the
    functional mechanism under a product kernel, told at ``anchors`` points; ``gaussian``, such a path under the
    published kernel on rows of norm at most one. ``variant``: ``joint``, the label a column like others;
    ``conditional``, kernel times 1[same label]; ``parallel`` (not of path), a model for each class.
    ``compared``: how many columns, about, the path's kernel compares at a time. ``lengthscale``: the Gaussian's, in
    median distances of rows; ``widths``: how many Gaussians it is the mean of; ``gradients``: ``joint``, told with the
    values; ``anchors`` then counts numbers. ``back_end``: mixture or network (not for parallel of anova).
    ``oneway_share``: part of mu**2 for one-way counts. ``form`` ``stepwise``: the text's training, ``steps`` of it over
    samples of ``rate`` of the rows, gradients released at ``points`` generated rows, RMSprop's ``learning_rate``.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name = "dp_kernel"
    summary = "mean embedding under a kernel (ANOVA features, or a functional release), noised once"
    reads = (CountsRelease, EmbeddingRelease, FunctionalRelease, DescentRelease)
    form: str = option("anova", *FORMS)
    variant: str = option("joint", *VARIANTS)
    back_end: str = option("mixture", *embedding.BACK_ENDS)
    oneway_share: float = option(0.33, *SHARE)
    compared: float = option(2.5, 0.01, 100_000)
    lengthscale: float = option(0.5, 0.05, 100)
    widths: int = option(1, 1, 8)
    gradients: str = option("none", *GRADIENTS)
    anchors: int = option(4000, 1, MOST_ANCHORS)
    components: int = option(100, *COMPONENTS)
    ensembles: int = option(1, *ENSEMBLES)
    steps: int = option(300, *STEPS)
    rate: float = option(0.05, 1e-6, 1)
    points: int = option(60, 1, 4096)
    learning_rate: float = option(1e-3, *RATE)

    def measure(self, run: Run) -> list[Release]:
        """One-way counts; then the embedding, or the path in rounds, with the rest of the budget."""
        ask, setting, progress = run.ask, run.setting, run.progress
        if self.form == "anova":
            return super().measure(Run(ask, setting, progress))
        self.check_options()
        if self.form == "stepwise":
            return self._stepwise.measure(ask, setting, progress)
        if self.form == "gaussian":
            gaussian.check(setting, anchors=self.anchors, gradients=self.gradients == "joint")
        return self._measure_path(ask, setting, progress)

    @property
    def gaussian(self) -> bool:
        """Whether all questions are Gaussian, so that the run has a mu."""
        return self.form != "stepwise"

    @property
    def _stepwise(self) -> stepwise.Stepwise:
        names = ("steps", "rate", "points", "variant", "lengthscale", "widths", "learning_rate", "oneway_share")
        return stepwise.Stepwise(**{n: getattr(self, n) for n in names})

    def asked(self, total: float, histograms: Mapping[str, Histogram], setting: Setting, left: float) -> Tensors | None:
        """Features of the sum of delta kernels over pairs."""
        return (anova.joint if self.variant == "joint" else anova.conditional)(total, histograms, setting, left)

    def bins_of(self, release: EmbeddingRelease) -> Sequence[Bins]:
        """Those of all terms."""
        return [b.bins for t in embedding.features_of(release, Tensors).terms for b in t.blocks]

    def distance(self, made: embedding.ColumnEstimates, release: EmbeddingRelease, *, device: str) -> Loss:
        """Squares over the noise's variance, term by term."""
        return TensorLoss(made, release, device=device)

    def check_together(self) -> None:
        """Errors: UsageError for options that do not fit each other."""
        if self.variant == "parallel" and (self.form, self.back_end) in (
            ("anova", "network"),
            ("path", "mixture"),
            ("path", "network"),
        ):
            raise UsageError("option variant=parallel: goes with form=gaussian, or form=anova and back_end=mixture")
        if self.gradients == "joint" and self.form != "gaussian":
            raise UsageError("option gradients=joint: works only with form=gaussian, whose kernel has gradients")
        if self.form == "stepwise" and self.back_end == "network":
            raise UsageError("option back_end: form=stepwise trains a network anyway; leave back_end alone")

    def _measure_path(self, ask: Ask, setting: Setting, progress: Progress) -> list[Release]:
        counts, left = embedding.begin(ask, setting, share=self.oneway_share)
        releases: list[Release] = [*counts]
        if left > 0:
            sigma = setting.sigma(left)
            made = embedding.columns(*estimate(counts, setting), setting, least=BIN_NOISE * sigma)
            if made.names:
                options = Options(components=self.components, ensembles=self.ensembles, steps=path.ROUND_STEPS)
                releases += path.measure(
                    ask,
                    made,
                    sigma=sigma,
                    asks=self._kernel(made),
                    anchors=self.anchors,
                    options=options,
                    progress=progress,
                    gradients=self.gradients == "joint",
                )
        progress(1.0)
        return releases

    def _kernel(self, made: embedding.ColumnEstimates) -> ProductKernel | GaussianKernel:
        """That of the form; a label that is the only column with relations is a coordinate like others."""
        if self.form == "gaussian":
            labelled = self.variant != "joint" and bool(made.others)
            return gaussian.kernel(made, lengthscale=self.lengthscale, widths=self.widths, labelled=labelled)
        rho = max(1 - self.compared / len(made.names), LABEL_RHO)
        return path.kernel(made, rho=rho, label_rho=LABEL_RHO if self.variant == "joint" else 0.0)

    def fit(self, releases: Sequence[Release], setting: Setting, how: Fit) -> Product:
        """The model nearest in the kernel's distance, whitened by the noise, up to the noise."""
        rng, device, progress = how.rng, how.device, how.progress
        trained = next((r for r in releases if isinstance(r, DescentRelease)), None)
        if trained is not None:
            return stepwise.fit(trained, releases, setting, rng=rng)
        counts, asked = embedding.split(releases)
        paths = [r for r in releases if isinstance(r, FunctionalRelease)]
        threads: dict[str, Any] = {"rng": rng, "device": device, "progress": progress}
        if paths:
            asked_of = paths[0].question.kernel
            made = embedding.regrouped(*estimate(counts, setting), setting, asked_of.bins)
            if self.variant == "parallel" and isinstance(asked_of, GaussianKernel) and asked_of.label is not None:
                return gaussian.fit_parallel(made, paths, self.fitting, back_end=self.back_end, **threads)
            distance = path.distance(made, paths, device=device)
            return embedding.fitted(made, distance, self.fitting, back_end=self.back_end, **threads)
        label = _label(embedding.features_of(asked[0], Tensors), setting) if asked else None
        if self.variant == "parallel" and label is not None:
            tables = anova.tables(asked[0])
            return anova.fit_parallel(*estimate(counts, setting), tables, label, TableOptions(), **threads)
        if asked and self.back_end == "mixture":
            return anova.fit_tables(*estimate(counts, setting), [anova.tables(asked[0])], TableOptions(), **threads)
        return super().fit(releases, setting, how)


def _label(features: Tensors, setting: Setting) -> str | None:
    """The target, where it stands last in every term; None where the embedding is not conditional."""
    last = {t.blocks[-1].bins.column for t in features.terms}
    return setting.schema.target if last == {setting.schema.target} else None
