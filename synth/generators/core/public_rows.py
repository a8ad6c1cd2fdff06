"""Public rows as the measure from which a model departs, where private rows are few.

Each public row is a component whose columns are blurred as far as its own table says; noisy answers then weigh the
rows. Nothing else tells of how columns depend where noise hides their tables.

Privacy: public tables and released answers only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from synth.generators.core.columns import OneWays, count_leaves, merge, split
from synth.generators.core.prior_variance import CLEARLY, SCALES, TINY, variance_shape
from synth.generators.core.tables import CHANCE, NoisyTable, averaged
from synth.lazy import optimize
from synth.questions import Bins, PublicCounts

FINEST = 128  # leaves of a column that are all groups; of more the light ones are gathered
ENTRIES = 1 << 22  # probabilities of a model, at most: 16 MiB
COARSER = (4, 12, 36)  # groups of a number to which its rows may be blurred, besides the whole range
COLUMNS, TABLES, ROWS, TURNS = 3, 100, 500, 30  # of a table, tables, rows of each, rounds: what tells the blur
LEAST_PART = 0.75  # part of a cell that public rows say beside its answer, from which on they tell more than a fit
STEPS = 100  # of the descent that weighs rows


@dataclass(frozen=True, kw_only=True, eq=False)
class WeighedRows:
    """Components (B,) of a model: each column's ``groups`` of its leaves (L,), and their ``probs`` (B, G).

    ``sha256``: of their file; ``part``: of a cell of a larger table, on average, that they say beside its answer.
    """

    groups: Mapping[str, np.ndarray]
    weights: np.ndarray
    probs: Mapping[str, np.ndarray]
    sha256: str = ""
    part: float = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class _Answer:
    """Noisy counts, flat, each with its noise's ``variance``; ``sides``: what each row makes of them, (B, left) and
    (B, right), whose products are the cells."""

    values: np.ndarray
    variance: np.ndarray | float
    sides: tuple[np.ndarray, np.ndarray]

    def expected(self, weights: np.ndarray) -> np.ndarray:
        """The cells' probabilities, flat."""
        left, right = self.sides
        return ((left * weights[:, None]).T @ right).astype(float).ravel()

    def back(self, slope: np.ndarray) -> np.ndarray:
        """By each row's weight what is told by the cells, (B,)."""
        left, right = self.sides
        table = slope.reshape(left.shape[1], right.shape[1]).astype(np.float32)
        return np.einsum("bi,bi->b", left @ table, right)


def weighed_rows(releases: Sequence[Any], columns: OneWays, tables: Sequence[NoisyTable]) -> WeighedRows | None:
    """The public rows, weighed by the answers: first by single columns, then by all tables, departing from even
    weights, in relative entropy, as little as their own distance from the answers says.

    Of several public tables that which explains the answers best; None where there is none, where independence explains
    them clearly better, by a log likelihood ratio of ``CLEARLY``, or where public rows say less than ``LEAST_PART`` of
    a cell.
    **Source**: Dudik, Phillips and Schapire 2007 (a measure departed from under noise); ``prior_variance.py``.
    """
    tables = list(averaged(tables).values())
    alone = [(t.values.ravel(), t.marginal.sigma**2, columns.alone(t.marginal).ravel()) for t in tables]
    best, least = None, _evidence(alone)[0] - CLEARLY
    sizes = [len(h.mass) for h in columns.histograms.values()]
    for public in (r for r in releases if isinstance(r, PublicCounts) and r.rows is not None):
        if sizes != [m.cells for m in public.question.marginals]:  # cut by published totals
            continue
        rows = _blurred(public, columns, tables)
        views = {id(b): _view(rows, b) for t in tables for b in t.marginal.bins}
        singles, larger = _singles(rows, releases, columns), [_table(t, views) for t in tables]
        weights = _weighed(rows.weights, singles, columns.total)
        known = [(a.values, a.variance, columns.total * a.expected(weights)) for a in larger]
        evidence, apart = _evidence(known)
        sure = [noise / (noise + apart * variance_shape(expected)) for _, noise, expected in known]
        part = float(np.concatenate(sure).mean()) if sure else 1.0
        if evidence > least and part > LEAST_PART:
            least, weights = evidence, _weighed(weights, larger, columns.total, singles)
            best = replace(rows, weights=weights, sha256=public.sha256, part=part)
    return best


def _blurred(public: PublicCounts, columns: OneWays, tables: Sequence[NoisyTable]) -> WeighedRows:
    """Public rows as components of even weight."""
    assert public.rows is not None
    groups, levels, shares, own = {}, [], [], []
    for name, leaves in zip(columns.histograms, public.rows.T, strict=True):
        histogram = columns.histograms[name]
        count = np.bincount(leaves, minlength=len(histogram.mass))
        mass = histogram.mass / columns.total + count / len(leaves)
        of = np.arange(len(mass)) if len(mass) <= FINEST else merge(mass, least=2 / FINEST)
        for bins in (b for t in tables for b in t.marginal.bins if b.column == name):
            of = split(of, bins.groups)
        groups[name] = of
        own.append(of[leaves])
        shares.append(np.bincount(of, weights=mass + TINY) / (mass + TINY).sum())
        levels.append(_levels(shares[-1], is_number=columns.is_number(name)))
    rows = np.stack(own, axis=1)[: ENTRIES // sum(map(len, shares))]
    blurs = _blurs(rows, levels, shares)
    probs = {
        name: sum(b * _within(level, share) for b, level in zip(blur, level_of, strict=True))[codes].astype(np.float32)
        for name, codes, blur, level_of, share in zip(groups, rows.T, blurs, levels, shares, strict=True)
    }
    return WeighedRows(groups=groups, weights=np.full(len(rows), 1 / len(rows)), probs=probs)


def _levels(share: np.ndarray, *, is_number: bool) -> list[np.ndarray]:
    """Groupings of a column's groups (G,), from the whole to each group, each finer than the one before."""
    middle = (np.cumsum(share) - share / 2) / share.sum()
    levels = [np.zeros(len(share), dtype=np.int64)]
    for parts in COARSER if is_number else ():
        if parts < len(share):
            levels.append(split(levels[-1], np.minimum((middle * parts).astype(np.int64), parts - 1)))
    return [*levels, np.arange(len(share))]


def _within(level: np.ndarray, share: np.ndarray) -> np.ndarray:
    """For each group the distribution (G, G) over those of its own part of a level."""
    alike = level[:, None] == level[None, :]
    return alike * share / (alike @ share)[:, None]


def _blurs(rows: np.ndarray, levels: Sequence[Sequence[np.ndarray]], shares: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Of each column how often a row is blurred to each level, (levels,).

    As often as lets all other rows tell each one best, in tables of three columns; then as rarely as if that had to
    happen twice, for rows that are drawn differ by chance already.
    **Source**: likelihood cross-validation (Habbema, Hermans and van den Broek 1974); expectation-maximisation.
    """
    rng, count = np.random.default_rng(0), rows.shape[1]
    every = list(combinations(range(count), min(COLUMNS, count)))
    some = [every[i] for i in rng.permutation(len(every))[:TABLES]]
    at = rng.permutation(len(rows))[:ROWS]
    told = [(table, _told(rows, [levels[j] for j in table], [shares[j] for j in table], table, at)) for table in some]
    blurs = [np.full(len(level), 1 / len(level)) for level in levels]
    for _ in range(TURNS):
        again = [np.full(len(b), TINY) for b in blurs]
        for table, density in told:
            joint = density
            for axis, j in enumerate(table):
                joint = joint * blurs[j].reshape([-1 if i == axis else 1 for i in range(density.ndim)])
            joint = joint / np.maximum(joint.reshape(-1, len(at)).sum(0), 1e-30)
            for axis, j in enumerate(table):
                again[j] += joint.sum(axis=tuple(i for i in range(density.ndim) if i != axis))
        blurs = [b / b.sum() for b in again]
    return [np.append(b[:-1] * (1 - b[-1]), 1 - (1 - b[-1]) ** 2) for b in blurs]


def _told(
    rows: np.ndarray,
    levels: Sequence[Sequence[np.ndarray]],
    shares: Sequence[np.ndarray],
    table: Sequence[int],
    at: np.ndarray,
) -> np.ndarray:
    """The density (levels of each column, n) that all other rows give to these ones, blurred to each level."""
    out = np.zeros((*map(len, levels), len(at)), dtype=np.float32)
    for picked in product(*(range(len(own)) for own in levels)):
        key, inside = np.zeros(len(rows), dtype=np.int64), np.ones(len(at))
        for k, level_of, share, j in zip(picked, levels, shares, table, strict=True):
            level = level_of[k]
            key = key * (int(level.max()) + 1) + level[rows[:, j]]
            inside *= (share / np.bincount(level, weights=share)[level])[rows[at, j]]
        _, which, many = np.unique(key, return_inverse=True, return_counts=True)
        out[picked] = inside * (many[which.reshape(-1)[at]] - 1)
    return out


def _singles(rows: WeighedRows, releases: Sequence[Any], columns: OneWays) -> list[_Answer]:
    """What was counted of each column's groups."""
    out = []
    for name, h in count_leaves(releases, columns.setting).histograms.items():
        groups, one = rows.groups[name], np.ones((len(rows.weights), 1), dtype=np.float32)
        counts, noise = (
            (h.mass, np.full(len(h.mass), h.sigma)) if h.counted is None else (h.counted.rows, h.counted.noise)
        )
        values, variance = (np.bincount(groups, weights=w) for w in (counts, noise**2))
        out.append(_Answer(values=values, variance=variance, sides=(rows.probs[name], one)))
    return out


def _table(table: NoisyTable, views: Mapping[int, np.ndarray]) -> _Answer:
    first, *between, last = (views[id(b)] for b in table.marginal.bins)
    for view in between:
        first = (first[:, :, None] * view[:, None, :]).reshape(len(first), -1)
    return _Answer(values=table.values.ravel(), variance=table.marginal.sigma**2, sides=(first, last))


def _view(rows: WeighedRows, bins: Bins) -> np.ndarray:
    """Probabilities (B, bins) of bins that whole groups make up."""
    groups, probs = rows.groups[bins.column], rows.probs[bins.column]
    member = np.zeros((probs.shape[1], bins.size), dtype=np.float32)
    member[groups, bins.groups] = 1
    return probs @ member


Known = tuple[np.ndarray, np.ndarray | float, np.ndarray]  # noisy counts, their variance, what is expected


def _evidence(known: Sequence[Known]) -> tuple[float, float]:
    """The log likelihood of counts around what is expected, and the truth's variance a row expected.

    That variance is ``CHANCE`` or more: the odds of each doubling fall with their number, which is what naming a table
    as a prior says.
    """
    scales, odds = CHANCE * 2.0 ** np.arange(SCALES), -np.log(np.arange(1, SCALES + 1))
    odds -= np.logaddexp.reduce(odds)
    for values, variance, expected in known:
        spread = variance + scales[:, None] * variance_shape(expected)
        odds = odds - 0.5 * (np.log(spread) + (values - expected) ** 2 / spread).sum(1)
    whole = float(np.logaddexp.reduce(odds))
    return whole, float(np.exp(np.exp(odds - whole) @ np.log(scales)))


def _weighed(weights: np.ndarray, answers: Sequence[_Answer], total: float, held: Sequence[_Answer] = ()) -> np.ndarray:
    """Weights (B,) that agree with answers as far as noise, and the distance of these weights from them, say; ``held``:
    answers that they agree with already, and are to go on doing so."""
    known = [(a.values, a.variance, total * a.expected(weights)) for a in answers]
    strength = total / _evidence(known)[1] if known else total
    begun = np.log(np.maximum(weights, 1e-30))

    def softmax(logits: np.ndarray) -> np.ndarray:
        grown = np.exp(logits - logits.max())
        return (grown / grown.sum()).astype(np.float32)

    def loss(logits: np.ndarray) -> tuple[float, np.ndarray]:
        own = softmax(begun + logits)
        away = np.log(np.maximum(own, 1e-30)) - begun
        whole, slope = strength * float(own @ away), strength * away
        for answer in (*held, *answers):
            error = total * answer.expected(own) - answer.values
            whole += float((error**2 / answer.variance).sum()) / 2
            slope = slope + answer.back(total * error / answer.variance)
        return whole / total, own * (slope - own @ slope) / total

    found = optimize.minimize(loss, np.zeros(len(begun)), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return softmax(begun + found.x).astype(float)
