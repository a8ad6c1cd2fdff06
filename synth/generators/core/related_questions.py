"""Which tables are asked of related tables, and with how much noise each; where noise may hide relations, a first
question finds which can be seen at all.

Privacy: released answers only; what is asked then is charged as every question.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

import numpy as np

from synth.generators.base import INSIDE, Ask, Progress, Setting, Workload, part
from synth.generators.core import related_tables
from synth.generators.core.oneways import TREE_CELLS, ask_again, ask_columns, is_tree, shares_of_columns
from synth.questions import Bins, Counts, CountsRelease, Linked, LinkedRelease, Marginal, PublicLinked
from synth.questions.linked import NEAR, View, placed
from synth.schema.dataset import Dataset, number_of
from synth.schema.histories import gap_of, is_long, month_of
from synth.schema.table import Key

FAINT = 5e-4  # noise of a table's count, part of the roots, from which on it is asked first what can be seen
SCOUT = 0.1  # of the tables' budget: the first question
DIRECTIONS = 3.0  # of dependence that a fit follows in a table: so much noise it has at least
MOST = 1.0  # excess a cell, in variances of the noise, above which a relation is worth its tables in any case
PLENTY = 4.0  # from which on fewer answers tell enough, where others tell nothing

Family = tuple[str, str, str]  # table, view, what about


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a family of tables says beyond independence: ``excess`` a cell, in variances of the noise at all of the
    budget; ``unsure``: its deviation; ``least``: from which on the tables are worth their noise."""

    excess: float
    unsure: float
    least: float

    @property
    def seen(self) -> bool:
        """Whether a fit to the tables says more than independent columns."""
        return self.excess - self.unsure > self.least


def numbers_of(schema: Dataset) -> set[tuple[str, str]]:
    """(table, column) of all numbers of children."""
    return {(k.parent, number_of(k.child)) for k in schema.keys}


def family_of(schema: Dataset, table: str, view: str, columns: Sequence[str]) -> Family:
    """The family of a table: with a number of rows, of one column in two rows, of two tables, or of one."""
    numbers = numbers_of(schema)
    first, second = (placed(c)[:2] for c in columns)
    if first in numbers or second in numbers:
        return table, view, "number"
    if first == second:
        return table, view, "same"
    return table, view, "own" if first[0] == second[0] else second[0]


def evidence_of(
    releases: Sequence[LinkedRelease], schema: Dataset, known_tables: Mapping[str, related_tables.Known], *, part: float
) -> dict[Family, Evidence]:
    """By family of tables; ``part``: of the budget that the answers had."""
    seen: dict[Family, list[related_tables.Apart]] = {}
    for release in releases:
        for _, one in related_tables.apart(release, schema, known_tables):
            family = family_of(schema, release.question.table, release.question.view, one.marginal.columns)
            seen.setdefault(family, []).append(one)
    return {f: _together(all_of, part) for f, all_of in seen.items()}


def _together(tables: Sequence[related_tables.Apart], part: float) -> Evidence:
    degrees = max(sum(t.degrees for t in tables), 1)
    sides = sum(sum(t.marginal.shape) for t in tables)
    return Evidence(
        excess=(sum(t.far for t in tables) - degrees) / degrees / part,
        unsure=float(np.sqrt(2 / degrees)) / part,
        least=min(MOST, DIRECTIONS * sides / sum(t.marginal.cells for t in tables)),
    )


def seen_questions(
    questions: Sequence[Linked],
    schema: Dataset,
    result: Mapping[Family, Evidence],
    *,
    clear: float,
    workload: Workload,
) -> list[Linked]:
    """The questions without the tables of relations that cannot be seen, and with more noise where less tells enough.

    What that leaves of their budget is for single columns, on which all rests that is not seen. ``clear``: the part of
    its budget that every table has at least; tables that ``workload`` names have all of it, whatever can be seen.
    """
    out = []
    for question in questions:
        marginals = []
        for marginal in question.marginals:
            names = tuple(".".join(placed(c)[:2]) for c in marginal.columns)  # as uses name them
            worth = 1.0  # the part of its budget that a table needs at least
            if len(names) > 1 and not (question.view == "rows" and workload.holds(names)):
                said = result[family_of(schema, question.table, question.view, marginal.columns)]
                worth = PLENTY / said.excess if said.seen else 0.0
            if worth > 0:
                part = min(1.0, max(clear, worth))
                marginals.append(replace(marginal, sigma=marginal.sigma / np.sqrt(part)))
        if marginals:
            out.append(replace(question, marginals=tuple(marginals)))
    return out


TABLES = "tables"
SAFE = 1 - 1e-9  # keeps sums of rounded shares below the whole
LEFT = 1e-4  # of the budget: less is not worth another question


@dataclass(frozen=True, kw_only=True)
class TreePlan:
    """How the budget is spread: ``oneway`` of mu**2 for one-way counts, the rest for tables of two columns.

    ``numbers``: how many times over a number of children counts among the columns that are counted again: they are few
    cells, on which all counts of rows rest.
    ``root``: the part of both that the root's own columns have at least: they have few tables, on which all others
    rest. ``own``: the part of the root's tables of two columns that those without a number of children have at least.

    Weights of the tables by view, against those of one table's rows: ``across`` two tables, ``siblings``, ``steps``,
    ``first``; of long histories ``ends``, first and last rows, and ``far``; ``same``: of a column with itself in two
    rows of one parent, beside these, since rows of one parent are alike in each column first of all; ``number``: of
    tables with a number of children, which have few cells and on which, rows of one root weighing less the more they
    are, all counts of rows rest.
    """

    oneway: float = 0.15
    root: float = 0.2
    own: float = 0.65
    across: float = 5.0
    siblings: float = 2.5
    steps: float = 2.5
    same: float = 2.5
    steps_number: float = 1.5
    far: float = 5.0
    first: float = 1.0
    ends: float = 10.0
    number: float = 3.0
    numbers: float = 1.5
    grain: related_tables.Grain = field(default_factory=related_tables.Grain)


@dataclass(frozen=True, kw_only=True)
class WantedTable:
    """A table of a view to be asked: which bins, and how much it weighs."""

    table: str
    view: View
    bins: tuple[Bins, ...]
    weight: float


def ask_tree(
    ask: Ask, schema: Dataset, setting: Setting, plan: TreePlan, *, progress: Progress
) -> list[LinkedRelease | PublicLinked]:
    """One-way counts of every table, then tables of two columns on bins merged by these counts.

    **Guarantee**: asks within ``setting.mu``, given that a table of any view has the sensitivity of the setting.
    """
    releases = ask_tree_columns(ask, schema, setting, plan, progress=part(progress, 0.0, 0.5))
    columns = related_tables.learn_tables(releases, schema, setting, noise=0.0, grain=plan.grain)
    publics = related_tables.public_columns(setting.priors, schema, columns)
    left = _left(releases, setting)
    many = len(wanted(schema, columns, plan, setting.workload))
    noise = setting.sigma(left) * np.sqrt(max(many, 1))
    result = related_tables.learn_tables([*releases, *publics], schema, setting, noise=noise, grain=plan.grain)
    asked = tree_questions(schema, wanted(schema, result, plan, setting.workload), setting, plan, share=left)
    publics += [related_tables.public_linked(p, q) for p in setting.priors for q in asked]
    total = result[
        schema.root
    ].total  # below 1 noise may hide relations, where all of the budget goes to so many tables
    clear = float(FAINT * total / (setting.sigma(1.0) * np.sqrt(many))) if asked else 1.0
    if clear < 1:
        first, then = with_part(asked, SCOUT), with_part(asked, 1 - SCOUT)
        scouted = [ask(q) for q in first]
        seen = evidence_of(scouted, schema, result, part=SCOUT)
        asked = seen_questions(then, schema, seen, clear=clear, workload=setting.workload)
        releases += scouted
    releases += [ask(q) for q in asked]
    left = _left(releases, setting)
    if left > LEFT:  # what relations beneath the noise leave counts columns again
        parts = _lacking(schema, releases, plan, setting)
        for table in schema.downwards:
            own = replace(setting, schema=schema.as_asked(table), public_rows=None)
            before = related_tables.one_ways(releases, table)
            again = {c: left * part for c, part in parts[table].items()}
            ask_again(_as_single(ask, schema, table, releases), own, before, again)
    progress(1.0)
    return [*releases, *publics]


def ask_tree_columns(
    ask: Ask, schema: Dataset, setting: Setting, plan: TreePlan, *, progress: Progress
) -> list[LinkedRelease]:
    """One-way counts of every table, with the plan's share for them.

    **Guarantee**: as ``ask_tree``.
    """
    releases: list[LinkedRelease] = []
    weights = _weights(schema, plan)
    for i, table in enumerate(schema.downwards):
        own = replace(setting, schema=schema.as_asked(table), public_rows=None)
        share, whole = SAFE * plan.oneway * weights[table], plan.oneway == 1
        ask_columns(_as_single(ask, schema, table, releases), own, share=share, whole=whole)
        progress((i + 1) / len(schema.tables))
    return releases


def with_part(asked: Sequence[Linked], part: float) -> list[Linked]:
    """The questions with so much of their budget."""
    scale = float(np.sqrt(1 / part))
    return [
        replace(q, marginals=tuple(replace(m, sigma=m.sigma * scale * (1 + 1e-12)) for m in q.marginals)) for q in asked
    ]


def _lacking(
    schema: Dataset, releases: Sequence[LinkedRelease], plan: TreePlan, setting: Setting
) -> dict[str, dict[str, float]]:
    """By table and column, the part of what is left with which it is counted again: that which a run for columns alone
    would have given it, and which it has not had."""
    numbers = numbers_of(schema)
    had, lack = column_shares(releases, setting), {}
    for table, weight in _weights(schema, plan).items():
        own = replace(setting, schema=schema.as_asked(table), public_rows=None)
        for column, share in shares_of_columns(own, weight).items():
            due = share * (plan.numbers if (table, column) in numbers else 1.0)
            lack[table, column] = max(due - had.get((table, column), 0.0), LEFT)
    whole = sum(lack.values())
    return {t: {c: one / whole for (of, c), one in lack.items() if of == t} for t in schema.downwards}


def column_shares(releases: Sequence[LinkedRelease], setting: Setting) -> dict[tuple[str, str], float]:
    """The share of mu**2 that would tell as much of each (table, column) as it and tables about its rows do."""
    out: dict[tuple[str, str], float] = {}
    for question in (r.question for r in releases if r.question.view == "rows"):
        for marginal in question.marginals:
            for bins in marginal.bins:
                table, column, _ = placed(bins.column)
                if table == question.table:
                    part = setting.share(marginal.sigma) * bins.size / marginal.cells
                    out[table, column] = out.get((table, column), 0.0) + part
    return out


def _left(releases: Sequence[LinkedRelease], setting: Setting) -> float:
    """The share of mu**2 that is left."""
    return SAFE * (1 - sum(setting.share(m.sigma) for r in releases for m in r.question.marginals))


def _as_single(
    ask: Ask, schema: Dataset, table: str, releases: list[LinkedRelease]
) -> Callable[[Counts], CountsRelease]:
    """An ``ask`` for the questions of a single table, which notes the answers as those of related ones."""

    def asked(question: Counts) -> CountsRelease:
        marginals = tuple(related_tables.of_table(m, table) for m in question.marginals)
        release = ask(
            Linked(
                purpose=question.purpose, table=table, view="rows", most=schema.most_rows(table), marginals=marginals
            )
        )
        releases.append(release)
        return CountsRelease(question=question, values=release.values)

    return asked


def _weights(schema: Dataset, plan: TreePlan) -> dict[str, float]:
    """Parts of the one-way budget: that of a table's columns, as for a single one."""
    result = {}
    for table in schema.downwards:
        columns = schema.as_asked(table).columns.values()
        cells = [TREE_CELLS if is_tree(c) else c.cells for c in columns]
        result[table] = float(sum(c ** (2 / 3) for c in cells))
    others = sum(result.values()) - result[schema.root]
    result[schema.root] = max(result[schema.root], others * plan.root / (1 - plan.root))
    return {t: one / sum(result.values()) for t, one in result.items()}


Column = tuple[str, str, bool]  # table, column, whether of the second row of a pair


def wanted(
    schema: Dataset, known_tables: Mapping[str, related_tables.Known], plan: TreePlan, workload: Workload
) -> list[WantedTable]:
    """All tables of two columns: within a table, with each ancestor, of siblings; of events steps, and the first.

    ``workload``: what the tables are for; those that it names count more.
    """
    numbers = numbers_of(schema)
    out: list[WantedTable] = []
    for table in schema.downwards:
        for view, weight, columns in _listed(schema, known_tables, plan, table):
            coarse = len(columns) == 2 and coarsely(view, *columns)
            bins = tuple(known_tables[t].bins(t, c, other=o, coarse=coarse) for t, c, o in columns)
            weight *= plan.number if any((t, c) in numbers for t, c, _ in columns) else 1.0
            weight *= _named(workload, columns) if view == "rows" else 1.0
            alike = len(columns) == 2 and columns[0][:2] == columns[1][:2]
            out.append(WantedTable(table=table, view=view, bins=bins, weight=weight * (plan.same if alike else 1.0)))
    return out


def _named(workload: Workload, columns: Sequence[Column]) -> float:
    """How many times over uses make a table count: as in a single table, of a target as of pairs in larger tables."""
    names = tuple(f"{t}.{c}" for t, c, _ in columns)
    return max(INSIDE if {*names} & {*workload.targets} else 1.0, workload.pair_weight(names))


def coarsely(view: str, first: Column, second: Column) -> bool:
    """Whether a table of two columns is asked on fewer bins: of two rows of one parent, in different columns.

    Those say little in many cells, most of it below their noise; one column with itself says much.
    """
    return view in ("steps", "siblings") and first[0] == second[0] and first[1] != second[1]


def _listed(
    schema: Dataset, known_tables: Mapping[str, related_tables.Known], plan: TreePlan, table: str
) -> Iterator[tuple[View, float, tuple[Column, ...]]]:
    """(view, weight, columns) of every table about one table's rows."""

    def released(name: str, *, other: bool = False) -> list[Column]:
        return [(name, n, other) for n, size in known_tables[name].sizes.items() if size > 1]

    own, other = released(table), released(table, other=True)
    yield from (("rows", 1.0, pair) for pair in combinations(own, 2))
    for above in schema.upwards(table)[1:]:
        yield from (("rows", plan.across, pair) for pair in product(own, released(above)))
    key = schema.key_above(table)
    if key is None:
        return
    if key.order is not None:
        yield from (("first", plan.ends if is_long(key) else plan.first, (one,)) for one in own)
    if is_long(key):
        yield from (("last", plan.ends, (one,)) for one in own)
        yield from (("far", plan.far, pair) for pair in zip(own, other, strict=True) if not _of_time(key, pair[0][1]))
    if key.most_children > 1 and key.order is not None:
        gap = gap_of(str(key.order))  # of the times of long histories only the gaps are asked
        plain = {c[1] for c in own if not is_long(key) or not _of_time(key, c[1]) or c[1] == gap}
        pairs = [p for p in product(own, other) if {p[0][1], p[1][1]} <= plain]
        yield from (("steps", plan.steps, pair) for pair in pairs)
        yield from (
            ("steps", plan.steps_number, pair)
            for pair in related_tables.pairs_by_number(schema, table, [n for _, n, _ in own])
        )
    elif key.most_children > 1:
        yield from (("siblings", plan.siblings, (a, b)) for i, a in enumerate(own) for b in other[i:])


def _of_time(key: Key, column: str) -> bool:
    """Whether a column is the time by which rows are ordered, or derived from it."""
    return column in (key.order, gap_of(str(key.order)), month_of(str(key.order)))


def tree_questions(
    schema: Dataset, asked: Sequence[WantedTable], setting: Setting, plan: TreePlan, *, share: float
) -> list[Linked]:
    """One question for each view of each table. Noise proportional to cells^(-1/3) makes the mean L1 error least."""
    if not asked or share <= 0:
        return []
    cells = np.array([float(np.prod([b.size for b in w.bins])) for w in asked])
    weight = np.array([w.weight for w in asked]) * cells ** (2 / 3)
    root = np.array([w.table == schema.root for w in asked])
    about_number = [bool(numbers_of(schema) & {placed(b.column)[:2] for b in w.bins}) for w in asked]
    _at_least(weight, root & ~np.array(about_number), root, plan.own)
    _at_least(weight, root, np.ones_like(root), plan.root)
    result: dict[tuple[str, View], list[Marginal]] = {}
    for one, own in zip(asked, share * weight / weight.sum(), strict=True):
        if one.weight > 0:
            marginal = Marginal(bins=one.bins, sigma=setting.sigma(own))
            result.setdefault((one.table, one.view), []).append(marginal)
    return [
        Linked(purpose=TABLES, table=table, view=view, most=most_entries(schema, table, view), marginals=tuple(m))
        for (table, view), m in result.items()
    ]


def _at_least(weight: np.ndarray, some: np.ndarray, whole: np.ndarray, part: float) -> None:
    """Scales the weights (n,) of some tables up to a part of the whole, if there are others; in place."""
    others = weight[whole & ~some].sum()
    if some.any() and others > 0:
        weight[some] *= max(1.0, others * part / (1 - part) / weight[some].sum())


def most_entries(schema: Dataset, table: str, view: View) -> int:
    """How many rows or pairs of a view one root has at most."""
    key, rows = schema.key_above(table), schema.most_rows(table)
    many = key.most_children if key is not None else 1
    near = max(min(many - 1, NEAR), 1)
    one, pairs = rows // many, rows // many * near * (2 * many - near - 1)
    return {"rows": rows, "first": one, "last": one, "steps": rows, "far": rows, "siblings": max(pairs, rows)}[view]
