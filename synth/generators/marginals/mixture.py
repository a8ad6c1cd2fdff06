"""`mixture`: noisy one- and two-way tables on merged bins, fitted by a mixture of product distributions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from synth.generators.base import Ask, Progress, Setting
from synth.generators.marginals import calendar, layout, oneway_queries, pair_queries, second_round
from synth.generators.marginals import fit_mixture as fitting
from synth.generators.marginals.choose_heads import headed
from synth.generators.marginals.combine import sharpen
from synth.generators.marginals.histogram import Histogram, estimate
from synth.generators.method import Method
from synth.generators.product_mixture.column import Axis, within_groups
from synth.generators.product_mixture.model import Product
from synth.generators.ranges import SHARE, Range
from synth.questions import CountsRelease

SAFE = 1 - 1e-9  # keeps sums of rounded shares below the whole
RAKES = 20  # rounds of scaling to the one-ways; they converge by a factor of about three a round


@dataclass(frozen=True, kw_only=True)
class Mixture(Method):
    """The flagship: all pairs of columns at once, no private selection, fitted in seconds on one core.

    ``oneway_share``: part of mu**2 for one-way counts; what trees leave of it goes to the tables.
    ``plan``: which tables are asked for. ``options``: the fit.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name: str = "mixture"
    barrier: str = "B1"
    summary: str = "noisy tables of one and two columns, fitted by a mixture of product distributions"
    reads: tuple[type, ...] = (CountsRelease,)
    relations: tuple[str, ...] = ("add_remove", "replace_one", "zero_out")
    oneway_share: float = 0.33
    plan: pair_queries.Plan = field(default_factory=pair_queries.Plan)
    options: fitting.Options = field(default_factory=fitting.Options)
    ranges: ClassVar[Mapping[str, Range]] = {
        "oneway_share": SHARE,
    }  # fmt: skip

    def measure(self, ask: Ask, setting: Setting, *, progress: Progress) -> list[CountsRelease]:
        """One-way counts of every column, then tables of pairs on bins merged by these counts."""
        progress(0.0)
        alone = sum(c.cells > 1 for c in setting.schema.measured().values()) < 2
        share = SAFE if alone else SAFE * self.oneway_share
        releases = oneway_queries.measure(ask, setting, share=share, whole=alone)
        progress(0.5)
        total, found = estimate(releases, setting)
        left = SAFE * (1 - oneway_queries.spent(releases, setting))
        first = left
        question = None if alone else pair_queries.question(found, total, setting, share=left, plan=self.plan)
        if question is not None:
            releases.append(ask(question))
            left = SAFE * (1 - oneway_queries.spent(releases, setting))
            more = second_round.tables(found, releases[-1], total, setting, first=first, share=left, plan=self.plan)
            if more is not None:
                releases.append(ask(more))
        progress(1.0)
        return releases

    def fit(
        self,
        releases: Sequence[CountsRelease],
        setting: Setting,
        *,
        rng: np.random.Generator,
        device: str,
        progress: Progress,
    ) -> Product:
        """The mixture that agrees with all tables within their noise; its one-ways are the best estimates."""
        total, found = estimate(releases, setting)
        tables = [r for r in releases if r.question.purpose == pair_queries.PURPOSE]
        found = sharpen(found, tables, total)
        groups = layout.refine(found, tables)
        problem, spans = layout.problem(found, groups, tables, total)
        weights, probs = fitting.fit(problem, self.options, rng=rng, device=device, progress=progress)
        for span in spans.values():
            probs[:, span] = rake(weights, probs[:, span], problem.mass[span])
        progress(1.0)
        axes = tuple(axis(h, groups[n], probs[:, spans[n]]) for n, h in found.items())
        return headed(Product(total=total, weights=weights, axes=axes), groups, tables, setting.schema.target, rng=rng)


def axis(found: Histogram, groups: np.ndarray, probs: np.ndarray) -> Axis:
    """A model's column: group probabilities (B, G), expanded to leaves, and dates to days, by the histogram."""
    empty = np.bincount(groups, weights=found.mass)[groups] <= 0
    starts, mass = found.starts, np.where(empty, found.widths * 1e-12, found.mass)  # widths where nothing is known
    if found.calendar:
        before = np.bincount(groups, weights=mass)
        starts, leaf, mass = calendar.spread(starts, mass, found.cells, found.calendar)
        groups = groups[leaf]
        probs = probs * (np.bincount(groups, weights=mass) / before)
        probs = probs / np.maximum(probs.sum(1, keepdims=True), 1e-9)
    within = within_groups(mass, groups)[1]
    return Axis(
        column=found.column,
        cells=found.cells,
        starts=starts,
        groups=groups,
        within=within.astype(np.float32),
        probs=probs.astype(np.float32),
    )


def rake(weights: np.ndarray, probs: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Component distributions (B, G) scaled until the mixture's one-way is ``mass`` (G,), up to its sum.

    >>> raked = rake(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([1.0, 1.0]))
    >>> raked.mean(0).round(6).tolist()
    [0.5, 0.5]
    """
    goal = mass / mass.sum()
    for _ in range(RAKES):
        probs = probs * (goal / np.maximum(weights @ probs, 1e-30))
        whole = probs.sum(1, keepdims=True)
        probs = np.where(whole > 1e-30, probs / np.maximum(whole, 1e-30), goal)
    return probs
