"""What a table is good for, as far as the release itself can tell: the rule of ``rating``, without a real row.

A released count has noise, so how far the synthetic table is from the real one is known between two ends only: at least
what noise cannot explain, at most what noise may hide. Good is what is good at the far end, and bad what is bad at the
near one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import pi, sqrt
from typing import Any

import numpy as np

from synth.evaluate.rating import (
    AMOUNTS,
    CARE,
    DISTANCES,
    LEVELS,
    NOT,
    Use,
    Uses,
    best_first,
    rate_between,
    use_by_parts,
)
from synth.generators.core.problem import misfit_in_words
from synth.pipeline import retention
from synth.pipeline.uses import tables_of
from synth.questions.linked import placed
from synth.report.publishable import VIEWS, ComparedTable, Publishable, PublishableTables
from synth.schema import related_uses

NO_COUNTS = "no noisy counts of them were released to compare with"
INDEPENDENT = "the method makes columns independent of each other"
NONE_LEFT = "the method was measured to keep no relations between columns at such an epsilon"
FILLED_IN = "no counts of them were released, the model fills them in"
COLUMNS, PAIRS, AVERAGES = "shares of single columns", "tables of two columns", "averages and spreads of numbers"
MORE = "relations of three and more columns"
TIMES = 10  # a group as large as so many times the noise of a count is told to a tenth


def verdict(publishable: Publishable | PublishableTables, card: Mapping[str, Any]) -> Uses:
    """The verdict on one table, or on a tree. ``card``: whose ``fit`` and method take part.

    **Guarantee**: that of the release: it rests on releases and the synthetic table alone.

    Privacy: released answers only.
    """
    if isinstance(publishable, PublishableTables):
        return _of_trees(publishable)
    unsure, lost = misfit_in_words(card.get("fit")) or "", _lost(card)
    counted = len(publishable.larger)
    return Uses(
        uses=best_first(
            [
                *_named(publishable.named, "pairs", rows=publishable.rows, fitted=not unsure),
                use("columns", COLUMNS, publishable.one_way.values(), rows=publishable.rows, fitted=not unsure),
                _averages(publishable, fitted=not unsure),
                use("pairs", PAIRS, publishable.two_way.values(), rows=publishable.rows, fitted=not unsure, lost=lost),
                _unknown(
                    "triples",
                    f"{MORE} other than the {counted} that were counted" if counted else MORE,
                    FILLED_IN,
                    lost=lost,
                ),
            ]
        ),
        unsure=unsure,
    )


def _averages(publishable: Publishable, *, fitted: bool) -> Use | None:
    """Means and spreads of numbers, each between its two ends: good where all of them are at the far one."""
    if not publishable.averages or not publishable.rows:
        return None
    second = sqrt(4 / pi / publishable.rows)
    rated = {}
    for name, a in publishable.averages.items():
        mean = rate_between(AMOUNTS["averages"], *a.off, second=second, fitted=fitted)
        spread = rate_between(AMOUNTS["spreads"], *a.apart, second=second * sqrt(max(a.tail - 1, 0) / 4), fitted=fitted)
        level, why = max(mean, spread, key=lambda r: LEVELS.index(r[0]))
        rated[name] = level, why, f"its mean is off by {a.off[0]:.2f} to {a.off[1]:.2f} standard deviations"
    worst = max(rated.values(), key=lambda r: LEVELS.index(r[0]))
    farthest = max(a.off[1] for a in publishable.averages.values())
    said = {n: r[::2] for n, r in rated.items()}
    made = use_by_parts("averages", AVERAGES, said, value=farthest, second=second, why=worst[1], fitted=fitted)
    return replace(made, at_most=True)


Named = Mapping[str, tuple[Sequence[ComparedTable], int]]  # by use in words: its released tables, and how many it needs


def _named(named: Named, two: str, *, rows: float | None, fitted: bool = True) -> Iterator[Use]:
    """The uses that the schema names, each by the tables of it that were released; ``two``: what pairs are called."""
    for words, (shown, needed) in named.items():
        wide = max((len(s.table.bins) for s in shown), default=0)
        kind = "triples" if wide > 2 else two if wide == 2 else "columns"
        part = "" if len(shown) == needed else f", {len(shown)} of its {needed} tables"
        yield use(kind, f"named: {words}{part}", shown, rows=rows, fitted=fitted)


def _of_trees(tables: PublishableTables) -> Uses:
    """The verdict on related tables, whose rows are counted in roots."""
    singles = {t: s.values() for t, s in tables.singles.items() if s}
    parts = [*_named(_asked(tables), "across", rows=tables.roots)]
    parts += [use("columns", f"single columns of {t}", s, rows=tables.roots) for t, s in singles.items()]
    parts += [use("across", _use(about), s.values(), rows=tables.roots) for about, s in tables.pairs.items()]
    return Uses(uses=best_first([*parts, _unknown("triples", MORE, FILLED_IN)]))


def _asked(tables: PublishableTables) -> Named:
    """By named use its released tables of one and two columns, and how many it needs."""
    known = {frozenset((f"{t}.{n}",)): shown for t, own in tables.singles.items() for n, shown in own.items()}
    known |= {
        frozenset(f"{t}.{c}" for t, c, _ in map(placed, s.table.columns)): s
        for own in tables.pairs.values()
        for s in own.values()
        if not any(other for _, _, other in map(placed, s.table.columns)) and len(s.table.columns) == 2
    }
    out = {}
    for use, needed in tables_of(tables.schema):
        asked = related_uses.pairs(needed)
        out[use] = [known[frozenset(p)] for p in asked if frozenset(p) in known], len(asked)
    return out


def _use(about: str) -> str:
    """What tables are good for that are about this: each of ``_about``'s forms as a sentence of its own."""
    table, between, view = about.partition(": ")
    if between:
        return (
            f"single columns, {table}: {view}"
            if view in (VIEWS["first"], VIEWS["last"])
            else f"tables of two columns, {table}: {view}"
        )
    if about.startswith("within "):
        return f"tables of two columns, within {about.removeprefix('within ')}"
    table, _with, others = about.partition(" with ")
    return f"tables of two columns, {table} with {others}"


def use(
    name: str,
    what: str,
    shown: Iterable[ComparedTable],
    *,
    rows: float | None,
    fitted: bool = True,
    lost: str = "",
) -> Use:
    """A use by its released tables of ``rows`` rows of the source; ``lost``: why there is nothing
    to it where no tables of it were released."""
    known = list(shown)
    if not known or not rows:
        return _unknown(name, what, NO_COUNTS, lost=lost)
    low, high = (float(np.mean([s.ends[k] for s in known])) for k in (0, 1))
    second = float(np.mean([s.by_chance(rows) for s in known]))
    level, why = rate_between(DISTANCES[name], low, high, second=second, fitted=fitted)
    return Use(name=name, use=what, level=level, why=why, value=high, second=second, at_most=True)


def _unknown(name: str, what: str, why: str, *, lost: str = "") -> Use:
    return Use(name=name, use=what, level=NOT if lost else CARE, why=lost or why, value=None)


def _lost(card: Mapping[str, Any]) -> str:
    """Why relations between columns are lost, where the method keeps none; empty elsewhere."""
    method = str(card.get("method", ""))
    if method == "independent":
        return INDEPENDENT
    return NONE_LEFT if retention.warning(method, epsilon=float(card.get("epsilon") or 1.0)) else ""


def small_groups(noise: Sequence[float], of: str) -> list[str]:
    """From which size on groups are told, by the largest ``noise`` of a count; nothing where there is none."""
    if not noise:
        return []
    most = max(noise)
    return [
        f"groups of fewer than about {TIMES * most:,.0f} rows of {of}: the standard deviation of the noise in a count "
        f"is up to {most:,.0f} rows"
    ]
