"""`dp_kernel`: a kernel's mean embedding, noised once, in four forms; a model fitted in the kernel's distance.

Weighted tables under the ANOVA kernel; one sample path of a Gaussian process around the rows' kernel sum, told at
chosen points, under a product kernel or a Gaussian one; and, in ``stepwise.py``, the text's own training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from synth import questions
from synth.errors import UsageError
from synth.generators.base import Fit, Run, Setting
from synth.generators.core.columns import answers_of, project
from synth.generators.core.mixture import axis, rake
from synth.generators.core.planning import TABLES, PairPlan, pairs_question
from synth.generators.core.problem import lay_out, refine
from synth.generators.core.product import Product, within_groups
from synth.generators.core.solver import Options, fit_mixture
from synth.generators.core.tables import NoisyTable, tables_of
from synth.generators.method import RATE, SHARE, option
from synth.generators.papers import embeddings, kernels
from synth.generators.papers.columns import Columns, OneWays
from synth.generators.papers.descent import Distance, State, WithOneWays, fitted
from synth.generators.papers.stepwise import Stepwise

MOST_ANCHORS = 8000  # one path tells so many values
FORMS = ("anova", "path", "gaussian", "stepwise")
VARIANTS = ("joint", "conditional", "parallel")
GRADIENTS = ("none", "joint")
PATH_NOISE = 25.0  # a bin of the path's kernel holds this many deviations of its noise
NAME = "kernel sum"
NUGGET = 1e-3
ROUNDS = 4  # of asking: first public points, then points drawn from the model of the moment
ROUND_STEPS = 100
LABEL_RHO = 0.3  # the label takes part in most of what the joint kernel of a path compares


@dataclass(frozen=True, kw_only=True)
class DPKernel(embeddings.OneEmbedding):
    """DP-kernel (NeurIPS 2023, functional Renyi differential privacy), in four forms that keep what they promise.

    ``form``: ``anova``, finite features of a sum of delta kernels over pairs; ``path``, one sample path of the
    functional mechanism under a product kernel, told at ``anchors`` points; ``gaussian``, such a path under the
    published kernel on rows of norm at most one. ``variant``: ``joint``, the label a column like others;
    ``conditional``, kernel times 1[same label]; ``parallel`` (not of path), a model for each class.
    ``compared``: how many columns, about, the path's kernel compares at a time. ``lengthscale``: the Gaussian's, in
    median distances of rows; ``widths``: how many Gaussians it is the mean of; ``gradients``: ``joint``, told with the
    values; ``anchors`` then counts numbers. ``oneway_share``: part of mu**2 for one-way counts. ``form`` ``stepwise``:
    the text's training, ``steps`` of it over samples of ``rate`` of the rows, gradients released at ``points``
    generated rows, RMSprop's ``learning_rate``.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name = "dp_kernel"
    summary = "mean embedding under a kernel (ANOVA features, or a functional release), noised once"
    kind = questions.Tensors
    reads = (questions.CountsRelease, questions.EmbeddingRelease, questions.FunctionalRelease, questions.DescentRelease)
    form: str = option("anova", *FORMS)
    variant: str = option("joint", *VARIANTS)
    oneway_share: float = option(0.33, *SHARE)
    compared: float = option(2.5, 0.01, 100_000)
    lengthscale: float = option(0.5, 0.05, 100)
    widths: int = option(1, 1, 8)
    gradients: str = option("none", *GRADIENTS)
    anchors: int = option(4000, 1, MOST_ANCHORS)
    rate: float = option(0.05, 1e-6, 1)
    points: int = option(24, 1, 4096)
    learning_rate: float = option(2e-3, *RATE)

    @property
    def gaussian(self) -> bool:
        """Whether all questions are Gaussian, so that the run has a mu."""
        return self.form != "stepwise"

    @property
    def takes_device(self) -> bool:
        """Of one step after another the curator sums rows' gradients exactly, which it can on a processor alone."""
        return self.form != "stepwise"

    def check_together(self) -> None:
        """Errors: UsageError for options that do not fit each other."""
        if self.variant == "parallel" and self.form == "path":
            raise UsageError("option variant=parallel: goes with form=gaussian or form=anova")
        if self.gradients == "joint" and self.form != "gaussian":
            raise UsageError("option gradients=joint: works only with form=gaussian, whose kernel has gradients")

    def measure(self, run: Run) -> list[questions.Release]:
        """One-way counts; then the embedding, or the path in rounds, with the rest of the budget."""
        if self.form == "anova":
            return super().measure(run)
        self.check_options()
        if self.form == "stepwise":
            return self._stepwise.measure(run)
        if self.form == "gaussian":
            kernels.check_coordinates(run.setting, anchors=self.anchors, gradients=self.gradients == "joint")
        counts, left = self.first(run)
        releases: list[questions.Release] = [*counts]
        if left > 0:
            sigma = run.setting.sigma(left)
            columns = OneWays.of(counts, run.setting).merged(least=PATH_NOISE * sigma)
            releases += self._path(run, columns, sigma) if columns.names else []
        run.progress(1.0)
        return releases

    @property
    def _stepwise(self) -> Stepwise:
        names = ("steps", "rate", "points", "variant", "lengthscale", "widths", "learning_rate", "oneway_share")
        return Stepwise(**{n: getattr(self, n) for n in names})

    def feature_map(self, one_ways: OneWays, left: float) -> questions.Tensors | None:
        """Features of the sum of delta kernels over pairs."""
        return (joint if self.variant == "joint" else conditional)(one_ways, left)

    def distance(self, columns: Columns, release: questions.EmbeddingRelease, *, device: str) -> Distance:
        """Squares over the noise's variance, term by term."""
        return embeddings.TensorDistance(columns, release, device=device)

    def _path(self, run: Run, columns: Columns, sigma: float) -> list[questions.FunctionalRelease]:
        """Asks for ``anchors`` numbers of the path in rounds; after the first each round's points come from a model.

        A number is a value, or a coordinate of the gradient at the point, too.

        **Guarantee**: the whole path costs one Gaussian mechanism; points are public or follow earlier answers; all
        randomness of this phase comes from a public seed.
        """
        kernel, gradients = self._kernel(columns), self.gradients == "joint"
        how = Fit(embeddings.public_rng(), device=run.device)
        options = replace(self.fitting, steps=ROUND_STEPS)
        model, state = columns.independent(), None
        releases: list[questions.FunctionalRelease] = []
        each, seen = 1 + kernel.smooth * gradients, None
        for step in range(min(ROUNDS, max(self.anchors // each, 1))):
            count = max(self.anchors // ROUNDS // each, 1)
            if seen is None:
                points = kernels.first_points(kernel, model, count, how.rng)
            else:
                points = kernels.fresh_points(kernel, model, seen, count, how.rng)
            if not len(points):
                break
            seen = points if seen is None else np.vstack([seen, points])
            releases.append(
                run.ask(
                    questions.FunctionalQuery(
                        name=NAME,
                        purpose=embeddings.PURPOSE,
                        kernel=kernel,
                        sigma=sigma,
                        nugget=NUGGET,
                        points=points,
                        gradients=gradients,
                    )
                )
            )
            run.progress((step + 0.5) / ROUNDS)
            if step < ROUNDS - 1:
                state = state or State(columns, options, how)
                distance = kernels.path_distance(columns, releases, device=how.device)
                distance = WithOneWays(distance, columns, device=how.device)
                state.descend(distance, steps=ROUND_STEPS, progress=how.progress)
                model = columns.model(*state.arrays())
        return releases

    def _kernel(self, columns: Columns) -> questions.ProductKernel | questions.GaussianKernel:
        """That of the form; a label that is the only column with relations is a coordinate like others."""
        if self.form == "gaussian":
            labelled = self.variant != "joint" and bool(columns.others)
            return kernels.gaussian_kernel(columns, lengthscale=self.lengthscale, widths=self.widths, labelled=labelled)
        rho = max(1 - self.compared / len(columns.names), LABEL_RHO)
        return kernels.product_kernel(columns, rho=rho, label_rho=LABEL_RHO if self.variant == "joint" else 0.0)

    def fit(self, releases: Sequence[questions.Release], setting: Setting, how: Fit) -> Product:
        """The model nearest in the kernel's distance, whitened by the noise, up to the noise."""
        trained = next((r for r in releases if isinstance(r, questions.DescentRelease)), None)
        if trained is not None:
            return self._stepwise.fit(trained, releases, setting, how)
        one_ways = OneWays.of(releases, setting)
        asked = [r for r in releases if isinstance(r, questions.EmbeddingRelease)]
        paths = [r for r in releases if isinstance(r, questions.FunctionalRelease)]
        if paths:
            kernel = paths[0].question.kernel
            columns = one_ways.asked(kernel.bins)
            if self.variant == "parallel" and isinstance(kernel, questions.GaussianKernel) and kernel.label is not None:
                return kernels.path_of_classes(columns, paths, kernel.label.column, self.fitting, how)
            return fitted(columns, kernels.path_distance(columns, paths, device=how.device), self.fitting, how)
        if not asked:
            return one_ways.independent()
        features, target = embeddings.features_of(asked[0], questions.Tensors), setting.schema.target
        conditional = {t.blocks[-1].bins.column for t in features.terms} == {target}  # the label stands last
        if self.variant == "parallel" and conditional and target is not None:
            return tables_of_classes(one_ways, tables(asked[0]), target, how)
        return fit_tables(one_ways, [tables(asked[0])], how)


# The ANOVA kernel: a sum of delta kernels over pairs of columns, whose mean embedding is weighted tables


LABEL_ALONE = 0.15  # part of a conditional embedding for tables of one column and the label
MOST_PAIRS = 300  # pairs that a conditional embedding holds; wide tables make do with a random choice


def joint(one_ways: OneWays, share: float) -> questions.Tensors | None:
    """All pairs of columns, the label's among them: k(x, w) = sum_q a_q^2 1[x and w agree on the bins of pair q].

    Weights a_q^2 go with cells^(2/3), eight times that with the target, which is where the mean error of all tables is
    least for the budget: tables, each with its noise, as one embedding with one noise.
    """
    planned = pairs_question(one_ways, share, PairPlan(second=0.0))
    if planned is None:
        return None
    asked = planned[0]
    precision = np.array([1 / m.sigma for m in asked.marginals])
    weight = precision / np.linalg.norm(precision) * (1 - 1e-12)
    known = {id(b): questions.Block.one_hot(b, weight=1.0) for m in asked.marginals for b in m.bins}
    blocks = [tuple(known[id(b)] for b in m.bins) for m in asked.marginals]
    return questions.Tensors(
        terms=tuple(questions.Term(blocks=b, weight=float(w)) for b, w in zip(blocks, weight, strict=True))
    )


def conditional(one_ways: OneWays, share: float) -> questions.Tensors | None:
    """k(x, w) 1[same label]: pairs and single columns, each with the label as one more factor.

    Bins by the noise that tables of two columns and the label will have.
    """
    setting = one_ways.setting
    first = [n for n, h in one_ways.histograms.items() if len(h.mass) > 1 and n != setting.schema.target]
    count = max(min(len(first) * (len(first) - 1) / 2, MOST_PAIRS), 1.0)
    columns = one_ways.balanced(
        noise=setting.sigma(share) * np.sqrt(count / (1 - LABEL_ALONE)), least=embeddings.TABLE_NOISE
    )
    if columns.label is None or not columns.others:
        return joint(one_ways, share)
    singles = [(n, columns.label) for n in columns.others]
    doubles = [(*p, columns.label) for p in embeddings.some(list(combinations(columns.others, 2)), MOST_PAIRS)]
    part, made = (LABEL_ALONE if doubles else 1.0), []
    for several, share in ((singles, part), (doubles, 1 - part)):
        blocks = {n: questions.Block.one_hot(columns.bins(n), weight=1.0) for n in columns.names}
        made += embeddings.terms(blocks, several, share, 1e-12)
    return questions.Tensors(terms=tuple(made))


def tables(release: questions.EmbeddingRelease) -> questions.CountsRelease:
    """The released embedding read as tables of counts: each term's features over its weight, so its noise."""
    features, sigma = embeddings.features_of(release, questions.Tensors), release.question.sigma
    marginals, values = [], []
    for term, part in zip(features.terms, features.parts, strict=True):
        bins = tuple(b.bins for b in term.blocks)
        marginals.append(questions.Marginal(bins=bins, sigma=sigma / term.weight))
        values.append((release.values[part] / term.weight).reshape([b.size for b in bins]))
    question = questions.Counts(purpose=TABLES, marginals=tuple(marginals))
    return questions.CountsRelease(question=question, values=tuple(values))


def fit_tables(one_ways: OneWays, asked: Sequence[questions.CountsRelease], how: Fit) -> Product:
    """The mixture nearest in the whitened distance of mean embeddings: squared errors of all cells by precision."""
    columns, tables = one_ways.sharpened(answers_of(asked)), tables_of(asked)
    groups = refine(columns, tables)
    problem, spans = lay_out(columns, groups, tables)
    weights, probs = fit_mixture(problem, Options(), rng=how.rng, device=how.device, progress=how.progress)
    raked = {n: rake(weights, probs[:, s], problem.mass[s]) for n, s in spans.items()}
    axes = tuple(axis(h, groups[n], raked[n]) for n, h in columns.histograms.items())
    return Product(total=columns.total, weights=weights, axes=axes)


def tables_of_classes(one_ways: OneWays, asked: questions.CountsRelease, label: str, how: Fit) -> Product:
    """A mixture for each class, fitted to its own part of the embedding alone; classes weighted by paid counts."""
    histograms, total = one_ways.histograms, one_ways.total
    groups = refine(one_ways, tables_of([asked]))
    classes = int(groups[label].max()) + 1
    shares = np.bincount(groups[label], weights=histograms[label].mass) / total
    options = Options(ensembles=max(Options().ensembles // classes, 2))
    weights, probs = [], []
    for c in range(classes):
        mine = _within(one_ways, groups, asked, label, c, total * max(float(shares[c]), 1e-6))
        if within := _slice(asked, c):
            problem, spans = lay_out(mine, groups, within)
            w, every = fit_mixture(problem, options, rng=how.rng, device=how.device, progress=lambda _: None)
            table = {n: every[:, s] for n, s in spans.items()}
        else:
            w, table = np.ones(1), {n: np.bincount(groups[n], weights=h.mass)[None] for n, h in mine.histograms.items()}
            table = {n: t / mine.total for n, t in table.items()}
        weights.append(shares[c] * w)
        probs.append(table | {label: np.broadcast_to(np.eye(classes)[c], (len(w), classes))})
        how.progress((c + 1) / classes)
    share = np.concatenate(weights) / sum(map(np.sum, weights))
    mass = {n: np.bincount(groups[n], weights=h.mass) / total for n, h in histograms.items()}
    joined = {n: rake(share, np.concatenate([p[n] for p in probs]), mass[n]) for n in histograms}
    return Product(total=total, weights=share, axes=tuple(axis(h, groups[n], joined[n]) for n, h in histograms.items()))


def _within(
    columns: OneWays, groups: Mapping[str, np.ndarray], asked: questions.CountsRelease, label: str, c: int, part: float
) -> OneWays:
    """One-ways inside a class of ``part`` rows: bins by its tables with the label, leaves in their overall shares."""
    histograms = columns.histograms
    out = {n: replace(h, mass=h.mass * (part / h.mass.sum())) for n, h in histograms.items() if n != label}
    for marginal, values in (a for a in asked.items() if len(a[0].bins) == 2):
        name = marginal.columns[0]
        mass = project(values[:, c], total=part)
        share = within_groups(np.maximum(histograms[name].mass, 1e-9), groups[name])[1]
        out[name] = replace(out[name], mass=mass[groups[name]] * share, sigma=marginal.sigma)
    return replace(columns, histograms=out, total=float(next(iter(out.values())).mass.sum()))


def _slice(asked: questions.CountsRelease, c: int) -> list[NoisyTable]:
    """The tables of two columns within one class."""
    return [
        NoisyTable(marginal=replace(m, bins=m.bins[:-1]), values=v[..., c])
        for m, v in asked.items()
        if len(m.bins) == 3
    ]
