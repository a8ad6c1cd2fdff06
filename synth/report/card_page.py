"""The card for people: Markdown and HTML, both from the same parts, and the files beside card.json."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from synth.errors import UsageError, reading
from synth.evaluate.verdict import LEVELS, Verdict
from synth.files import whole_files
from synth.languages import _, prose, with_said
from synth.release.card import limits, papers
from synth.release.card.card import UNCOVERED, Card, odds
from synth.release.card.choice import in_words
from synth.release.card.verify import load
from synth.report import html, words
from synth.report.documents import pack
from synth.report.html import number, percent

Rows = list[tuple[str, str]]


@reading("card", "card")
def render_html(card: Mapping[str, Any]) -> str:
    """The card as one page that needs no network.

    Privacy: released answers only.
    """
    return _rendered("card.html", Card(card))


@reading("card", "card")
def render_markdown(card: Mapping[str, Any]) -> str:
    """The card as Markdown."""
    return _rendered("card.md", Card(card))


def _rendered(template: str, about: Card) -> str:
    marks = [prose(UNCOVERED)] * about.uncovered + [_("Made with seeded noise: protects nothing")] * (
        not about["exportable"]
    )
    return html.render(
        template,
        title=_("Release card"),
        mark="; ".join(marks) or None,
        about=about,
        odds=limits.share(odds(about["epsilon"])),
        parts=_chapters(about),
        head=[_("purpose"), _("mechanism"), _("sensitivity"), _("noise"), _("count")],
        purposes=_mechanisms(about, by_purpose=True),
        mechanisms=_mechanisms(about),
        shares=[(prose(name), percent(part)) for name, part in about.shares.items()],
    )


def _chapters(about: Card) -> list[tuple[str, Rows]]:
    """The chapters of a card, each with what it states."""
    text = html.render(
        "card_chapters.json",
        about=defaultdict(lambda: None, about),
        unit=words.unit(about),
        chosen=in_words(about),
        papers=papers,
        verdict=_verdict(about["verdict"]) if "verdict" in about else None,
        persons=about.of_persons,
        learnt=[n for n, source in about["public_facts"].items() if source == "private"],
        versions=", ".join(f"{n} {v}" for n, v in about["versions"].items()),
    )
    return [(title, rows[:-1]) for title, rows in json.loads(text)]


def _verdict(uses: Iterable[Mapping[str, Any]]) -> Rows:
    """The uses by level, as the release alone can tell."""
    said = Verdict.read(uses)
    return [(u[0].heading, "; ".join(one.sentence for one in u)) for level in LEVELS if (u := said.at(level))]


def _mechanisms(about: Card, *, by_purpose: bool = False) -> list[tuple[str, ...]]:
    """A line for each mechanism; ``by_purpose``: for those of one purpose, with their least and greatest noise."""
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for i, m in enumerate(about["mechanisms"]):
        groups.setdefault((m["name"], m["mechanism"], m["sensitivity"], "" if by_purpose else i), []).append(m)
    out: list[tuple[str, ...]] = []
    for (name, kind, size, _each), members in groups.items():
        scales = sorted(float(m.get("sigma") or m["scale"]) for m in members)
        ends = [number(s, 4 if by_purpose else 6) for s in (scales[0], scales[-1])]
        noise = ends[0] if scales[0] == scales[-1] else words.between(*ends)
        word = "sigma" if members[0].get("sigma") is not None else _("scale")
        many = str(sum(m["count"] for m in members))
        out.append((prose(name), prose(kind), number(size), f"{word} {noise}", many))
    return out


def write(folder: str | Path, *, facts: Mapping[str, Any] | None = None, chosen: Card | None = None) -> dict[str, str]:
    """Completes card.json in a release's folder and writes card.md and card.html beside it; returns their paths.

    ``facts``: what only the steward knows (``papers.FIELDS``). ``chosen``: the card with how the release
    was chosen (``chosen_release.settle``). Errors: InputError without a card, UsageError for an unknown fact.
    """
    place = Path(folder)
    place = place.parent if place.is_file() else place
    card = load(place) if chosen is None else chosen
    card["deployment"] = papers.checked({**card.get("deployment", {}), **(facts or {})})
    card["registry"] = pack.registry(card)
    made = files(card)
    try:
        for name, text in made.items():
            whole_files.write(place / name, text)
    except OSError as error:
        raise UsageError("{}: {}; choose a folder you may write to", place, error) from None
    return {name.replace(".", "_"): str(place / name) for name in made}


def files(card: Card) -> dict[str, str]:
    """The card for programs, as Markdown and as a page, by the names of their files."""
    plain = json.dumps(with_said(card), indent=2, ensure_ascii=False) + "\n"
    return {"card.json": plain, "card.md": render_markdown(card), "card.html": render_html(card)}
