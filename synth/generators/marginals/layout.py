"""Noisy tables laid out for the fit: bins become views, tables that share bins share a matrix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.prior import PriorTable
from synth.generators.marginals.problem import Problem, TableMatrix
from synth.questions import Bins, CountsRelease, Marginal

WASTE = 500  # cells of a matrix that may stay empty when a table joins it, besides three times its own

Sides = dict[tuple[str, ...], tuple[Bins, ...]]
Answer = tuple[Marginal, np.ndarray, np.ndarray]  # counts, and the deviation of each


def refine(
    histograms: Mapping[str, Histogram], tables: Sequence[CountsRelease], targets: Sequence[PriorTable] = ()
) -> dict[str, np.ndarray]:
    """For each column the group of each leaf, (L,): the coarsest that all tables' bins are made of."""
    groups = {n: np.zeros(len(h.mass), dtype=np.int64) for n, h in histograms.items()}
    marginals = [*(m for r in tables for m in r.question.marginals), *(t.marginal for t in targets)]
    for bins in {id(b): b for m in marginals for b in m.bins}.values():
        both = np.stack([groups[bins.column], bins.groups])
        groups[bins.column] = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
    return groups


def problem(
    histograms: Mapping[str, Histogram],
    groups: Mapping[str, np.ndarray],
    tables: Sequence[CountsRelease],
    total: float,
    targets: Sequence[PriorTable] = (),
) -> tuple[Problem, dict[str, slice]]:
    """The fit's problem, and each column's slice of its groups; ``targets``: of public tables."""
    sizes = np.array([int(groups[n].max()) + 1 for n in histograms])
    ends = np.cumsum(sizes)
    spans = {n: slice(int(e - s), int(e)) for n, s, e in zip(histograms, sizes, ends, strict=True)}
    mass = [np.bincount(groups[n], weights=h.mass) / total for n, h in histograms.items()]
    precision = [total**2 / (np.bincount(groups[n]) * max(h.sigma, 1.0) ** 2) for n, h in histograms.items()]
    views = _Views(spans=spans, groups=groups)
    answers = [(m, v, _even(m)) for r in tables for m, v in zip(r.question.marginals, r.values, strict=True)]
    answers, sheets = _square([*answers, *((t.marginal, t.values, np.sqrt(t.variance)) for t in targets)])
    for answer in sorted(answers, key=lambda a: -a[0].cells):
        _place(sheets, *answer)
    for sheet in sheets:
        views.add_plain(sheet)
    blocks = [_block(sheet, views, total) for sheet in sheets]
    laid = Problem(
        column=np.repeat(np.arange(len(histograms)), sizes),
        mass=np.concatenate(mass),
        precision=np.concatenate(precision),
        member=np.concatenate([np.zeros((2, 0), dtype=np.int64), *views.member], axis=1),
        joint=np.concatenate([np.zeros((2, 0), dtype=np.int64), *views.joint], axis=1),
        blocks=blocks,
        total=total,
        loss_reduction=float(sum(t.cells for t in targets)),
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


def _square(answers: list[Answer]) -> tuple[list[Answer], list[_Sheet]]:
    """What is left, and one mirrored sheet of all pairs on their columns' first groupings, where these fill half of it.

    Its steps cost two products of a square matrix, in place of three for every sheet that the tables need otherwise.
    """
    sides: Sides = {}
    alike = []
    for marginal, _, _ in answers:
        pair = len(marginal.bins) == 2
        alike.append(pair and all(_agrees(sides, (b,)) for b in marginal.bins))
        if pair:
            for bins in marginal.bins:
                sides.setdefault(_key((bins,)), (bins,))
    inside = [a for a, met in zip(answers, alike, strict=True) if met]
    if not inside or 2 * sum(m.cells for m, _, _ in inside) < _length(sides) ** 2 / 2:
        return answers, []
    tables = [(_key(m.bins[:1]), _key(m.bins[1:]), v, s) for m, v, s in inside]
    sheet = _Sheet(rows=sides, cols=sides, tables=tables, mirrored=True)
    return [a for a, met in zip(answers, alike, strict=True) if not met], [sheet]


def _place(sheets: list[_Sheet], marginal: Marginal, values: np.ndarray, sigma: np.ndarray) -> None:
    """Puts a table where it wastes least, upright or turned; opens a new sheet rather than waste much."""
    half = max(len(marginal.bins) // 2, 1)
    row, col = marginal.bins[:half], marginal.bins[half:]
    flat, apart = (x.reshape(prod(b.size for b in row), -1) for x in (values, sigma))
    options = [
        (s.growth(*sides), i, turned)
        for i, s in enumerate(sheets)
        if not s.mirrored
        for turned, sides in enumerate([(row, col), (col, row)])
    ]
    growth, at, turned = min(options, default=(np.inf, -1, 0))
    if growth > 3 * marginal.cells + WASTE:
        sheets.append(_Sheet())
        at, turned = -1, 0
    if turned:
        row, col, flat, apart = col, row, flat.T, apart.T
    sheets[at].rows.setdefault(_key(row), row)
    sheets[at].cols.setdefault(_key(col), col)
    sheets[at].tables.append((_key(row), _key(col), flat, apart))


def _even(marginal: Marginal) -> np.ndarray:
    """The same noise in every cell."""
    return np.broadcast_to(np.array(marginal.sigma), marginal.shape)


def _block(sheet: _Sheet, views: "_Views", total: float) -> TableMatrix:
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
