"""Reconstruction: a hidden column of somebody whose quasi-identifiers are known, as red teams are asked to.

The guess is the commonest value among the synthetic rows that agree in all quasi-identifiers; where none does, the
commonest of all, which is the rival: guess by mode. **Source**: the task of NIST's Collaborative Research Cycle.
"""

import numpy as np

from synth.evaluate.read_sample import Sample

GROUPS = 12  # equal parts into which a hidden number is cut


def reconstructed(asked: Sample, synthetic: Sample, known: list[str]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By hidden column whether (asked.used,) the guess is right, and whether the commonest value is."""
    both = np.column_stack([np.concatenate([synthetic.positions[n], asked.positions[n]]) for n in known])
    _, key = np.unique(both, axis=0, return_inverse=True)
    key = key.reshape(-1)
    here, there = key[: synthetic.used], key[synthetic.used :]
    out = {}
    for name in asked.columns:
        if name in known:
            continue
        value, truth = _grouped(synthetic, name), _grouped(asked, name, base=synthetic)
        commonest = int(np.bincount(value).argmax())
        modes = np.full(int(key.max()) + 1, commonest)
        groups, best = _modes(here, value)
        modes[groups] = best
        out[name] = modes[there] == truth, truth == commonest
    return out


def _modes(key: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The keys that occur, and the commonest value of each."""
    pairs, count = np.unique(np.column_stack([key, value]), axis=0, return_counts=True)
    order = np.lexsort((-count, pairs[:, 0]))
    groups, first = np.unique(pairs[order, 0], return_index=True)
    return groups, pairs[order[first], 1]


def _grouped(sample: Sample, name: str, *, base: Sample | None = None) -> np.ndarray:
    """Codes: of a category itself, of a number the part of the synthetic table's range in which it lies."""
    column, base = sample.columns[name], base or sample
    position = np.asarray(sample.positions[name])
    if not column.is_numeric:
        return position
    known = np.asarray(base.positions[name])
    known = known[known < column.size]
    if not len(known):
        return np.minimum(position, column.size)
    cuts = np.unique(np.quantile(known, np.arange(1, GROUPS) / GROUPS))
    return np.where(
        position < column.size, np.searchsorted(cuts, position, side="right"), GROUPS + position - column.size
    )
