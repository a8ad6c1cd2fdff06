"""The pairs of a wide table that depend most: a private search for them among all, then tables of these alone.

Half a million pairs that share a budget are told too faintly to say what two columns have in common that no third one
shares. A search costs by how many pairs it picks, hardly by how many there are; and tables of a few hundred pairs bear
fine bins. A mixture has too few components for as many separate pairs: the fit draws their columns by logits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, pi, sqrt
from typing import Any

import numpy as np

from synth.generators.base import Ask, Setting
from synth.generators.marginals.candidates import coarse
from synth.generators.marginals.dependence import SEEN, excess
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.pair_queries import PairPlan
from synth.generators.marginals.pair_queries import question as tables_of
from synth.generators.marginals.wide_queries import question as question_of_all
from synth.generators.marginals.wide_queries import varying
from synth.questions import Counts, CountsRelease, Search, SearchRelease
from synth.questions.search import MAX_COUNT

PURPOSE, LOOK = "strongest pairs", "a look at pairs"
SAFE = 1 - 1e-9


@dataclass(frozen=True, kw_only=True)
class Strongest:
    """How many pairs are sought, and for which parts of the tables' budget; nothing depends on a particular table.

    ``pairs``: as many; ``search``, ``share``: of the budget for finding and for counting them. ``bins``: most of a
    column in the search. ``most``: pairs among which is sought at most (``mechanisms/search.md``). Where the search
    would tell only pairs that are off independence by more than the part ``seen`` of the rows, nothing is sought.
    ``look``: part of the budget for all pairs of ``looked`` columns, which say whether the others depend at all; where
    they do not, half a million tables would say nothing, and the rest counts single columns again. Of a table of
    hardly more columns all pairs are asked at once.
    """

    pairs: int = 300
    search: float = 0.05
    share: float = 0.2
    bins: int = 4
    most: int = 1_000_000
    seen: float = 0.25
    look: float = 0.07
    looked: int = 250

    def question(
        self, histograms: Mapping[str, Histogram], total: float, setting: Setting, share: float
    ) -> Search | None:
        """Which pairs are farthest off independence, beyond what chance explains; None where noise would decide."""
        if not self.pairs:
            return None
        names = varying(histograms)
        left, right = np.triu_indices(len(names), 1)
        picks = min(self.pairs, len(left))
        scale = setting.pick / (setting.mu * sqrt(share * self.search / picks)) * (1 + 1e-9)
        if len(left) > self.most or scale * log(len(left)) > 2 * self.seen * total:
            return None
        bins = tuple(coarse(histograms[n], np.arange(len(histograms[n].mass)), self.bins) for n in names)
        views = [np.bincount(b.groups, weights=histograms[b.column].mass) for b in bins]
        expected, chance = _independent([v / max(v.sum(), 1e-9) for v in views], total)
        return Search(
            purpose=PURPOSE,
            bins=bins,
            tables=np.stack([left, right], axis=1),
            expected=expected,
            handicap=_whole(sqrt(2 / pi) * chance),
            scale=scale,
            picks=picks,
        )


def measure(
    ask: Ask,
    histograms: Mapping[str, Histogram],
    total: float,
    setting: Setting,
    *,
    share: float,
    plan: PairPlan,
    strongest: Strongest,
) -> list[Any]:
    """The search and the tables of what it picked, within ``share`` of the budget; nothing where noise would decide."""
    search = strongest.question(histograms, total, setting, share)
    if search is None:
        return []
    picked = ask(search)
    chosen = [(a.column, b.column) for a, b in map(search.table, picked.chosen)]
    alone = replace(plan, spare=0.0, second=0.0)
    part = SAFE * share * strongest.share
    counted = tables_of(histograms, total, setting, share=part, plan=alone, only=chosen)
    return [picked, ask(counted)]


def depend(
    ask: Ask,
    histograms: Mapping[str, Histogram],
    total: float,
    setting: Setting,
    *,
    share: float,
    plan: PairPlan,
    strongest: Strongest,
    chosen: Sequence[tuple[str, ...]],
) -> tuple[list[CountsRelease], bool]:
    """What a look at some columns' pairs said, and whether columns depend beside the ``chosen`` pairs, beyond what
    noise and the rows' own chance make."""
    names = varying(histograms)
    step = len(names) // strongest.looked
    if not chosen or step < 2:
        return [], True
    some = {n: histograms[n] for n in names[::step]}
    asked = question_of_all(some, setting, share=share * strongest.look, plan=plan)
    look = ask(replace(asked, purpose=LOOK))
    gone = {frozenset(c) for c in chosen}
    others = _only(look, lambda columns: frozenset(columns) not in gone)
    off, cells = excess([others], histograms, total)
    chance = sum(total / m.sigma**2 for m in others.question.marginals)
    return [look], off >= chance + SEEN * sqrt(2 * cells)


def _independent(shares: Sequence[np.ndarray], total: float) -> tuple[np.ndarray, np.ndarray]:
    """Whole rows expected in the cells of all pairs of independent columns, flat, one pair after the other; and of each
    pair the sum of their roots."""
    cells: list[np.ndarray] = []
    chance: list[np.ndarray] = []
    roots = np.array([np.sqrt(s).sum() for s in shares])
    ends = np.cumsum([len(s) for s in shares])
    flat = np.concatenate(shares)
    for i, own in enumerate(shares[:-1]):
        table = _whole(total * np.outer(own, flat[ends[i] :]))
        cells += [t.ravel() for t in np.split(table, ends[i + 1 : -1] - ends[i], axis=1)]
        chance.append(sqrt(total) * roots[i] * roots[i + 1 :])
    return np.concatenate(cells), np.concatenate(chance)


def _whole(rows: np.ndarray) -> np.ndarray:
    return np.rint(np.clip(rows, 0, MAX_COUNT)).astype(np.int32)


def together(tables: Sequence[CountsRelease], plan: PairPlan) -> bool:
    """Whether all pairs of hundreds of columns were asked in one question."""
    return any(len(r.question.marginals) > plan.together for r in tables)


def parted(
    releases: Sequence[Any], tables: Sequence[CountsRelease], plan: PairPlan, target: str | None
) -> tuple[list[CountsRelease], list[CountsRelease]]:
    """Of a wide table's answers those of all pairs, and those of the strongest pairs with all that hold the target.

    None of the second kind where no pairs were sought; none of the first where columns were not seen to depend else.
    """
    if not any(isinstance(r, SearchRelease) and r.question.purpose == PURPOSE for r in releases):
        return list(tables), []
    every = [r for r in tables if together([r], plan)]
    few = [r for r in tables if not together([r], plan)]
    return every, [*few, *(_only(r, lambda columns: target in columns) for r in every if target is not None)]


def _only(release: CountsRelease, wanted: Callable[[tuple[str, ...]], bool]) -> CountsRelease:
    """The answer's tables of the wanted columns."""
    answers = [a for a in zip(release.question.marginals, release.values, strict=True) if wanted(a[0].columns)]
    question = Counts(purpose=release.question.purpose, marginals=tuple(m for m, _ in answers))
    return CountsRelease(question=question, values=tuple(v for _, v in answers))


def finer(
    probs: Mapping[str, np.ndarray],
    groups: Mapping[str, np.ndarray],
    parts: Mapping[str, np.ndarray],
    histograms: Mapping[str, Histogram],
) -> dict[str, np.ndarray]:
    """Group probabilities (B, G) of each column as those of the ``parts`` of its groups, by the column's own counts."""
    made = {}
    for name, table in probs.items():
        part, mass = parts[name], np.maximum(histograms[name].mass, 0.0) + 1e-9
        of = np.zeros(int(part.max()) + 1, dtype=np.int64)
        of[part] = groups[name]
        share = np.bincount(part, weights=mass) / np.bincount(groups[name], weights=mass)[of]
        made[name] = table[:, of] * share
    return made
