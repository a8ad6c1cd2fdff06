"""`synth report`: the steward's report, or the publishable one."""

from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say
from synth.cli.options import JsonOpt, LanguageOpt, LedgerOpt
from synth.cli.verdict import in_words, tell_publishable, verdict
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
    language: LanguageOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Report how good a release is.

    With --real against the real rows, for the steward only; with --publishable from the release alone.
    """
    from synth.report import last_look
    from synth.report.handed_over import report as made

    if publishable == (real is not None):
        raise UsageError("give either --real TABLE (steward's report) or --publishable")
    if statistics is not None and not publishable:
        raise UsageError("--statistics belongs to the publishable report; add --publishable")
    paths = made(
        release,
        out,
        real=real,
        test=test,
        target=target,
        groups=tuple(group or ()),
        shadow_runs=shadow_runs,
        rows=max_rows,
        statistics=statistics,
        ledger=ledger,
        language=language,
    )
    if real is None:
        tell_publishable(paths, as_json=as_json)
        return
    there, rare = last_look.standing(release), last_look.standing_rare(release, real)
    if as_json:
        reported = {"standing": there, "of_which_in_few_real_rows": rare}
        say({"kind": "steward only, not for release", "verdict": verdict(paths), "paths": paths, **reported})
    else:
        print("\n".join(in_words(verdict(paths))))
        for line in last_look.in_words(there, rare):
            print(f"on your word, {line} (for the steward only)")
        print("\n".join(f"{p} (for the steward only, not for release)" for n, p in paths.items() if "json" not in n))
