"""`synth schema`: draft and check the public facts of a table."""

from pathlib import Path
from typing import Annotated, Any

import typer

from synth.cli import dialects
from synth.cli.answer import check_writable, names, say, tell, write_text
from synth.cli.dialects import DecimalOpt, DelimiterOpt, EncodingOpt, FormatOpt, ThousandsOpt
from synth.cli.exchange import CodesOpt, code_books, schema_codes, schema_export, schema_import
from synth.cli.guide import helped
from synth.cli.options import (
    AssumeOpt,
    DatasetOpt,
    DeltaOpt,
    EpsilonOpt,
    JsonOpt,
    KeyOpt,
    LedgerOpt,
    MaxCategoriesOpt,
    MaxRowsOpt,
    MostOpt,
    PatternOpt,
    PublicOpt,
    ReasonOpt,
    RelationOpt,
    RootOpt,
    SchemaOpt,
    SourceOpt,
    TargetOpt,
    UnitOpt,
    assumed,
    lengths,
    patterns,
    reasons,
    run_id,
)
from synth.cli.related_schema import check_related, init_related
from synth.cli.rights import SeparateOpt, audience
from synth.cli.vouching import formed, vouch
from synth.errors import UsageError

TablesArg = Annotated[
    Path | None,
    typer.Argument(help="CSV (also .gz), Parquet or .xlsx file of private rows, or a folder of related tables."),
]
schema_app = typer.Typer(
    callback=helped, invoke_without_command=True, help="Draft and check a schema, the public facts of a table."
)
schema_app.command("import")(schema_import)
schema_app.command("export")(schema_export)
schema_app.command("codes")(schema_codes)


@schema_app.command("init")
def schema_init(
    out: Annotated[Path, typer.Option("--out", help="File for the draft; replaced if it exists.")],
    table: TablesArg = None,
    categorical: Annotated[str | None, typer.Option("--categorical", help="Columns of codes: A,B.")] = None,
    ordinal: Annotated[str | None, typer.Option("--ordinal", help="Columns of codes with an order: A,B.")] = None,
    identifier: Annotated[str | None, typer.Option("--identifier", help="Columns of keys: A,B.")] = None,
    dates: Annotated[str | None, typer.Option("--datetime", help="Columns of dates: A,B.")] = None,
    codes: CodesOpt = None,
    missing: Annotated[str | None, typer.Option("--missing", help="Texts that mean a missing value: N,?.")] = None,
    encoding: EncodingOpt = None,
    delimiter: DelimiterOpt = None,
    decimal: DecimalOpt = None,
    thousands: ThousandsOpt = None,
    formats: FormatOpt = None,
    target: TargetOpt = None,
    dataset: DatasetOpt = None,
    group: Annotated[
        str | None, typer.Option("--group", help="Columns grouped by first characters: zip=2,icd=1.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", help="row: a row is a person; else a person's identifier column.")
    ] = None,
    max_rows: MaxRowsOpt = None,
    assume_public: AssumeOpt = None,
    reason: ReasonOpt = None,
    pattern: PatternOpt = None,
    max_categories: MaxCategoriesOpt = 50_000,
    root: RootOpt = None,
    public: PublicOpt = None,
    key: KeyOpt = None,
    most_children: MostOpt = None,
    source: SourceOpt = None,
) -> None:
    """Draft a schema from the rows, for you to check.

    A folder of tables or a whole database gives a schema of related tables.
    """
    from synth.sources.tables_to_draft import is_folder_of_tables

    kinds = {
        "categorical": names(categorical),
        "ordinal": names(ordinal),
        "identifier": names(identifier),
        "datetime_": names(dates),
    }
    common: dict[str, Any] = {
        "stated": dialects.stated(encoding, delimiter, decimal, thousands),
        "kinds": kinds,
        "missing": names(missing),
        "max_categories": max_categories,
        "dataset": dataset,
        "assume_public": assumed(assume_public),
        "because": reasons(reason),
        "forms": patterns(pattern),
    }
    alone: dict[str, Any] = {
        "codes": codes,
        "format": formats,
        "target": target,
        "group": group,
        "unit": unit,
        "max_rows": max_rows,
    }
    several: dict[str, Any] = {"root": root, "public": public, "key": key, "most_children": most_children}
    if table is None or (source is None and is_folder_of_tables(table)):
        _none_of(alone, "is of a single table; draft that table alone, and put its facts under `tables`")
        init_related(table, source, out, **several, **common)
    else:
        _none_of(several, "is of related tables, a folder with a file for each")
        _init_alone(table, source, out, **alone, **common)


def _none_of(options: dict[str, Any], why: str) -> None:
    """Errors: UsageError naming the first that is given."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"--{name.replace('_', '-')}: {why}")


def _init_alone(
    table: Path,
    source: str | None,
    out: Path,
    *,
    stated: dict[str, str | None],
    kinds: dict[str, list[str]],
    missing: list[str],
    max_categories: int,
    dataset: str | None,
    assume_public: bool | list[str],
    because: dict[str, str],
    forms: dict[str, str],
    codes: list[str] | None,
    format: list[str] | None,
    target: str | None,
    group: str | None,
    unit: str | None,
    max_rows: int | None,
) -> None:
    from synth.schema import codebook
    from synth.sources import named_databases
    from synth.sources.draft_schema import draft

    books = code_books(codes)
    rows, notes = named_databases.whole(table, source, columns=list(books) or None, stated=stated)
    coded = [name for name in books if not any(name in kinds[k] for k in ("ordinal", "identifier", "datetime_"))]
    drafted = draft(
        rows,
        **{**kinds, "categorical": [*kinds["categorical"], *coded]},
        missing=missing,
        target=target,
        dataset=dataset,
        max_categories=max_categories,
        formats=dialects.formats(format),
        group=lengths(group),
        unit=unit,
        max_rows=max_rows,
    )
    dialects.tell_reading(rows, drafted.schema)
    booked = codebook.with_books(drafted.schema, books, missing=missing)
    tell([*notes, *drafted.suggestions, *booked.notes])
    facts = vouch(formed(booked.schema, forms), assume_public=assume_public, because=because)
    write_text(out, facts.to_json())
    print(f"{len(facts.columns)} columns drafted: {out}")


@schema_app.command("check")
def schema_check(
    schema: Annotated[Path, typer.Argument(help="The schema, a JSON file.")],
    table: Annotated[Path | None, typer.Option("--table", help="Also check that a table has its columns.")] = None,
    source: SourceOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Check a schema, and list what nobody has confirmed yet."""
    from synth.schema import table as schemas
    from synth.schema.dataset import is_related
    from synth.sources import named_databases

    if is_related(schemas.read(schema)):
        check_related(schema, table, source, as_json=as_json)
        return
    facts = schemas.load(schema)
    if table is not None:
        named_databases.place(table, source).under(facts).check_form(list(facts.columns))
    waiting = facts.unconfirmed()
    if as_json:
        say({"columns": len(facts.columns), "unconfirmed": waiting})
        return
    print(f"{len(facts.columns)} columns, every rule holds")
    for name, facts_of in waiting.items():
        print(f"unconfirmed: {name} ({', '.join(facts_of)})")


@schema_app.command("learn")
def schema_learn(
    schema: SchemaOpt,
    epsilon: EpsilonOpt,
    out: Annotated[Path, typer.Option("--out", help="Where to write the learnt schema.")],
    table: TablesArg = None,
    delta: DeltaOpt = 1e-6,
    relation: RelationOpt = "add_remove",
    unit: UnitOpt = None,
    max_rows: MaxRowsOpt = None,
    ledger: LedgerOpt = None,
    dataset: DatasetOpt = None,
    source: SourceOpt = None,
    separate: SeparateOpt = False,
    as_json: JsonOpt = False,
) -> None:
    """Learn missing categories and bounds; charges the ledger.

    Of a folder of tables, or a whole database, those of all tables together.
    """
    from synth.pipeline import run as pipeline
    from synth.schema.dataset import load_any

    check_writable(out)  # before anything is spent
    if table is None and source is None:
        raise UsageError("TABLE is missing; name a file, a folder of tables, or a database with --source")
    facts = pipeline.learn_schema(
        table,
        schema=load_any(schema, complete=False),
        source=source,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        unit=unit,
        max_rows=max_rows,
        ledger=ledger,
        dataset=dataset,
        run=run_id(),
        reporter=_Notes(),
        separate=separate,
        audience=audience(),
    )
    write_text(out, facts.to_json())
    learnt = [n for n, c in facts.all_columns.items() if c.source == "private"]
    if as_json:
        say({"epsilon_spent": epsilon, "delta": delta, "learnt": learnt, "paths": {"schema": str(out)}})
    else:
        print(f"{len(learnt)} columns learnt for epsilon {epsilon:g}, delta {delta:g}: {out}")


class _Notes:
    """A reporter that passes on what should be read, and draws no bar."""

    def stage(self, name: str) -> None:
        """Ignored: learning takes seconds."""

    def progress(self, fraction: float) -> None:
        """Ignored."""

    def note(self, message: str) -> None:
        """One line on stderr."""
        tell([message])
