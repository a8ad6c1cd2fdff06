"""The rules of one table in which persons keep their rows: whether a schema asks for it, and what it may not say then.

A schema asks for it by ``linked``, by a column that is ``of`` the unit (one value in all rows of a person), or by the
``order`` of a person's rows; ``linked`` false makes rows alone all the same.
"""

from collections.abc import Iterator
from typing import Any, Protocol

from synth.schema.column import UNREAD, Column
from synth.schema.constraints import Constraint, columns_of

MOST_CHILDREN = 500  # rows of one person, or of one parent under one key


class Stated(Protocol):
    """What a table's schema says of persons and their rows."""

    columns: dict[str, Column]
    constraints: tuple[Constraint, ...] | None
    linked: bool | None
    order: str | None
    max_rows: int | None
    weight: str | None
    totals: tuple[Any, ...] | None

    @property
    def person(self) -> str | None:
        """The column that names a person."""

    @property
    def given(self) -> set[str]:
        """Columns that follow from others."""

    def measured(self) -> dict[str, Column]:
        """The columns that are counted."""


def asked(schema: Stated) -> bool:
    """Whether the rows of one person are to belong together in the result. Privacy: public only."""
    if schema.linked is not None:
        return schema.linked
    return schema.order is not None or bool(own(schema))


def own(schema: Stated) -> list[str]:
    """The columns that are a person's own, one value in all the rows. Privacy: public only."""
    return [n for n, c in schema.columns.items() if c.of == "unit" and c.type != "omitted"]


def problems(schema: Stated) -> Iterator[str]:
    """Yields a sentence for each rule that columns of a person, or the order of rows, break. Privacy: public only."""
    for name in own(schema):
        if name == schema.person:
            yield f'column {name}: it names the person; leave out "of"'
        elif schema.columns[name].type == "identifier":
            yield f'column {name}: an identifier is a fresh key for each row; leave out "of", or omit the column'
    if schema.order is not None:
        yield from _order_problems(schema, schema.order)
    if schema.linked and schema.person is not None and schema.max_rows == 1:
        yield "linked: of a person one row is kept, so no rows belong together; state max_rows of 2 or more"


def _order_problems(schema: Stated, name: str) -> Iterator[str]:
    column = schema.columns.get(name)
    if column is None:
        yield f"order {name!r} is not among the columns"
    elif name == schema.person or not (column.is_numeric or column.type in ("ordinal", "identifier")):
        yield f"order {name!r} must be a number, date, ordinal, or an identifier of rising numbers"
    elif column.of == "unit":
        yield f'order {name!r} is one value in all rows of a person ("of": "unit"), which orders nothing'
    elif column.within is not None:
        yield f"order {name!r} is an area within others, which orders nothing; name another column"
    elif name in schema.given:
        yield f"order {name!r} follows from other columns; name a column that is read"


def refused(schema: Stated) -> Iterator[str]:
    """Yields a sentence for each reason why a table's persons cannot keep their rows. Privacy: public only."""
    if schema.person is None:
        named = own(schema)
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
