"""The command line: options in, one call into the library, one answer out. It adds nothing of its own."""

import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from synth.cli import numbers, paths, spelling
from synth.cli.answer import foreign, leave, say, show
from synth.cli.ask import ask
from synth.cli.audit import audit_app
from synth.cli.bundle import bundle
from synth.cli.card import card_app
from synth.cli.composition import ledger_composition
from synth.cli.estimates import estimate
from synth.cli.fetch import fetch
from synth.cli.guide import asked, guided
from synth.cli.ledger import ledger_app
from synth.cli.multiple import multiple_tables
from synth.cli.options import (
    DeltaOpt,
    DialectOpt,
    EpsilonOpt,
    ForOpt,
    JsonOpt,
    LearnShareOpt,
    LedgerOpt,
    MethodOpt,
    OptionOpt,
    PriorOpt,
    PriorReasonOpt,
    RawTextOpt,
    RelationOpt,
    RowsOpt,
    SchemaOpt,
    SeedOpt,
    SourceOpt,
    TargetOpt,
    one_or_each,
    parse_options,
    spelled_out,
)
from synth.cli.preview import preview
from synth.cli.report import report
from synth.cli.restore import ledger_backup, ledger_grant, ledger_import, ledger_restore
from synth.cli.run import run
from synth.cli.schema import schema_app
from synth.cli.series import series_app
from synth.cli.statistics import statistics
from synth.errors import COMMITTED, SynthError, UsageError

app = typer.Typer(
    name="synth",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Make synthetic tables with a differential-privacy guarantee.",
    callback=guided,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.command()(run)
app.command()(preview)
app.command()(report)
app.command()(statistics)
app.command()(ask)
app.command()(bundle)
app.command()(fetch)
app.command()(estimate)
ledger_app.command("composition")(ledger_composition)
ledger_app.command("backup")(ledger_backup)
ledger_app.command("restore")(ledger_restore)
ledger_app.command("import")(ledger_import)
ledger_app.command("grant")(ledger_grant)
app.add_typer(schema_app, name="schema")
app.add_typer(ledger_app, name="ledger")
app.add_typer(card_app, name="card")
app.add_typer(audit_app, name="audit")
app.add_typer(series_app, name="series")


@cache
def commands() -> Any:
    """All commands, put together once in a process: it takes as long as the rest of a short one."""
    return paths.guarded(get_command(app))


spelling.commands = commands


def main() -> None:
    """The entry point: every error is one line on stderr and an exit code, never a traceback."""
    COMMITTED.clear()
    try:
        numbers.check(sys.argv[1:], commands())
        commands()(args=spelled_out(asked(sys.argv[1:])), prog_name="synth", standalone_mode=False)
        sys.stdout.flush()
    except SynthError as error:
        leave(str(error), error.exit_code)
    except typer.Exit as error:
        sys.exit(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        leave("stopped; nothing more was done", 130)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        leave(*foreign(error))


def persons_are_drawn(num_rows: int | None, multiple: int | None) -> None:
    """Errors: UsageError for what rows that stand alone have."""
    if multiple is not None:
        raise UsageError("--multiple is for rows that stand alone; leave it out where persons keep their rows")
    if num_rows is not None:
        raise UsageError("its persons keep their rows, so persons are drawn, each with all rows: --num-roots")


@app.command()
def sample(
    model: Annotated[Path, typer.Argument(help="model.json, or the release's folder.")],
    num_rows: RowsOpt = None,
    num_roots: Annotated[
        int | None, typer.Option("--num-roots", help="Root rows, or persons who keep their rows, to draw.")
    ] = None,
    where: Annotated[list[str] | None, typer.Option("--where", help="COL=VALUE, COL=A|B or COL=LOW..HIGH.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A .csv, .csv.gz, .parquet or .xlsx file, or a folder of Parquet [default: sample.csv]."
        ),
    ] = None,
    seed: SeedOpt = None,
    raw_text: RawTextOpt = False,
    dialect: DialectOpt = "same",
    source: SourceOpt = None,
    out_table: Annotated[str | None, typer.Option("--out-table", help="Name of a new table at --source.")] = None,
    multiple: Annotated[
        int | None, typer.Option("--multiple", help="Tables to draw into --out, for intervals.")
    ] = None,
    columns: Annotated[str | None, typer.Option("--columns", help="Of the analysis, with --multiple: COL,COL.")] = None,
    as_json: JsonOpt = False,
) -> None:
    """Draw more rows from a finished run; free."""
    from synth.pipeline.sample import sample_to
    from synth.release import folder

    wanted = _conditions(where or [])
    if columns is not None and multiple is None:
        raise UsageError("--columns is for --multiple: without it all columns are drawn alike")
    persons = folder.is_one_table(model)
    several = folder.is_related(model) and not persons
    if several:
        if source is not None or out_table is not None or (num_rows is not None and num_roots is not None):
            raise UsageError("a model of related tables draws --num-roots roots into the folder --out")
        if multiple is not None:
            raise UsageError("--multiple is for a release of a single table; leave it out for related tables")
    if persons:
        persons_are_drawn(num_rows, multiple)
    if multiple is not None:
        if where or source is not None or out_table is not None or num_roots is not None:
            raise UsageError("--multiple draws whole tables into a folder: leave out --where, --source and --num-roots")
        reported, text = multiple_tables(
            model, multiple, out=out, num_rows=num_rows, seed=seed, columns=columns, raw_text=raw_text, dialect=dialect
        )
        say(reported) if as_json else print(text)
        return
    if num_roots is not None and not several and not persons:
        raise UsageError("--num-roots is for a model of related tables; this one is of a single table: --num-rows")
    if source is None and out is None and out_table is None:
        out = Path("sample") if several else Path("sample.csv")
    size, probability, paths = sample_to(
        model,
        out,
        num_rows=num_roots or num_rows,
        where=wanted,
        seed=seed,
        raw_text=raw_text,
        dialect=dialect,
        source=source,
        out_table=out_table,
    )
    plain = {"num_rows": size, "probability": probability, "epsilon_spent": 0.0, "paths": paths}
    rows = {f" of {t}": (t, many) for t, many in size.items()} if several else {"": ("sample", size)}
    lines = [f"{many} rows{of}: {paths[t]}" for of, (t, many) in rows.items()]
    lines += [f"{t}, public: {path}" for t, path in paths.items() if several and t not in size]
    text = "\n".join(lines) + (f" (probability of the condition {probability:.3g})" if wanted else "")
    say(plain) if as_json else print(text)


def _conditions(where: list[str]) -> dict[str, str]:
    """The conditions by column. Errors: UsageError for one that is none, or stands twice."""
    wanted: dict[str, str] = {}
    for part in where:
        name, sign, value = part.partition("=")
        if not sign or name in wanted:
            raise UsageError(f"--where {part}: write COL=VALUE, once for each column")
        wanted[name] = value
    return wanted


@app.command()
def plan(
    schema: SchemaOpt,
    rows: Annotated[
        int, typer.Option("--rows", help="Rows expected in the table (in the root of related tables); a guess will do.")
    ],
    epsilon: EpsilonOpt = 1.0,
    delta: DeltaOpt = 1e-5,
    method: MethodOpt = "mixture",
    relation: RelationOpt = "add_remove",
    target: TargetOpt = None,
    option: OptionOpt = None,
    uses: ForOpt = None,
    prior: PriorOpt = None,
    prior_reason: PriorReasonOpt = None,
    learn_share: LearnShareOpt = None,
    error: Annotated[
        float | None,
        typer.Option(
            "--error",
            help="Share of rows in the wrong place, of means standard deviations; says the least epsilon of each use.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0, help="Seconds for the rehearsal on made-up rows; 0: none.")
    ] = 30.0,
    ledger: LedgerOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Forecast a run's cost and error; reads no row.

    Rehearses the run on made-up rows of the same schema.
    """
    from synth.pipeline import dry_run
    from synth.pipeline import plan as planning
    from synth.pipeline.plan import LADDER
    from synth.schema.dataset import load_any

    asked: dict[str, Any] = {
        "rows": rows,
        "epsilon": epsilon,
        "delta": delta,
        "method": method,
        "relation": relation,
        "target": target,
        "options": parse_options(option or []),
        "uses": tuple(uses or ()),
    }
    facts = load_any(schema, complete=learn_share is None)
    result = planning.plan(
        facts,
        **asked,
        prior=prior or (),
        prior_reason=one_or_each(prior_reason),
        learn_share=learn_share,
        epsilons=LADDER,
        error=error,
        ledger=ledger,
    )
    rehearses = seconds > 0 and learn_share is None
    reported = dry_run.dry_run(facts, **asked, seconds=seconds) if rehearses else None
    if as_json:
        say({**result.plain(), "rehearsed": reported and reported.plain()})
    else:
        show(result.in_words())
        show(reported.in_words() if reported else "rehearsed: the questions alone")


@app.command()
def methods(as_json: JsonOpt = False) -> None:
    """List the methods: options, guarantees, and what each keeps."""
    from synth.pipeline.methods import methods as listed

    result = listed()
    if as_json:
        say(result)
    else:
        for g in result:
            print(f"{g['name']:14s} {g['summary']}\n{'':14s} noise: {g['stage']}, {g['barrier']}")
            print(f"{'':14s} guarantee: {g['guarantee']}; relations: {', '.join(g['relations'])}")
            named = ", ".join(f"{n}={v}" for n, v in g["options"].items())
            print(f"{'':14s} options: {named or 'none'}")
            held = "; ".join(f"at epsilon {e}: {words}" for e, words in g["keeps"].items())
            print(f"{'':14s} keeps: {held or 'not measured'}\n{'':14s} needs: {g['needs'] or 'not measured'}")


@app.command("app")
def app_command(
    port: Annotated[int, typer.Option("--port", help="Port on this machine.")] = 8501,
    headless: Annotated[bool, typer.Option("--headless", help="Do not open a browser window.")] = False,
    address: Annotated[
        str | None, typer.Option("--address", help="Network address to listen on [default: 127.0.0.1].")
    ] = None,
    tables: Annotated[
        list[Path] | None, typer.Option("--tables", help="Folder whose tables are offered; repeatable.")
    ] = None,
    sources: Annotated[Path | None, typer.Option("--sources", help="File that lists the databases to offer.")] = None,
    roles: Annotated[Path | None, typer.Option("--roles", help="File of roles; people then have to sign in.")] = None,
    secrets: Annotated[Path | None, typer.Option("--secrets", help="File with the secrets for signing in.")] = None,
) -> None:
    """Start the application in a browser.

    An option overrides its environment variable (SYNTH_ADDRESS, SYNTH_TABLES, SYNTH_SOURCES, ...).
    """
    from synth.cli import serve_app

    serve_app.start(
        port=port,
        headless=headless,
        address=address,
        tables=tables or (),
        sources=sources,
        roles=roles,
        secrets=secrets,
    )
