"""How far joint tables of two or three columns are apart, as verdicts take it. For the steward alone.

Rows with an empty cell among them say little of a relation and agree by themselves, so they are left out where enough
rows remain.
"""

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from synth.evaluate.association import tv
from synth.evaluate.column_numbers import apart
from synth.evaluate.verdict import Measured

THIN = 0.35  # a second sample's distance, above which the rows with every cell are too few to be scored by themselves
Cells = Mapping[str, np.ndarray]


def scored(
    names: Sequence[str], sizes: Sequence[int], codes: tuple[Cells, Cells], filled: tuple[Cells, Cells]
) -> Measured:
    """The joint table of columns ``names`` of ``sizes`` groups, among the rows that hold a value in each of them.

    ``codes``, ``filled``: of the real and of the synthetic rows the group (rows,), and whether there is a value.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    retained = [np.logical_and.reduce([f[n] for n in names]) for f in filled]
    whole = compared(*(_counts(c, names, sizes, None) for c in codes))
    if all(k.all() for k in retained):
        return whole
    few = compared(*(_counts(c, names, sizes, k) for c, k in zip(codes, retained, strict=True)))
    return whole if few.second > max(THIN, whole.second) else few


def compared(real: np.ndarray, synthetic: np.ndarray) -> Measured:
    """Two tables of counts of one shape.

    >>> compared(np.array([[50, 0], [0, 50]]), np.array([[25, 25], [25, 25]])).independent
    0.5
    """
    distance, chance = apart(real, synthetic)
    shares = real / max(int(real.sum()), 1)
    axes = range(real.ndim)
    sides = [shares.sum(axis=tuple(a for a in axes if a != k)) for k in axes]
    alone = reduce(np.multiply.outer, sides)
    return Measured(value=distance, second=chance, independent=tv(shares, alone))


def _counts(codes: Cells, names: Sequence[str], sizes: Sequence[int], retained: np.ndarray | None) -> np.ndarray:
    flat = codes[names[0]].astype(np.int64)
    for name, size in zip(names[1:], sizes[1:], strict=True):
        flat = flat * size + codes[name]
    return np.bincount(flat if retained is None else flat[retained], minlength=int(np.prod(sizes))).reshape(
        tuple(sizes)
    )
