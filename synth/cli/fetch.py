"""`synth fetch`: a public census table and its schema, to try things on."""

from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say, write_text
from synth.cli.options import JsonOpt
from synth.errors import UsageError


def fetch(
    task: Annotated[
        str, typer.Argument(help="acs-income, acs-public-coverage, acs-mobility, acs-employment or acs-travel-time.")
    ],
    state: Annotated[str, typer.Option("--state", help="Two letters, such as CA.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for TASK-STATE-YEAR.csv and its schema.")],
    year: Annotated[int, typer.Option("--year", help="Survey year, 2017 or later.")] = 2018,
    cache: Annotated[
        Path | None, typer.Option("--cache", help="Where the publisher's files are kept [default: OUT/cache].")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--from", help="Folder of the Census Bureau's files; nothing is downloaded.")
    ] = None,
    as_json: JsonOpt = False,
) -> None:
    """Fetch a public census table with its schema, to try things on.

    The tasks are those of folktables; the schema holds the publisher's facts.
    """
    from synth.schema import census

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}; name a folder that can be written") from None
    result = census.fetch(task, state=state.upper(), year=year, cache=cache or out / "cache", folder=folder)
    name = f"{task}-{state.lower()}-{year}"
    table, schema = out / f"{name}.csv", out / f"{name}.schema.json"
    write_text(table, result.table.to_csv(index=False, lineterminator="\n"))
    write_text(schema, result.schema.to_json())
    plain = {
        "rows": len(result.table),
        "columns": list(result.table.columns),
        "paths": {"table": str(table), "schema": str(schema)},
    }
    say(plain) if as_json else print(f"{len(result.table)} rows: {table}; schema: {schema}")
