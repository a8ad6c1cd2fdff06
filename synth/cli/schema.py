"""`synth schema`: draft, import, check, learn and export the public facts of one table or of several."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synth.cli.answer import check_writable, helped, names, tell, write_text
from synth.cli.options import (
    Parse,
    Said,
    SchemaArg,
    SourceOpt,
    TablesArg,
    charged_by,
    command,
    none_of,
    pairs,
    several,
    some,
)
from synth.errors import UsageError, meant
from synth.schema.names import MOST_PREFIX
from synth.schema.table import MOST_CHILDREN

if TYPE_CHECKING:
    from synth.schema.table import Schema
    from synth.sources.draft_related import DraftedTables
    from synth.sources.drafting import Described

schema_app = typer.Typer(
    callback=helped, invoke_without_command=True, help="Draft and check a schema, the public facts of a table."
)
MARKS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "point": ".", "space": " ", "apostrophe": "'"}
MISSING = "TABLE is missing; name a file, a folder with a file for each table, or a --source"


def _within(most: int) -> Parse:
    """What makes a whole number from 1 to ``most`` of its text."""

    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
            raise ValueError
        return int(text)

    return number


def _format(text: str) -> str:
    from synth.schema.dialect import format_problem

    if fault := format_problem("datetime" if "y" in some(text) else "float", text):
        raise ValueError(fault)
    return text


def _pattern(text: str) -> str:
    from synth.schema.key_pattern import problem

    if fault := problem(some(text)):
        raise ValueError(fault)
    return text


def _book(file: str) -> Any:
    from synth.schema.codebook import load_codes

    return load_codes(some(file))


def prefixes(text: str | None) -> dict[str, int]:
    """What --group says: columns with the number of first characters that are kept. Errors: UsageError."""
    form = f"COLUMN=LENGTH, with 1 to {MOST_PREFIX} characters"
    return pairs("--group", form, _within(MOST_PREFIX), last=True, again=True)(names(text))


MOST = f"CHILD=N once for each, N from 1 to {MOST_CHILDREN}"
bounds = pairs("--most-children", MOST, _within(MOST_CHILDREN), last=True)
code_books = pairs("--codes", "COL=FILE.csv, once for each column", _book)
patterns = pairs("--pattern", "COLUMN=PATTERN, once for a column", _pattern)
formats_of = pairs("--format", "COL=FORMAT, once for each column", _format, last=True)


def _dialect(**given: str | None) -> dict[str, str | None]:
    """The facts of a dialect that options state. Errors: UsageError for a value that is none."""
    from pydantic import ValidationError

    from synth.schema.dialect import Dialect

    facts: dict[str, Any] = {n: MARKS.get(v, v) for n, v in given.items() if v is not None}
    if facts.get("thousands") == "none":
        facts = {"decimal": ".", **facts, "thousands": None}
    if facts.get("decimal") is not None and facts["decimal"] == facts.get("thousands"):
        raise UsageError("--decimal and --thousands must be different marks")
    try:
        Dialect(**{"decimal": "," if facts.get("thousands") == "." else ".", **facts})
    except ValidationError as error:
        name = error.errors()[0]["loc"][0]
        raise UsageError(f"--{name} {given[str(name)]}: not known; see `synth schema init --help`") from None
    return facts


MissingOpt = Annotated[str | None, "--missing", "Texts that mean a missing value: N,?.", names]
CodesOpt = Annotated[list[str] | None, "--codes", "COL=FILE.csv, the column's code book; repeat.", code_books]
RootOpt = Annotated[str | None, "--root", "Related tables: the one whose rows are the units."]
PublicOpt = Annotated[list[str] | None, "--public", "A table that is public anyway; repeatable.", several]
MostOpt = Annotated[
    list[str] | None, "--most-children", "CHILD=N: rows of one parent that are kept; repeatable.", bounds
]
OutOpt = Annotated[Path, "--out", "Where to write the schema; replaced if it exists."]
NameOpt = Annotated[str | None, "--table-name", "The table's name in the metadata."]


def schema_init(
    table: TablesArg = None,
    *,
    out: Annotated[Path, "File for the draft; replaced if it exists."],
    categorical: Annotated[str | None, "Columns of codes: A,B.", names] = None,
    ordinal: Annotated[str | None, "Columns of codes with an order: A,B.", names] = None,
    identifier: Annotated[str | None, "Columns of keys: A,B.", names] = None,
    dates: Annotated[str | None, "--datetime", "Columns of dates: A,B.", names] = None,
    codes: CodesOpt = None,
    missing: MissingOpt = None,
    encoding: Annotated[str | None, "utf-8, utf-16, windows-1252 [default: found]."] = None,
    delimiter: Annotated[str | None, "comma, semicolon, tab, pipe [default: found]."] = None,
    decimal: Annotated[str | None, "point or comma [default: found]."] = None,
    thousands: Annotated[str | None, "point, comma, apostrophe, space or none [default: found]."] = None,
    formats: Annotated[
        list[str] | None, "--format", "COL=dd.mm.yyyy or COL=1.234,5, how a column is written; repeat.", formats_of
    ] = None,
    group: Annotated[str | None, "Columns grouped by first characters: zip=2,icd=1.", prefixes] = None,
    unit: Annotated[str | None, "row: a row is a person; else a person's identifier column."] = None,
    pattern: Annotated[
        list[str] | None,
        "--pattern",
        "COL=P[0-9]{6}, the public form in which made-up keys are written; repeatable.",
        patterns,
    ] = None,
    root: RootOpt = None,
    public: PublicOpt = None,
    key: Annotated[list[str] | None, "CHILD.COL=PARENT.COL, or CHILD.A+B=PARENT.C+D; repeatable.", several] = None,
    most_children: MostOpt = None,
    source: SourceOpt = None,
    **asked: Any,
) -> Said:
    """Draft a schema from the rows, for you to check.

    A folder of tables or a whole database gives a schema of related tables.
    """
    from synth.sources import drafting
    from synth.sources.draft_related import Wanted, is_folder_of_tables

    kinds: dict[str, Any] = {"categorical": categorical, "ordinal": ordinal, "identifier": identifier}
    stated = _dialect(encoding=encoding, delimiter=delimiter, decimal=decimal, thousands=thousands)
    common: dict[str, Any] = {"max_categories": asked.pop("max_categories"), "missing": missing, "stated": stated}
    common["kinds"] = {**kinds, "datetime_": dates}
    word = {"assume_public": asked.pop("assume_public"), "because": asked.pop("reasons"), "forms": pattern}
    across: dict[str, Any] = {"root": root, "public": public, "most_children": most_children}
    if table is None or (source is None and is_folder_of_tables(table)):
        alone = {"codes": codes, "format": formats, "group": group, "unit": unit}
        alone |= {"target": asked["target"], "max_rows": asked["max_rows"]}
        none_of(alone, "is of a single table; draft that table alone, and put its facts under `tables`")
        wanted = Wanted(dataset=asked["dataset"], keys=drafting.references(key or ()), **across)
        return _write(drafting.described_tables(table, source, wanted=wanted, **common), out, "drafted", **word)
    none_of({**across, "key": key}, "is of related tables, a folder with a file for each")
    asked |= {"formats": formats, "group": group, "unit": unit, "books": codes}
    return _write(drafting.described(table, source, **asked, **common), out, "drafted", **word)


def _write(
    made: "DraftedTables | Described",
    out: Path,
    done: str,
    *,
    assume_public: bool | Sequence[str],
    because: Mapping[str, str],
    forms: Mapping[str, str] | None = None,
) -> Said:
    """Vouches for a draft, of one table or of several, and writes it; on stderr what to look at. Errors: UsageError."""
    from synth.pipeline.learn_schema import lacking
    from synth.sources.drafting import Described

    if isinstance(made, Described) and made.read_as is not None:
        dialect = made.schema.dialect or made.read_as
        plain = "" if made.schema.dialect else " (the plain way, which needs no dialect)"
        remedy = "correct? else state --encoding, --delimiter, --decimal, --thousands"
        print(f"read as {dialect.in_words()}{plain}: {remedy}", file=sys.stderr)
    tell(made.notes)
    drafted = {"": made.schema} if isinstance(made, Described) else made.tables
    tables = confirm(formed(drafted, forms or {}), assume_public, because)
    counts = {n: len(s.columns) for n, s in tables.items()}
    if isinstance(made, Described):
        facts = tables[""]
        if done == "imported" and (absent := lacking(facts)):
            remedy = "state them, draft them with --table, or learn them"
            tell([f"no bounds or categories yet: {', '.join(absent)}: {remedy}"])
        write_text(out, facts.to_json())
        return {"columns": counts[""], "paths": {"schema": str(out)}}, [f"{counts['']} columns {done}: {out}"]
    write_text(out, replace(made, tables=tables).to_json())
    tell([f"to be decided: {line}" for line in made.plain.get("open", ())])
    said = ", ".join(f"{n} ({many} columns)" for n, many in counts.items())
    return {"tables": counts, "paths": {"schema": str(out)}}, [f"{len(tables)} tables {done}: {said}: {out}"]


def confirm(
    tables: "Mapping[str, Schema]", assume_public: bool | Sequence[str], because: Mapping[str, str]
) -> "dict[str, Schema]":
    """Drafted tables with facts marked public on the caller's word, or as they are; says on stderr which.

    ``tables``: by name, of which columns are TABLE.COLUMN, or one alone under "". Lists of values that tell of persons
    are marked only where they are named, each with a reason. Errors: UsageError, InputError.
    """
    from synth.pipeline import schema_approval

    every = isinstance(assume_public, bool)
    named: list[str] = [] if isinstance(assume_public, bool) else list(assume_public)
    for name in [] if "" in tables else [*named, *because]:
        table, _, column = name.partition(".")
        if table not in tables or column not in tables[table].columns:
            raise UsageError(f"{name}: the draft has no such column; write TABLE.COLUMN")
    confirmed = {}
    for name, schema in tables.items():
        of = f"{name}." if name else ""
        own = list(_own(dict.fromkeys(named, ""), of))
        schema = schema_approval.explained(schema, _own(because, of), of=of)
        if assume_public is not False:
            waiting, alone = schema.unconfirmed(), schema_approval.risky(schema)
            given = [n for n in waiting if n not in alone or n in own]
            given_columns = {n: c for n, c in schema.columns.items() if n in given or n not in waiting}
            schema_approval.check_alone(schema.model_copy(update={"columns": given_columns}), True if every else own)
            if given:
                listed = "; ".join(f"{of}{n} ({', '.join(waiting[n])})" for n in given)
                tell([f"taken as public on your word: {listed}"])
            if schema.person is None and schema.unit_source == "unconfirmed":
                tell(["taken on your word: each row is one person"])
                schema = schema.model_copy(update={"unit_source": "declared"})
            schema = schema.assume_public(given)
        confirmed[name] = schema
    remedy = "check each, then set its source, or pass --assume-public"
    if waits := {t: list(s.unconfirmed()) for t, s in confirmed.items() if s.unconfirmed()}:
        whole = "" in tables and len(waits[""]) == len(confirmed[""].columns)
        what = f"unconfirmed: {', '.join(waits[''])}" if "" in tables else f"unconfirmed facts in {', '.join(waits)}"
        tell([f"{'every fact is unconfirmed' if whole else what}: {remedy}"])
    return confirmed


def _own(named: Mapping[str, str], of: str) -> dict[str, str]:
    """Of what is said of TABLE.COLUMN that of one table, by column; ``of``: TABLE., or nothing."""
    return {n.removeprefix(of): what for n, what in named.items() if n.startswith(of)}


def formed(tables: "Mapping[str, Schema]", forms: Mapping[str, str]) -> "dict[str, Schema]":
    """Drafted tables with the public forms of made-up keys, by column. Errors: UsageError for what is no identifier."""
    formed_tables, left = {}, set(forms)
    for table, schema in tables.items():
        own = _own(forms, of := f"{table}." if table else "")
        left -= {of + n for n in own}
        for name in own:
            if name not in schema.columns or schema.columns[name].type != "identifier":
                raise UsageError(f"--pattern {name}: it is no identifier of the draft; name it with --identifier")
        columns = {n: c.model_copy(update={"pattern": own[n]}) if n in own else c for n, c in schema.columns.items()}
        formed_tables[table] = schema.model_copy(update={"columns": columns})
    for name in left:
        raise UsageError(f"--pattern {name}: the draft has no such column; write TABLE.COLUMN")
    return formed_tables


def schema_import(
    metadata: Annotated[Path, "SDV metadata, or a schema to which --codes are added; a JSON file."],
    *,
    out: OutOpt,
    table_name: NameOpt = None,
    table: Annotated[Path | None, "Draft absent facts from this table's rows."] = None,
    codes: CodesOpt = None,
    missing: MissingOpt = None,
    root: RootOpt = None,
    public: PublicOpt = None,
    most_children: MostOpt = None,
    source: SourceOpt = None,
    **asked: Any,
) -> Said:
    """Make a schema from SDV metadata, or add code books to one.

    Facts that the metadata lack stay absent, or are drafted with --table.
    """
    from synth.schema import codebook
    from synth.schema.sdv_metadata import is_schema, read_sdv
    from synth.schema.table import load
    from synth.sources.draft_related import Wanted
    from synth.sources.drafting import imported

    plain, books = read_sdv(metadata), {"books": codes, "missing": missing}
    word = {"assume_public": asked["assume_public"], "because": asked["reasons"]}
    if is_schema(plain):
        named: Any = codes
        booked = codebook.with_books(load(metadata, complete=False), named, missing=missing or ())
        tell(booked.notes)
        write_text(out, booked.schema.to_json())
        return {"codes": list(named), "paths": {"schema": str(out)}}, [f"{', '.join(named)}: with code books: {out}"]
    across: dict[str, Any] = {"root": root, "public": public, "most_children": most_children}
    more: dict[str, Any] = {**books, "wanted": Wanted(**across), "name": f"metadata {metadata}"}
    return _write(imported(plain, table, source, table_name=table_name, **more), out, "imported", **word)


@command(schema_app, name="starter")
def schema_starter(
    name: Annotated[str, "omop: five tables of the OMOP common data model, version 5.4."],
    *,
    out: OutOpt,
) -> Said:
    """Write the schema of a well-known data model, for you to complete."""
    from synth.schema.dataset import STARTERS, parse_any

    there = {p.stem: p for p in STARTERS.iterdir()}
    if name not in there:
        raise UsageError(f"{name}: there is no such starter; {meant(name, there)}")
    text = there[name].read_text(encoding="utf-8")
    waiting = parse_any(json.loads(text), name=f"starter {name}").unconfirmed()
    write_text(out, text)
    tell([f"yours to decide, and to set the source of: {', '.join(waiting)}"])
    return {"unconfirmed": waiting, "paths": {"schema": str(out)}}, [f"schema of {name} written: {out}"]


@command(schema_app, name="export")
def schema_export(
    schema: SchemaArg,
    *,
    out: Annotated[Path, "Where to write the metadata; replaced if it exists."],
    sdv: Annotated[bool, "As SDV metadata, version V1."] = False,
    table_name: NameOpt = None,
) -> Said:
    """Write a schema in another program's form."""
    from synth.schema import sdv_metadata
    from synth.schema.dataset import load_any

    if not sdv:
        raise UsageError("say in which form to write it: --sdv")
    facts = load_any(schema, complete=False)
    plain, many = sdv_metadata.to_sdv(facts, table_name=table_name), ""
    if facts.several:
        many = f" of {len(facts.tables)} tables"
    write_text(out, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
    return plain, [f"SDV metadata{many} written: {out}"]


@command(schema_app, name="check")
def schema_check(
    schema: SchemaArg,
    *,
    table: Annotated[Path | None, "Also check that a table has its columns."] = None,
    source: SourceOpt = None,
) -> Said:
    """Check a schema, and list what nobody has confirmed yet."""
    from synth.schema import dataset as datasets
    from synth.schema.table import read
    from synth.sources.drafting import check_tables

    plain = read(schema)
    left = plain.get("open") if datasets.is_related(plain) else None
    if isinstance(left, list) and left:
        tell([f"to be decided: {line}" for line in left])
    facts = datasets.parse_any(plain, name=f"schema {schema}")
    if table is not None or (source is not None and facts.several):
        check_tables(facts, table, source)
    waiting, columns = facts.unconfirmed(), {n: len(s.columns) for n, s in facts.tables.items()}
    keyed = [k.model_dump(mode="json", exclude_none=True) for k in facts.keys]
    answer: dict[str, Any] = {"columns": columns[facts.root]}
    if facts.several:
        answer = {"tables": columns, "root": facts.root, "keys": keyed}
    many, unit = (f"{len(columns)} tables, ", f"; the unit is {facts.unit_in_words}") if facts.several else ("", "")
    lines = [f"{many}{sum(columns.values())} columns, every rule holds{unit}"]
    lines += [
        f"{key.child} belongs to {key.parent} by {', '.join(key.columns)}: at most {key.most_children} rows each"
        + (f", in the order of {key.order}" if key.order else "")
        for key in facts.keys
    ]
    lines += [
        f"{name} is public: {', '.join(public.referred_by)} refer to its {', '.join(public.keys)}"
        for name, public in (facts.public or {}).items()
    ]
    lines += [f"unconfirmed: {name} ({', '.join(waits)})" for name, waits in waiting.items()]
    return {**answer, "unconfirmed": waiting}, lines


def schema_learn(
    table: TablesArg = None,
    *,
    out: Annotated[Path, "Where to write the learnt schema."],
    source: SourceOpt = None,
    schema: Path,
    **asked: Any,
) -> Said:
    """Learn missing categories and bounds; charges the ledger.

    Of a folder of tables, or a whole database, those of all tables together.
    """
    from synth.pipeline import run as pipeline
    from synth.pipeline.reporting import Quiet
    from synth.schema.dataset import load_any

    check_writable(out)  # before anything is spent
    if table is None and source is None:
        raise UsageError("TABLE is missing; name a file, a folder of tables, or a database with --source")
    known = load_any(schema, complete=False)
    told = Quiet(lambda message: tell([message]))
    facts = pipeline.learn_schema(table, schema=known, source=source, reporter=told, **asked, **charged_by())
    write_text(out, facts.to_json())
    learnt = [n for n, c in facts.all_columns.items() if c.source == "private"]
    spent = {"epsilon_spent": asked["epsilon"], "delta": asked["delta"]}
    line = f"{len(learnt)} columns learnt for epsilon {asked['epsilon']:g}, delta {asked['delta']:g}: {out}"
    return {**spent, "learnt": learnt, "paths": {"schema": str(out)}}, [line]


def register(app: typer.Typer) -> None:
    """Makes them commands."""
    command(schema_app, "target dataset max_rows assume_public reasons max_categories", name="init")(schema_init)
    command(schema_app, "assume_public reasons", name="import")(schema_import)
    learning = "schema_file epsilon delta relation unit max_rows ledger dataset separate"
    command(schema_app, learning, name="learn", schema_file=..., delta=1e-6)(schema_learn)
    app.add_typer(schema_app, name="schema")
