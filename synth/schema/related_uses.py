"""What related tables are to be used for: uses (uses.py) whose columns are named TABLE.COLUMN."""

from collections.abc import Iterable, Iterator
from itertools import combinations

from synth.schema import uses as named
from synth.schema.column import Column
from synth.schema.tree import NUMBER, Tree, placed


def columns(schema: Tree) -> dict[str, Column]:
    """All columns by TABLE.COLUMN, and of each parent its number of children, ``TABLE.number of CHILD``.

    Privacy: public only.
    """
    own = {f"{t}.{n}": c for t, s in schema.tables.items() for n, c in s.columns.items()}
    numbers = {
        f"{k.parent}.{NUMBER}{k.child}": Column(type="integer", min=0, max=k.most_children or 1, source="public")
        for k in schema.keys
    }
    return own | numbers


def measured(schema: Tree) -> dict[str, Column]:
    """Those of them that are learnt. Privacy: public only."""
    learnt = {f"{t}.{n}" for t, s in schema.tables.items() for n in s.measured()}
    return {n: c for n, c in columns(schema).items() if n in learnt or placed(n)[1].startswith(NUMBER)}


def lowest(schema: Tree, names: Iterable[str]) -> str | None:
    """The table whose rows tell of all these columns, its own and those above it; None where no table's do.

    Privacy: public only.
    """
    owners = {placed(n)[0] for n in names}
    return next((t for t in owners if owners <= {*schema.upwards(t)}), None)


def problems(schema: Tree) -> Iterator[str]:
    """A sentence for each rule that uses of related tables break."""
    uses, known = schema.uses or (), columns(schema)
    yield from named.problems(uses, known, measured(schema))
    for number, use in enumerate(uses, start=1):
        about = f"use {number} ({named.shown(use.words)})"
        if isinstance(use, named.RegressionUse):
            yield f"{about}: of related tables no regression is named yet; name the tables of its columns"
        for table in use.tables:
            if known.keys() >= {*table} and lowest(schema, table) is None:
                yield (
                    f"{about}: {named.quoted(table[0])} and its others stand in tables of which none is below all; "
                    "name columns of one table and of those above it"
                )


def pairs(tables: Iterable[named.Named]) -> list[named.Named]:
    """What is counted of these tables: their pairs, each once; single columns as they are.

    >>> pairs([("a.x", "b.y", "b.z"), ("a.x",)])
    [('a.x', 'b.y'), ('a.x', 'b.z'), ('b.y', 'b.z'), ('a.x',)]
    """
    made: dict[frozenset[str], named.Named] = {}
    for table in tables:
        split: list[named.Named] = [*combinations(table, 2)] or [table]
        for one in split:
            made.setdefault(frozenset(one), one)
    return list(made.values())


def beside(schema: Tree, name: str, others: Iterable[str]) -> list[str]:
    """Of ``others`` those of which a table's rows tell together with the column. Privacy: public only."""
    return [n for n in others if n != name and lowest(schema, (name, n)) is not None]
