"""A quick mixture of what was told so far, by which the next tables are chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synth.generators.marginals import fit_mixture as fitting
from synth.generators.marginals import layout, prior
from synth.generators.marginals.combine import sharpen
from synth.generators.marginals.histogram import Histogram
from synth.lazy import Lazy
from synth.questions import Bins, CountsRelease, PublicCounts

networks = Lazy("synth.numeric.networks")

# No pull: what it misses must be the tables' own. With fifteen times the work a round's picks tell no more; with two
# fifths of it, tables of 10^6 rows and 50 values a column get worse picks, and their fit ends 1.3 times above noise.
OPTIONS = fitting.Options(ensembles=4, steps=150, pull=0.0, smooth=0.0, work=2e10, many_steps=300)


@dataclass(frozen=True, kw_only=True, eq=False)
class Interim:
    """``groups`` (L,) of each column's leaves; ``weights`` (B,); ``probs`` (B, G) of each column's groups."""

    groups: Mapping[str, np.ndarray]
    weights: np.ndarray
    probs: Mapping[str, np.ndarray]

    def view(self, bins: Bins) -> np.ndarray:
        """Probabilities (B, bins) of bins that whole groups make up."""
        groups, probs = self.groups[bins.column], self.probs[bins.column]
        of = np.zeros(int(groups.max()) + 1, dtype=np.int64)
        of[groups] = bins.groups
        out = np.zeros((probs.shape[0], bins.size))
        for group, at in enumerate(of.tolist()):
            out[:, at] += probs[:, group]
        return out

    def table(self, axes: Sequence[Bins]) -> np.ndarray:
        """Probabilities of a table's cells."""
        views = [self.view(b) for b in axes]
        whole = self.weights[:, None] * views[0]
        for more in views[1:-1]:
            whole = (whole[:, :, None] * more[:, None, :]).reshape(len(self.weights), -1)
        return (whole.T @ views[-1]).reshape([b.size for b in axes])


def fit(
    histograms: Mapping[str, Histogram],
    releases: Sequence[Any],
    publics: Sequence[PublicCounts],
    total: float,
    *,
    fitted: bool,
) -> Interim:
    """The mixture; with ``fitted`` false that of independent columns, on the same groups.

    Its start is drawn from a fixed seed: it decides what is asked, and nothing of it is private.
    """
    tables = [r for r in releases if isinstance(r, CountsRelease)]
    sharper = sharpen(histograms, tables, total)
    tables, targets = prior.pooled(tables, prior.targets(tables, publics, sharper, total) if fitted else [])
    groups = layout.refine(sharper, tables, targets)
    problem, spans = layout.problem(sharper, groups, tables, total, targets)
    if not fitted:
        weights, probs = np.ones(1), np.maximum(problem.mass, 0.0)[None, :]
    else:
        rng = np.random.default_rng(0)
        with networks.one_thread():  # what is asked next then depends on no machine's number of cores
            weights, probs = fitting.fit(problem, OPTIONS, rng=rng, device="cpu", progress=lambda _: None)
    return Interim(groups=groups, weights=weights, probs={n: probs[:, s] for n, s in spans.items()})
