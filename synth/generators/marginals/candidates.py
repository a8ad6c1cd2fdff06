"""Tables of three and more columns that may be asked for: which there are, and what a mixture expects in them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from math import comb

import numpy as np

from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.merging import merge_bins
from synth.questions import Bins
from synth.questions.search import NONE

CELLS = 1 << 19  # most cells of all candidates of one order together
COUNTED = 1e10  # most tables times rows; some tens of tables are counted in the time of one
FINE, COARSE = 6, 3  # most and fewest bins of a column in a candidate


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """``bins``: groupings, one a column and order; ``tables`` (m, k): axes of each candidate, -1 behind the last."""

    bins: tuple[Bins, ...]
    tables: np.ndarray

    def columns(self, index: int) -> tuple[str, ...]:
        """The columns of a candidate."""
        return tuple(self.bins[i].column for i in self.tables[index].tolist() if i != NONE)

    def without(self, chosen: Iterable[tuple[str, ...]]) -> "Candidates | None":
        """The candidates but those of the chosen columns; None if none are left."""
        gone = {frozenset(c) for c in chosen}
        left = np.array([frozenset(self.columns(i)) not in gone for i in range(len(self.tables))])
        return replace(self, tables=self.tables[left]) if left.any() else None

    def among(self, wanted: Iterable[tuple[str, ...]]) -> "Candidates | None":
        """The candidates of just these columns; all of them if there are none of these."""
        sets = {frozenset(w) for w in wanted}
        left = np.array([frozenset(self.columns(i)) in sets for i in range(len(self.tables))])
        return replace(self, tables=self.tables[left]) if left.any() else self

    def without_pairs(self, pairs: Iterable[tuple[str, ...]]) -> "Candidates | None":
        """The candidates that hold none of these pairs of columns; None if none are left."""
        gone = {frozenset(p) for p in pairs}
        held = (any(frozenset(p) in gone for p in combinations(self.columns(i), 2)) for i in range(len(self.tables)))
        left = ~np.fromiter(held, dtype=bool)
        return replace(self, tables=self.tables[left]) if left.any() else None

    @property
    def sizes(self) -> np.ndarray:
        """Cells of each candidate, (m,)."""
        return np.append([b.size for b in self.bins], 1)[self.tables].prod(1)


def candidates(
    histograms: Mapping[str, Histogram],
    finest: Mapping[str, np.ndarray],
    *,
    target: str | None,
    order: int,
    rows: float,
) -> Candidates | None:
    """All tables of three to ``order`` columns; of orders with too many of them those with the target; None if none.

    ``finest``: a grouping of each column's leaves that the candidates' coarser ones are merged from.
    """
    names = list(finest)
    bins: list[Bins] = []
    lines: list[np.ndarray] = []
    for k in range(3, min(order, len(names)) + 1):
        for tables in (
            list(combinations(names, k)) if comb(len(names), k) * COARSE**k <= CELLS else [],
            _with_target(names, target, k),
        ):
            groups = _fits(len(tables), k)
            if groups is None or len(tables) * rows > COUNTED:
                continue
            at = {n: len(bins) + i for i, n in enumerate(names)}
            bins += [coarse(histograms[n], finest[n], groups) for n in names]
            line = np.full((len(tables), order), NONE, dtype=np.int64)
            line[:, :k] = [[at[n] for n in t] for t in tables]
            lines.append(line)
            break
    if not lines:
        return None
    return Candidates(bins=tuple(bins), tables=np.concatenate(lines))


def _with_target(names: Sequence[str], target: str | None, k: int) -> list[tuple[str, ...]]:
    if target is None or target not in names or comb(len(names) - 1, k - 1) * COARSE**k > CELLS:
        return []
    place = {n: i for i, n in enumerate(names)}
    others = combinations([n for n in names if n != target], k - 1)
    return [tuple(sorted((*o, target), key=place.__getitem__)) for o in others]


def _fits(tables: int, k: int) -> int | None:
    """Bins of a column with which so many tables of k columns have few enough cells."""
    return next((g for g in range(FINE, COARSE - 1, -1) if 0 < tables * g**k <= CELLS), None)


def coarse(histogram: Histogram, groups: np.ndarray, most: int) -> Bins:
    """About equal bins, ``most`` at most, of the bins ``groups``."""
    mass = np.bincount(groups, weights=histogram.mass)
    share, many = mass.sum() / most, most
    merged = merge_bins(histogram.mass, groups, least=share)
    while merged.max() >= most and many > 1:
        many -= 1
        merged = merge_bins(histogram.mass, groups, least=mass.sum() / many)
    return Bins(column=histogram.column, cells=histogram.cells, starts=histogram.starts, groups=merged)


def expected(asked: Candidates, views: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """A mixture's probabilities of all candidates' cells, flat, one after the other.

    ``views``: (B, bins) of each grouping; ``weights`` (B,).
    """
    out: list[np.ndarray] = []
    views = [v.astype(np.float32) for v in views]
    scaled = [(weights[:, None] * v).astype(np.float32) for v in views]
    for pair, tables in groupby(asked.tables.tolist(), key=lambda t: t[:2]):
        left = (scaled[pair[0]][:, :, None] * views[pair[1]][:, None, :]).reshape(len(weights), -1)
        out += _products(left.T.copy(), [[i for i in t[2:] if i != NONE] for t in tables], views)
    return np.concatenate(out)


def _products(left: np.ndarray, rests: list[list[int]], views: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """``left`` (cells, B) against the product of each list's views, flat."""
    joint = [_joint([views[i] for i in r]) for r in rests]
    made = left @ np.concatenate(joint, axis=1)
    ends = np.cumsum([j.shape[1] for j in joint])[:-1]
    return (t.ravel() for t in np.split(made, ends, axis=1))


def _joint(views: Iterable[np.ndarray]) -> np.ndarray:
    whole: np.ndarray | None = None
    for view in views:
        whole = view if whole is None else (whole[:, :, None] * view[:, None, :]).reshape(len(view), -1)
    assert whole is not None
    return whole
