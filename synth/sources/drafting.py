"""Descriptions made of tables: drafted from their rows, completed from another program's metadata, or held to them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from synth.errors import UsageError
from synth.languages import Said
from synth.schema import codebook, sdv_metadata
from synth.schema.dialect import Dialect
from synth.schema.related_names import Reference, tree
from synth.schema.sdv_metadata import Metadata
from synth.schema.table import Schema
from synth.sources import named_databases
from synth.sources.draft_related import DraftedTables, Wanted, check, draft_related, in_database, in_folder
from synth.sources.draft_schema import draft
from synth.sources.formats.text_table import Table
from synth.sources.related_tables import allowed_empty, places

Books = Mapping[str, codebook.CodeBook]


class Described(NamedTuple):
    """A description, what to look at in it, and how the file seems to be written."""

    schema: Schema
    notes: list[str]
    read_as: Dialect | None = None


def described(
    table: str | Path,
    source: str | None = None,
    *,
    stated: Mapping[str, str | None] | None = None,
    books: Books | None = None,
    kinds: Mapping[str, Sequence[str]] | None = None,
    missing: Sequence[str] = (),
    **options: Any,
) -> Described:
    """The draft of one table, with its code books. ``kinds``: columns by kind, as of ``draft``, which has ``options``.

    ``source``: the database that holds the table; ``stated``: facts of its dialect. Errors: InputError, UsageError.

    Privacy: reads rows, exact: for the steward alone until somebody confirms each fact.
    """
    books, kinds = books or {}, kinds or {}
    rows, notes = named_databases.whole(table, source, columns=list(books) or None, stated=stated)
    coded = [n for n in books if not any(n in kinds.get(k, ()) for k in ("ordinal", "identifier", "datetime_"))]
    named: dict[str, Any] = {**kinds, "categorical": [*kinds.get("categorical", ()), *coded]}
    drafted = draft(rows, **named, missing=missing, **options)
    booked = codebook.with_books(drafted.schema, books, missing=missing)
    return Described(booked.schema, [*notes, *drafted.suggestions, *booked.notes], rows.dialect)


def described_tables(
    folder: Path | None,
    source: str | None = None,
    *,
    wanted: Wanted,
    stated: Mapping[str, str | None] | None = None,
    kinds: Mapping[str, Sequence[str]] | None = None,
    **common: Any,
) -> DraftedTables:
    """The draft of the tables in a folder, or in a database; ``kinds``: as of ``described``, of TABLE.COLUMN.

    Errors: UsageError, InputError.

    Privacy: reads rows, exact: for the steward alone until somebody confirms each fact.
    """
    if folder is None and source is None:
        raise UsageError("TABLE is missing; name a file, a folder with a file for each table, or a `source=`")
    there = in_folder(folder, stated=stated) if folder else in_database(str(source))
    options: dict[str, dict[str, Any]] = {t: dict(common) for t in there.headers}
    for option, named in (kinds or {}).items():
        for name in named:
            owner, point, column = name.partition(".")
            if not (point and column):
                raise UsageError("`{}={}`: of related tables write TABLE.COLUMN", option, name)
            options.setdefault(owner, {}).setdefault(option, []).append(column)
    return draft_related(there.headers, there.rows, replace(wanted, options=options), declared=there.declared)


def references(texts: Sequence[str]) -> list[Reference]:
    """Keys as people write them. Errors: UsageError.

    >>> references(["stays.who=people.id"])[0].parent
    'people'

    Privacy: public only.
    """
    given = []
    for text in texts:
        sides = [side.partition(".") for side in text.split("=")]
        if len(sides) != 2 or not all(table and columns for table, _, columns in sides):
            raise UsageError("`keys={}`: write CHILD.COLUMN=PARENT.COLUMN, several columns with + between", text)
        (child, _, own), (parent, _, theirs) = sides
        columns, others = tuple(own.split("+")), tuple(theirs.split("+"))
        if len(columns) != len(others):
            raise UsageError("`keys={}`: {} columns of {} and {} of {}", text, len(columns), child, len(others), parent)
        given.append(Reference(child=child, columns=columns, parent=parent, parent_columns=others))
    return given


def imported(
    plain: object,
    table: str | Path | None = None,
    source: str | None = None,
    *,
    table_name: str | None = None,
    books: Books | None = None,
    missing: Sequence[str] = (),
    wanted: Wanted | None = None,
    name: str = "metadata",
) -> Described | DraftedTables:
    """A description from SDV metadata, of one table or of several; with a ``table``, a folder, or tables of a
    ``source``, what they do not say is drafted from the rows. Errors: InputError, UsageError.

    Privacy: reads rows, exact: for the steward alone until somebody confirms each fact.
    """
    stated = sdv_metadata.from_sdv(plain, table_name=table_name, name=name)
    if stated.references:
        there, wanted = table is not None or source is not None, wanted or Wanted()
        several = _completed_tables(stated, wanted, table, source, missing) if there else _stated(stated, wanted)
        return replace(several, notes=[*stated.notes, *several.notes])
    booked = codebook.with_books(stated.schema, books or {}, missing=missing)
    if table is None:
        return Described(booked.schema, [*stated.notes, *booked.notes])
    said = booked.schema
    whole, notes = named_databases.whole(table, source, columns=list(said.columns))
    drafted = draft(rows := whole.only(list(said.columns)), missing=missing, **sdv_metadata.kinds(said))
    merged = sdv_metadata.merge(said, drafted.schema)
    booked = codebook.with_books(merged.schema, books or {}, missing=missing)  # what the book says stands
    notes = [*notes, *drafted.suggestions, *merged.notes, *stated.notes, *booked.notes]
    return Described(booked.schema, notes, rows.dialect)


def _stated(exchanged: Metadata, wanted: Wanted) -> DraftedTables:
    """What the metadata say; bounds that nobody states stay absent. Errors: UsageError."""
    if wanted.public:
        raise UsageError(
            "`public=`: the categories of a reference are the public table's keys, which must be read; "
            "name the tables with `table=`"
        )
    check({t: list(s.columns) for t, s in exchanged.tables.items()}, wanted)
    made, most = tree(list(exchanged.tables), exchanged.references, public=(), root=wanted.root), wanted.most_children
    keys: list[dict[str, Any]] = [
        {
            "parent": k.parent,
            "child": k.child,
            "columns": list(k.columns),
            **({"parent_columns": list(k.parent_columns)} if k.parent_columns != k.columns else {}),
            **({"most_children": most[k.child]} if most and k.child in most else {}),
        }
        for k in made.keys
    ]
    notes: list[str] = [
        Said(
            "{}: most_children is to be stated, how many rows of one row of {} are kept (`most_children={}=N`)",
            k["child"],
            k["parent"],
            k["child"],
        )
        for k in keys
        if "most_children" not in k
    ]
    tables = {t: s for t, s in exchanged.tables.items() if t not in made.aside}
    plain: dict[str, Any] = {"keys": keys, **({"open": made.open} if made.open else {})}
    return DraftedTables(tables=tables, plain=plain, notes=notes)


def _completed_tables(
    stated: Metadata, wanted: Wanted, folder: str | Path | None, source: str | None, missing: Sequence[str]
) -> DraftedTables:
    """The metadata's facts, and what they do not say drafted from rows."""
    there = in_folder(Path(folder)) if folder else in_database(str(source))
    for table, described in stated.tables.items():
        if table not in there.headers:
            raise UsageError("table {} of the metadata is not there; there are {}", table, ", ".join(there.headers))
        if lost := [c for c in described.columns if c not in there.headers[table]]:
            raise UsageError("table {} has no column {}, which the metadata name", table, lost[0])

    def rows(name: str) -> tuple[Table, list[str]]:
        whole, notes = there.rows(name)
        return whole.only(list(stated.tables[name].columns)), notes

    options = {t: {**sdv_metadata.kinds(s), "missing": list(missing)} for t, s in stated.tables.items()}
    headers = {t: list(s.columns) for t, s in stated.tables.items()}
    drafted = draft_related(headers, rows, replace(wanted, options=options), declared=stated.references)
    tables, notes = {}, list(drafted.notes)
    referring = {r for p in drafted.plain.get("public", {}).values() for r in p["referred_by"]}
    for name, schema in drafted.tables.items():
        said = stated.tables[name]
        retained = {n: schema.columns[n] if f"{name}.{n}" in referring else c for n, c in said.columns.items()}
        merged = sdv_metadata.merge(said.model_copy(update={"columns": retained}), schema)
        tables[name] = merged.schema.model_copy(update={"unit": None, "unit_source": None})
        notes += [Said("{}: {}", name, line) for line in merged.notes]
    return replace(drafted, tables=tables, notes=notes)


def check_tables(facts: Any, table: str | Path | None = None, source: str | None = None) -> None:
    """Whether the described columns are there, and each file is in order. Errors: InputError with the reason.

    Privacy: reads rows, exact: it tells of their form alone.
    """
    if facts.several:
        there = places(None if table is None else Path(table), facts, source)
    else:
        there = {facts.root: named_databases.place(table or "", source)}
    for name, place in there.items():
        with allowed_empty(facts, name):
            place.under(facts.tables[name]).check_form(list(facts.tables[name].columns))
