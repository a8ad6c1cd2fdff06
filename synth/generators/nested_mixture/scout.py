"""How the budget is spent where noise may hide relations: a first question finds which can be seen at all.

Privacy: released answers only; what is asked then is charged as every question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synth.generators.base import Setting
from synth.generators.nested_mixture.evidence import Apart, apart
from synth.generators.nested_mixture.known import Known
from synth.generators.workload import Workload
from synth.questions import Linked, LinkedRelease
from synth.questions.linked import placed
from synth.schema.dataset import Dataset, number_of

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


def clearness(tables: int, total: float, setting: Setting) -> float:
    """How clear relations are where all of the budget goes to so many tables; below 1 noise may hide some."""
    return float(FAINT * total / (setting.sigma(1.0) * np.sqrt(tables)))


def of_columns(schema: Dataset, table: str, view: str, columns: Sequence[str]) -> Family:
    """The family of a table: with a number of rows, of one column in two rows, of two tables, or of one."""
    numbers = {(k.parent, number_of(k.child)) for k in schema.keys}
    first, second = (placed(c)[:2] for c in columns)
    if first in numbers or second in numbers:
        return table, view, "number"
    if first == second:
        return table, view, "same"
    return table, view, "own" if first[0] == second[0] else second[0]


def evidence(
    releases: Sequence[LinkedRelease], schema: Dataset, known_tables: Mapping[str, Known], *, part: float
) -> dict[Family, Evidence]:
    """By family of tables; ``part``: of the budget that the answers had."""
    seen: dict[Family, list[Apart]] = {}
    for release in releases:
        for _, one in apart(release, schema, known_tables):
            family = of_columns(schema, release.question.table, release.question.view, one.marginal.columns)
            seen.setdefault(family, []).append(one)
    return {f: _together(all_of, part) for f, all_of in seen.items()}


def _together(tables: Sequence[Apart], part: float) -> Evidence:
    degrees = max(sum(t.degrees for t in tables), 1)
    sides = sum(sum(t.marginal.shape) for t in tables)
    return Evidence(
        excess=(sum(t.far for t in tables) - degrees) / degrees / part,
        unsure=float(np.sqrt(2 / degrees)) / part,
        least=min(MOST, DIRECTIONS * sides / sum(t.marginal.cells for t in tables)),
    )


def second(
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
            certain = question.view == "rows" and workload.holds(named(marginal.columns))
            worth = 1.0 if certain else _worth(question, marginal.columns, schema, result)
            if worth > 0:
                part = min(1.0, max(clear, worth))
                marginals.append(replace(marginal, sigma=marginal.sigma / np.sqrt(part)))
        if marginals:
            out.append(replace(question, marginals=tuple(marginals)))
    return out


def named(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of a table as uses name them, TABLE.COLUMN."""
    return tuple(".".join(placed(c)[:2]) for c in columns)


def _worth(question: Linked, columns: Sequence[str], schema: Dataset, result: Mapping[Family, Evidence]) -> float:
    """The part of its budget that a table needs at least; 0 where it says nothing."""
    if len(columns) < 2:
        return 1.0
    released = result[of_columns(schema, question.table, question.view, columns)]
    return PLENTY / released.excess if released.seen else 0.0
