"""`synth run`, `plan`, `preview`, `sample`, `methods`: the way of one table, from a forecast to more rows."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from synth.cli.answer import names, spelled
from synth.cli.options import FIELDS, LanguageOpt, Said, SourceOpt, command, pairs
from synth.errors import UsageError

OWN = {"version", "table", "ask", "out", "actor", "run", "owner", "label"}  # fields that are no options of `synth run`
REFIT = ["method", "target", "options", "num_rows", "seed", "device", "raw_text", "dialect"]  # of which a refit takes
FORECAST = "schema_file epsilon delta method relation target options uses prior prior_reason learn_share ledger"
MOST_COUNTED = 200_000  # rows of a table that is read again for figures after a run: a second or two
RowsOpt = Annotated[int, "--rows", "Rows expected in the table (in the root of related tables); a guess will do."]


def run(
    table: Annotated[Path | None, f"{FIELDS['table'].description}"] = None,
    *,
    out: Annotated[Path, "Folder for the results."] = Path("release"),
    from_release: Annotated[Path | None, "Release to fit again; free."] = None,
    job: Annotated[Path | None, "Folder for the run's status and its cancel file."] = None,
    source_table: Annotated[str | None, "--table", "Table to read at --source."] = None,
    **asked: Any,
) -> Said:
    """Make a synthetic table from a private one; charges the ledger. With --job alone: the run of that folder."""
    from synth.cli import jobs
    from synth.pipeline.request import RefitRequest, RunRequest
    from synth.pipeline.retention import warning

    given = {"TABLE": table or source_table or asked["source"], "--schema": asked["schema"]}
    given["--epsilon"] = asked["epsilon"]
    if from_release is not None:
        if any(v is not None for v in given.values()):
            raise UsageError("--from-release reads no table: leave out TABLE, --schema and --epsilon")
        if asked["uses"]:
            raise UsageError("--for says what is asked of the rows, and --from-release asks nothing; leave it out")
        refit = RefitRequest(release=str(from_release), out=str(out), **{n: asked[n] for n in REFIT})
        made, folder = jobs.refit(refit, job)
    elif job is not None and not any(v is not None for v in given.values()):
        plain, card = jobs.carry_out(job, approved_by=asked["approved_by"])
        return plain | {"job": str(job.absolute())}, _summary(plain, card)
    else:
        if source_table is not None and (asked["source"] is None or table is not None):
            raise UsageError("--table names a table at --source; leave out TABLE")
        for name, value in given.items():
            if value is None:
                raise UsageError(f"{name} is missing; see `synth run --help`")
        asked |= {"method": asked["method"] or "mixture", "table": table or source_table, "out": out}
        if warned := warning(asked["method"], epsilon=asked["epsilon"]):  # before anything is spent
            print(f"note: {warned}", file=sys.stderr)
        made, folder = jobs.run(RunRequest(**asked), job)
    plain = made.plain()
    return plain | {"job": str(folder)}, _summary(plain, made.card)


def _summary(plain: dict[str, Any], card: dict[str, Any] | None) -> Iterator[str]:
    """What a person wants to know after a run, or after another task of a job's folder, which has no card."""
    if card is None:
        yield f"charged: epsilon {plain['epsilon_spent']:g}; {', '.join(plain['paths'].values())}"
        return
    several = isinstance(plain["num_rows"], dict)
    for table, rows in plain["num_rows"].items() if several else [("", plain["num_rows"])]:
        of, path = (f" of {table}", f"table {table}") if several else ("", "synthetic")
        yield f"{rows} synthetic rows{of}: {plain['paths'].get(path, 'not written')}"
    yield (
        f"guarantee: epsilon {card['epsilon']:g}, delta {card['delta']:g}, {card['relation']}: {card['meaning']}"
        + (", but for a probability of delta" if card["delta"] else "")
        + (f"; the unit is {card['unit_in_words']}" if several else "")
    )
    spent = plain["epsilon_spent"]
    yield (
        f"charged: epsilon {spent:g} to {plain['dataset']}"
        if spent
        else "charged: nothing (made from a stored release)"
    )
    yield (
        f"{plain['seconds_total']:.1f} s ({plain['seconds']:.1f} s to measure, fit and sample), "
        f"{plain['peak_mib']:.0f} MiB; card: {plain['paths'].get('card', '-')}"
    )
    place = plain["paths"].get("card")
    if several or place is None or plain["num_rows"] > MOST_COUNTED:
        return
    from synth.report.publish import in_words

    with suppress(Exception):  # the run is done and paid for: what is said of it beside must not make it look failed
        yield from in_words(Path(place).parent)
    yield f"next: synth report {Path(place).parent} --real TABLE (for the steward only)"


def plan(
    *,
    rows: RowsOpt,
    error: Annotated[
        float | None,
        "Share of rows that would have to change, of means standard deviations; says the least epsilon of each use.",
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0, help="Seconds for the rehearsal on made-up rows; 0: none.")
    ] = 30.0,
    **asked: Any,
) -> Said:
    """Forecast a run's cost and error; reads no row.

    Rehearses the run on made-up rows of the same schema.
    """
    from synth.pipeline import dry_run
    from synth.pipeline import plan as planning
    from synth.pipeline.plan import LADDER
    from synth.schema.dataset import load_any

    learns = asked["learn_share"] is not None
    facts = load_any(asked.pop("schema"), complete=not learns)
    forecast = planning.plan(facts, rows=rows, **asked, epsilons=LADDER, error=error)
    rehearsed = None
    if seconds > 0 and not learns:
        for name in ("prior", "prior_reason", "learn_share", "ledger"):
            del asked[name]
        rehearsed = dry_run.dry_run(facts, rows=rows, **asked, seconds=seconds)
    words = [forecast.in_words(), rehearsed.in_words() if rehearsed else "rehearsed: the questions alone"]
    return {**forecast.plain(), "rehearsed": rehearsed and rehearsed.plain()}, map(spelled, words)


def preview(
    *,
    rows: RowsOpt,
    out: Annotated[Path, "Folder for the preview."] = Path("preview"),
    language: LanguageOpt = None,
    **asked: Any,
) -> Said:
    """See a run's pages, made of public rows; spends nothing.

    The private table is not read: public rows stand in for it, the whole way.
    """
    from synth.pipeline.priors import look
    from synth.report.preview import preview as previewed
    from synth.report.words import written
    from synth.schema.dataset import load_any

    facts = load_any(asked.pop("schema"))
    with written(language):
        made = previewed(facts, out, rows=rows, **asked)
    of_priors = {n: asked[n] for n in ("prior_reason", "relation", "ledger")}
    looks = look(asked["prior"], schema=facts.tables[facts.root], **of_priors)
    pages = (made.paths[name] for name in ("comparison", "report", "card_page"))
    plain = {**made.plain(), "priors": [one.plain() for one in looks]}
    return plain, [made.statement, *(one.in_words() for one in looks), *pages]


def sample(
    model: Annotated[Path, "model.json, or the release's folder."],
    *,
    num_roots: Annotated[int | None, "Root rows, or persons who keep their rows, to draw."] = None,
    where: Annotated[
        list[str] | None,
        "--where",
        "COL=VALUE, COL=A|B or COL=LOW..HIGH.",
        pairs("--where", "COL=VALUE, once for each column"),
    ] = None,
    out: Annotated[
        Path | None,
        "--out",
        "A .csv, .csv.gz, .parquet, .xlsx, .dta, .sav or .xpt file, or a folder of Parquet [default: "
        "synthetic_sample.csv].",
    ] = None,
    released: Annotated[bool, "The release's own rows, as another kind of file, rather than new ones."] = False,
    mark: Annotated[bool, "With a column `synthetic` that says yes in every row."] = False,
    source: SourceOpt = None,
    out_table: Annotated[str | None, "Name of a new table at --source."] = None,
    multiple: Annotated[int | None, "Tables to draw into --out, for intervals."] = None,
    columns: Annotated[str | None, "Of the analysis, with --multiple: COL,COL."] = None,
    **asked: Any,
) -> Said:
    """Draw more rows from a finished run; free."""
    from synth.pipeline.sample import sample_to
    from synth.release import folder

    if columns is not None and multiple is None:
        raise UsageError("--columns is for --multiple: without it all columns are drawn alike")
    num_rows, persons = asked["num_rows"], folder.is_one_table(model)
    several = folder.is_related(model) and not persons
    placed = source is not None or out_table is not None
    if several:
        if placed or (num_rows is not None and num_roots is not None):
            raise UsageError("a model of related tables draws --num-roots roots into the folder --out")
        if multiple is not None:
            raise UsageError("--multiple is for a release of a single table; leave it out for related tables")
    if persons and multiple is not None:
        raise UsageError("--multiple is for rows that stand alone; leave it out where persons keep their rows")
    if persons and num_rows is not None:
        raise UsageError("its persons keep their rows, so persons are drawn, each with all rows: --num-roots")
    if multiple is not None:
        if where or placed or num_roots is not None:
            raise UsageError("--multiple draws whole tables into a folder: leave out --where, --source and --num-roots")
        return _multiple(model, out or Path("tables"), count=multiple, columns=names(columns) or None, **asked)
    if num_roots is not None and not several and not persons:
        raise UsageError("--num-roots is for a model of related tables; this one is of a single table: --num-rows")
    if out is None and not placed:
        out = Path("sample") if several else Path("synthetic_sample.csv")
    asked |= {"num_rows": num_roots or num_rows, "where": where, "source": source, "out_table": out_table}
    asked |= {"released": released, "mark": mark}
    size, probability, paths = sample_to(model, out, **asked)
    rows = {f" of {t}": (t, many) for t, many in size.items()} if several else {"": ("sample", size)}
    lines = [f"{many} rows{of}: {paths[t]}" for of, (t, many) in rows.items()]
    lines += [f"{t}, public: {path}" for t, path in paths.items() if several and t not in size]
    lines[-1] += f" (probability of the condition {probability:.3g})" if where else ""
    return {"num_rows": size, "probability": probability, "epsilon_spent": 0.0, "paths": paths}, lines


def _multiple(model: Path, out: Path, **asked: Any) -> Said:
    """Draws several tables of one release into a folder, for intervals."""
    from synth.pipeline.multiple import multiple_to
    from synth.pipeline.reporting import Quiet

    notes: list[str] = []

    release = model.parent if model.name == "model.json" else model
    paths = multiple_to(release, out, reporter=Quiet(notes.append), **asked)
    line = f"{len(paths)} tables: {out}; combine their estimates with synth.combine (docs/inference.md)"
    plain = {"tables": len(paths), "epsilon_spent": 0.0, "paths": {"tables": paths}, "notes": notes}
    return plain, [line, *notes]


def methods() -> Said:
    """List the methods: options, guarantees, and what each keeps."""
    from synth.pipeline.methods import methods as listed

    each = listed()
    return each, (line for one in each for line in _method(one))


def _method(g: dict[str, Any]) -> Iterator[str]:
    yield f"{g['name']:14s} {g['summary']}"
    yield f"{'':14s} noise: {g['stage']}, {g['barrier']}"
    yield f"{'':14s} guarantee: {g['guarantee']}; relations: {', '.join(g['relations'])}"
    yield f"{'':14s} options: {', '.join(f'{n}={v}' for n, v in g['options'].items()) or 'none'}"
    kept = "; ".join(f"at epsilon {e}: {words}" for e, words in g["keeps"].items())
    yield f"{'':14s} keeps: {kept or 'not measured'}"
    yield f"{'':14s} needs: {g['needs'] or 'not measured'}"


def register(app: typer.Typer) -> None:
    """Makes them commands."""
    command(app, [n for n in FIELDS if n not in OWN], epsilon=None, method=None, delta=1e-5)(run)
    command(app, FORECAST, schema_file=..., epsilon=1.0, delta=1e-5)(plan)
    previewed = "schema_file prior prior_reason epsilon delta relation target options seed ledger"
    command(app, previewed, schema_file=..., epsilon=1.0, delta=1e-5)(preview)
    command(app, "num_rows seed raw_text dialect")(sample)
    command(app)(methods)
