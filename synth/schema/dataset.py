"""What is publicly known of tables that belong together: a schema each, and the keys that make them a tree.

One table is the root: each of its rows, with everything below it, is one unit of privacy. A key says whose children a
table's rows are, how many of one parent are kept at most, and by which column they are ordered if they are events.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from synth.errors import InputError, UsageError
from synth.schema import histories
from synth.schema import uses as uses_of
from synth.schema.column import Column
from synth.schema.related_rules import problems
from synth.schema.table import UNCONFIRMED, Learnt, Schema, Tables, read
from synth.schema.table import parse as parse_table
from synth.schema.tree import MOST_CHILDREN, NUMBER, Across, Key, PublicTable
from synth.schema.tree import ONE as ONE

FAULTS = {"extra_forbidden": "is no fact of related tables; remove it", "missing": "it is missing; state it"}
RULES = {
    "most_children": f"must be a whole number from 1 to {MOST_CHILDREN}, how many rows of one parent are kept",
    "columns": "must list the child's columns, at least one",
    "parent_columns": "must list the parent's columns, as many as the child's",
}


class Dataset(Tables, BaseModel):
    """The public facts of a tree of tables. ``open``: what a draft leaves for the steward to decide; ``learnt``: what
    it cost to learn its ``private`` facts, for a key of the root with everything below it.

    **Guarantee**: what ``parse`` returns is one tree, in which every table but the root has one parent.

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

    @property
    def tree(self) -> "Dataset | None":
        """The tables whose rows belong together, as methods of trees see them."""
        return self

    @property
    def stated(self) -> "Schema | Dataset":
        """The schema that somebody wrote."""
        return self

    @property
    def linked_rows(self) -> bool:
        """Whether the rows of one person in one table are to belong together: they do, in several."""
        return False

    @property
    def privacy_unit(self) -> tuple[str, int]:
        """What a unit of privacy is called, and how many of its rows count: a root, with what is below it."""
        return self.root, 1

    @property
    def unit_in_words(self) -> str:
        """What the guarantee is about."""
        return unit_in_words(self.downwards)

    @property
    def keys_on_card(self) -> list[dict[str, Any]]:
        """The keys as a card and the ledger name them."""
        return [k.model_dump(mode="json", exclude_none=True) for k in self.keys]

    @property
    def public_columns(self) -> tuple[str, ...]:
        """Columns that pass through: of related tables none."""
        return ()

    @property
    def weight(self) -> None:
        """The column of weights: of related tables none."""

    def only(self, columns: Mapping[str, Collection[str]]) -> "Dataset":
        """The schema of these columns of each table, and of all identifiers."""
        tables = {n: one.only(columns[n]) for n, one in self.tables.items()}
        return Dataset.model_construct(dataset=self.dataset, tables=tables, keys=self.keys, public=self.public)

    def with_tables(self, tables: Mapping[str, Schema]) -> Self:
        """The same with these tables in place of its own."""
        return self.model_copy(update={"tables": dict(tables)})

    def as_measured(self, table: str) -> Schema:
        """The table as a generator sees it: its measured columns, and the numbers of children under each key."""
        schema = self.tables[table]
        numbers = {
            number_of(k.child): Column(type="integer", min=0, max=k.most_children, source="public")
            for k in self.keys_below(table)
        }
        plain = {n: c.model_copy(update={"within": None}) for n, c in schema.measured().items()}
        return schema.model_copy(update={"columns": {**plain, **numbers}, "constraints": None})

    def as_asked(self, table: str) -> Schema:
        """The table as it is counted: as measured, and what is derived from the order of long histories."""
        measured = self.as_measured(table)
        more = histories.derived(self.tables[table].measured(), self.key_above(table))
        return measured.model_copy(update={"columns": {**measured.columns, **more}})

    def unconfirmed(self) -> dict[str, list[str]]:
        """Drafted facts that nobody has vouched for: by TABLE.COLUMN, and by table those of its key or reference."""
        result = {f"{t}.{n}": f for t, s in self.tables.items() for n, f in s.unconfirmed().items()}
        keys = {
            k.child: [f"key to {k.parent}", f"most_children {k.most_children}"]
            for k in self.keys
            if k.source == UNCONFIRMED
        }
        public = {n: ["public table"] for n, p in (self.public or {}).items() if p.source == UNCONFIRMED}
        return {**result, **keys, **public}

    def to_json(self) -> str:
        """The schema as JSON text, each table as a single table's schema is written."""
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
    'one key of patients with all its rows there and everything below them in stays'
    """
    return f"one key of {downwards[0]} with all its rows there and everything below them in {', '.join(downwards[1:])}"


def unit_as_it_was(downwards: Sequence[str]) -> str:
    """The words of cards before 0.2.0, which are read but no longer written.

    >>> unit_as_it_was(["patients", "stays"])
    'one row of patients with everything below it in stays'
    """
    return f"one row of {downwards[0]} with everything below it in {', '.join(downwards[1:])}"


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
    """The schema of one table, or of related ones, in plain JSON data; ``name``, ``complete``: as of ``parse``.

    Errors: InputError. Privacy: public only.
    """
    return (parse if is_related(plain) else parse_table)(plain, name=name, complete=complete)


def load_any(path: str | Path, *, complete: bool = True) -> Schema | Dataset:
    """The schema of one table, or of related ones, in the JSON file ``path``; ``complete``: as of ``parse``.

    Errors: InputError. Privacy: public only.
    """
    return parse_any(read(path), name=f"schema {path}", complete=complete)


def parse(plain: object, *, name: str = "schema", complete: bool = True) -> Dataset:
    """A checked schema of related tables from plain JSON data. Errors: InputError naming table, key and rule.

    Unless ``complete``, bounds and categories may be absent, to be learnt, as in a schema that is imported. ``name``
    stands in messages.

    Privacy: public only.
    """
    if not isinstance(plain, Mapping) or not isinstance(plain.get("tables"), Mapping):
        raise InputError(f"{name}: related tables need an object `tables`, a schema under each table's name")
    given = plain["tables"].items()
    tables = {str(n): parse_table(facts, name=f"{name}: table {n}", complete=complete) for n, facts in given}
    try:
        result = Dataset.model_validate({**plain, "tables": tables})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise InputError(f"{name}: {_where(plain, fault['loc'])}: {_rule(fault)}") from None
    for problem in problems(result, complete):
        raise InputError(f"{name}: {problem}")
    return result


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
        return " ".join([f"key of {key.get('child', '?')} to {key.get('parent', '?')}:", *map(str, path[2:3])])
    return ".".join(map(str, path))


def _rule(fault: Mapping[str, Any]) -> str:
    fact = next((p for p in reversed(fault["loc"]) if isinstance(p, str)), "")
    if fault["type"] in FAULTS:
        return FAULTS[fault["type"]]
    return RULES.get(fact, str(fault["msg"]))


def load(path: str | Path, *, complete: bool = True) -> Dataset:
    """The schema of related tables in a JSON file ``path``; ``complete``: as of ``parse``.

    Errors: InputError. Privacy: public only.
    """
    return parse(read(path), name=f"schema {path}", complete=complete)


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
    more = "; for several tables synth.app_api.load_related and synth.app_api.parse_related" if tree else ""
    raise UsageError(
        f"schema: a {type(given).__name__} is no schema; read its file with synth.Schema.load(path), or "
        f"make it of plain data with synth.Schema.parse(data){more}"
    )
