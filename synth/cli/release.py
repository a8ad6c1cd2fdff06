"""`synth card`, `report`, `bundle`: what is said of a release, and what leaves with it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from synth.cli.answer import helped, write_text
from synth.cli.options import CandidatesOpt, ChoiceOpt, LanguageOpt, PaidOpt, PapersOpt, ReleaseArg, Said, command
from synth.errors import UsageError

card_app = typer.Typer(
    callback=helped, invoke_without_command=True, help="Check a release card, or write it for people."
)


@command(card_app, name="check")
def card_check(
    card: Annotated[Path, "card.json, or the folder that holds it."],
    *,
    ledger: Annotated[str | None, "Also compare the card with the lines of this ledger."] = None,
) -> Said:
    """Derive the card's epsilon again from its mechanisms.

    Fails on any mismatch.
    """
    from synth.release.card import verify

    checked = verify.check(card)
    if ledger is not None:
        from synth.report import chosen_release

        chosen_release.check_lines(verify.load(card), ledger=ledger)
    line = (
        f"the card holds: {checked.mechanisms} mechanisms give epsilon {checked.epsilon_derived:.9g} at delta "
        f"{checked.delta:g}, within the {checked.epsilon:g} claimed"
    )
    return checked.plain(), [line]


@command(card_app, "ledger", name="write")
def card_write(
    release: ReleaseArg,
    *,
    name: Annotated[str | None, "What the product is called."] = None,
    curators: Annotated[list[str] | None, "--curator", "Who publishes it; repeatable."] = None,
    description: Annotated[str | None, "What it is."] = None,
    intended_use: Annotated[str | None, "--use", "What it is meant for."] = None,
    region: Annotated[str | None, "Region that it covers."] = None,
    sector: Annotated[str | None, "Sector, for instance Health."] = None,
    published: Annotated[str | None, "Date of publication, YYYY-MM-DD."] = None,
    contact: Annotated[str | None, "Whom to ask."] = None,
    papers: PapersOpt = None,
    language: LanguageOpt = None,
    how: ChoiceOpt = None,
    candidates: CandidatesOpt = None,
    paid: PaidOpt = None,
    **asked: Any,
) -> Said:
    """Write the card for people: card.md and card.html.

    With what only the steward knows: name, purpose, contact; with --choice how it was chosen among candidates. A
    release that was chosen by its scores on real rows cannot be bundled.
    """
    from synth.release.card import papers as form
    from synth.report import card_page, chosen_release
    from synth.report.words import written

    options = {
        "name": name,
        "curators": curators,
        "description": description,
        "intended_use": intended_use,
        "region": region,
        "sector": sector,
        "published": published,
        "contact": contact,
    }
    facts = {**({} if papers is None else form.load(papers)), **{k: v for k, v in options.items() if v}}
    card, plain, lines = None, {}, []
    if how is not None:
        card = chosen_release.settle(release, how, candidates=candidates or (), paid=paid, ledger=asked["ledger"])
        chosen = card["selection"]
        plain = {"selection": chosen, "epsilon": card["epsilon"], "delta": card["delta"]}
        summed = f"epsilon {card['epsilon']:g}, delta {card['delta']:g}"
        lines = [chosen.get("mark", f"{chosen['in_words']}: {summed}")]
    with written(language):
        paths = card_page.write(release, facts=facts, chosen=card)
    return {**plain, "paths": paths}, [*lines, *paths.values()]


@command(card_app, name="export")
def card_export(
    release: ReleaseArg,
    *,
    kind: Annotated[
        str,
        "--format",
        "croissant, ro-crate, dcat, csvw, citation, nist, dpia, five-safes, data-card, iso-27559, ons, people or "
        "tehdas2.",
    ],
    out: Annotated[Path | None, "File to write [default: stdout]."] = None,
    language: LanguageOpt = None,
) -> Said:
    """Write a record for catalogues, or a document for officers."""
    from synth.report.documents import pack

    text = pack.export(release, kind, language=language)
    waiting = pack.open_questions(release, kind)
    many = "1 answer is" if len(waiting) == 1 else f"{len(waiting)} answers are"
    if out is not None:
        write_text(out, text)
    plain = {"format": kind, "paths": {} if out is None else {kind: str(out)}, "for_the_steward": waiting}
    if out is None:
        return plain, [text.removesuffix("\n")]
    return plain, [f"{out}: {many} for the steward" if waiting else str(out)]


@command(card_app, name="papers")
def card_papers(
    release: ReleaseArg,
    *,
    papers: PapersOpt = None,
    out: Annotated[Path | None, "Form to write, with the answers that are there."] = None,
) -> Said:
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
    papers_of = [{"file": p.file, "title": p.title, "waiting": p.waiting} for p in documents]
    lines = [f"{p.file}: {', '.join(form.FIELDS[n].label for n in p.waiting) or 'finished'}" for p in documents]
    plain = {"papers": papers_of, "paths": {} if out is None else {"form": str(out)}}
    return plain, [*lines, *([] if out is None else [str(out)])]


def report(
    release: ReleaseArg,
    *,
    real: Annotated[Path | None, "The real table, for the steward's report."] = None,
    test: Annotated[Path | None, "Real rows that the run did not see."] = None,
    target: Annotated[str | None, "Column that will be predicted."] = None,
    groups: Annotated[list[str] | None, "--group", "Column that divides people; repeatable."] = None,
    publishable: Annotated[bool, "Report from the release alone; free."] = False,
    statistics: Annotated[Path | None, "File of `synth statistics`, for the publishable report."] = None,
    rows: Annotated[int, "Most rows of each table to compare."] = 50_000,
    shadow_runs: Annotated[int, "Runs of the method with and without a row (steward's report); 0: none."] = 0,
    out: Annotated[Path, "The .html file to write; its figures go beside it as JSON."] = Path("report.html"),
    language: LanguageOpt = None,
    **asked: Any,
) -> Said:
    """Report how good a release is.

    With --real against the real rows, for the steward only; with --publishable from the release alone.
    """
    from synth.report import last_look
    from synth.report.handed_over import report as made

    if publishable == (real is not None):
        raise UsageError("give either --real TABLE (steward's report) or --publishable")
    if statistics is not None and not publishable:
        raise UsageError("--statistics belongs to the publishable report; add --publishable")
    asked |= {"test": test, "target": target, "groups": tuple(groups or ()), "shadow_runs": shadow_runs}
    paths = made(release, out, real=real, rows=rows, statistics=statistics, language=language, **asked)
    said = list(json.loads(Path(paths["report_json"]).read_text(encoding="utf-8"))["verdict"])
    lines = [f"{use['level']} {use['sentence']}" for use in said]
    if real is None:
        plain = {"kind": "publishable", "epsilon_spent": 0.0, "verdict": said, "paths": paths}
        return plain, [*lines, paths["report"]]
    there, rare = last_look.standing(release), last_look.standing_rare(release, real)
    standing = {"standing": there, "of_which_in_few_real_rows": rare}
    lines += [f"on your word, {line} (for the steward only)" for line in last_look.in_words(there, rare)]
    lines += [f"{p} (for the steward only, not for release)" for n, p in paths.items() if "json" not in n]
    return {"kind": "steward only, not for release", "verdict": said, "paths": paths, **standing}, lines


def bundle(
    release: ReleaseArg,
    *,
    out: Annotated[Path, "The .zip file to write."] = Path("release.zip"),
    how: ChoiceOpt = None,
    candidates: CandidatesOpt = None,
    paid: PaidOpt = None,
    papers: PapersOpt = None,
    unfinished: Annotated[bool, "Papers too that nobody has finished."] = False,
    as_pdf: Annotated[bool, "--pdf", "Report, card and papers as one PDF, too."] = False,
    language: LanguageOpt = None,
    **asked: Any,
) -> Said:
    """Pack what may be handed over into one zip file.

    The release, its card and its publishable report; refuses what must not leave.
    """
    from synth.report import last_look
    from synth.report.bundle import bundle as bundled

    asked |= {"how": how, "candidates": candidates or (), "paid": paid, "unfinished": unfinished}
    made = bundled(release, out, facts=papers, as_pdf=as_pdf, language=language, **asked)
    confirmed, told = last_look.standing(release), made.plain()

    def lines() -> Iterator[str]:
        yield from (f"on your word, {line}" for line in last_look.in_words(confirmed))
        yield f"{made.path}: {len(made.parts)} parts, sha256 {made.sha256}"
        yield f"guarantee: epsilon {made.epsilon:g}, delta {made.delta:g}; chosen: {made.card['selection']['in_words']}"
        if made.unfinished:
            state = "marked in the zip" if unfinished else "not in the zip; --unfinished adds them"
            missing = "`synth card papers` says what is missing"
            yield f"papers to be finished ({state}): {', '.join(made.unfinished)}; {missing}"
        if told["counted"]:
            way_out = "; say --choice before if the run was fixed beforehand" if made.how == "unstated" else ""
            own = f"the run's own epsilon {told['own_epsilon']:g}{way_out}"
            yield f"it counts {told['counted']} other charges beside {own}"

    return {**told, "standing": confirmed}, lines()


def register(app: typer.Typer) -> None:
    """Makes them commands."""
    command(app, "ledger")(report)
    command(app, "ledger")(bundle)
    app.add_typer(card_app, name="card")
