"""One table in which persons repeat, as two that belong together: persons, and their rows.

The two are made of the one by public facts alone, row by row: a row of the table is a row of both, and its person's key
in both. So what happens to one person's rows here happens to one root there, and the proof of related tables is the
proof of this (mechanisms/linked.md).
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from synth.errors import InputError
from synth.schema import histories
from synth.schema.column import UNREAD, Column
from synth.schema.constraints import Constraint, Order, columns_of
from synth.schema.dataset import ONE, Dataset, number_of
from synth.schema.table import Schema
from synth.schema.tree import MOST_CHILDREN, Key

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

    def file_of(self, table: str) -> str:  # noqa: ARG002 (as of several tables)
        """The one: a row of it is one row of either table, under its person's key; no other row has part in it."""
        return ONE

    def texts(self, file: str = ONE) -> list[str]:  # noqa: ARG002
        """The columns that are read as text: the person, and an identifier by which rows are ordered."""
        order = self.keys[0].order
        known = order is not None and self.flat.columns[order].type == "identifier"
        return [*self.flat.texts(), *([str(order)] if known else [])]

    @property
    def stated(self) -> Schema:
        """The one table's."""
        return self.flat

    def changed(self, how: Callable[[Schema], Schema]) -> "PersonsTable":
        """As a change of the one table's schema leaves them."""
        return as_tables(how(self.flat))

    @property
    def privacy_unit(self) -> tuple[str, int]:
        """The column that names a person, with all rows."""
        return str(self.flat.person), 1

    @property
    def all_columns(self) -> dict[str, Column]:
        """Of the one table."""
        return self.flat.columns

    @property
    def unit_in_words(self) -> str:
        """What the guarantee is about."""
        return unit_in_words(self.privacy_unit[0])

    def only(self, columns: Mapping[str, Collection[str]]) -> Dataset:
        """As of several; the one table's schema has the columns of both parts."""
        tables = {n: one.only(columns[n]) for n, one in self.tables.items()}
        held = {n: c for n, c in self.flat.columns.items() if any(n in t.columns for t in tables.values())}
        flat = self.flat.model_copy(update={"columns": held, "constraints": None})
        return PersonsTable.model_construct(dataset=self.dataset, tables=tables, keys=self.keys, flat=flat)

    def find(self, name: str) -> tuple[str, str]:
        """In which of both a column stands."""
        return (PERSONS if name in self.tables[PERSONS].measured() else ROWS), name

    @property
    def keys_on_card(self) -> list[dict[str, Any]]:
        """The key to a person's rows, the persons named by their column, which is the unit."""
        person = self.privacy_unit[0]
        return [{**key, "parent": person, "child": f"{ROWS} of {person}"} for key in super().keys_on_card]

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
    for problem in refused(schema):
        raise InputError(f"schema: {problem}")
    own = schema.of_unit
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


def refused(schema: Schema) -> Iterator[str]:
    """Yields a sentence for each reason why a table's persons cannot keep their rows. Privacy: public only."""
    if schema.person is None:
        named = schema.of_unit
        what = (
            f'columns are "of": "unit" ({", ".join(named)})' if named else "the rows of one person are to stay together"
        )
        yield f"{what}, but nothing names persons; state unit and max_rows (`unit=`, `max_rows=`), or `linked=False`"
        return
    if (schema.max_rows or 1) == 1:
        yield "of a person one row is kept, so no rows belong together: state max_rows of 2 or more, or `linked=False`"
    if (schema.max_rows or 1) > MOST_CHILDREN:
        yield (
            f"max_rows {schema.max_rows}: of a person whose rows stay together at most {MOST_CHILDREN} are kept; "
            "state fewer, or `linked=False`"
        )
    if schema.weight is not None:
        yield f"weight {schema.weight!r}: rows of a person have no weights yet; leave weight out, or `linked=False`"
    if schema.totals:
        yield "totals: a table whose persons keep their rows has none yet; leave them out, or `linked=False`"
    measured = [n for n in schema.measured() if schema.columns[n].of is None]
    if not measured:
        yield 'every column is "of": "unit"; keep one row of each person (max_rows 1), or take "of" from a column'
    for number, rule in enumerate(schema.constraints or (), start=1):
        names = [n for n in columns_of(rule) if schema.columns[n].type not in UNREAD]
        if len({schema.columns[n].of for n in names}) > 1 and rule.kind != "order":
            yield (
                f"constraint {number} ({rule.kind}) joins columns of a person with columns of rows "
                f"({', '.join(names)}), where only an order is kept; take it out, or `linked=False`"
            )


def _part(schema: Schema, columns: dict[str, Column], rules: tuple[Constraint, ...]) -> Schema:
    return Schema(dialect=schema.dialect, columns=columns, constraints=rules or None)


def taken(schema: Schema | Dataset) -> Schema | Dataset:
    """The schema, of a table whose persons keep their rows as two. Errors: InputError.

    Privacy: public only.
    """
    return as_tables(schema.tables[ONE]) if schema.linked_rows else schema
