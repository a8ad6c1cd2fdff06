"""Rows of a release's model under weights that give them the released counts; what noise does to any of their sums.

The argument stands in docs/inference.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.lazy import Lazy
from synth.pipeline.inference.released_counts import NoisyBins, averaged
from synth.questions import Bins

sparse = Lazy("scipy.sparse")
linalg = Lazy("scipy.linalg")

ROWS, SUPPORT = 12_000, 1_000  # drawn from the model; from its single columns, and evenly over each column's bins
RELATED = 0.1  # correlation that what no table told is allowed to have with a question's score
RARE = 0.1  # of a row's freedom to move has one of those that were drawn evenly
LOOSE = 1e5  # variance of a weight before anything was counted: far above the noise's, so that counts decide
MOST_CELLS = 5000  # of all tables together; the largest are left out first


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedRows:
    """``positions`` by column (N,). ``start``: weights (N,) by the model alone, which sum to the number of rows;
    ``weights``: those that have the counts, some of them negative. ``survey``: by how much each counts in a question,
    1 without survey weights.

    Privacy: released answers only.
    """

    positions: Mapping[str, np.ndarray]
    start: np.ndarray
    weights: np.ndarray
    survey: np.ndarray
    _counted: Any  # (N, cells), which cell a row counts in, over its noise
    _free: np.ndarray
    _solve: Any

    @classmethod
    def of(
        cls, releases: Sequence[Any], drawn: Mapping[str, np.ndarray], total: float, columns: Sequence[str]
    ) -> "WeightedRows":
        """Rows ``drawn`` from the model, and some in every bin, with weights of least squares: as near to the model's,
        which sum to ``total``, as those can be that have all counts on these columns. Errors: UsageError where a
        column was not counted.

        **Source**: calibration by linear weighting, Deville and Sarndal 1992, with noisy totals.
        """
        counted, cells = [], 0
        for one in sorted(averaged(releases, columns), key=lambda t: t.counts.size):
            cells += one.counts.size
            counted += [one] if cells <= MOST_CELLS else []
        for name in columns:
            if not any(b.column == name for t in counted for b in t.bins):
                raise UsageError("{}: no counts of it were released", name)
        positions = _supported({n: drawn[n] for n in columns}, counted)
        size = len(positions[columns[0]])
        start = np.where(np.arange(size) < ROWS, total / ROWS, 0.0)
        free = LOOSE * np.where(np.arange(size) < ROWS + SUPPORT, 1.0, RARE)
        noise = np.concatenate([np.full(t.counts.size, t.variance**0.5) for t in counted])
        scaled = sparse.hstack([_cells(t.bins, positions, size) for t in counted]).tocsr() @ sparse.diags(1 / noise)
        gram = (scaled.T @ sparse.diags(free) @ scaled).toarray()
        factor = linalg.cho_factor(gram + np.eye(len(noise)), overwrite_a=True)

        def solve(x: np.ndarray) -> np.ndarray:
            return np.asarray(linalg.cho_solve(factor, x))

        gap = np.concatenate([t.counts.reshape(-1) for t in counted]) / noise - scaled.T @ start
        weights = start + free * (scaled @ solve(gap))
        return cls(
            positions=positions,
            start=start,
            weights=weights,
            survey=np.ones(size),
            _counted=scaled,
            _free=free,
            _solve=solve,
        )

    def surveyed(self, survey: np.ndarray) -> "WeightedRows":
        """The same where rows count by survey weights (N,), missing ones not at all; their unit does not matter."""
        weights = np.where(np.isfinite(survey), survey, 0.0)
        mean = float(self.start @ weights) / max(float(self.start.sum()), 1.0)
        return replace(self, survey=weights / mean if mean > 0 else weights)

    def by_counts(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How much each standardised noise moves the weighted sums of ``scores`` (N, k): (cells, k); and what of the
        scores no count tells of, (N, k)."""
        moves = self._solve(self._counted.T @ (self._free[:, None] * scores))
        return moves, scores - self._counted @ moves


def _cells(bins: Sequence[Bins], positions: Mapping[str, np.ndarray], size: int) -> Any:
    """(size, cells): one where a row falls into a cell."""
    code, inside, cells = np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool), 1
    for one in bins:
        group = one.groups[np.searchsorted(one.starts, positions[one.column], side="right") - 1]
        inside &= group >= 0
        code, cells = code * one.size + np.maximum(group, 0), cells * one.size
    rows = np.flatnonzero(inside)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, code[rows])), shape=(size, cells))


def _supported(positions: Mapping[str, np.ndarray], counted: Sequence[NoisyBins]) -> dict[str, np.ndarray]:
    """The rows; ``SUPPORT`` more in which columns are independent; and for each column as many that visit all its bins.

    Cells that hold no row of the model, perhaps since their counts came out low by chance, can then be followed too.
    Of a row in a rare bin of one column the others are as they mostly are: were they rare as well, what is taken from
    a bin that noise made too small and what is added to one that it made too large would not lie in the same places.
    """
    rng = np.random.default_rng(0)
    blocks = [positions]
    for rare in (None, *positions):
        alone = {n: rng.choice(p, SUPPORT) for n, p in positions.items()}
        if rare is not None:
            finest = max((b for t in counted for b in t.bins if b.column == rare), key=lambda b: b.size)
            alone[rare] = _everywhere(finest, positions[rare], rng)
        blocks.append(alone)
    return {n: np.concatenate([b[n] for b in blocks]) for n in positions}


def _everywhere(bins: Bins, drawn: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions (SUPPORT,) whose bins are uniform; inside a bin as drawn, or anywhere where none was drawn."""
    group = bins.groups[np.searchsorted(bins.starts, drawn, side="right") - 1]
    leaf = np.arange(len(bins.starts))
    anywhere = bins.starts[leaf] + rng.integers(0, bins.widths)
    pool, of = np.concatenate([drawn, anywhere]), np.concatenate([group, bins.groups])
    fallback = np.append(np.zeros(len(drawn), dtype=bool), np.isin(bins.groups, group))
    pool, of = pool[(of >= 0) & ~fallback], of[(of >= 0) & ~fallback]
    order = np.argsort(of, kind="stable")
    first, last = (np.searchsorted(of[order], np.arange(bins.size), side=s) for s in ("left", "right"))
    wanted = rng.integers(0, bins.size, SUPPORT)
    return pool[order[rng.integers(first[wanted], last[wanted])]]
