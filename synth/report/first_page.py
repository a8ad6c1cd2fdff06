"""The first page of every report, in plain words, for a board that decides: what it is, for whom, good for what, which
odds for one person, who approved. Computed from the card and the verdict; the figures come after it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from synth.evaluate.risks import OURS
from synth.evaluate.verdict import HEADINGS, LEVELS, Verdict
from synth.languages import _, prose
from synth.release.card import limits, papers
from synth.release.card.card import Card
from synth.report.html import commas, percent

Answers = list[tuple[str, list[str]]]
TRIED = ("inference", "reconstruction")  # attacks on what is said of somebody


def answers(card: Card, said: Verdict, *, tried: Iterable[Any] = ()) -> Answers:
    """Questions of a board, each with its answers. ``said``: the verdict; ``tried``: attacks, as ``Finding``.

    Privacy: released answers only; with ``tried``: reads rows, exact: for the steward alone, never released.
    """
    nobody = _("Nobody has stated it.")
    own, (*odds, whose) = card.get("deployment") or {}, limits.sentences(card)
    alike = _("What is true of many people alike can still be guessed of one; it could be without that one, too.")
    return [
        (_("What is it?"), _what(card, own)),
        (_("What is it for?"), [str(own.get("intended_use") or nobody)]),
        (_("Who receives it?"), [str(own.get("recipients") or nobody)]),
        (_("What can it be used for?"), _uses(said)),
        (_("What can be found out about one person?"), [*odds, alike, whose, *_attacks(tried)]),
        (_("Who answers for it?"), _people(own)),
    ]


def _what(card: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    many = card.get("rows") or {}
    tables = many.get("tables")
    if tables:
        each = ", ".join(_("{table}: {n} rows").format(table=t, n=commas(n)) for t, n in tables.items())
        rows = _("Made-up tables that belong together ({each})").format(each=each)
    else:
        rows = _("{n} made-up rows").format(n=commas(many.get("synthetic", 0)))
    if card.get("dataset"):
        rows = _("{rows} in place of the private data “{dataset}”").format(rows=rows, dataset=card["dataset"])
    return [*([str(own["description"])] if own.get("description") else []), f"{rows}: {prose(limits.MADE_UP)}."]


def _uses(said: Verdict) -> list[str]:
    """A line for each level, and what speaks against all."""
    lines = [
        f"{HEADINGS[level][0]} {'; '.join(u.title for u in said.at(level))}." for level in LEVELS if said.at(level)
    ]
    never = _("Not for anything about a single person, nor for rare cases and extremes, which noise hides on purpose.")
    unsure = [_("With care: {why}.").format(why=prose(said.unsure))] if said.unsure else []
    return [*unsure, *lines, never]


def _attacks(tried: Iterable[Any]) -> list[str]:
    """How often attackers guessed what is said of somebody, on rows that the run saw, beside rows it never saw."""
    return [
        _("Tried here ({attack}, the worst column): {guesses}: {reading}.").format(
            attack=prose(f.attack), guesses=", ".join(_guessed(f)), reading=prose(f.reading)
        )
        for f in tried
        if f.attack.startswith(TRIED) and f.table == OURS
    ]


def _guessed(f: Any) -> list[str]:
    lines = [_("{share} of guesses were right").format(share=percent(f.real.value, 0))]
    if f.control is not None:
        lines.append(_("{share} on people whom the run never saw").format(share=percent(f.control.value, 0)))
    return [*lines, _("{share} without any table").format(share=percent(f.baseline, 0))]


def _people(own: Mapping[str, Any]) -> list[str]:
    approved = papers.approval(own)
    named = [
        f"{prose(papers.FIELDS[n].label)}: {own[n]}." for n in ("controller", "contact", "legal_basis") if own.get(n)
    ]
    signed = _("Approved by {approver}.").format(approver=approved) if approved else _("Nobody has approved it yet.")
    return [signed, *named]
