"""`synth schema import`, `export` and `codes`: facts from and for other programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synth.cli import dialects
from synth.cli.answer import names, tell, write_text
from synth.cli.options import AssumeOpt, MostOpt, PublicOpt, ReasonOpt, RootOpt, SourceOpt, assumed, reasons
from synth.cli.vouching import formed, vouch
from synth.errors import UsageError

if TYPE_CHECKING:
    from synth.schema.codebook import CodeBook
    from synth.schema.related_names import Reference
    from synth.schema.sdv_related import ExchangedTables
    from synth.schema.table import Schema
    from synth.sources.draft_related import DraftedTables, Wanted

CodesOpt = Annotated[list[str] | None, typer.Option("--codes", help="COL=FILE.csv, the column's code book; repeat.")]
OutOpt = Annotated[Path, typer.Option("--out", help="Where to write the schema; replaced if it exists.")]
NameOpt = Annotated[str | None, typer.Option("--table-name", help="The table's name in the metadata.")]


def code_books(codes: Sequence[str] | None) -> "dict[str, CodeBook]":
    """The code books that --codes names, by column. Errors: UsageError, InputError."""
    from synth.schema import codebook

    books: dict[str, CodeBook] = {}
    for part in codes or ():
        name, sign, file = part.partition("=")
        if not (name and sign and file) or name in books:
            raise UsageError(f"--codes {part}: write COL=FILE.csv, once for each column")
        books[name] = codebook.load_codes(file)
    return books


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


def write_tables(
    drafted: "DraftedTables",
    out: Path,
    done: str,
    *,
    assume_public: bool | Sequence[str],
    because: Mapping[str, str],
    forms: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Vouches for a draft of several tables, writes it, and says what is to be decided. ``done``: what was."""
    tables = vouch(formed(drafted.tables, forms), assume_public=assume_public, because=because)
    write_text(out, replace(drafted, tables=tables).to_json())
    said = ", ".join(f"{n} ({len(s.columns)} columns)" for n, s in tables.items())
    print(f"{len(tables)} tables {done}: {said}: {out}")
    tell([f"to be decided: {line}" for line in drafted.plain.get("open", ())])


def schema_import(
    metadata: Annotated[Path, typer.Argument(help="SDV metadata, a JSON file.")],
    out: OutOpt,
    table_name: NameOpt = None,
    table: Annotated[Path | None, typer.Option("--table", help="Draft absent facts from this table's rows.")] = None,
    codes: CodesOpt = None,
    missing: Annotated[str | None, typer.Option("--missing", help="Texts that mean a missing value: N,?.")] = None,
    assume_public: AssumeOpt = None,
    reason: ReasonOpt = None,
    root: RootOpt = None,
    public: PublicOpt = None,
    most_children: MostOpt = None,
    source: SourceOpt = None,
) -> None:
    """Make a schema from SDV metadata.

    Facts that the metadata lack stay absent, or are drafted with --table.
    """
    from synth.pipeline.learn_schema import lacking
    from synth.schema import codebook, sdv_metadata, sdv_related
    from synth.sources.draft_related import Wanted

    books, codes_missing = code_books(codes), names(missing)
    plain, called = sdv_metadata.read_sdv(metadata), f"metadata {metadata}"
    word: dict[str, Any] = {"assume_public": assumed(assume_public), "because": reasons(reason)}
    if sdv_related.is_related(plain) and table_name is None:
        stated = sdv_related.from_sdv_related(plain, name=called)
        wanted = Wanted(root=root, public=public or (), most_children=bounds(most_children))
        there = table is not None or source is not None
        of_several = _tables_drafted(stated, wanted, table, source, codes_missing) if there else _stated(stated, wanted)
        tell([*stated.notes, *of_several.notes])
        write_tables(of_several, out, "imported", **word)
        return
    result = sdv_metadata.from_sdv(plain, table_name=table_name, name=called)
    booked = codebook.with_books(result.schema, books, missing=codes_missing)
    if table is not None:
        drafted = _drafted(booked.schema, table, source, codes_missing)
        booked = codebook.with_books(drafted, books, missing=codes_missing)  # what the book says stands
    tell([*result.notes, *booked.notes])
    facts = vouch({"": booked.schema}, **word)[""]
    if absent := lacking(facts):
        tell([f"no bounds or categories yet: {', '.join(absent)}: state them, draft them with --table, or learn them"])
    write_text(out, facts.to_json())
    print(f"{len(facts.columns)} columns imported: {out}")


def _drafted(stated: "Schema", table: Path, source: str | None, missing: list[str]) -> "Schema":
    from synth.schema import sdv_metadata
    from synth.sources import named_databases
    from synth.sources.draft_schema import draft

    rows, notes = named_databases.whole(table, source, columns=list(stated.columns))
    rows = rows.only(list(stated.columns))
    drafted = draft(rows, missing=missing, **sdv_metadata.kinds(stated))
    merged = sdv_metadata.merge(stated, drafted.schema)
    dialects.tell_reading(rows, merged.schema)
    tell([*notes, *drafted.suggestions, *merged.notes])
    return merged.schema


def _stated(exchanged_tables: "ExchangedTables", wanted: "Wanted") -> "DraftedTables":
    """What the metadata say; bounds that nobody states stay absent. Errors: UsageError."""
    from synth.schema.related_names import tree
    from synth.sources.draft_related import DraftedTables, check

    if wanted.public:
        raise UsageError(
            "--public: the categories of a reference are the public table's keys, which must be read; "
            "name the tables with --table"
        )
    check({t: list(s.columns) for t, s in exchanged_tables.tables.items()}, wanted)
    made = tree(list(exchanged_tables.tables), exchanged_tables.references, public=(), root=wanted.root)
    keys = [
        {
            "parent": k.parent,
            "child": k.child,
            "columns": list(k.columns),
            **({"parent_columns": list(k.parent_columns)} if k.parent_columns != k.columns else {}),
            **({"most_children": most[k.child]} if k.child in (most := wanted.most_children or {}) else {}),
        }
        for k in made.keys
    ]
    notes = [
        f"{k['child']}: most_children is to be stated, how many rows of one row of {k['parent']} are kept "
        f"(--most-children {k['child']}=N)"
        for k in keys
        if "most_children" not in k
    ]
    tables = {t: s for t, s in exchanged_tables.tables.items() if t not in made.aside}
    plain: dict[str, Any] = {"keys": keys, **({"open": made.open} if made.open else {})}
    return DraftedTables(tables=tables, plain=plain, notes=notes)


def _tables_drafted(
    exchanged_tables: "ExchangedTables", wanted: "Wanted", table: Path | None, source: str | None, missing: list[str]
) -> "DraftedTables":
    """The metadata's facts, and what they do not say drafted from rows."""
    from synth.schema import sdv_metadata, sdv_related
    from synth.sources.draft_related import draft_related, in_database, in_folder
    from synth.sources.formats.text_table import Table

    reported = in_folder(table) if table is not None else in_database(str(source))
    sdv_related.check_kinds(exchanged_tables.tables, reported.headers)

    def rows(name: str) -> tuple[Table, list[str]]:
        whole, notes = reported.rows(name)
        return whole.only(list(exchanged_tables.tables[name].columns)), notes

    options = {t: {**sdv_metadata.kinds(s), "missing": missing} for t, s in exchanged_tables.tables.items()}
    headers = {t: list(s.columns) for t, s in exchanged_tables.tables.items()}
    drafted = draft_related(headers, rows, replace(wanted, options=options), declared=exchanged_tables.references)
    tables, notes = {}, list(drafted.notes)
    referring = {r for p in drafted.plain.get("public", {}).values() for r in p["referred_by"]}
    for name, schema in drafted.tables.items():
        stated = exchanged_tables.tables[name]
        retained = {n: schema.columns[n] if f"{name}.{n}" in referring else c for n, c in stated.columns.items()}
        merged = sdv_metadata.merge(stated.model_copy(update={"columns": retained}), schema)
        tables[name] = merged.schema.model_copy(update={"unit": None, "unit_source": None})
        notes += [f"{name}: {line}" for line in merged.notes]
    return replace(drafted, tables=tables, notes=notes)


def schema_export(
    schema: Annotated[Path, typer.Argument(help="The schema, a JSON file.")],
    out: Annotated[Path, typer.Option("--out", help="Where to write the metadata; replaced if it exists.")],
    sdv: Annotated[bool, typer.Option("--sdv", help="As SDV metadata, version V1.")] = False,
    table_name: NameOpt = None,
) -> None:
    """Write a schema in another program's form."""
    from synth.schema import sdv_metadata, sdv_related
    from synth.schema.dataset import load_any

    if not sdv:
        raise UsageError("say in which form to write it: --sdv")
    facts = load_any(schema, complete=False)
    if (tree := facts.tree) is not None:
        plain, many = sdv_related.to_sdv_related(tree), f" of {len(tree.tables)} tables"
    else:
        plain, many = sdv_metadata.to_sdv(facts.tables[facts.root], table_name=table_name), ""
    write_text(out, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
    print(f"SDV metadata{many} written: {out}")


def schema_codes(
    schema: Annotated[Path, typer.Argument(help="The schema, a JSON file.")],
    column: Annotated[str, typer.Argument(help="The column that the code book describes.")],
    book: Annotated[Path, typer.Argument(help="CSV file with the header value,label.")],
    out: OutOpt,
) -> None:
    """Take a column's categories and labels from its code book."""
    from synth.schema import codebook
    from synth.schema import table as schemas

    result = codebook.with_codes(schemas.load(schema, complete=False), column, codebook.load_codes(book))
    tell(result.notes)
    write_text(out, result.schema.to_json())
    print(f"{column}: {len(result.schema.columns[column].categories or ())} categories with labels: {out}")
