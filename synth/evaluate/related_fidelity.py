"""How close related synthetic tables come to the real ones across tables. For the steward alone: no figure has noise.

Real rows are those that a run keeps: with a parent, and at most as many of one parent as its key says. Beside each
distance stands what another sample of real rows would show by chance: roots are drawn again with everything below them,
since rows of one root are no separate draws.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np

from synth.evaluate import data, named_uses
from synth.evaluate.distances import Codes, compared, joint, shares_of, tv
from synth.evaluate.examination import Limits
from synth.evaluate.fidelity import STEWARD_ONLY
from synth.evaluate.quality import Quality, measure_related
from synth.evaluate.read_sample import Sample, forest
from synth.evaluate.risks import Risks
from synth.evaluate.risks import measure as attack
from synth.evaluate.verdict import DISTANCES, WORSE, Measured, Verdict, mean, rate, use_of
from synth.languages import Said
from synth.pipeline.uses import alone, at, tables_of
from synth.questions.linked import View, place, placed
from synth.schema import constraints, grouping
from synth.schema import uses as named
from synth.schema.dataset import NUMBER, Dataset, number_of
from synth.sources.rows.forest import Forest
from synth.verified.language import joined

STEP = 1 << 18  # rows or pairs looked at at a time
AGAIN, MOST_AGAIN = 4, 4_000_000  # times that roots are drawn again; fewer where there are more rows in all
ROW = "\0row"  # of the root, as a column of its table; no table has one of that name


@dataclass(frozen=True, kw_only=True, eq=False)
class ChildCounts:
    """How many children of one kind a parent has: shares (bound + 1,) of parents, their ``distance``, and that of
    another sample of real rows ``by_chance``."""

    child: str
    parent: str
    real: np.ndarray = field(repr=False)
    synthetic: np.ndarray = field(repr=False)
    distance: float = field(repr=False)
    by_chance: float = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class PairDistance:
    """Two columns together: the ``distance`` of the synthetic from the real ones, that of another sample of real rows
    ``by_chance``, and that of the real columns taken as ``independent``, in which the relation is lost."""

    about: str
    first: str
    second: str
    distance: float = field(repr=False)
    by_chance: float = field(repr=False)
    independent: float = field(repr=False)

    @property
    def lost(self) -> bool:
        """Whether the relation is worse than lost: independent columns would be no farther off."""
        limit = DISTANCES["across"]
        return rate(limit, self.distance, second=self.by_chance, independent=self.independent)[1] == WORSE


@dataclass(frozen=True, kw_only=True, eq=False)
class Across:
    """A comparison across tables with the real rows, for the steward only.

    ``rows``: kept real and synthetic rows by table. ``pairs``: by what they are about: number of children by columns
    above, columns of two tables, siblings or events that follow each other. ``named``: by the uses that the schema
    names, those of their tables; of larger tables their pairs. ``regressions``: the named ones' coefficients.
    ``quality``: SDMetrics' scores, None where it is not installed.
    """

    rows: Mapping[str, tuple[int, int]] = field(repr=False)
    numbers: list[ChildCounts]
    pairs: Mapping[str, list[PairDistance]]
    named: Mapping[str, list[PairDistance]] = field(default_factory=dict)
    regressions: Mapping[str, list[named_uses.Coefficient]] = field(default_factory=dict, repr=False)
    quality: Quality | None = field(default=None, repr=False)
    marking: str = STEWARD_ONLY

    @cached_property
    def verdict(self) -> Verdict:
        """What the tables are good for, across tables: numbers of children by key, and each kind of relation."""
        numbers = [
            use_of(
                "children",
                Measured(value=n.distance, second=n.by_chance),
                use=Said("numbers of {} of one {}", n.child, n.parent),
            )
            for n in self.numbers
        ]
        relations = [
            use_of(
                "across",
                _mean(pairs),
                use=Said("relations: {}", about),
                but={
                    Said("{} and {}", p.first, p.second): WORSE
                    for p in sorted(pairs, key=lambda p: p.independent - p.distance)
                    if p.lost
                },
            )
            for about, pairs in self.pairs.items()
        ]
        uses = [
            use_of("across", _mean(pairs), use=Said("named: {}", words))
            for words, pairs in self.named.items()
            if words not in self.regressions
        ]
        uses += [named_uses.judged_by(words, each) for words, each in self.regressions.items()]
        return Verdict.of([*uses, *numbers, *relations])

    def mean(self, about: str) -> tuple[float, float, float]:
        """Mean distance of pairs, that of another sample of real rows, and that of independence."""
        of = _mean(self.pairs[about])
        return of.value, of.second, of.independent or 0.0


def _mean(pairs: Sequence[PairDistance]) -> Measured:
    of = mean(Measured(value=p.distance, second=p.by_chance, independent=p.independent) for p in pairs)
    assert of is not None
    return of


def appraise_related(
    real: str | Path | Mapping[str, object], synthetic: str | Path | Mapping[str, object], schema: Dataset
) -> Across:
    """``compare_related`` of ``real`` and ``synthetic``, folders with a file for each table of ``schema``.

    Errors: InputError, UsageError.

    **Guarantee**: none; for the steward alone.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    return compare_related(forest(real, schema), forest(synthetic, schema, synthetic=True), schema, scored=True)


def compare_related(real: Forest, synthetic: Forest, schema: Dataset, *, scored: bool = False) -> Across:
    """Compares what tables say of each other; ``scored``: by SDMetrics too.

    **Guarantee**: none. The result derives from real rows without noise and must not leave the steward.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    both = (_marked(real, schema.root), synthetic)
    pairs: dict[str, list[PairDistance]] = {}
    for table in schema.downwards:
        for about, view, names in _asked(schema, table):
            pairs.setdefault(about, []).extend(_pairs(both, schema, table, view, names, about))
    return Across(
        rows={t: (len(real[t].parent), len(synthetic[t].parent)) for t in schema.tables},
        numbers=[_number(both, schema, k.parent, k.child, k.most_children) for k in schema.keys],
        pairs={about: item for about, item in pairs.items() if item},
        named={words: item for words, item in _named(both, schema) if item},
        regressions={u.words: _regression(both, schema, u) for u in schema.uses or () if u.kind == "regression"},
        quality=measure_related(real, synthetic, schema) if scored else None,
    )


def _named(both: Sequence[Forest], schema: Dataset) -> Iterator[tuple[str, list[PairDistance]]]:
    """Each named use in words, and the distances of its tables of two columns."""
    for words, tables in tables_of(schema):
        item: list[PairDistance] = []
        for names in (p for p in named.pairs(tables) if len(p) == 2):
            table = schema.lowest(names)
            at = [place(*constraints.placed(n)) for n in names]
            item += _pairs(both, schema, str(table), "rows", [(at[0], at[1])], words)
        yield words, item


def _regression(both: Sequence[Forest], schema: Dataset, use: named.RegressionUse) -> list[named_uses.Coefficient]:
    """A regression's coefficients in the real and in the synthetic rows of the lowest table that it names."""
    try:
        question = named_uses.asked(*alone(schema, use))
        places = {n: at(schema, n) for n in question.score.columns}
        table = str(schema.lowest(places.values()))
        own = {n: place(*constraints.placed(p)) for n, p in places.items()}
        real, synthetic = (f.rows(table, own) for f in both)
        return named_uses.coefficients(question, real, synthetic, unit=both[0].roots(table))
    except named_uses.CANNOT:
        return []


def _asked(schema: Dataset, table: str) -> Iterator[tuple[str, View, list[tuple[str, str]]]]:
    """(about, view, pairs of columns) of one table's rows."""
    own = schema.tables[table].measured()
    above = [(a, c) for a in schema.upwards(table)[1:] for c in schema.tables[a].measured()]
    up = [place(a, c) for a, c in above]
    for child in (k.child for k in schema.keys_below(table)):
        here, number = [place(table, c) for c in own], place(table, number_of(child))
        yield Said("how many {} by column of {} and above", child, table), "rows", [(number, c) for c in [*here, *up]]
    if table == schema.root:
        return
    yield (
        Said("columns of {} with those of tables above", table),
        "rows",
        [(place(table, c), u) for c, u in product(own, up)],
    )
    key = schema.key_above(table)
    if key is not None and key.most_children > 1:
        ordered = key.order is not None
        view: View = "steps" if ordered else "siblings"
        listed = product(own, own) if ordered else combinations_with_replacement(own, 2)
        about = Said("a row of {} and the next" if ordered else "two rows of {} of one parent", table)
        yield about, view, [(place(table, a), place(table, b, other=True)) for a, b in listed]


def _marked(forest: Forest, root: str) -> Forest:
    """The same trees, whose roots' rows are numbered in a column of their own."""
    branch = forest[root]
    numbered = replace(branch, columns={**branch.columns, ROW: np.arange(len(branch.parent))})
    return forest.with_branch(root, numbered)


def _number(both: Sequence[Forest], schema: Dataset, parent: str, child: str, most: int) -> ChildCounts:
    name, row = place(parent, number_of(child)), place(schema.root, ROW)
    ours, theirs = (_columns(f, parent, "rows", c) for f, c in zip(both, ([name, row], [name]), strict=True))
    real, synthetic = (shares_of(c[name], most + 1) for c in (ours, theirs))
    return ChildCounts(
        child=child,
        parent=parent,
        real=real,
        synthetic=synthetic,
        distance=tv(real, synthetic),
        by_chance=_by_chance(ours, [name], [most + 1], _drawn_again(ours[row])),
    )


def _drawn_again(roots: np.ndarray) -> list[np.ndarray]:
    """How often each row (n,) with its root is there when roots are drawn again, as many as there were."""
    rng, size = np.random.default_rng(0), int(roots.max(initial=-1)) + 1
    times = max(1, min(AGAIN, MOST_AGAIN // max(len(roots), 1)))
    return [np.bincount(rng.integers(0, size, size), minlength=size)[roots] for _ in range(times)]


def _by_chance(codes: Codes, names: Sequence[str], sizes: Sequence[int], again: Sequence[np.ndarray]) -> float:
    """The mean distance of two real samples: roots drawn again are off the first by one sample's chance, not by two."""
    real, *others = (joint(codes, names, sizes, weights=w) for w in (None, *again))
    off = [tv(real / max(real.sum(), 1e-300), w / max(w.sum(), 1e-300)) for w in others]
    return float(np.sqrt(2) * np.mean(off))


def _pairs(
    both: Sequence[Forest], schema: Dataset, table: str, view: View, names: Sequence[tuple[str, str]], about: str
) -> Iterator[PairDistance]:
    """The distance of each pair of columns, numbers and long lists in few groups."""
    columns = sorted({c for pair in names for c in pair})
    if not columns:
        return
    row = place(schema.root, ROW)
    results = [_columns(f, table, view, more) for f, more in zip(both, ([*columns, row], columns), strict=True)]
    if not all(len(f[columns[0]]) for f in results):
        return
    groups, facts = {}, {c: schema.as_measured(placed(c)[0]).columns[placed(c)[1]] for c in columns}
    for c in columns:
        groups[c] = grouping.coarse(facts[c], np.concatenate([f[c] for f in results]).astype(np.int64))
    codes = [{c: groups[c].take(f[c]).astype(np.int64) for c in columns} for f in results]
    again = _drawn_again(results[0][row])
    for pair in names:
        sizes = [len(groups[c].labels) for c in pair]
        of = compared(*(joint(c, pair, sizes) for c in codes))
        yield PairDistance(
            about=about,
            first=_label(pair[0]),
            second=_label(pair[1]),
            distance=of.value,
            by_chance=_by_chance(codes[0], pair, sizes, again),
            independent=of.independent or 0.0,
        )


def _columns(forest: Forest, table: str, view: View, columns: Sequence[str]) -> dict[str, np.ndarray]:
    """Positions of columns in all rows or pairs of a view."""
    parts = [batch for _, batch in forest.strata(table, view, columns, STEP)]
    return {c: np.concatenate([p[c] for p in parts]) if parts else np.zeros(0, dtype=np.int64) for c in columns}


def _label(name: str) -> str:
    table, column, other = placed(name)
    if column.startswith(NUMBER):
        return Said("how many {}", column.removeprefix(NUMBER))
    return Said("{}.{} (of the other)", table, column) if other else f"{table}.{column}"


def plain(across: Across) -> dict[str, object]:
    """The comparison as JSON data: for the steward alone."""

    def line(one: ChildCounts | PairDistance) -> dict[str, object]:
        named = {"by_chance": "second_real_sample"}
        return {named.get(n, n): v for n, v in data(one).items() if n != "about"}

    return {
        "marking": across.marking,
        "verdict": across.verdict.plain(),
        "sdmetrics": None if across.quality is None else across.quality.plain(),
        "rows": {t: {"real": r, "synthetic": s} for t, (r, s) in across.rows.items()},
        "numbers of children": [line(n) for n in across.numbers],
        "pairs": {about: [line(p) for p in pairs] for about, pairs in across.pairs.items()},
    }


def attacked(real: Forest, synthetic: Forest, schema: Dataset, *, limits: Limits) -> dict[str, Risks]:
    """By child what attacks have on its rows with the columns of the tables above; none where a side has no row.

    ``limits``: of rows, attacks and the seed. **Guarantee**: none; for the steward alone.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    out: dict[str, Risks] = {}
    for key in schema.keys:
        own, places = joined(schema, key.child)
        rng = np.random.default_rng([limits.seed, len(out)])
        rows = [forest.rows(key.child, places) for forest in (real, synthetic)]
        ours, theirs = (Sample(columns=own.columns, positions=r, rows=len(next(iter(r.values())))) for r in rows)
        reported = attack(ours, theirs, test=None, known=[], rng=rng, attacks=limits.attacks, rows=limits.attacked)
        if reported is not None:
            out[key.child] = reported
    return out
