"""The page that recipients of a bundle open first: what it is, what it is good for, how to cite and analyse it."""

from collections.abc import Mapping, Sequence
from typing import Any

from synth.evaluate.rating import CARE, LEVELS, NOT, Uses
from synth.languages import Texts, _, prose
from synth.release.card import limits, papers
from synth.report import bundle_texts, html, released_verdict, words
from synth.report.documents.pack import Paper
from synth.report.publishable import Publishable
from synth.schema.table import Column, Schema

KINDS = Texts(
    {
        "categorical": "one of a list",
        "ordinal": "one of an ordered list",
        "boolean": "two values",
        "integer": "whole number",
        "float": "number",
        "datetime": "date or time",
        "identifier": "counter, made up",
        "omitted": "left out",
    }
)
BY_DRAWS = ("mixture",)  # methods of whose releases several tables can be drawn that differ as the noise leaves open


def render(
    publishable: Publishable | None,
    schema: Schema,
    card: Mapping[str, Any],
    documents: Sequence[Paper] = (),
    *,
    said: list[tuple[str, list[str]]] | None = None,
) -> str:
    """The page. ``publishable``: the publishable report. ``documents``: that lie beside it.

    ``said``: of a table whose persons keep their rows its uses, in place of the report.

    **Guarantee**: that of the release: it rests on releases, public facts and the card alone.

    Privacy: released answers only.
    """
    named = bundle_texts.name_of(card, several=False)
    return html.render(
        "index.html",
        title=named,
        mark=None,
        about=card,
        made_up=limits.MADE_UP,
        limits=[prose(line) for line in limits.sentences(card)],
        uses=said if publishable is None else uses(publishable, card),
        cite=cite(named, card),
        draws=publishable is not None and card.get("method") in BY_DRAWS,
        documents=listed(documents),
        files=[(name, what.replace("`", "")) for name, what in bundle_texts.parts(card, documents)],
        head=head(schema),
        columns=columns(schema),
        starts=[
            (_("The table"), "synthetic.csv", _("opens in a spreadsheet; synthetic.parquet for programs")),
            *starts(card),
        ],
    )


def starts(card: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Where to read on: what was measured, and what is guaranteed."""
    guaranteed = _("epsilon {epsilon}, delta {delta}, and all that they rest on").format(
        epsilon=html.number(card["epsilon"]), delta=html.number(card["delta"])
    )
    return [
        (
            _("What was measured"),
            "report.html",
            _("the released noisy counts beside the synthetic ones, with intervals"),
        ),
        (_("What is guaranteed"), "card.html", guaranteed),
    ]


def head(schema: Schema) -> list[str]:
    """The head of the table of columns."""
    described = any(c.description for c in schema.columns.values())
    return [_("column"), _("kind"), _("values"), *([_("meaning")] if described else [])]


def listed(documents: Sequence[Paper]) -> list[tuple[str, str, bool]]:
    """The file of each document, its title, and whether something in it is still to be written."""
    return [(p.file, p.document.title, bool(p.waiting)) for p in documents]


def columns(schema: Schema) -> list[tuple[str, ...]]:
    """Each column with its kind and values, and its meaning where any column has one."""
    reported = any(c.description for c in schema.columns.values())
    return [
        (n, KINDS.get(c.type, c.type), values(c), *([c.description or ""] if reported else []))
        for n, c in schema.columns.items()
    ]


def uses(publishable: Publishable, card: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """What the table is good for, usable with care for, and not for, as far as what was released can tell."""
    noise = [s.table.sigma for s in publishable.one_way.values()]
    care = [
        *map(prose, released_verdict.small_groups(noise, _("the source"))),
        _("results that matter: confirm them on the real table, through whoever holds it"),
    ]
    return sorted_out(
        released_verdict.verdict(publishable, card), care, linking=_("linking with other tables row by row")
    )


def sorted_out(said: Uses, care: list[str], *, linking: str) -> list[tuple[str, list[str]]]:
    """Uses by heading, with ``care`` and those that no synthetic table has. ``linking``: why rows cannot be linked."""
    never = [
        _("anything about a single person: no row is anybody's record"),
        linking,
        _("rare cases, extremes and outliers, which noise hides on purpose"),
    ]
    more = {CARE: [*([prose(said.unsure)] if said.unsure else []), *care], NOT: never}
    parts = [(words.level(n), [words.sentence(u) for u in said.at(n)] + more.get(n, [])) for n in LEVELS]
    return [(title, lines) for title, lines in parts if lines]


def cite(named: str, card: Mapping[str, Any]) -> str:
    """A line by which the table can be cited and found again."""
    version = card["versions"].get("facsimile-synth", "")
    publishers = ", ".join(papers.curators(card.get("deployment", {})))
    who = f"{publishers}. " if publishers else ""
    return _(
        "{who}{named} [synthetic data]. {day}. Made with Facsimile {version}, method {method}, under differential "
        "privacy with epsilon {epsilon} and delta {delta}."
    ).format(
        who=who,
        named=named,
        day=str(card.get("created", ""))[:10],
        version=version,
        method=card["method"],
        epsilon=html.number(card["epsilon"]),
        delta=html.number(card["delta"]),
    )


def values(column: Column) -> str:
    """What a cell may hold, shortly."""
    if column.is_numeric:
        low, high = column.min, column.max
        return "" if low is None else words.between(low, high)
    names = list(column.labels or column.categories or ())
    if len(names) <= 6:
        return ", ".join(names)
    return _("{first} and {n} more").format(first=", ".join(names[:5]), n=len(names) - 5)
