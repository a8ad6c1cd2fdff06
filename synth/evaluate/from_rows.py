"""What a synthetic table is good for, from a comparison with the real rows. For the steward alone.

Each use is judged by one figure of the comparison, beside what another sample of real rows would score. Values are
scored among cells that are not empty.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import pi, sqrt

import numpy as np

from synth.evaluate.column_numbers import versus
from synth.evaluate.detection import TwoSample
from synth.evaluate.distances import scored
from synth.evaluate.fidelity import Comparison, Subgroup
from synth.evaluate.utility import Utility
from synth.evaluate.verdict import (
    AMOUNTS,
    DISTANCES,
    GOOD,
    LEVELS,
    NOT,
    Measured,
    Place,
    Use,
    Verdict,
    advice,
    mean,
    rate,
    rate_score,
    use_by_parts,
    use_of,
)
from synth.generators.core.problem import misfit_in_words
from synth.languages import Said

TRIPLES = 200  # tables of three columns that are looked at, where there are more
CELLS = 8  # groups of a column in them
WORST = 5


def from_rows(
    comparison: Comparison,
    *,
    utility: Utility | None = None,
    two_sample: TwoSample | None = None,
    groups: Sequence[Subgroup] = (),
    named: Iterable[Use] = (),
    fit: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Verdict:
    """The verdict on a comparison; what was not measured is not judged.

    ``named``: verdicts on the uses that the schema names.
    ``fit``: how far the fit is from its answers, as the card has it; one that did not reach them is nowhere good.

    Privacy: reads a comparison with real rows, exact: for the steward alone, never released.
    """
    three = _threes(comparison, seed)
    triples = mean(replace(m, independent=None) for m in three.values())
    # groups of people, each by its own rows: the tenth that is served worst decides
    known = sorted((g for g in groups if g.distance is not None), key=lambda g: -(g.distance or 0))
    tenth = mean(Measured(value=g.distance or 0, second=g.by_chance or 0) for g in known[: max(1, len(known) // 10)])
    return Verdict.of(
        [
            *named,
            _columns(comparison),
            *_amounts(comparison),
            use_of("pairs", comparison.scored) if comparison.scored else None,
            use_of("triples", triples) if triples else None,
            use_of("subgroups", tenth) if tenth else None,
            _predicted(utility),
            use_of("detection", Measured(value=two_sample.auc), digits=2, second=0.5) if two_sample else None,
        ],
        unsure=misfit_in_words(fit) or "",
        worst=_worst(comparison, three, known),
        triples_looked_at=len(three),
        reconciled=_reconciled(comparison, two_sample),
    )


def _worst(
    comparison: Comparison, three: Mapping[tuple[str, ...], Measured], groups: Sequence[Subgroup]
) -> dict[str, tuple[Place, ...]]:
    """The farthest columns, pairs and triples; and the groups that are farther off than by chance at their size."""
    names = comparison.columns
    far: dict[str, dict[tuple[str, ...], float]] = {
        "column": {(n,): _score(comparison, n)[0] for n in names},
        "pair": {(names[i], names[j]): float(comparison.pairs[i, j]) for i, j in combinations(range(len(names)), 2)},
        "triple": {n: m.value for n, m in three.items()},
    }
    places = {
        k: [Place(names=n, distance=d) for n, d in sorted(f.items(), key=lambda f: -f[1])] for k, f in far.items()
    }
    beyond = sorted(groups, key=lambda g: (g.by_chance or 0) - (g.distance or 0))
    places["group"] = [Place(names=(g.column, g.group), distance=g.distance or 0) for g in beyond]
    return {kind: tuple(listed[:WORST]) for kind, listed in places.items()}


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
    """What a column's figures mean for use. ``name``: the column's; ``fitted``: as of ``verdict.rate``.

    Privacy: reads a comparison with real rows, exact: for the steward alone, never released.
    """
    distance, second = _score(comparison, name)
    numbers = comparison.one_way[name].numbers
    if numbers is not None and numbers.unserved:
        return advice((NOT, numbers.unserved))
    shares, average = rate(DISTANCES["columns"], distance, second=second, fitted=fitted), numbers and numbers.average
    return advice(average[::2] if average and LEVELS.index(average[0]) > LEVELS.index(shares[0]) else shares)


def _columns(comparison: Comparison) -> Use:
    values, seconds = zip(*(_score(comparison, n) for n in comparison.columns), strict=True)
    but = {n: o.numbers.unserved for n, o in comparison.one_way.items() if o.numbers is not None and o.numbers.unserved}
    of = Measured(value=float(np.mean(values)), second=float(np.mean(seconds)))
    return use_of("columns", of, but=but)


def _amounts(comparison: Comparison) -> Iterator[Use | None]:
    """Means and spreads of numbers, and means of groups, each by itself: good where all of them are; correlations, and
    rows that could not be, by one figure."""
    known = [o.numbers for o in comparison.one_way.values() if o.numbers is not None and o.numbers.average]
    known.sort(key=lambda c: -(c.mean_off or 0.0))
    off = [Measured(value=c.mean_off or 0.0, second=c.by_chance_mean) for c in known]
    yield use_by_parts("averages", {c.column: c.average for c in known if c.average}, off)
    rated: dict[str, tuple[str, str, str]] = {}
    off = [Measured(value=g.off, second=g.second) for g in comparison.group_means]
    for g, of in zip(comparison.group_means, off, strict=True):
        rated[Said("{}: {} {}", g.column, g.by, g.group)] = (
            *rate(AMOUNTS["group_means"], of.value, second=of.second),
            versus(g.mean, g.date),
        )
    yield use_by_parts("group_means", rated, off)
    if (farthest := comparison.correlation) is not None:
        real, synthetic = farthest.value
        part = Said("{}: {:.2f} in place of {:.2f}", " / ".join(farthest.columns), synthetic, real)
        yield _alone("correlations", Measured(value=farthest.off, second=farthest.second), part)
    if (seen := comparison.implausible) is not None:
        yield _alone("implausible", Measured(value=seen.share, second=seen.second), seen.rule)


def _alone(name: str, of: Measured, part: str) -> Use:
    """A use by one figure; ``part``: where it is farthest off, told where the use is not good."""
    use = use_of(name, of)
    return use.model_copy(update={"parts": (part,)}) if part and use.level != GOOD else use


def _threes(comparison: Comparison, seed: int) -> dict[tuple[str, ...], Measured]:
    """Tables of three columns, a random choice of them where there are many."""
    every = list(combinations(comparison.columns, 3))
    rng = np.random.default_rng(seed)
    few = {n: comparison.few(n, CELLS) for n in comparison.columns}
    real, synthetic = ({n: sides[k] for n, sides in few.items()} for k in (0, 1))
    chosen = (every[k] for k in rng.permutation(len(every))[:TRIPLES])
    return {names: scored(names, (CELLS,) * 3, (real, synthetic), comparison.filled) for names in chosen}


def _predicted(utility: Utility | None) -> Use | None:
    """A model's first score that is there for both tables; None where real rows themselves predict nothing."""
    for score in utility.scores if utility is not None else ():
        if score.synthetic is None or score.real is None or not score.higher_is_better:
            continue
        rating = rate_score(score.name, score.synthetic, score.real, floor=score.floor)
        if rating is None or utility is None:
            return None
        return Use(
            name="prediction",
            use=Said("training a model that predicts {}", utility.target),
            level=rating[0],
            why=rating[1],
            value=score.synthetic,
            second=score.real,
        )
    return None


def _reconciled(comparison: Comparison, two_sample: TwoSample | None) -> str:
    """Why two well-known scores need not agree."""
    if comparison.quality is None or two_sample is None:
        return ""
    return Said(
        "SDMetrics' score of {:.1f} % and the {:.2f} of a computer that tells real from synthetic rows are both "
        "right: the first looks at one and two columns at a time, the second at whole rows, where small differences "
        "in many columns add up.",
        100 * comparison.quality.score,
        two_sample.auc,
    )
