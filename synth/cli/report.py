"""`synth report`: the steward's report, or the publishable one."""

from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say
from synth.cli.options import JsonOpt, LedgerOpt
from synth.cli.related import report_tables
from synth.errors import UsageError


def report(
    release: Annotated[Path, typer.Argument(help="Release: the folder that a run wrote.")],
    real: Annotated[Path | None, typer.Option("--real", help="The real table, for the steward's report.")] = None,
    test: Annotated[Path | None, typer.Option("--test", help="Real rows that the run did not see.")] = None,
    target: Annotated[str | None, typer.Option("--target", help="Column that will be predicted.")] = None,
    group: Annotated[list[str] | None, typer.Option("--group", help="Column that divides people; repeatable.")] = None,
    publishable: Annotated[bool, typer.Option("--publishable", help="Report from the release alone; free.")] = False,
    statistics: Annotated[
        Path | None, typer.Option("--statistics", help="File of `synth statistics`, for the publishable report.")
    ] = None,
    max_rows: Annotated[int, typer.Option("--rows", help="Most rows of each table to compare.")] = 50_000,
    shadow_runs: Annotated[
        int,
        typer.Option("--shadow-runs", help="Runs of the method with and without a row (steward's report); 0: none."),
    ] = 0,
    out: Annotated[
        Path, typer.Option("--out", help="The .html file to write; its figures go beside it as JSON.")
    ] = Path("report.html"),
    ledger: LedgerOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Report how good a release is.

    With --real against the real rows, for the steward only; with --publishable from the release alone.
    """
    from synth.evaluate.examination import Limits
    from synth.release import related_folder
    from synth.report import chosen_release, last_look
    from synth.report import publish as reports
    from synth.report.steward import write

    if publishable == (real is not None):
        raise UsageError("give either --real TABLE (steward's report) or --publishable")
    if statistics is not None and not publishable:
        raise UsageError("--statistics belongs to the publishable report; add --publishable")
    if related_folder.is_related(release):
        several = {"test": test, "group": group, "statistics": statistics, "shadow-runs": shadow_runs}
        report_tables(release, out, real, target, several, Limits(rows=max_rows), ledger, as_json=as_json)
        return
    if publishable:
        if test is not None or target is not None or group or shadow_runs:
            raise UsageError("--publishable reads no real row: leave out --test, --target, --group and --shadow-runs")
        paths = reports.write(release, out, statistics=statistics)
        say({"kind": "publishable", "epsilon_spent": 0.0, "paths": paths}) if as_json else print(paths["report"])
        return
    assert real is not None
    chosen_release.look(release, ledger=ledger)
    found = write.examine(
        release,
        real=real,
        test=test,
        target=target,
        groups=tuple(group or ()),
        limits=Limits(rows=max_rows),
        shadow_runs=shadow_runs,
    )
    paths = write.write(found, release, out)
    there, rare = last_look.standing(release), last_look.standing_rare(release, real)
    if as_json:
        told = {"standing": there, "of_which_in_few_real_rows": rare}
        say({"kind": "steward only, not for release", "paths": paths, **told})
    else:
        for line in last_look.in_words(there, rare):
            print(f"on your word, {line} (for the steward only)")
        print(f"{paths['report']} (for the steward only, not for release)")
