"""`independent`: noisy one-way counts, nothing else: the floor that every other method must beat on pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth.generators.base import Fit, Run, Setting
from synth.generators.marginals import areas, oneway_queries
from synth.generators.marginals.mixture import SAFE, axis
from synth.generators.method import Method
from synth.generators.product_mixture.model import Product
from synth.questions import CountsRelease


@dataclass(frozen=True, kw_only=True)
class Independent(Method):
    """Columns drawn independently from their noisy one-way counts: a mixture with one component.

    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name = "independent"
    summary = "noisy counts of each column alone; no relations between columns"
    reads = (CountsRelease,)
    by_torch = False
    gives_rows = True

    def measure(self, run: Run) -> list[CountsRelease]:
        """One-way counts of every column, with the whole budget."""
        ask, setting, progress = run.ask, run.setting, run.progress
        progress(0.0)
        releases = oneway_queries.measure(ask, setting, share=SAFE, whole=True)
        progress(1.0)
        return releases

    def fit(self, releases: Sequence[CountsRelease], setting: Setting, how: Fit) -> Product:
        """The product of the columns' estimated distributions; ``rng`` and ``device`` are not needed."""
        progress = how.progress
        total, histograms = areas.estimated(releases, setting)
        axes = []
        for histogram in histograms.values():
            leaves = np.arange(len(histogram.mass))
            axes.append(axis(histogram, leaves, histogram.mass[None, :] / total))
        progress(1.0)
        return Product(total=total, weights=np.ones(1), axes=tuple(axes))
