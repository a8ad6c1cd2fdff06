"""`synth bundle`: one zip of a release, for the world."""

from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say
from synth.cli.options import CandidatesOpt, JsonOpt, LanguageOpt, LedgerOpt, PaidOpt, PapersOpt


def bundle(
    release: Annotated[Path, typer.Argument(help="Release: the folder that a run wrote.")],
    out: Annotated[Path, typer.Option("--out", help="The .zip file to write.")] = Path("release.zip"),
    choice: Annotated[
        str | None,
        typer.Option(
            "--choice",
            "--selection",
            help="How the release was chosen: only, before, releases, all, private or scores.",
        ),
    ] = None,
    candidates: CandidatesOpt = None,
    paid: PaidOpt = None,
    ledger: LedgerOpt = None,
    papers: PapersOpt = None,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Papers too that nobody has finished.")] = False,
    as_pdf: Annotated[bool, typer.Option("--pdf", help="Report, card and papers as one PDF, too.")] = False,
    language: LanguageOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Pack what may be handed over into one zip file.

    The release, its card and its publishable report; refuses what must not leave.
    """
    from synth.report import last_look
    from synth.report.bundle import bundle as bundled

    made = bundled(
        release,
        out,
        facts=papers,
        how=choice,
        candidates=candidates or (),
        paid=paid,
        ledger=ledger,
        unfinished=unfinished,
        as_pdf=as_pdf,
        language=language,
    )
    vouched = last_look.standing(release)
    if as_json:
        say({**made.plain(), "standing": vouched})
        return
    for line in last_look.in_words(vouched):
        print(f"on your word, {line}")
    print(f"{made.path}: {len(made.parts)} parts, sha256 {made.sha256}")
    print(f"guarantee: epsilon {made.epsilon:g}, delta {made.delta:g}; chosen: {made.chosen}")
    if made.unfinished:
        state = "marked in the zip" if unfinished else "not in the zip; --unfinished adds them"
        print(
            f"papers to be finished ({state}): {', '.join(made.unfinished)}; `synth card papers` says what is missing"
        )
    if made.counted:
        way_out = "; say --choice before if the run was fixed beforehand" if made.how == "unstated" else ""
        print(f"it counts {made.counted} other charges beside the run's own epsilon {made.own_epsilon:g}{way_out}")
