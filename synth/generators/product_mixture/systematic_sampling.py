"""Counts and rows drawn in even proportion: what a mixture of products is sampled with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synth.generators.product_mixture.pair_swapping import MOST_GROUPS, even_out

TOGETHER = 4096  # groups of several axes that are drawn at once
TILT = 1.0  # how strongly counts are drawn towards groups that came short


@dataclass(frozen=True, kw_only=True)
class Inside:
    """Which positions of each leaf may be drawn: all of them, or the sorted ``allowed`` ones."""

    starts: np.ndarray
    counts: np.ndarray
    allowed: np.ndarray | None = None

    def pick(self, leaves: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A position in each row's leaf, (n,) int64."""
        first = self.starts[leaves] + steps(self.counts[leaves], rng)
        return first if self.allowed is None else self.allowed[first]


def steps(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A step in 0 ... count - 1 for each row, all as likely up to 2**-53 of the count; 0 where there is none."""
    if counts.max(initial=0) <= 1:
        return np.zeros(len(counts), dtype=np.int64)
    drawn = (rng.random(len(counts)) * counts).astype(np.int64)
    return np.minimum(drawn, np.maximum(counts - 1, 0))


def cumulative(weights: np.ndarray) -> np.ndarray:
    total = np.cumsum(weights, dtype=float)
    total[-1:] = 1.0  # so that rounding never loses or adds a row
    return total


def even_codes(rows: np.ndarray, probs: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Groups (sum of rows, J) of each axis, components one after the other; each axis' groups in random order in them.

    ``rows`` (B,): of each component; ``probs``: of each axis its groups' probabilities (B, G).
    """
    component = np.repeat(np.arange(len(rows)), rows)
    codes = np.empty((len(component), len(probs)), dtype=np.int64)
    for part in _parts([p.shape[1] for p in probs]):
        counts = even_counts(rows, probs[part], rng)
        for j, own in zip(range(part.start, part.stop), counts, strict=True):
            groups = np.repeat(np.tile(np.arange(own.shape[1]), len(rows)), own.ravel())
            codes[:, j] = groups[np.argsort(component + rng.random(len(component)))]
    return codes


def _parts(sizes: Sequence[int]) -> Iterator[slice]:
    """Runs of axes that have at most ``TOGETHER`` groups in all, or are one axis."""
    start, held = 0, 0
    for j, size in enumerate(sizes):
        if held and held + size > TOGETHER:
            yield slice(start, j)
            start, held = j, 0
        held += size
    yield slice(start, len(sizes))


def even_counts(rows: np.ndarray, probs: Sequence[np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
    """Of each axis integer counts (B, G) near rows * probs: row sums exact, column sums within a few of theirs.

    Components take turns in random order. Each draws what its whole parts leave by systematic sampling, with
    probabilities tilted towards groups that earlier components have left short.
    """
    sizes = np.array([p.shape[1] for p in probs])
    axis, ends = np.repeat(np.arange(len(sizes)), sizes), np.cumsum(sizes)
    expected = rows[:, None] * np.concatenate(probs, axis=1)
    counts = np.floor(expected).astype(np.int64)
    fraction = expected - counts
    missing = rows[:, None] - np.add.reduceat(counts, ends - sizes, axis=1)
    short = np.zeros(len(axis))
    for b in rng.permutation(np.flatnonzero(missing.any(1))):
        run = np.cumsum(fraction[b] * np.exp(np.clip(TILT * short, -3.0, 3.0)))
        last = run[ends - 1]
        before = np.append(0.0, last[:-1])
        most = missing[b][axis]
        step = missing[b] / np.maximum(last - before, 1e-300)
        edges = np.floor((run - before[axis]) * step[axis] + rng.random(len(sizes))[axis])
        edges = np.where(run >= last[axis], most, np.minimum(edges, most)).astype(np.int64)
        drawn = np.diff(edges, prepend=0)
        drawn[ends[:-1]] = edges[ends[:-1]]
        counts[b] += drawn
        short += fraction[b] - drawn
    return np.split(counts, ends[:-1], axis=1)


def even_pairs(codes, component, rows, probs: list[np.ndarray], rng: np.random.Generator) -> None:
    """Rearranges group codes (n, J), in place, towards the model's expected tables of pairs."""
    offsets = np.cumsum([0] + [p.shape[1] for p in probs])
    if offsets[-1] <= MOST_GROUPS:
        joined = np.concatenate(probs, axis=1)
        codes += offsets[:-1]
        even_out(codes, component, (joined * rows[:, None]).T @ joined, rng=rng)
        codes -= offsets[:-1]


def spread(rows: np.ndarray, share: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Counts of each leaf, leaves sorted by group, shares summing to one in a group: systematic sampling."""
    last = np.append(groups[1:] != groups[:-1], True)
    first = np.append(True, last[:-1])
    share = share.astype(float)
    run = np.cumsum(share)
    before = np.where(first, run - share, 0.0)[first][np.cumsum(first) - 1]
    edge = np.floor((run - before) * rows[groups] + rng.random(len(rows))[groups]).astype(np.int64)
    edge = np.where(last, rows[groups], np.minimum(edge, rows[groups]))
    return np.diff(edge, prepend=0) + np.where(first, np.append(0, edge[:-1]), 0)
