"""What a chart of a comparison shows: worked out once, drawn as SVG in the reports and by Altair in the application."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

MOST_COLUMNS = 40  # of a matrix; of more, those that differ most
FAINT = 0.05  # a matrix of distances all below this stays pale
Share = tuple[str, float, float]  # label, share of the real rows, share of the synthetic rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Shares:
    """A column's shares in both tables, each (m,): what is drawn, and the ``rest``, which is told in words.

    ``edges`` (m + 1,): where bins of numbers or dates begin and the last ends; None for categories.
    """

    labels: tuple[str, ...] = field(repr=False)
    edges: np.ndarray | None = field(repr=False)
    real: np.ndarray = field(repr=False)
    synthetic: np.ndarray = field(repr=False)
    rest: tuple[Share, ...] = field(repr=False)

    @classmethod
    def of(
        cls, labels: Sequence[str], real: np.ndarray, synthetic: np.ndarray, *, edges: np.ndarray | None, pooled: bool
    ) -> "Shares":
        """Bins without the missing codes behind them; categories without the ``pooled`` rest, which would dwarf all."""
        drawn = len(labels) - int(pooled) if edges is None else len(edges) - 1
        rest = zip(labels[drawn:], map(float, real[drawn:]), map(float, synthetic[drawn:]), strict=True)
        return cls(
            labels=tuple(labels[:drawn]), edges=edges, real=real[:drawn], synthetic=synthetic[:drawn], rest=tuple(rest)
        )

    def commonest(self, most: int) -> list[Share]:
        """The values with the largest real shares, drawn or not."""
        drawn = zip(self.labels, map(float, self.real), map(float, self.synthetic), strict=True)
        return sorted([*drawn, *self.rest], key=lambda share: -share[1])[:most]


@dataclass(frozen=True, kw_only=True, eq=False)
class Matrix:
    """Values (rows, columns), drawn as shades from 0 to ``top`` and, in a second colour, to ``-top``."""

    rows: tuple[str, ...] = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)
    values: np.ndarray = field(repr=False)
    top: float = field(repr=False)

    def strongest(self, *, outside: bool = False) -> tuple[str, str, float]:
        """Row, column and value of the cell furthest from 0; ``outside`` the diagonal only. No number counts as 0."""
        values = np.nan_to_num(self.values)
        if outside:
            values = np.where(np.eye(len(self.rows), dtype=bool), 0.0, values)
        i, j = np.unravel_index(int(np.abs(values).argmax()), values.shape)
        return self.rows[int(i)], self.columns[int(j)], float(values[i, j])


def most_different(gaps: np.ndarray, most: int = MOST_COLUMNS) -> np.ndarray:
    """Positions, in order, of the ``most`` columns with the largest mean of ``gaps`` (d, d), or of all."""
    if len(gaps) <= most:
        return np.arange(len(gaps))
    return np.sort(np.argsort(-np.abs(np.nan_to_num(gaps)).mean(axis=1), kind="stable")[:most])


def distances(names: Sequence[str], pairs: np.ndarray) -> tuple[Matrix, np.ndarray]:
    """Distances of pairs (d, d) as a matrix of the columns that differ most, and these columns' positions."""
    shown = most_different(pairs)
    retained, values = tuple(names[i] for i in shown), pairs[np.ix_(shown, shown)]
    return Matrix(rows=retained, columns=retained, values=values, top=max(FAINT, float(values.max()))), shown


def joint(
    rows: tuple[str, ...], columns: tuple[str, ...], real: np.ndarray, synthetic: np.ndarray
) -> dict[str, Matrix]:
    """Two columns' joint shares: both tables on one scale, and their difference on its own."""
    top, gap = float(max(real.max(), synthetic.max(), 1e-9)), synthetic - real
    tables = {
        "real": (real, top),
        "synthetic": (synthetic, top),
        "synthetic minus real": (gap, max(float(np.abs(gap).max()), 1e-9)),
    }
    return {name: Matrix(rows=rows, columns=columns, values=v, top=high) for name, (v, high) in tables.items()}


def correlations(names: Sequence[str], real: np.ndarray, synthetic: np.ndarray) -> dict[str, Matrix]:
    """Both tables' correlations (d, d) and their difference, of the columns whose correlations differ most."""
    gap = synthetic - real
    shown = most_different(gap)
    retained, at = tuple(names[i] for i in shown), np.ix_(shown, shown)
    high = max(0.1, float(np.nanmax(np.abs(gap[at]), initial=0.0)))
    tables = {"real": (real, 1.0), "synthetic": (synthetic, 1.0), "synthetic minus real": (gap, high)}
    return {name: Matrix(rows=retained, columns=retained, values=v[at], top=top) for name, (v, top) in tables.items()}
