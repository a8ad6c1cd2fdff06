"""Columns of a mixture that are drawn again by a logit: the target, and those whose tables the mixture misses; what
noisy tables show never to occur."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np

from synth.generators.core.columns import Answer, nearest
from synth.generators.core.conditionals import BASE, LEAST_PROBABILITY, ConditionalLogit, draw_in_turn
from synth.generators.core.product import Product
from synth.generators.core.tables import NoisyTable, averaged
from synth.lazy import optimize, sparse
from synth.questions import Marginal

RATIOS = np.append(0.0, np.exp(np.arange(-3.0, 4.01, 0.25)))  # of a cell to what independence expects of it
EM_ROUNDS = 30  # of expectation-maximisation
EMPTY = 0.8  # probability at which a cell is taken to be empty
COARSE = np.append(0.0, np.exp(np.arange(-3.0, 4.01, 0.375)))  # the same for lines, of which there are many
TURNS = 10  # of expectation-maximisation there
LINE_FIRM = 2.0  # cells that the table's own prior counts as in a line's
AS_GOOD, ALL_BUT = 0.15, 0.06  # ratios up to which a cell is as good as empty: of which the model makes little, and any
LITTLE = 0.15  # of what independence expects
CERTAIN = 0.8  # probability at which rows are kept out
SEEN = 0.5  # standard deviations that independence must expect
SURE = 3.0  # standard deviations that the misfit of a function may reach
TOGETHER = 2.0  # standard deviations above nothing of a line's barred cells that show rows in them
CLEAR = 3.0  # deviations above which a row of a table tells which cell is its own
TOLD_MOST = 0.5  # part of the rows, at least, that must be told in this way
ALIKE = 0.9  # probability of its cell at which a line is told by its neighbours
CHAIN = 12  # rounds in which it is learnt how often neighbours differ
FAR = 600.0  # logarithms of odds beyond which more makes no difference


def never_occurring(values: np.ndarray, sigma: float, *, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Cells (R, C) of a noisy table that are taken to be empty; ``rows``, ``cols``: the margins, in rows.

    >>> table = np.array([[50, 1, -2], [-1, 30, 1], [2, -1, 20]])
    >>> never_occurring(table, 2.0, rows=np.array([50, 30, 20]), cols=np.array([50, 30, 20])).astype(int).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    out = empty_cells(values, sigma, rows=rows, cols=cols)
    out |= off_function(values, sigma, rows)
    out |= off_function(values.T, sigma, cols).T
    return out


def barred_cells(values: np.ndarray, sigma: float, made: np.ndarray) -> np.ndarray:
    """Cells (R, C) that no row should have: as good as empty, alone or as part of a line or of all but a line.

    ``made``: the model's table, in rows. A line's cells, and those of all other lines together, tell one prior of
    ratios to independence for the line: where most of a line is empty, a cell is believed to be that its own count
    does not tell of; where one line holds all of another's rows, what is outside of it is empty together. A cell of
    which the model makes more than little is barred on stronger evidence.
    """
    rows, cols = made.sum(1), made.sum(0)
    expected = np.outer(rows, cols) / max(made.sum(), 1e-9)
    little = made < LITTLE * expected
    out, prior = np.zeros(values.shape, dtype=bool), np.full((1, len(COARSE)), 1 / len(COARSE))
    _, prior = _ratios(values.reshape(1, -1), expected.reshape(1, -1), np.array([[sigma]]), prior)
    for seen, own, mild, hit in ((values, expected, little, out), (values.T, expected.T, little.T, out.T)):
        rest, beside = seen.sum(1, keepdims=True) - seen, own.sum(1, keepdims=True) - own
        others = np.sqrt(max(seen.shape[1] - 1, 1))
        belief = _ratios(seen.T, own.T, np.array([[sigma]]), prior)[0]
        there = SEEN * sigma < own.T
        hit |= _unmet(belief, there).T & mild | _unmet(belief, there, ALL_BUT).T
        if seen.shape[1] > 2:
            belief = _ratios(rest.T, beside.T, np.array([[sigma * others]]), prior)[0]
            there = SEEN * sigma * others < beside.T
            lone, sure = _unmet(belief, there), _unmet(belief, there, ALL_BUT)
            for line, (some, more) in enumerate(zip(lone, sure, strict=True)):
                outside = np.arange(seen.shape[1]) != line
                hit |= (some[:, None] & mild | more[:, None]) & outside[None, :]
    return out


def uncontradicted(barred: np.ndarray, values: np.ndarray, sigma: float) -> np.ndarray:
    """Those of the ``barred`` cells (R, C) that hold no rows together either, as far as noise leaves that to be told.

    A line is barred nowhere if the answers of its barred cells add up to more than ``TOGETHER`` deviations, though
    each of them hides in noise, or if nowhere is left for its own rows.

    >>> barred = np.array([[True, True, True, True, False], [True, True, False, False, False], [False] * 5])
    >>> seen = np.array([[1, 2, 3, 2, 30], [-1, 0, 3, 2, 9], [8, 9, 7, 8, 9]])
    >>> uncontradicted(barred, seen, 1.0).astype(int).tolist()
    [[0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    """
    out = barred.copy()
    for cells, seen, left in ((barred, values, out), (barred.T, values.T, out.T)):
        many = cells.sum(1)
        there = np.where(cells, seen, 0.0).sum(1) > TOGETHER * sigma * np.sqrt(many)
        left[there | (many == cells.shape[1])] = False
    return out


def _unmet(belief: np.ndarray, there: np.ndarray, ratio: float = AS_GOOD) -> np.ndarray:
    """Where the ratio to independence is at most so much with the probability ``CERTAIN``."""
    return (belief[..., ratio >= COARSE].sum(-1) > CERTAIN) & there


def _ratios(
    values: np.ndarray, expected: np.ndarray, sigma: np.ndarray, base: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Beliefs (L, n, K) in the ratios ``COARSE`` of cells (L, n), by a prior of each line learnt beside ``base``."""
    energy = 0.5 * ((values[..., None] - expected[..., None] * COARSE) / sigma[..., None]) ** 2
    like = np.exp(energy.min(-1, keepdims=True) - energy)
    told = expected / (expected + sigma)
    prior = np.repeat(base, len(values), axis=0)
    for _ in range(TURNS):
        belief = like * prior[:, None]
        belief /= np.maximum(belief.sum(-1, keepdims=True), 1e-300)
        prior = (np.einsum("ln,lnk->lk", told, belief) + LINE_FIRM * base) / (told.sum(1, keepdims=True) + LINE_FIRM)
    belief = like * prior[:, None]
    return belief / np.maximum(belief.sum(-1, keepdims=True), 1e-300), prior


def off_function(values: np.ndarray, sigma: float, rows: np.ndarray) -> np.ndarray:
    """All cells but one of every line, if noise explains that each line's mass lies in that cell; else none.

    Lines of which neither they nor their neighbours tell which cell is theirs are left.
    """
    released = rows > CLEAR * sigma
    nothing = np.zeros(values.shape, dtype=bool)
    if not released.any() or rows[released].sum() < TOLD_MOST * rows.sum():
        return nothing
    own, sure = _own(values, sigma, rows, released)
    others = np.arange(values.shape[1])[None, :] != own[:, None]
    misfit = (np.where(others, values, values - rows[:, None]) / sigma) ** 2
    if any(misfit[s].sum() > misfit[s].size + SURE * np.sqrt(2 * misfit[s].size) for s in (released, sure)):
        return nothing
    return others & sure[:, None]


def _own(values: np.ndarray, sigma: float, rows: np.ndarray, released: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cell that holds each line's mass, and whether that is told: by the line, or by it and its neighbours.

    Lines are taken for a chain that keeps its cell from one to the next but for a part of the time, which is learnt:
    where codes are in an order (industries by their sector), few of them change it; where they are in none, as good
    as all do, and a line that noise hides is told by no neighbour.
    **Source**: Baum, Petrie, Soules and Weiss 1970.
    """
    own, size = values.argmax(1), values.shape[1]
    if released.all() or size < 2 or len(values) < 2:
        return own, released
    like = (values * rows[:, None] - rows[:, None] ** 2 / 2) / sigma**2
    like = np.exp(np.maximum(like - like.max(1, keepdims=True), -FAR))
    changes = 0.5
    for _ in range(CHAIN):
        belief, changes = _smoothed(like, changes)
    by_chain = belief.max(1) > ALIKE
    return np.where(by_chain, belief.argmax(1), own), released | by_chain


def _smoothed(like: np.ndarray, changes: float) -> tuple[np.ndarray, float]:
    """Beliefs (R, C) of a chain that changes its cell with the probability ``changes``; how often it is found to."""
    count, size = like.shape
    stays, moves = 1 - changes, changes / (size - 1)
    ahead, behind = np.empty_like(like), np.ones_like(like)
    ahead[0] = like[0] / like[0].sum()
    for i in range(1, count):  # a line of a table each: some hundreds
        ahead[i] = like[i] * (moves + (stays - moves) * ahead[i - 1])
        ahead[i] /= ahead[i].sum()
    retained = 0.0
    for i in range(count - 2, -1, -1):
        back = like[i + 1] * behind[i + 1]
        behind[i] = moves * back.sum() + (stays - moves) * back
        whole = float(ahead[i] @ behind[i])
        retained += stays * float(ahead[i] @ back) / whole
        behind[i] /= whole
    belief = ahead * behind
    estimates = 1 - retained / (count - 1)
    return belief / belief.sum(1, keepdims=True), float(np.clip(estimates, 1 / count, 1 - 1 / size))


def empty_cells(values: np.ndarray, sigma: float, *, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Cells that are empty with the probability ``EMPTY``, by a prior of ratios to independence learnt from the table.

    **Source**: Kiefer and Wolfowitz 1956; Jiang and Zhang, arXiv 0908.1709, section 2.
    """
    expected = np.outer(rows, cols).ravel() / max(rows.sum(), 1e-9)
    energy = 0.5 * ((values.ravel()[:, None] - expected[:, None] * RATIOS) / sigma) ** 2
    like = np.exp(energy.min(1, keepdims=True) - energy)
    released = expected / (expected + sigma)  # a cell that noise hides tells nothing of the prior
    prior = np.full(len(RATIOS), 1 / len(RATIOS))
    for _ in range(EM_ROUNDS):
        belief = like * prior
        belief /= belief.sum(1, keepdims=True)
        prior = released @ belief / released.sum()
    belief = like * prior
    sure = belief[:, 0] > EMPTY * belief.sum(1)
    return (sure & (expected > sigma)).reshape(values.shape)


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
        lines = np.zeros(len(codes), dtype=np.int64)
        for axis, bins in zip(self.axes, self.bins, strict=True):
            lines = lines * (int(bins.max()) + 1) + bins[codes[:, axis]]
        return lines

    @property
    def retained(self) -> np.ndarray:
        """The values, zero in cells that stay empty."""
        return self.values if self.never is None else np.where(self.never, 0.0, self.values)


def fit_logit(
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


CLASSES = 20  # most classes of a target that a logit is fitted for
LEARNT = 12_000  # rows that a logit is fitted on
MOST_NUMBERS = 1 << 20  # numbers that a logit has for several columns together
LEARNING_ROUNDS = 2  # in which a target's logit learns how much each column tells

Groups = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a column besides the target is drawn again, and how many are.

    ``sure``: standard deviations by which a table's mean square error must pass its noise's. ``broken``: part of the
    rows in cells that stay empty. ``children``: columns at most, of at most ``groups`` groups each. Of more than
    ``many`` tables only the ``farthest`` are looked at, and the target's.
    """

    sure: float = 5.0
    broken: float = 0.005
    children: int = 16
    groups: int = 48
    many: int = 10_000
    farthest: int = 1000


USUAL = Limits()


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared:
    """A noisy table of two columns beside the mixture's own, ``made``, in rows."""

    marginal: Marginal
    values: np.ndarray
    made: np.ndarray

    @cached_property
    def never(self) -> np.ndarray:
        """Cells that stay empty."""
        never = never_occurring(self.values, self.marginal.sigma, rows=self.made.sum(1), cols=self.made.sum(0))
        return uncontradicted(never, self.values, self.marginal.sigma)

    @cached_property
    def barred(self) -> np.ndarray:
        """Cells that no row may be in."""
        barred = self.never | barred_cells(self.values, self.marginal.sigma, self.made)
        return uncontradicted(barred, self.values, self.marginal.sigma)

    def broken(self, total: float) -> float:
        """The part of the rows that the mixture has in what stays empty."""
        return float(self.made[self.never].sum()) / total

    def missed(self, total: float, sure: float = USUAL.sure) -> float:
        """Its squared error in units of the noise, beyond what noise makes; 0 where chance explains it: that of the
        noise, and that of the rows a logit is fitted on, which could do no better."""
        noise = self.marginal.sigma**2 + self.made * total / LEARNT
        error, size = float(((self.made - self.values) ** 2 / noise).sum()), self.values.size
        return error - size if error > size + sure * np.sqrt(2 * size) else 0.0


def with_conditionals(
    model: Product,
    groups: Groups,
    tables: Sequence[NoisyTable],
    target: str | None,
    *,
    rng: np.random.Generator,
    limits: Limits = USUAL,
    first: Collection[str] = (),
    named: Collection[frozenset[str]] = (),
) -> Product:
    """The model, its target drawn from a logit of all other columns that has the target's tables, and before it the
    columns of tables that the mixture misses, each from a logit with these tables.

    A mixture has few components; two columns that nearly determine each other, or a few rare cells, ask for more of
    them than noise lets it learn. A logit needs none. And where components are few rows each, a mixture's own
    conditional of the target follows noise; the logit adds up what each column tells of the target. ``first``: columns
    that are not drawn again, so that their own counts stay as they were estimated. ``named``: tables of more columns
    that a use asks for, which the logit of each of their columns has too.
    """
    answers = [(t.marginal, t.values) for t in averaged(t for t in tables if len(t.marginal.bins) == 2).values()]
    if len(answers) > limits.many:
        answers = farthest(model, groups, answers, target, most=limits.farthest)
    pairs = [Compared(marginal=m, values=v, made=_made(model, groups, m) * model.total) for m, v in answers]
    several = [t for t in tables if len(t.marginal.bins) > 2]
    larger = [(t.marginal, t.values) for t in several if target in t.marginal.columns]
    few = target is not None and target in groups and 2 <= groups[target].max() + 1 <= CLASSES
    mine = [b for m, _ in answers for b in m.bins if few and b.column == target]  # tables that tell of each class
    goal = target if few and sum(np.array_equal(b.groups, groups[str(target)]) for b in mine) >= 2 else None
    turns = _turns(misses(pairs, model.total, limits), groups, goal, limits, first)
    if goal is not None:
        turns[goal] = []
    model = replace(model, barred=_barred(groups, pairs))
    if not turns:
        return model
    asked = averaged(t for t in several if frozenset(t.marginal.columns) in named).values()
    component, codes, _ = model.codes(LEARNT, rng=rng, evened=False)
    sizes, waiting = [a.probs.shape[1] for a in model.axes], set(turns)
    for column, partners in turns.items():
        waiting.discard(column)
        final = column == goal
        seen = [
            _class_table(column, groups, p.marginal, p.values, model.total, p.barred)
            for p in pairs
            if column in p.marginal.columns and (final or {*partners} & {*p.marginal.columns})
        ]
        joint = [
            _class_table(column, groups, t.marginal, t.values, model.total)
            for t in asked
            if column in t.marginal.columns and not waiting & {*t.marginal.columns}
            if prod(int(groups[n].max()) + 1 for n in t.marginal.columns) <= MOST_NUMBERS
        ]
        own = model.probs[column][1][component].astype(float)
        # a start that has met tables of several columns is kept, one of pairs alone may be tempered
        bases = (1.0,) if joint or not final else (BASE, 1.0) if larger else (BASE,)
        how: dict[str, Any] = {"total": model.total, "learnt": LEARNING_ROUNDS if final else 0}
        how["strength"] = FIRM if joint else PRIOR
        tried = [fit_logit(column, [*seen, *joint], codes, own, sizes, base=b, **how) for b in bases]
        conditional = min(tried, key=lambda h: _error(h, larger, groups, codes, own, model.total) if final else 0.0)
        draw_in_turn([conditional], model.probs, component, codes, rng=rng)
        model = replace(model, conditionals=(*model.conditionals, conditional))
    return model


def misses(pairs: Sequence[Compared], total: float, limits: Limits) -> list[tuple[str, ...]]:
    """The columns of tables in which the mixture has much of what stays empty, then of those whose error no chance
    explains; each time the worst first."""
    broken = {p: part for p in pairs if (part := p.broken(total)) > limits.broken}
    missed = {p: error for p in pairs if (error := p.missed(total, limits.sure))}
    return [p.marginal.columns for some in (broken, missed) for p in sorted(some, key=lambda p: -some[p])]


def _error(
    conditional: ConditionalLogit,
    answers: Sequence[Answer],
    groups: Groups,
    codes: np.ndarray,
    own: np.ndarray,
    total: float,
) -> float:
    """Squared error of a logit's tables of more than two columns, on the rows it was fitted on, each over its noise.

    A start that is tempered forgets some of what components know of several columns together: where tables tell that
    this is more than noise, the start is kept as it is.
    """
    law, out = conditional.probabilities(codes, own), 0.0
    for marginal, values in answers:
        table = _class_table(conditional.column, groups, marginal, values, 1.0)
        flat, classes = table.lines(codes), np.zeros((len(codes), table.values.shape[1]))
        np.add.at(classes.T, table.mine, law.T)
        made = np.stack([np.bincount(flat, weights=c, minlength=len(table.values)) for c in classes.T], axis=1)
        out += float(((made * (total / len(codes)) - table.values) ** 2).sum()) / marginal.sigma**2
    return out


def farthest(
    model: Product, groups: Groups, answers: Sequence[Answer], target: str | None, *, most: int
) -> list[Answer]:
    """The ``most`` tables that the mixture is farthest from, in units of their noise, and all that hold the target."""
    sides: dict[int, np.ndarray] = {}
    for bins in (b for m, _ in answers for b in m.bins):
        if id(bins) not in sides:
            sides[id(bins)] = _binned(model, groups, bins.column, bins.groups)
    weighted = {key: side * (model.weights * model.total)[:, None] for key, side in sides.items()}
    excess = np.empty(len(answers))
    for i, (marginal, values) in enumerate(answers):
        off = (weighted[id(marginal.bins[0])].T @ sides[id(marginal.bins[1])] - values).ravel()
        own = np.inf if target in marginal.columns else float(off @ off) / marginal.sigma**2
        excess[i] = (own - values.size) / np.sqrt(2 * values.size)
    retained = most + int(np.isinf(excess).sum())
    return [answers[i] for i in np.sort(np.argsort(-excess, kind="stable")[:retained])]


def _made(model: Product, groups: Groups, marginal: Marginal) -> np.ndarray:
    """The mixture's probabilities of a table of two columns."""
    left, right = (_binned(model, groups, b.column, b.groups) for b in marginal.bins)
    return (left * model.weights[:, None]).T @ right


def _binned(model: Product, groups: Groups, column: str, bins: np.ndarray) -> np.ndarray:
    """A column's probabilities (B, bins) by component."""
    probs = model.probs[column][1]
    of = _bins_of(groups[column], bins)
    member = np.zeros((len(of), of.max() + 1))
    member[np.arange(len(of)), of] = 1
    return probs.astype(float) @ member


def _barred(groups: Groups, pairs: Sequence[Compared]) -> dict[tuple[int, int], np.ndarray]:
    """By two axes the pairs of their groups that no row may have."""
    names, out = list(groups), dict[tuple[int, int], np.ndarray]()
    for one in (p for p in pairs if p.barred.any()):
        i, j = (names.index(b.column) for b in one.marginal.bins)
        first, second = (_bins_of(groups[b.column], b.groups) for b in one.marginal.bins)
        pair = one.barred[first][:, second]
        key, pair = ((i, j), pair) if i < j else ((j, i), pair.T)
        out[key] = out[key] | pair if key in out else pair
    return out


def _turns(
    missed: Sequence[tuple[str, ...]], groups: Groups, goal: str | None, limits: Limits, first: Collection[str]
) -> dict[str, list[str]]:
    """Columns to draw again, in turn, and the partners of each one's missed tables; ``goal`` has its own turn.

    Of a table's two columns the one with fewer groups is drawn given the other, which has had its turn by then; those
    of ``first`` have had theirs.
    """
    size = {n: int(g.max()) + 1 for n, g in groups.items()}
    order = sorted((n for n in groups if n != goal), key=lambda n: (n not in first, -size[n])) + (
        [goal] if goal else []
    )
    turn = {n: i for i, n in enumerate(order)}
    partners: dict[str, list[str]] = {}
    for miss in missed:
        parent, child = sorted(miss, key=turn.__getitem__)
        full = child not in partners and len(partners) == limits.children
        if child == goal or child in first or size[child] > limits.groups or full:
            continue
        if parent not in partners.setdefault(child, []):
            partners[child].append(parent)
    return {n: partners[n] for n in order if n in partners}


def _class_table(
    column: str,
    groups: Groups,
    marginal: Marginal,
    values: np.ndarray,
    total: float,
    never: np.ndarray | None = None,
) -> ClassTable:
    """A table of a column with others, in groups of all."""
    place, names = marginal.columns.index(column), list(groups)
    others = [b for b in marginal.bins if b.column != column]
    return ClassTable(
        axes=tuple(names.index(b.column) for b in others),
        bins=tuple(_bins_of(groups[b.column], b.groups) for b in others),
        mine=_bins_of(groups[column], marginal.bins[place].groups),
        values=np.moveaxis(values, place, -1).reshape(-1, values.shape[place]) / total,
        sigma=marginal.sigma / total,
        never=None if never is None else np.moveaxis(never, place, -1),
    )


def _bins_of(groups: np.ndarray, bins: np.ndarray) -> np.ndarray:
    """The bin of each group (G,), from the group and the bin of each leaf."""
    out = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    out[groups] = bins
    return out
