"""What a release tells of each use, for the verdict that rests on it alone (``evaluate.from_release``)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.evaluate.from_release import FILLED_IN, MORE, Evidence, from_release
from synth.evaluate.verdict import Verdict
from synth.pipeline.uses import tables_of
from synth.questions.linked import placed
from synth.report.publishable import VIEWS, ComparedTable, Publishable, PublishableTables
from synth.schema import related_uses

TIMES = 10  # a group as large as so many times the noise of a count is told to a tenth
Named = Mapping[str, tuple[Sequence[ComparedTable], int]]  # by use in words: its released tables, and how many it needs


def verdict(publishable: Publishable | PublishableTables, card: Mapping[str, Any]) -> Verdict:
    """The verdict on one table, or on a tree. ``card``: whose ``fit`` and method take part.

    **Guarantee**: that of the release: it rests on releases and the synthetic table alone.

    Privacy: released answers only.
    """
    if isinstance(publishable, PublishableTables):
        return from_release(_of_trees(publishable), card)
    return from_release(_of_one(publishable), card)


def _of_one(publishable: Publishable) -> Iterator[Evidence]:
    rows, counted = publishable.rows, len(publishable.larger)
    yield from _named(publishable.named, "pairs", rows=rows)
    yield Evidence(name="columns", tables=[s.measured(rows) for s in publishable.one_way.values() if rows])
    if rows and publishable.averages:
        yield Evidence(name="averages", averages={n: a.measured(rows) for n, a in publishable.averages.items()})
    yield Evidence(name="pairs", tables=[s.measured(rows) for s in publishable.two_way.values() if rows])
    yield Evidence(
        name="triples",
        use=f"{MORE} other than the {counted} that were counted" if counted else MORE,
        missing=FILLED_IN,
    )


def _named(named: Named, two: str, *, rows: float | None) -> Iterator[Evidence]:
    """The uses that the schema names, each by the tables of it that were released; ``two``: what pairs are called."""
    for words, (shown, needed) in named.items():
        wide = max((len(s.table.bins) for s in shown), default=0)
        kind = "triples" if wide > 2 else two if wide == 2 else "columns"
        part = "" if len(shown) == needed else f", {len(shown)} of its {needed} tables"
        yield Evidence(name=kind, use=f"named: {words}{part}", tables=[s.measured(rows) for s in shown if rows])


def _of_trees(tables: PublishableTables) -> Iterator[Evidence]:
    """Of related tables, whose rows are counted in roots."""
    yield from _named(_asked(tables), "across", rows=tables.roots)
    singles = {f"single columns of {t}": s for t, s in tables.singles.items() if s}
    pairs = {_use(about): s for about, s in tables.pairs.items()}
    for name, uses in (("columns", singles), ("across", pairs)):
        for use, shown in uses.items():
            yield Evidence(
                name=name, use=use, tables=[s.measured(tables.roots) for s in shown.values() if tables.roots]
            )
    yield Evidence(name="triples", use=MORE, missing=FILLED_IN)


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


def small_groups(noise: Sequence[float], of: str) -> list[str]:
    """From which size on groups are told, by the largest ``noise`` of a count; nothing where there is none."""
    if not noise:
        return []
    most = max(noise)
    return [
        f"groups of fewer than about {TIMES * most:,.0f} rows of {of}: the standard deviation of the noise in a count "
        f"is up to {most:,.0f} rows"
    ]
