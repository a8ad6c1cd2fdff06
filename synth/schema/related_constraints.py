"""Rules across related tables that everybody may know; they are kept on the synthetic side, no row is read for them."""

from collections.abc import Iterator

from synth.schema.column import Column
from synth.schema.table import Tables
from synth.schema.tree import Across, ends, placed


def problems(schema: Tables) -> Iterator[str]:
    """Yields a sentence for each rule across tables that cannot be kept as it is written."""
    for i, rule in enumerate(schema.across, start=1):
        for problem in _broken(schema, rule):
            yield f"constraint {i} across tables ({rule.kind}): {problem}"
    written = [rule_writes(schema, r) for r in schema.across if r.kind != "order"]
    for name in {n for n in written if written.count(n) > 1}:
        yield f"two constraints across tables decide {name}; keep one"


def _broken(schema: Tables, rule: Across) -> Iterator[str]:
    names = [n for n in (ends(rule)) if not (rule.kind == "count" and n == rule.child)]
    for name in names:
        table, column = placed(name)
        if table not in schema.tables or column not in schema.tables[table].measured():
            yield f"{name} is not a measured column; write TABLE.COLUMN"
            return
    writes = placed(rule_writes(schema, rule))
    if schema.tables[writes[0]].columns[writes[1]].within is not None:
        yield f"{'.'.join(writes)} lies within other areas, and is not changed after these follow from it"
        return
    if rule.kind == "count" and rule.child not in {k.child for k in schema.keys_below(placed(rule.parent)[0])}:
        yield f"{rule.child} is no table of children of {placed(rule.parent)[0]}"
        return
    yield from _kinds(schema, rule)


def _kinds(schema: Tables, rule: Across) -> Iterator[str]:
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


def _column(schema: Tables, name: str) -> Column:
    table, column = placed(name)
    return schema.tables[table].columns[column]


def _facts(column: Column) -> dict[str, object]:
    """What decides a column's positions."""
    reported = ("type", "categories", "min", "max", "decimals", "resolution", "nullable", "missing")
    return {n: getattr(column, n) for n in reported}


def rule_writes(schema: Tables, rule: Across) -> str:
    """The column that is changed where the rule does not hold: a child's, but for totals and counts."""
    if rule.kind == "order":
        low, high = placed(rule.low)[0], placed(rule.high)[0]
        return rule.high if low in schema.upwards(high) else rule.low
    return rule.child if rule.kind == "equal" else rule.parent
