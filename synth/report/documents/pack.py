"""All documents and records of a release by the name that they have in its bundle, and one of them by its format."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synth.errors import UsageError, meant, reading
from synth.languages import spoken
from synth.release import folder as folders
from synth.release.card import papers as own
from synth.release.card import verify
from synth.report import html, words
from synth.report.documents import catalogue, filled, sheets
from synth.report.documents.facts import Document, Facts

PAGES: dict[str, tuple[str, Callable[[Facts], Document]]] = {
    "nist": ("documents/nist-sp-800-226.html", filled.of(sheets.NIST)),
    "dpia": ("documents/dpia.html", filled.of(sheets.DPIA)),
    "five-safes": ("documents/five-safes.html", filled.of(sheets.FIVE_SAFES)),
    "data-card": ("documents/data-card.html", filled.data_card),
    "ons": ("documents/ons-spectrum.html", filled.of(sheets.ONS)),
    "people": ("documents/for-the-people.html", filled.of(sheets.PEOPLE)),
}
RECORDS: dict[str, tuple[str, Callable[[Facts], str]]] = {
    "croissant": ("croissant.json", lambda f: catalogue.written(catalogue.croissant(f))),
    "ro-crate": ("ro-crate-metadata.json", lambda f: catalogue.written(catalogue.ro_crate(f))),
    "dcat": ("dcat.jsonld", lambda f: catalogue.written(catalogue.dcat(f))),
    "csvw": ("synthetic.csv-metadata.json", lambda f: catalogue.written(catalogue.csvw(f))),
    "citation": ("CITATION.cff", catalogue.citation),
}
FORMATS = (*RECORDS, *PAGES)


def page(document: Document) -> str:
    """A document as one HTML page; what waits for the steward is marked."""
    return html.render("document.html", title=document.title, mark=None, document=document)


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A document: its format, its ``file`` in a bundle, and the form's facts that it still waits for."""

    kind: str
    file: str
    document: Document = field(repr=False)
    waiting: tuple[str, ...]


def papers(stored: folders.StoredRelease, card: Mapping[str, Any]) -> list[Paper]:
    """Every document of a release, with what of it nobody has written yet.

    Privacy: released answers only.
    """
    facts = facts_of(stored, card, {})
    made = {kind: make(facts) for kind, (_, make) in PAGES.items()}
    return [
        Paper(
            kind=kind,
            file=PAGES[kind][0],
            document=document,
            waiting=tuple(line.fact for _, lines in document.parts for line in lines if line.open),
        )
        for kind, document in made.items()
    ]


def unwritten(release: str | Path, stated: Mapping[str, Any]) -> list[Paper]:
    """As ``papers``, of a release's folder and the answers of a form. Errors: as of ``export``.

    Privacy: released answers only.
    """
    with reading(release, "release"):
        card = verify.load(release)
        card["deployment"] = own.checked({**card.get("deployment", {}), **stated})
        return papers(folders.load_release(release, tree=None), card)


def records(stored: folders.StoredRelease, card: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Every record for catalogues, in English, as they say. ``files``: the parts that they describe."""
    facts = facts_of(stored, card, files)
    with spoken("en"):
        return {record_name(kind, facts): make(facts).encode() for kind, (_, make) in RECORDS.items()}


def export(release: str | Path, kind: str, *, language: str | None = None) -> str:
    """One document or record of a release's folder, by its format; ``language``: of a document (``words.written``).

    Errors: UsageError for an unknown format or language, InputError for a damaged release.

    **Guarantee**: that of the release (post-processing). Privacy: released answers only.
    """
    if kind not in FORMATS:
        raise UsageError(f"`kind={kind}` is unknown; {meant(kind, FORMATS)}")
    place = Path(release)
    language = "en" if kind in RECORDS else language
    with words.written(language), reading(release, "release"):
        stored, card = folders.load_release(place, tree=None), verify.load(place)
        named = [t.file for t in facts_of(stored, card, {}).tables]
        try:
            files = {n: (place / n).read_bytes() for n in (*named, "schema.json", "card.json")}
        except OSError as error:
            raise UsageError(f"{release}: {error.strerror}; name the folder that a run wrote") from None
        facts = facts_of(stored, card, files)
        return RECORDS[kind][1](facts) if kind in RECORDS else page(PAGES[kind][1](facts))


def open_questions(release: str | Path, kind: str) -> list[str]:
    """What of a document waits for the steward. Errors: as of ``export``. Privacy: released answers only."""
    facts = facts_of(folders.load_release(release, tree=None), verify.load(release), {})
    if kind not in PAGES:
        return catalogue.todo(facts)
    return [line.question for _, lines in PAGES[kind][1](facts).parts for line in lines if line.open]


def record_name(kind: str, facts: Facts) -> str:
    """A record's file; that of the columns is named after its table, or stands for all."""
    return "csv-metadata.json" if kind == "csvw" and len(facts.tables) > 1 else RECORDS[kind][0]


def facts_of(stored: folders.StoredRelease, card: Mapping[str, Any], files: Mapping[str, bytes]) -> Facts:
    """What documents and records are made of. ``files``: the parts that they describe."""
    reported = {n: (len(content), hashlib.sha256(content).hexdigest()) for n, content in files.items()}
    return Facts(card=card, schema=stored.schema, releases=stored.releases, files=reported)
