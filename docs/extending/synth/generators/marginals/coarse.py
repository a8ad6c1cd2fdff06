"""`coarse`: noisy counts of each column in a few even bins, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from synth.generators.base import Ask, Progress, Setting
from synth.generators.method import Method
from synth.generators.product_mixture.column import Axis
from synth.generators.product_mixture.model import Product
from synth.generators.ranges import Between, Range
from synth.questions import Bins, Counts, CountsRelease, Marginal

SAFE = 1 - 1e-9  # keeps sums of rounded shares below the whole


def even(column: str, cells: int, most: int) -> Bins:
    """At most so many bins of about equal width."""
    count = min(cells, most)
    starts = np.arange(count) * cells // count
    return Bins(column=column, cells=cells, starts=starts, groups=np.arange(count))


@dataclass(frozen=True, kw_only=True)
class Coarse(Method):
    """Columns drawn independently from counts in even bins.

    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.

    Privacy: released answers only.
    """

    name: str = "coarse"
    barrier: str = "before the fit"
    summary: str = "noisy counts of each column in a few even bins"
    reads: tuple[type, ...] = (CountsRelease,)
    relations: tuple[str, ...] = ("add_remove", "replace_one", "zero_out")
    bins: int = 32
    ranges: ClassVar[Mapping[str, Range]] = {"bins": Between(2, 64)}

    def measure(self, ask: Ask, setting: Setting, *, progress: Progress) -> list[CountsRelease]:
        """One question, the same noise for every column."""
        columns = setting.schema.measured()
        sigma = setting.sigma(SAFE / len(columns))
        tables = [Marginal(bins=(even(n, c.cells, self.bins),), sigma=sigma) for n, c in columns.items()]
        release = ask(Counts(purpose="coarse counts", marginals=tuple(tables)))
        progress(1.0)
        return [release]

    def fit(
        self,
        releases: Sequence[CountsRelease],
        setting: Setting,
        *,
        rng: np.random.Generator,
        device: str,
        progress: Progress,
    ) -> Product:
        """The columns' shares; a bin whose noisy count is negative is empty."""
        (release,) = releases
        axes = []
        for table, counts in zip(release.question.marginals, release.values, strict=True):
            (bins,) = table.bins
            mass = np.maximum(counts, 0) + 1e-6
            axes.append(
                Axis(
                    column=bins.column,
                    cells=bins.cells,
                    starts=bins.starts,
                    groups=bins.groups,
                    within=np.ones(bins.size, dtype=np.float32),
                    probs=(mass / mass.sum()).astype(np.float32)[None, :],
                )
            )
        total = float(np.mean([values.sum() for values in release.values]))
        progress(1.0)
        return Product(total=max(total, 1.0), weights=np.ones(1), axes=tuple(axes))
