"""`synth run`: one run inside a job folder, with progress on stderr and the answer on stdout."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synth.cli import job_folder
from synth.cli.answer import say
from synth.cli.options import (
    ApprovedByOpt,
    AssumeOpt,
    DatasetOpt,
    DeltaOpt,
    DeviceOpt,
    DialectOpt,
    ForOpt,
    JsonOpt,
    LearnShareOpt,
    LedgerOpt,
    LinkedOpt,
    MaxCategoriesOpt,
    MaxRowsOpt,
    NamedSourceOpt,
    OptionOpt,
    PriorOpt,
    PriorReasonOpt,
    RawTextOpt,
    ReasonOpt,
    RelationOpt,
    RowsOpt,
    SeedOpt,
    TargetOpt,
    UnitOpt,
    assumed,
    one_or_each,
    parse_options,
    reasons,
)
from synth.cli.rights import SeparateOpt
from synth.errors import UsageError

if TYPE_CHECKING:
    from synth.pipeline.request import RefitRequest, RunRequest


MOST_COUNTED = 200_000  # rows of a table that is read again for figures after a run: a second or two


OwnMethodOpt = Annotated[str | None, typer.Option("--method", help="Method of `synth methods` [default: mixture].")]
PlaceArg = Annotated[
    Path | None,
    typer.Argument(
        help="CSV (also .gz), Parquet or .xlsx file of private rows, a folder of Parquet files or of related tables."
    ),
]


def run(
    table: PlaceArg = None,
    schema: Annotated[Path | None, typer.Option("--schema", help="The table's schema, a JSON file.")] = None,
    method: OwnMethodOpt = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="Privacy loss of the whole run.")] = None,
    delta: DeltaOpt = 1e-5,
    relation: RelationOpt = "add_remove",
    target: TargetOpt = None,
    unit: UnitOpt = None,
    max_rows: MaxRowsOpt = None,
    linked: LinkedOpt = None,
    uses: ForOpt = None,
    prior: PriorOpt = None,
    prior_reason: PriorReasonOpt = None,
    learn_share: LearnShareOpt = None,
    option: OptionOpt = None,
    num_rows: RowsOpt = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path("release"),
    ledger: LedgerOpt = None,
    dataset: DatasetOpt = None,
    seed: SeedOpt = None,
    device: DeviceOpt = "auto",
    from_release: Annotated[Path | None, typer.Option("--from-release", help="Release to fit again; free.")] = None,
    assume_public: AssumeOpt = None,
    reason: ReasonOpt = None,
    max_categories: MaxCategoriesOpt = 50_000,
    approved_by: ApprovedByOpt = None,
    separate: SeparateOpt = False,
    job: Annotated[Path | None, typer.Option("--job", help="Folder for the run's status and its cancel file.")] = None,
    raw_text: RawTextOpt = False,
    dialect: DialectOpt = "same",
    source: NamedSourceOpt = None,
    source_table: Annotated[str | None, typer.Option("--table", help="Table to read at --source.")] = None,
    as_json: JsonOpt = False,
) -> None:
    """Make a synthetic table from a private one; charges the ledger. With --job alone: the run of that folder."""
    common: dict[str, Any] = {"target": target, "options": parse_options(option or []), "seed": seed, "device": device}
    common |= {"num_rows": num_rows, "out": str(out), "raw_text": raw_text, "dialect": dialect}
    if from_release is not None:
        _no_table(table, schema, epsilon)
        if uses:
            raise UsageError("--for says what is asked of the rows, and --from-release asks nothing; leave it out")
        result, folder = job_folder.refit(_refit(release=str(from_release), method=method, **common), job)
        plain, card = result.plain(), result.card
    elif table is schema is epsilon is source is None and job is not None:
        plain, card, folder = *job_folder.carry_out(job, approved_by=approved_by), job.absolute()
    else:
        table = _place(table, source, source_table)
        _check(method or "mixture", {"TABLE": table or source, "--schema": schema, "--epsilon": epsilon})
        people: dict[str, Any] = {"unit": unit, "max_rows": max_rows, "linked": linked, "dataset": dataset}
        people |= {"ledger": ledger, "approved_by": approved_by, "separate": separate, "learn_share": learn_share}
        request = _request(
            table=table,
            source=source,
            schema=schema,
            method=method or "mixture",
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            uses=tuple(uses or ()),
            prior=tuple(prior or ()),
            prior_reason=one_or_each(prior_reason),
            assume_public=assumed(assume_public),
            reasons=reasons(reason),
            max_categories=max_categories,
            **people,
            **common,
        )
        result, folder = job_folder.run(request, job)
        plain, card = result.plain(), result.card
    say(plain | {"job": str(folder)}) if as_json else _summary(plain, card)


def _no_table(*given: object) -> None:
    if any(g is not None for g in given):
        raise UsageError("--from-release reads no table: leave out TABLE, --schema and --epsilon")


def _warn(method: str, epsilon: float | None) -> None:
    """Says on stderr, before anything is spent, that a method keeps nothing between columns, where it was measured."""
    from synth.pipeline.retention import warning

    reported = warning(method, epsilon=epsilon or 0.0)
    if reported:
        print(f"note: {reported}", file=sys.stderr)


def _place(table: Path | None, source: str | None, source_table: str | None) -> Path | None:
    """The table as TABLE or as --table at a source. Errors: UsageError for both, or --table without a source."""
    if source_table is None:
        return table
    if source is None or table is not None:
        raise UsageError("--table names a table at --source; leave out TABLE")
    return Path(source_table)


def _check(method: str, values: dict[str, Any]) -> None:
    """Errors: UsageError naming the first that is missing."""
    for name, value in values.items():
        if value is None:
            raise UsageError(f"{name} is missing; see `synth run --help`")
    _warn(method, values["--epsilon"])


def _request(**options: Any) -> "RunRequest":
    from synth.pipeline.request import RunRequest

    return RunRequest(**options)


def _refit(**options: Any) -> "RefitRequest":
    from synth.pipeline.request import RefitRequest

    return RefitRequest(**options)


def _summary(plain: dict[str, Any], card: dict[str, Any] | None) -> None:
    """What a person wants to know after a run, or after another task of a job's folder, which has no card."""
    if card is None:
        print(f"charged: epsilon {plain['epsilon_spent']:g}; {', '.join(plain['paths'].values())}")
        return
    several = isinstance(plain["num_rows"], dict)
    for table, rows in plain["num_rows"].items() if several else [("", plain["num_rows"])]:
        of, path = (f" of {table}", f"table {table}") if several else ("", "synthetic")
        print(f"{rows} synthetic rows{of}: {plain['paths'].get(path, 'not written')}")
    print(
        f"guarantee: epsilon {card['epsilon']:g}, delta {card['delta']:g}, {card['relation']}: {card['meaning']}"
        + (", but for a probability of delta" if card["delta"] else "")
        + (f"; the unit is {card['unit_in_words']}" if several else "")
    )
    print(
        f"charged: epsilon {plain['epsilon_spent']:g} to {plain['dataset']}"
        if plain["epsilon_spent"]
        else "charged: nothing (made from a stored release)"
    )
    print(
        f"{plain['seconds_total']:.1f} s ({plain['seconds']:.1f} s to measure, fit and sample), "
        f"{plain['peak_mib']:.0f} MiB; card: {plain['paths'].get('card', '-')}"
    )
    if not several:
        _figures(plain)


def _figures(plain: dict[str, Any]) -> None:
    """How near the table is to what was released: figures that may be told, and the way to those that may not."""
    from synth.report.publish import in_words

    place = plain["paths"].get("card")
    if place is None or plain["num_rows"] > MOST_COUNTED:
        return
    with suppress(Exception):  # the run is done and paid for: what is said of it beside must not make it look failed
        for line in in_words(Path(place).parent):
            print(line)
    print(f"next: synth report {Path(place).parent} --real TABLE (for the steward only)")
