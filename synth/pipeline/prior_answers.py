"""What an earlier release's noisy answers say of cells that are asked for now.

The rows of a release err as its model does, alike in all tables; its answers err each by itself, so that a fit to both
waves' answers averages their noise. Where cells were grouped otherwise, an answer is spread as the release's rows are.
Privacy: released answers only.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from synth.generators.core.tables import averaged_by_bins
from synth.questions import Bins, CountsRelease, Marginal

Rows = Mapping[str, np.ndarray]
Said = tuple[np.ndarray, np.ndarray]  # counts, and the variance of their noise


class PriorAnswers:
    """The answers about two columns of one release, of which ``columns`` are described as they are now."""

    def __init__(self, releases: Sequence[CountsRelease], columns: frozenset[str]) -> None:
        asked = averaged_by_bins(
            (m, v) for r in releases for m, v in zip(r.question.marginals, r.values, strict=True) if len(m.bins) == 2
        )
        self._tables: dict[frozenset[str], list[tuple[Marginal, np.ndarray]]] = {}
        for marginal, values in asked.values():
            if columns.issuperset(marginal.columns):
                self._tables.setdefault(frozenset(marginal.columns), []).append((marginal, values))
        self._codes: dict[tuple, np.ndarray] = {}

    def of(self, marginal: Marginal, rows: Rows) -> Said | None:
        """Counts and variances of the marginal's shape (A, B); None where nothing was asked. ``rows``: positions."""
        asked = self._tables.get(frozenset(marginal.columns), []) if len(marginal.bins) == 2 else []
        if not asked:
            return None
        new = self._cells(marginal.bins, rows)
        counts, precision = np.zeros(marginal.cells), np.zeros(marginal.cells)
        for known, values in asked:
            bins = known.bins if known.columns == marginal.columns else known.bins[::-1]
            table = values if known.columns == marginal.columns else values.T
            said, variance = _spread(table.ravel(), known.sigma**2, self._cells(bins, rows), new, marginal.cells)
            weight = np.divide(1.0, variance, out=np.zeros(len(variance)), where=variance > 0)
            counts, precision = counts + weight * said, precision + weight
        some = precision > 0
        variance = np.divide(1.0, precision, out=np.zeros(len(precision)), where=some)
        return (counts * variance).reshape(marginal.shape), variance.reshape(marginal.shape)

    def _cells(self, bins: Sequence[Bins], rows: Rows) -> np.ndarray:
        """The cell (n,) of a table on these bins in which each row is."""
        first, second = (self._code(b, rows) for b in bins)
        return first * bins[1].size + second

    def _code(self, bins: Bins, rows: Rows) -> np.ndarray:
        key = (bins.column, bins.starts.tobytes(), bins.groups.tobytes())
        if key not in self._codes:
            leaf = np.searchsorted(bins.starts, rows[bins.column], side="right") - 1
            self._codes[key] = bins.groups[leaf]
        return self._codes[key]


def _spread(values: np.ndarray, noise: float, old: np.ndarray, new: np.ndarray, cells: int) -> Said:
    """Answers (m,) moved from old cells to new ones, in the parts in which rows (n,) of the old lie in the new."""
    pairs, many = np.unique(old * cells + new, return_counts=True)
    source, target = np.divmod(pairs, cells)
    part = many / np.bincount(old, minlength=len(values))[source]
    counts = np.bincount(target, weights=part * values[source], minlength=cells)
    return counts, np.bincount(target, weights=part**2 * noise, minlength=cells)
