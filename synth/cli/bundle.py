"""`synth bundle`: one zip of a release, for the world."""

from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say
from synth.cli.options import JsonOpt


def bundle(
    release: Annotated[Path, typer.Argument(help="Folder that a run wrote.")],
    out: Annotated[Path, typer.Option("--out", help="The .zip file to write.")] = Path("release.zip"),
    selection: Annotated[
        str | None, typer.Option("--selection", help="How it was chosen: only, before, releases, all, private, scores.")
    ] = None,
    as_json: JsonOpt = False,
) -> None:
    """Pack a release, its card and its publishable report into one zip; refuses what must not leave."""
    from dataclasses import asdict

    from synth import lastlook, release_bundle

    made = release_bundle.make(release, out, how=selection)
    vouched = lastlook.standing(release)
    if as_json:
        say({**asdict(made), "standing": vouched})
        return
    for line in lastlook.in_words(vouched):
        print(f"on your word, {line}")
    print(f"{made.path}: {len(made.parts)} parts, sha256 {made.sha256}")
