"""`synth series`: releases of one table over years."""

from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say
from synth.cli.options import DeltaOpt, JsonOpt

SHOWN = 20
series_app = typer.Typer(help="A table released every year: budgets, changes.")


@series_app.command("plan")
def series_plan(
    waves: Annotated[int, typer.Option("--waves", help="Releases planned.")],
    epsilon: Annotated[float, typer.Option("--epsilon", help="For whoever is in all waves.")],
    delta: DeltaOpt = 1e-5,
    as_json: JsonOpt = False,
) -> None:
    """What each wave may spend so that all together stay within epsilon and delta. Reads no table."""
    from synth.pipeline.series import plan

    result = plan(waves=waves, epsilon=epsilon, delta=delta)
    if as_json:
        say(result.plain())
    else:
        print(result.in_words())
        print("each wave: synth run TABLE ... --prior FOLDER, of each wave before, --dataset NAME (one name for all)")


@series_app.command("changes")
def series_changes(
    before: Annotated[Path, typer.Argument(help="Folder of the earlier release.")],
    after: Annotated[Path, typer.Argument(help="Folder of the later release.")],
    column: Annotated[list[str] | None, typer.Option("--column", help="Only this column; repeatable.")] = None,
    as_json: JsonOpt = False,
) -> None:
    """What changed between two waves, with intervals for noise and chance. Free: released answers only."""
    from synth.pipeline.series import changes

    result = changes(before, after, columns=column or ())
    if as_json:
        say({"changes": result})
        return
    sure = [row for row in result if row["sure"]]
    for row in sure[:SHOWN]:
        print(
            f"{row['column']} = {row['value']}: {row['before']:.1%} to {row['after']:.1%}, "
            f"change {row['change']:+.1%} ({row['low']:+.1%} to {row['high']:+.1%})"
        )
    print(
        f"{len(sure)} of {len(result)} shares changed by more than noise and chance explain, at 95 % each"
        + (f"; the largest {SHOWN} are shown, --json has all" if len(sure) > SHOWN else "")
    )
