"""What tables of counts do not show: averages of groups, correlations, and rows that could not be.

For the steward alone: every figure uses real rows. Averages and spreads of whole columns stand in ``column_numbers``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import log, pi, sqrt
from typing import NamedTuple

import numpy as np

from synth.evaluate.read_sample import Sample
from synth.evaluate.similarity import correlations
from synth.languages import Said
from synth.schema import grouping
from synth.schema.grouping import Groups
from synth.schema.table import Column

Codes = Mapping[str, np.ndarray]
FEW = 5  # rows of a value or a group, from which on they tell of themselves
NAMED = 3  # values that a rule names
LOOKED_AT = 5  # pairs of which the one with the rule that most rows break is named
DENSE = 1 << 26  # cells of a joint table that is held whole


@dataclass(frozen=True, kw_only=True)
class GroupMean:
    """A number's ``mean`` among the rows of a group, real and synthetic; how far they are ``off``, in standard
    deviations of the real column; and ``second``: what the farthest of so many groups would be off by chance."""

    column: str
    by: str
    group: str = field(repr=False)
    mean: tuple[float, float] = field(repr=False)
    date: bool
    off: float = field(repr=False)
    second: float = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """The Pearson correlation that is farthest off, real and synthetic; ``second``: how far the farthest one of another
    sample of real rows would be."""

    columns: tuple[str, str]
    value: tuple[float, float] = field(repr=False)
    second: float = field(repr=False)

    @property
    def off(self) -> float:
        """The difference."""
        return abs(self.value[1] - self.value[0])


@dataclass(frozen=True, kw_only=True)
class Implausible:
    """Rows in at least one pair of cells, 12 quantile bins or categories, in which half of the real rows has nobody.

    ``share``: of the synthetic rows; ``second``: of the other half of the real rows. ``pair``: the two columns that
    most such rows are due to, with their ``part`` of all rows, and the ``rule`` that no real row breaks there, in
    words; empty where no synthetic row breaks one.
    """

    share: float = field(repr=False)
    second: float = field(repr=False)
    pair: tuple[str, str]
    part: float = field(repr=False)
    rule: str = field(repr=False)


class Cells(NamedTuple):
    """The cell of each real and each synthetic row of a column: quantile bins of the real rows, or categories."""

    real: np.ndarray
    synthetic: np.ndarray
    labels: tuple[str, ...]


def group_means(
    real: Sample, synthetic: Sample, groups: Mapping[str, Groups], codes: Sequence[Codes]
) -> list[GroupMean]:
    """Means of each number within the groups of each category that both tables have, the farthest beyond chance first.

    ``codes``: of each table the group (rows,) of every row by column, as ``groups`` has them.
    """
    out: list[tuple[str, str, str, tuple[float, float], float, float]] = []
    for name in real.numeric():
        values = [s.values(name) for s in (real, synthetic)]
        known = [~np.isnan(v) for v in values]
        spread = float(values[0][known[0]].std()) if known[0].any() else 0.0
        for by in real.categorical() if spread else ():
            labels = groups[by].labels
            count, total, square = (
                np.array(
                    [
                        np.bincount(c[by][k], v[k] ** power, len(labels))
                        for c, v, k in zip(codes, values, known, strict=True)
                    ]
                )
                for power in (0, 1, 2)
            )
            with np.errstate(all="ignore"):
                mean = total / count
                own = np.maximum(
                    square[0] - total[0] * mean[0], 0
                )  # of few rows, a group's variance is the column's too
                error = np.sqrt((own + FEW * spread**2) / (count[0] + FEW) * (1 / count).sum(axis=0)) / spread
            for i in np.flatnonzero(count.min(axis=0) > 0):
                pair = float(mean[0, i]), float(mean[1, i])
                out.append((name, by, labels[i], pair, abs(pair[1] - pair[0]) / spread, float(error[i])))
    most = max(sqrt(2 / pi), sqrt(2 * log(max(len(out), 1))))  # standard errors of the farthest of so many
    found = [
        GroupMean(column=n, by=b, group=g, mean=m, date=real.columns[n].type == "datetime", off=o, second=most * e)
        for n, b, g, m, o, e in out
    ]
    return sorted(found, key=lambda g: g.second - g.off)


def correlation(real: Sample, synthetic: Sample, halves: tuple[Sample, Sample]) -> Correlation | None:
    """The correlation of two numbers that is farthest off; None below two numbers that vary."""
    names = real.numeric()
    if len(names) < 2 or not all(s.used for s in (*halves, synthetic)):
        return None
    ours, theirs, *apart = (correlations(s, names) for s in (real, synthetic, *halves))
    gap, beside = (np.triu(np.nan_to_num(np.abs(a - b)), 1) for a, b in ((theirs, ours), apart))
    i, j = np.unravel_index(int(gap.argmax()), gap.shape)
    if not gap[i, j]:
        return None
    smaller = sqrt((1 / real.used + 1 / synthetic.used) / sum(1 / h.used for h in halves))
    return Correlation(
        columns=(names[i], names[j]),
        value=(float(ours[i, j]), float(theirs[i, j])),
        second=smaller * float(beside.max()),
    )


def implausible(real: Sample, synthetic: Sample, halves: Sequence[np.ndarray]) -> Implausible | None:
    """Rows that could not be, by the first of two ``halves`` of the real rows; None for one column or too few rows.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    if len(real.columns) < 2 or real.used < 2 or not synthetic.used:
        return None
    known, other = halves
    cells = {n: _cells(c, real.positions[n], synthetic.positions[n]) for n, c in real.columns.items()}
    wrong, second = np.zeros(synthetic.used, dtype=bool), np.zeros(len(other), dtype=bool)
    excess: dict[tuple[str, str], tuple[float, float]] = {}
    for a, b in combinations(cells, 2):
        size = len(cells[b].labels)
        ours = cells[a].real * size + cells[b].real
        theirs = cells[a].synthetic * size + cells[b].synthetic
        there = _among(ours[known], len(cells[a].labels) * size)
        off, beside = ~there(theirs), ~there(ours[other])
        wrong |= off
        second |= beside
        excess[a, b] = float(off.mean() - beside.mean()), float(off.mean())
    top = sorted(excess, key=lambda p: -excess[p][0])[:LOOKED_AT]
    rules = {p: _rule(real, synthetic, cells, p) for p in top if excess[p][1]}
    pair = max(rules, key=lambda p: rules[p][0], default=top[0])
    return Implausible(
        share=float(wrong.mean()),
        second=float(second.mean()),
        pair=pair,
        part=excess[pair][1],
        rule=rules[pair][1] if rules else "",
    )


def _cells(column: Column, real: np.ndarray, synthetic: np.ndarray) -> Cells:
    if column.is_numeric:
        groups = grouping.coarse(column, real)
        return Cells(groups.take(real), groups.take(synthetic), groups.labels)
    names = [*(column.categories or ()), *map(grouping.missing_label, column.missing_codes)]
    held = np.bincount(np.concatenate([real, synthetic]), minlength=column.cells) > 0
    place = np.cumsum(held) - 1
    return Cells(place[real], place[synthetic], tuple(names[i] for i in np.flatnonzero(held)))


def _among(known: np.ndarray, cells: int) -> Callable[[np.ndarray], np.ndarray]:
    """Says of cells whether they are among the known ones."""
    if cells > DENSE:
        return lambda asked: np.isin(asked, known)
    there = np.zeros(cells, dtype=bool)
    there[known] = True
    return lambda asked: there[asked]


def _rule(real: Sample, synthetic: Sample, cells: Mapping[str, Cells], pair: tuple[str, str]) -> tuple[int, str]:
    """What no real row of two columns breaks and most synthetic rows do, after how many rows do: when one is empty, or
    what never meets."""
    found = []
    for a, b in (pair, pair[::-1]):
        empty = [s.positions[b] >= s.columns[b].size for s in (real, synthetic)]
        (rows, blank), (made, lost) = (
            [np.bincount(c, w, len(cells[a].labels)) for w in (None, e)]
            for c, e in zip(cells[a][:2], empty, strict=True)
        )
        for always, breaks, held in ((True, made - lost, blank == rows), (False, lost, blank == 0)):
            breaks = np.where(held & (rows >= FEW), breaks, 0)
            where = [cells[a].labels[i] for i in np.argsort(-breaks, kind="stable")[: np.count_nonzero(breaks)]]
            found.append((float(breaks.sum()), a, b, always, where))
    (first, second), size = (cells[n] for n in pair), len(cells[pair[1]].labels)
    never = first.synthetic * size + second.synthetic
    never = never[~np.isin(never, first.real * size + second.real)]
    broken, a, b, always, where = max(found, key=lambda f: f[0])
    if broken and 2 * broken >= len(never):
        listed = ", ".join([*where[:NAMED], *["..."] * (len(where) > NAMED)])
        if always:
            return int(broken), Said("{} is empty where {} is {}: make it a rule?", b, a, listed)
        return int(broken), Said("{} is never empty where {} is {}: make it a rule?", b, a, listed)
    each = np.bincount(never, minlength=1)
    i, j = divmod(int(each.argmax()), size)
    if not len(never):
        return 0, ""
    return int(each.max()), Said(
        "{} {} and {} {} never meet: make it a rule?", pair[0], first.labels[i], pair[1], second.labels[j]
    )
