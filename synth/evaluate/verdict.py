"""What a synthetic table is good for, in words, from measured figures. For the steward alone.

Each use is judged by one figure of the comparison with the real rows, beside what a second real sample would score, by
the rule of ``rating``. Values are scored among cells that are not empty.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import pi, sqrt

import numpy as np

from synth.evaluate.amounts import Correlation, GroupMean, Implausible
from synth.evaluate.column_numbers import versus
from synth.evaluate.detection import TwoSample
from synth.evaluate.fidelity import Comparison
from synth.evaluate.joint_scores import mean, scored
from synth.evaluate.rating import (
    AMOUNTS,
    CEILING,
    DETECTION,
    DISTANCES,
    GOOD,
    LEVELS,
    NOT,
    Limit,
    Scored,
    Use,
    Uses,
    advice,
    best_first,
    rate,
    rate_score,
    use_by_parts,
    use_of,
)
from synth.evaluate.subgroups import Subgroup
from synth.evaluate.utility import Utility
from synth.generators.core.problem import misfit_in_words

TRIPLES = 200  # tables of three columns that are looked at, where there are more
CELLS = 8  # groups of a column in them
WORST = 5
USES = {
    "columns": "shares of single columns",
    "averages": "averages and spreads of numbers",
    "pairs": "tables of two columns",
    "correlations": "correlations of numbers",
    "group_means": "averages of groups of people",
    "implausible": "reading single rows as examples",
    "triples": "relations of three columns",
    "subgroups": "comparing groups of people, small ones too",
    "detection": "standing for real rows one by one, as in tests of software or free exploration",
}


@dataclass(frozen=True, kw_only=True)
class Verdict(Uses):
    """The uses, and the five worst columns, pairs, triples and groups.

    ``triples``: the worst of the tables of three columns that were looked at (``triples_looked_at``).
    **Guarantee**: none; for the steward alone.
    """

    columns: tuple[tuple[str, float], ...] = field(repr=False)
    pairs: tuple[tuple[str, str, float], ...] = field(repr=False)
    triples: tuple[tuple[str, str, str, float], ...] = field(repr=False)
    triples_looked_at: int
    groups: tuple[Subgroup, ...] = field(repr=False)
    reconciled: str = field(repr=False)


def judge(
    comparison: Comparison,
    *,
    utility: Utility | None = None,
    two_sample: TwoSample | None = None,
    groups: Sequence[Subgroup] = (),
    named: Callable[[bool], Iterable[Use]] = lambda _: (),
    fit: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Verdict:
    """The verdict on a comparison; what was not measured is not judged.

    ``named``: verdicts on the uses that the schema names, given whether the fit reached its answers.
    ``fit``: how far the fit is from its answers, as the card has it; one that did not reach them is nowhere good.

    Privacy: reads a comparison with real rows, exact: for the steward alone, never released.
    """
    unfitted = misfit_in_words(fit) or ""
    fitted = not unfitted
    three = _threes(comparison, seed)
    triples = sorted(((a, b, c, s.distance) for (a, b, c), s in three), key=lambda t: -t[3])
    three_columns = mean([replace(s, independent=None) for _, s in three])
    uses = [
        *named(fitted),
        _columns(comparison, fitted=fitted),
        _averages(comparison, fitted=fitted),
        _group_means(comparison.group_means, fitted=fitted),
        _correlations(comparison.correlation, fitted=fitted),
        _implausible(comparison.implausible, fitted=fitted),
        None if comparison.scored is None else use_of("pairs", USES["pairs"], comparison.scored, fitted=fitted),
        None if three_columns is None else use_of("triples", USES["triples"], three_columns, fitted=fitted),
        _groups(groups, fitted=fitted),
        _predicted(utility, fitted=fitted),
        _apart(two_sample, fitted=fitted),
    ]
    i, j = np.triu_indices(len(comparison.columns), 1)
    order = np.argsort(-comparison.pairs[i, j], kind="stable")[:WORST]
    pairs = [(comparison.columns[i[k]], comparison.columns[j[k]], float(comparison.pairs[i[k], j[k]])) for k in order]
    worst = sorted(((n, _score(comparison, n)[0]) for n in comparison.columns), key=lambda c: -c[1])
    return Verdict(
        uses=best_first(uses),
        columns=tuple(worst[:WORST]),
        pairs=tuple(pairs),
        triples=tuple(triples[:WORST]),
        triples_looked_at=len(three),
        groups=tuple(_beyond_chance(groups)[:WORST]),
        reconciled=_reconciled(comparison, two_sample),
        unsure=unfitted,
    )


def _score(comparison: Comparison, name: str) -> tuple[float, float]:
    """A column's distance and a second sample's: among filled cells, where there are enough of them."""
    one = comparison.one_way[name]
    assert one.numbers is not None
    score = one.numbers.score
    if score is not None:
        return score, one.numbers.by_chance
    spread = sqrt(2 / pi * (1 / comparison.real_rows_used + 1 / comparison.synthetic_rows_used))
    return one.distance, 0.5 * spread * float(np.sqrt(one.real * (1 - one.real)).sum())


def of_column(comparison: Comparison, name: str, *, fitted: bool = True) -> str:
    """What a column's figures mean for use. ``name``: the column's; ``fitted``: as of ``rating.rate``.

    Privacy: reads a comparison with real rows, exact: for the steward alone, never released.
    """
    distance, second = _score(comparison, name)
    numbers = comparison.one_way[name].numbers
    if numbers is not None and numbers.unserved:
        return advice((NOT, numbers.unserved))
    shares, average = rate(DISTANCES["columns"], distance, second=second, fitted=fitted), numbers and numbers.average
    return advice(average[::2] if average and LEVELS.index(average[0]) > LEVELS.index(shares[0]) else shares)


def _columns(comparison: Comparison, *, fitted: bool) -> Use:
    values, seconds = zip(*(_score(comparison, n) for n in comparison.columns), strict=True)
    but = {n: o.numbers.unserved for n, o in comparison.one_way.items() if o.numbers is not None and o.numbers.unserved}
    of = Scored(distance=float(np.mean(values)), by_chance=float(np.mean(seconds)))
    return use_of("columns", USES["columns"], of, fitted=fitted, but=but)


def _averages(comparison: Comparison, *, fitted: bool) -> Use | None:
    """Means and spreads of numbers, each by itself: good where all of them are."""
    known = {n: o.numbers for n, o in comparison.one_way.items() if o.numbers is not None}
    rated = {n: (c, a) for n, c in known.items() if (a := c.average) is not None}
    if not rated:
        return None
    worst = max((LEVELS.index(a[0]), c.mean_off or 0.0, n) for n, (c, a) in rated.items())[2]
    farthest = max((c for c, _ in rated.values()), key=lambda c: c.mean_off or 0.0)
    return use_by_parts(
        "averages",
        USES["averages"],
        {n: a[::2] for n, (_, a) in rated.items()},
        value=farthest.mean_off or 0.0,
        second=farthest.by_chance_mean,
        why=rated[worst][1][1],
        fitted=fitted,
    )


def _group_means(groups: Sequence[GroupMean], *, fitted: bool) -> Use | None:
    """A number's means by group, each by itself: good where all of them are."""
    if not groups:
        return None
    rated = [(g, *rate(AMOUNTS["group_means"], g.off, second=g.second)) for g in groups]
    worst = max(rated, key=lambda r: (LEVELS.index(r[1]), r[2] != CEILING))
    return use_by_parts(
        "group_means",
        USES["group_means"],
        {f"{g.column}: {g.by} {g.group}": (level, versus(g.mean, g.date)) for g, level, _ in rated},
        value=groups[0].off,
        second=groups[0].second,
        why=worst[2],
        fitted=fitted,
    )


def _correlations(farthest: Correlation | None, *, fitted: bool) -> Use | None:
    if farthest is None:
        return None
    real, synthetic = farthest.value
    part = f"{' / '.join(farthest.columns)}: {synthetic:.2f} in place of {real:.2f}"
    return _alone("correlations", AMOUNTS["correlations"], farthest.off, farthest.second, part, fitted=fitted)


def _implausible(seen: Implausible | None, *, fitted: bool) -> Use | None:
    if seen is None:
        return None
    part = f"{seen.rule}: make it a rule?" if seen.rule else ""
    return _alone("implausible", AMOUNTS["implausible"], seen.share, seen.second, part, fitted=fitted)


def _alone(name: str, limit: Limit, value: float, second: float, part: str = "", *, fitted: bool) -> Use:
    """A use by one figure; ``part``: where it is farthest off, told where the use is not good."""
    level, why = rate(limit, value, second=second, fitted=fitted)
    parts = (part,) if part and level != GOOD else ()
    return Use(name=name, use=USES[name], level=level, why=why, value=value, second=second, parts=parts)


def _threes(comparison: Comparison, seed: int) -> list[tuple[tuple[str, str, str], Scored]]:
    """Tables of three columns, a random choice of them where there are many."""
    every = list(combinations(comparison.columns, 3))
    rng = np.random.default_rng(seed)
    few = {n: comparison.few(n, CELLS) for n in comparison.columns}
    real, synthetic = ({n: sides[k] for n, sides in few.items()} for k in (0, 1))
    chosen = (every[k] for k in rng.permutation(len(every))[:TRIPLES])
    return [(names, scored(names, (CELLS,) * 3, (real, synthetic), comparison.filled)) for names in chosen]


def _groups(groups: Sequence[Subgroup], *, fitted: bool) -> Use | None:
    """Groups of people, each by its own rows: the tenth that is served worst decides."""
    known = _worst_groups(groups)
    if not known:
        return None
    worst = known[: max(1, len(known) // 10)]
    value, second = (float(np.mean([getattr(g, k) for g in worst])) for k in ("distance", "by_chance"))
    return use_of("subgroups", USES["subgroups"], Scored(distance=value, by_chance=second), fitted=fitted)


def _worst_groups(groups: Sequence[Subgroup]) -> list[Subgroup]:
    """The groups that can be judged, the one that is served worst first."""
    known = [g for g in groups if g.distance is not None and g.by_chance is not None]
    return sorted(known, key=lambda g: -(g.distance or 0))


def _beyond_chance(groups: Sequence[Subgroup]) -> list[Subgroup]:
    """The same, by how much farther they are off than groups of their size would be by chance."""
    return sorted(_worst_groups(groups), key=lambda g: (g.by_chance or 0) - (g.distance or 0))


def _predicted(utility: Utility | None, *, fitted: bool) -> Use | None:
    """A model's first score that is there for both tables; None where real rows themselves predict nothing."""
    for score in utility.scores if utility is not None else ():
        if score.synthetic is None or score.real is None or not score.higher_is_better:
            continue
        rating = rate_score(score.name, score.synthetic, score.real, floor=score.floor, fitted=fitted)
        if rating is None or utility is None:
            return None
        return Use(
            name="prediction",
            use=f"training a model that predicts {utility.target}",
            level=rating[0],
            why=rating[1],
            value=score.synthetic,
            second=score.real,
        )
    return None


def _apart(two_sample: TwoSample | None, *, fitted: bool) -> Use | None:
    if two_sample is None:
        return None
    level, why = rate(DETECTION, two_sample.auc, digits=2, fitted=fitted)
    return Use(name="detection", use=USES["detection"], level=level, why=why, value=two_sample.auc, second=0.5)


def _reconciled(comparison: Comparison, two_sample: TwoSample | None) -> str:
    """Why two well-known scores need not agree."""
    if comparison.quality is None or two_sample is None:
        return ""
    return (
        f"SDMetrics' score of {100 * comparison.quality.score:.1f} % and a classifier's {two_sample.auc:.2f} are both "
        "right: the first looks at one and two columns at a time, the second at whole rows, where small differences in "
        "many columns add up."
    )
