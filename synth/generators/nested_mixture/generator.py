"""`nested mixture`: noisy weighted tables of related tables, fitted by a mixture over roots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.base import Ask, Progress, Setting
from synth.generators.marginals.combine import sharpen
from synth.generators.marginals.mixture import axis, rake
from synth.generators.nested_mixture import fit as fitting
from synth.generators.nested_mixture import measure as asking
from synth.generators.nested_mixture.closed_form import Columns, Level, Logits, levels
from synth.generators.nested_mixture.known import Known, known, plain
from synth.generators.nested_mixture.model import NestedMixture
from synth.generators.product_mixture.model import Product
from synth.questions import CountsRelease, LinkedRelease
from synth.questions.linked import placed
from synth.schema.lazy import Lazy
from synth.schema.related import Related

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")


@dataclass(frozen=True, kw_only=True)
class Nested:
    """Related tables as a mixture over roots. ``plan``: what is asked; ``options``: the fit.

    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name: str = "mixture"
    plan: asking.Plan = field(default_factory=asking.Plan)
    options: fitting.Options = field(default_factory=fitting.Options)

    def measure(self, ask: Ask, schema: Related, setting: Setting, *, progress: Progress) -> list[LinkedRelease]:
        """All questions of a run; see ``measure.measure``."""
        return asking.measure(ask, schema, setting, self.plan, progress=progress)

    def fit(
        self,
        releases: Sequence[LinkedRelease],
        schema: Related,
        setting: Setting,
        *,
        rng: np.random.Generator,
        device: str,
        progress: Progress,
    ) -> NestedMixture:
        """The nested mixture that agrees with all tables within their noise; its one-ways are the best estimates."""
        found = _as_measured(releases, schema, setting, self.plan)
        columns = {t: Columns.of(k) for t, k in found.items()}
        measured = fitting.blocks(releases, schema, found, columns, device)
        logits = fitting.fit(schema, found, columns, measured, self.options, rng=rng, device=device, progress=progress)
        fitted = _raked(schema, found, columns, logits)
        tables = {t: _product(found[t], columns[t], fitted[t], found[schema.root].total) for t in schema.downwards}
        below = schema.downwards[1:]
        progress(1.0)
        return NestedMixture(
            schema=schema,
            tables=tables,
            states={t: _array(fitted[t].state) for t in below},
            turns={t: _array(turn) for t in below if (turn := fitted[t].turn) is not None},
        )


def _as_measured(
    releases: Sequence[LinkedRelease], schema: Related, setting: Setting, plan: asking.Plan
) -> dict[str, Known]:
    """What one-ways tell, on the bins that the larger tables were asked on."""
    found = known(releases, schema, setting, noise=0.0, grain=plan.grain)
    sharp = {t: sharpen(k.histograms, _pairs_within(releases, t), k.total) for t, k in found.items()}
    groups: dict[str, dict[str, np.ndarray]] = {t: {} for t in found}
    for release in releases:
        if release.question.purpose == asking.PURPOSE:
            for marginal in release.question.marginals:
                for bins in marginal.bins:
                    table, column, _ = placed(bins.column)
                    groups[table][column] = bins.groups
    return {
        t: Known(total=k.total, histograms=sharp[t], groups={n: groups[t].get(n, g) for n, g in k.groups.items()})
        for t, k in found.items()
    }


def _pairs_within(releases: Sequence[LinkedRelease], table: str) -> list[CountsRelease]:
    """Tables of two columns of one table, as those of a single table."""
    found = []
    for release in releases:
        asked = release.question
        if (asked.table, asked.view, asked.purpose) != (table, "rows", asking.PURPOSE):
            continue
        own = [i for i, m in enumerate(asked.marginals) if all(placed(b.column)[0] == table for b in m.bins)]
        part = replace(asked, marginals=tuple(asked.marginals[i] for i in own))
        found.append(plain(LinkedRelease(question=part, values=tuple(release.values[i] for i in own))))
    return found


def _raked(
    schema: Related, found: Mapping[str, Known], columns: Mapping[str, Columns], logits: dict[str, Logits]
) -> dict[str, Level]:
    """The model's tables with each one-way scaled to its best estimate, from the root down."""
    for table in schema.downwards:
        level = levels(schema, columns, logits)[table]
        weights = _array(level.weights).astype(float)
        for name, where in columns[table].slices.items():
            mass = np.bincount(found[table].groups[name], weights=found[table].histograms[name].mass)
            if mass.sum() > 0 and weights.sum() > 0:
                probs = rake(weights / weights.sum(), _array(level.probs[:, where]).astype(float), mass)
                logits[table].columns[:, where] = torch.log(torch.as_tensor(np.maximum(probs, 1e-30))).to(
                    logits[table].columns
                )
    return levels(schema, columns, logits)


def _product(found: Known, columns: Columns, level: Level, roots: float) -> Product:
    probs = _array(level.probs).astype(float)
    weights = _array(level.weights).astype(float)
    whole = float(weights.sum())
    if whole <= 0:  # by all answers no root has a row here: nothing is drawn, and any weights do
        weights, whole = np.ones(len(weights)), float(len(weights))
    axes = tuple(axis(found.histograms[n], found.groups[n], probs[:, s]) for n, s in columns.slices.items())
    return Product(total=roots * float(level.weights.sum()), weights=weights / whole, axes=axes)


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
