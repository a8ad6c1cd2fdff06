"""The positions that a condition on columns allows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from synth.errors import UsageError, meant
from synth.pipeline.related_condition import split
from synth.schema import areas, codec
from synth.schema.dataset import Dataset
from synth.schema.persons import PersonsTable
from synth.schema.table import Schema


def allowed_by(schema: Schema | Dataset, where: Mapping[str, str]) -> dict[str, Any]:
    """The positions that a condition allows, by column, of related tables by table and column. Errors: UsageError.

    Privacy: public only.
    """
    if isinstance(schema, PersonsTable):
        positions = allowed_by(schema.flat, where)
        return {t: a for t in schema.tables if (a := {n: p for n, p in positions.items() if schema.table_of(n) == t})}
    if isinstance(schema, Dataset):
        return {t: allowed_by(schema.tables[t], columns) for t, columns in split(schema, where).items()}
    out: dict[str, np.ndarray] = {}
    for name, wanted in where.items():
        own, places = areas.as_lowest(schema.columns, name, _allowed(schema, name, wanted))
        out[own] = places if own not in out else np.intersect1d(out[own], places)
        if not len(out[own]):
            raise UsageError(f"`where={name}={wanted}`: no area of {own} meets all conditions; leave one out")
    return out


def _allowed(schema: Schema, name: str, wanted: str) -> np.ndarray:
    if name not in schema.measured() and name not in areas.above(schema.columns):
        columns = meant(name, schema.measured())
        raise UsageError(f"`where={name}={wanted}`: {name} is not a measured column of the model; {columns}")
    try:
        return codec.places_of(schema.columns[name], wanted)
    except ValueError as error:
        raise UsageError(f"`where={name}={wanted}`: {error}") from None
