"""One column drawn from a logit of all the others, in place of a mixture's component: a model's head."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from synth.generators.bulk import side_by_side

BASE = 0.75  # power of the component's own probabilities that the logit starts from
PRIOR = 0.04  # strength of the pull to that start, against the rows' own entropy
ITERATIONS = 60
GOLDEN = 0.6180339887498949
BLOCK = 1 << 16  # rows at a time
MANY = 200_000  # rows that need not be sorted for even proportions
LEAST = 1e-6  # a component's smallest probability of a class


@dataclass(frozen=True, kw_only=True, eq=False)
class Head:
    """P(class | row) ~ p(class | component)**BASE exp(start_class + sum of the pulls of the row's groups).

    ``start`` (C,); ``pulls``: for each axis (G, C), of each of its groups; the head's own axis has none (zeros).
    """

    column: str
    start: np.ndarray
    pulls: tuple[np.ndarray, ...]

    def probabilities(self, codes: np.ndarray, own: np.ndarray) -> np.ndarray:
        """(n, C) of rows with group ``codes`` (n, J), whose components give the classes ``own`` (n, C)."""
        blocks = [(codes[at : at + BLOCK], own[at : at + BLOCK]) for at in range(0, max(len(codes), 1), BLOCK)]
        return np.concatenate(side_by_side(lambda part: self._block(*part), blocks))

    def _block(self, codes: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Of rows few enough for a processor's cache; all relative to the first class."""
        logits = BASE * np.log(np.maximum(own, LEAST)) + self.start
        logits -= logits[:, :1]
        for c in range(1, own.shape[1]):
            for j, pull in enumerate(self.pulls):
                if pull.any():
                    logits[:, c] += (pull[:, c] - pull[:, 0])[codes[:, j]]
        grown = np.exp(logits - logits.max(1, keepdims=True))
        return grown / grown.sum(1, keepdims=True)


def draw(probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A class for each row, (n,): rows alike in probability get their classes in even proportion."""
    if len(probs) >= MANY:
        even = rng.random(len(probs))
    else:
        even = np.empty(len(probs))
        even[np.argsort(probs[:, 0], kind="stable")] = (np.arange(len(probs)) * GOLDEN + rng.random()) % 1.0
    run, drawn = np.zeros(len(probs)), np.zeros(len(probs), dtype=np.int64)
    for c in range(probs.shape[1] - 1):
        run += probs[:, c]
        drawn += even > run
    return drawn


@dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """A noisy table of the head's classes with one column, in that column's groups.

    ``axis``: which column; ``bins`` (G,): the table's bin of each group; ``values`` (bins, C): probabilities;
    ``sigma``: the deviation of one.
    """

    axis: int
    bins: np.ndarray
    values: np.ndarray
    sigma: float


def fit(
    column: str, tables: Sequence[Seen], codes: np.ndarray, own: np.ndarray, sizes: Sequence[int], *, total: float
) -> Head:
    """The head whose tables on these rows are the noisy ones, as far as noise leaves them to be told.

    ``codes`` (n, J), ``own`` (n, C): rows drawn from the mixture, of ``sizes`` groups an axis; ``total``: rows of the
    table. Of all laws of the class given the row that have these tables, the one nearest to the start in relative
    entropy is such a logit; noise of known variance makes its dual a ridge. Convex: one solution.
    **Source**: Berger, Della Pietra and Della Pietra 1996 (maximum entropy); Dudik, Phillips and Schapire 2007 (noise).
    """
    rows, classes = own.shape
    starts = np.cumsum([0, *(len(t.values) for t in tables)])
    places = np.stack([t.bins[codes[:, t.axis]] for t in tables], axis=1) + starts[:-1]
    design = csr_array(
        (np.ones(places.size), places.ravel(), np.arange(0, places.size + 1, len(tables))), shape=(rows, starts[-1])
    )
    mass = np.bincount(places.ravel(), minlength=starts[-1]) / rows
    values = np.concatenate([np.maximum(t.values, 0.0) for t in tables])
    goal = mass[:, None] * values / np.maximum(values.sum(1, keepdims=True), 1e-300)
    ridge = PRIOR * total * np.repeat([t.sigma**2 for t in tables], np.diff(starts))[:, None]
    prior, base = own.mean(0), BASE * np.log(np.maximum(own, LEAST))

    def dual(flat: np.ndarray) -> tuple[float, np.ndarray]:
        start, pull = flat[:classes], flat[classes:].reshape(-1, classes)
        logits = design @ pull + start + base
        most = logits.max(1, keepdims=True)
        grown = np.exp(logits - most)
        whole = grown.sum(1, keepdims=True)
        probs = grown / (whole * rows)
        loss = float((np.log(whole) + most).mean() - (pull * goal).sum() - start @ prior + (ridge * pull**2).sum() / 2)
        slope = design.T @ probs - goal + ridge * pull
        return loss, np.concatenate([probs.sum(0) - prior, slope.ravel()])

    found = minimize(dual, np.zeros((starts[-1] + 1) * classes), jac=True, method="L-BFGS-B",
                     options={"maxiter": ITERATIONS}).x  # fmt: skip
    pull = found[classes:].reshape(-1, classes)
    pulls = [np.zeros((size, classes)) for size in sizes]
    for table, at in zip(tables, starts[:-1], strict=True):
        pulls[table.axis] += pull[at + table.bins]
    return Head(column=column, start=found[:classes], pulls=tuple(p.astype(np.float32) for p in pulls))
