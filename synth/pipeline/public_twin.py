"""A stand-in for a private table, drawn from a public one: what a preview and the worth of priors are rehearsed on.

Privacy: public tables alone; no private row is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.pipeline.priors import PriorRows
from synth.schema.grouping import coarse
from synth.schema.table import Schema


@dataclass(frozen=True, kw_only=True)
class Preview:
    """A run on public rows: ``priors`` in place of those named; ``card``: what its card says of that."""

    priors: tuple[PriorRows, ...]
    card: Mapping[str, Any]


MOST_PAIRS = 200  # of columns that are compared; of more a seeded choice
NEEDED = "it is rehearsed on public rows: name a public table or an earlier release with `prior=`"

Positions = Mapping[str, np.ndarray]


def twin_of(priors: Sequence[PriorRows]) -> PriorRows:
    """The prior that covers most columns, of equal ones that with most rows. Errors: UsageError without one."""
    if not priors:
        raise UsageError(NEEDED)
    return max(priors, key=lambda p: (len(p.columns), p.num_rows))


def stand_in(twin: PriorRows, schema: Schema, rows: int, *, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """So many rows drawn from the public ones with replacement; columns that these lack are drawn evenly."""
    drawn = rng.integers(0, twin.num_rows, rows)
    return {
        n: twin.rows[n][drawn] if n in twin.rows else rng.integers(0, c.cells, rows)
        for n, c in schema.measured().items()
    }


def apart(real: Positions, made: Positions, schema: Schema, names: Sequence[str]) -> tuple[float, float | None]:
    """Mean share of rows in the wrong place, of single columns and of pairs (None of one column), as Review shows it.

    ``real``, ``made``: positions by column; columns are gathered into groups by the first.
    """
    groups = {n: coarse(schema.columns[n], real[n]) for n in names}
    codes = [{n: g.take(rows[n]) for n, g in groups.items()} for rows in (real, made)]
    sizes = {n: len(g.labels) for n, g in groups.items()}
    one = fmean(_distance([c[n] for c in codes], sizes[n]) for n in names)
    pairs = list(combinations(names, 2))
    if len(pairs) > MOST_PAIRS:
        rng = np.random.default_rng(0)
        pairs = [pairs[i] for i in rng.choice(len(pairs), MOST_PAIRS, replace=False)]
    two = [_distance([c[a] * sizes[b] + c[b] for c in codes], sizes[a] * sizes[b]) for a, b in pairs]
    return one, fmean(two) if two else None


def _distance(codes: Sequence[np.ndarray], cells: int) -> float:
    first, second = (np.bincount(c, minlength=cells) / max(len(c), 1) for c in codes)
    return float(0.5 * np.abs(first - second).sum())
