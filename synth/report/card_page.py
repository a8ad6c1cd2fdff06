"""The card for people: Markdown and HTML, both from the same parts, and the files beside card.json."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from synth.errors import UsageError, reading
from synth.files import whole_files
from synth.languages import Texts, _, prose
from synth.release import markdown
from synth.release.card import papers
from synth.release.card.card import odds, of_persons
from synth.release.card.choice import in_words
from synth.release.card.statements import PREVIEW, UNCOVERED, complete, shares, uncovered
from synth.release.card.verify import load
from synth.report import html, words
from synth.report.documents import pack
from synth.report.html import commas, number, percent

TITLES = Texts(
    {
        "title": "Release card",
        "seeded": "Made with seeded noise: protects nothing",
        "mechanisms": ["purpose", "mechanism", "sensitivity", "noise", "count"],
        "shares": ["purpose", "share"],
    }
)
Rows = list[tuple[str, str]]
ON_CARD = ("name", "curators", "description", "region", "sector", "published", "licence")  # besides who signs


@reading("card", "card")
def render_html(card: Mapping[str, Any]) -> str:
    """The card as one page that needs no network.

    Privacy: released answers only.
    """
    about = complete(card)
    mark = prose(UNCOVERED) if uncovered(about) else None if about["exportable"] else TITLES["seeded"]
    return html.render(
        "card.html",
        title=TITLES["title"],
        mark=mark,
        about=about,
        odds=odds(about["epsilon"]),
        parts=list(_parts(about)),
        head=TITLES["mechanisms"],
        purposes=_by_purpose(about),
        mechanisms=_mechanisms(about),
        shares=_shares(about),
    )


@reading("card", "card")
def render_markdown(card: Mapping[str, Any]) -> str:
    """The card as Markdown."""
    about = complete(card)
    marks = [prose(UNCOVERED)] if uncovered(about) else []
    marks += [prose(PREVIEW)] if about.get("preview") else []
    marks += [] if about["exportable"] else [TITLES["seeded"]]
    lines = [f"# {TITLES['title']}", "", *(line for mark in marks for line in (f"**{mark}**", ""))]
    for title, rows in _parts(about):
        lines += [f"## {title}", "", "| | |", "|---|---|"]
        lines += [f"| {_cell(name)} | {_cell(value)} |" for name, value in rows] + [""]
    for title, head, table in (
        (_("Mechanisms"), TITLES["mechanisms"], _mechanisms(about)),
        (_("Where the budget went"), TITLES["shares"], _shares(about)),
    ):
        lines += [f"## {title}", "", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in table] + [""]
    hazards = (f"- {_cell(prose(h))}" for h in about["hazards"])
    lines += [f"## {_('What the guarantee does not say')}", "", *hazards, ""]
    return "\n".join(lines)


def _cell(value: object) -> str:
    return markdown.text(value)


def _parts(about: Mapping[str, Any]) -> Iterable[tuple[str, Rows]]:
    """The chapters of a card, each with what it states."""
    yield _("Guarantee"), list(_guarantee(about))
    yield _("Who stands for it"), _answers(about.get("deployment", {}), papers.SIGNED, missing=_("not stated"))
    yield _("The release"), list(_release(about))
    if "verdict" in about:
        yield _("What it is good for"), _verdict(about["verdict"])
    if "keys" in about:
        yield _("Tables"), list(_tables(about))
    yield _("Taken as public (invariants)"), [*_invariants(about), *_learnt(about)]
    yield _("Measures"), list(_measures(about))


def _guarantee(about: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    by = about["accountant"]
    yield _("epsilon, delta"), f"{number(about['epsilon'])}; {number(about['delta'])} ({about['variant']})"
    yield _("meaning"), prose(about["meaning"])
    yield _("unit of privacy"), words.unit(about)
    yield _("relation"), f"{about['relation']}: {prose(about['relation_in_words'])}"
    yield _("composition"), prose(about["composition"])
    yield _("accountant"), f"{prose(by['name'])}, {by['library']} {by['version']}"
    if learnt := about.get("of_which_schema"):
        entry = _("epsilon {epsilon}, delta {delta}, ledger entry {entry}")
        yield (
            _("of which the schema"),
            entry.format(
                epsilon=number(learnt["epsilon"]), delta=number(learnt["delta"]), entry=learnt["ledger_entry"]
            ),
        )
    if shown := about.get("in_all_releases"):
        yield _("with earlier releases"), prose(shown["statement"])
    yield from ((prose(name), prose(said)) for name, said in in_words(about))


def _release(about: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    yield from _answers({n: v for n, v in about.get("deployment", {}).items() if n in ON_CARD}, papers.MORE)
    yield _("product"), prose(about["product"])
    yield _("dataset"), about.get("dataset") or _("not named")
    yield _("method"), about["method"]
    yield _("synthetic rows"), commas(about["rows"]["synthetic"])
    yield _("created"), about["created"]
    yield _("chosen among candidates"), prose(about["selection"]["in_words"])
    if in_words(about):
        yield _("what the choice costs"), prose(about["selection"]["statement"])
    if "sites" not in about:
        yield _("ledger entry"), f"{about['ledger_entry']['number']} ({about['ledger_entry']['hash']})"
    for site in about.get("sites") or ():
        entry = site["ledger_entry"]
        yield _("ledger entry of {site}").format(site=site["site"]), f"{entry['number']} ({entry['hash']})"
    yield _("schema SHA-256"), about["schema_sha256"]


def _invariants(about: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for i in about["invariants"]:
        yield prose(i["what"]), f"{', '.join(i['of'])}: {prose(i['vouched'])}" if "of" in i else prose(i["vouched"])


def _measures(about: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    yield _("tuning"), prose(about["tuning"]["statement"])
    yield _("noise"), prose(about["noise_source"])
    yield _("randomness"), "; ".join(prose(part) for part in about["randomness"].values())
    yield _("floating point"), prose(about["floating_point"])
    yield _("side channels"), prose(about["side_channels"])
    yield _("trust"), prose(about["trust"])
    yield _("post-processing"), prose(about["post_processing"])
    yield _("identifiers"), prose(about.get("linkage", "-"))
    if w := about.get("weight"):
        yield _("weight"), f"{w['column']}: {prose(w['statement'])}"
    yield _("versions"), ", ".join(f"{n} {v}" for n, v in about["versions"].items())


def _verdict(uses: Iterable[Mapping[str, Any]]) -> Rows:
    """The uses by level, as the release alone can tell."""
    levels: dict[str, list[str]] = {}
    for use in uses:
        levels.setdefault(str(use["level"]), []).append(words.stored(use))
    return [(words.level(level), "; ".join(lines)) for level, lines in levels.items()]


def _tables(about: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Rows by table, the keys with their bounds, and public tables."""
    for table, rows in about["rows"].get("tables", {}).items():
        yield table, _("{n} synthetic rows").format(n=commas(rows))
    for key in about["keys"]:
        if of_persons(about):
            most = _("those of one {parent}; of more, {most} are used")
            yield _("rows of one person"), most.format(parent=key["parent"], most=key["most_children"])
            continue
        bound = _("by {columns}; at most {most} rows of one parent are kept, rows without a parent are passed over")
        yield (
            _("{child} of {parent}").format(child=key["child"], parent=key["parent"]),
            bound.format(columns=", ".join(key["columns"]), most=key["most_children"]),
        )
    for name, public in (about.get("public_tables") or {}).items():
        yield name, _("a public table, to which {tables} refer").format(tables=", ".join(public["referred_by"]))


def _learnt(about: Mapping[str, Any]) -> Rows:
    names = [n for n, s in about["public_facts"].items() if s == "private"]
    return [(_("learnt with privacy, no invariant"), ", ".join(names))] if names else []


def _answers(stated: Mapping[str, Any], fields: Mapping[str, papers.Field], *, missing: str = "") -> Rows:
    """The form's answers by label; ``missing``: said of each that nobody gave."""
    shown = {n: v if isinstance(v := stated.get(n) or missing, str) else ", ".join(v) for n in fields}
    return [(prose(fields[n].label), answer) for n, answer in shown.items() if answer]


def _mechanisms(about: Mapping[str, Any]) -> list[tuple[str, ...]]:
    out: list[tuple[str, ...]] = []
    for m in about["mechanisms"]:
        kind, size = ("sigma", m["sigma"]) if m.get("sigma") is not None else (_("scale"), m["scale"])
        out.append(
            (
                prose(m["name"]),
                prose(m["mechanism"]),
                number(m["sensitivity"]),
                f"{kind} {number(size)}",
                str(m["count"]),
            )
        )
    return out


def _by_purpose(about: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The mechanisms of one purpose in one line, with their least and greatest noise."""
    groups: dict[tuple[str, str, float], list[Mapping[str, Any]]] = {}
    for m in about["mechanisms"]:
        groups.setdefault((m["name"], m["mechanism"], m["sensitivity"]), []).append(m)
    out: list[tuple[str, ...]] = []
    for (name, kind, size), members in groups.items():
        scales = sorted(float(m.get("sigma") or m["scale"]) for m in members)
        least, most = number(scales[0], 4), number(scales[-1], 4)
        noise = least if scales[0] == scales[-1] else words.between(least, most)
        word = "sigma" if members[0].get("sigma") is not None else _("scale")
        many = str(sum(m["count"] for m in members))
        out.append((prose(name), prose(kind), number(size), f"{word} {noise}", many))
    return out


def _shares(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(prose(name), percent(part)) for name, part in shares(about).items()]


def write(
    folder: str | Path, *, facts: Mapping[str, Any] | None = None, chosen: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Completes card.json in a release's folder and writes card.md and card.html beside it; returns their paths.

    ``facts``: what only the steward knows (``papers.FIELDS``). ``chosen``: the card with how the release
    was chosen (``chosen_release.settle``). Errors: InputError without a card, UsageError for an unknown fact.
    """
    place = Path(folder)
    place = place.parent if place.is_file() else place
    card = complete(load(place) if chosen is None else chosen)
    card["deployment"] = papers.checked({**card.get("deployment", {}), **(facts or {})})
    card["registry"] = pack.registry(card)
    made = files(card)
    try:
        for name, text in made.items():
            whole_files.write(place / name, text)
    except OSError as error:
        raise UsageError(f"{place}: {error.strerror}; choose a folder you may write to") from None
    return {name.replace(".", "_"): str(place / name) for name in made}


def files(card: Mapping[str, Any]) -> dict[str, str]:
    """The card for programs, as Markdown and as a page, by the names of their files."""
    plain = json.dumps(card, indent=2, ensure_ascii=False) + "\n"
    return {"card.json": plain, "card.md": render_markdown(card), "card.html": render_html(card)}
