"""Published totals in a run: refused before the spend where they cannot be met, met when rows are drawn."""

import hashlib
import json
from typing import Any

import numpy as np

from synth.errors import InputError
from synth.generators.base import Positions
from synth.generators.core.related_model import ROOTS_AT_A_TIME
from synth.generators.core.totals import Redraw, agree, culprits, witness
from synth.generators.core.totals_search import Layout
from synth.pipeline import child_totals
from synth.pipeline.related_rules import AcrossTables
from synth.schema.areas import lowest
from synth.schema.dataset import Dataset
from synth.schema.enforcement import Rules
from synth.schema.table import Schema
from synth.schema.totals_checks import stated
from synth.schema.totals_places import PublishedTotals


def check(schema: Schema | Dataset, num_rows: int | None) -> None:
    """Makes rows of the totals alone: if none are found that agree with all, the run is refused.

    ``num_rows``: asked for by the run. Errors: InputError naming the tables that contradict each other.

    Privacy: public only.
    """
    totals = stated(_of_roots(schema), num_rows=num_rows)
    for problem in child_totals.problems(schema, totals):
        raise InputError(problem)
    for below in child_totals.of_children(schema).values():
        _check_met(below)
    if totals is None:
        return
    if schema.keys and totals.num_rows > ROOTS_AT_A_TIME:
        raise InputError(
            f"totals of table {schema.root}: they count {totals.num_rows:,} roots, at most {ROOTS_AT_A_TIME:,} can be "
            "made to agree with totals; leave them out"
        )
    _check_met(totals)


def _check_met(totals: PublishedTotals) -> None:
    """Errors: InputError for tables of totals that no rows agree with, by name."""
    layout = Layout(totals)
    _, search = witness(layout)
    if not search.off:
        return
    wrong = [totals.tables[t].name for t in culprits(layout)]
    if wrong:
        raise InputError(f"{_listed(wrong)} cannot all hold: no table has these counts; correct one of them")
    short = [t.name for i, t in enumerate(totals.tables) if search.misses(i)]
    raise InputError(
        f"{_listed(short)}: no {totals.num_rows:,} rows were found that agree with all totals; leave one of these out, "
        "or make it coarser"
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class Agreeing:
    """Brings the rows of one table, as a model's ``sample`` hands them over, to agree with its totals."""

    def __init__(self, totals: PublishedTotals, rules: Rules, rng: np.random.Generator) -> None:
        self.totals, self._rules, self._rng = totals, rules, rng
        self.off = 0

    @property
    def retained(self) -> list[dict[str, Any]]:
        """As ``Rules.retained``."""
        return self._rules.retained

    def repair(self, rows: Positions, redraw: Redraw) -> None:
        """As ``Rules.repair``, and agreeing."""
        self.off = agree(self.totals, rows, redraw, rules=self._rules, rng=self._rng)
        self._rules.follow(rows)


def _of_roots(schema: Schema | Dataset) -> Schema:
    """The root table. Errors: InputError for totals of what a rule across tables writes."""
    written = AcrossTables(schema).written
    for name, table in schema.tables.items():
        for column in {lowest(table.columns, c) for one in table.totals or () for c in one.columns}:
            if f"{name}.{column}" in written:
                raise InputError(f"totals of table {name}: {column} is given by a rule across tables; leave it out")
    return schema.tables[schema.root]


def totals_of(schema: Schema | Dataset) -> PublishedTotals | None:
    """The totals of a single table's complete schema, or of the root's, checked before."""
    alone = schema.tables[schema.root]
    return stated(alone, rules=False) if alone.totals else None


def on_card(schema: Schema | Dataset, *, cells_off: int) -> list[dict[str, Any]]:
    """What the card says of each table of totals. ``cells_off``: cells of all of them that the table disagrees with."""
    totals = totals_of(schema)
    if totals is None:
        return []
    below = child_totals.of_children(schema)
    made = _lines(schema.tables[schema.root], totals, "", cells_off)
    return made + [x for n, t in below.items() for x in _lines(schema.tables[n], t, f"{n}.", cells_off)]


def _lines(stated_by: Schema, totals: PublishedTotals, before: str, cells_off: int) -> list[dict[str, Any]]:
    return [
        {
            "columns": [f"{before}{n}" for n in one.columns],
            "cells": int(table.low.size),
            "rows": totals.num_rows,
            "rounded": one.rounded or 1,
            "published": one.published,
            "sha256": hashlib.sha256(json.dumps(one.model_dump(mode="json"), sort_keys=True).encode()).hexdigest(),
            "cells_off": cells_off,
        }
        for one, table in zip(stated_by.totals or (), totals.tables, strict=True)
    ]
