"""The positions that a condition on columns allows."""

from collections.abc import Mapping

import numpy as np

from synth.errors import UsageError, meant
from synth.schema import areas, codec
from synth.schema.dataset import Dataset
from synth.schema.table import Schema


def allowed_by(schema: Schema | Dataset, where: Mapping[str, str]) -> dict[str, dict[str, np.ndarray]]:
    """The positions that a condition allows, by table and column; none for an empty one. Errors: UsageError.

    Of several tables columns are written TABLE.COLUMN.

    Privacy: public only.
    """
    out: dict[str, dict[str, np.ndarray]] = {}
    stated = schema.stated
    for name, wanted in where.items():
        table, column = stated.find(name)
        if table not in stated.tables:
            raise UsageError(f"`where={name}`: write TABLE.COLUMN=VALUE, a table of {', '.join(stated.tables)}")
        facts, of = stated.tables[table], table if stated.several else "the model"
        lowest, places = areas.as_lowest(facts.columns, column, _allowed(facts, column, name, wanted, of=of))
        at, own = schema.find(stated.name_of(table, lowest))
        known = out.setdefault(at, {})
        known[own] = places if own not in known else np.intersect1d(known[own], places)
        if not len(known[own]):
            raise UsageError(f"`where={name}={wanted}`: no area of {own} meets all conditions; leave one out")
    return out


def _allowed(schema: Schema, column: str, name: str, wanted: str, *, of: str) -> np.ndarray:
    if column not in schema.measured() and column not in areas.above(schema.columns):
        columns = meant(column, schema.measured())
        raise UsageError(f"`where={name}={wanted}`: {column} is not a measured column of {of}; {columns}")
    try:
        return codec.places_of(schema.columns[column], wanted)
    except ValueError as error:
        raise UsageError(f"`where={name}={wanted}`: {error}") from None
