"""Columns drawn again, each from a logit of others, in place of a mixture's component: a model's heads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from synth.generators.bulk import side_by_side
from synth.generators.logits import draw_many

BASE = 0.75  # power of the component's own probabilities that the logit of a target starts from
PRIOR = 0.04  # strength of the pull to that start, against the rows' own entropy
ITERATIONS = 60
FLATTEST = 1e-4  # least variance of a table's pulls that is believed
GOLDEN = 0.6180339887498949
BLOCK = 1 << 16  # rows at a time
MANY = 200_000  # rows that need not be sorted for even proportions
LEAST = 1e-6  # a component's smallest probability of a class


@dataclass(frozen=True, kw_only=True, eq=False)
class Head:
    """P(class | row) ~ p(class | component)**base exp(start_class + sum of the pulls of the row's groups).

    ``start`` (C,); ``pulls``: (G, C) of each group of the axes, by number, that tell of the class.
    """

    column: str
    start: np.ndarray
    pulls: Mapping[int, np.ndarray]
    base: float = BASE

    def probabilities(self, codes: np.ndarray, own: np.ndarray) -> np.ndarray:
        """(n, C) of rows with group ``codes`` (n, J), whose components give the classes ``own`` (n, C)."""
        logits = self.base * np.log(np.maximum(own, LEAST)) + self.start
        logits -= logits[:, :1]  # all relative to the first class
        for c in range(1, own.shape[1]):
            for j, pull in self.pulls.items():
                logits[:, c] += (pull[:, c] - pull[:, 0])[codes[:, j]]
        grown = np.exp(logits - logits.max(1, keepdims=True))
        return grown / grown.sum(1, keepdims=True)


def draw_in_turn(
    heads: Sequence[Head],
    probs: Mapping[str, tuple[int, np.ndarray]],
    component: np.ndarray,
    codes: np.ndarray,
    *,
    rng: np.random.Generator,
    allowed: Mapping[str, np.ndarray] | None = None,
) -> np.ndarray:
    """Draws each head's column in ``codes`` (n, J) anew, given those drawn before; the chances (n,) of the condition.

    ``probs``: each column's axis and probabilities (B, C) by component. ``allowed``: under a condition on a head's
    column the part (C,) of each class that meets it; classes are drawn within it, and the chance is that of meeting it.
    """
    limits = allowed or {}

    def block(given: tuple[slice, np.random.Generator]) -> np.ndarray:
        part, own = given
        chance = np.ones(len(component[part]))
        for head in heads:
            at, table = probs[head.column]
            law = head.probabilities(codes[part], table[component[part]])
            if head.column in limits:
                law *= limits[head.column]
                met = law.sum(1)
                chance *= met
                law /= np.maximum(met, 1e-300)[:, None]
            codes[part, at] = draw(law, own, evenly=len(codes) < MANY)
        return chance

    if len(codes) < MANY:
        return block((slice(None), rng))
    if not limits:
        draw_many(heads, probs, component, codes, rng=rng, least=LEAST)
        return np.ones(len(codes))
    parts = [slice(at, at + BLOCK) for at in range(0, len(codes), BLOCK)]
    return np.concatenate(side_by_side(block, zip(parts, rng.spawn(len(parts)), strict=True)))


def draw(probs: np.ndarray, rng: np.random.Generator, *, evenly: bool = True) -> np.ndarray:
    """A class for each row, (n,); ``evenly``: rows alike in probability get their classes in even proportion."""
    if not evenly:
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
    """A noisy table of the head's column with another, in groups of both.

    ``axis``: which other; ``bins`` (G,), ``mine`` (C,): the table's bin of each of its groups, and of each class;
    ``values`` (bins, bins of classes): probabilities; ``sigma``: the deviation of one.
    """

    axis: int
    bins: np.ndarray
    mine: np.ndarray
    values: np.ndarray
    sigma: float


def fit(
    column: str,
    tables: Sequence[Seen],
    codes: np.ndarray,
    own: np.ndarray,
    sizes: Sequence[int],
    *,
    total: float,
    base: float = BASE,
    learnt: int = 0,
) -> Head:
    """The head whose tables on these rows are the noisy ones, as far as noise leaves them to be told.

    ``codes`` (n, J), ``own`` (n, C): rows drawn from the mixture, of ``sizes`` groups an axis; ``total``: rows of the
    table. Of all laws of the class given the row that have these tables, the one nearest to the start in relative
    entropy is such a logit; noise of known variance makes its dual a ridge. Convex: one solution.
    ``learnt``: rounds in which each table's pulls are drawn to zero by the variance they were found to have, so that
    tables of a column that tells nothing of the class add no noise.
    **Source**: Berger, Della Pietra and Della Pietra 1996 (maximum entropy); Dudik, Phillips and Schapire 2007 (noise);
    MacKay 1992 (learnt variances).
    """
    rows, classes = own.shape
    starts = np.cumsum([0, *(len(t.values) for t in tables)])
    places = np.stack([t.bins[codes[:, t.axis]] for t in tables], axis=1) + starts[:-1]
    design = csr_array(
        (np.ones(places.size), places.ravel(), np.arange(0, places.size + 1, len(tables))), shape=(rows, starts[-1])
    )
    mass = np.bincount(places.ravel(), minlength=starts[-1]) / rows
    cell = _cells(tables)  # (bins of all tables, C): which of the pulls
    goal = np.concatenate([_goal(t, mass[at : at + len(t.values)]) for t, at in zip(tables, starts[:-1], strict=True)])
    ridge = PRIOR * total * np.concatenate([np.full(t.values.size, t.sigma**2) for t in tables])
    prior, begun = own.mean(0), base * np.log(np.maximum(own, LEAST))

    def dual(flat: np.ndarray, ridge: np.ndarray) -> tuple[float, np.ndarray]:
        start, pull = flat[:classes], flat[classes:]
        logits = design @ pull[cell] + start + begun
        most = logits.max(1, keepdims=True)
        grown = np.exp(logits - most)
        whole = grown.sum(1, keepdims=True)
        probs = grown / (whole * rows)
        loss = float((np.log(whole) + most).mean() - pull @ goal - start @ prior + ridge @ pull**2 / 2)
        slope = np.bincount(cell.ravel(), weights=(design.T @ probs).ravel(), minlength=len(goal)) - goal + ridge * pull
        return loss, np.concatenate([probs.sum(0) - prior, slope])

    found = np.zeros(classes + len(goal))
    for turn in range(learnt + 1):
        drawn = ridge + (_ridge_of_size(tables, found[classes:]) / total if turn else 0.0)
        found = minimize(dual, found, args=(drawn,), jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS}).x
    pull = found[classes:][cell]
    pulls = {t.axis: np.zeros((sizes[t.axis], classes), dtype=np.float32) for t in tables}
    for table, at in zip(tables, starts[:-1], strict=True):
        pulls[table.axis] += pull[at + table.bins]
    return Head(column=column, start=found[:classes], pulls=pulls, base=base)


def _cells(tables: Sequence[Seen]) -> np.ndarray:
    """Numbers of the tables' cells, one table after the other, by bin and class."""
    ends = np.cumsum([0, *(t.values.size for t in tables)])
    cells = [at + np.arange(t.values.size).reshape(t.values.shape) for t, at in zip(tables, ends[:-1], strict=True)]
    return np.concatenate([own[:, t.mine] for t, own in zip(tables, cells, strict=True)])


def _ridge_of_size(tables: Sequence[Seen], pulls: np.ndarray) -> np.ndarray:
    """One over the variance of each table's pulls between classes, for each of its cells."""
    ends = np.cumsum([t.values.size for t in tables])[:-1]
    out = []
    for table, flat in zip(tables, np.split(pulls, ends), strict=True):
        classes = table.values.shape[1]
        pull = flat.reshape(-1, classes)
        spread = (pull - pull.mean(1, keepdims=True)).var() * classes / max(classes - 1, 1)
        out.append(np.full(pull.size, 1 / max(spread, FLATTEST)))
    return np.concatenate(out)


def _goal(table: Seen, mass: np.ndarray) -> np.ndarray:
    """The table's cells with the rows' own masses (bins,) of its bins, flat."""
    values = np.maximum(table.values, 0.0)
    return (mass[:, None] * values / np.maximum(values.sum(1, keepdims=True), 1e-300)).ravel()
