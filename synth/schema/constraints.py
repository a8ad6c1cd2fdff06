"""Public rules across columns, of one table or of a table and one below it: what cannot be, what follows from what.

Constraints are facts like any other: declared by the steward, taken as public, never read off the rows. Sampling keeps
them: the last column that a broken rule names is drawn again from what the rest of its row allows, inside the row's own
component of the model. No row is thrown away. A column that a ``function`` rule gives for every row is not measured at
all, which leaves its budget to the others.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

NUMBER = "number of "  # a count of children stands beside its parent's columns under this name
Condition = dict[str, str]  # by column: a value, a|b, or low..high


class Rule(BaseModel):
    """What is publicly known of several columns together."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Impossible(Rule):
    """These conditions never hold together: ``{"kind": "impossible", "rows": {"age": "0..14", "married": "yes"}}``."""

    kind: Literal["impossible"]
    rows: Condition = Field(min_length=2)


class Fixed(Rule):
    """Only these combinations occur: ``{"kind": "fixed", "columns": [...], "combinations": [[...], ...]}``."""

    kind: Literal["fixed"]
    columns: tuple[str, ...] = Field(min_length=2)
    combinations: tuple[tuple[str, ...], ...] = Field(min_length=1)


class Function(Rule):
    """A column that others decide: ``table`` rows hold a condition for each column of ``of``, then the value.

    The first row that fits decides. ``otherwise``: the value where none fits; with it the column is not measured.
    """

    kind: Literal["function"]
    column: str
    of: tuple[str, ...] = Field(min_length=1)
    table: tuple[tuple[str, ...], ...] = Field(min_length=1)
    otherwise: str | None = None


class Order(Rule):
    """A number or date never above another, unless one is missing: ``{"kind": "order", "low": .., "high": ..}``.

    Across tables, the one stands in a table above or below the other's; both are TABLE.COLUMN then.
    """

    kind: Literal["order"]
    low: str
    high: str


class Missing(Rule):
    """A column that is missing when the conditions hold; with ``only``, never otherwise."""

    kind: Literal["missing"]
    column: str
    when: Condition = Field(min_length=1)
    only: bool = False


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


class Refers(Rule):
    """A second parent: the child's column holds the key of a row of another table, of the same unit.

    It is one of those rows that belong, as the child does, to a row of the nearest table above both. Children of one
    parent refer to different rows while there are any. ``share``: of the children that refer to one at all.
    """

    kind: Literal["refers"]
    child: str
    parent: str
    share: float = Field(default=1.0, gt=0, le=1)


class Within(Rule):
    """A column that follows from the areas below it (areas.py): made of columns, not stated among constraints."""

    kind: Literal["within"]
    child: str
    parent: str


Constraint = Annotated[Impossible | Fixed | Function | Order | Missing, Field(discriminator="kind")]
Across = Annotated[Equal | Total | Count | Refers | Order, Field(discriminator="kind")]


def columns_of(rule: Constraint | Within) -> tuple[str, ...]:
    """Every column that a rule names; the last is the one drawn again where the rule is broken."""
    match rule:
        case Impossible():
            return tuple(rule.rows)
        case Fixed():
            return rule.columns
        case Function():
            return (*rule.of, rule.column)
        case Order():
            return (rule.low, rule.high)
        case Missing():
            return (*rule.when, rule.column)
        case Within():
            return (rule.child, rule.parent)


def derived(rules: Sequence[Constraint | Within]) -> list[str]:
    """Columns that rules give for every row, so that nothing about them needs to be asked."""
    functions = [r.column for r in rules if isinstance(r, Function) and r.otherwise is not None]
    return functions + [r.parent for r in rules if isinstance(r, Within)]


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
