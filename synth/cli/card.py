"""`synth card`: check a release card, write it for people, state how a release was chosen."""

from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say, write_text
from synth.cli.guide import helped
from synth.cli.options import CandidatesOpt, JsonOpt, LanguageOpt, LedgerOpt, PaidOpt, PapersOpt

card_app = typer.Typer(
    callback=helped, invoke_without_command=True, help="Check a release card, or write it for people."
)
FolderArg = Annotated[Path, typer.Argument(help="Release: the folder that a run wrote.")]


@card_app.command("check")
def verify(
    card: Annotated[Path, typer.Argument(help="card.json, or the folder that holds it.")],
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="Also compare the card with the lines of this ledger.")
    ] = None,
    as_json: JsonOpt = False,
) -> None:
    """Derive the card's epsilon again from its mechanisms.

    Fails on any mismatch.
    """
    from synth.release.card import verify

    result = verify.check(card)
    if ledger is not None:
        about = verify.load(card)
        from synth.report import chosen_release

        chosen_release.check_lines(about, ledger=ledger)
    if as_json:
        say(result.plain())
    else:
        print(
            f"the card holds: {result.mechanisms} mechanisms give epsilon {result.epsilon_derived:.9g} at delta "
            f"{result.delta:g}, within the {result.epsilon:g} claimed"
        )


@card_app.command("write")
def card_write(
    release: FolderArg,
    name: Annotated[str | None, typer.Option("--name", help="What the product is called.")] = None,
    curator: Annotated[list[str] | None, typer.Option("--curator", help="Who publishes it; repeatable.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="What it is.")] = None,
    use: Annotated[str | None, typer.Option("--use", help="What it is meant for.")] = None,
    region: Annotated[str | None, typer.Option("--region", help="Region that it covers.")] = None,
    sector: Annotated[str | None, typer.Option("--sector", help="Sector, for instance Health.")] = None,
    published: Annotated[str | None, typer.Option("--published", help="Date of publication, YYYY-MM-DD.")] = None,
    contact: Annotated[str | None, typer.Option("--contact", help="Whom to ask.")] = None,
    papers: PapersOpt = None,
    language: LanguageOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Write the card for people: card.md and card.html.

    With what only the steward knows: name, purpose, contact.
    """
    from synth.release.card import papers as form
    from synth.report import card_page
    from synth.report.words import written

    facts = {} if papers is None else form.load(papers)
    options = {
        "name": name,
        "curators": curator or [],
        "description": description,
        "intended_use": use,
        "region": region,
        "sector": sector,
        "published": published,
        "contact": contact,
    }
    with written(language):
        paths = card_page.write(release, facts={**facts, **{k: v for k, v in options.items() if v}})
    say({"paths": paths}) if as_json else print("\n".join(paths.values()))


@card_app.command("export")
def card_export(
    release: FolderArg,
    kind: Annotated[
        str,
        typer.Option(
            "--format",
            help="croissant, ro-crate, dcat, csvw, citation, nist, dpia, five-safes, data-card, iso-27559, ons, people "
            "or tehdas2.",
        ),
    ],
    out: Annotated[Path | None, typer.Option("--out", help="File to write [default: stdout].")] = None,
    language: LanguageOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Write a record for catalogues, or a document for officers."""
    from synth.report.documents import pack

    text = pack.export(release, kind, language=language)
    waiting = pack.open_questions(release, kind)
    if out is not None:
        write_text(out, text)
    if as_json:
        say({"format": kind, "paths": {} if out is None else {kind: str(out)}, "for_the_steward": waiting})
    elif out is None:
        print(text, end="")
    else:
        many = "1 answer is" if len(waiting) == 1 else f"{len(waiting)} answers are"
        print(f"{out}: {many} for the steward" if waiting else str(out))


@card_app.command("papers")
def card_papers(
    release: FolderArg,
    papers: PapersOpt = None,
    out: Annotated[Path | None, typer.Option("--out", help="Form to write, with the answers that are there.")] = None,
    as_json: JsonOpt = False,
) -> None:
    """Say what nobody has written yet, and write the form.

    One form serves all releases of a dataset.
    """
    from synth.release.card import papers as form
    from synth.release.card import verify
    from synth.report.documents import pack

    given = {} if papers is None else form.load(papers)
    documents = pack.unwritten(release, given)
    if out is not None:
        write_text(out, form.form({**(verify.load(release).get("deployment") or {}), **given}))
    if as_json:
        papers_of = [{"file": p.file, "title": p.title, "waiting": p.waiting} for p in documents]
        say({"papers": papers_of, "paths": {} if out is None else {"form": str(out)}})
        return
    for paper in documents:
        print(f"{paper.file}: {', '.join(form.FIELDS[n].label for n in paper.waiting) or 'finished'}")
    if out is not None:
        print(out)


@card_app.command("selection")
def card_selection(
    release: FolderArg,
    how: Annotated[str, typer.Option("--how", help="only, before, releases, all, private or scores.")],
    candidates: CandidatesOpt = None,
    paid: PaidOpt = None,
    ledger: LedgerOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """State how this release was chosen among candidates.

    A release that was chosen by its scores on real rows cannot be bundled.
    """
    from synth.report import card_page, chosen_release

    card = chosen_release.settle(release, how, candidates=candidates or (), paid=paid, ledger=ledger)
    paths, reported = card_page.write(release, chosen=card), card["selection"]
    if as_json:
        say({"selection": reported, "epsilon": card["epsilon"], "delta": card["delta"], "paths": paths})
    else:
        print(reported.get("mark", f"{reported['in_words']}: epsilon {card['epsilon']:g}, delta {card['delta']:g}"))
