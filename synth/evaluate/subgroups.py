"""How well each group of people is served: noise is the same for all, so small groups lose most."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from synth.evaluate.column_numbers import apart
from synth.evaluate.fidelity import Comparison

FEW = 2  # a column of fewer groups divides nobody


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
    out: list[Subgroup] = []
    for name in columns:
        labels = comparison.groups[name].labels
        if len(labels) < FEW:
            continue
        counts = [np.bincount(c[name], minlength=len(labels)) for c in comparison.codes]
        tables = [_tables(comparison, name, other) for other in comparison.columns if other != name]
        made = [_one(name, label, i, counts, tables) for i, label in enumerate(labels) if counts[0][i]]
        out += sorted(made, key=lambda s: s.real_rows)
    return out


def _tables(comparison: Comparison, name: str, other: str) -> tuple[np.ndarray, np.ndarray]:
    """Counts of the group's rows by the other column's groups, in both tables."""
    wide, tall = len(comparison.groups[other].labels), len(comparison.groups[name].labels)
    codes = [c[name] * wide + c[other] for c in comparison.codes]
    real, synthetic = (np.bincount(c, minlength=tall * wide).reshape(tall, wide) for c in codes)
    return real, synthetic


def _one(name: str, label: str, at: int, counts: Sequence[np.ndarray], tables: Sequence[tuple]) -> Subgroup:
    sizes = [int(c[at]) for c in counts]
    distances, chances = [], []
    for real, synthetic in tables:
        if not sizes[1]:
            continue
        distance, chance = apart(real[at], synthetic[at])
        distances.append(distance)
        chances.append(chance)
    return Subgroup(
        column=name,
        group=label,
        real_rows=sizes[0],
        real_share=sizes[0] / int(counts[0].sum()),
        synthetic_share=sizes[1] / int(counts[1].sum()),
        distance=float(np.mean(distances)) if distances else None,
        by_chance=float(np.mean(chances)) if chances else None,
    )
