"""Which columns of a mixture are drawn again by a logit: the target, and those whose tables the mixture misses."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from synth.generators.marginals import fit_logit, rules
from synth.generators.product_mixture import conditional_logit as conditionals
from synth.generators.product_mixture.model import Product
from synth.questions import CountsRelease, Marginal

CLASSES = 20  # most classes of a target that a logit is fitted for
LEARNT = 12_000  # rows that a logit is fitted on
MOST = 1 << 20  # numbers that a logit has for several columns together
ROUNDS = 2  # in which a target's logit learns how much each column tells

Groups = Mapping[str, np.ndarray]
Answer = tuple[Marginal, np.ndarray]


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


@dataclass(frozen=True, kw_only=True)
class Miss:
    """A table that the mixture misses; ``excess``: its squared error in units of the noise, beyond what noise makes."""

    columns: tuple[str, ...]
    excess: float


def with_conditionals(
    model: Product,
    groups: Groups,
    tables: Sequence[CountsRelease],
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
    everything = [a for r in tables for a in zip(r.question.marginals, r.values, strict=True)]
    answers = averaged(a for a in everything if len(a[0].bins) == 2)
    if len(answers) > limits.many:
        answers = farthest(model, groups, answers, target, most=limits.farthest)
    made = [_made(model, groups, m) * model.total for m, _ in answers]
    ruled = {
        id(v): rules.never(v, m.sigma, rows=t.sum(1), cols=t.sum(0)) for (m, v), t in zip(answers, made, strict=True)
    }
    larger = [a for a in everything if len(a[0].bins) > 2 and target in a[0].columns]
    goal = target if target is not None and _suits(target, groups, answers) else None
    missed = [
        *broken(answers, made, ruled, model.total, beyond=limits.broken),
        *misses(answers, made, model.total, sure=limits.sure),
    ]
    turns = _turns(missed, groups, goal, limits, first)
    if goal is not None:
        turns[goal] = []
    kept = {id(v): ruled[id(v)] | rules.barred(v, m.sigma, t) for (m, v), t in zip(answers, made, strict=True)}
    model = replace(model, barred=_barred(groups, answers, kept))
    if not turns:
        return model
    asked = averaged(a for a in everything if len(a[0].bins) > 2 and frozenset(a[0].columns) in named)
    component, codes, _ = model.codes(LEARNT, rng=rng, evened=False)
    sizes = [a.probs.shape[1] for a in model.axes]
    waiting = set(turns)
    for column, partners in turns.items():
        waiting.discard(column)
        _, probs = model.probs[column]
        final = column == goal
        seen = [s for n, s in _seen(column, groups, answers, kept, model.total) if final or n in partners]
        together = list(
            _seen_together(column, groups, [a for a in asked if not waiting & {*a[0].columns}], model.total)
        )
        own = probs[component].astype(float)
        # a start that has met tables of several columns is kept, one of pairs alone may be tempered
        bases = (1.0,) if together or not final else (conditionals.BASE, 1.0) if larger else (conditionals.BASE,)
        how: dict[str, Any] = {"total": model.total, "learnt": ROUNDS if final else 0}
        how["strength"] = fit_logit.FIRM if together else fit_logit.PRIOR
        tried = [fit_logit.fit(column, [*seen, *together], codes, own, sizes, base=b, **how) for b in bases]
        conditional = min(tried, key=lambda h: _error(h, larger, groups, codes, own, model.total) if final else 0.0)
        conditionals.draw_in_turn([conditional], model.probs, component, codes, rng=rng)
        model = replace(model, conditionals=(*model.conditionals, conditional))
    return model


def _error(
    conditional: conditionals.ConditionalLogit,
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
    law = conditional.probabilities(codes, own)
    names, out = list(groups), 0.0
    for marginal, values in answers:
        place = marginal.columns.index(conditional.column)
        flat = np.zeros(len(codes), dtype=np.int64)
        for bins in (b for b in marginal.bins if b.column != conditional.column):
            flat = flat * bins.size + _bins_of(groups[bins.column], bins.groups)[codes[:, names.index(bins.column)]]
        mine = _bins_of(groups[conditional.column], marginal.bins[place].groups)
        classes = np.zeros((len(codes), marginal.bins[place].size))
        np.add.at(classes.T, mine, law.T)
        goal = np.moveaxis(values, place, -1).reshape(-1, classes.shape[1])
        made = np.stack([np.bincount(flat, weights=c, minlength=len(goal)) for c in classes.T], axis=1)
        out += float(((made * (total / len(codes)) - goal) ** 2).sum()) / marginal.sigma**2
    return out


def averaged(answers: Iterable[Answer]) -> list[Answer]:
    """Tables that were asked twice on the same bins as one, averaged by precision."""
    met: dict[tuple, tuple[Marginal, np.ndarray]] = {}
    for marginal, values in answers:
        key = tuple((b.column, b.groups.tobytes()) for b in marginal.bins)
        if key in met:
            first, before = met[key]
            part = marginal.sigma**2 / (first.sigma**2 + marginal.sigma**2)  # weight of the first
            values = part * before + (1 - part) * values
            marginal = replace(marginal, sigma=first.sigma * part**0.5)
        met[key] = marginal, values
    return list(met.values())


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


def _suits(target: str, groups: Groups, answers: Sequence[Answer]) -> bool:
    """Few classes, each a group of its own, and two tables at least that tell of them."""
    if target not in groups or not 2 <= groups[target].max() + 1 <= CLASSES:
        return False
    mine = [b for m, _ in answers for b in m.bins if b.column == target]
    return sum(np.array_equal(b.groups, groups[target]) for b in mine) >= 2


def misses(
    answers: Sequence[Answer], made: Sequence[np.ndarray], total: float, *, sure: float = USUAL.sure
) -> list[Miss]:
    """The tables whose mean square error no chance explains, that of their noise and that of the rows a logit is
    fitted on, which could do no better; the largest excess first. ``made``: the mixture's own, in rows."""
    out = []
    for (marginal, values), own in zip(answers, made, strict=True):
        noise = marginal.sigma**2 + own * total / LEARNT
        error = float(((own - values) ** 2 / noise).sum())
        if error > values.size + sure * np.sqrt(2 * values.size):
            out.append(Miss(columns=marginal.columns, excess=error - values.size))
    return sorted(out, key=lambda m: -m.excess)


def broken(
    answers: Sequence[Answer],
    made: Sequence[np.ndarray],
    ruled: Mapping[int, np.ndarray],
    total: float,
    *,
    beyond: float = USUAL.broken,
) -> list[Miss]:
    """The tables in which the mixture has much of what stays empty, by the rows in it, the most first."""
    out = []
    for (marginal, values), own in zip(answers, made, strict=True):
        wrong = float(own[ruled[id(values)]].sum()) / total
        if wrong > beyond:
            out.append(Miss(columns=marginal.columns, excess=wrong))
    return sorted(out, key=lambda m: -m.excess)


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


def _barred(
    groups: Groups, answers: Sequence[Answer], never: Mapping[int, np.ndarray]
) -> dict[tuple[int, int], np.ndarray]:
    """By two axes the pairs of their groups that no row may have."""
    names, out = list(groups), dict[tuple[int, int], np.ndarray]()
    for marginal, values in answers:
        if never[id(values)].any():
            i, j = (names.index(b.column) for b in marginal.bins)
            first, second = (_bins_of(groups[b.column], b.groups) for b in marginal.bins)
            pair = never[id(values)][first][:, second]
            key, pair = ((i, j), pair) if i < j else ((j, i), pair.T)
            out[key] = out[key] | pair if key in out else pair
    return out


def _turns(
    missed: Sequence[Miss], groups: Groups, goal: str | None, limits: Limits, first: Collection[str]
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
        parent, child = sorted(miss.columns, key=turn.__getitem__)
        full = child not in partners and len(partners) == limits.children
        if child == goal or child in first or size[child] > limits.groups or full:
            continue
        if parent not in partners.setdefault(child, []):
            partners[child].append(parent)
    return {n: partners[n] for n in order if n in partners}


def _seen(
    column: str, groups: Groups, answers: Sequence[Answer], ruled: Mapping[int, np.ndarray], total: float
) -> Iterator[tuple[str, fit_logit.ClassTable]]:
    """(other column, table) of each table of a column, in groups of both."""
    names = list(groups)
    for marginal, values in answers:
        if column not in marginal.columns:
            continue
        last = marginal.columns[1] == column
        other, mine = marginal.bins if last else marginal.bins[::-1]
        yield (
            other.column,
            fit_logit.ClassTable(
                axes=(names.index(other.column),),
                bins=(_bins_of(groups[other.column], other.groups),),
                mine=_bins_of(groups[column], mine.groups),
                values=(values if last else values.T) / total,
                sigma=marginal.sigma / total,
                never=ruled[id(values)] if last else ruled[id(values)].T,
            ),
        )


def _seen_together(
    column: str, groups: Groups, answers: Sequence[Answer], total: float
) -> Iterator[fit_logit.ClassTable]:
    """The tables of a column with several others, in groups of all."""
    names = list(groups)
    for marginal, values in answers:
        if column not in marginal.columns:
            continue
        place = marginal.columns.index(column)
        others = [b for b in marginal.bins if b.column != column]
        numbers = prod(int(groups[n].max()) + 1 for n in marginal.columns)
        if numbers <= MOST:
            yield fit_logit.ClassTable(
                axes=tuple(names.index(b.column) for b in others),
                bins=tuple(_bins_of(groups[b.column], b.groups) for b in others),
                mine=_bins_of(groups[column], marginal.bins[place].groups),
                values=np.moveaxis(values, place, -1).reshape(-1, values.shape[place]) / total,
                sigma=marginal.sigma / total,
            )


def _bins_of(groups: np.ndarray, bins: np.ndarray) -> np.ndarray:
    """The bin of each group (G,), from the group and the bin of each leaf."""
    out = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    out[groups] = bins
    return out
