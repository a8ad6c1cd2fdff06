"""`independent`: noisy one-way counts, nothing else: the floor that every other method must beat on pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from synth.generators.base import Ask, Progress, Setting
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

    name: str = "independent"
    barrier: str = "before the fit"
    summary: str = "noisy counts of each column alone; no relations between columns"
    reads: tuple[type, ...] = (CountsRelease,)
    relations: tuple[str, ...] = ("add_remove", "replace_one", "zero_out")
    by_torch: ClassVar[bool] = False
    gives_rows: ClassVar[bool] = True

    def measure(self, ask: Ask, setting: Setting, *, progress: Progress) -> list[CountsRelease]:
        """One-way counts of every column, with the whole budget."""
        progress(0.0)
        releases = oneway_queries.measure(ask, setting, share=SAFE, whole=True)
        progress(1.0)
        return releases

    def fit(
        self,
        releases: Sequence[CountsRelease],
        setting: Setting,
        *,
        rng: np.random.Generator,  # noqa: ARG002
        device: str,  # noqa: ARG002
        progress: Progress,
    ) -> Product:
        """The product of the columns' estimated distributions; ``rng`` and ``device`` are not needed."""
        total, histograms = areas.estimated(releases, setting)
        axes = []
        for histogram in histograms.values():
            leaves = np.arange(len(histogram.mass))
            axes.append(axis(histogram, leaves, histogram.mass[None, :] / total))
        progress(1.0)
        return Product(total=total, weights=np.ones(1), axes=tuple(axes))
