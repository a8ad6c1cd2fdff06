"""What a mixture is fitted to: noisy tables laid out as matrices, tables that share bins in one; and its misfit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from synth.generators.core.columns import OneWays
from synth.generators.core.tables import NoisyTable
from synth.languages import Said
from synth.questions import Bins


@dataclass(frozen=True, kw_only=True)
class TableMatrix:
    """Measured tables laid into one matrix, whose rows and columns are views.

    ``rows`` (R,), ``cols`` (C,): views; ``y`` (R, C): noisy probabilities; ``precision`` (R, C): 1 / their
    noise variance, zero where nothing was measured. ``mirrored``: rows and columns are the same views; every
    measured cell stands in both halves, at half its precision.
    """

    rows: np.ndarray
    cols: np.ndarray
    y: np.ndarray
    precision: np.ndarray
    mirrored: bool = False

    @property
    def cells(self) -> int:
        """Number of measured cells."""
        return int(np.count_nonzero(self.precision)) // (2 if self.mirrored else 1)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """All that the fit needs.

    ``column`` (G,): the column of each group; ``mass``, ``precision`` (G,): one-ways and 1 / their variance.
    ``total``: rows that the model's simplicity is weighed by; 0 where only the tables count. ``shrunk_by``: squared
    deviations of the noise by which the tables were shrunk before the fit (``tables.py``); ``loss_reduction``: by
    how much less the truth itself is off the tables since then.
    A view is a bin of one column: group ``member[0, i]`` is part of view ``member[1, i]``. After these come
    joint views, the product of views ``joint[0, i]`` and ``joint[1, i]`` of two different columns. ``neighbours``
    (3, K): groups that follow each other in a column of numbers (``solver.py``).
    """

    column: np.ndarray
    mass: np.ndarray
    precision: np.ndarray
    member: np.ndarray
    joint: np.ndarray
    blocks: Sequence[TableMatrix]
    total: float = 0.0
    shrunk_by: float = 0.0
    loss_reduction: float = 0.0
    neighbours: np.ndarray = field(default_factory=lambda: np.zeros((3, 0), dtype=np.int64))

    @property
    def cells(self) -> int:
        """Number of measured cells."""
        return sum(b.cells for b in self.blocks)

    @property
    def work(self) -> int:
        """Multiplications and additions of a step for each component: two products of a mirrored block, else three."""
        return sum((4 if b.mirrored else 6) * b.y.size for b in self.blocks)

    @property
    def chance(self) -> float:
        """How much the rows' own chance exceeds the noise, from 0 to 1: 1 less the noise's part, over all cells of two
        columns. Tables of more have more noise, and are followed well only where those of two are.
        """
        plain = int(self.member[1].max(initial=-1))
        pairs = [b for b in self.blocks if max(b.rows.max(initial=0), b.cols.max(initial=0)) <= plain]
        noise = sum(float((1 / b.precision[b.precision > 0]).sum()) / (2 if b.mirrored else 1) for b in pairs)
        rows = sum(float(np.maximum(b.y[b.precision > 0], 0).sum()) for b in pairs)
        return max(0.0, 1 - noise * self.total / rows) if rows > 0 and self.total > 0 else 0.0

    def goal(self, share: float, *, components: int) -> float:
        """The loss at which a mixture has followed the noise as far as ``share`` says.

        That share of the cells where the mixture has as many parameters as there are cells; nearer to all of
        them where it has fewer, since it then can follow less of the noise.
        """
        free = components * (len(self.mass) - int(self.column.max(initial=0)) - 1)
        return self.cells * (1 - (1 - share) * min(1.0, free / max(self.cells, 1))) - self.loss_reduction


WASTE = 500  # cells of a matrix that may stay empty when a table joins it, besides three times its own

Sides = dict[tuple[str, ...], tuple[Bins, ...]]


def refine(columns: OneWays, tables: Sequence[NoisyTable]) -> dict[str, np.ndarray]:
    """For each column the group of each leaf, (L,): the coarsest that all tables' bins are made of."""
    groups = {n: np.zeros(len(h.mass), dtype=np.int64) for n, h in columns.histograms.items()}
    for bins in {id(b): b for t in tables for b in t.marginal.bins}.values():
        both = np.stack([groups[bins.column], bins.groups])
        groups[bins.column] = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
    return groups


def lay_out(
    columns: OneWays,
    groups: Mapping[str, np.ndarray],
    tables: Sequence[NoisyTable],
    targets: Sequence[NoisyTable] = (),
) -> tuple[Problem, dict[str, slice]]:
    """The fit's problem, and each column's slice of its groups; ``targets``: of public tables, say."""
    histograms, total = columns.histograms, columns.total
    sizes = np.array([int(groups[n].max()) + 1 for n in histograms])
    ends = np.cumsum(sizes)
    spans = {n: slice(int(e - s), int(e)) for n, s, e in zip(histograms, sizes, ends, strict=True)}
    mass = [np.bincount(groups[n], weights=h.mass) / total for n, h in histograms.items()]
    precision = [total**2 / (np.bincount(groups[n]) * max(h.sigma, 1.0) ** 2) for n, h in histograms.items()]
    views = _Views(spans=spans, groups=groups)
    left, sheets = _square([*tables, *targets])
    for table in sorted(left, key=lambda t: -t.marginal.cells):
        _place(sheets, table)
    for sheet in sheets:
        views.add_plain(sheet)
    laid = Problem(
        column=np.repeat(np.arange(len(histograms)), sizes),
        mass=np.concatenate(mass),
        precision=np.concatenate(precision),
        blocks=[_block(sheet, views, total) for sheet in sheets],
        member=np.concatenate([np.zeros((2, 0), dtype=np.int64), *views.member], axis=1),
        joint=np.concatenate([np.zeros((2, 0), dtype=np.int64), *views.joint], axis=1),
        total=total,
        loss_reduction=float(sum(np.isfinite(t.variance).sum() for t in targets)),
    )
    return laid, spans


@dataclass(kw_only=True)
class _Sheet:
    """A matrix in the making: bins of its two sides, and tables (row key, column key, values, sigma).

    ``mirrored``: both sides are the same, and every table stands in it upright and turned.
    """

    rows: Sides = field(default_factory=dict)
    cols: Sides = field(default_factory=dict)
    tables: list = field(default_factory=list)
    mirrored: bool = False

    def growth(self, row: tuple[Bins, ...], col: tuple[Bins, ...]) -> float:
        """Cells by which the matrix grows if a table joins; infinite if its columns have other bins here."""
        if not (_agrees(self.rows, row) and _agrees(self.cols, col)):
            return np.inf
        r, c = _length(self.rows), _length(self.cols)
        grown_r = r + (0 if _key(row) in self.rows else _cells(row))
        grown_c = c + (0 if _key(col) in self.cols else _cells(col))
        return grown_r * grown_c - r * c


def _square(tables: Sequence[NoisyTable]) -> tuple[Sequence[NoisyTable], list[_Sheet]]:
    """What is left, and one mirrored sheet of all pairs on their columns' first groupings, where these fill half of it.

    Its steps cost two products of a square matrix, in place of three for every sheet that the tables need otherwise.
    """
    sides: Sides = {}
    alike = []
    for own in (t.marginal.bins for t in tables):
        alike.append(len(own) == 2 and all(_agrees(sides, (b,)) for b in own))
        for bins in own if len(own) == 2 else ():
            sides.setdefault(_key((bins,)), (bins,))
    inside = [t for t, met in zip(tables, alike, strict=True) if met]
    if not inside or 2 * sum(t.marginal.cells for t in inside) < _length(sides) ** 2 / 2:
        return tables, []
    held = [(_key(t.marginal.bins[:1]), _key(t.marginal.bins[1:]), t.values, t.deviation) for t in inside]
    sheet = _Sheet(rows=sides, cols=sides, tables=held, mirrored=True)
    return [t for t, met in zip(tables, alike, strict=True) if not met], [sheet]


def _place(sheets: list[_Sheet], table: NoisyTable) -> None:
    """Puts a table where it wastes least, upright or turned; opens a new sheet rather than waste much."""
    bins, half = table.marginal.bins, max(len(table.marginal.bins) // 2, 1)
    row, col = bins[:half], bins[half:]
    flat, apart = (x.reshape(prod(b.size for b in row), -1) for x in (table.values, table.deviation))
    options = [
        (s.growth(*sides), i, turned)
        for i, s in enumerate(sheets)
        if not s.mirrored
        for turned, sides in enumerate([(row, col), (col, row)])
    ]
    growth, at, turned = min(options, default=(np.inf, -1, 0))
    if growth > 3 * table.marginal.cells + WASTE:
        sheets.append(_Sheet())
        at, turned = -1, 0
    if turned:
        row, col, flat, apart = col, row, flat.T, apart.T
    sheets[at].rows.setdefault(_key(row), row)
    sheets[at].cols.setdefault(_key(col), col)
    sheets[at].tables.append((_key(row), _key(col), flat, apart))


def _block(sheet: _Sheet, views: _Views, total: float) -> TableMatrix:
    rows = {k: views.of(b) for k, b in sheet.rows.items()}
    cols = {k: views.of(b) for k, b in sheet.cols.items()}
    row_at, col_at = _offsets(sheet.rows), _offsets(sheet.cols)
    y = np.zeros((_length(sheet.rows), _length(sheet.cols)))
    precision = np.zeros_like(y)
    for row, col, values, sigma in sheet.tables:
        part = np.s_[row_at[row] : row_at[row] + values.shape[0], col_at[col] : col_at[col] + values.shape[1]]
        weight = (total / sigma) ** 2
        y[part] += weight * values / total  # a table that was asked again is averaged
        precision[part] += weight
    if sheet.mirrored:
        y, precision = y + y.T, (precision + precision.T)
    np.divide(y, precision, out=y, where=precision > 0)
    return TableMatrix(
        rows=np.concatenate(list(rows.values())),
        cols=np.concatenate(list(cols.values())),
        y=y,
        precision=precision / 2 if sheet.mirrored else precision,
        mirrored=sheet.mirrored,
    )


class _Views:
    """Numbers the views: plain ones (bins of a column) first, joint ones (pairs of bins) after them."""

    def __init__(self, *, spans: Mapping[str, slice], groups: Mapping[str, np.ndarray]):
        self.spans, self.groups = spans, groups
        self.index: dict[tuple, np.ndarray] = {}
        self.member: list[np.ndarray] = []
        self.joint: list[np.ndarray] = []
        self.plain = self.joined = 0

    def add_plain(self, sheet: _Sheet) -> None:
        """Numbers every bin that occurs on a sheet, alone or within a pair."""
        for bins in [b for side in (sheet.rows, sheet.cols) for bs in side.values() for b in bs]:
            key = (bins.column, bins.groups.tobytes())
            if key not in self.index:
                pairs = np.stack([self.spans[bins.column].start + self.groups[bins.column], self.plain + bins.groups])
                self.member.append(np.unique(pairs, axis=1))
                self.index[key] = self.plain + np.arange(bins.size)
                self.plain += bins.size

    def of(self, bins: tuple[Bins, ...]) -> np.ndarray:
        """View numbers of one column's bins, or of all pairs of two columns' bins, first column slowest."""
        plain = [self.index[b.column, b.groups.tobytes()] for b in bins]
        if len(plain) == 1:
            return plain[0]
        left, right = np.repeat(plain[0], len(plain[1])), np.tile(plain[1], len(plain[0]))
        self.joint.append(np.stack([left, right]))
        self.joined += len(left)
        return self.plain + self.joined - len(left) + np.arange(len(left))


def _key(bins: tuple[Bins, ...]) -> tuple[str, ...]:
    return tuple(b.column for b in bins)


def _cells(bins: tuple[Bins, ...]) -> int:
    return prod(b.size for b in bins)


def _length(side: Sides) -> int:
    return sum(_cells(b) for b in side.values())


def _offsets(side: Sides) -> dict[tuple[str, ...], int]:
    ends = np.cumsum([0] + [_cells(b) for b in side.values()])
    return dict(zip(side, ends.tolist(), strict=False))


def _agrees(side: Sides, bins: tuple[Bins, ...]) -> bool:
    other = side.get(_key(bins))
    return other is None or all(a is b or np.array_equal(a.groups, b.groups) for a, b in zip(other, bins, strict=True))


REACHED = 1.15  # times what noise explains: above, a fit has not followed its tables, and says so


def misfit(problem: Problem, weights: np.ndarray, probs: np.ndarray) -> dict[str, float]:
    """``loss``: squared errors of all cells over their noise's variance; ``expected``: what the truth itself has, one a
    cell; ``ratio`` of the two; ``pairs``: that of the tables of two columns alone, which larger ones would hide.

    ``weights`` (B,), ``probs`` (B, G). Privacy: released answers only.
    """
    plain = int(problem.member[1].max(initial=-1)) + 1
    views = np.zeros((plain, len(weights)))
    np.add.at(views, problem.member[1], probs.T[problem.member[0]])
    sums = {True: [0.0, 0], False: [0.0, 0]}
    for block in problem.blocks:
        sides = []
        for index in (block.rows, block.cols):
            left, right = problem.joint[:, np.maximum(index - plain, 0)] if problem.joint.size else (index, index)
            alone = (index < plain)[:, None]
            sides.append(np.where(alone, views[np.minimum(index, plain - 1)], views[left] * views[right]))
        error = (sides[0] * weights) @ sides[1].T - block.y
        pair = bool(max(block.rows.max(), block.cols.max()) < plain)
        sums[pair][0] += float((block.precision * error**2).sum())
        sums[pair][1] += block.cells
    loss, cells = (sums[True][i] + sums[False][i] for i in (0, 1))
    return {
        "loss": round(loss, 1),
        "expected": float(cells),
        "ratio": round(loss / max(cells, 1), 4),
        "pairs": round(sums[True][0] / max(sums[True][1], 1), 4),
    }


def misfit_in_words(estimates: Mapping[str, float] | None) -> str | None:
    """What a user should know of a fit that did not reach what noise explains; None of one that did, or tells nothing.

    >>> misfit_in_words({"loss": 10.0, "expected": 10.0, "ratio": 1.0, "pairs": 1.1})
    >>> misfit_in_words({"loss": 30.0, "expected": 10.0, "ratio": 3.0, "pairs": 1.1})
    'the fit ended at 3.00 times what noise explains (tables of pairs: 1.10), so ...'
    """
    worst = max(estimates["ratio"], estimates["pairs"]) if estimates else 0.0
    if not estimates or worst <= REACHED:
        return None
    return Said(
        "the fit ended at {:.2f} times what noise explains (tables of pairs: {:.2f}), so the table is less accurate "
        "than its answers allow; fits of the release with other seeds cost nothing",
        estimates["ratio"],
        estimates["pairs"],
    )
