"""The card for people: Markdown and HTML, both from the same parts, and the files beside card.json."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from synth.errors import UsageError, reading
from synth.release import markdown
from synth.release.card import papers
from synth.release.card.card import odds, of_persons
from synth.release.card.choice import in_words
from synth.release.card.statements import PREVIEW, UNCOVERED, complete, registry, shares, uncovered
from synth.release.card.verify import load
from synth.report import html
from synth.schema import whole_files

SEEDED = "Made with seeded noise: protects nothing"
Rows = list[tuple[str, str]]
ON_CARD = ("name", "curators", "description", "region", "sector", "published", "licence")  # besides who signs
MECHANISM_HEAD = ("purpose", "mechanism", "sensitivity", "noise", "count")


@reading("card", "card")
def render_html(card: Mapping[str, Any]) -> str:
    """The card as one page that needs no network.

    Privacy: released answers only.
    """
    about = complete(card)
    mark = UNCOVERED if uncovered(about) else None if about["exportable"] else SEEDED
    return html.render(
        "card.html",
        title="Release card",
        mark=mark,
        about=about,
        odds=odds(about["epsilon"]),
        parts=list(_parts(about)),
        head=MECHANISM_HEAD,
        purposes=_by_purpose(about),
        mechanisms=_mechanisms(about),
        shares=_shares(about),
    )


@reading("card", "card")
def render_markdown(card: Mapping[str, Any]) -> str:
    """The card as Markdown."""
    about = complete(card)
    lines = ["# Release card", ""]
    if uncovered(about):
        lines += [f"**{UNCOVERED}**", ""]
    if about.get("preview"):
        lines += [f"**{PREVIEW}**", ""]
    if not about["exportable"]:
        lines += [f"**{SEEDED}**", ""]
    for title, rows in _parts(about):
        lines += [f"## {title}", "", "| | |", "|---|---|"]
        lines += [f"| {_cell(name)} | {_cell(value)} |" for name, value in rows] + [""]
    for title, head, table in (
        ("Mechanisms", MECHANISM_HEAD, _mechanisms(about)),
        ("Where the budget went", ("purpose", "share"), _shares(about)),
    ):
        lines += [f"## {title}", "", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in table] + [""]
    lines += ["## What the guarantee does not say", "", *(f"- {_cell(h)}" for h in about["hazards"]), ""]
    return "\n".join(lines)


def _cell(value: object) -> str:
    return markdown.text(value)


def _parts(about: Mapping[str, Any]) -> Iterable[tuple[str, Rows]]:
    unit = about.get("unit_in_words") or (
        "a row" if about["unit"] == "row" else f"a person ({about['unit']}), at most {about['max_rows_of_a_unit']} rows"
    )
    learnt = about.get("of_which_schema")
    yield (
        "Guarantee",
        [
            ("epsilon, delta", f"{about['epsilon']:g}, {about['delta']:g} ({about['variant']})"),
            ("meaning", about["meaning"]),
            ("unit of privacy", unit),
            ("relation", f"{about['relation']}: {about['relation_in_words']}"),
            ("composition", about["composition"]),
            ("accountant", "{name}, {library} {version}".format(**about["accountant"])),
            *(
                [
                    (
                        "of which the schema",
                        f"epsilon {learnt['epsilon']:g}, delta {learnt['delta']:g}, ledger entry "
                        f"{learnt['ledger_entry']}",
                    )
                ]
                if learnt
                else []
            ),
            *([("with earlier releases", shown["statement"])] if (shown := about.get("in_all_releases")) else []),
            *in_words(about),
        ],
    )
    stated = about.get("deployment", {})
    yield "Who stands for it", _answers(stated, papers.SIGNED, missing="not stated")
    yield (
        "Release",
        [
            *_answers({n: v for n, v in stated.items() if n in ON_CARD}, papers.MORE),
            ("product", about["product"]),
            ("dataset", about.get("dataset") or "not named"),
            ("method", about["method"]),
            ("synthetic rows", f"{about['rows']['synthetic']:,}"),
            ("created", about["created"]),
            ("chosen among candidates", about["selection"]["in_words"]),
            *([("what the choice costs", about["selection"]["statement"])] if in_words(about) else []),
            ("ledger entry", f"{about['ledger_entry']['number']} ({about['ledger_entry']['hash']})"),
            ("schema SHA-256", about["schema_sha256"]),
        ],
    )
    if "verdict" in about:
        yield "What it is good for", (_verdict(about["verdict"]))
    if "keys" in about:
        yield "Tables", list(_tables(about))
    yield (
        "Taken as public (invariants)",
        [
            (i["what"], f"{', '.join(i['of'])}: {i['vouched']}" if "of" in i else i["vouched"])
            for i in about["invariants"]
        ]
        + _learnt(about),
    )
    yield (
        "Measures",
        [
            ("tuning", about["tuning"]["statement"]),
            ("noise", about["noise_source"]),
            ("randomness", f"{about['randomness']['privacy']}; {about['randomness']['after_release']}"),
            ("floating point", about["floating_point"]),
            ("side channels", about["side_channels"]),
            ("trust", about["trust"]),
            ("post-processing", about["post_processing"]),
            ("identifiers", about.get("linkage", "-")),
            *([("weight", f"{w['column']}: {w['statement']}")] if (w := about.get("weight")) else []),
            ("versions", ", ".join(f"{n} {v}" for n, v in about["versions"].items())),
        ],
    )


def _verdict(uses: Iterable[Mapping[str, Any]]) -> Rows:
    """The uses by level, as the release alone can tell."""
    levels: dict[str, list[str]] = {}
    for use in uses:
        levels.setdefault(str(use["level"]), []).append(str(use["sentence"]))
    return [(level, "; ".join(lines)) for level, lines in levels.items()]


def _tables(about: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Rows by table, the keys with their bounds, and public tables."""
    for table, rows in about["rows"].get("tables", {}).items():
        yield table, f"{rows:,} synthetic rows"
    for key in about["keys"]:
        if of_persons(about):
            yield "rows of one person", f"those of one {key['parent']}; of more, {key['most_children']} are used"
            continue
        yield (
            f"{key['child']} of {key['parent']}",
            f"by {', '.join(key['columns'])}; at most {key['most_children']} "
            "rows of one parent are kept, rows without a parent are passed over",
        )
    for name, public in (about.get("public_tables") or {}).items():
        yield name, f"a public table, to which {', '.join(public['referred_by'])} refer"


def _learnt(about: Mapping[str, Any]) -> Rows:
    names = [n for n, s in about["public_facts"].items() if s == "private"]
    return [("learnt with privacy, no invariant", ", ".join(names))] if names else []


def _answers(stated: Mapping[str, Any], fields: Mapping[str, papers.Field], *, missing: str = "") -> Rows:
    """The form's answers by label; ``missing``: said of each that nobody gave."""
    shown = {n: v if isinstance(v := stated.get(n) or missing, str) else ", ".join(v) for n in fields}
    return [(fields[n].label, words) for n, words in shown.items() if words]


def _mechanisms(about: Mapping[str, Any]) -> list[tuple[str, ...]]:
    out: list[tuple[str, ...]] = []
    for m in about["mechanisms"]:
        noise = f"sigma {m['sigma']:.6g}" if m.get("sigma") is not None else f"scale {m['scale']:.6g}"
        out.append((m["name"], m["mechanism"], f"{m['sensitivity']:.6g}", noise, str(m["count"])))
    return out


def _by_purpose(about: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The mechanisms of one purpose in one line, with their least and greatest noise."""
    groups: dict[tuple[str, str, float], list[Mapping[str, Any]]] = {}
    for m in about["mechanisms"]:
        groups.setdefault((m["name"], m["mechanism"], m["sensitivity"]), []).append(m)
    out: list[tuple[str, ...]] = []
    for (name, kind, size), members in groups.items():
        scales = sorted(float(m.get("sigma") or m["scale"]) for m in members)
        noise = f"{scales[0]:.4g}" if scales[0] == scales[-1] else f"{scales[0]:.4g} to {scales[-1]:.4g}"
        word = "sigma" if members[0].get("sigma") is not None else "scale"
        out.append((name, kind, f"{size:.6g}", f"{word} {noise}", str(sum(m["count"] for m in members))))
    return out


def _shares(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, f"{100 * part:.1f} %") for name, part in shares(about).items()]


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
    card["registry"] = registry(card)
    written = {
        "card.json": json.dumps(card, indent=2, ensure_ascii=False) + "\n",
        "card.md": render_markdown(card),
        "card.html": render_html(card),
    }
    try:
        for name, words in written.items():
            whole_files.write(place / name, words)
    except OSError as error:
        raise UsageError(f"{place}: {error.strerror}; choose a folder you may write to") from None
    return {name.replace(".", "_"): str(place / name) for name in written}
