"""What one-way counts tell of related tables: each column's histogram, and the bins that it has in larger tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from synth.generators.base import Setting
from synth.generators.marginals import histogram
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.merging import merge, merge_bins, split
from synth.questions import Bins, Counts, CountsRelease, Linked, LinkedRelease, Marginal, PublicCounts, PublicLinked
from synth.questions.linked import place, placed
from synth.schema.dataset import Dataset, number_of

FEW = 12  # leaves of a column that a use names, up to which each is a bin
SINGLY = 51  # cells of a number of children up to which each number is a bin


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """One table: ``total``, how many roots' worth of rows it has; histograms, and bins of leaves, by column.

    ``coarse``: fewer bins, of tables of two rows of one parent in different columns.
    """

    total: float
    histograms: Mapping[str, Histogram]
    groups: Mapping[str, np.ndarray]
    coarse: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """Number of bins of each column."""
        return {n: int(g.max()) + 1 for n, g in self.groups.items()}

    def bins(self, table: str, column: str, *, other: bool = False, coarse: bool = False) -> Bins:
        """The column's bins for a linked question."""
        results, groups = self.histograms[column], self.coarse if coarse else self.groups
        name = place(table, column, other=other)
        return Bins(column=name, cells=results.cells, starts=results.starts, groups=groups[column])


@dataclass(frozen=True, kw_only=True)
class Grain:
    """How fine bins are: one holds ``least`` times the noise of a table with ``other_bins`` other bins, and a column
    has about ``most`` bins at most, numbers and dates ``ordered``; in tables of two rows of one parent about ``pairs``.
    """

    least: float = 3.0
    other_bins: float = 8.0
    most: int = 100
    ordered: int = 40
    pairs: int = 24


def one_ways(releases: Sequence[LinkedRelease | PublicLinked], table: str) -> list[CountsRelease]:
    """The table's one-way answers, as those of a single table."""
    counted = (r for r in releases if isinstance(r, LinkedRelease))
    own = [r for r in counted if r.question.table == table and r.question.view == "rows"]
    return [plain(r) for r in own if r.question.purpose.startswith(histogram.PURPOSE)]


def _public(releases: Sequence[LinkedRelease | PublicLinked], table: str) -> list[PublicCounts]:
    """What public tables say of the table's columns, as of a single table."""
    own = (r for r in releases if isinstance(r, PublicLinked) and r.question.table == table)
    return [
        PublicCounts(
            question=_single(r.question),
            values=r.values,
            name=r.name,
            sha256=r.sha256,
            num_rows=r.num_rows,
            missing=tuple(placed(n)[1] for n in r.missing if placed(n)[0] == table),
        )
        for r in own
        if r.question.purpose == histogram.LEAVES
    ]


def plain(release: LinkedRelease) -> CountsRelease:
    """An answer about one table's columns, as that of a single table."""
    return CountsRelease(question=_single(release.question), values=release.values)


def _single(question: Linked) -> Counts:
    marginals = tuple(
        replace(m, bins=tuple(_renamed(b, placed(b.column)[1]) for b in m.bins)) for m in question.marginals
    )
    return Counts(purpose=question.purpose, marginals=marginals)


def of_table(marginal: Marginal, table: str) -> Marginal:
    """A single table's marginal as one of a linked question."""
    return replace(marginal, bins=tuple(_renamed(b, place(table, b.column)) for b in marginal.bins))


def _renamed(bins: Bins, name: str) -> Bins:
    return Bins(column=name, cells=bins.cells, starts=bins.starts, groups=bins.groups)


def known(
    releases: Sequence[LinkedRelease | PublicLinked], schema: Dataset, setting: Setting, *, noise: float, grain: Grain
) -> dict[str, Known]:
    """Every table from its one-way answers. ``noise``: of a typical larger table, by which bins are merged."""
    result = {}
    for table in schema.downwards:
        own = replace(setting, schema=schema.as_asked(table), public_rows=None)
        asked: list[Any] = [*one_ways(releases, table), *_public(releases, table)]
        total, histograms = histogram.estimate(asked, own)
        numbers = {number_of(k.child) for k in schema.keys_below(table)}
        groups = {
            n: np.arange(len(h.mass))
            if n in numbers and h.cells <= SINGLY
            else _groups(h, own, total, noise, grain, f"{table}.{n}")
            for n, h in histograms.items()
        }
        gaps = {n for n in groups if n not in schema.as_measured(table).columns and own.schema.columns[n].is_numeric}
        groups |= {n: _alone(g, 2 if n in numbers else 1) for n, g in groups.items() if n in gaps | numbers}
        coarse = {n: merge_bins(histograms[n].mass, g, least=total / grain.pairs) for n, g in groups.items()}
        result[table] = Known(total=total, histograms=histograms, groups=groups, coarse=coarse)
    return result


def _alone(groups: np.ndarray, first: int) -> np.ndarray:
    """The groups with so many leaves alone before all others: no child and one, which have no pair; no gap."""
    rest = np.unique(groups[first:], return_inverse=True)[1] + first
    return np.append(np.arange(first), rest)[: len(groups)]


def _groups(result: Histogram, setting: Setting, total: float, noise: float, grain: Grain, name: str) -> np.ndarray:
    """Bin of each leaf (L,); of a column that a use names more, however much noise there is: each of few values is one,
    none has more than one of the groups that a named formula has of it, and there are two at least."""
    most, named = grain.ordered if setting.schema.columns[result.column].is_numeric else grain.most, setting.workload
    least = max(grain.least * noise * grain.other_bins, total / most)
    if name not in named.held:
        return merge(result.mass, least=least)
    bins = merge(result.mass, least=min(least, (1 - 1e-9) * result.mass.sum() / 2))
    if len(bins) <= FEW:
        return np.arange(len(bins))
    own = named.groups.get(name)
    return (
        bins if own is None else split(bins, own.groups[np.searchsorted(own.starts, result.starts, side="right") - 1])
    )
