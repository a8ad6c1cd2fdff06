"""Tables joined by keys: what a key, a public table and a rule across tables state, and the ways through the tree."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from synth.schema.constraints import Order, Rule

ONE = "synthetic"  # what a release calls a table that has no others beside it
NUMBER = "number of "  # a count of children stands beside its parent's columns under this name
MOST_CHILDREN = 500  # rows of one person, or of one parent under one key
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


class Equal(Rule):
    """The child's column repeats that of a table above it: both as TABLE.COLUMN."""

    kind: Literal["equal"]
    child: str
    parent: str


class Total(Rule):
    """The parent's column is the sum of its children's; an empty cell counts as nothing."""

    kind: Literal["total"]
    parent: str
    child: str


class Count(Rule):
    """The parent's column is its number of children in a table."""

    kind: Literal["count"]
    parent: str
    child: str


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


def below(root: str, keys: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The root and all tables below it, each after its parent; ``keys``: (parent, child).

    >>> below("patients", [("stays", "acts"), ("patients", "stays")])
    ('patients', 'stays', 'acts')
    """
    results = [root]
    for name in results:
        results += [child for parent, child in keys if parent == name and child not in results]
    return tuple(results)
