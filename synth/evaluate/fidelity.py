"""How close a synthetic table comes to the real one. For the steward alone: every figure here uses real rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from synth.errors import UsageError
from synth.evaluate import amounts, chart_data
from synth.evaluate.amounts import Correlation, GroupMean, Implausible
from synth.evaluate.chart_data import Matrix, Shares
from synth.evaluate.column_numbers import ColumnNumbers, numbers
from synth.evaluate.distances import Codes, Weighted, apart, cramers_v, joint, scored, shares_of, tv, weighted
from synth.evaluate.quality import Quality, measure, unscored
from synth.evaluate.read_sample import Sample, opened
from synth.evaluate.verdict import Measured, mean
from synth.schema import grouping
from synth.schema.grouping import Groups
from synth.schema.table import Column, Schema

STEWARD_ONLY = "For the steward only: compares with the real rows. Not for release."


@dataclass(frozen=True, eq=False)
class OneWay:
    """Shares of one column's groups in both tables, each (m,), and their total variation distance.

    ``kind``: "bars" for categories, "histogram" for numbers, "dates". ``edges``: as in ``grouping.Groups``.
    ``numbers``: means, spreads and the like, of whole columns.
    """

    column: str
    kind: str
    labels: tuple[str, ...] = field(repr=False)
    edges: np.ndarray | None = field(repr=False)
    real: np.ndarray = field(repr=False)
    synthetic: np.ndarray = field(repr=False)
    distance: float = field(repr=False)
    numbers: ColumnNumbers | None = field(repr=False, default=None)

    @property
    def pooled(self) -> bool:
        """Whether the last label stands for all categories that are not shown one by one."""
        return self.kind == "bars" and len(self.labels) > grouping.BARS

    def chart(self) -> Shares:
        """What a chart of the column shows."""
        return Shares.of(self.labels, self.real, self.synthetic, edges=self.edges, pooled=self.pooled)


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoWay:
    """Shares of two columns' groups together, each (len(rows), len(columns)), and their distance.

    ``used``: real and synthetic rows that they are shares of.
    """

    rows: tuple[str, ...] = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)
    real: np.ndarray = field(repr=False)
    synthetic: np.ndarray = field(repr=False)
    distance: float = field(repr=False)
    used: tuple[int, int] = field(repr=False)

    def charts(self) -> dict[str, Matrix]:
        """What charts of both tables and of their difference show, by name."""
        return chart_data.joint(self.rows, self.columns, self.real, self.synthetic)


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """A comparison with the real rows, for the steward only.

    ``pairs`` (d, d): total variation distance of each two columns' joint tables, the columns' own on the
    diagonal, all of at most 12 groups a column (and missing codes). ``pairs_by_chance``: the mean
    distance (off the diagonal) that two independent draws of these sizes from one population would show.
    ``associations``: Cramer's V (d, d) of the same joint tables, real and synthetic. ``weighted``: the same distances
    of weighted rows, where the schema names a weight. ``filled`` and ``scored``: which cells hold a value, and the mean
    distance of pairs among the rows of which both do, as verdicts take it. ``group_means``, ``correlation``,
    ``implausible``: what tables of counts do not show.
    """

    columns: tuple[str, ...]
    real_rows: int = field(repr=False)
    real_rows_used: int = field(repr=False)
    synthetic_rows: int = field(repr=False)
    synthetic_rows_used: int = field(repr=False)
    one_way: Mapping[str, OneWay] = field(repr=False)
    pairs: np.ndarray = field(repr=False)
    pairs_by_chance: float = field(repr=False)
    associations: tuple[np.ndarray, np.ndarray] = field(repr=False)
    quality: Quality | None = field(repr=False)
    marking: str = STEWARD_ONLY
    groups: Mapping[str, Groups] = field(repr=False)
    codes: tuple[Codes, Codes] = field(repr=False)
    filled: tuple[Codes, Codes] = field(repr=False)
    scored: Measured | None = field(repr=False, default=None)
    weighted: Weighted | None = field(repr=False, default=None)
    group_means: tuple[GroupMean, ...] = field(repr=False, default=())
    correlation: Correlation | None = field(repr=False, default=None)
    implausible: Implausible | None = field(repr=False, default=None)

    @property
    def one_way_mean(self) -> float:
        """Mean one-way distance over the columns."""
        return float(np.mean([o.distance for o in self.one_way.values()]))

    @property
    def pairs_mean(self) -> float | None:
        """Mean distance over pairs of columns, None where there is one column only."""
        above = self.pairs[np.triu_indices(len(self.columns), 1)]
        return float(above.mean()) if len(above) else None

    @property
    def worst_pair(self) -> tuple[str, str] | None:
        """The two columns whose joint table differs most, None where there is one column only."""
        if len(self.columns) < 2:
            return None
        i, j = np.unravel_index(np.argmax(np.triu(self.pairs, 1)), self.pairs.shape)
        return self.columns[int(i)], self.columns[max(int(j), 1)]

    @property
    def scorable(self) -> bool:
        """Whether SDMetrics is installed, whose scores ``quality`` has."""
        return unscored() is None

    @property
    def unscored(self) -> str:
        """Why ``quality`` is None, where it is."""
        return unscored() or "no column could be scored"

    def chart(self) -> tuple[Matrix, np.ndarray]:
        """What a chart of all pairs shows, and the positions of the columns in it."""
        return chart_data.distances(self.columns, self.pairs)

    def worst_first(self) -> list[OneWay]:
        """The columns, the one that differs most first."""
        return sorted(self.one_way.values(), key=lambda o: -o.distance)

    def two_way(self, first: str, second: str, *, where: tuple[str, str] | None = None) -> TwoWay:
        """The joint table of two columns; ``where``: of the rows alone that have this group of a third column.

        Errors: UsageError for a name that was not compared, or a label that is no group of its column.
        """
        a, b = (self._groups(n) for n in (first, second))
        retained, sizes = self._rows(where), (len(a.labels), len(b.labels))
        counts = [joint(c, (first, second), sizes, rows=k) for c, k in zip(self.codes, retained, strict=True)]
        real, synthetic = (c / max(float(c.sum()), 1e-300) for c in counts)
        return TwoWay(
            rows=a.labels,
            columns=b.labels,
            real=real,
            synthetic=synthetic,
            distance=tv(real, synthetic),
            used=(int(counts[0].sum()), int(counts[1].sum())),
        )

    def within(self, column: str, group: str) -> list[OneWay]:
        """The other columns among the rows of one group of a column, in coarse groups, the most different first.

        Errors: as ``two_way``.
        """
        retained = self._rows((column, group))
        kinds = {n: "bars" if self.one_way[n].kind == "bars" else "groups" for n in self.columns if n != column}
        both = list(zip(self.codes, retained, strict=True))
        results = [_shares(n, kind, self.groups[n], [c[n][k] for c, k in both]) for n, kind in kinds.items()]
        return sorted(results, key=lambda o: -o.distance)

    def few(self, name: str, most: int | None) -> list[np.ndarray]:
        """A column's groups in both tables, ``most`` at most: for numbers neighbours, of categories the rarest pooled.

        ``most``: None for as many as there are.
        """
        groups, sides = self.groups[name], [c[name] for c in self.codes]
        size = len(groups.labels)
        if most is None or size <= most:
            return sides
        if groups.edges is not None:
            bins = len(groups.edges) - 1  # behind them stand the missing codes
            return [np.where(s < bins, s * (most - 1) // bins, most - 1) for s in sides]
        place = np.argsort(np.argsort(-np.bincount(sides[0], minlength=size), kind="stable"), kind="stable")
        return [np.minimum(place[s], most - 1) for s in sides]

    def _groups(self, name: str) -> Groups:
        if name not in self.groups:
            raise UsageError("column {!r} was not compared; choose one of {}", name, ", ".join(self.columns))
        return self.groups[name]

    def _rows(self, where: tuple[str, str] | None) -> list[np.ndarray]:
        """Which rows of the real and of the synthetic table have a group, (num_rows,) bool each; without one all."""
        if where is None:
            return [np.ones(len(next(iter(c.values()))), dtype=bool) for c in self.codes]
        labels = self._groups(where[0]).labels
        if where[1] not in labels:
            raise UsageError("{!r} is no group of {}; choose one of {}", where[1], where[0], ", ".join(labels))
        return [c[where[0]] == labels.index(where[1]) for c in self.codes]


@dataclass(frozen=True, kw_only=True)
class Subgroup:
    """One group: its share of both tables, the mean distance of the other columns within it, and that by chance."""

    column: str
    group: str = field(repr=False)
    real_rows: int = field(repr=False)
    real_share: float = field(repr=False)
    synthetic_share: float = field(repr=False)
    distance: float | None = field(repr=False)
    by_chance: float | None = field(repr=False)


def subgroups(comparison: Comparison, columns: Sequence[str]) -> list[Subgroup]:
    """Every group of these columns that the real rows have, the smallest first within its column."""
    sizes, out = {n: len(g.labels) for n, g in comparison.groups.items()}, list[Subgroup]()
    for name in (n for n in columns if sizes[n] > 1):
        real, made = (joint(c, [name], [sizes[name]]) for c in comparison.codes)
        others = [n for n in comparison.columns if n != name]
        tables = [[joint(c, [name, o], [sizes[name], sizes[o]]) for c in comparison.codes] for o in others]
        found = []
        for i in np.flatnonzero(real):
            off = [apart(a[i], b[i]) for a, b in tables] if made[i] else []
            distance, chance = (float(np.mean(v)) for v in zip(*off, strict=True)) if off else (None, None)
            found.append(
                Subgroup(
                    column=name,
                    group=comparison.groups[name].labels[i],
                    real_rows=int(real[i]),
                    real_share=int(real[i]) / int(real.sum()),
                    synthetic_share=int(made[i]) / int(made.sum()),
                    distance=distance,
                    by_chance=chance,
                )
            )
        out += sorted(found, key=lambda s: s.real_rows)
    return out


def compare(
    real: str | Path,
    synthetic: str | Path,
    schema: Schema,
    *,
    max_rows: int = 50_000,
    seed: int = 0,
    quality: bool = True,
    quality_rows: int = 5_000,
) -> Comparison:
    """Compares a synthetic table with the real one, column by column and pair by pair.

    ``real``, ``synthetic``: CSV or Parquet files. At most ``max_rows`` rows of each are used, and
    ``quality_rows`` for the SDMetrics scores (none without ``quality``), drawn with ``seed``. Errors: InputError for
    an unusable
    file, UsageError for a limit below 1 row or a schema of identifiers.

    **Guarantee**: none. The result derives from real rows without noise and must not leave the steward.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    for limit, name in ((max_rows, "max_rows"), (quality_rows, "quality_rows")):
        if limit < 1:
            raise UsageError("{} {}: at least 1 row is needed", name, limit)
    rng = np.random.default_rng(seed)
    ours, theirs = opened(real, synthetic, schema, limit=max_rows, rng=rng)
    return compare_samples(ours, theirs, quality_rows=quality_rows if quality else None, rng=rng, weight=schema.weight)


def compare_samples(
    real: Sample,
    synthetic: Sample,
    *,
    quality_rows: int | None,
    rng: np.random.Generator,
    weight: str | None = None,
) -> Comparison:
    """``compare`` on rows that were read before; without ``quality_rows`` SDMetrics is not asked.

    ``weight``: the column that is the weight of its row.
    """
    measured, tables = real.columns, (real.positions, synthetic.positions)
    one_way = {n: _one_way(n, c, tables[0][n], tables[1][n]) for n, c in measured.items()}
    groups = {n: grouping.coarse(c, np.concatenate([t[n] for t in tables])) for n, c in measured.items()}
    codes = tuple({n: groups[n].take(t[n]).astype(np.int32) for n in measured} for t in tables)
    filled = tuple({n: t[n] < c.size for n, c in measured.items()} for t in tables)
    pairs, chance, associations = _pairs(groups, codes)
    sizes = {n: len(g.labels) for n, g in groups.items()}
    both = (codes[0], codes[1]), (filled[0], filled[1])
    halves = np.array_split(rng.permutation(real.used), 2)
    parts = real.take(halves[0]), real.take(halves[1])
    scores = [scored(p, [sizes[n] for n in p], *both) for p in combinations(measured, 2)]
    return Comparison(
        columns=tuple(measured),
        real_rows=real.rows,
        real_rows_used=real.used,
        synthetic_rows=synthetic.rows,
        synthetic_rows_used=synthetic.used,
        one_way=one_way,
        pairs=pairs,
        pairs_by_chance=chance,
        associations=associations,
        quality=measure(*tables, measured, rows=quality_rows, rng=rng) if quality_rows else None,
        groups=groups,
        codes=both[0],
        filled=both[1],
        scored=mean(scores),
        weighted=None if weight is None else weighted(real, synthetic, groups, both[0], weight),
        group_means=tuple(amounts.group_means(real, synthetic, groups, both[0])),
        correlation=amounts.correlation(real, synthetic, parts),
        implausible=amounts.implausible(real, synthetic, halves),
    )


def _one_way(name: str, column: Column, real: np.ndarray, synthetic: np.ndarray) -> OneWay:
    groups = grouping.fine(column, real if not column.is_numeric else np.concatenate([real, synthetic]))
    kind = "bars" if groups.edges is None else "dates" if column.type == "datetime" else "histogram"
    made = _shares(name, kind, groups, [groups.take(p) for p in (real, synthetic)])
    return replace(made, edges=groups.edges, numbers=numbers(name, column, groups, real, synthetic))


def _shares(name: str, kind: str, groups: Groups, codes: Sequence[np.ndarray]) -> OneWay:
    """A column's shares in groups that were formed before, all of them shown one by one."""
    real, synthetic = (shares_of(c, len(groups.labels)) for c in codes)
    off = tv(real, synthetic)
    return OneWay(name, kind, groups.labels, edges=None, real=real, synthetic=synthetic, distance=off)


def _pairs(
    groups: Mapping[str, Groups], codes: tuple[Codes, ...]
) -> tuple[np.ndarray, float, tuple[np.ndarray, np.ndarray]]:
    """Distances (d, d) of all joint tables, their mean by chance, and associations (d, d) in both tables."""
    names, sizes = list(groups), [len(g.labels) for g in groups.values()]
    out, chance = np.zeros((len(names), len(names))), []
    alike = (np.eye(len(names)), np.eye(len(names)))
    for i, name in enumerate(names):
        out[i, i] = tv(*(shares_of(c[name], sizes[i]) for c in codes))
    for i, j in combinations(range(len(names)), 2):
        both = [joint(c, (names[i], names[j]), (sizes[i], sizes[j])) for c in codes]
        distance, by_chance = apart(both[0], both[1])
        out[i, j] = out[j, i] = distance
        chance.append(by_chance)
        for item, counts in zip(alike, both, strict=True):
            rows = int(counts.sum())
            item[i, j] = item[j, i] = cramers_v(counts / max(rows, 1), rows)
    return out, float(np.mean(chance)) if chance else 0.0, alike
