"""What is publicly known of a table: kinds, bounds, categories, missing codes, and who confirms each.

A schema is the only source of public facts. Positions, the integers that stand for values everywhere
inside the library, follow from it alone: a valid value has a position in ``range(column.size)``, and a
missing code one in ``range(column.size, column.cells)``.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from synth.errors import InputError, UsageError
from synth.files import regular_files, whole_files
from synth.languages import Said
from synth.schema import areas, names
from synth.schema import uses as uses_of
from synth.schema.column import (  # noqa: F401 (others import them from here)
    CATEGORICAL,
    NUMERIC,
    SECONDS,
    UNREAD,
    Column,
    Grouping,
    Kind,
    Source,
    canonical,
    column_problems,
    facts,
    repeated,
)
from synth.schema.constraints import NUMBER, Across, Constraint, columns_of, derived, placed
from synth.schema.dialect import Dialect
from synth.schema.names import MAX_CATEGORIES, is_text  # noqa: F401
from synth.schema.totals import Totals, form_problems, inlined

ONE = "synthetic"  # what a release calls a table that has no others beside it
MOST_CHILDREN = 500  # rows of one person, or of one parent under one key
Vouched = Literal["public", "declared", "unconfirmed"]
UNCONFIRMED: Literal["unconfirmed"] = "unconfirmed"
MOST_COLUMNS = 20_000  # of a table, those that are omitted among them
MOST_LISTED = 1_000_000  # categories of all columns that are looked at at all
LISTS = ("categories", "labels", "missing")
SHOWN = 8  # names of columns in a representation


class Learnt(BaseModel):
    """What it cost to learn a schema's ``private`` facts: a guarantee of its own, which every release adds to its."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilon: float = Field(gt=0, allow_inf_nan=False)
    delta: float = Field(gt=0, lt=1)
    relation: str
    unit: str
    ledger_entry: int
    ledger_hash: str | None = None  # of that line; schemas of earlier versions have the number alone
    mechanisms: tuple[dict[str, float | int | str], ...]


class Key(BaseModel):
    """Whose children the rows of a table are: the ``child``'s ``columns`` hold its parent's ``parent_columns``.

    ``most_children``: how many of one parent are kept, drawn at random; 0 while nobody has stated it. ``order``: the
    child's column by which one parent's rows follow each other in time: a number, a date, or an identifier whose
    numbers rise. ``source``: who confirms all of it; nothing said is ``declared``.
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
        parts = [placed(reference) for reference in self.referred_by]
        return [(t, (c,) if len(self.keys) == 1 else tuple(c.split("+"))) for t, c in parts]


class Tables:
    """What is known of one table or of several, asked alike: which there are, how they hang together, what their
    columns are called.

    One table has no key, and its columns go by their own names; those of several by TABLE.COLUMN. ``flat``: the one
    table as which two are written, persons and their rows.
    """

    if TYPE_CHECKING:

        @property
        def dataset(self) -> str | None: ...
        @property
        def tables(self) -> Mapping[str, "Schema"]: ...
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
        @property
        def flat(self) -> "Schema | None": ...

    def _repr_html_(self) -> str:
        """Each column's kind and who says so, for notebooks; never a value."""
        import pandas as pd

        columns = [(t, n, c.type, c.source) for t, s in self.tables.items() for n, c in s.columns.items()]
        return str(pd.DataFrame(columns, columns=["table", "column", "type", "source"]).to_html(index=False))

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
        tables = [table]
        while (key := self.key_above(tables[-1])) is not None:
            tables.append(key.parent)
        return tables

    def most_rows(self, table: str) -> int:
        """How many rows of the table one root has at most."""
        return prod(k.most_children for n in self.upwards(table) if (k := self.key_above(n)) is not None)

    def key_columns(self, table: str) -> list[str]:
        """The table's columns that keys are about."""
        above = self.key_above(table)
        own = [n for k in self.keys_below(table) for n in k.referred]
        return list(dict.fromkeys([*own, *(above.columns if above else ())]))

    @property
    def written(self) -> Mapping[str, "Schema"]:
        """The tables as files hold them."""
        return self.tables if self.flat is None else {ONE: self.flat}

    @property
    def stated(self) -> Any:
        """The schema that somebody wrote."""
        return self.flat or self

    @property
    def across(self) -> tuple[Across, ...]:
        """The rules between its tables."""
        return (self.constraints or ()) if self.keys else ()

    @property
    def several(self) -> bool:
        """Whether more than one table is written."""
        return bool(self.keys) and self.flat is None

    @property
    def one_table(self) -> bool:
        """Whether its tree is written as one table, whose persons keep their rows."""
        return self.flat is not None

    def file_of(self, table: str) -> str:
        """Which of the written tables has a table's rows: a row of the one table is a row of both that it becomes."""
        return table if self.flat is None else ONE

    def texts(self, file: str = ONE) -> list[str]:
        """A written table's columns that are read as text: of keys, and an identifier by which rows are ordered."""
        tables = [t for t in self.tables if self.file_of(t) == file]
        ordered = [(k.child, k.order) for k in self.keys if k.child in tables and k.order is not None]
        unread = [n for t, n in ordered if self.tables[t].columns[n].type == "identifier"]
        return list(dict.fromkeys([*(n for t in tables for n in self.key_columns(t)), *unread]))

    def changed(self, how: Callable[[Any], Any]) -> Any:
        """The schema that somebody wrote, changed; of persons and their rows both again."""
        return how(self)

    def name_of(self, table: str, column: str) -> str:
        """What a table's column is called outside."""
        return f"{table}.{column}" if self.several else column

    def inner_name(self, table: str, column: str) -> str:
        """What a table's column is called where methods count it."""
        return f"{table}.{column}" if self.keys else column

    def find(self, name: str) -> tuple[str, str]:
        """The table and the column that a name from outside means."""
        if self.flat is None:
            return placed(name) if self.keys else (self.root, name)
        return self.root if name in self.tables[self.root].measured() else self.downwards[-1], name

    @property
    def all_columns(self) -> dict[str, Column]:
        """All columns by these names."""
        return {self.name_of(t, n): c for t, s in self.written.items() for n, c in s.columns.items()}

    @property
    def inner_columns(self) -> dict[str, Column]:
        """All columns where methods count them, and of each parent its number of children (number of CHILD)."""
        own = {self.inner_name(t, n): c for t, s in self.tables.items() for n, c in s.columns.items()}
        return own | {f"{k.parent}.{NUMBER}{k.child}": children(k) for k in self.keys}

    @property
    def inner_measured(self) -> dict[str, Column]:
        """Those of them that are learnt."""
        other = {self.inner_name(t, n) for t, s in self.tables.items() for n in s.columns.keys() - s.measured()}
        return {n: c for n, c in self.inner_columns.items() if n not in other}

    def lowest(self, names: Iterable[str]) -> str | None:
        """The table whose rows tell of all these columns (inner names), its own and those above it; None where no
        table's do."""
        if not self.keys:
            return self.root
        owners = {placed(n)[0] for n in names}
        return next((t for t in owners if owners <= {*self.upwards(t)}), None)


class Schema(Tables, BaseModel):
    """The public facts of a table. Columns keep the order of the file.

    Privacy: public only: whoever confirms a fact stands beside it.

    >>> s = Schema.model_validate({"columns": {"AGE": {"type": "integer", "min": 0, "max": 99}}})
    >>> s.columns["AGE"].size
    100
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ignored_types=(cached_property,))

    dataset: str | None = None
    target: str | None = None
    positive: str | None = None
    unit: str | None = None
    max_rows: int | None = Field(default=None, ge=1)
    weight: str | None = None
    linked: bool | None = None
    order: str | None = None
    unit_source: Vouched | None = None
    dialect: Dialect | None = None
    learnt: Learnt | None = None
    constraints: tuple[Constraint, ...] | None = None
    uses: Annotated[tuple[uses_of.Use, ...] | None, BeforeValidator(uses_of.read)] = None
    totals: tuple[Totals, ...] | None = None
    columns: dict[str, Column]

    keys: ClassVar[tuple[()]] = ()
    public: ClassVar[None] = None
    open: ClassVar[None] = None
    flat: ClassVar[None] = None
    tree: ClassVar[None] = None

    @property
    def tables(self) -> dict[str, "Schema"]:
        """Itself, under the name that a release gives it."""
        return {ONE: self}

    @property
    def linked_rows(self) -> bool:
        """Whether the rows of one person are to belong together in the result."""
        if self.linked is not None:
            return self.linked
        return self.order is not None or bool(self.of_unit)

    @property
    def of_unit(self) -> list[str]:
        """The columns that are a person's own, one value in all the rows."""
        return [n for n, c in self.columns.items() if c.of == "unit" and c.type != "omitted"]

    @property
    def privacy_unit(self) -> tuple[str, int]:
        """What a unit of privacy is called, and how many of its rows count."""
        return ("row", 1) if self.person is None else (self.person, self.max_rows or 1)

    @property
    def unit_in_words(self) -> str:
        """What the guarantee is about."""
        return "row" if self.person is None else "person"

    def texts(self, file: str = ONE) -> list[str]:  # noqa: ARG002 (as of several tables)
        """The columns that are read as text: the one that names persons."""
        return [] if self.person is None else [self.person]

    def as_measured(self, table: str = ONE) -> "Schema":  # noqa: ARG002
        """The table as a generator sees it: as it is."""
        return self

    def with_tables(self, tables: Mapping[str, "Schema"]) -> "Schema":
        """The one of these in its place."""
        return tables[ONE]

    def only(self, columns: Collection[str]) -> "Schema":
        """The schema of these columns alone, and of all identifiers; nothing else is said of them."""
        chosen = {n: c for n, c in self.columns.items() if n in columns or c.type == "identifier"}
        return Schema.model_construct(dialect=self.dialect, columns=chosen)

    @property
    def person(self) -> str | None:
        """The column that names a person where a person is the unit of privacy; None where a row is."""
        return None if self.unit in (None, "row") else self.unit

    def measured(self) -> dict[str, Column]:
        """The columns that a generator learns: not identifiers, those left out, or those that a constraint gives."""
        given = self.given
        return {n: c for n, c in self.columns.items() if c.type not in UNREAD and n not in given}

    @property
    def given(self) -> set[str]:
        """Columns that follow from others, by a constraint or as areas above others: nothing of them is asked."""
        return {*derived(self.constraints or ()), *areas.above(self.columns)}

    @property
    def public_columns(self) -> tuple[str, ...]:
        """Columns whose value of each row is public, and passes through."""
        return tuple(n for n, c in self.measured().items() if c.role == "public")

    def retained(self) -> "Schema":
        """The schema without the columns that are left out: they are neither read nor made."""
        columns = {n: c for n, c in self.columns.items() if c.type != "omitted"}
        return self if len(columns) == len(self.columns) else self.model_copy(update={"columns": columns})

    def unconfirmed(self) -> dict[str, list[str]]:
        """Drafted facts that nobody has confirmed, by column."""
        return {n: facts(c) for n, c in self.columns.items() if c.source == UNCONFIRMED}

    def assume_public(self, names: Collection[str] | None = None) -> "Schema":
        """The same schema with the unconfirmed facts of these columns, by default of all, marked as public.

        What the draft remarked of them goes: it says how many rows have a value, which nobody confirms.
        """
        mark: dict[str, Any] = {"source": "public"}
        given = [n for n, c in self.columns.items() if c.source == UNCONFIRMED and (names is None or n in names)]
        confirmed = {n: self.columns[n].model_copy(update={**mark, "risk": None}) for n in given}
        columns = {**self.columns, **confirmed}
        dialect = self.dialect
        if dialect is not None and dialect.source == UNCONFIRMED:
            dialect = dialect.model_copy(update=mark)
        return self.model_copy(update={"columns": columns, "dialect": dialect})

    @classmethod
    def load(cls, path: str | Path, *, complete: bool = True) -> "Schema":
        """The schema in a JSON file, every rule checked. ``complete=False``: what is to be learnt may be absent.

        Errors: InputError when missing, not JSON, or wrong.
        """
        return load(path, complete=complete)

    @classmethod
    def parse(cls, plain: object, *, name: str = "schema", complete: bool = True) -> "Schema":
        """A checked schema from plain JSON data; ``name`` stands in messages. Errors: InputError."""
        return parse(plain, name=name, complete=complete)

    @classmethod
    def draft(cls, table: Any, **options: Any) -> "Schema":
        """The schema that ``synth.draft`` proposes for a frame or a file; each fact waits for somebody to confirm it.

        Privacy: reads rows, exact: for the steward alone until then.
        """
        import synth  # the interface knows every room

        return synth.draft(table, **options).schema

    def save(self, path: str | Path) -> None:
        """Writes the schema as JSON. Errors: UsageError where that is not possible."""
        try:
            whole_files.write(Path(path), self.to_json())
        except OSError as error:
            raise UsageError("{}: {}; name another file", path, error) from None

    def __repr__(self) -> str:
        """How many columns of which names, never a value."""
        names = [*list(self.columns)[:SHOWN], *(["..."] if len(self.columns) > SHOWN else [])]
        waiting = len(self.unconfirmed())
        left = f"; {waiting} unconfirmed" if waiting else ""
        return f"Schema({len(self.columns)} columns: {', '.join(names)}{left})"

    __str__ = __repr__

    def to_json(self) -> str:
        """The schema as JSON text; absent facts are left out, whole numbers written without a point."""
        plain = self.model_dump(mode="json", exclude_none=True)
        for column in plain["columns"].values():
            for fact in ("min", "max", "resolution"):
                value = column.get(fact)
                if isinstance(value, float) and value.is_integer():
                    column[fact] = int(value)
        return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def below(root: str, keys: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The root and all tables below it, each after its parent; ``keys``: (parent, child).

    >>> below("patients", [("stays", "acts"), ("patients", "stays")])
    ('patients', 'stays', 'acts')
    """
    tables = [root]
    for name in tables:
        tables += [child for parent, child in keys if parent == name and child not in tables]
    return tuple(tables)


def children(key: Key) -> Column:
    """The number of children that a parent has under a key, as its column."""
    return Column(type="integer", min=0, max=key.most_children or 1, source="public")


def parse(plain: object, *, name: str = "schema", complete: bool = True) -> Schema:
    """A checked schema from plain JSON data. ``complete=False`` lets categories and bounds be absent (to be learnt).

    ``name`` stands in messages.

    Errors: InputError naming column, rule and remedy.

    Privacy: public only.
    """
    if isinstance(plain, dict) and "tables" in plain and "columns" not in plain:
        raise InputError("{}: it describes several tables; here one of a single table is needed", name)
    _check_size(plain, name)
    try:
        schema = Schema.model_validate(plain)
    except ValidationError as error:
        raise InputError("{}: {}", name, _first(error)) from None
    for problem in _problems(schema, complete):
        raise InputError("{}: {}", name, problem)
    return schema


def _check_size(plain: object, name: str) -> None:
    """Refuses lists that no run could use before anything is made of them. Errors: InputError."""
    columns = plain.get("columns") if isinstance(plain, dict) else None
    if not isinstance(columns, dict):
        return
    if len(columns) > MOST_COLUMNS:
        raise InputError(
            "{}: it has {:,} columns, at most {:,} are read; leave some out", name, len(columns), MOST_COLUMNS
        )
    listed = {
        n: max(len(c[f]) for f in LISTS if isinstance(c.get(f), list | tuple))
        for n, c in columns.items()
        if isinstance(c, dict) and any(isinstance(c.get(f), list | tuple) for f in LISTS)
    }
    if sum(listed.values()) > MOST_LISTED:
        longest = max(listed, key=lambda n: listed[n])
        raise InputError(
            "{}: its columns list {:,} values, {:,} of them of {}; at most {:,} can be read: group the values, or "
            "omit it",
            name,
            sum(listed.values()),
            listed[longest],
            longest,
            MOST_LISTED,
        )


def load(path: str | Path, *, complete: bool = True) -> Schema:
    """The schema in a JSON file ``path``, as ``parse`` checks it (``complete``: as there).

    Errors: InputError when missing, not JSON, or wrong.

    Privacy: public only.
    """
    return parse(read(path), name=f"schema {path}", complete=complete)


def read(path: str | Path) -> Any:
    """The JSON data of a schema's file, tables of totals read from theirs.

    Errors: InputError when missing or not JSON, saying where.

    Privacy: public only.
    """
    try:
        plain = json.loads(regular_files.text(path, encoding="utf-8-sig"), object_pairs_hook=_no_twins)
    except OSError as error:
        raise InputError("schema {}: {}; draft one with `synth.draft`", path, error) from None
    except UnicodeDecodeError:
        raise InputError("schema {}: not UTF-8 text; save it as UTF-8 JSON", path) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError("schema {}: not JSON ({}, {})", path, error.msg, where) from None
    except RecursionError:
        raise InputError("schema {}: nested too deep to be a schema", path) from None
    except ValueError:  # Python takes no whole number of more than 4,300 digits
        raise InputError("schema {}: it holds a number of thousands of digits; shorten it", path) from None
    return inlined(plain, Path(path).parent)


def _no_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) < len(pairs):
        twice = repeated(k for k, _ in pairs)
        raise InputError("schema: {!r} occurs twice in one object; keep one", twice)
    return out


WEIGHT = ("weight", "weights", "role")
WEIGHTED = 'is no fact of a schema; name the column that is the weight of its row as "weight", beside "columns"'


def _first(error: ValidationError) -> str:
    """The first fault of a validation, as column, fact and rule."""
    fault = error.errors(include_url=False)[0]
    where = [str(p) for p in fault["loc"]]
    in_column = where[:1] == ["columns"] and len(where) > 1
    place = Said("column {}: {}", where[1], " ".join(where[2:])) if in_column else ".".join(where)
    rule = "is no fact of a schema; remove it" if fault["type"] == "extra_forbidden" else fault["msg"]
    if where and where[-1] in WEIGHT and (fault["type"] == "extra_forbidden" or fault["input"] in WEIGHT):
        rule = WEIGHTED
    return Said("{}: {}", place, rule) if place else rule


def _problems(schema: Schema, complete: bool):
    """Yields a sentence for each rule that the schema breaks."""
    if not schema.columns:
        yield Said("it names no column; add at least one")
    if pair := names.twins(schema.columns):
        one, other = pair
        yield Said(
            "columns {!r} and {!r} differ only in capitals or in how a character is written, which an engine may "
            "take for one name; rename one, in the table too",
            one,
            other,
        )
    for name, column in schema.columns.items():
        texts = [name, *(column.categories or ()), *(column.labels or ()), *(column.missing or ())]
        if not is_text("".join([*texts, column.description or ""])):
            yield Said("column {}: a name, category, label or code holds half a character (a lone surrogate)", name)
    if not is_text(schema.to_json()):
        yield Said("a text holds half a character (a lone surrogate), which no file can hold")
    for name, column in schema.columns.items():
        for rule in column_problems(column, complete):
            yield Said("column {}: {}", name, rule)
    if schema.target is not None:
        yield from _target_problems(schema)
    yield from _unit_problems(schema)
    yield from _person_problems(schema)
    if schema.weight is not None:
        yield from _weight_problems(schema, schema.weight)
    for number, rule in enumerate(schema.constraints or (), start=1):
        for problem in _rule_problems(schema, rule):
            yield Said("constraint {} ({}): {}", number, rule.kind, problem)
    yield from uses_of.problems(schema)
    yield from areas.problems(schema.columns, schema.constraints or (), schema.target)
    yield from form_problems(schema.totals or (), schema.columns, derived(schema.constraints or ()))


def _rule_problems(schema: Schema, rule: Constraint):
    names = columns_of(rule)
    for name in names:
        if name not in schema.columns:
            yield Said("{!r} is not among the columns", name)
        elif schema.columns[name].type in UNREAD:
            what = Said("an identifier") if schema.columns[name].type == "identifier" else Said("left out")
            yield Said("{!r} is {}, which no rule can concern", name, what)
    if len(set(names)) < len(names):
        yield Said("it names a column twice")
    lines = rule.table if rule.kind == "function" else rule.combinations if rule.kind == "fixed" else ()
    if any(len(line) != len(names) for line in lines):
        yield Said("each line needs {} entries, one for each of {}", len(names), ", ".join(names))
    given = derived(schema.constraints or ())
    if rule.kind == "function" and any(n in given for n in rule.of):
        yield Said("it rests on a column that another constraint gives; name that one's own columns instead")


def _unit_problems(schema: Schema):
    if schema.person is None:
        if schema.unit is not None and (column := schema.columns.get(schema.unit)) and column.type == "identifier":
            yield Said(
                "unit {!r} means each row by itself, and an identifier is named so; rename the column",
                schema.unit,
            )
        if schema.max_rows is not None:
            yield Said("max_rows needs a unit, the column that names a person")
        return
    column = schema.columns.get(schema.person)
    if column is None:
        yield Said("unit {!r} is not among the columns", schema.person)
    elif column.type != "identifier":
        yield Said("unit {!r} must be an identifier column, since it names a person", schema.person)
    elif schema.max_rows is None:
        yield Said("unit {!r} needs max_rows, how many rows of one person are kept", schema.person)


def _target_problems(schema: Schema):
    target = schema.columns.get(schema.target or "")
    if target is None:
        yield Said("target {!r} is not among the columns", schema.target)
    elif target.type in UNREAD:
        what = Said("an identifier") if target.type == "identifier" else Said("left out")
        yield Said("target {!r} is {}, which is never modelled; choose another column", schema.target, what)
    elif target.type in CATEGORICAL and schema.positive is not None:
        known = {canonical(c) for c in target.categories or ()}
        if canonical(schema.positive) not in known:
            yield Said("positive {!r} is not a category of {}", schema.positive, schema.target)


def _person_problems(schema: Schema):
    """Yields a sentence for each rule that columns of a person, or the order of rows, break. Privacy: public only."""
    for name in schema.of_unit:
        if name == schema.person:
            yield Said('column {}: it names the person; leave out "of"', name)
        elif schema.columns[name].type == "identifier":
            yield Said('column {}: an identifier is a fresh key for each row; leave out "of", or omit the column', name)
    if schema.order is not None:
        yield from _order_problems(schema, schema.order)
    if schema.linked and schema.person is not None and schema.max_rows == 1:
        yield Said("linked: of a person one row is kept, so no rows belong together; state max_rows of 2 or more")


def _order_problems(schema: Schema, name: str):
    column = schema.columns.get(name)
    if column is None:
        yield Said("order {!r} is not among the columns", name)
    elif name == schema.person or not column.orders:
        yield Said("order {!r} must be a number, date, ordinal, or an identifier of rising numbers", name)
    elif column.of == "unit":
        yield Said('order {!r} is one value in all rows of a person ("of": "unit"), which orders nothing', name)
    elif column.within is not None:
        yield Said("order {!r} is an area within others, which orders nothing; name another column", name)
    elif name in schema.given:
        yield Said("order {!r} follows from other columns; name a column that is read", name)


def _weight_problems(schema: Schema, name: str):
    """A sentence for each rule that a survey's weight breaks: its bounds bound what a row adds to weighted counts."""
    column = schema.columns.get(name)
    if column is None:
        yield Said("weight {!r} is not among the columns", name)
    elif column.type not in ("integer", "float"):
        yield Said("weight {!r} is {}; a weight is an integer or float", name, column.type)
    elif name not in schema.measured():
        yield Said("weight {!r} is given by a constraint; name a column that is read", name)
    elif name == schema.target:
        yield Said("weight {!r} is the target as well; a weight is not predicted", name)
    elif column.source == "private" or column.min is None or column.max is None:
        yield Said("weight {!r} needs stated min and max, since they bound what a row adds; it cannot learn them", name)
    elif float(column.min) < 0 or float(column.max) <= 0:
        yield Said(
            "weight {!r} goes from {} to {}; its min must be 0 or more, its max above 0",
            name,
            column.min,
            column.max,
        )
