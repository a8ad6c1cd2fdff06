"""What tables are to be used for: uses (uses.py), whose columns are named TABLE.COLUMN where there are several."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import combinations

from synth.errors import meant
from synth.schema import uses as named
from synth.schema.column import Column
from synth.schema.table import Schema, Tables
from synth.schema.tree import NUMBER, placed

GRAMMAR = {"by", "x", "across", "between", "compare", "predict", "of", "and", "columns", "column", "correlations", "np"}
WORD = re.compile(r"(?<![\w.`\"'])[^\W\d][\w.]*(?![\w.`\"']|\s*\()")  # of a formula: no function, nothing quoted


def columns(schema: Tables) -> dict[str, Column]:
    """All columns by TABLE.COLUMN, and of each parent its number of children, ``TABLE.number of CHILD``.

    Privacy: public only.
    """
    own = {schema.inner_name(t, n): c for t, s in schema.tables.items() for n, c in s.columns.items()}
    numbers = {
        f"{k.parent}.{NUMBER}{k.child}": Column(type="integer", min=0, max=k.most_children or 1, source="public")
        for k in schema.keys
    }
    return own | numbers


def measured(schema: Tables) -> dict[str, Column]:
    """Those of them that are learnt. Privacy: public only."""
    other = {schema.inner_name(t, n) for t, s in schema.tables.items() for n in s.columns.keys() - s.measured()}
    return {n: c for n, c in columns(schema).items() if n not in other}


def lowest(schema: Tables, names: Iterable[str]) -> str | None:
    """The table whose rows tell of all these columns, its own and those above it; None where no table's do.

    Privacy: public only.
    """
    if not schema.keys:
        return schema.root
    owners = {placed(n)[0] for n in names}
    return next((t for t in owners if owners <= {*schema.upwards(t)}), None)


def problems(schema: Tables) -> Iterator[str]:
    """A sentence for each rule that uses of related tables break."""
    uses, known = schema.uses or (), columns(schema)
    yield from named.problems(uses, known, measured(schema))
    for number, use in enumerate(uses if schema.keys else (), start=1):
        about = f"use {number} ({named.shown(use.words)})"
        tables = use.tables
        if isinstance(use, named.RegressionUse):
            text = quoted(use.formula, known)
            tables = (_in_quotes(text),)
            for name in sorted({*tables[0]} - known.keys()) or WORD.findall(named.without_quotes(text)[0]):
                yield f"{about}: {name!r} is not among the columns; {meant(name, known)}"
        for table in tables:
            if known.keys() >= {*table} and table and lowest(schema, table) is None:
                yield (
                    f"{about}: {named.quoted(table[0])} and its others stand in tables of which none is below all; "
                    "name columns of one table and of those above it"
                )


def quoted(formula: str, known: Iterable[str]) -> str:
    """The formula with all columns that it names as TABLE.COLUMN in backquotes.

    >>> quoted("log(b.y) ~ a.x + `a.a name`", ["a.x", "b.y", "a.a name"])
    'log(`b.y`) ~ `a.x` + `a.a name`'
    """
    text, names = named.without_quotes(formula)
    marked = re.sub(_any_of(known), lambda m: f"`{m[0]}`", text)
    return named.restored(marked, [f"`{n}`" for n in names])


def _any_of(names: Iterable[str]) -> str:
    """A pattern of these names as words of a text, of names within names the longest."""
    every = "|".join(re.escape(n) for n in sorted(names, key=len, reverse=True))
    return rf"(?<![\w.\"'])(?:{every})(?![\w.\"'])"


def _in_quotes(formula: str) -> named.Named:
    return tuple(dict.fromkeys(named.without_quotes(formula)[1]))


def of_formula(schema: Tables, use: named.RegressionUse) -> tuple[Schema, named.RegressionUse]:
    """A regression as one on a single table: the columns that it names, TABLE.COLUMN, and its formula on them.

    Privacy: public only.
    """
    if not schema.keys:
        return schema.tables[schema.root], use
    every = columns(schema)
    text = quoted(use.formula, every)
    own = {n: every[n].model_copy(update={"within": None}) for n in _in_quotes(text) if n in every}
    return Schema.model_construct(columns=own), use.model_copy(update={"formula": text})


def of_plan(
    text: str, known: Collection[str], find: Callable[[str], tuple[str, str]] = placed
) -> tuple[list[named.Use], list[str]]:
    """As ``uses.of_plan`` of columns TABLE.COLUMN; a column that one table alone has may stand without it.

    ``find``: the table and the column that a name means.

    Privacy: public only.

    >>> uses, _ = of_plan("How do days differ by sex?\\ndays ~ sex", ["stays.days", "patients.sex"])
    >>> [u.words for u in uses]
    ['stays.days by patients.sex', 'stays.days ~ patients.sex']
    """
    many = Counter(find(n)[1].casefold() for n in known)
    short = {find(n)[1].casefold(): n for n in known if find(n)[1] != n and many[find(n)[1].casefold()] == 1}
    short = {s: n for s, n in short.items() if s not in GRAMMAR}
    return named.of_plan("\n".join(_in_full(line, short) for line in text.splitlines()), known)


def _in_full(line: str, short: dict[str, str]) -> str:
    """A line with its short names as TABLE.COLUMN, but for the weight behind it."""
    if not short:
        return line
    weight = named.WEIGHT.search(line)
    body, end = (line[: weight.start()], line[weight.start() :]) if weight else (line, "")
    text, names = named.without_quotes(body)
    full = [short.get(n.casefold(), n) for n in names]
    text = re.sub(_any_of(short), lambda m: named.quoted(short[m[0].casefold()]), text, flags=re.I)
    return named.restored(text, [f"`{n}`" for n in full]) + end


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


def beside(schema: Tables, name: str, others: Iterable[str]) -> list[str]:
    """Of ``others`` those of which a table's rows tell together with the column. Privacy: public only."""
    return [n for n in others if n != name and lowest(schema, (name, n)) is not None]
