"""Counts and rows drawn in even proportion: what a mixture of products is sampled with."""

from dataclasses import dataclass

import numpy as np

from synth.generators.evening import MOST_GROUPS, even_out

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


def even_counts(rows: np.ndarray, probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Integer counts (B, G) near rows * probs: row sums exact, column sums within a few of theirs.

    Components take turns in random order. Each draws what its whole parts leave by systematic sampling, with
    probabilities tilted towards groups that earlier components have left short.
    """
    expected = rows[:, None] * probs
    counts = np.floor(expected).astype(np.int64)
    fraction = expected - counts
    missing = rows - counts.sum(1)
    short = np.zeros(probs.shape[1])
    for b in rng.permutation(np.flatnonzero(missing > 0)):
        run = np.cumsum(fraction[b] * np.exp(np.clip(TILT * short, -3.0, 3.0)))
        edges = np.floor(run * (missing[b] / run[-1]) + rng.random()).astype(np.int64)
        edges = np.minimum(edges, missing[b])
        edges[np.searchsorted(run, run[-1]) :] = missing[b]
        drawn = np.diff(edges, prepend=0)
        counts[b] += drawn
        short += fraction[b] - drawn
    return counts


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
