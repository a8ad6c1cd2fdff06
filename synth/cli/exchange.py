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
    from synth.sources.draft_related import DraftedTables

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
    from synth.schema.sdv_metadata import read_sdv
    from synth.sources.draft_related import DraftedTables, Wanted
    from synth.sources.drafting import imported

    word: dict[str, Any] = {"assume_public": assumed(assume_public), "because": reasons(reason)}
    made = imported(
        read_sdv(metadata),
        table,
        source,
        table_name=table_name,
        books=code_books(codes),
        missing=names(missing),
        wanted=Wanted(root=root, public=public or (), most_children=bounds(most_children)),
        name=f"metadata {metadata}",
    )
    if isinstance(made, DraftedTables):
        tell(made.notes)
        write_tables(made, out, "imported", **word)
        return
    dialects.tell_reading(made)
    tell(made.notes)
    facts = vouch({"": made.schema}, **word)[""]
    if absent := lacking(facts):
        tell([f"no bounds or categories yet: {', '.join(absent)}: state them, draft them with --table, or learn them"])
    write_text(out, facts.to_json())
    print(f"{len(facts.columns)} columns imported: {out}")


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
