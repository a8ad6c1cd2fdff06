"""What a synthetic table is good for, in words, from measured figures. For the steward alone.

Each use is judged by one figure of the comparison with the real rows, beside what a second real sample would score:
noise that is small against sampling does no harm that a second survey would not do too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import pi, sqrt

import numpy as np

from synth.evaluate.detection import TwoSample
from synth.evaluate.fidelity import Comparison
from synth.evaluate.subgroups import Subgroup
from synth.evaluate.utility import Utility

GOOD, CARE, NOT = "good for", "usable with care for", "not for"
LEVELS = (GOOD, CARE, NOT)
TRIPLES = 200  # tables of three columns that are looked at, where there are more
CELLS = 8  # groups of a column in them
WORST = 5
# A distance (share of rows in the wrong place) is good up to the first figure and usable up to the second, or up to
# so many times what a second sample would show.
DISTANCES = {"columns": (0.02, 0.08), "pairs": (0.04, 0.12), "triples": (0.08, 0.20), "subgroups": (0.08, 0.20)}
TIMES = (1.5, 3.0)
LOSS = (0.02, 0.08)  # of a trained model's score against one trained on real rows
MEASURES = {
    "columns": "rows in the wrong place, one column",
    "pairs": "rows in the wrong place, two columns",
    "triples": "rows in the wrong place, three columns",
    "subgroups": "rows in the wrong place, worst tenth of groups",
    "prediction": "score of a model, beside one trained on real rows",
    "detection": "classifier's area, 0.50 cannot tell",
}
TOLD_APART = (0.60, 0.80)  # area under ROC of a classifier that looks for the synthetic rows


@dataclass(frozen=True, kw_only=True)
class Use:
    """One use and how far the table serves it. ``second``: what a second sample of real rows would show."""

    name: str
    use: str
    level: str
    value: float = field(repr=False)
    second: float | None = field(repr=False)
    sentence: str = field(repr=False)

    @property
    def shown(self) -> tuple[str, str]:
        """The figure and a second real sample's, as people read them: shares of rows in percent, scores as they are."""
        as_share = self.name in DISTANCES
        told = [_percent(v) if as_share else f"{v:.2f}" for v in (self.value, self.second) if v is not None]
        return told[0], told[1] if len(told) > 1 else "-"

    @property
    def measure(self) -> str:
        """What the figure is."""
        return MEASURES[self.name]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The uses, best first, and the five worst columns, pairs, triples and groups.

    ``triples``: the worst of the tables of three columns that were looked at (``triples_looked_at``).
    **Guarantee**: none; for the steward alone.
    """

    uses: tuple[Use, ...]
    columns: tuple[tuple[str, float], ...] = field(repr=False)
    pairs: tuple[tuple[str, str, float], ...] = field(repr=False)
    triples: tuple[tuple[str, str, str, float], ...] = field(repr=False)
    triples_looked_at: int
    groups: tuple[Subgroup, ...] = field(repr=False)
    reconciled: str = field(repr=False)

    def at(self, level: str) -> list[Use]:
        """The uses of one of ``LEVELS``."""
        return [u for u in self.uses if u.level == level]


def judge(
    found: Comparison,
    *,
    utility: Utility | None = None,
    told: TwoSample | None = None,
    groups: Sequence[Subgroup] = (),
    seed: int = 0,
) -> Verdict:
    """The verdict on a comparison; what was not measured is not judged.

    Privacy: reads a comparison with real rows, exact: for the steward alone, never released.
    """
    three = _threes(found, seed)
    uses = [_columns(found), _pairs(found), _triples(found, three), _groups(groups), _predicted(utility), _apart(told)]
    known = sorted((u for u in uses if u is not None), key=lambda u: LEVELS.index(u.level))
    worst = [(o.column, o.distance) for o in found.worst_first()]
    triples = sorted(((*names, _apart_by(*shares)) for names, *shares in three), key=lambda t: -t[3])
    i, j = np.triu_indices(len(found.columns), 1)
    order = np.argsort(-found.pairs[i, j], kind="stable")[:WORST]
    pairs = [(found.columns[i[k]], found.columns[j[k]], float(found.pairs[i[k], j[k]])) for k in order]
    return Verdict(
        uses=tuple(known),
        columns=tuple(worst[:WORST]),
        pairs=tuple(pairs),
        triples=tuple(triples[:WORST]),
        triples_looked_at=len(three),
        groups=tuple(_beyond_chance(groups)[:WORST]),
        reconciled=_reconciled(found, told),
    )


def _level(value: float, good: float, care: float) -> str:
    return GOOD if value <= good else CARE if value <= care else NOT


def _distance(name: str, use: str, value: float, second: float, sentence: str) -> Use:
    good, care = (max(limit, times * second) for limit, times in zip(DISTANCES[name], TIMES, strict=True))
    words = (
        f"{sentence}: {_percent(value)} of the rows are in the wrong place (a second real sample: {_percent(second)})"
    )
    return Use(name=name, use=use, level=_level(value, good, care), value=value, second=second, sentence=words)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _columns(found: Comparison) -> Use:
    spread = sqrt(2 / pi * (1 / found.real_rows_used + 1 / found.synthetic_rows_used))
    chance = [0.5 * spread * float(np.sqrt(o.real * (1 - o.real)).sum()) for o in found.one_way.values()]
    return _distance(
        "columns",
        "shares and averages of single columns",
        found.one_way_mean,
        float(np.mean(chance)),
        "Column by column",
    )


def _pairs(found: Comparison) -> Use | None:
    if found.pairs_mean is None:
        return None
    return _distance(
        "pairs",
        "tables and correlations of two columns",
        found.pairs_mean,
        found.pairs_by_chance,
        "Two columns at a time",
    )


Three = tuple[tuple[str, str, str], np.ndarray, np.ndarray]


def _threes(found: Comparison, seed: int) -> list[Three]:
    """Tables of three columns, a random choice of them where there are many: names, real and synthetic shares."""
    every = list(combinations(found.columns, 3))
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(every))[:TRIPLES]
    few = {n: _few(found, n) for n in found.columns}
    return [(every[k], *_three(few, every[k])) for k in chosen]


def _apart_by(real: np.ndarray, synthetic: np.ndarray) -> float:
    return float(0.5 * np.abs(real - synthetic).sum())


def _triples(found: Comparison, three: list[Three]) -> Use | None:
    if not three:
        return None
    spread = sqrt(2 / pi * (1 / found.real_rows_used + 1 / found.synthetic_rows_used))
    value = float(np.mean([_apart_by(r, s) for _, r, s in three]))
    second = float(np.mean([0.5 * spread * np.sqrt(r * (1 - r)).sum() for _, r, _ in three]))
    return _distance("triples", "relations of three columns", value, second, "Three columns at a time")


def _few(found: Comparison, name: str) -> list[np.ndarray]:
    """A column's groups in both tables, the rarest pooled: for numbers neighbours, for categories the least common."""
    groups, sides = found.groups[name], [c[name] for c in found.codes]
    size = len(groups.labels)
    if size <= CELLS:
        return sides
    if groups.edges is not None:
        bins = len(groups.edges) - 1  # behind them stand the missing codes
        return [np.where(s < bins, s * (CELLS - 1) // bins, CELLS - 1) for s in sides]
    place = np.argsort(np.argsort(-np.bincount(sides[0], minlength=size), kind="stable"), kind="stable")
    return [np.minimum(place[s], CELLS - 1) for s in sides]


def _three(few: dict[str, list[np.ndarray]], names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    a, b, c = (few[n] for n in names)
    real, synthetic = (
        np.bincount((x * CELLS + y) * CELLS + z, minlength=CELLS**3) / len(x) for x, y, z in zip(a, b, c, strict=True)
    )
    return real, synthetic


def _groups(groups: Sequence[Subgroup]) -> Use | None:
    """Groups of people, each by its own rows: the tenth that is served worst decides."""
    known = _worst_groups(groups)
    if not known:
        return None
    worst = known[: max(1, len(known) // 10)]
    value, second = (float(np.mean([getattr(g, k) for g in worst])) for k in ("distance", "by_chance"))
    return _distance(
        "subgroups",
        "comparing groups of people, small ones too",
        value,
        second,
        f"In the worst tenth of {len(known)} groups",
    )


def _worst_groups(groups: Sequence[Subgroup]) -> list[Subgroup]:
    """The groups that can be judged, the one that is served worst first."""
    known = [g for g in groups if g.distance is not None and g.by_chance is not None]
    return sorted(known, key=lambda g: -(g.distance or 0))


def _beyond_chance(groups: Sequence[Subgroup]) -> list[Subgroup]:
    """The same, by how much farther they are off than groups of their size would be by chance."""
    return sorted(_worst_groups(groups), key=lambda g: (g.by_chance or 0) - (g.distance or 0))


def _predicted(utility: Utility | None) -> Use | None:
    if utility is None:
        return None
    for score in utility.scores:
        if score.synthetic is None or score.real is None or not score.higher_is_better:
            continue
        words = (
            f"A model trained on synthetic rows scores {score.synthetic:.3f} on real ones ({score.label}), one "
            f"trained on real rows {score.real:.3f}"
        )
        return Use(
            name="prediction",
            use=f"training a model that predicts {utility.target}",
            level=_level(score.real - score.synthetic, *LOSS),
            value=score.synthetic,
            second=score.real,
            sentence=words,
        )
    return None


def _apart(told: TwoSample | None) -> Use | None:
    if told is None:
        return None
    words = f"A classifier that sees whole rows tells synthetic from real with an area of {told.auc:.2f} (0.50: cannot)"
    return Use(
        name="detection",
        use="standing for real rows one by one, as in tests of software or free exploration",
        level=_level(told.auc, *TOLD_APART),
        value=told.auc,
        second=0.5,
        sentence=words,
    )


def _reconciled(found: Comparison, told: TwoSample | None) -> str:
    """Why two well-known scores need not agree."""
    if found.quality is None or told is None:
        return ""
    return (
        f"SDMetrics' score of {100 * found.quality.score:.1f} % and a classifier's {told.auc:.2f} are both right: the "
        "first looks at one and two columns at a time, the second at whole rows, where small differences in many "
        "columns add up."
    )
