"""Mixtures that the released counts would bear as well: noise is added to them again, and a fit is carried on.

All of it reads released answers and the model made of them; the argument stands in docs/inference.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synth.generators.base import Progress, Setting
from synth.generators.core.columns import Histogram, OneWays, project
from synth.generators.core.mixture import axis, rake, said
from synth.generators.core.problem import Problem, lay_out, refine
from synth.generators.core.product import Axis, Product
from synth.generators.core.solver import AdamDescent, Surface
from synth.generators.core.tables import NoisyTable
from synth.lazy import torch

CENTRE_STEPS, STEPS, LEAST_STEPS = 600, 100, 20  # of a refit: the first one, each further one, and at least
CENTRE_RATE, RATE, LAST_RATE = 0.1, 0.05, 0.01
WORK = 5e10  # multiplications and additions of one refit; of large problems fewer steps, the longer for it
STANDS_OUT = 2.0  # deviations of its noise that a value must weigh, for its own noise to be drawn again


@dataclass(frozen=True, kw_only=True, eq=False)
class PosteriorDraws:
    """A release's answers, and a mixture that follows them as far as it can: the centre of the draws.

    **Guarantee**: derived from releases only.
    """

    centre: tuple[np.ndarray, np.ndarray]
    columns: OneWays
    tables: tuple[NoisyTable, ...]
    targets: tuple[NoisyTable, ...] = ()

    @classmethod
    def of(cls, model: Product, releases: Sequence[Any], setting: Setting) -> "PosteriorDraws":
        """The release's own model carried on until it follows the noisy tables, without the pull to independence."""
        columns, tables, targets = said(releases, setting)
        groups = refine(columns, [*tables, *targets])
        problem, _ = lay_out(columns, groups, tables, targets)
        probs = np.concatenate(
            [_gathered(a, columns.histograms[a.column], groups[a.column]) for a in model.axes], axis=1
        )
        centre = carried_on(problem, model.weights, probs, steps=CENTRE_STEPS, rate=CENTRE_RATE)
        return cls(centre=centre, columns=columns, tables=tuple(tables), targets=tuple(targets))

    def models(self, many: int, *, rng: np.random.Generator, progress: Progress = lambda _: None) -> Iterator[Product]:
        """So many models, each fitted to the tables under noise of its own."""
        for i in range(many):
            yield self._one(rng)
            progress((i + 1) / many)

    def _one(self, rng: np.random.Generator) -> Product:
        def noise(table: NoisyTable) -> np.ndarray:
            return table.marginal.sigma * rng.standard_normal(table.values.shape)

        tables = [replace(t, values=np.rint(t.values + noise(t)).astype(np.int64)) for t in self.tables]
        total, histograms = self.columns.total, {}
        for name, h in self.columns.histograms.items():  # smaller masses, mostly smoothed, stay as they are
            shift = np.where(h.mass > STANDS_OUT * h.sigma, h.sigma, 0.0) * rng.standard_normal(len(h.mass))
            histograms[name] = replace(h, mass=project(h.mass + shift, total=total))
        result = replace(self.columns, histograms=histograms)
        targets = []
        for target in self.targets:  # cells of public tables, each as far off as the truth may be
            spread = np.sqrt(np.where(np.isfinite(target.variance), target.variance, 0.0))
            targets.append(replace(target, values=target.values + spread * rng.standard_normal(spread.shape)))
        groups = refine(result, [*tables, *targets])
        problem, spans = lay_out(result, groups, tables, targets)
        weights, probs = carried_on(problem, *self.centre, steps=STEPS, rate=RATE)
        for span in spans.values():
            probs[:, span] = rake(weights, probs[:, span], problem.mass[span])
        axes = tuple(axis(h, groups[n], probs[:, spans[n]]) for n, h in histograms.items())
        return Product(total=result.total, weights=weights, axes=axes)


def _gathered(axis: Axis, histogram: Histogram, groups: np.ndarray) -> np.ndarray:
    """A model's probabilities (B, G) of groups (L,) of a column's leaves, which its own are parts of."""
    leaf = np.searchsorted(histogram.starts, axis.starts, side="right") - 1
    member = np.zeros((axis.probs.shape[1], int(groups.max()) + 1))
    member[axis.groups, groups[leaf]] = 1
    return axis.probs @ member


def carried_on(
    problem: Problem, weights: np.ndarray, probs: np.ndarray, *, steps: int, rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (B,) and group probabilities (B, G) after a descent from the given ones.

    Without the pull to independence and without an early end: both keep a model from following noise, and with it from
    the relations that noise nearly hides; an estimate would then lie nearer to independence than its interval reaches.
    """
    logits = torch.as_tensor(np.log(np.maximum(probs, 1e-9)).T[None], dtype=torch.float32)
    shares = torch.as_tensor(np.log(np.maximum(weights, 1e-12))[None], dtype=torch.float32)
    surface = Surface(problem, "cpu")
    if problem.blocks:
        fewer = int(np.clip(WORK * steps / STEPS / (problem.work * len(weights)), LEAST_STEPS, steps))
        descent = AdamDescent(rate=rate * steps / fewer, last=LAST_RATE, steps=fewer, goal=0.0)
        descent.run(surface, logits, shares, lambda _: None)
    share, out = surface.probabilities(logits, shares)
    return share[0].double().numpy(), out[0].T.double().numpy()
