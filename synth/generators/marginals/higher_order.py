"""Rounds of tables of three and more columns: a private search for what the model misses, their counts, a new fit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import pi, sqrt
from typing import Any

import numpy as np

from synth.generators.base import Ask, Setting
from synth.generators.marginals import interim_fit
from synth.generators.marginals.candidates import FINE, Candidates, candidates, expected
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.interim_fit import Interim
from synth.generators.marginals.pair_queries import PURPOSE, PairPlan, coarser, ladders_of, spread
from synth.questions import Bins, Counts, CountsRelease, Marginal, PublicCounts, Search
from synth.questions.search import MAX_COUNT

SEARCH = "tables missed"
ROUNDING = 1 - 1e-9
BASE = 2  # rounds, the first to find out whether there is anything to be told


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """How far to go beyond pairs; nothing depends on a particular table.

    ``order``: most columns of a table. ``rounds``: of search, count and fit, at most; 0 for none. ``share``: part of
    the tables' budget that is kept for them, up to ``larger`` of it where counting a table makes a total variation less
    than ``small`` (``retained``); ``first``: part of it that the first round takes, which finds out whether
    there is anything to be told. ``picks``: tables a round; ``search``: part of a round's share that choosing takes.
    Two rounds, unless more than two rounds of ``picks`` tables can be counted with a noise of the total variation
    ``bears`` each: then as many rounds as that, for a pick that holds an earlier one tells nothing new, and beyond
    these ``most`` picks a round (``grown``). ``work``: candidates times rows of all searches together at most, and
    ``fits``: cells of all quick fits to pairs; four rounds may be more.
    A table departs from the model by ``sure`` standard deviations and the total variation ``worth``, at least, or by
    ``clear`` times the noise's where that is less, but never by less than ``least``: where none does there is no
    other round. The next one takes the more of what is kept, the farther the worst departs; all of it from ``far``
    on, or as much nearer as ``worth`` is. What is not taken goes to the tables of pairs. ``cells``: of a round's tables
    together at most, which keeps the fit within seconds where rows are millions.
    """

    order: int = 4
    rounds: int = 12
    share: float = 0.3
    larger: float = 0.45
    small: float = 0.015
    first: float = 0.08
    picks: int = 4
    most: int = 16
    bears: float = 0.05
    work: float = 1e10
    fits: float = 1.6e6
    search: float = 0.25
    sure: float = 5.0
    worth: float = 0.15
    clear: float = 9.0
    least: float = 0.02
    far: float = 0.4
    cells: int = 1 << 17

    def retained(self, setting: Setting, total: float, share: float) -> float:
        """The part of ``share`` that is kept for these tables; what they leave goes to pairs again."""
        if not self.rounds:
            return 0.0
        noise = made_by_noise(FINE**3, setting.sigma(share * self.share), total)
        return share * min(self.larger, self.share * max(1.0, self.small / noise))

    def grown(self, noise: float, work: float = 1.0, cells: int = 1) -> "Rounds":
        """As many rounds and picks as the noise bears. ``work``: candidates times rows; ``cells``: of all pairs.

        ``noise``: the total variation that counting makes of one table, were it the only one; of m tables each has
        root m times that.

        >>> [(r.rounds, r.picks, round(r.worth, 3)) for r in map(Rounds().grown, (0.05, 0.01, 0.006, 0.001))]
        [(2, 4, 0.15), (6, 4, 0.09), (12, 5, 0.054), (12, 16, 0.02)]
        """
        many = (self.bears / max(noise, 1e-9)) ** 2
        most = min(self.rounds, max(2 * BASE, int(min(self.work / work, self.fits / cells))))
        rounds = min(most, max(BASE, int(many / self.picks)))
        picks = min(self.most, max(self.picks, int(many / max(rounds, 1))))
        worth = min(self.worth, max(self.least, self.clear * noise))
        return replace(self, rounds=rounds, picks=picks, worth=worth)


def ask_beyond(
    ask: Ask,
    releases: Sequence[Any],
    histograms: Mapping[str, Histogram],
    total: float,
    setting: Setting,
    publics: Sequence[PublicCounts],
    *,
    first: float,
    share: float,
    plan: PairPlan,
    rounds: Rounds,
    fitted: bool,
) -> list[Any]:
    """The releases of all rounds, within ``share`` of the budget.

    ``first``: the share that the groupings of pairs followed from, so that these tables' bins fit theirs. ``fitted``:
    whether the model follows the answers; without, it is that of independent columns. ``publics``: what public tables
    say of all that was asked so far.
    """
    tables = [r for r in releases if isinstance(r, CountsRelease) and r.question.purpose == PURPOSE]
    pairs = [m.columns for m in tables[0].question.marginals]
    names = [n for n in histograms if any(n in p for p in pairs)]
    base = setting.sigma(first) * np.sqrt(len(pairs))
    ladders = ladders_of({n: histograms[n] for n in names}, setting, total, base, plan, wide=len(pairs) > plan.wide)
    listed = candidates(
        histograms,
        _finest(tables[0]),
        target=setting.workload.target(setting.schema.target),
        order=rounds.order,
        rows=total,
    )
    wanted, certain = (
        [t.columns for t in setting.workload.larger],
        {m.columns for t in tables for m in t.question.marginals},
    )
    if listed is not None and wanted:  # those that are counted are not sought; if they are too many, no others are
        listed = listed.without(certain) if certain.issuperset(wanted) else listed.among(wanted)
    determined = _determined(tables, plan)
    made: list[Any] = []
    left = share * ROUNDING
    plain = rounds
    if listed is not None:
        cells = sum(m.cells for m in tables[0].question.marginals)
        noise = _noise(listed, total, setting, left, rounds)
        rounds = rounds.grown(noise, len(listed.tables) * total, cells)
    part, again = left * rounds.first, list[tuple[str, ...]]()
    for turn in range(rounds.rounds):
        if listed is None:
            break
        model = interim_fit.fit(histograms, [*tables, *made], publics, total, fitted=fitted)
        listed = listed.without_pairs([*determined, *_missed(tables[0], model, total, plain)])
        if listed is None:
            break
        picks = min(rounds.picks, len(listed.tables))
        question = _search(listed, model, total, setting, picks=picks, share=part, rounds=rounds)
        answer = ask(question)
        chosen = _apart([*again, *(listed.columns(i) for i in answer.chosen)])
        rest = part * (1 - rounds.search)
        bins = _spread(chosen, ladders, histograms, setting, rest, plan, most=rounds.cells)
        counted = ask(Counts(purpose=PURPOSE, marginals=tuple(bins)))
        made += [answer, counted]
        left -= part
        listed = listed.without(chosen)
        gaps = {m.columns: _gap(m, v, model, total, rounds) for m, v in _answers(counted)}
        again = [t for t, gap in gaps.items() if gap > plain.far / 2]  # once more, with less noise
        far = rounds.far * rounds.worth / plain.worth
        part = left / max(rounds.rounds - turn - 1, 1) * min(1.0, max(gaps.values()) / far)
        if part <= 0:
            break
    return made


def _finest(asked: CountsRelease) -> dict[str, np.ndarray]:
    """Of each column the finest bins that it has in a table of pairs: the groups of every model are parts of them."""
    finest: dict[str, Bins] = {}
    for b in (b for m in asked.question.marginals for b in m.bins):
        if b.column not in finest or b.size > finest[b.column].size:
            finest[b.column] = b
    return {n: b.groups for n, b in finest.items()}


def _noise(listed: Candidates, total: float, setting: Setting, share: float, rounds: Rounds) -> float:
    """The total variation that noise makes of a typical table, were it the only one to be counted.

    At least that of three columns in ``FINE`` bins: candidates of many columns are coarser than what is counted then.
    """
    cells = max(float(np.median(listed.sizes)), float(FINE**3))
    return made_by_noise(cells, setting.sigma(share * (1 - rounds.search)), total)


def made_by_noise(cells: float, sigma: float, total: float) -> float:
    """Total variation between a table and its counts under noise."""
    return cells * sigma / (sqrt(2 * pi) * max(total, 1.0))


def _search(
    listed: Candidates, model: Interim, total: float, setting: Setting, *, picks: int, share: float, rounds: Rounds
) -> Search:
    """The question which candidates the model misses most, beyond what chance and the noise of a count explain."""
    made = expected(listed, [model.view(b) for b in listed.bins], model.weights) * total
    starts = np.append(0, np.cumsum(listed.sizes)[:-1])
    chance = np.add.reduceat(np.sqrt(np.maximum(made, 0.0)), starts)
    noise = setting.sigma(share * (1 - rounds.search) / picks) * listed.sizes
    scale = setting.pick / (setting.mu * sqrt(share * rounds.search / picks)) * (1 + 1e-9)
    return Search(
        purpose=SEARCH,
        bins=listed.bins,
        tables=listed.tables,
        expected=_whole(made),
        handicap=_whole(sqrt(2 / pi) * (chance + noise)),
        scale=scale,
        picks=picks,
    )


def _whole(rows: np.ndarray) -> np.ndarray:
    return np.rint(np.clip(rows, 0, MAX_COUNT)).astype(np.int32)


def _apart(chosen: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Picks but those that hold an earlier one or lie in it: what one misses the other misses too.

    >>> _apart([("a", "b", "c"), ("a", "b", "c", "d"), ("b", "c", "d")])
    [('a', 'b', 'c'), ('b', 'c', 'd')]
    """
    retained: list[tuple[str, ...]] = []
    for table in chosen:
        if not any(set(k) <= set(table) or set(table) <= set(k) for k in retained):
            retained.append(table)
    return retained


def _spread(
    chosen: Sequence[tuple[str, ...]], ladders, estimates, setting: Setting, share: float, plan: PairPlan, *, most: int
):
    """The tables on bins that their noise bears, each order with its part of the budget and of ``most`` cells: where
    there would be more, on coarser bins than pairs ever have."""
    for k in sorted({len(t) for t in chosen}):
        alike = [t for t in chosen if len(t) == k]
        part = len(alike) / len(chosen)
        ask = partial(
            spread, alike, np.ones(len(alike)), estimates=estimates, setting=setting, share=share * part, plan=plan
        )
        tables = ask(ladders=ladders)
        if sum(m.cells for m in tables) > most * part:
            tables = ask(ladders=coarser(ladders, estimates, plan), most=most * part)
        yield from tables


def _missed(asked: CountsRelease, model: Interim, total: float, rounds: Rounds) -> list[tuple[str, ...]]:
    """Pairs of which the quick fit misses much that their tables tell: larger ones would show the same once more."""
    return [m.columns for m, v in _answers(asked) if _gap(m, v, model, total, rounds) > 0]


def _determined(tables: Sequence[CountsRelease], plan: PairPlan) -> list[tuple[str, ...]]:
    """Pairs that were counted again since they nearly determine each other: a quick fit misses them, and their rules
    are drawn by themselves (``rules.py``)."""
    asked = tables[0].question.marginals
    if len(asked) > plan.wide:
        return []
    again = ([m.columns for m in t.question.marginals] for t in tables[1:] if len(t.question.marginals) < len(asked))
    return [c for columns in again if max(map(len, columns)) == 2 for c in columns]


def _answers(release: CountsRelease) -> Iterator[tuple[Marginal, np.ndarray]]:
    return zip(release.question.marginals, release.values, strict=True)


def _gap(marginal: Marginal, values: np.ndarray, model: Interim, total: float, rounds: Rounds) -> float:
    """Total variation between a noisy table and the model's, beyond what noise and chance make; 0 if that is little."""
    made = model.table(marginal.bins) * total
    chance = marginal.sigma**2 + np.maximum(made, 0.0)
    error = values - made
    deviations = ((error**2 / chance).sum() - values.size) / sqrt(2 * values.size)
    apart = float((np.abs(error) - sqrt(2 / pi) * np.sqrt(chance)).sum()) / (2 * total)
    return apart if deviations > rounds.sure and apart > rounds.worth else 0.0
