"""Counts of areas by level of a declared tree: known ones, real or released, beside those of a synthetic table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synth.evaluate.distances import apart, joint
from synth.evaluate.read_sample import Sample
from synth.schema.areas import trees
from synth.schema.column import Column
from synth.schema.grouping import coarse, missing_label


@dataclass(frozen=True, kw_only=True, eq=False)
class AreaLevel:
    """A level of a tree. All arrays are of its n areas: ``known`` and ``synthetic`` in rows of the known table, ``up``
    the number of the area above in the level before, ``noise`` the deviation of what is known (0 where it is exact).

    ``beside``: mean total variation of its tables with every other column, None where that was not looked at.
    """

    column: str
    labels: Sequence[str]
    up: np.ndarray
    known: np.ndarray = field(repr=False)
    synthetic: np.ndarray = field(repr=False)
    noise: np.ndarray = field(repr=False)
    beside: float | None = None

    @property
    def error(self) -> float:
        """Share of the rows that lie in another area, 0 to 1: the total variation."""
        return min(1.0, 0.5 * float(np.abs(self.known - self.synthetic).sum()) / max(float(self.known.sum()), 1.0))

    @property
    def relative(self) -> np.ndarray:
        """By how much each area's count is off, as part of it, (n,)."""
        return (self.synthetic - self.known) / np.maximum(np.abs(self.known), 1.0)

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "column": self.column,
            "areas": list(self.labels),
            "known": np.asarray(self.known, dtype=float).tolist(),
            "synthetic": np.asarray(self.synthetic, dtype=float).tolist(),
            "error": self.error,
            "beside": self.beside,
        }


def named(column: Column) -> list[str]:
    """The areas of a column in words, missing ones last."""
    return [*(column.labels or column.categories or ()), *map(missing_label, column.missing_codes)]


def stack(columns: Mapping[str, Column], name: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The levels of the tree at whose foot ``name`` stands, from the top: column, area of each of its positions, and
    the number in the level before of the area above each."""
    levels = [*((level.column, level.of) for level in reversed(trees(columns)[name]))]
    before = np.zeros(columns[name].cells, dtype=np.int64)
    for column, of in [*levels, (name, np.arange(columns[name].cells))]:
        up = np.zeros(columns[column].cells, dtype=np.int64)
        up[of] = before
        yield column, of, up
        before = of


def of_samples(columns: Mapping[str, Column], real: Sample, synthetic: Sample) -> dict[str, tuple[AreaLevel, ...]]:
    """By lowest column the levels from the top, of real rows. For the steward alone.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    scale = real.used / max(synthetic.used, 1)
    groups = {n: coarse(c, real.positions[n]) for n, c in real.columns.items()}
    both = [{n: groups[n].take(s.positions[n]) for n in groups} for s in (real, synthetic)]
    out = {}
    for name in (n for n in trees(columns) if n in real.positions):
        made = []
        for column, of, up in stack(columns, name):
            size = columns[column].cells
            codes = [{**b, "": of[s.positions[name]]} for s, b in zip((real, synthetic), both, strict=True)]
            counts = [joint(c, [""], [size]).astype(float) for c in codes]
            beside = [
                apart(*(joint(c, ["", n], [size, len(groups[n].labels)]) for c in codes))[0]
                for n in groups
                if n != name
            ]
            made.append(
                AreaLevel(
                    column=column,
                    labels=named(columns[column]),
                    up=up,
                    known=counts[0],
                    synthetic=counts[1] * scale,
                    noise=np.zeros(size),
                    beside=float(np.mean(beside)) if beside else None,
                )
            )
        out[name] = tuple(made)
    return out
