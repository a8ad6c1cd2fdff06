"""Related tables, as a mixture over roots fitted to noisy weighted tables, or as columns that are independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from synth.generators.base import Fit, Run, Setting
from synth.generators.core.columns import Answer, sharpen
from synth.generators.core.mixture import axis, rake
from synth.generators.core.product import Product
from synth.generators.core.related_fit import TreeFit, TreeOptions
from synth.generators.core.related_levels import Below, Level, Logits, levels
from synth.generators.core.related_model import BY_COLUMN, PARTS, Child, NestedMixture, joined
from synth.generators.core.related_questions import TABLES, TreePlan, ask_tree, ask_tree_columns
from synth.generators.core.related_tables import Grain, Known, Place, Sure, learn_tables, pooled_views, shrunk, single
from synth.generators.method import Method
from synth.lazy import torch
from synth.questions import LinkedRelease, Marginal, PublicLinked
from synth.questions.linked import placed
from synth.schema.dataset import Dataset


@dataclass(frozen=True, kw_only=True)
class Nested(Method):
    """Related tables as a mixture over roots. ``plan``: what is asked; ``options``: the fit.

    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name = "mixture"
    summary = "noisy weighted tables of related tables, fitted by a mixture over roots"
    tables = "tree"
    takes_priors = True
    takes_uses = True
    reads = (LinkedRelease, PublicLinked)
    plan: TreePlan = field(default_factory=TreePlan)
    options: TreeOptions = field(default_factory=TreeOptions)

    def quick(self) -> Nested:
        """The same with a fit of a moment, for rehearsals."""
        return replace(self, options=replace(self.options, fits=2, steps=3))

    def measure(self, run: Run) -> list[LinkedRelease | PublicLinked]:
        """All questions of a run; see ``measure.measure``."""
        ask, setting, progress = run.ask, run.setting, run.progress
        return ask_tree(ask, _tree(setting), setting, self.plan, progress=progress)

    def noise_left(
        self, releases: Sequence[LinkedRelease | PublicLinked], setting: Setting
    ) -> dict[Place, np.ndarray | float]:
        """The part of noise's deviation that public tables leave in the cells of each table of two columns."""
        return {place: sure.part for place, sure in self._before(releases, setting)[2].items()}

    def _before(
        self, releases: Sequence[LinkedRelease | PublicLinked], setting: Setting
    ) -> tuple[dict[str, Known], list[LinkedRelease], dict[Place, Sure]]:
        """What columns are, the tables as a fit follows them, and how sure these are."""
        schema = _tree(setting)
        publics = [r for r in releases if isinstance(r, PublicLinked)]
        counted = pooled_views([r for r in releases if isinstance(r, LinkedRelease)], TABLES)
        result = _as_measured(counted, publics, schema, setting, self.plan)
        return result, *shrunk(counted, publics, schema, result, TABLES)

    def fit(self, releases: Sequence[LinkedRelease | PublicLinked], setting: Setting, how: Fit) -> NestedMixture:
        """Nested mixtures that agree with all tables within their noise, as one; its one-ways are the best estimates.

        Each fit begins elsewhere and errs in its own way; together they err less.
        """
        known, shifted, sure = self._before(releases, setting)
        trees = TreeFit(schema=_tree(setting), known=known, device=how.device)
        measured = trees.blocks(shifted, sure)

        rngs, models = how.rng.spawn(self.options.fits), []
        for logits in trees.fit(measured, self.options, rngs=rngs, progress=how.progress):
            _rake(trees, logits)
            models.append(_model(trees, levels(trees.schema, trees.columns, logits)))
        how.progress(1.0)
        return joined(models)


def _tree(setting: Setting) -> Dataset:
    if setting.tree is None:
        raise RuntimeError("a single table where related ones are needed")  # a fault of this program
    return setting.tree


def _model(trees: TreeFit, fitted: Mapping[str, Level]) -> NestedMixture:
    """What one fit found, as it is drawn from."""

    def product(table: str, probs: torch.Tensor, weights: torch.Tensor) -> Product:
        known, slices, mass = trees.known[table], trees.columns[table].slices, _array(weights).astype(float)
        shares, whole = _array(probs).astype(float), float(mass.sum())
        each = mass / whole if whole > 0 else np.full(len(mass), 1 / len(mass))  # no root has a row: any weights do
        axes = tuple(axis(known.histograms[n], known.groups[n], shares[:, s]) for n, s in slices.items())
        return Product(total=trees.total * whole, weights=each, axes=axes)

    products, children = {t: product(t, level.probs, level.weights) for t, level in fitted.items()}, {}
    for table, level in fitted.items():
        if isinstance(level, Below):
            at = [s.start for s in trees.columns[table].slices.values()]
            parts: dict[str, Any] = {"direct": product(table, level.direct, level.mass.sum(1))}
            for part in PARTS:
                if (tensor := getattr(level, part, None)) is not None:
                    parts[part] = _array(tensor)[at] if part in BY_COLUMN else _array(tensor)
            children[table] = Child(rows=products[table], **parts)
    return NestedMixture(schema=trees.schema, root=products[trees.schema.root], children=children)


def _as_measured(
    releases: Sequence[LinkedRelease],
    publics: Sequence[PublicLinked],
    schema: Dataset,
    setting: Setting,
    plan: TreePlan,
) -> dict[str, Known]:
    """What one-ways tell, on the bins that the larger tables were asked on."""
    result = learn_tables([*releases, *publics], schema, setting, noise=0.0, grain=plan.grain)
    sharp = {t: sharpen(k.histograms, _margins_within(releases, t), k.total) for t, k in result.items()}
    groups: dict[str, dict[str, np.ndarray]] = {t: {} for t in result}
    for release in releases:
        if release.question.purpose == TABLES:
            for marginal in release.question.marginals:
                for bins in marginal.bins:
                    table, column, _ = placed(bins.column)
                    if column not in groups[table] or bins.groups.max() > groups[table][column].max():
                        groups[table][column] = bins.groups  # the finest
    return {
        t: Known(total=k.total, histograms=sharp[t], groups={n: groups[t].get(n, g) for n, g in k.groups.items()})
        for t, k in result.items()
    }


def _margins_within(releases: Sequence[LinkedRelease], table: str) -> list[Answer]:
    """What tables of two columns about a table's rows say of each of its own columns, as of a single table."""
    own = (TABLES, table, "rows")
    return [
        (single(Marginal(bins=(m.bins[i],), sigma=m.sigma * np.sqrt(m.bins[1 - i].size))), v.sum(1 - i))
        for r in releases
        if (r.question.purpose, r.question.table, r.question.view) == own
        for m, v in r.items()
        for i in (0, 1)
        if placed(m.bins[i].column)[0] == table
    ]


def _rake(trees: TreeFit, logits: dict[str, Logits]) -> None:
    """Scales each one-way of the model to its best estimate, from the root down; changes the logits of columns."""
    for table in trees.schema.downwards:
        level, given = levels(trees.schema, trees.columns, logits)[table], logits[table]
        for name, where in trees.columns[table].slices.items():
            mass = trees.mass(table, name)
            weights, probs = level.weights, level.probs[:, where]
            if isinstance(level, Below):
                lean = level.lean[where.start]
                weights = torch.cat([(1 - lean) * weights, lean * level.mass.sum(1)])
                probs = torch.cat([probs, level.direct[:, where]])
            if mass.sum() <= 0 or float(weights.sum()) <= 0:
                continue
            raked = rake(_array(weights / weights.sum()).astype(float), _array(probs).astype(float), mass)
            scaled = torch.log(torch.as_tensor(np.maximum(raked, 1e-30))).to(given.columns)
            given.columns[:, where] = scaled[: len(given.columns)]
            if given.direct is not None:
                given.direct[:, where] = scaled[len(given.columns) :]


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()


@dataclass(frozen=True, kw_only=True)
class IndependentChildren(Method):
    """Every column drawn by itself, every root's number of children too: a nested mixture of one component a table.

    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name = "independent"
    summary = "noisy counts of each column and of numbers of children; no relations between columns, rows or tables"
    tables = "tree"
    reads = (LinkedRelease,)
    by_torch = False

    def measure(self, run: Run) -> list[LinkedRelease]:
        """One-way counts of every table, with the whole budget."""
        ask, setting, progress = run.ask, run.setting, run.progress
        assert setting.tree is not None
        return ask_tree_columns(ask, setting.tree, setting, TreePlan(oneway=1.0), progress=progress)

    def fit(self, releases: Sequence[LinkedRelease], setting: Setting, how: Fit) -> NestedMixture:
        """The product of all columns' estimated distributions; ``rng`` and ``device`` are not needed."""
        progress = how.progress
        schema = setting.tree
        assert schema is not None
        tables = {}
        for table, item in learn_tables(releases, schema, setting, noise=0.0, grain=Grain()).items():
            axes = []
            for histogram in item.histograms.values():
                leaves, mass = np.arange(len(histogram.mass)), histogram.mass[None, :]
                axes.append(axis(histogram, leaves, mass / max(mass.sum(), 1e-9)))
            tables[table] = Product(total=item.total, weights=np.ones(1), axes=tuple(axes))
        progress(1.0)
        children = {t: Child(rows=tables[t], state=np.ones((1, 1))) for t in schema.downwards[1:]}
        return NestedMixture(schema=schema, root=tables[schema.root], children=children)
