"""The rules that a schema of related tables keeps: one tree, sound keys, a public table for every reference."""

from collections.abc import Collection, Iterator

from synth.schema import histories, related_uses
from synth.schema.column import CATEGORICAL, Column, repeated
from synth.schema.names import FILE_NAME, canonical
from synth.schema.table import Tables
from synth.schema.tree import MOST_CHILDREN, NUMBER, Across, Key, PublicTable, below, ends, placed

MOST_BELOW = 10_000  # rows of one table below one root
LEVELS = 3  # of tables, the root included


def problems(schema: Tables, complete: bool = True) -> Iterator[str]:
    """Yields a sentence for each rule that the schema breaks; ``complete``: nothing may be absent or left open."""
    if complete:
        yield from undecided(schema)
    yield from _table_problems(schema, complete)
    for key in schema.keys:
        yield from _key_problems(schema, key)
    yield from _tree_problems(schema)
    for name, public in (schema.public or {}).items():
        yield from _public_problems(schema, name, public)
    yield from _across_problems(schema)
    yield from related_uses.problems(schema)


def undecided(schema: Tables) -> Iterator[str]:
    """Yields a sentence for what a draft left open and each key without a bound: no row is read before."""
    if schema.open:
        yield f"left open by the draft: {schema.open[0]} Decide, and take the line out of `open`"
    for key in schema.keys:
        if not key.most_children:
            yield (
                f"key of {key.child} to {key.parent}: most_children is missing, how many rows of one parent are "
                f"kept (1 to {MOST_CHILDREN}); state it from knowledge of the field"
            )


def not_learnable(schema: Tables, lacking: Collection[str]) -> Iterator[str]:
    """Yields a sentence for each of the ``lacking`` columns (TABLE.COLUMN) whose facts have to be another column's."""
    for name, public in (schema.public or {}).items():
        for table, columns in public.references:
            for one in (f"{table}.{c}" for c in columns if f"{table}.{c}" in lacking):
                yield f"{one} refers to the public table {name}, so nothing of it is to be learnt; state its categories"
    for rule in schema.across:
        for one in (n for n in ends(rule) if rule.kind == "equal" and n in lacking):
            yield f"{one} has the facts of another column by a rule across tables (equal); state them for both"


def _table_problems(schema: Tables, complete: bool) -> Iterator[str]:
    if len(schema.tables) < 2:
        yield "related tables are two or more; for one table write its schema alone"
    if twice := repeated(n.casefold() for n in schema.tables):
        yield f"two tables are called {twice!r} but for capitals; their files could not be told apart"
    for name, table in schema.tables.items():
        if not FILE_NAME.fullmatch(name):
            yield f"table {name!r}: a name is of letters, digits, - and _, since it becomes a file's"
        if canonical(name) == "row":
            yield f"table {name!r}: as a unit, that word means each row by itself; rename the table"
        if table.person is not None:
            yield f"table {name}: leave out unit and max_rows; the unit is a key of the root with everything below it"
        if table.uses:
            yield f"table {name}: uses of related tables stand beside the tables, with columns as TABLE.COLUMN"
        if alone := [what for what in ("linked", "order") if getattr(table, what) is not None] + table.of_unit:
            yield f"table {name}: {alone[0]} is for one table in which persons repeat; leave it out"
        if complete and not table.measured():
            yield f"table {name}: every column is an identifier; there is nothing to learn"
        if taken := [n for n in table.columns if n.startswith(NUMBER) and n.removeprefix(NUMBER) in schema.tables]:
            yield f"table {name}: column {taken[0]!r} is what the count of children is called; rename it"
        if clash := set(table.columns) & histories.named(table.measured(), schema.key_above(name)):
            yield f"table {name}: column {min(clash)!r} is called as what is derived from the rows' order; rename it"


def _key_problems(schema: Tables, key: Key) -> Iterator[str]:
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
    yield from _pattern_problems(schema, key, about)
    yield from _order_problems(schema, key, about)


def _pattern_problems(schema: Tables, key: Key, about: str) -> Iterator[str]:
    for own, theirs in zip(key.columns, key.referred, strict=False):
        child, parent = (schema.tables[t].columns.get(n) for t, n in ((key.child, own), (key.parent, theirs)))
        if child and parent and child.pattern not in (None, parent.pattern):
            yield f"{about}: {key.child}.{own} holds the keys of {key.parent}; state the pattern there alone"


def _order_problems(schema: Tables, key: Key, about: str) -> Iterator[str]:
    if key.order is None:
        return
    column = schema.tables[key.child].columns.get(key.order)
    if column is None:
        yield f"{about}: order {key.order!r} is not among the columns of {key.child}"
    elif not (column.is_numeric or column.type in ("ordinal", "identifier")) or key.order in key.columns:
        yield f"{about}: order {key.child}.{key.order} must be a number, date, ordinal, or own identifier"


def _tree_problems(schema: Tables) -> Iterator[str]:
    if twice := repeated(k.child for k in schema.keys):
        yield _several_parents(schema, twice)
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


def _several_parents(schema: Tables, child: str) -> str:
    """Why one parent alone can be a table's, and what can become of the others."""
    keys = [k for k in schema.keys if k.child == child]
    parents = ", ".join(k.parent for k in keys)
    by = "; ".join(f"{k.parent} by {', '.join(k.columns)}" for k in keys)
    above = [set(below(k.parent, [(e.child, e.parent) for e in schema.keys])) for k in keys]
    again = sorted(above[0] & above[1] - {child})
    shape = f"both lead to {again[0]}, " if again else ""
    return (
        f"table {child} has several parents ({parents}); keep one: {by}: {shape}and a row under two units is protected "
        "as one of neither. Of another table's key a column, grouped or left out, can stay; a table that everybody may "
        f'have goes under "public", with "referred_by": ["{child}.{keys[-1].columns[0]}"], a column of categories'
    )


def _public_problems(schema: Tables, name: str, public: PublicTable) -> Iterator[str]:
    about = f"public table {name}"
    if name in schema.tables:
        yield f"{about}: it is among the tables that are made too; keep it in one of both"
    elif not FILE_NAME.fullmatch(name):
        yield f"{about}: a name is of letters, digits, - and _, since it becomes a file's"
    elif name.casefold() in {n.casefold() for n in schema.tables}:
        yield f"{about}: a table is called the same but for capitals; their files could not be told apart"
    if len(set(public.keys)) < len(public.keys) or not public.keys:
        yield f"{about}: its key must name one column, or several different ones"
    for reference, (table, columns) in zip(public.referred_by, public.references, strict=True):
        there = schema.tables[table].columns if table in schema.tables else {}
        if len(columns) != len(public.keys):
            yield (
                f"{about}: {reference!r} names {len(columns)} columns and its key has {len(public.keys)}; write "
                "TABLE.COLUMN+COLUMN in the key's order"
            )
        for name in columns:
            column = there.get(name)
            if column is None:
                yield f"{about}: {reference!r} is no column of the tables; write TABLE.COLUMN"
            elif column.type not in CATEGORICAL or column.grouping is not None:
                yield (
                    f"{about}: {table}.{name} must be categorical and ungrouped, its categories values of "
                    f"{', '.join(public.keys)}"
                )
            elif len(columns) > 1 and column.missing_codes:
                yield f"{about}: {table}.{name} is part of a reference, so it has no missing codes; leave them out"


def _across_problems(schema: Tables) -> Iterator[str]:
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
    if rule.kind == "equal" and _positions(a) != _positions(b):
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


def _positions(column: Column) -> dict[str, object]:
    """What decides a column's positions."""
    reported = ("type", "categories", "min", "max", "decimals", "resolution", "nullable", "missing")
    return {n: getattr(column, n) for n in reported}


def rule_writes(schema: Tables, rule: Across) -> str:
    """The column that is changed where the rule does not hold: a child's, but for totals and counts."""
    if rule.kind == "order":
        low, high = placed(rule.low)[0], placed(rule.high)[0]
        return rule.high if low in schema.upwards(high) else rule.low
    return rule.child if rule.kind == "equal" else rule.parent
