"""Tables joined by keys: what a key, a public table and a rule across tables state, and the ways through the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from synth.schema.column import Column
from synth.schema.persons_rules import MOST_CHILDREN

if TYPE_CHECKING:
    from synth.schema import uses as uses_of
    from synth.schema.table import Schema

ONE = "synthetic"  # what a release calls a table that has no others beside it
NUMBER = "number of "  # a count of children stands beside its parent's columns under this name
Vouched = Literal["public", "declared", "unconfirmed"]


class Key(BaseModel):
    """Whose children the rows of a table are: the ``child``'s ``columns`` hold its parent's ``parent_columns``.

    ``most_children``: how many of one parent are kept, drawn at random; 0 while nobody has stated it. ``order``: the
    child's column by which one parent's rows follow each other in time: a number, a date, or an identifier whose
    numbers rise. ``source``: who vouches for all of it; nothing said is ``declared``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    parent: str
    child: str
    columns: tuple[str, ...] = Field(min_length=1)
    parent_columns: tuple[str, ...] | None = Field(default=None, min_length=1)
    most_children: int = Field(default=0, ge=1, le=MOST_CHILDREN)
    order: str | None = None
    source: Vouched | None = None

    @property
    def referred(self) -> tuple[str, ...]:
        """The parent's columns; by default they are called as the child's."""
        return self.parent_columns or self.columns


class PublicTable(BaseModel):
    """A table that everybody may have, to which private rows refer: copied into the release, never synthesized.

    ``key``: its column that tells its rows apart, or several. ``referred_by``: TABLE.COLUMN of each reference, a column
    of categories that are values of the key; of several columns TABLE.COLUMN+COLUMN, in the key's order.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str | tuple[str, ...]
    referred_by: tuple[str, ...] = Field(min_length=1)
    source: Vouched | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        return (self.key,) if isinstance(self.key, str) else self.key

    @property
    def references(self) -> list[tuple[str, tuple[str, ...]]]:
        """Table and columns of each reference."""
        parts = [reference.partition(".") for reference in self.referred_by]
        return [(t, (c,) if len(self.keys) == 1 else tuple(c.split("+"))) for t, _, c in parts]


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Equal(_Rule):
    """The child's column repeats that of a table above it: both as TABLE.COLUMN."""

    kind: Literal["equal"]
    child: str
    parent: str


class Total(_Rule):
    """The parent's column is the sum of its children's; an empty cell counts as nothing."""

    kind: Literal["total"]
    parent: str
    child: str


class Count(_Rule):
    """The parent's column is its number of children in a table."""

    kind: Literal["count"]
    parent: str
    child: str


class Order(_Rule):
    """A number or date is never above another, of a table above or below it, unless one is missing."""

    kind: Literal["order"]
    low: str
    high: str


Across = Annotated[Equal | Total | Count | Order, Field(discriminator="kind")]


def placed(name: str) -> tuple[str, str]:
    """Table and column of TABLE.COLUMN.

    >>> placed("stays.day")
    ('stays', 'day')
    """
    table, _, column = name.partition(".")
    return table, column


def ends(rule: Across) -> tuple[str, str]:
    """What a rule is about: parent and child, or low and high."""
    return (rule.low, rule.high) if rule.kind == "order" else (rule.parent, rule.child)


class Tables:
    """What is known of one table or of several, asked alike: which there are, how they hang together, what their
    columns are called.

    One table has no key, and its columns go by their own names; those of several by TABLE.COLUMN.
    """

    if TYPE_CHECKING:

        @property
        def dataset(self) -> str | None: ...
        @property
        def tables(self) -> Mapping[str, Schema]: ...
        @property
        def keys(self) -> tuple[Key, ...]: ...
        @property
        def public(self) -> Mapping[str, PublicTable] | None: ...
        @property
        def constraints(self) -> tuple[Any, ...] | None: ...
        @property
        def uses(self) -> tuple[uses_of.Use, ...] | None: ...
        @property
        def open(self) -> tuple[str, ...] | None: ...

    @cached_property
    def root(self) -> str:
        """The table whose rows are the units."""
        below = {k.child for k in self.keys}
        return next(n for n in self.tables if n not in below)

    @cached_property
    def downwards(self) -> tuple[str, ...]:
        """All tables, each after its parent."""
        return below(self.root, [(k.parent, k.child) for k in self.keys])

    def key_above(self, table: str) -> Key | None:
        """The key to the parent; None for the root."""
        return next((k for k in self.keys if k.child == table), None)

    def keys_below(self, table: str) -> list[Key]:
        """The keys of its children."""
        return [k for k in self.keys if k.parent == table]

    def upwards(self, table: str) -> list[str]:
        """The table, its parent, and so on to the root."""
        results = [table]
        while (key := self.key_above(results[-1])) is not None:
            results.append(key.parent)
        return results

    def most_rows(self, table: str) -> int:
        """How many rows of the table one root has at most."""
        keys = [self.key_above(n) for n in self.upwards(table)]
        return prod(k.most_children for k in keys if k is not None)

    def key_columns(self, table: str) -> list[str]:
        """The table's columns that keys are about."""
        above = self.key_above(table)
        own = [n for k in self.keys_below(table) for n in k.referred]
        return list(dict.fromkeys([*own, *(above.columns if above else ())]))

    @property
    def written(self) -> Mapping[str, Schema]:
        """The tables as files hold them."""
        return self.tables

    @property
    def across(self) -> tuple[Across, ...]:
        """The rules between its tables."""
        return self.constraints or ()

    @property
    def several(self) -> bool:
        """Whether more than one table is written."""
        return bool(self.keys)

    @property
    def one_table(self) -> bool:
        """Whether its tree is written as one table, whose persons keep their rows."""
        return bool(self.keys) and not self.several

    def file_of(self, table: str) -> str:
        """Which of the written tables has a table's rows."""
        return table

    def texts(self, file: str) -> list[str]:
        """A written table's columns that are read as text: of keys, and an identifier by which rows are ordered."""
        key = self.key_above(file)
        order = [key.order] if key is not None and key.order is not None else []
        unread = [n for n in order if self.tables[file].columns[n].type == "identifier"]
        return [*self.key_columns(file), *unread]

    def changed(self, how: Callable[[Any], Any]) -> Any:
        """The schema that somebody wrote, changed; of persons and their rows both again."""
        return how(self)

    def name_of(self, table: str, column: str) -> str:
        """What a table's column is called outside."""
        return f"{table}.{column}"

    def inner_name(self, table: str, column: str) -> str:
        """What a table's column is called where methods count it."""
        return f"{table}.{column}"

    def find(self, name: str) -> tuple[str, str]:
        """The table and the column that a name from outside means."""
        return placed(name)

    @property
    def all_columns(self) -> dict[str, Column]:
        """All columns by these names."""
        return {self.name_of(t, n): c for t, s in self.tables.items() for n, c in s.columns.items()}


def below(root: str, keys: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The root and all tables below it, each after its parent; ``keys``: (parent, child).

    >>> below("patients", [("stays", "acts"), ("patients", "stays")])
    ('patients', 'stays', 'acts')
    """
    results = [root]
    for name in results:
        results += [child for parent, child in keys if parent == name and child not in results]
    return tuple(results)
