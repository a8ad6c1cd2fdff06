"""One table in which persons repeat, as two that belong together: persons, and their rows.

The two are made of the one by public facts alone, row by row: a row of the table is a row of both, and its person's key
in both. So what happens to one person's rows here happens to one root there, and the proof of related tables is the
proof of this (mechanisms/linked.md).
"""

from typing import Any

from synth.errors import InputError
from synth.schema import histories, persons_rules
from synth.schema.column import Column
from synth.schema.constraints import Constraint, columns_of
from synth.schema.dataset import ONE, Dataset, number_of
from synth.schema.table import Schema
from synth.schema.tree import Key, Order

PERSONS, ROWS = "persons", "rows"


class PersonsTable(Dataset):
    """The table ``flat`` as ``persons`` with the columns of a unit, and their ``rows`` with all others.

    ``uses``: those of the one table, with its names.

    **Guarantee**: each column but the person's stands in one of both; each constraint holds in one, or across both.

    Privacy: public only.
    """

    flat: Schema

    @property
    def written(self) -> dict[str, Schema]:
        """The one table."""
        return {ONE: self.flat}

    @property
    def several(self) -> bool:
        """One table is written."""
        return False

    @property
    def person(self) -> str:
        """The column that names a person."""
        return str(self.flat.person)

    @property
    def texts(self) -> list[str]:
        """The columns that are read as text: the person, and an identifier by which rows are ordered."""
        order = self.keys[0].order
        known = order is not None and self.flat.columns[order].type == "identifier"
        return [self.person, *([str(order)] if known else [])]

    @property
    def all_columns(self) -> dict[str, Column]:
        """Of the one table."""
        return self.flat.columns

    @property
    def unit_in_words(self) -> str:
        """What the guarantee is about."""
        return unit_in_words(self.person)

    @property
    def key_on_card(self) -> dict[str, Any]:
        """The key to a person's rows, the persons named by their column, which is the unit."""
        key = self.keys[0].model_dump(mode="json", exclude_none=True)
        return {**key, "parent": self.person, "child": f"{ROWS} of {self.person}"}

    def table_of(self, column: str) -> str:
        """In which of both a column stands."""
        return PERSONS if column in self.tables[PERSONS].measured() else ROWS

    def to_json(self) -> str:
        """The one table's schema as JSON text."""
        return self.flat.to_json()


def unit_in_words(person: str) -> str:
    """What the guarantee of a table whose persons keep their rows is about; ``person``: the column that names one.

    >>> unit_in_words("pid")
    'one person, named by pid, with all rows'
    """
    return f"one person, named by {person}, with all rows"


def as_tables(schema: Schema) -> PersonsTable:
    """The table of a ``schema`` as persons and their rows. Errors: InputError for what cannot be kept together.

    Privacy: public only.
    """
    for problem in persons_rules.refused(schema):
        raise InputError(f"schema: {problem}")
    own = persons_rules.own(schema)
    person = {str(schema.person): schema.columns[str(schema.person)]}
    above = {n: schema.columns[n] for n in own}
    below = {n: c for n, c in schema.columns.items() if n not in above and n not in person}
    inside: dict[str, list[Constraint]] = {PERSONS: [], ROWS: []}
    across: list[Any] = []
    for rule in schema.constraints or ():
        owners = {PERSONS if n in above else ROWS for n in columns_of(rule)}
        if len(owners) == 1:
            inside[owners.pop()].append(rule)
        elif rule.kind == "order":
            low, high = (f"{PERSONS if n in above else ROWS}.{n}" for n in (rule.low, rule.high))
            across.append(Order(kind="order", low=low, high=high))
    key = Key(
        parent=PERSONS,
        child=ROWS,
        columns=(str(schema.person),),
        most_children=int(schema.max_rows or 1),
        order=schema.order,
    )
    if clash := {number_of(ROWS), *histories.named(below, key)} & set(schema.columns):
        raise InputError(
            f"schema: column {min(clash)!r} has a name that stands for what is derived from a person's rows; rename "
            "it, or `linked=False`"
        )
    parts = {PERSONS: {**person, **above}, ROWS: {**person, **below}}
    return PersonsTable(
        dataset=schema.dataset,
        tables={n: _part(schema, columns, tuple(inside[n])) for n, columns in parts.items()},
        keys=(key,),
        constraints=tuple(across) or None,
        learnt=schema.learnt,
        uses=schema.uses,
        flat=schema,
    )


def _part(schema: Schema, columns: dict[str, Column], rules: tuple[Constraint, ...]) -> Schema:
    return Schema(dialect=schema.dialect, columns=columns, constraints=rules or None)


def taken(schema: Schema | Dataset) -> Schema | Dataset:
    """The schema, of a table whose persons keep their rows as two. Errors: InputError.

    Privacy: public only.
    """
    return as_tables(schema) if isinstance(schema, Schema) and persons_rules.asked(schema) else schema


def as_stated(schema: Schema | Dataset) -> Schema | Dataset:
    """The schema that a person wrote: of persons and their rows the one table's. Privacy: public only."""
    return schema.flat if isinstance(schema, PersonsTable) else schema
