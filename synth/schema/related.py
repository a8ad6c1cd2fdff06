"""What is publicly known of tables that belong together: a schema each, and the keys that make them a tree.

One table is the root: each of its rows, with everything below it, is one unit of privacy. A key says whose children a
table's rows are, how many of one parent are kept at most, and by which column they are ordered if they are events.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from synth.errors import InputError
from synth.schema.column import Column, repeated
from synth.schema.table import Schema, read
from synth.schema.table import parse as parse_table

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")  # of a table: it becomes a file's name, and part of a column's
NUMBER = "number of "  # a count of children stands beside its parent's columns under this name
MOST_CHILDREN = 50  # of one parent under one key
MOST_BELOW = 10_000  # rows of one table below one root
LEVELS = 3  # of tables, the root included


class Key(BaseModel):
    """Whose children the rows of a table are: the ``child``'s ``columns`` hold its parent's ``parent_columns``.

    ``most_children``: how many of one parent are kept, drawn at random. ``order``: the child's column by which one
    parent's rows follow each other in time: a number, a date, or an identifier whose numbers rise.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    parent: str
    child: str
    columns: tuple[str, ...] = Field(min_length=1)
    parent_columns: tuple[str, ...] | None = Field(default=None, min_length=1)
    most_children: int = Field(ge=1, le=MOST_CHILDREN)
    order: str | None = None

    @property
    def referred(self) -> tuple[str, ...]:
        """The parent's columns; by default they are called as the child's."""
        return self.parent_columns or self.columns


class Related(BaseModel):
    """The public facts of a tree of tables.

    **Guarantee**: what ``parse`` returns is one tree, in which every table but the root has one parent.

    Privacy: public only.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ignored_types=(cached_property,))

    dataset: str | None = None
    tables: dict[str, Schema]
    keys: tuple[Key, ...]

    @cached_property
    def root(self) -> str:
        """The table whose rows are the units."""
        below = {k.child for k in self.keys}
        return next(n for n in self.tables if n not in below)

    @cached_property
    def downwards(self) -> tuple[str, ...]:
        """All tables, each after its parent."""
        found = [self.root]
        for name in found:
            found += [k.child for k in self.keys_below(name)]
        return tuple(found)

    def key_above(self, table: str) -> Key | None:
        """The key to the parent; None for the root."""
        return next((k for k in self.keys if k.child == table), None)

    def keys_below(self, table: str) -> list[Key]:
        """The keys of its children."""
        return [k for k in self.keys if k.parent == table]

    def upwards(self, table: str) -> list[str]:
        """The table, its parent, and so on to the root."""
        found = [table]
        while (key := self.key_above(found[-1])) is not None:
            found.append(key.parent)
        return found

    def most_rows(self, table: str) -> int:
        """How many rows of the table one root has at most."""
        keys = [self.key_above(n) for n in self.upwards(table)]
        return prod(k.most_children for k in keys if k is not None)

    def key_columns(self, table: str) -> list[str]:
        """The table's columns that keys are about."""
        above = self.key_above(table)
        own = [n for k in self.keys_below(table) for n in k.referred]
        return list(dict.fromkeys([*own, *(above.columns if above else ())]))

    def learnt(self, table: str) -> Schema:
        """The table as a generator sees it: its measured columns, and the numbers of children under each key."""
        schema = self.tables[table]
        numbers = {number_of(k.child): Column(type="integer", min=0, max=k.most_children, source="public")
                   for k in self.keys_below(table)}  # fmt: skip
        return schema.model_copy(update={"columns": {**schema.measured(), **numbers}, "constraints": None})

    def to_json(self) -> str:
        """The schema as JSON text, each table as a single table's schema is written."""
        plain = self.model_dump(mode="json", exclude_none=True, exclude={"tables"})
        tables = {name: json.loads(schema.to_json()) for name, schema in self.tables.items()}
        return json.dumps({**plain, "tables": tables}, indent=2, ensure_ascii=False) + "\n"


def number_of(child: str) -> str:
    """The column of a parent that says how many children it has in a table.

    >>> number_of("stays")
    'number of stays'
    """
    return NUMBER + child


def is_related(plain: object) -> bool:
    """Whether JSON data describes several tables.

    >>> is_related({"tables": {}, "keys": []}), is_related({"columns": {}})
    (True, False)
    """
    return isinstance(plain, Mapping) and "tables" in plain


def parse(plain: object, *, name: str = "schema") -> Related:
    """A checked schema of related tables from plain JSON data. Errors: InputError naming table, key and rule.

    Privacy: public only.
    """
    if not isinstance(plain, Mapping) or not isinstance(plain.get("tables"), Mapping):
        raise InputError(f"{name}: related tables need an object `tables`, a schema under each table's name")
    tables = {str(n): parse_table(facts, name=f"{name}: table {n}") for n, facts in plain["tables"].items()}
    try:
        found = Related.model_validate({**plain, "tables": tables})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(str(p) for p in fault["loc"])
        rule = "is no fact of related tables; remove it" if fault["type"] == "extra_forbidden" else fault["msg"]
        raise InputError(f"{name}: {where}: {rule}") from None
    for problem in problems(found):
        raise InputError(f"{name}: {problem}")
    return found


def load(path: str | Path) -> Related:
    """The schema of related tables in a JSON file. Errors: InputError. Privacy: public only."""
    return parse(read(path), name=f"schema {path}")


def problems(schema: Related) -> Iterator[str]:
    """Yields a sentence for each rule that the schema breaks."""
    yield from _table_problems(schema)
    for key in schema.keys:
        yield from _key_problems(schema, key)
    yield from _tree_problems(schema)


def _table_problems(schema: Related) -> Iterator[str]:
    if len(schema.tables) < 2:
        yield "related tables are two or more; for one table write its schema alone"
    if twice := repeated(n.casefold() for n in schema.tables):
        yield f"two tables are called {twice!r} but for capitals; their files could not be told apart"
    for name, table in schema.tables.items():
        if not NAME.fullmatch(name):
            yield f"table {name!r}: a name is of letters, digits, - and _, since it becomes a file's"
        if table.person is not None:
            yield f"table {name}: leave out unit and max_rows; the unit is a row of the root with everything below it"
        if not table.measured():
            yield f"table {name}: every column is an identifier; there is nothing to learn"
        if taken := [n for n in table.columns if n.startswith(NUMBER) and n.removeprefix(NUMBER) in schema.tables]:
            yield f"table {name}: column {taken[0]!r} is what the count of children is called; rename it"


def _key_problems(schema: Related, key: Key) -> Iterator[str]:
    about = f"key of {key.child} to {key.parent}"
    for role, table in (("parent", key.parent), ("child", key.child)):
        if table not in schema.tables:
            yield f"{about}: {role} {table!r} is not among the tables ({', '.join(schema.tables)})"
            return
    if key.parent == key.child:
        yield f"{about}: a table cannot be its own parent"
    if len(key.referred) != len(key.columns):
        yield f"{about}: it names {len(key.columns)} columns of {key.child} and {len(key.referred)} of {key.parent}"
    for table, columns in ((key.child, key.columns), (key.parent, key.referred)):
        for name in columns:
            column = schema.tables[table].columns.get(name)
            if column is None:
                yield f"{about}: {name!r} is not among the columns of {table}"
            elif column.type != "identifier":
                yield f"{about}: {table}.{name} is of type {column.type}; a key's columns are identifiers"
        if twice := repeated(columns):
            yield f"{about}: it names {table}.{twice} twice"
    yield from _order_problems(schema, key, about)


def _order_problems(schema: Related, key: Key, about: str) -> Iterator[str]:
    if key.order is None:
        return
    column = schema.tables[key.child].columns.get(key.order)
    if column is None:
        yield f"{about}: order {key.order!r} is not among the columns of {key.child}"
    elif not (column.is_numeric or column.type in ("ordinal", "identifier")) or key.order in key.columns:
        yield f"{about}: order {key.child}.{key.order} must be a number, date, ordinal, or own identifier"


def _tree_problems(schema: Related) -> Iterator[str]:
    if twice := repeated(k.child for k in schema.keys):
        parents = ", ".join(k.parent for k in schema.keys if k.child == twice)
        yield (f"table {twice} has several parents ({parents}); keep one: of another table's key a column, grouped or "
               "left out, can stay")  # fmt: skip
        return
    roots = [n for n in schema.tables if n not in {k.child for k in schema.keys}]
    if not roots:
        yield "its keys go in a circle; one table must be the root, the child of none"
        return
    if len(roots) > 1:
        yield f"tables {', '.join(roots)} have no parent; one alone is the root, so each other one needs a key"
        return
    if lost := set(schema.tables) - set(schema.downwards):
        yield f"the keys of {', '.join(sorted(lost))} go in a circle, which the root does not reach"
        return
    for name in schema.tables:
        if len({k.referred for k in schema.keys_below(name)}) > 1:
            yield f"keys refer to different columns of {name}; one row has one key, so name the same columns"
        if len(schema.upwards(name)) > LEVELS:
            yield f"table {name} stands {len(schema.upwards(name))} levels deep; at most {LEVELS} are supported"
        elif schema.most_rows(name) > MOST_BELOW:
            yield f"table {name}: {schema.most_rows(name):,} rows below one root; at most {MOST_BELOW:,} are supported"
