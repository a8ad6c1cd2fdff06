"""`synth estimate`: what a release says of the population, with intervals that count the noise."""

from math import isfinite
from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say
from synth.cli.options import JsonOpt


def estimate(
    release: Annotated[Path, typer.Argument(help="A release's folder.")],
    ask: Annotated[
        list[str],
        typer.Option("--ask", help="As in docs/inference.md, for instance mean:COL or linear:COL~COL+COL; repeatable."),
    ],
    level: Annotated[float, typer.Option("--level", help="Confidence of the intervals, 0 to 1.")] = 0.95,
    as_json: JsonOpt = False,
) -> None:
    """Estimate figures from a release, with intervals; free.

    Means, shares, quantiles, differences of groups and regressions.
    """
    from synth.pipeline.inference.estimates import estimates

    result = estimates(release, ask, level=level)
    if as_json:
        plain = [{k: v if not isinstance(v, float) or isfinite(v) else None for k, v in one.items()} for one in result]
        say({"epsilon_spent": 0.0, "level": level, "estimates": plain})
        return
    for one in result:
        message = f"{one['ask']}, {one['name']}: {one['estimate']:.5g} ({one['low']:.5g} to {one['high']:.5g})"
        print("; ".join([message, *one["warnings"]]))
