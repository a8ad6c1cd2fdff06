"""Fit of a conditional: the logit of a column's classes that has the column's noisy tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from synth.generators.marginals.denoise import nearest
from synth.generators.product_mixture.conditional_logit import BASE, LEAST_PROBABILITY, ConditionalLogit
from synth.lazy import Lazy

optimize = Lazy("scipy.optimize")
sparse = Lazy("scipy.sparse")

PRIOR = 0.04  # strength of the pull to that start, against the rows' own entropy
FIRM = 1.0  # the same where the start has met the tables already: a row of it counts as a row
ITERATIONS = 25
RAKES = 10  # of a table to the masses of its sides
BARRED = 30.0  # logit of what stays empty
FLATTEST = 1e-4  # least variance of a table's pulls that is believed


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassTable:
    """A noisy table of the conditional's column with others, in groups of all.

    ``axes``: which others; ``bins`` (G,) of each: the table's bin of its groups, and ``mine`` (C,) of each class;
    ``values`` (bins of the others, the last one's fastest, bins of classes): probabilities; ``sigma``: the deviation of
    one. ``never``, of the same shape: cells that stay empty, of a table with one other column.
    """

    axes: tuple[int, ...]
    bins: tuple[np.ndarray, ...]
    mine: np.ndarray
    values: np.ndarray
    sigma: float
    never: np.ndarray | None = None

    @property
    def barred(self) -> np.ndarray | float:
        """Logits (G, C) that keep out what stays empty; 0 where nothing does."""
        if self.never is None or not self.never.any():
            return 0.0
        out: np.ndarray = np.where(self.never, -BARRED, 0.0)[self.bins[0]][:, self.mine]
        return out

    @property
    def places(self) -> np.ndarray:
        """Line of ``values`` for each group of the other columns, an axis for each of them."""
        out = np.zeros(1, dtype=np.int64)
        for bins in self.bins:
            out = out[..., None] * (int(bins.max()) + 1) + bins
        return out[0]

    def lines(self, codes: np.ndarray) -> np.ndarray:
        """Line of ``values`` for each row (n,) of groups ``codes`` (n, J)."""
        lines: np.ndarray = self.places[tuple(codes[:, self.axes].T)]
        return lines

    @property
    def retained(self) -> np.ndarray:
        """The values, zero in cells that stay empty."""
        return self.values if self.never is None else np.where(self.never, 0.0, self.values)


def fit(
    column: str,
    tables: Sequence[ClassTable],
    codes: np.ndarray,
    own: np.ndarray,
    sizes: Sequence[int],
    *,
    total: float,
    base: float = BASE,
    learnt: int = 0,
    strength: float = PRIOR,
) -> ConditionalLogit:
    """The conditional whose tables on these rows are the noisy ones, as far as noise leaves them to be told.

    ``codes`` (n, J), ``own`` (n, C): rows drawn from the mixture, of ``sizes`` groups an axis; ``total``: rows of the
    table. Of all laws of the class given the row that have these tables, the one nearest to the start in relative
    entropy is such a logit; noise of known variance makes its dual a ridge. Convex: one solution.
    ``learnt``: rounds in which each table's pulls are drawn to zero by the variance they were found to have, so that
    tables of a column that tells nothing of the class add no noise. ``strength``: of the pull to the start.
    **Source**: Berger, Della Pietra and Della Pietra 1996 (maximum entropy); Dudik, Phillips and Schapire 2007 (noise);
    MacKay 1992 (learnt variances).
    """
    rows, classes = own.shape
    starts = np.cumsum([0, *(len(t.values) for t in tables)])
    places = np.stack([t.lines(codes) for t in tables], axis=1) + starts[:-1]
    design = sparse.csr_array(
        (np.ones(places.size), places.ravel(), np.arange(0, places.size + 1, len(tables))), shape=(rows, starts[-1])
    )
    mass = np.bincount(places.ravel(), minlength=starts[-1]) / rows
    cell = _cells(tables)  # (bins of all tables, C): which of the pulls
    prior, begun = own.mean(0), (base * np.log(np.maximum(own, LEAST_PROBABILITY))).T.copy()
    for table in tables:
        if isinstance(barred := table.barred, np.ndarray):
            begun += barred[codes[:, table.axes[0]]].T
    goal = np.concatenate(
        [_goal(t, mass[at : at + len(t.values)], prior) for t, at in zip(tables, starts[:-1], strict=True)]
    )
    ridge = strength * total * np.concatenate([np.full(t.values.size, t.sigma**2) for t in tables])

    def dual(flat: np.ndarray, ridge: np.ndarray) -> tuple[float, np.ndarray]:
        start, pull = flat[:classes], flat[classes:]
        logits = (design @ pull[cell]).T + (start[:, None] + begun)  # (C, n): sums over few classes are quick this way
        most = logits.max(0)
        grown = np.exp(logits - most)
        whole = grown.sum(0)
        probs = grown / (whole * rows)
        loss = float((np.log(whole) + most).mean() - pull @ goal - start @ prior + ridge @ pull**2 / 2)
        slope = (
            np.bincount(cell.ravel(), weights=(design.T @ probs.T).ravel(), minlength=len(goal)) - goal + ridge * pull
        )
        return loss, np.concatenate([probs.sum(1) - prior, slope])

    estimates = np.zeros(classes + len(goal))
    for turn in range(learnt + 1):
        drawn = ridge + (_ridge_of_size(tables, estimates[classes:]) / total if turn else 0.0)
        estimates = _least(partial(dual, ridge=drawn), estimates, np.append(prior, goal + drawn))
    pull = estimates[classes:][cell]
    pulls = {t.axes: np.zeros((*(sizes[i] for i in t.axes), classes), dtype=np.float32) for t in tables}
    for table, at in zip(tables, starts[:-1], strict=True):
        pulls[table.axes] += (pull[at + table.places] + table.barred).astype(np.float32)
    single = {axes[0]: p for axes, p in pulls.items() if len(axes) == 1}
    joint = {axes: p for axes, p in pulls.items() if len(axes) > 1}
    return ConditionalLogit(column=column, start=estimates[:classes], pulls=single, base=base, joint=joint)


def _least(
    value: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray, curved: np.ndarray
) -> np.ndarray:
    """Where ``value``, which also tells its slope, is least; variables in units of their curvatures ``curved``."""
    unit = 1 / np.sqrt(np.maximum(curved, FLATTEST**2))

    def scaled(x: np.ndarray) -> tuple[float, np.ndarray]:
        loss, slope = value(x * unit)
        return loss, slope * unit

    solution = optimize.minimize(scaled, start / unit, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS})
    return solution.x * unit


def _cells(tables: Sequence[ClassTable]) -> np.ndarray:
    """Numbers of the tables' cells, one table after the other, by bin and class."""
    ends = np.cumsum([0, *(t.values.size for t in tables)])
    cells = [at + np.arange(t.values.size).reshape(t.values.shape) for t, at in zip(tables, ends[:-1], strict=True)]
    return np.concatenate([own[:, t.mine] for t, own in zip(tables, cells, strict=True)])


def _ridge_of_size(tables: Sequence[ClassTable], pulls: np.ndarray) -> np.ndarray:
    """One over the variance of each table's pulls between classes, for each of its cells."""
    ends = np.cumsum([t.values.size for t in tables])[:-1]
    out = []
    for table, flat in zip(tables, np.split(pulls, ends), strict=True):
        classes = table.values.shape[1]
        pull = flat.reshape(-1, classes)
        spread = (pull - pull.mean(1, keepdims=True)).var() * classes / max(classes - 1, 1)
        out.append(np.full(pull.size, 1 / max(spread, FLATTEST)))
    return np.concatenate(out)


def _goal(table: ClassTable, mass: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """The table's cells, flat, with the rows' own masses (bins,) of its bins and ``prior`` (C,) of the classes."""
    values = nearest(table.retained, mass)
    whole = np.bincount(table.mine, weights=prior, minlength=values.shape[1])
    for _ in range(RAKES):
        values = values * (whole / np.maximum(values.sum(0), 1e-300))
        values = values * (mass / np.maximum(values.sum(1), 1e-300))[:, None]
    return values.ravel()
