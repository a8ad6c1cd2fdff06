"""Linkability and inference: what the nearest synthetic row tells of somebody of whom some columns are known."""

from collections.abc import Iterator

import numpy as np

from synth.evaluate.features import coordinates
from synth.evaluate.read_sample import Sample

TOLERANCE = 0.05  # of a number's value, within which a guess of it counts as right
CHUNK = 20  # rows asked about at a time
SCALE = 1_000_000  # whole numbers of a distance of 1


def linked(asked: Sample, synthetic: Sample, halves: tuple[list[str], list[str]]) -> np.ndarray:
    """Whether (asked.used,) one synthetic row is the nearest to both halves of a row, of unlike columns.

    Of equally near ones the first counts: shuffle the synthetic rows.
    """
    ends = [np.concatenate([total(half).argmin(axis=1) for total in _distances(asked, synthetic)]) for half in halves]
    return np.asarray(ends[0] == ends[1])


def inferred(asked: Sample, synthetic: Sample) -> dict[str, np.ndarray]:
    """By column whether (asked.used,) the row that is nearest in all others has the value of the row asked about."""
    names = list(asked.columns)
    nearest: dict[str, list[np.ndarray]] = {n: [] for n in names}
    for total in _distances(asked, synthetic):
        for name in names:
            nearest[name].append(total([n for n in names if n != name]).argmin(axis=1))
    return {n: same(asked, n, np.asarray(synthetic.positions[n])[np.concatenate(at)]) for n, at in nearest.items()}


def same(asked: Sample, name: str, guess: np.ndarray) -> np.ndarray:
    """Whether guessed positions are right: equal, or a number within the tolerance of the true value."""
    column, truth = asked.columns[name], np.asarray(asked.positions[name])
    if not column.is_numeric or column.type == "datetime":
        return np.asarray(truth == guess)
    low, step = float(column.bounds[0]), float(column.step)
    known = (truth < column.size) & (guess < column.size)
    off = np.abs(truth - guess) * step <= TOLERANCE * np.abs(low + step * truth)
    return (truth == guess) | (known & off)


class _Total:
    """Distances (chunk, n) by column of some asked rows to all synthetic ones, each computed once, in whole numbers."""

    def __init__(self, ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray], numeric: set[str]) -> None:
        self._part = {n: _apart(ours[n], theirs[n], numeric=n in numeric) for n in ours}
        self._whole = _sum(list(self._part.values()))

    def __call__(self, names: list[str]) -> np.ndarray:
        """The sum over these columns."""
        if len(names) == len(self._part) - 1:
            (left,) = set(self._part) - set(names)
            return self._whole - self._part[left]
        return _sum([self._part[n] for n in names])


def _apart(ours: np.ndarray, theirs: np.ndarray, *, numeric: bool) -> np.ndarray:
    if not numeric:
        return (ours[:, None] != theirs[None, :]) * np.int32(SCALE)
    whole = [np.round(side * SCALE).astype(np.int32) for side in (ours, theirs)]
    out = whole[0][:, None] - whole[1][None, :]
    return np.minimum(np.abs(out, out=out), SCALE, out=out)


def _sum(parts: list[np.ndarray]) -> np.ndarray:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def _distances(asked: Sample, synthetic: Sample) -> Iterator[_Total]:
    """As for nearest records: 1 for unlike categories, the difference of ranks for numbers, times ``SCALE``."""
    numeric = set(asked.numeric())
    sides = [dict(zip(asked.columns, coordinates(s, synthetic), strict=True)) for s in (asked, synthetic)]
    for start in range(0, asked.used, CHUNK):
        yield _Total({n: v[start : start + CHUNK] for n, v in sides[0].items()}, sides[1], numeric)
