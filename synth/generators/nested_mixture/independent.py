"""`independent` for related tables: single columns and numbers of children; the floor that every relation must beat."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth.generators.base import Fit, Run, Setting
from synth.generators.marginals.mixture import axis
from synth.generators.method import Method
from synth.generators.nested_mixture.known import Grain, known
from synth.generators.nested_mixture.measure import TreePlan, measure_columns
from synth.generators.nested_mixture.model import NestedMixture
from synth.generators.product_mixture.model import Product
from synth.questions import LinkedRelease


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
        return measure_columns(ask, setting.tree, setting, TreePlan(oneway=1.0), progress=progress)

    def fit(self, releases: Sequence[LinkedRelease], setting: Setting, how: Fit) -> NestedMixture:
        """The product of all columns' estimated distributions; ``rng`` and ``device`` are not needed."""
        progress = how.progress
        schema = setting.tree
        assert schema is not None
        tables = {}
        for table, item in known(releases, schema, setting, noise=0.0, grain=Grain()).items():
            axes = []
            for histogram in item.histograms.values():
                leaves, mass = np.arange(len(histogram.mass)), histogram.mass[None, :]
                axes.append(axis(histogram, leaves, mass / max(mass.sum(), 1e-9)))
            tables[table] = Product(total=item.total, weights=np.ones(1), axes=tuple(axes))
        progress(1.0)
        return NestedMixture(schema=schema, tables=tables, states={t: np.ones((1, 1)) for t in schema.downwards[1:]})
