"""Worst-case neighbouring tables: small, and unlike in as many ways as one unit can make them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from synth.privacy.relation import Adjacency, Relation
from synth.schema import codec
from synth.schema import table as schemas
from synth.schema.table import Schema

Positions = Mapping[str, np.ndarray]
ROWS = 12  # of the unit's company
FACTS = {
    "target": "flag",
    "columns": {
        "kind": {"type": "categorical", "categories": ["a", "b", "c", "d"]},
        "amount": {"type": "integer", "min": 0, "max": 7},
        "flag": {"type": "boolean", "categories": ["no", "yes"]},
    },
}
ODD = {"kind": 3, "amount": 7, "flag": 1}  # the unit: alone with its category, with the largest number, and in front
INSTEAD = {"kind": 2, "amount": 4, "flag": 0}  # what replaces it: another cell in every column


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two neighbouring tables as positions by column, the public schema and the relation that makes them neighbours.

    ``rows``: the row count where the relation makes it public, else None.
    """

    schema: Schema
    adjacency: Adjacency
    one: Positions = field(repr=False)
    other: Positions = field(repr=False)

    @property
    def rows(self) -> int | None:
        """The row count where it is public."""
        sizes = [len(next(iter(t.values()))) for t in (self.one, self.other)]
        return max(sizes) if self.adjacency.rows_are_public else None

    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Both tables as text, for a whole run."""
        return frame(self.schema, self.one), frame(self.schema, self.other)


def frame(schema: Schema, positions: Positions) -> pd.DataFrame:
    """Positions as a table of text."""
    size = len(next(iter(positions.values())))
    return pd.DataFrame({n: a.to_pandas() for n, a in codec.decode(positions, schema, num_rows=size).items()})


def worst_pair(relation: Relation | str, *, max_rows: int = 1, rows: int = ROWS) -> Pair:
    """A table of ``rows`` common rows with an odd unit in front, and its neighbour without it.

    The unit has ``max_rows`` equal rows. Under replace_one another row stands in its place; under zero_out its rows
    add nothing to any sum, and the row count stays public.

    >>> pair = worst_pair("add_remove")
    >>> len(pair.one["kind"]) - len(pair.other["kind"]), pair.rows
    (1, None)
    """
    link = Relation(relation)
    adjacency = Adjacency(relation=link, unit="row" if max_rows == 1 else "person", max_rows=max_rows)
    common = np.arange(rows) % 2
    company = {"kind": common, "amount": common, "flag": np.zeros(rows, dtype=np.int64)}
    there = {n: np.full(max_rows, v) for n, v in ODD.items()}
    gone = {n: np.full(max_rows if link is Relation.REPLACE_ONE else 0, v) for n, v in INSTEAD.items()}
    one, other = ({n: np.concatenate([t[n], company[n]]) for n in company} for t in (there, gone))
    return Pair(schema=schemas.parse(FACTS), adjacency=adjacency, one=one, other=other)
