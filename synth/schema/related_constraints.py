"""Rules across related tables that everybody may know; they are kept on the synthetic side, no row is read for them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from synth.schema.column import Column
    from synth.schema.dataset import Dataset


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


def problems(schema: "Dataset") -> Iterator[str]:
    """Yields a sentence for each rule across tables that cannot be kept as it is written."""
    for i, rule in enumerate(schema.constraints or (), start=1):
        for problem in _broken(schema, rule):
            yield f"constraint {i} across tables ({rule.kind}): {problem}"
    written = [rule_writes(schema, r) for r in schema.constraints or () if r.kind != "order"]
    for name in {n for n in written if written.count(n) > 1}:
        yield f"two constraints across tables decide {name}; keep one"


def _broken(schema: "Dataset", rule: Equal | Total | Count | Order) -> Iterator[str]:
    names = [n for n in (ends(rule)) if not (rule.kind == "count" and n == rule.child)]
    for name in names:
        table, column = placed(name)
        if table not in schema.tables or column not in schema.tables[table].measured():
            yield f"{name} is not a measured column; write TABLE.COLUMN"
            return
    if rule.kind == "count" and rule.child not in {k.child for k in schema.keys_below(placed(rule.parent)[0])}:
        yield f"{rule.child} is no table of children of {placed(rule.parent)[0]}"
        return
    yield from _kinds(schema, rule)


def ends(rule: Equal | Total | Count | Order) -> tuple[str, str]:
    """What a rule is about: parent and child, or low and high."""
    return (rule.low, rule.high) if rule.kind == "order" else (rule.parent, rule.child)


def _kinds(schema: "Dataset", rule: Equal | Total | Count | Order) -> Iterator[str]:
    one, other = ends(rule)
    if rule.kind == "count":
        if _column(schema, one).type != "integer":
            yield f"{one} must be an integer, to hold a number of children"
        return
    upper, lower = placed(one)[0], placed(other)[0]
    if rule.kind == "order" and upper not in schema.upwards(lower):
        upper, lower = lower, upper
    if upper == lower or upper not in schema.upwards(lower):
        yield f"{upper} does not stand above {lower}; a rule is between a table and one below it"
        return
    a, b = _column(schema, one), _column(schema, other)
    if rule.kind == "equal" and _facts(a) != _facts(b):
        yield f"{one} and {other} must have the same type, categories or bounds, and missing codes"
    if rule.kind == "total":
        if upper != schema.upwards(lower)[1]:
            yield f"{upper} is not the parent of {lower}; a total is of a parent's own children"
        if not (a.type in ("integer", "float") and b.type in ("integer", "float")):
            yield f"{one} and {other} must be numbers"
    if rule.kind == "order" and not (
        a.is_numeric and b.is_numeric and (a.type == "datetime") == (b.type == "datetime")
    ):
        yield f"{one} and {other} must be two numbers or two dates"


def _column(schema: "Dataset", name: str) -> "Column":
    table, column = placed(name)
    return schema.tables[table].columns[column]


def _facts(column: "Column") -> dict[str, object]:
    """What decides a column's positions."""
    reported = ("type", "categories", "min", "max", "decimals", "resolution", "nullable", "missing")
    return {n: getattr(column, n) for n in reported}


def rule_writes(schema: "Dataset", rule: Equal | Total | Count | Order) -> str:
    """The column that is changed where the rule does not hold: a child's, but for totals and counts."""
    if rule.kind == "order":
        low, high = placed(rule.low)[0], placed(rule.high)[0]
        return rule.high if low in schema.upwards(high) else rule.low
    return rule.child if rule.kind == "equal" else rule.parent
