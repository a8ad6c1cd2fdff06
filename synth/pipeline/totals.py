"""Published totals in a run: refused before the spend where they cannot be met, met when rows are drawn.

Of tables below the root as many rows as they count stand under roots that may have them. The number of a parent's
children is drawn, and not the number of all of them: rows come and go at random under parents until there are as many
as are printed, then they are brought to agree as those of one table are. A row that comes is like one that its parent
has. What must be known for that before the spend is how many roots there are.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from synth.errors import InputError
from synth.generators.base import Positions
from synth.generators.core.related_model import ROOTS_AT_A_TIME, DrawnTable
from synth.generators.core.totals import Redraw, agree, culprits, witness
from synth.generators.core.totals_search import Layout
from synth.languages import Said
from synth.pipeline.related_rules import AcrossTables
from synth.schema.areas import lowest
from synth.schema.dataset import Dataset, number_of
from synth.schema.enforcement import Rules
from synth.schema.intervals import Intervals
from synth.schema.published_totals import PublishedTotals, stated
from synth.schema.table import Schema


def of_children(schema: Schema | Dataset) -> dict[str, PublishedTotals]:
    """The totals of each table below the root. Errors: InputError by the table's name.

    Privacy: public only.
    """
    out = {}
    for name, table in schema.tables.items():
        if not table.totals or name == schema.root:
            continue
        try:
            out[name] = stated(table)
        except InputError as error:
            raise InputError("table {}: {}", name, error) from None
    return {n: t for n, t in out.items() if t is not None}


def problems(schema: Schema | Dataset, roots: PublishedTotals | None) -> Iterator[str]:
    """A sentence for each table whose totals cannot be promised before the spend.

    Privacy: public only.
    """
    for name, totals in of_children(schema).items():
        key, about = schema.key_above(name), Said("totals of table {}", name)
        assert key is not None
        if key.parent != schema.root:
            yield Said("{}: only those of the root and of its own children hold; leave them out", about)
        elif schema.keys_below(name):
            yield Said("{}: rows with tables below them cannot come and go; leave the totals out", about)
        elif key.order is not None:
            yield Said("{}: its rows are in an order, into which none can come; leave the totals out", about)
        elif roots is None:
            yield Said(
                "{}: they hold where totals of {} say how many roots there are; add a table of totals to {}, or "
                "leave them out",
                about,
                schema.root,
                schema.root,
            )
        elif totals.num_rows > roots.num_rows * key.most_children:
            yield Said(
                "{}: they count {:,} rows, but {:,} roots with at most {} each have {:,}; correct one of them",
                about,
                totals.num_rows,
                roots.num_rows,
                key.most_children,
                roots.num_rows * key.most_children,
            )


def meet(schema: Dataset, block: dict[str, DrawnTable], rules: Mapping[str, Rules], rng: np.random.Generator) -> int:
    """Changes a block that holds all roots, in place, until its tables below the root agree with their totals.

    How many cells disagree in the end.
    """
    off = 0
    for name, totals in of_children(schema).items():
        key = schema.key_above(name)
        assert key is not None
        above = block[key.parent]
        rows = _as_many(block[name], above.num_rows, totals.num_rows, key.most_children, rng)
        positions = rows.positions

        def redraw(
            column: str,
            at: np.ndarray,
            *,
            allowed: Intervals,
            least: np.ndarray | None = None,
            seen: Positions = positions,
        ) -> np.ndarray:
            pool = seen[column][allowed.holds(seen[column])]  # as others of the table have it, else any that is allowed
            some = rng.integers(0, len(pool) or allowed.size, len(at))
            drawn = pool[some] if len(pool) else allowed.nth(some)
            return drawn if least is None else np.maximum(drawn, least)

        off += agree(totals, positions, redraw, rules=rules[name], rng=rng)
        rules[name].follow(positions)
        above.positions[number_of(name)] = np.bincount(rows.parent, minlength=above.num_rows)
        block[name] = rows
    return off


def _as_many(drawn: DrawnTable, parents: int, wanted: int, most: int, rng: np.random.Generator) -> DrawnTable:
    """So many rows: some left out at random, or some more, copies of others under a parent that has room."""
    count = drawn.num_rows
    if wanted <= count:
        at, parent = np.sort(rng.choice(count, wanted, replace=False)), drawn.parent
        return DrawnTable(positions={n: p[at] for n, p in drawn.positions.items()}, parent=parent[at])
    number = np.bincount(drawn.parent, minlength=parents)
    room = np.maximum(most - number, 0)
    slots = np.repeat(np.arange(parents), room)
    mine = rng.random(len(slots)) - (number[slots] > 0)  # parents with rows first: how many have none stays
    new = slots[np.argsort(mine, kind="stable")[: wanted - count]]
    first = np.cumsum(number) - number
    has_some = number[new] > 0
    anywhere = rng.integers(0, max(count, 1), len(new))
    own = first[new] + (rng.random(len(new)) * np.maximum(number[new], 1)).astype(np.int64)
    at = np.concatenate([np.arange(count), np.where(has_some, own, anywhere)])
    parent = np.concatenate([drawn.parent, new])
    order = np.argsort(parent, kind="stable")
    if not count:
        return DrawnTable(
            positions={n: np.zeros(wanted, dtype=p.dtype) for n, p in drawn.positions.items()}, parent=new
        )
    return DrawnTable(positions={n: p[at][order] for n, p in drawn.positions.items()}, parent=parent[order])


def check(schema: Schema | Dataset, num_rows: int | None) -> None:
    """Makes rows of the totals alone: if none are found that agree with all, the run is refused.

    ``num_rows``: asked for by the run. Errors: InputError naming the tables that contradict each other.

    Privacy: public only.
    """
    if not any(t.totals for t in schema.tables.values()):
        return
    written = AcrossTables(schema).written
    for name, table in schema.tables.items():
        for column in {lowest(table.columns, c) for one in table.totals or () for c in one.columns}:
            if f"{name}.{column}" in written:
                raise InputError("totals of table {}: {} is given by a rule across tables; leave it out", name, column)
    totals = stated(schema.tables[schema.root], num_rows=num_rows)
    for problem in problems(schema, totals):
        raise InputError(problem)
    for below in of_children(schema).values():
        _check_met(below)
    if totals is None:
        return
    if schema.keys and totals.num_rows > ROOTS_AT_A_TIME:
        raise InputError(
            "totals of table {}: they count {:,} roots, at most {:,} can be made to agree with totals; leave them out",
            schema.root,
            totals.num_rows,
            ROOTS_AT_A_TIME,
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
        raise InputError("{} cannot all hold: no table has these counts; correct one of them", _listed(wrong))
    short = [t.name for i, t in enumerate(totals.tables) if search.misses(i)]
    raise InputError(
        "{}: no {:,} rows were found that agree with all totals; leave one of these out, or make it coarser",
        _listed(short),
        totals.num_rows,
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class Agreeing:
    """Brings the rows of one table, as a model's ``sample`` hands them over, to agree with its totals."""

    def __init__(self, totals: PublishedTotals, rules: Rules, rng: np.random.Generator) -> None:
        self.totals, self._rules, self._rng = totals, rules, rng
        self.off = 0

    @property
    def shares_kept(self) -> list[dict[str, Any]]:
        """As ``Rules.shares_kept``."""
        return self._rules.shares_kept

    def repair(self, rows: Positions, redraw: Redraw) -> None:
        """As ``Rules.repair``, and agreeing."""
        self.off = agree(self.totals, rows, redraw, rules=self._rules, rng=self._rng)
        self._rules.follow(rows)


def totals_of(schema: Schema | Dataset) -> PublishedTotals | None:
    """The totals of a single table's complete schema, or of the root's, checked before."""
    alone = schema.tables[schema.root]
    return stated(alone, rules=False) if alone.totals else None


def on_card(schema: Schema | Dataset, *, cells_off: int) -> list[dict[str, Any]]:
    """What the card says of each table of totals. ``cells_off``: cells of all of them that the table disagrees with."""
    roots = totals_of(schema)
    if roots is None:
        return []
    return [
        {
            "columns": [f"{name}.{n}" if name != schema.root else n for n in one.columns],
            "cells": int(table.low.size),
            "rows": totals.num_rows,
            "rounded": one.rounded or 1,
            "published": one.published,
            "sha256": hashlib.sha256(json.dumps(one.model_dump(mode="json"), sort_keys=True).encode()).hexdigest(),
            "cells_off": cells_off,
        }
        for name, totals in {schema.root: roots, **of_children(schema)}.items()
        for one, table in zip(schema.tables[name].totals or (), totals.tables, strict=True)
    ]
