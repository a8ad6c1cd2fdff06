"""Published totals of tables below the root: as many rows as they count, under roots that may have them.

The number of a parent's children is drawn, and not the number of all of them: rows come and go at random under parents
until there are as many as are printed, then they are brought to agree as those of one table are. A row that comes is
like one that its parent has. What must be known for that before the spend is how many roots there are.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from synth.errors import InputError
from synth.generators.base import Positions
from synth.generators.core.related_model import DrawnTable
from synth.generators.core.totals import agree
from synth.schema.dataset import Dataset, number_of
from synth.schema.enforcement import Rules
from synth.schema.intervals import Intervals
from synth.schema.table import Schema
from synth.schema.totals_checks import stated
from synth.schema.totals_places import PublishedTotals


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
            raise InputError(f"table {name}: {error}") from None
    return {n: t for n, t in out.items() if t is not None}


def problems(schema: Schema | Dataset, roots: PublishedTotals | None) -> Iterator[str]:
    """A sentence for each table whose totals cannot be promised before the spend.

    Privacy: public only.
    """
    for name, totals in of_children(schema).items():
        key, about = schema.key_above(name), f"totals of table {name}"
        assert key is not None
        if key.parent != schema.root:
            yield f"{about}: only those of the root and of its own children hold; leave them out"
        elif schema.keys_below(name):
            yield f"{about}: rows with tables below them cannot come and go; leave the totals out"
        elif key.order is not None:
            yield f"{about}: its rows are in an order, into which none can come; leave the totals out"
        elif roots is None:
            yield (
                f"{about}: they hold where totals of {schema.root} say how many roots there are; add a table of totals "
                f"to {schema.root}, or leave them out"
            )
        elif totals.num_rows > roots.num_rows * key.most_children:
            yield (
                f"{about}: they count {totals.num_rows:,} rows, but {roots.num_rows:,} roots with at most "
                f"{key.most_children} each have {roots.num_rows * key.most_children:,}; correct one of them"
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
            return _like_others(seen[column], at, allowed, least, rng)

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
    held = number[new] > 0
    anywhere = rng.integers(0, max(count, 1), len(new))
    own = first[new] + (rng.random(len(new)) * np.maximum(number[new], 1)).astype(np.int64)
    at = np.concatenate([np.arange(count), np.where(held, own, anywhere)])
    parent = np.concatenate([drawn.parent, new])
    order = np.argsort(parent, kind="stable")
    if not count:
        return DrawnTable(
            positions={n: np.zeros(wanted, dtype=p.dtype) for n, p in drawn.positions.items()}, parent=new
        )
    return DrawnTable(positions={n: p[at][order] for n, p in drawn.positions.items()}, parent=parent[order])


def _like_others(
    seen: np.ndarray, at: np.ndarray, allowed: Intervals, least: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    """Positions for rows, as others of the table have them where these are allowed, else any that is."""
    pool = seen[allowed.holds(seen)]
    drawn = (
        pool[rng.integers(0, len(pool), len(at))] if len(pool) else allowed.nth(rng.integers(0, allowed.size, len(at)))
    )
    return drawn if least is None else np.maximum(drawn, least)
