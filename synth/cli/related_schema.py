"""`synth schema` for related tables: drafts of a folder or a database, what a schema leaves to be decided."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.cli.answer import say, tell, write_text
from synth.cli.vouching import formed, marked
from synth.errors import UsageError

if TYPE_CHECKING:
    from synth.schema.related_names import Reference
    from synth.schema.table import Schema
    from synth.sources.draft_related import DraftedTables


def keys(texts: Sequence[str] | None) -> "list[Reference]":
    """What --key says. Errors: UsageError."""
    from synth.schema.related_names import Reference

    results = []
    for text in texts or ():
        sides = [side.partition(".") for side in text.split("=")]
        if len(sides) != 2 or not all(table and columns for table, _, columns in sides):
            raise UsageError(f"--key {text}: write CHILD.COLUMN=PARENT.COLUMN, several columns with + between")
        (child, _, own), (parent, _, theirs) = sides
        columns, others = tuple(own.split("+")), tuple(theirs.split("+"))
        if len(columns) != len(others):
            raise UsageError(f"--key {text}: {len(columns)} columns of {child} and {len(others)} of {parent}")
        results.append(Reference(child=child, columns=columns, parent=parent, parent_columns=others))
    return results


def bounds(texts: Sequence[str] | None) -> dict[str, int]:
    """What --most-children says, by child. Errors: UsageError."""
    from synth.schema.persons_rules import MOST_CHILDREN

    result: dict[str, int] = {}
    for text in texts or ():
        name, _, number = text.rpartition("=")
        if not name or name in result or not number.isdecimal() or not 1 <= int(number) <= MOST_CHILDREN:
            raise UsageError(f"--most-children {text}: write CHILD=N once for each, N from 1 to {MOST_CHILDREN}")
        result[name] = int(number)
    return result


def by_table(options: Mapping[str, Sequence[str]]) -> dict[str, dict[str, list[str]]]:
    """Options that list TABLE.COLUMN, by table. Errors: UsageError for a column without its table."""
    result: dict[str, dict[str, list[str]]] = {}
    for option, named in options.items():
        for name in named:
            table, point, column = name.partition(".")
            if not (point and column):
                raise UsageError(f"--{option.rstrip('_')} {name}: of related tables write TABLE.COLUMN")
            result.setdefault(table, {}).setdefault(option, []).append(column)
    return result


def init_related(
    table: Path | None,
    source: str | None,
    out: Path,
    *,
    stated: Mapping[str, str | None],
    kinds: Mapping[str, Sequence[str]],
    missing: Sequence[str],
    max_categories: int,
    dataset: str | None,
    root: str | None,
    public: Sequence[str] | None,
    key: Sequence[str] | None,
    most_children: Sequence[str] | None,
    assume_public: bool | Sequence[str],
    because: Mapping[str, str],
    forms: Mapping[str, str],
) -> None:
    """Drafts a folder of tables, or a database, and writes the file. Errors: UsageError, InputError."""
    from synth.sources import tables_to_draft
    from synth.sources.draft_related import Wanted, draft_related

    if table is None and source is None:
        raise UsageError("TABLE is missing; name a file, a folder with a file for each table, or a --source")
    reported = tables_to_draft.in_folder(table, stated=stated) if table else tables_to_draft.in_database(str(source))
    options: dict[str, dict[str, Any]] = {
        t: {"missing": missing, "max_categories": max_categories} for t in reported.headers
    }
    for name, lists in by_table(kinds).items():
        options.setdefault(name, {}).update(lists)
    wanted = Wanted(
        root=root,
        public=public or (),
        keys=keys(key),
        most_children=bounds(most_children),
        options=options,
        dataset=dataset,
    )
    drafted = draft_related(reported.headers, reported.rows, wanted, declared=reported.declared)
    tell(drafted.notes)
    drafted = vouched(_formed(drafted, forms), assume_public=assume_public, because=because)
    write_text(out, drafted.to_json())
    retained = ", ".join(f"{n} ({len(s.columns)} columns)" for n, s in drafted.tables.items())
    print(f"{len(drafted.tables)} tables drafted: {retained}: {out}")
    tell([f"to be decided: {line}" for line in drafted.plain.get("open", ())])


def _formed(drafted: "DraftedTables", forms: Mapping[str, str]) -> "DraftedTables":
    """The draft with the forms of keys, by TABLE.COLUMN. Errors: UsageError."""
    from dataclasses import replace

    if lost := [n for n in forms if n.partition(".")[0] not in drafted.tables]:
        raise UsageError(f"--pattern {lost[0]}: the draft has no such column; write TABLE.COLUMN")
    own = {t: {c: forms[f"{t}.{c}"] for c in _own(list(forms), t)} for t in drafted.tables}
    return replace(drafted, tables={t: formed(s, own[t]) for t, s in drafted.tables.items()})


def vouched(
    drafted: "DraftedTables", *, assume_public: bool | Sequence[str], because: Mapping[str, str]
) -> "DraftedTables":
    """The draft with facts of TABLE.COLUMN marked public on the caller's word. Errors: UsageError, InputError."""
    from dataclasses import replace

    from synth.pipeline import schema_approval

    named = [] if isinstance(assume_public, bool) else list(assume_public)
    for name in [*named, *because]:
        table, _, column = name.partition(".")
        if table not in drafted.tables or column not in drafted.tables[table].columns:
            raise UsageError(f"{name}: the draft has no such column; write TABLE.COLUMN")
    tables: dict[str, Schema] = {}
    for name, schema in drafted.tables.items():
        own = assume_public if isinstance(assume_public, bool) else _own(named, name)
        reasons = {c: because[f"{name}.{c}"] for c in _own(list(because), name)}
        schema = schema_approval.explained(schema, reasons)
        tables[name] = schema if own is False else marked(schema, own, table=f"{name}.")
    if waiting := [n for n, s in tables.items() if s.unconfirmed()]:
        tell([f"unconfirmed facts in {', '.join(waiting)}: check each, then set its source, or pass --assume-public"])
    return replace(drafted, tables=tables)


def _own(named: Sequence[str], table: str) -> list[str]:
    """The columns of a table among TABLE.COLUMN."""
    return [n.partition(".")[2] for n in named if n.partition(".")[0] == table]


def check_related(schema: Path, table: Path | None, source: str | None, *, as_json: bool) -> None:
    """What holds of a schema of related tables and what waits for somebody. Errors: InputError, UsageError."""
    from synth.schema import dataset as datasets
    from synth.schema.table import read
    from synth.sources.related_tables import allowed_empty, places

    plain = read(schema)
    left = plain.get("open")
    if isinstance(left, list) and left:
        tell([f"to be decided: {line}" for line in left])
    facts = datasets.parse(plain, name=f"schema {schema}")
    if table is not None or source is not None:
        for name, place in places(table, facts, source).items():
            with allowed_empty(facts, name):
                place.under(facts.tables[name]).check_form(list(facts.tables[name].columns))
    waiting = facts.unconfirmed()
    if as_json:
        keyed = [k.model_dump(mode="json", exclude_none=True) for k in facts.keys]
        columns = {n: len(s.columns) for n, s in facts.tables.items()}
        say({"tables": columns, "root": facts.root, "keys": keyed, "unconfirmed": waiting})
        return
    print(
        f"{len(facts.tables)} tables, {sum(len(s.columns) for s in facts.tables.values())} columns, every rule "
        f"holds; the unit is {facts.unit_in_words}"
    )
    for key in facts.keys:
        print(
            f"{key.child} belongs to {key.parent} by {', '.join(key.columns)}: at most {key.most_children} rows each"
            + (f", in the order of {key.order}" if key.order else "")
        )
    for name, public in (facts.public or {}).items():
        print(f"{name} is public: {', '.join(public.referred_by)} refer to its {', '.join(public.keys)}")
    for name, waits in waiting.items():
        print(f"unconfirmed: {name} ({', '.join(waits)})")
