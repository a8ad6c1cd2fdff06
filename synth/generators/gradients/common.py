"""What the trained methods share: one-ways with a fixed share of the budget, public groups, a network as the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.base import Ask, Setting
from synth.generators.embeddings import embedding
from synth.generators.marginals import oneway_queries, uncounted
from synth.generators.marginals.histogram import PURPOSE, Histogram, estimate
from synth.generators.marginals.mixture import SAFE, axis
from synth.generators.mlp import Network, components, generator
from synth.generators.product_mixture.model import Product
from synth.lazy import Lazy
from synth.questions import Bins, Counts, CountsRelease, Marginal, Release

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

REST = "rows"  # purpose of the count that takes what trees leave of their share
COUNTED = 0.01  # of mu**2, for the row count where single columns are not asked for
LEAST_LEFT = 1e-12
RETAINED = 2000  # hidden draws that make the final mixture
PUBLIC_SEED = 20180714  # initial weights and generated rows while training: anybody can draw them again


@dataclass(frozen=True, kw_only=True, eq=False)
class Ground:
    """What is known before training: one-way releases, and columns in groups.

    ``mu``: mu they took, exactly. ``alone``: one column took all of it.
    """

    counts: tuple[CountsRelease, ...]
    columns: embedding.ColumnEstimates
    mu: float
    alone: bool

    @cached_property
    def bins(self) -> tuple[Bins, ...]:
        """Of the columns that have relations to learn; none where one is alone."""
        return () if self.alone else tuple(self.columns.bins(n) for n in self.columns.names)

    @property
    def sizes(self) -> list[int]:
        """Groups of each of these columns."""
        return [b.size for b in self.bins]

    @property
    def rows(self) -> float:
        """The row count, public or as released, at least 1."""
        return self.columns.total

    @cached_property
    def shares(self) -> np.ndarray:
        """Estimated share of each group, all columns side by side."""
        mass = dict(zip(self.columns.groups, self.columns.mass, strict=True))
        return np.concatenate([mass[n] / mass[n].sum() for n in self.columns.names])


def begin(ask: Ask, setting: Setting, *, share: float, groups: int) -> Ground:
    """One-way counts that take exactly ``share`` of the budget, all of it where there is one column to learn.

    Exactly, so that the noise of what follows is fixed before any row is read: trees that find nothing more to cut
    leave a part, which goes into a count of all rows. With a ``share`` of 0 single columns are not asked for: groups
    are of even width, and where the row count is private a count of all rows takes ``COUNTED``.
    """
    alone = sum(c.cells > 1 for c in setting.schema.measured().values()) < 2
    goal = taken(setting, share=share)
    counts = oneway_queries.measure(ask, setting, share=goal * SAFE, whole=True) if share or alone else []
    left = goal - oneway_queries.spent(counts, setting)
    if left > LEAST_LEFT:
        name, column = next(iter(setting.schema.measured().items()))
        one = Bins(column=name, cells=column.cells, starts=np.zeros(1), groups=np.zeros(1))
        counts.append(ask(Counts(purpose=REST, marginals=(Marginal(bins=(one,), sigma=setting.sigma(left)),))))
    total, histograms = known(counts, setting)
    columns = embedding.columns(total, histograms, setting, least=total / groups)
    return Ground(counts=tuple(counts), columns=columns, mu=setting.mu * sqrt(goal), alone=alone)


def taken(setting: Setting, *, share: float) -> float:
    """Part of mu**2 that ``begin`` takes."""
    if sum(c.cells > 1 for c in setting.schema.measured().values()) < 2:
        return SAFE
    return share or (COUNTED if setting.public_rows is None else 0.0)


def known(counts: Sequence[CountsRelease], setting: Setting) -> tuple[float, dict[str, Histogram]]:
    """Row count and histograms: as counted, or even ones where single columns were not asked for."""
    if any(r.question.purpose == PURPOSE for r in counts):
        return estimate(counts, setting)
    released = [float(r.values[0].sum()) for r in counts if r.question.purpose == REST]
    total = max(float(setting.public_rows if setting.public_rows is not None else released[0]), 1.0)
    return total, {n: uncounted.even(n, c, total) for n, c in setting.schema.measured().items()}


def again(releases: Sequence[Release], setting: Setting, bins: Sequence[Bins]) -> embedding.ColumnEstimates:
    """The columns as ``begin`` left them, from what was kept."""
    counts = [r for r in releases if isinstance(r, CountsRelease)]
    return embedding.regrouped(*known(counts, setting), setting, bins)


def independent(releases: Sequence[Release], setting: Setting) -> Product:
    """Columns drawn by their one-ways alone, where there was nothing to train."""
    total, histograms = estimate([r for r in releases if isinstance(r, CountsRelease)], setting)
    return embedding.alone(embedding.columns(total, histograms, setting, least=total))


def product(
    made: embedding.ColumnEstimates, bins: Sequence[Bins], probs: np.ndarray, weights: np.ndarray | None = None
) -> Product:
    """Distributions (components, G) of the trained columns as a mixture, its one-ways set to the released ones.

    ``weights`` (components,): of the components, alike by default.
    """
    parts: Mapping[str, np.ndarray] = dict(
        zip((b.column for b in bins), np.split(probs, np.cumsum([b.size for b in bins])[:-1], axis=1), strict=True)
    )
    ones = np.ones((len(probs), 1))
    tables = [parts.get(n, ones) for n in made.groups]
    weights = np.full(len(probs), 1 / len(probs)) if weights is None else weights / weights.sum()
    if all(uncounted.is_even(h) for h in made.histograms.values()):
        axes = [axis(made.histograms[n], g, t) for (n, g), t in zip(made.groups.items(), tables, strict=True)]
        return Product(total=made.total, weights=weights, axes=tuple(axes))
    return embedding.model(made, weights, tables)


def blurred(made: embedding.ColumnEstimates, bins: Sequence[Bins], rows: np.ndarray, *, blur: float) -> np.ndarray:
    """Rows (n, G), one-hot or soft, a part of each column drawn from the single column: so that one-ways can be set."""
    shares = dict(zip(made.groups, made.mass, strict=True))
    return (1 - blur) * rows + blur * np.concatenate([shares[b.column] / shares[b.column].sum() for b in bins])


def weights_of(made: Network) -> tuple[np.ndarray, ...]:
    """Copies of a network's layers, float32: weight and bias in turn."""
    return tuple(p.detach().cpu().numpy().copy() for p in made.parameters)


def rebuilt(weights: Sequence[np.ndarray], sizes: Sequence[int], *, rng: np.random.Generator) -> Network:
    """The network that ``weights_of`` was given."""
    pairs = zip(weights[0::2], weights[1::2], strict=True)
    layers = tuple((torch.from_numpy(np.array(w)), torch.from_numpy(np.array(b))) for w, b in pairs)
    column = torch.as_tensor(np.repeat(np.arange(len(sizes)), sizes))
    return Network(sizes=tuple(sizes), layers=layers, column=column, source=generator(rng, "cpu"))


def network_product(
    made: embedding.ColumnEstimates, bins: Sequence[Bins], weights: Sequence[np.ndarray], *, rng: np.random.Generator
) -> Product:
    """The generator's distributions at ``KEPT`` hidden draws of ``rng``, as a mixture."""
    drawn = rebuilt(weights, [b.size for b in bins], rng=rng)
    return product(made, bins, components(drawn, RETAINED, rng=rng))


class Average:
    """A running mean of weights: the last steps of a noisy training, averaged."""

    def __init__(self, parameters: Sequence[torch.Tensor], *, keep: float) -> None:
        self.parameters, self.keep = list(parameters), keep
        self.means = [torch.zeros_like(p) for p in self.parameters]
        self.weight = 0.0

    def note(self) -> None:
        """Adds the weights as they stand."""
        self.weight = self.keep * self.weight + 1 - self.keep
        with torch.no_grad():
            for mean, p in zip(self.means, self.parameters, strict=True):
                mean.mul_(self.keep).add_(p, alpha=1 - self.keep)

    def arrays(self) -> tuple[np.ndarray, ...]:
        """The mean, float32; the weights as they stand where nothing was noted."""
        if self.weight == 0:
            return tuple(p.detach().numpy().copy() for p in self.parameters)
        return tuple((m / self.weight).numpy().copy() for m in self.means)


def unflat(values: np.ndarray, parameters: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """A flat array (weights,) in the shapes of the parameters, float32."""
    parts = torch.from_numpy(values.astype(np.float32)).split([p.numel() for p in parameters])
    return [part.reshape(p.shape) for part, p in zip(parts, parameters, strict=True)]
