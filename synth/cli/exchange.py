"""`synth schema import`, `export` and `codes`: facts from and for other programs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synth.cli import dialects
from synth.cli.answer import names, tell, write_text
from synth.cli.options import AssumeOpt, MostOpt, PublicOpt, ReasonOpt, RootOpt, SourceOpt, assumed, reasons
from synth.cli.related_exchange import export_related, import_related
from synth.cli.vouching import vouch
from synth.errors import UsageError

if TYPE_CHECKING:
    from synth.schema.codebook import CodeBook
    from synth.schema.table import Schema

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

    books, codes_missing = code_books(codes), names(missing)
    plain = sdv_metadata.read_sdv(metadata)
    if sdv_related.is_related(plain) and table_name is None:
        import_related(
            plain,
            out,
            name=f"metadata {metadata}",
            table=table,
            source=source,
            missing=codes_missing,
            root=root,
            public=public,
            most_children=most_children,
            assume_public=assumed(assume_public),
            because=reasons(reason),
        )
        return
    result = sdv_metadata.from_sdv(plain, table_name=table_name, name=f"metadata {metadata}")
    booked = codebook.with_books(result.schema, books, missing=codes_missing)
    if table is not None:
        drafted = _drafted(booked.schema, table, source, codes_missing)
        booked = codebook.with_books(drafted, books, missing=codes_missing)  # what the book says stands
    tell([*result.notes, *booked.notes])
    facts = vouch(booked.schema, assume_public=assumed(assume_public), because=reasons(reason))
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


def schema_export(
    schema: Annotated[Path, typer.Argument(help="The schema, a JSON file.")],
    out: Annotated[Path, typer.Option("--out", help="Where to write the metadata; replaced if it exists.")],
    sdv: Annotated[bool, typer.Option("--sdv", help="As SDV metadata, version V1.")] = False,
    table_name: NameOpt = None,
) -> None:
    """Write a schema in another program's form."""
    from synth.schema import sdv_metadata
    from synth.schema import table as schemas
    from synth.schema.dataset import is_related

    if not sdv:
        raise UsageError("say in which form to write it: --sdv")
    if is_related(schemas.read(schema)):
        export_related(schema, out)
        return
    plain = sdv_metadata.to_sdv(schemas.load(schema, complete=False), table_name=table_name)
    write_text(out, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
    print(f"SDV metadata written: {out}")


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
