"""Verified answers for people: a page with a picture of synthetic and verified values, and the files beside it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from synth.files import whole_files
from synth.languages import _, numerals
from synth.report import html
from synth.report.svg import dot, draw, label, line, rect
from synth.report.svg_charts import WIDE, rows_of
from synth.report.words import between

ANSWER = "answer.json"
STEP = 24


def write(answer: Mapping[str, Any], place: Path) -> dict[str, str]:
    """Writes an answer as JSON at ``place`` and, beside it, as a page; the paths of both.

    Privacy: released answers only.
    """
    page = place.with_suffix(".html")
    whole_files.write(place, json.dumps(answer, indent=1, ensure_ascii=False) + "\n")
    whole_files.write(page, str(render(answer)))
    return {"answer": str(place), "page": str(page)}


def render(answer: Mapping[str, Any]) -> Markup:
    """The page of an ``answer.json``; it needs no network.

    Privacy: released answers only.
    """
    card, level = answer["card"], numerals(f"{100 * answer['level']:g} %")
    return html.render(
        "answer.html",
        title=_("Verified answers"),
        mark=None if card.get("exportable", True) else _("Made with seeded noise: protects nothing"),
        card=card,
        release=answer["release"],
        level=level,
        parts=[_part(one, level) for one in answers(answer)],
    )


def answers(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Each question's answer; one that was asked alone stands at the top of the file.

    Privacy: released answers only.
    """
    return list(answer.get("answers", [answer]))


def _part(one: Mapping[str, Any], level: str) -> dict[str, Any]:
    """One question as the page shows it: ``words`` as it was asked, rows of figures, and their picture."""
    spans = (("low", "high"), ("table_low", "table_high"))
    rows = [
        (name, number(t["synthetic"]), number(t["estimate"]), *(_span(t, *ends) for ends in spans))
        for name, t in one["terms"].items()
    ]
    rows += [(_("yours of {name}").format(name=n), "", _yes(said), "", "") for n, said in one.get("within", {}).items()]
    words = json.dumps(one["question"], ensure_ascii=False)
    shown = picture(one["terms"], level=level)
    return {"words": words, "rows": rows, "picture": shown, "settled": bool(one["settled"])}


def _yes(said: Mapping[str, Any]) -> str:
    if said["within"] is None:
        return _("not to be told")
    chance = number(said["error"], 2)
    if said["within"]:
        return _("within, wrong with chance {chance}").format(chance=chance)
    return _("not within, wrong with chance {chance}").format(chance=chance)


def _span(term: Mapping[str, Any], low: str, high: str) -> str:
    return "-" if term[low] is None else between(number(term[low]), number(term[high]))


def number(value: float | None, digits: int = 5) -> str:
    """A figure in so many digits, a dash for none.

    >>> number(1234.5678), number(None)
    ('1234.6', '-')
    """
    return "-" if value is None else html.number(value, digits)


def framed(terms: Mapping[str, Mapping[str, Any]], *, level: str) -> tuple[Markup, int]:
    """``picture`` of these ``terms`` at this ``level`` as a page with its own style, and its height in pixels.

    Privacy: released answers only.
    """
    chart = picture(terms, level=level)
    return html.render("picture.html", title=_("Verified answers"), chart=chart), round(1.4 * STEP * len(terms)) + 24


def picture(terms: Mapping[str, Mapping[str, Any]], *, level: str) -> Markup:
    """Each term on a scale of its own: interval of the population, within it the table's, and the synthetic value.

    ``terms``: of one answer; ``level``: of its intervals, in words.

    Privacy: released answers only.
    """
    rows, said = rows_of(list(terms), STEP), []
    shapes, left = list(rows.labels), rows.left + 8
    alone = _("{name}: verified {estimate}, {level} {interval}, synthetic {synthetic}")
    for top, (name, term) in zip(rows.tops, terms.items(), strict=True):
        numbers = {n: number(term[n]) for n in ("estimate", "synthetic")}
        places = {"name": name, "level": level, "interval": _span(term, "low", "high"), **numbers}
        said.append(alone.format(**places))
        y = top + 8
        if term["estimate"] is None:
            shapes.append(label(left, y + 4, _("not settled"), anchor="start", kind="dim"))
            continue
        ends = [term[n] for n in ("low", "high", "synthetic") if term[n] is not None]
        low, wide = min(ends), (WIDE - left - 12) / max(max(ends) - min(ends), 1e-300)
        at = {n: left + (v - low) * wide for n, v in term.items() if isinstance(v, int | float)}
        inner, outer = max(at["table_low"], at["low"]), min(at["table_high"], at["high"])
        title = _("{name}: verified {estimate}, {level} {interval}").format(**places)
        shapes.append(line(at["low"], at["high"], y, y, "whisker", title=title))
        shapes.append(rect(inner, y - 4, outer - inner, 8, "real", opacity=0.4, title=title))
        shapes.append(dot(at["estimate"], y, title=title))
        if term["synthetic"] is not None:
            value = _("{name}: synthetic {value}").format(name=name, value=numbers["synthetic"])
            shapes.append(rect(at["synthetic"] - 1.5, y - 8, 3, 16, "synthetic", title=value))
    return draw(shapes, wide=WIDE, tall=rows.tall + 4, words="; ".join(said), kind="answer")
