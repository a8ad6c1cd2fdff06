"""`coarse`: noisy counts of each column in a few even bins, and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth.generators.base import Fit, Run, Setting
from synth.generators.method import Method, option
from synth.generators.core.product import Axis
from synth.generators.core.product import Product
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

    name = "coarse"
    summary = "noisy counts of each column in a few even bins"
    reads = (CountsRelease,)
    by_torch = False
    bins: int = option(32, 2, 64)

    def measure(self, run: Run) -> list[CountsRelease]:
        """One question, the same noise for every column."""
        columns = run.setting.schema.measured()
        sigma = run.setting.sigma(SAFE / len(columns))
        tables = [Marginal(bins=(even(n, c.cells, self.bins),), sigma=sigma) for n, c in columns.items()]
        return [run.ask(Counts(purpose="coarse counts", marginals=tuple(tables)))]

    def fit(self, releases: Sequence[CountsRelease], setting: Setting, how: Fit) -> Product:
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
        return Product(total=max(total, 1.0), weights=np.ones(1), axes=tuple(axes))
