"""What is publicly known of tables that belong together: a schema each, and the keys that make them a tree.

One table is the root: each of its rows, with everything below it, is one unit of privacy. A key says whose children a
table's rows are, how many of one parent are kept at most, and by which column they are ordered if they are events.

One table in which persons repeat is such a tree too: persons, and their rows. The two are made of the one by public
facts alone, row by row: a row of the table is a row of both, and its person's key in both. So what happens to one
person's rows here happens to one root there, and the proof of related tables is the proof of this
(mechanisms/linked.md).
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from synth.errors import InputError, UsageError
from synth.languages import Said, joined
from synth.schema import histories
from synth.schema import uses as uses_of
from synth.schema.column import CATEGORICAL, NUMERIC, UNREAD, Column, repeated
from synth.schema.constraints import NUMBER, Across, Constraint, Order, columns_of, ends, placed
from synth.schema.names import FILE_NAME, canonical
from synth.schema.table import (
    MOST_CHILDREN,
    ONE,
    UNCONFIRMED,
    Key,
    Learnt,
    PublicTable,
    Schema,
    Tables,
    below,
    children,
    read,
)
from synth.schema.table import parse as parse_table

PERSONS, ROWS = "persons", "rows"
STARTERS = Path(__file__).parent / "starters"  # schemas of well-known data models, a file each
MOST_BELOW = 10_000  # rows of one table below one root
LEVELS = 3  # of tables, the root included
FAULTS = {
    "extra_forbidden": Said("is no fact of related tables; remove it"),
    "missing": Said("it is missing; state it"),
}
RULES = {
    "most_children": Said("must be a whole number from 1 to {}, how many rows of one parent are kept", MOST_CHILDREN),
    "columns": "must list the child's columns, at least one",
    "parent_columns": "must list the parent's columns, as many as the child's",
}
POSITIONS = ("type", "categories", "min", "max", "decimals", "resolution", "nullable", "missing")  # which decide them


class Dataset(Tables, BaseModel):
    """The public facts of a tree of tables. ``open``: what a draft leaves for the steward to decide; ``learnt``: what
    it cost to learn its ``private`` facts, for a key of the root with everything below it. ``flat``: the one table
    whose persons keep their rows, if it is one; ``uses`` are then that table's, with its names.

    **Guarantee**: what ``parse_related`` returns is one tree, in which every table but the root has one parent. Of
    ``flat`` each column but the person's stands in one of both; each constraint holds in one, or across both.

    Privacy: public only.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ignored_types=(cached_property,))

    dataset: str | None = None
    tables: dict[str, Schema]
    keys: tuple[Key, ...]
    public: dict[str, PublicTable] | None = None
    constraints: tuple[Across, ...] | None = None
    uses: Annotated[tuple[uses_of.Use, ...] | None, BeforeValidator(uses_of.read)] = None
    open: tuple[str, ...] | None = None
    learnt: Learnt | None = None
    flat: Schema | None = Field(default=None, exclude=True)

    @property
    def tree(self) -> "Dataset | None":
        """The tables whose rows belong together, as methods of trees see them."""
        return self

    @property
    def linked_rows(self) -> bool:
        """Whether the rows of one person in one table are to belong together: they do, in several."""
        return False

    @property
    def weight(self) -> None:
        """The column of weights: of related tables none."""

    @property
    def public_columns(self) -> tuple[str, ...]:
        """Columns that pass through: of related tables none."""
        return ()

    @property
    def privacy_unit(self) -> tuple[str, int]:
        """What a unit of privacy is called, and how many of its rows count: a root, or person, with what is below."""
        return (self.root if self.flat is None else str(self.flat.person)), 1

    @property
    def unit_in_words(self) -> str:
        """What the guarantee is about."""
        return unit_in_words(self.downwards) if self.flat is None else persons_in_words(self.privacy_unit[0])

    @property
    def keys_on_card(self) -> list[dict[str, Any]]:
        """The keys as a card and the ledger name them, persons by their column, which is the unit."""
        keys, person = [k.model_dump(mode="json", exclude_none=True) for k in self.keys], self.privacy_unit[0]
        return [
            {**k, **({"parent": person, "child": Said("{} of {}", ROWS, person)} if self.flat else {})} for k in keys
        ]

    def changed(self, how: Callable[[Any], Any]) -> Any:
        """The schema that somebody wrote, changed; of persons and their rows both again."""
        return how(self) if self.flat is None else as_tables(how(self.flat))

    def only(self, columns: Mapping[str, Collection[str]]) -> "Dataset":
        """The schema of these columns of each table, and of all identifiers."""
        tables, flat = {n: one.only(columns[n]) for n, one in self.tables.items()}, self.flat
        if flat is not None:
            columns_there = {n: c for n, c in flat.columns.items() if any(n in t.columns for t in tables.values())}
            flat = flat.model_copy(update={"columns": columns_there, "constraints": None})
        facts: dict[str, Any] = {"dataset": self.dataset, "keys": self.keys, "public": self.public}
        return Dataset.model_construct(**facts, tables=tables, flat=flat)

    def with_tables(self, tables: Mapping[str, Schema]) -> "Dataset":
        """The same with these tables in place of its own."""
        return self.model_copy(update={"tables": dict(tables)})

    def as_measured(self, table: str) -> Schema:
        """The table as a generator sees it: its measured columns, and the numbers of children under each key."""
        schema = self.tables[table]
        numbers = {number_of(k.child): children(k) for k in self.keys_below(table)}
        plain = {n: c.model_copy(update={"within": None}) for n, c in schema.measured().items()}
        return schema.model_copy(update={"columns": {**plain, **numbers}, "constraints": None})

    def as_asked(self, table: str) -> Schema:
        """The table as it is counted: as measured, and what is derived from the order of long histories."""
        measured = self.as_measured(table)
        more = histories.derived(self.tables[table].measured(), self.key_above(table))
        return measured.model_copy(update={"columns": {**measured.columns, **more}})

    def unconfirmed(self) -> dict[str, list[str]]:
        """Drafted facts that nobody has confirmed: by TABLE.COLUMN, and by table those of its key or reference."""
        facts = {f"{t}.{n}": f for t, s in self.tables.items() for n, f in s.unconfirmed().items()}
        for k in (k for k in self.keys if k.source == UNCONFIRMED):
            facts[k.child] = [Said("key to {}", k.parent), Said("most_children {}", k.most_children)]
        return facts | {n: ["public table"] for n, p in (self.public or {}).items() if p.source == UNCONFIRMED}

    def to_json(self) -> str:
        """The schema as JSON text, each table as a single table's schema is written; of persons the one table's."""
        if self.flat is not None:
            return self.flat.to_json()
        plain = self.model_dump(mode="json", exclude_none=True, exclude={"tables"})
        plain["keys"] = [{n: v for n, v in k.items() if v != 0} for k in plain["keys"]]
        return written(plain, self.tables)


def written(plain: Mapping[str, Any], tables: Mapping[str, Schema]) -> str:
    """JSON text of a schema that may break rules still: what stands beside the tables, and each table."""
    facts = {n: json.loads(s.to_json()) for n, s in tables.items()}
    return json.dumps({**plain, "tables": facts}, indent=2, ensure_ascii=False) + "\n"


def unit_in_words(downwards: Sequence[str]) -> str:
    """What the guarantee of related tables is about; their names, the root's first.

    A root row alone is not it: of several with one key one is kept, so that one more may take another's place.

    >>> unit_in_words(["patients", "stays"])
    'one of patients with all its rows there and in stays'
    """
    return Said("one of {} with all its rows there and in {}", downwards[0], ", ".join(downwards[1:]))


def unit_as_it_was(downwards: Sequence[str]) -> tuple[str, str]:
    """The words of earlier cards, the later first, which are read but no longer written.

    >>> unit_as_it_was(["patients", "stays"])[1]
    'one row of patients with everything below it in stays'
    """
    root, rest = downwards[0], ", ".join(downwards[1:])
    return (
        Said("one key of {} with all its rows there and everything below them in {}", root, rest),
        Said("one row of {} with everything below it in {}", root, rest),
    )


def persons_in_words(person: str) -> str:
    """What the guarantee of a table whose persons keep their rows is about; ``person``: the column that names one.

    >>> persons_in_words("pid")
    'one person, named by pid, with all rows'
    """
    return Said("one person, named by {}, with all rows", person)


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


def parse_any(plain: object, *, name: str = "schema", complete: bool = True) -> Schema | Dataset:
    """The schema of one table, or of related ones, in plain JSON data; ``name`` stands in messages.

    Unless ``complete``, bounds and categories may be absent, to be learnt, as in a schema that is imported.

    Errors: InputError naming table, column or key, rule and remedy. Privacy: public only.
    """
    return (parse_related if is_related(plain) else parse_table)(plain, name=name, complete=complete)


def load_any(path: str | Path, *, complete: bool = True) -> Schema | Dataset:
    """The schema of one table, or of related ones, in the JSON file ``path``; ``complete``: as of ``parse_any``.

    Errors: InputError. Privacy: public only.
    """
    return parse_any(read(path), name=Said("schema {}", path), complete=complete)


def parse_related(plain: object, *, name: str = "schema", complete: bool = True) -> Dataset:
    """A checked schema of related tables from plain JSON data; ``name``, ``complete``: as of ``parse_any``.

    Errors: InputError naming table, key and rule. Privacy: public only.
    """
    if not isinstance(plain, Mapping) or not isinstance(plain.get("tables"), Mapping):
        raise InputError("{}: related tables need an object `tables`, a schema under each table's name", name)
    if "flat" in plain:
        raise InputError("{}: flat: {}", name, FAULTS["extra_forbidden"])
    given = plain["tables"].items()
    tables = {str(n): parse_table(facts, name=Said("{}: table {}", name, n), complete=complete) for n, facts in given}
    try:
        schema = Dataset.model_validate({**plain, "tables": tables})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise InputError("{}: {}: {}", name, _where(plain, fault["loc"]), _rule(fault)) from None
    for problem in problems(schema, complete):
        raise InputError("{}: {}", name, problem)
    return schema


def _where(plain: Mapping[str, Any], path: tuple[int | str, ...]) -> str:
    """The place of a fault in words: of a key by its tables."""
    listed = plain.get("keys")
    if (
        path[:1] == ("keys",)
        and len(path) > 1
        and isinstance(listed, list)
        and isinstance(listed[int(path[1])], Mapping)
    ):
        key = listed[int(path[1])]
        return joined(
            " ", [Said("key of {} to {}:", key.get("child", "?"), key.get("parent", "?")), *map(str, path[2:3])]
        )
    return ".".join(map(str, path))


def _rule(fault: Mapping[str, Any]) -> str:
    fact = next((p for p in reversed(fault["loc"]) if isinstance(p, str)), "")
    if fault["type"] in FAULTS:
        return FAULTS[fault["type"]]
    return RULES.get(fact, str(fault["msg"]))


def load_related(path: str | Path, *, complete: bool = True) -> Dataset:
    """The schema of related tables in the JSON file ``path``; ``complete``: as of ``parse_any``.

    Errors: InputError. Privacy: public only.
    """
    return parse_related(read(path), name=Said("schema {}", path), complete=complete)


def check_schema(given: object, *, tree: bool = False) -> None:
    """Errors: UsageError where a path or plain data was handed over, or related tables unless a ``tree`` will do.

    >>> check_schema({"columns": {}})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    synth.errors.UsageError: schema: a dict is no schema; read its file with ..., or make it of plain data with ...
    """
    if isinstance(given, (Schema, Dataset) if tree else Schema):
        return
    if isinstance(given, Dataset):
        raise UsageError("schema: it describes several tables; here one of one is needed")
    more = Said("; for several tables synth.app_api.load_related and synth.app_api.parse_related") if tree else ""
    raise UsageError(
        "schema: a {} is no schema; read its file with synth.Schema.load(path), or make it of plain data with "
        "synth.Schema.parse(data){}",
        type(given).__name__,
        more,
    )


def as_tables(schema: Schema) -> Dataset:
    """The table of a ``schema`` as persons and their rows. Errors: InputError for what cannot be kept together.

    Privacy: public only.
    """
    for problem in refused(schema):
        raise InputError("schema: {}", problem)
    own = schema.of_unit
    person = {str(schema.person): schema.columns[str(schema.person)]}
    above = {n: schema.columns[n] for n in own}
    rows = {n: c for n, c in schema.columns.items() if n not in above and n not in person}
    inside: dict[str, list[Constraint]] = {PERSONS: [], ROWS: []}
    across: list[Any] = []
    for rule in schema.constraints or ():
        owners = {PERSONS if n in above else ROWS for n in columns_of(rule)}
        if len(owners) == 1:
            inside[owners.pop()].append(rule)
        elif rule.kind == "order":
            low, high = (f"{PERSONS if n in above else ROWS}.{n}" for n in (rule.low, rule.high))
            across.append(Order(kind="order", low=low, high=high))
    key = Key(
        parent=PERSONS,
        child=ROWS,
        columns=(str(schema.person),),
        most_children=int(schema.max_rows or 1),
        order=schema.order,
    )
    if clash := {number_of(ROWS), *histories.named(rows, key)} & set(schema.columns):
        raise InputError(
            "schema: column {!r} has a name that stands for what is derived from a person's rows; rename it, or "
            "`linked=False`",
            min(clash),
        )
    parts = {PERSONS: {**person, **above}, ROWS: {**person, **rows}}
    return Dataset(
        dataset=schema.dataset,
        tables={n: _part(schema, columns, tuple(inside[n])) for n, columns in parts.items()},
        keys=(key,),
        constraints=tuple(across) or None,
        learnt=schema.learnt,
        uses=schema.uses,
        flat=schema,
    )


def refused(schema: Schema) -> Iterator[str]:
    """Yields a sentence for each reason why a table's persons cannot keep their rows. Privacy: public only."""
    if schema.person is None:
        named = schema.of_unit
        what = (
            Said('columns are "of": "unit" ({})', ", ".join(named))
            if named
            else Said("the rows of one person are to stay together")
        )
        yield Said(
            "{}, but nothing names persons; state unit and max_rows (`unit=`, `max_rows=`), or `linked=False`", what
        )
        return
    if (schema.max_rows or 1) == 1:
        yield Said(
            "of a person one row is kept, so no rows belong together: state max_rows of 2 or more, or `linked=False`"
        )
    if (schema.max_rows or 1) > MOST_CHILDREN:
        yield (
            Said(
                "max_rows {}: of a person whose rows stay together at most {} are kept; state fewer, or `linked=False`",
                schema.max_rows,
                MOST_CHILDREN,
            )
        )
    if schema.weight is not None:
        yield Said(
            "weight {!r}: rows of a person have no weights yet; leave weight out, or `linked=False`", schema.weight
        )
    if schema.totals:
        yield Said("totals: a table whose persons keep their rows has none yet; leave them out, or `linked=False`")
    measured = [n for n in schema.measured() if schema.columns[n].of is None]
    if not measured:
        yield Said('every column is "of": "unit"; keep one row of each person (max_rows 1), or take "of" from a column')
    for number, rule in enumerate(schema.constraints or (), start=1):
        names = [n for n in columns_of(rule) if schema.columns[n].type not in UNREAD]
        if len({schema.columns[n].of for n in names}) > 1 and rule.kind != "order":
            yield (
                Said(
                    "constraint {} ({}) joins columns of a person with columns of rows ({}), where only an order is "
                    "kept; take it out, or `linked=False`",
                    number,
                    rule.kind,
                    ", ".join(names),
                )
            )


def _part(schema: Schema, columns: dict[str, Column], rules: tuple[Constraint, ...]) -> Schema:
    return Schema(dialect=schema.dialect, columns=columns, constraints=rules or None)


def taken(schema: Schema | Dataset) -> Schema | Dataset:
    """The schema, of a table whose persons keep their rows as two. Errors: InputError. Privacy: public only."""
    return as_tables(schema.tables[ONE]) if schema.linked_rows else schema


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
    yield from uses_of.problems(schema)


def undecided(schema: Tables) -> Iterator[str]:
    """Yields a sentence for what a draft left open and each key without a bound: no row is read before."""
    if schema.open:
        yield Said("left open by the draft: {} Decide, and take the line out of `open`", schema.open[0])
    for key in schema.keys:
        if not key.most_children:
            yield (
                Said(
                    "key of {} to {}: most_children is missing, how many rows of one parent are kept (1 to {}); state "
                    "it from knowledge of the field",
                    key.child,
                    key.parent,
                    MOST_CHILDREN,
                )
            )


def not_learnable(schema: Tables, lacking: Collection[str]) -> Iterator[str]:
    """Yields a sentence for each of the ``lacking`` columns (TABLE.COLUMN) whose facts have to be another column's."""
    for name, public in (schema.public or {}).items():
        for table, columns in public.references:
            for one in (f"{table}.{c}" for c in columns if f"{table}.{c}" in lacking):
                yield Said(
                    "{} refers to the public table {}, so nothing of it is to be learnt; state its categories",
                    one,
                    name,
                )
    for rule in schema.across:
        for one in (n for n in ends(rule) if rule.kind == "equal" and n in lacking):
            yield Said("{} has the facts of another column by a rule across tables (equal); state them for both", one)


def _table_problems(schema: Tables, complete: bool) -> Iterator[str]:
    if len(schema.tables) < 2:
        yield Said("related tables are two or more; for one table write its schema alone")
    if twice := repeated(n.casefold() for n in schema.tables):
        yield Said("two tables are called {!r} but for capitals; their files could not be told apart", twice)
    for name, table in schema.tables.items():
        if not FILE_NAME.fullmatch(name):
            yield Said("table {!r}: a name is of letters, digits, - and _, since it becomes a file's", name)
        if canonical(name) == "row":
            yield Said("table {!r}: as a unit, that word means each row by itself; rename the table", name)
        if table.person is not None:
            yield Said(
                "table {}: leave out unit and max_rows; protected is each of the table on top, with all its rows in "
                "the others",
                name,
            )
        if table.uses:
            yield Said("table {}: uses of related tables stand beside the tables, with columns as TABLE.COLUMN", name)
        if alone := [what for what in ("linked", "order") if getattr(table, what) is not None] + table.of_unit:
            yield Said("table {}: {} is for one table in which persons repeat; leave it out", name, alone[0])
        if complete and not table.measured():
            yield Said("table {}: every column is an identifier; there is nothing to learn", name)
        if taken := [n for n in table.columns if n.startswith(NUMBER) and n.removeprefix(NUMBER) in schema.tables]:
            yield Said("table {}: column {!r} is what the count of children is called; rename it", name, taken[0])
        if clash := set(table.columns) & histories.named(table.measured(), schema.key_above(name)):
            yield Said(
                "table {}: column {!r} is called as what is derived from the rows' order; rename it", name, min(clash)
            )


def _key_problems(schema: Tables, key: Key) -> Iterator[str]:
    about = Said("key of {} to {}", key.child, key.parent)
    for role, table in (("parent", key.parent), ("child", key.child)):
        if table not in schema.tables:
            yield Said("{}: {} {!r} is not among the tables ({})", about, role, table, ", ".join(schema.tables))
            return
    if key.parent == key.child:
        yield Said("{}: a table cannot be its own parent", about)
    if len(key.referred) != len(key.columns):
        yield Said(
            "{}: it names {} columns of {} and {} of {}",
            about,
            len(key.columns),
            key.child,
            len(key.referred),
            key.parent,
        )
    own, above = schema.tables[key.child].columns, schema.tables[key.parent].columns
    for table, columns, there in ((key.child, key.columns, own), (key.parent, key.referred, above)):
        for name in columns:
            if name not in there:
                yield Said("{}: {!r} is not among the columns of {}", about, name, table)
            elif there[name].type != "identifier":
                yield Said(
                    "{}: {}.{} is of type {}; a key's columns are identifiers", about, table, name, there[name].type
                )
        if twice := repeated(columns):
            yield Said("{}: it names {}.{} twice", about, table, twice)
    for name, theirs in zip(key.columns, key.referred, strict=False):
        if name in own and theirs in above and own[name].pattern not in (None, above[theirs].pattern):
            yield Said(
                "{}: {}.{} holds the keys of {}; state the pattern there alone", about, key.child, name, key.parent
            )
    if key.order is None:
        return
    if key.order not in own:
        yield Said("{}: order {!r} is not among the columns of {}", about, key.order, key.child)
    elif key.order in key.columns or not own[key.order].orders:
        yield Said("{}: order {}.{} must be a number, date, ordinal, or own identifier", about, key.child, key.order)


def _tree_problems(schema: Tables) -> Iterator[str]:
    if twice := repeated(k.child for k in schema.keys):
        yield _several_parents(schema, twice)
        return
    roots = [n for n in schema.tables if n not in {k.child for k in schema.keys}]
    if not roots:
        yield Said("its keys go in a circle; one table must be the root, the child of none")
        return
    if len(roots) > 1:
        yield Said("tables {} have no parent; one alone is the root, so each other one needs a key", ", ".join(roots))
        return
    if lost := set(schema.tables) - set(schema.downwards):
        yield Said("the keys of {} go in a circle, which the root does not reach", ", ".join(sorted(lost)))
        return
    for name in schema.tables:
        if len({k.referred for k in schema.keys_below(name)}) > 1:
            yield Said("keys refer to different columns of {}; one row has one key, so name the same columns", name)
        if len(schema.upwards(name)) > LEVELS:
            yield Said(
                "table {} stands {} levels deep; at most {} are supported", name, len(schema.upwards(name)), LEVELS
            )
        elif schema.most_rows(name) > MOST_BELOW:
            yield Said(
                "table {}: {:,} rows below one root; at most {:,} are supported",
                name,
                schema.most_rows(name),
                MOST_BELOW,
            )


def _several_parents(schema: Tables, child: str) -> str:
    """Why one parent alone can be a table's, and what can become of the others."""
    keys = [k for k in schema.keys if k.child == child]
    parents = ", ".join(k.parent for k in keys)
    by = joined("; ", (Said("{} by {}", k.parent, ", ".join(k.columns)) for k in keys))
    above = [set(below(k.parent, [(e.child, e.parent) for e in schema.keys])) for k in keys]
    again = sorted(above[0] & above[1] - {child})
    shape = Said('both lead to {} (a rule across tables "refers" may state the other), ', again[0]) if again else ""
    return Said(
        "table {} has several parents ({}); keep one: {}: {}and a row under two units is protected as one of "
        "neither. Of another table's key a column, grouped or left out, can stay; a table that everybody may have "
        'goes under "public", with "referred_by": ["{}.{}"], a column of categories',
        child,
        parents,
        by,
        shape,
        child,
        keys[-1].columns[0],
    )


def _public_problems(schema: Tables, name: str, public: PublicTable) -> Iterator[str]:
    about = Said("public table {}", name)
    if name in schema.tables:
        yield Said("{}: it is among the tables that are made too; keep it in one of both", about)
    elif not FILE_NAME.fullmatch(name):
        yield Said("{}: a name is of letters, digits, - and _, since it becomes a file's", about)
    elif name.casefold() in {n.casefold() for n in schema.tables}:
        yield Said("{}: a table is called the same but for capitals; their files could not be told apart", about)
    if len(set(public.keys)) < len(public.keys) or not public.keys:
        yield Said("{}: its key must name one column, or several different ones", about)
    for reference, (table, columns) in zip(public.referred_by, public.references, strict=True):
        there = schema.tables[table].columns if table in schema.tables else {}
        if len(columns) != len(public.keys):
            yield (
                Said(
                    "{}: {!r} names {} columns and its key has {}; write TABLE.COLUMN+COLUMN in the key's order",
                    about,
                    reference,
                    len(columns),
                    len(public.keys),
                )
            )
        for name in columns:
            column = there.get(name)
            if column is None:
                yield Said("{}: {!r} is no column of the tables; write TABLE.COLUMN", about, reference)
            elif column.type not in CATEGORICAL or column.grouping is not None:
                yield (
                    Said(
                        "{}: {}.{} must be categorical and ungrouped, its categories values of {}",
                        about,
                        table,
                        name,
                        ", ".join(public.keys),
                    )
                )
            elif len(columns) > 1 and column.missing_codes:
                yield Said(
                    "{}: {}.{} is part of a reference, so it has no missing codes; leave them out", about, table, name
                )


def _across_problems(schema: Tables) -> Iterator[str]:
    """Yields a sentence for each rule across tables that cannot be kept as it is written."""
    for i, rule in enumerate(schema.across, start=1):
        for problem in _broken(schema, rule):
            yield Said("constraint {} across tables ({}): {}", i, rule.kind, problem)
    written = [rule_writes(schema, r) for r in schema.across if r.kind != "order"]
    for name in {n for n in written if written.count(n) > 1}:
        yield Said("two constraints across tables decide {}; keep one", name)


def _broken(schema: Tables, rule: Across) -> Iterator[str]:
    one, other = ends(rule)
    if rule.kind == "refers":
        yield from _reference_problems(schema, other, one)
        return
    facts: dict[str, Column] = {}
    for name in (one,) if rule.kind == "count" else (one, other):
        table, column = placed(name)
        if table not in schema.tables or column not in schema.tables[table].measured():
            yield Said("{} is not a measured column; write TABLE.COLUMN", name)
            return
        facts[name] = schema.tables[table].columns[column]
    if facts[writes := rule_writes(schema, rule)].within is not None:
        yield Said("{} lies within other areas, and is not changed after these follow from it", writes)
        return
    a, upper = facts[one], placed(one)[0]
    if rule.kind == "count":
        if other not in {k.child for k in schema.keys_below(upper)}:
            yield Said("{} is no table of children of {}", other, upper)
        elif a.type != "integer":
            yield Said("{} must be an integer, to hold a number of children", one)
        return
    b, lower = facts[other], placed(other)[0]
    if rule.kind == "order" and upper not in schema.upwards(lower):
        upper, lower = lower, upper
    if upper == lower or upper not in schema.upwards(lower):
        yield Said("{} does not stand above {}; a rule is between a table and one below it", upper, lower)
        return
    if rule.kind == "equal" and any(getattr(a, fact) != getattr(b, fact) for fact in POSITIONS):
        yield Said("{} and {} must have the same type, categories or bounds, and missing codes", one, other)
    if rule.kind == "total":
        if upper != schema.upwards(lower)[1]:
            yield Said("{} is not the parent of {}; a total is of a parent's own children", upper, lower)
        if not {a.type, b.type} <= {*NUMERIC}:
            yield Said("{} and {} must be numbers", one, other)
    dates = {a.type == "datetime", b.type == "datetime"}
    if rule.kind == "order" and not (a.is_numeric and b.is_numeric and len(dates) == 1):
        yield Said("{} and {} must be two numbers or two dates", one, other)


def _reference_problems(schema: Tables, child: str, parent: str) -> Iterator[str]:
    (lower, column), (upper, key) = placed(child), placed(parent)
    for name, table, own in ((child, lower, column), (parent, upper, key)):
        there = schema.tables[table].columns if table in schema.tables else {}
        if own not in there or there[own].type != "identifier":
            yield Said("{} must be an identifier; write TABLE.COLUMN", name)
            return
    above = schema.key_above(upper)
    if column in schema.key_columns(lower):
        yield Said("{} is part of a key already, which says to which row each belongs", child)
    elif above is not None and key in above.columns:
        yield Said("{} is the key of {}; name the column that tells the rows of {} apart", parent, above.parent, upper)
    elif upper in schema.upwards(lower):
        yield Said("{} is {} or stands above it, where a key says to which row each belongs", upper, lower)


def rule_writes(schema: Tables, rule: Across) -> str:
    """The column that is changed where the rule does not hold: a child's, but for totals and counts."""
    if rule.kind == "order":
        low, high = placed(rule.low)[0], placed(rule.high)[0]
        return rule.high if low in schema.upwards(high) else rule.low
    return rule.child if rule.kind in ("equal", "refers") else rule.parent
