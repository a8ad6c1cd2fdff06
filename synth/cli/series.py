"""`synth series`, `fetch`: releases of one table over years; a public census table, to try things on."""

from pathlib import Path
from typing import Annotated, Any

import typer

from synth.cli.answer import write_text
from synth.cli.options import Said, command
from synth.errors import UsageError

SHOWN = 20
series_app = typer.Typer(help="A table released every year: budgets, changes.")


@command(series_app, "delta", name="plan", delta=1e-5)
def series_plan(
    *,
    waves: Annotated[int, "Releases planned."],
    epsilon: Annotated[float, "For whoever is in all waves."],
    **asked: Any,
) -> Said:
    """What each wave may spend so that all together stay within epsilon and delta. Reads no table."""
    from synth.pipeline.series import plan

    planned = plan(waves=waves, epsilon=epsilon, **asked)
    each = "each wave: synth run TABLE ... --prior FOLDER, of each wave before, --dataset NAME (one name for all)"
    return planned.plain(), [planned.in_words(), each]


@command(series_app, name="changes")
def series_changes(
    before: Annotated[Path, "Folder of the earlier release."],
    after: Annotated[Path, "Folder of the later release."],
    *,
    column: Annotated[list[str] | None, "Only this column; repeatable."] = None,
) -> Said:
    """What changed between two waves, with intervals for noise and chance. Free: released answers only."""
    from synth.pipeline.series import changes

    rows = changes(before, after, columns=column or ())
    sure = [row for row in rows if row["sure"]]
    lines = [
        f"{row['column']} = {row['value']}: {row['before']:.1%} to {row['after']:.1%}, "
        f"change {row['change']:+.1%} ({row['low']:+.1%} to {row['high']:+.1%})"
        for row in sure[:SHOWN]
    ]
    rest = f"; the largest {SHOWN} are shown, --json has all" if len(sure) > SHOWN else ""
    told = "shares changed by more than noise and chance explain (at most 5 % of these are expected to be false)"
    return {"changes": rows}, [*lines, f"{len(sure)} of {len(rows)} {told}{rest}"]


def fetch(
    task: Annotated[str, "acs-income, acs-public-coverage, acs-mobility, acs-employment or acs-travel-time."],
    *,
    state: Annotated[str, "Two letters, such as CA."],
    out: Annotated[Path, "Folder for TASK-STATE-YEAR.csv and its schema."],
    year: Annotated[int, "Survey year, 2017 or later."] = 2018,
    cache: Annotated[Path | None, "Where the publisher's files are kept [default: OUT/cache]."] = None,
    folder: Annotated[Path | None, "--from", "Folder of the Census Bureau's files; nothing is downloaded."] = None,
) -> Said:
    """Fetch a public census table with its schema, to try things on.

    The tasks are those of folktables; the schema holds the publisher's facts.
    """
    from synth.schema import census

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}; name a folder that can be written") from None
    fetched = census.fetch(task, state=state.upper(), year=year, cache=cache or out / "cache", folder=folder)
    name = f"{task}-{state.lower()}-{year}"
    table, schema = out / f"{name}.csv", out / f"{name}.schema.json"
    write_text(table, fetched.table.to_csv(index=False, lineterminator="\n"))
    write_text(schema, fetched.schema.to_json())
    paths = {"table": str(table), "schema": str(schema)}
    plain = {"rows": len(fetched.table), "columns": list(fetched.table.columns), "paths": paths}
    return plain, [f"{len(fetched.table)} rows: {table}; schema: {schema}"]


def register(app: typer.Typer) -> None:
    """Makes them commands."""
    command(app)(fetch)
    app.add_typer(series_app, name="series")
