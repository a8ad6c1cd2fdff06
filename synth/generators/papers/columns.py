"""What noisy counts say of single columns, on bins that stand out of the noise, and mixtures made on these bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from synth.generators.base import Run, Setting
from synth.generators.core import columns as core
from synth.generators.core.columns import is_even, merge
from synth.generators.core.mixture import SAFE, axis, rake
from synth.generators.core.oneways import ask_columns, spent_share
from synth.generators.core.product import Product
from synth.questions import Bins, Counts, CountsRelease, Marginal, Release
from synth.schema.table import Schema

MOST_CLASSES = 10  # a target of more values is a label in this many parts
LEAST_BINS = 4  # bins hold at most this part of the rows, so that relations are left to see at any epsilon
ROUNDS = 8
ROWS = "rows"  # purpose of a count of all rows
COUNTED = 0.01  # of mu**2, for the row count where single columns are not asked for
LEAST_LEFT = 1e-12


def whole(schema: Schema) -> Bins:
    """All positions of a column in one bin: its count is the number of rows."""
    name, column = next(iter(schema.measured().items()))
    return Bins(column=name, cells=column.cells, starts=np.zeros(1, np.int64), groups=np.zeros(1, np.int64))


def is_alone(schema: Schema) -> bool:
    """Whether there is one column to learn at most, and so no relation."""
    return sum(c.cells > 1 for c in schema.measured().values()) < 2


class OneWays(core.OneWays):
    """One-ways that may be grouped. Privacy: released answers only."""

    @classmethod
    def of(cls, releases: Sequence[Release], setting: Setting) -> OneWays:
        """As counted; even histograms where single columns were not asked for, but all rows at most."""
        counts = [r for r in releases if isinstance(r, CountsRelease)]
        if any(r.question.purpose == core.ONEWAY for r in counts):
            made = core.estimate_columns(counts, setting)
            return cls(total=made.total, histograms=made.histograms, setting=setting)
        counted = [float(r.values[0].sum()) for r in counts if r.question.purpose == ROWS]
        total = max(float(setting.public_rows if setting.public_rows is not None else counted[0]), 1.0)
        even = {n: core.even_histogram(n, c, total) for n, c in setting.schema.measured().items()}
        return cls(total=total, histograms=even, setting=setting)

    def grouped(self, groups: Mapping[str, np.ndarray]) -> Columns:
        """On these groups of the histograms' leaves."""
        return Columns(total=self.total, histograms=self.histograms, setting=self.setting, groups=groups)

    def merged(self, *, least: float) -> Columns:
        """Bins of at least ``least`` rows; the target keeps its values where these are few."""
        groups = {}
        for name, histogram in self.histograms.items():
            groups[name] = merge(histogram.mass, least=min(least, self.total / LEAST_BINS))
            if name == self.setting.schema.target:
                few = len(histogram.mass) <= MOST_CLASSES
                parts = (
                    np.arange(len(histogram.mass)) if few else merge(histogram.mass, least=self.total / MOST_CLASSES)
                )
                groups[name] = parts
        return self.grouped(groups)

    def balanced(self, *, noise: float, least: float) -> Columns:
        """Bins that hold ``least`` times the noise of the cells that they add to a table of two columns.

        ``noise``: of one cell. Bins and the cells they add depend on each other: a damped fixed point.
        """
        bound = least * noise * 10
        for _ in range(ROUNDS):
            made = self.merged(least=bound)
            mean = np.mean([made.size(n) for n in made.names]) if made.names else 1.0
            bound = np.sqrt(bound * least * noise * mean)
        return self.merged(least=bound)

    def asked(self, bins: Sequence[Bins]) -> Columns:
        """On the bins of a question, or what they have in common; a column that it does not name is one bin."""
        groups = {n: np.zeros(len(h.mass), dtype=np.int64) for n, h in self.histograms.items()}
        for b in {id(b): b for b in bins}.values():
            both = np.stack([groups[b.column], b.groups])
            groups[b.column] = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
        return self.grouped(groups)

    def independent(self) -> Product:
        """Columns drawn by their one-ways alone, where nothing else was asked."""
        return self.merged(least=self.total).independent()


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns(OneWays):
    """One-ways, and a public grouping of each column's leaves into bins that stand out of the noise.

    Privacy: released answers only.
    """

    groups: Mapping[str, np.ndarray]

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

    def shares(self, name: str) -> np.ndarray:
        """Share of each bin of a column."""
        return self.mass[self.at(name)]

    def bins(self, name: str) -> Bins:
        """The grouping as a question names it."""
        return self.grouping(name, self.groups[name])

    def ranks(self, name: str) -> np.ndarray:
        """Mean rank of each bin's rows, in (0, 1), by the noisy one-way: numbers on a scale that fits any shape."""
        mass = np.maximum(self.histograms[name].mass, 1e-9)
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        groups = self.groups[name]
        return np.bincount(groups, weights=mass * middle) / np.bincount(groups, weights=mass)

    def model(self, weights: np.ndarray, probs: Sequence[np.ndarray]) -> Product:
        """The mixture over positions: one-ways set to the best estimates, bins expanded to leaves by them."""
        axes = []
        for (name, groups), table, mass in zip(self.groups.items(), probs, self.mass, strict=True):
            axes.append(axis(self.histograms[name], groups, rake(weights, table, mass)))
        return Product(total=self.total, weights=weights, axes=tuple(axes))

    def independent(self) -> Product:
        """Columns independent."""
        return self.model(np.ones(1), [m[None, :] / m.sum() for m in self.mass])

    def product(self, bins: Sequence[Bins], probs: np.ndarray, weights: np.ndarray | None = None) -> Product:
        """Distributions (components, G) of the columns of ``bins`` as a mixture, its one-ways set to the released ones.

        ``weights`` (components,): of the components, alike by default.
        """
        parts = np.split(probs, np.cumsum([b.size for b in bins])[:-1], axis=1)
        by_name = dict(zip((b.column for b in bins), parts, strict=True))
        tables = [by_name.get(n, np.ones((len(probs), 1))) for n in self.groups]
        weights = np.full(len(probs), 1 / len(probs)) if weights is None else weights / weights.sum()
        if all(is_even(h) for h in self.histograms.values()):
            axes = [axis(self.histograms[n], g, t) for (n, g), t in zip(self.groups.items(), tables, strict=True)]
            return Product(total=self.total, weights=weights, axes=tuple(axes))
        return self.model(weights, tables)

    def blurred(self, bins: Sequence[Bins], rows: np.ndarray, *, blur: float) -> np.ndarray:
        """Rows (n, G), one-hot or soft, a part of each column drawn from the single column: one-ways can be set."""
        shares = [self.shares(b.column) for b in bins]
        return (1 - blur) * rows + blur * np.concatenate([s / s.sum() for s in shares])


@dataclass(frozen=True, kw_only=True, eq=False)
class Baseline:
    """What is known before a training: one-way releases, and columns in groups.

    ``mu``: mu they took, exactly. ``alone``: one column took all of it.
    """

    counts: tuple[CountsRelease, ...]
    columns: Columns
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
        mass = [self.columns.shares(n) for n in self.columns.names]
        return np.concatenate([m / m.sum() for m in mass])

    @classmethod
    def asked(cls, run: Run, *, share: float, groups: int) -> Baseline:
        """One-way counts that take exactly ``share`` of the budget, all of it where there is one column to learn.

        Exactly, so that the noise of what follows is fixed before any row is read: trees that find nothing more to cut
        leave a part, which goes into a count of all rows. With a ``share`` of 0 single columns are not asked for:
        groups are of even width, and where the row count is private a count of all rows takes ``COUNTED``.
        """
        setting, alone = run.setting, is_alone(run.setting.schema)
        goal = taken(setting, share=share)
        counts = ask_columns(run.ask, setting, share=goal * SAFE, whole=True) if share or alone else []
        left = goal - spent_share(counts, setting)
        if left > LEAST_LEFT:
            one = Marginal(bins=(whole(setting.schema),), sigma=setting.sigma(left))
            counts.append(run.ask(Counts(purpose=ROWS, marginals=(one,))))
        one_ways = OneWays.of(counts, setting)
        columns = one_ways.merged(least=one_ways.total / groups)
        return cls(counts=tuple(counts), columns=columns, mu=setting.mu * sqrt(goal), alone=alone)


def taken(setting: Setting, *, share: float) -> float:
    """Part of mu**2 that a baseline of ``share`` takes."""
    if is_alone(setting.schema):
        return SAFE
    return share or (COUNTED if setting.public_rows is None else 0.0)
