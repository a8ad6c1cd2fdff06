"""What the methods of the embedding family share: one-ways first, bins from them, one noisy embedding, a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Ask, Progress, Setting
from synth.generators.embeddings.fit import Loss, OneWays, Options, State, Sum, descend
from synth.generators.embeddings.network import NetworkState
from synth.generators.marginals import oneway_queries
from synth.generators.marginals.histogram import Histogram, estimate
from synth.generators.marginals.merging import merge
from synth.generators.marginals.mixture import SAFE, axis, rake
from synth.generators.micro_batches import enough
from synth.generators.product_mixture.model import Product
from synth.questions import (
    Bins,
    CountsRelease,
    Embedding,
    EmbeddingRelease,
    Fourier,
    Gradients,
    Release,
    Tensors,
)

PURPOSE = "mean embedding"
PUBLIC_SEED = 20230925  # random features are public: anybody can draw them again
MOST_CLASSES = 10  # a target of more values is a label in this many parts
LEAST_BINS = 4  # bins hold at most this part of the rows, so that relations are left to see at any epsilon
BACK_ENDS = ("mixture", "network")
ROUNDS = 8

Made = Tensors | Fourier | Gradients
Kind = TypeVar("Kind", Tensors, Fourier, Gradients)


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnEstimates:
    """The columns' one-ways, and a public grouping of each into bins that stand out of the noise."""

    total: float
    histograms: Mapping[str, Histogram]
    groups: Mapping[str, np.ndarray]
    setting: Setting

    @property
    def names(self) -> list[str]:
        """Columns that have more than one bin; the others have no relations to learn."""
        return [n for n, g in self.groups.items() if g.max() > 0]

    @property
    def label(self) -> str | None:
        """The target, where there is one with more than one bin."""
        return self.setting.schema.target if self.setting.schema.target in self.names else None

    @property
    def others(self) -> list[str]:
        """All columns with relations but the label."""
        return [n for n in self.names if n != self.label]

    @cached_property
    def mass(self) -> list[np.ndarray]:
        """Share of each bin, for every column in order."""
        return [np.bincount(g, weights=self.histograms[n].mass) / self.total for n, g in self.groups.items()]

    @cached_property
    def precision(self) -> list[np.ndarray]:
        """1 / variance of the shares."""
        result = self.histograms
        return [self.total**2 / (np.bincount(g) * max(result[n].sigma, 1.0) ** 2) for n, g in self.groups.items()]

    def at(self, name: str) -> int:
        """Place of a column among all."""
        return list(self.groups).index(name)

    def size(self, name: str) -> int:
        """Number of bins."""
        return int(self.groups[name].max()) + 1

    def bins(self, name: str) -> Bins:
        """The grouping as a question names it."""
        h = self.histograms[name]
        return Bins(column=name, cells=h.cells, starts=h.starts, groups=self.groups[name])

    def ranks(self, name: str) -> np.ndarray:
        """Mean rank of each bin's rows, in (0, 1), by the noisy one-way: numbers on a scale that fits any shape."""
        mass = np.maximum(self.histograms[name].mass, 1e-9)
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        groups = self.groups[name]
        return np.bincount(groups, weights=mass * middle) / np.bincount(groups, weights=mass)

    def is_number(self, name: str) -> bool:
        """Whether neighbouring bins are neighbouring quantities."""
        return self.setting.schema.columns[name].is_numeric


def columns(total: float, histograms: Mapping[str, Histogram], setting: Setting, *, least: float) -> ColumnEstimates:
    """Bins of at least ``least`` rows; the target keeps its values where these are few."""
    groups = {}
    for name, histogram in histograms.items():
        bound = min(least, total / LEAST_BINS)
        if name == setting.schema.target:
            few = len(histogram.mass) <= MOST_CLASSES
            groups[name] = np.arange(len(histogram.mass)) if few else merge(histogram.mass, least=total / MOST_CLASSES)
        else:
            groups[name] = merge(histogram.mass, least=bound)
    return ColumnEstimates(total=total, histograms=histograms, groups=groups, setting=setting)


def regrouped(
    total: float, histograms: Mapping[str, Histogram], setting: Setting, bins: Sequence[Bins]
) -> ColumnEstimates:
    """The columns on the bins of a question, or what they have in common; a column that it does not name is
    one bin.
    """
    groups = {n: np.zeros(len(h.mass), dtype=np.int64) for n, h in histograms.items()}
    for b in {id(b): b for b in bins}.values():
        both = np.stack([groups[b.column], b.groups])
        groups[b.column] = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
    return ColumnEstimates(total=total, histograms=histograms, groups=groups, setting=setting)


def balanced(
    total: float, histograms: Mapping[str, Histogram], setting: Setting, *, noise: float, least: float
) -> ColumnEstimates:
    """Bins that hold ``least`` times the noise of the cells that they add to a table of two columns.

    ``noise``: of one cell. Bins and the cells they add depend on each other: a damped fixed point.
    """
    bound = least * noise * 10
    for _ in range(ROUNDS):
        made = columns(total, histograms, setting, least=bound)
        mean = np.mean([made.size(n) for n in made.names]) if made.names else 1.0
        bound = np.sqrt(bound * least * noise * mean)
    return columns(total, histograms, setting, least=bound)


def begin(ask: Ask, setting: Setting, *, share: float) -> tuple[list[CountsRelease], float]:
    """One-way counts of all columns; what they leave of the budget, 0 where there is one column to learn."""
    alone = sum(c.cells > 1 for c in setting.schema.measured().values()) < 2
    releases = oneway_queries.measure(ask, setting, share=SAFE if alone else SAFE * share, whole=alone)
    return releases, 0.0 if alone else SAFE * (1 - oneway_queries.spent(releases, setting))


def measure(
    ask: Ask,
    setting: Setting,
    *,
    share: float,
    features: Callable[[float, Mapping[str, Histogram], float], Made | None],
    progress: Progress,
) -> list[Release]:
    """One-ways within ``share`` of the budget, then one embedding with all the rest.

    ``features``: from total, histograms and the share left, the feature map; None where nothing is to be learnt.
    """
    progress(0.0)
    counts, left = begin(ask, setting, share=share)
    releases: list[Release] = [*counts]
    progress(0.3)
    made = features(*estimate(counts, setting), left) if left > 0 else None
    if made is not None:
        sigma = setting.sigma(left, signed=not made.non_negative_inner)
        releases.append(ask(Embedding(purpose=PURPOSE, features=made, sigma=sigma)))
    progress(1.0)
    return releases


def split(releases: Sequence[Release]) -> tuple[list[CountsRelease], list[EmbeddingRelease]]:
    """Counts and embeddings among the releases."""
    return (
        [r for r in releases if isinstance(r, CountsRelease)],
        [r for r in releases if isinstance(r, EmbeddingRelease)],
    )


def public_rng() -> np.random.Generator:
    """Randomness that anybody can repeat: for features and points that are public."""
    return np.random.default_rng(PUBLIC_SEED)


def features_of(release: EmbeddingRelease, kind: type[Kind]) -> Kind:
    """The feature map of a release, which must be of this kind. Errors: UsageError where another method made it."""
    features = release.question.features
    if not isinstance(features, kind):
        raise UsageError("the release's features are of another kind; fit it with the method that asked for it")
    return features


def model(made: ColumnEstimates, weights: np.ndarray, probs: Sequence[np.ndarray]) -> Product:
    """The mixture over positions: one-ways set to the best estimates, bins expanded to leaves by them."""
    axes = []
    for (name, groups), table, mass in zip(made.groups.items(), probs, made.mass, strict=True):
        axes.append(axis(made.histograms[name], groups, rake(weights, table, mass)))
    return Product(total=made.total, weights=weights, axes=tuple(axes))


def alone(made: ColumnEstimates) -> Product:
    """Columns independent, where no embedding was asked for."""
    return model(made, np.ones(1), [m[None, :] / m.sum() for m in made.mass])


@enough("the fit to a mean embedding", fewer="frequencies, points or components (options of the method)")
def fitted(
    made: ColumnEstimates,
    loss: Loss,
    options: Options,
    *,
    back_end: str,
    rng: np.random.Generator,
    device: str,
    progress: Progress,
    after: Callable[[int], None] | None = None,
) -> Product:
    """The mixture, or network, that comes closest by ``loss`` and the one-ways.

    Errors: UsageError where the device's memory does not hold a single component's step.
    """
    state = start(made, options, back_end=back_end, rng=rng, device=device)
    whole = Sum(loss, OneWays(made.mass, made.precision, device=device))
    descend(state, whole, state.options, progress=progress, after=after)
    progress(1.0)
    return model(made, *state.arrays())


def start(
    made: ColumnEstimates, options: Options, *, back_end: str, rng: np.random.Generator, device: str
) -> State | NetworkState:
    """Fresh parameters around the one-ways. Errors: UsageError for an unknown back end."""
    network = chosen("back_end", back_end, BACK_ENDS) == "network"
    return (NetworkState if network else State)(made.mass, options, rng=rng, device=device)


def chosen(option: str, value: str, known: Sequence[str]) -> str:
    """The value, if it is known. Errors: UsageError naming option, rule and what may be set."""
    if value not in known:
        raise UsageError(f"option {option}={value}: must be one of {', '.join(known)}")
    return value
