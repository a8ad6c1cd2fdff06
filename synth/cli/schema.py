"""`synth schema`: draft and check the public facts of a table."""

from pathlib import Path
from typing import Annotated, Any

import typer

from synth.cli import dialects
from synth.cli.answer import check_writable, names, say, tell, write_text
from synth.cli.dialects import DecimalOpt, DelimiterOpt, EncodingOpt, FormatOpt, ThousandsOpt
from synth.cli.exchange import (
    CodesOpt,
    bounds,
    code_books,
    schema_codes,
    schema_export,
    schema_import,
    write_tables,
)
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
    from synth.sources import drafting
    from synth.sources.draft_related import Wanted, is_folder_of_tables

    kinds: dict[str, Any] = {
        "categorical": names(categorical),
        "ordinal": names(ordinal),
        "identifier": names(identifier),
        "datetime_": names(dates),
    }
    stated = dialects.stated(encoding, delimiter, decimal, thousands)
    common: dict[str, Any] = {"max_categories": max_categories, "missing": names(missing)}
    alone = {"codes": codes, "format": formats, "target": target, "group": group, "unit": unit, "max_rows": max_rows}
    several = {"root": root, "public": public, "key": key, "most_children": most_children}
    word: dict[str, Any] = {"assume_public": assumed(assume_public), "because": reasons(reason)}
    if table is None or (source is None and is_folder_of_tables(table)):
        _none_of(alone, "is of a single table; draft that table alone, and put its facts under `tables`")
        wanted = Wanted(
            root=root,
            public=public or (),
            keys=drafting.references(key or ()),
            most_children=bounds(most_children),
            dataset=dataset,
        )
        drafted = drafting.described_tables(table, source, wanted=wanted, stated=stated, kinds=kinds, **common)
        tell(drafted.notes)
        write_tables(drafted, out, "drafted", forms=patterns(pattern), **word)
        return
    _none_of(several, "is of related tables, a folder with a file for each")
    made = drafting.described(
        table,
        source,
        stated=stated,
        books=code_books(codes),
        kinds=kinds,
        target=target,
        dataset=dataset,
        formats=dialects.formats(formats),
        group=lengths(group),
        unit=unit,
        max_rows=max_rows,
        **common,
    )
    dialects.tell_reading(made)
    tell(made.notes)
    facts = vouch(formed({"": made.schema}, patterns(pattern)), **word)[""]
    write_text(out, facts.to_json())
    print(f"{len(facts.columns)} columns drafted: {out}")


def _none_of(options: dict[str, Any], why: str) -> None:
    """Errors: UsageError naming the first that is given."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"--{name.replace('_', '-')}: {why}")


@schema_app.command("check")
def schema_check(
    schema: Annotated[Path, typer.Argument(help="The schema, a JSON file.")],
    table: Annotated[Path | None, typer.Option("--table", help="Also check that a table has its columns.")] = None,
    source: SourceOpt = None,
    as_json: JsonOpt = False,
) -> None:
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
    if as_json and facts.several:
        keyed = [k.model_dump(mode="json", exclude_none=True) for k in facts.keys]
        say({"tables": columns, "root": facts.root, "keys": keyed, "unconfirmed": waiting})
        return
    if as_json:
        say({"columns": columns[facts.root], "unconfirmed": waiting})
        return
    many, unit = (f"{len(columns)} tables, ", f"; the unit is {facts.unit_in_words}") if facts.several else ("", "")
    print(f"{many}{sum(columns.values())} columns, every rule holds{unit}")
    for key in facts.keys:
        print(
            f"{key.child} belongs to {key.parent} by {', '.join(key.columns)}: at most {key.most_children} rows each"
            + (f", in the order of {key.order}" if key.order else "")
        )
    for name, public in (facts.public or {}).items():
        print(f"{name} is public: {', '.join(public.referred_by)} refer to its {', '.join(public.keys)}")
    for name, waits in waiting.items():
        print(f"unconfirmed: {name} ({', '.join(waits)})")


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
