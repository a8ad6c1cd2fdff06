"""All papers and records of a release by the name that they have in its bundle, and one of them by its format.

A paper is one file of this folder, in Markdown: before its text its ``file`` in a bundle and its ``title``; a heading
a question, with the form's fact in brackets where only the steward can answer, and then what is asked for. ``{places}``
are those of ``facts``. What is said otherwise of related tables follows ``|``. A chapter about ``{table}`` or a
question about ``{column}`` stands there once for each. Every text is translated as it stands here.

A record is one template, in JSON. **Source**: MLCommons Croissant 1.1; RO-Crate 1.1; DCAT-AP 3.0 and HealthDCAT-AP;
W3C Tabular Data on the Web (CSVW); Citation File Format 1.2.0; OpenDP Deployments Registry, tiers 1 to 3. Nothing is
invented for a field that only the steward can fill: it is left out, and ``open_questions`` names it.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from synth.errors import UsageError, meant, reading
from synth.languages import spoken, translated
from synth.release import folder as folders
from synth.release.card import papers as form
from synth.release.card import verify
from synth.release.card.card import Card
from synth.release.folder import StoredRelease
from synth.report import html, words
from synth.report.documents import facts as known

PAPERS = {p.stem: p for p in sorted(Path(__file__).parent.glob("*.md"))}
RECORDS = {
    "croissant": "croissant.json",
    "ro-crate": "ro-crate-metadata.json",
    "dcat": "dcat.jsonld",
    "csvw": "synthetic.csv-metadata.json",
    "citation": "CITATION.cff",
}
FORMATS = (*RECORDS, *PAPERS)
NAMES = ("{columns}", "{versions}", "{spent}", "{rules}", "{kind}")  # answers that begin with a name, as it is written
TODO = {"curators": "publisher and creator", "contact": "contact point", "region": "region covered"}  # of records


@dataclass(frozen=True, kw_only=True)
class Line:
    """A question with its answer. ``fact``: the form's name of one that only the steward can answer; ``open``: nobody
    has, and ``answer`` says what is asked.
    """

    question: str
    answer: str
    fact: str = ""
    open: bool = False


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A page: its format, its ``file`` in a bundle, and parts that are titles with lines."""

    kind: str
    file: str
    title: str
    intro: str
    parts: tuple[tuple[str, tuple[Line, ...]], ...] = field(repr=False)

    @property
    def waiting(self) -> list[str]:
        """The form's facts that it still waits for."""
        return [line.fact for _, lines in self.parts for line in lines if line.open]

    @property
    def page(self) -> str:
        """As HTML; what waits for the steward is marked."""
        return html.render("document.html", title=self.title, mark=None, document=self)


@cache
def parsed(kind: str) -> tuple[dict[str, str], str, list[tuple[str, list[tuple[str, str, str]]]]]:
    """A paper's front matter, introduction and chapters, each a title and questions: question, fact, answer.

    >>> parsed("dpia")[0]["file"]
    'documents/dpia.html'
    """
    _empty, front, body = PAPERS[kind].read_text(encoding="utf-8").split("---\n", 2)
    intro, *chapters = body.split("\n## ")
    parts = []
    for title, *questions in (chapter.split("\n### ") for chapter in chapters):
        asked = [re.split(r"(?: \[(\w+)\])?\n", q, maxsplit=1) for q in questions]
        parts.append((title.strip(), [(q, fact or "", " ".join(a.split())) for q, fact, a in asked]))
    return dict(line.split(": ", 1) for line in front.splitlines()), " ".join(intro.split()), parts


def paper(kind: str, stored: StoredRelease, card: Card) -> Paper:
    """A paper of a release. **Guarantee**: that of the release, from whose facts it follows.

    Privacy: released answers only.
    """
    places, tables = known.facts(stored, card), known.tables(stored.schema, card)
    front, intro, parts = parsed(kind)

    def said(text: str, **more: str) -> str:
        one, *several = text.split(" | ")
        return translated(several[0] if several and len(tables) > 1 else one).format_map(places | more)

    def lines(question: str, fact: str, answer: str, table: Mapping[str, Any]) -> Iterator[Line]:
        given = known.stated(card, fact)
        for name, column in table["columns"].items() if question == "{column}" else [("", None)]:
            here = {"table": table["table"], "rows": table["rows"], "column": name}
            text = said(answer, **here, kind=known.described(column, first="kind") if column else "")
            if not (fact or answer.startswith(NAMES)):
                text = text[:1].upper() + text[1:]
            yield Line(question=said(question, **here), answer=given or text, fact=fact, open=bool(fact and not given))

    def chapter(title: str, questions: list[tuple[str, str, str]], table: Mapping[str, Any]) -> tuple[str, tuple]:
        asked = [(q, t) for q in questions for t in (tables if "{table}" in q[0] and len(tables) > 1 else [table])]
        return said(title, table=table["table"]), tuple(line for q, t in asked for line in lines(*q, t))

    return Paper(
        kind=kind,
        file=front["file"],
        title=said(front["title"]),
        intro=said(intro),
        parts=tuple(chapter(*p, t) for p in parts for t in (tables if "{table}" in p[0] else tables[:1])),
    )


def papers(stored: StoredRelease, card: Card) -> list[Paper]:
    """Every paper of a release, with what of it nobody has written yet.

    Privacy: released answers only.
    """
    return [paper(kind, stored, card) for kind in PAPERS]


def unwritten(release: str | Path, stated: Mapping[str, Any]) -> list[Paper]:
    """As ``papers``, of a ``release``, a folder, and of a form's ``stated`` answers. Errors: as of ``export``.

    Privacy: released answers only.
    """
    with reading(release, "release"):
        card = verify.load(release)
        card["deployment"] = form.checked({**card.get("deployment", {}), **stated})
        return papers(folders.load_release(release, tree=None), card)


def record(kind: str, stored: StoredRelease, card: Card, files: Mapping[str, bytes]) -> str:
    """A record for catalogues, in English. ``files``: the parts that it describes."""
    with spoken("en"):
        text = html.render(
            f"{kind}.cff" if kind == "citation" else f"{kind}.json",
            **known.deployment(card),
            card=card,
            name=known.name_of(card, several=stored.schema.several),
            description=known.description(card, stored.schema),
            tables=known.tables(stored.schema, card),
            described=known.described,
            files={n: (len(content), hashlib.sha256(content).hexdigest()) for n, content in sorted(files.items())},
        )
    return text if kind == "citation" else json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def registry(card: Card) -> dict[str, Any]:
    """The card as a record of the OpenDP Deployments Registry, tiers 1 to 3.

    What only the steward knows stands empty unless the card's ``deployment`` states it.
    """
    unprotected = "; ".join(
        f"{i['what']}{' of ' + ', '.join(i['of']) if 'of' in i else ''} ({i['vouched']})" for i in card["invariants"]
    )
    with spoken("en"):
        text = html.render(
            "registry.json",
            **known.deployment(card),
            about=card,
            unprotected=unprotected,
            shares=", ".join(f"{n} {100 * s:.1f} %" for n, s in card.shares.items()),
            noise="; ".join(f"{n}, {count} times" for n, count in card.noise_kinds.items()),
        )
    return dict(json.loads(text))


def records(stored: StoredRelease, card: Card, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Every record for catalogues by its file. ``files``: the parts that they describe."""
    named = {**RECORDS, "csvw": "csv-metadata.json"} if stored.schema.several else RECORDS  # that of columns is of all
    return {file: record(kind, stored, card, files).encode() for kind, file in named.items()}


def export(release: str | Path, kind: str, *, language: str | None = None) -> str:
    """One paper or record of a release's folder, by its format; ``language``: of a paper (``words.written``).

    Errors: UsageError for an unknown format or language, InputError for a damaged release.

    **Guarantee**: that of the release (post-processing). Privacy: released answers only.
    """
    if kind not in FORMATS:
        raise UsageError("`kind={}` is unknown; {}", kind, meant(kind, FORMATS))
    place = Path(release)
    with words.written("en" if kind in RECORDS else language), reading(release, "release"):
        stored, card = folders.load_release(place, tree=None), verify.load(place)
        if kind in PAPERS:
            return paper(kind, stored, card).page
        named = [t["file"] for t in known.tables(stored.schema, card)]
        try:
            files = {n: (place / n).read_bytes() for n in (*named, "schema.json", "card.json")}
        except OSError as error:
            raise UsageError("{}: {}; name the folder that a run wrote", release, error) from None
        return record(kind, stored, card, files)


def open_questions(release: str | Path, kind: str) -> list[str]:
    """What of a paper waits for the steward, or is left out of a record. Errors: as of ``export``.

    Privacy: released answers only.
    """
    stored, card = folders.load_release(release, tree=None), verify.load(release)
    if kind in PAPERS:
        return [one.question for _, lines in paper(kind, stored, card).parts for one in lines if one.open]
    own = known.deployment(card)["own"]
    return [said for fact, said in TODO.items() if not own.get(fact)] + ["licence", "identifier (DOI)"]
